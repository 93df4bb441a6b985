"""The Python values of tool results. Results named after a server were recorded from that server."""

from __future__ import annotations

import base64
import copy
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from bridge_kernel.attr_dict import AttrDict, attribute_access
from bridge_kernel.errors import ToolError
from bridge_kernel.text_result import TextResult
from bridge_kernel.values import AudioContent, ImageContent, ResourceContent, ResourceLink, to_value

PNG = base64.b64encode(b"\x89PNG").decode()


def value_of(*blocks: dict[str, object], **rest: object) -> Any:
    return to_value({"content": list(blocks), **rest}, "server", "tool")


def text(content: str) -> dict[str, object]:
    return {"type": "text", "text": content}


class RealServers(unittest.TestCase):
    def test_filesystem_text_is_a_str(self) -> None:
        content = value_of(text("a TODO\n"), structuredContent={"content": "a TODO\n"})
        self.assertIsInstance(content, str)
        self.assertEqual(repr(content), repr("a TODO\n"))
        self.assertTrue("TODO" in content)
        self.assertEqual(content[:3], "a T")

    def test_filesystem_json_file_stays_text_because_the_server_declares_a_string(self) -> None:
        self.assertEqual(value_of(text('{"a": 1}'), structuredContent={"content": '{"a": 1}'}), '{"a": 1}')

    def test_filesystem_media_is_an_image(self) -> None:
        block: dict[str, object] = {"type": "image", "data": PNG, "mimeType": "image/png"}
        image = value_of(block, structuredContent={"content": [dict(block)]})
        self.assertIsInstance(image, ImageContent)
        self.assertEqual(image.data, b"\x89PNG")

    def test_memory_keeps_the_key_that_its_text_leaves_out(self) -> None:
        entities = [{"name": "A", "entityType": "t"}]
        graph = value_of(text(json.dumps(entities)), structuredContent={"entities": entities})
        self.assertEqual(graph.entities[0].entityType, "t")

    def test_memory_message_is_an_object(self) -> None:
        answer = value_of(text("Entities deleted"), structuredContent={"success": True, "message": "Entities deleted"})
        self.assertTrue(answer.success)

    def test_everything_text_beside_an_image_is_a_list(self) -> None:
        first, second = value_of(text("Here:"), {"type": "image", "data": PNG, "mimeType": "image/png"})
        self.assertEqual(first, "Here:")
        self.assertIsInstance(second, ImageContent)

    def test_everything_resource_is_an_object_with_text(self) -> None:
        resource = {"uri": "demo://1", "mimeType": "text/plain", "text": "plain"}
        _, found, _ = value_of(text("a"), {"type": "resource", "resource": resource}, text("b"))
        self.assertIsInstance(found, ResourceContent)
        self.assertEqual((found.uri, found.mime_type, found.text, found.data, str(found)),
                         ("demo://1", "text/plain", "plain", None, "plain"))  # fmt: skip

    def test_everything_resource_link(self) -> None:
        link = value_of({"type": "resource_link", "uri": "demo://2", "name": "Two", "mimeType": "text/plain"})
        self.assertIsInstance(link, ResourceLink)
        self.assertEqual((link.uri, link.name, link.description), ("demo://2", "Two", None))


class Rules(unittest.TestCase):
    def test_the_envelope_of_python_servers_is_removed(self) -> None:
        self.assertEqual(value_of(text("5"), structuredContent={"result": 5}), 5)
        self.assertEqual(value_of(text("1"), text("2"), structuredContent={"result": [1, 2]}), [1, 2])
        self.assertIsNone(value_of(structuredContent={"result": None}))

    def test_an_object_whose_only_key_is_result_keeps_it(self) -> None:
        self.assertEqual(value_of(text('{ "result": 5 }'), structuredContent={"result": 5}), {"result": 5})

    def test_content_that_differs_from_the_text_keeps_its_key(self) -> None:
        self.assertEqual(value_of(text("short"), structuredContent={"content": "long"}), {"content": "long"})

    def test_an_image_beside_structured_content_is_not_lost(self) -> None:
        value, image = value_of(
            text("{}"), {"type": "image", "data": PNG, "mimeType": "image/png"}, structuredContent={"width": 1}
        )
        self.assertEqual(value.width, 1)
        self.assertIsInstance(image, ImageContent)

    def test_text_is_parsed_if_it_is_an_object_or_an_array(self) -> None:
        self.assertEqual(value_of(text(' [{"id": 1}]'))[0].id, 1)
        for plain in ("42", "true", "null", '"x"', "[FILE] a.txt", "{not json}", "", "[" * 100_000):
            self.assertEqual(value_of(text(plain)), plain)

    def test_no_content_is_none(self) -> None:
        self.assertIsNone(value_of())
        self.assertIsNone(to_value({}, "s", "t"))

    def test_audio_and_unknown_blocks(self) -> None:
        sound, unknown = value_of({"type": "audio", "data": PNG, "mimeType": "audio/wav"}, {"type": "hologram", "x": 1})
        self.assertIsInstance(sound, AudioContent)
        self.assertEqual(unknown.x, 1)

    def test_invalid_blocks_and_results_are_tolerated(self) -> None:
        strange: list[Any] = [
            None,
            1,
            "x",
            [],
            {},
            {"type": 5},
            {"type": "text"},
            {"type": "image"},
            {"type": "resource"},
        ]
        for block in strange:
            for rest in ({}, {"structuredContent": block}, {"structuredContent": {"result": block}}):
                to_value({"content": [block], **rest}, "s", "t")
        for raw in (None, 1, "x", [], {"content": 5}, {"content": None, "structuredContent": []}):
            to_value(raw, "s", "t")
        self.assertEqual(value_of(1, text("a"), None), "a")  # pyright: ignore[reportArgumentType]

    def test_a_failure_raises_with_the_text(self) -> None:
        with self.assertRaises(ToolError) as caught:
            value_of(text("Access denied"), text("really"), isError=True)
        self.assertIn("server.tool: Access denied\nreally", str(caught.exception))
        with self.assertRaisesRegex(ToolError, "without giving a reason"):
            value_of(isError=True)
        with self.assertRaisesRegex(ToolError, "E42"):
            value_of(isError=True, structuredContent={"code": "E42"})

    def test_images_are_saved(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = value_of({"type": "image", "data": PNG, "mimeType": "image/png"}).save(f"{folder}/a.png")
            self.assertEqual(Path(path).read_bytes(), b"\x89PNG")


class AttributeAccess(unittest.TestCase):
    def setUp(self) -> None:
        value = attribute_access({"title": "T", "user": {"login": "me"}, "labels": [{"name": "a"}], "items": [1]})
        assert isinstance(value, AttrDict)
        self.issue: Any = value

    def test_keys_are_attributes_at_every_depth(self) -> None:
        self.assertEqual((self.issue.title, self.issue.user.login, self.issue.labels[0].name), ("T", "me", "a"))

    def test_a_key_named_like_a_method_is_its_value_and_can_be_called(self) -> None:
        self.assertEqual(list(iter(self.issue.items)), [1])
        self.assertEqual(len(self.issue.items()), 4)
        self.assertIsInstance(self.issue.items, list)
        self.issue.items.append(2)
        self.assertEqual((self.issue["items"], self.issue.items), ([1, 2], [1, 2]))
        page: Any = attribute_access({
            "items": {"data": [1]}, "keys": ["k"], "values": [[1]], "get": "GET", "copy": "c", "pop": 8.5, "update": 3,
        })  # fmt: skip
        self.assertEqual(page.items.data, [1])
        self.assertEqual((page.keys[0], page.values[0], page.get, page.copy, page.pop, page.update),
                         ("k", [1], "GET", "c", 8.5, 3))  # fmt: skip
        self.assertEqual((page.get("update"), page.get("x", 9), min(page.keys()), len(list(page.values()))),
                         (3, 9, "copy", 7))  # fmt: skip
        page.update({"new": 1})
        self.assertEqual((page.copy().new, page.pop("new")), (1, 1))
        self.assertNotIn("new", page)

    def test_copies_of_a_dict_with_such_a_key_have_their_own_methods(self) -> None:
        self.assertEqual(self.issue.items, [1])
        copies: list[Any] = [self.issue.copy(), copy.copy(self.issue), copy.deepcopy(self.issue)]
        copies.append(attribute_access({**self.issue}))
        for other in copies:
            other.title = "other"
            self.assertIn(("title", "other"), list(other.items()))
            self.assertEqual(other.items, [1])
        self.assertEqual(json.loads(json.dumps(self.issue)), self.issue)
        self.assertEqual(json.dumps(self.issue.items), "[1]")
        self.assertEqual(list({**self.issue}), list(dict(self.issue)))

    def test_without_such_a_key_and_for_null_the_attribute_is_the_method(self) -> None:
        plain: Any = attribute_access({"a": 1, "update": None})
        self.assertEqual(list(plain.items()), [("a", 1), ("update", None)])
        self.assertTrue(callable(plain.update))
        self.assertEqual(list(AttrDict.items(plain)), list(plain.items()))

    def test_it_is_a_dict_to_everything_else(self) -> None:
        plain = {"title": "T", "user": {"login": "me"}, "labels": [{"name": "a"}], "items": [1]}
        self.assertEqual(self.issue, plain)
        self.assertEqual(repr(self.issue), repr(plain))
        self.assertEqual(json.dumps(self.issue), json.dumps(plain))
        self.assertIsInstance(self.issue, dict)

    def test_copies_keep_attribute_access(self) -> None:
        self.assertEqual(copy.copy(self.issue).title, "T")
        self.assertEqual(copy.deepcopy(self.issue).user.login, "me")
        self.assertEqual(self.issue.copy().title, "T")

    def test_a_missing_attribute_lists_the_keys(self) -> None:
        with self.assertRaises(AttributeError) as caught:
            _ = self.issue.titel
        self.assertEqual(str(caught.exception), "no key 'titel'; keys: title, user, labels, items")
        self.assertEqual(caught.exception.name, "titel")
        self.assertIn("title", dir(self.issue))
        many: Any = attribute_access({f"k{number}": number for number in range(30)})
        with self.assertRaisesRegex(AttributeError, r"k11, … \(30 in total\)"):
            _ = many.nothing

    def test_attributes_can_be_set_and_deleted(self) -> None:
        self.issue.title = "new"
        self.assertEqual(self.issue["title"], "new")
        del self.issue.title
        self.assertNotIn("title", self.issue)
        with self.assertRaises(AttributeError):
            del self.issue.title
        with self.assertRaisesRegex(AttributeError, r"write \['keys'\]"):
            self.issue.keys = 1

    def test_parts_of_a_raw_result_get_a_hint(self) -> None:
        with self.assertRaisesRegex(AttributeError, "no key 'content'; keys: title.*already a dict: use it directly"):
            _ = self.issue.content


class Texts(unittest.TestCase):
    def test_json_of_the_whole_text(self) -> None:
        found: Any = TextResult(' {"a": {"b": 1}}\n').json()
        self.assertEqual(found.a.b, 1)
        self.assertEqual(TextResult("42").json(), 42)

    def test_json_in_a_fenced_block(self) -> None:
        beside = "```py\nx\n```\n```\n[1, 2]\n```"
        for text_of in ("Found 2:\n\n```json\n[1, 2]\n```\nDone.", "~~~\n[1, 2]\n~~~", beside):
            self.assertEqual(TextResult(text_of).json(), [1, 2])

    def test_json_in_a_marked_block(self) -> None:
        inner = 'Below is the result.\n\n<untrusted-data-1>\n[{"id": 1}]\n</untrusted-data-1>\n\nBeware.'
        for text_of in (inner, json.dumps(inner), '### Result\n{"id": 1}\n### Page', "<data>[{}]</data>", "\ufeff{}"):
            self.assertIn(TextResult(text_of).json(), ([{"id": 1}], {"id": 1}, [{}], {}))

    def test_text_without_json_names_another_way(self) -> None:
        for text_of in ("[FILE] a\n[DIR] b", "[1] a footnote", "{oops", "", "[" * 100_000, "[\n" * 5_000):
            with self.assertRaisesRegex(ValueError, r"the text has no JSON; use it as text, or its \.lines\(\)"):
                TextResult(text_of).json()

    def test_lines(self) -> None:
        self.assertEqual(TextResult("[FILE] a\r\n\n[DIR] b\x0cc\n").lines(), ["[FILE] a", "[DIR] b\x0cc"])

    def test_text_is_read_as_from_an_sdk(self) -> None:
        result = value_of(text("hello"))
        self.assertEqual((result.content[0].text, result.text), ("hello", "hello"))
        with self.assertRaisesRegex(AttributeError, "model_dump.*the result is text: use it directly"):
            result.model_dump()
        self.assertFalse(hasattr(result, "data"))

    def test_the_text_of_python_servers_has_it_too(self) -> None:
        self.assertEqual(value_of(text("a\nb"), structuredContent={"result": "a\nb"}).lines(), ["a", "b"])
