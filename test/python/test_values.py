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
from bridge_kernel.values import (
    AudioContent,
    ImageContent,
    ResourceContent,
    ResourceLink,
    to_prompt,
    to_resource,
    to_value,
)

FIXTURES = Path(__file__).parents[1] / "fixtures"
PNG = base64.b64encode(b"\x89PNG").decode()


def value_of(*blocks: dict[str, object], **rest: object) -> Any:
    return to_value({"content": list(blocks), **rest}, "server", "tool")


def _only_of(block: Any) -> Any:
    """What a list of blocks becomes: nothing, its only member, or all of them."""
    return block[0] if isinstance(block, list) and len(block) == 1 else block


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

    # An agent that got a workbook from a tool saw only its address, and looked for its bytes in two more calls.
    def test_the_repr_of_a_resource_says_how_to_go_on(self) -> None:
        for part, said in (
            ({"blob": "UEsDBA=="}, "4 bytes: .data, .save(path)"),
            ({"blob": ""}, "0 bytes: .data, .save(path)"),
            ({"text": "a"}, "1 character: .text, .save(path)"),
        ):
            found = ResourceContent({"uri": "file:///a.xlsx", **part})
            self.assertEqual(repr(found), f"<ResourceContent file:///a.xlsx, {said}>")

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

    def test_a_block_that_is_not_as_mcp_defines_it_stays_as_it_is(self) -> None:
        for block in (
            None, 1, [], [{"a": 1}], {}, {"type": 5}, {"type": "text"}, {"type": "text", "text": 5}, {"type": "image"},
            {"type": "text", "text": {"a": [1]}}, {"type": "text", "text": None}, {"type": "image", "data": [1]},
            {"type": "image", "data": PNG, "mimeType": 5}, {"type": "audio", "data": None}, {"type": "resource"},
            {"type": "resource", "resource": "x"}, {"type": "resource", "resource": {"uri": "a:b", "text": {"a": 1}}},
            {"type": "resource", "resource": {"uri": 5, "text": "a"}}, {"type": "resource_link", "name": "no address"},
        ):  # fmt: skip
            with self.subTest(block=block):
                self.assertEqual(value_of(block), block)  # pyright: ignore[reportArgumentType]
                self.assertEqual(to_value({"content": block}, "s", "t"), None if block == [] else _only_of(block))
                self.assertEqual(value_of(block, text("a")), [block, "a"])  # pyright: ignore[reportArgumentType]
        self.assertEqual(value_of({"type": "text", "text": {"a": [{"b": 1}]}}).text.a[0].b, 1)
        self.assertEqual(value_of({"type": "image"}, structuredContent={"a": 1}), [{"a": 1}, {"type": "image"}])

    def test_content_that_is_no_list_is_the_only_block(self) -> None:
        for content, value in (
            ("plain", "plain"), ('[{"a": 1}]', [{"a": 1}]), (text("plain"), "plain"), ({"rows": [1]}, {"rows": [1]}),
            (5, 5), (False, False), (["a", "b"], ["a", "b"]), ([["a"]], ["a"]), (None, None), ("", ""),
        ):  # fmt: skip
            with self.subTest(content=content):
                self.assertEqual(to_value({"content": content}, "s", "t"), value)
        lines: Any = to_value({"content": "a\nb"}, "s", "t")
        self.assertEqual(lines.lines(), ["a", "b"])
        self.assertEqual(to_value({"content": "5", "structuredContent": {"result": 5}}, "s", "t"), 5)

    def test_a_result_without_the_keys_of_mcp_stays_as_it_is(self) -> None:
        for raw in (1, "x", [{"a": 1}], {"toolResult": {"a": 1}}, {"rows": [], "_meta": {}}):
            self.assertEqual(to_value(raw, "s", "t"), raw)
        for raw in (None, {}, {"_meta": {"a": 1}}, {"content": None, "isError": False}, {"resultType": "complete"}):
            self.assertIsNone(to_value(raw, "s", "t"))
        self.assertEqual(to_value({"structuredContent": []}, "s", "t"), [])

    def test_a_failure_shows_all_there_is(self) -> None:
        for raw, said in (
            ({"content": "plain"}, "s.t: plain"),
            ({"content": [{"type": "text", "text": {"code": 7}}]}, '"code": 7'),
            ({"content": {"reason": "why"}}, '"reason": "why"'),
            ({"content": ["a", text("b")]}, "a\nb"),
            ({"error": "why"}, '"error": "why"'),
            ({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}, "without giving a reason"),
        ):
            with self.subTest(raw=raw), self.assertRaises(ToolError) as caught:
                to_value({**raw, "isError": True}, "s", "t")
            self.assertIn(said, str(caught.exception))
        # What a server means by it is not certain, but a failure must not pass as a success.
        flags = json.loads((FIXTURES / "failure-flags.json").read_text())
        for flag in flags["failed"]:
            with self.subTest(flag=flag), self.assertRaises(ToolError):
                value_of(text("why"), isError=flag)
        for flag in flags["fine"]:
            self.assertEqual(value_of(text("fine"), isError=flag), "fine")

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


class ResourcesAndPrompts(unittest.TestCase):
    def test_contents_that_are_not_as_mcp_defines_them_stay_as_they_are(self) -> None:
        for contents in (
            {"uri": "a:b"}, {"uri": "a:b", "text": {"a": 1}}, {"uri": "a:b", "blob": [1]}, {"uri": 5, "text": "a"}, 5,
            {"uri": "a:b", "text": None}, {"uri": "a:b", "mimeType": 5, "text": "a"},
        ):  # fmt: skip
            for raw in ({"contents": [contents]}, {"contents": contents}):
                self.assertEqual(to_resource(raw), contents)
        for raw, value in (
            ({"contents": "plain"}, "plain"), ({"contents": ["a", {"uri": "a:b", "text": "b"}]}, ["a", "b"]),
            ({"contents": []}, None), ({"text": "a"}, {"text": "a"}), ([1], [1]), ("x", "x"), (None, None), ({}, None),
        ):  # fmt: skip
            with self.subTest(raw=raw):
                self.assertEqual(to_resource(raw), value)

    def test_messages_that_are_not_as_mcp_defines_them_stay_as_they_are(self) -> None:
        for raw, value in (
            ({"messages": "plain"}, ["plain"]),
            ({"messages": {"role": "user", "content": text("a")}}, [{"role": "user", "content": "a"}]),
            ({"messages": ["a", 5, {"role": "user"}, {"content": ["a", {"x": 1}]}]},
             ["a", 5, {"role": "user"}, {"content": ["a", {"x": 1}]}]),
            ({"messages": [{"content": {"type": "text", "text": 5}}]}, [{"content": {"type": "text", "text": 5}}]),
            ({"messages": [{"content": []}]}, [{"content": None}]),
            ({}, []),
        ):  # fmt: skip
            with self.subTest(raw=raw):
                self.assertEqual(to_prompt(raw), {"messages": value})
        self.assertEqual(to_prompt("x"), "x")


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

    def test_json_lines_are_a_list(self) -> None:
        for text_of in (
            '{"a": 1}\n{"a": 2}\n', '{"a": 1}\r\n\r\n{"a": 2}', '\ufeff {\n  "a": 1\n}\n{"a":\n2}\n',
            'Found:\n{"a": 1}\n{"a": 2}\nDone', '```jsonl\n{"a": 1}\n{"a": 2}\n```', "<o>" + '{"a": 1}\n{"a": 2}</o>',
        ):  # fmt: skip
            with self.subTest(text_of=text_of):
                self.assertEqual(TextResult(text_of).json(), [{"a": 1}, {"a": 2}])
        many = "All:\n" + "".join(f'{{"n": {number}}}\n' for number in range(5_000))
        self.assertEqual(TextResult(many).json(), [{"n": number} for number in range(5_000)])
        self.assertEqual(TextResult(many).json(-1), {"n": 4_999})

    def test_several_documents_apart_are_refused_and_can_be_picked(self) -> None:
        for text_of in (
            'One:\n```json\n{"a": 1}\n```\nTwo:\n```json\n[2]\n```\n', 'One:\n{"a": 1}\nTwo:\n\n\n[2]\n',
            '<one>{"a": 1}</one>\n\n\n<two>\n[2]</two>', '{"a": 1}\n# Two\n\n\n[\n2]',
        ):  # fmt: skip
            with self.subTest(text_of=text_of):
                with self.assertRaises(ValueError) as caught:
                    TextResult(text_of).json()
                self.assertRegex(
                    str(caught.exception),
                    r"^the text has 2 JSON documents, at lines [1-3] and [4-7]; \.json\(0\) is the first, \.json\(1\)",
                )
                self.assertEqual([TextResult(text_of).json(which) for which in (0, 1, -1)], [{"a": 1}, [2], [2]])
                with self.assertRaisesRegex(IndexError, r"the text has 2 JSON documents, so there is no \.json\(2\)"):
                    TextResult(text_of).json(2)

    def test_one_document_is_taken_whatever_surrounds_it(self) -> None:
        same = '```json\n{"a": 1}\n```\nAgain:\n```\n{"a": 1.0}\n```'
        scalar = 'Exit code:\n```\n0\n```\n```json\n{"a": 1}\n```'
        outer = '```\n0\n```\n{"a": 1}'
        inner = '{\n"a":\n1}\n'
        for text_of in (same, scalar, outer, inner, f"[1] is a note\n{inner}[2] also"):
            with self.subTest(text_of=text_of):
                self.assertEqual(TextResult(text_of).json(), {"a": 1})
                self.assertEqual(TextResult(text_of).json(0), {"a": 1})
        self.assertEqual(TextResult("```\n7\n```").json(), 7)

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
