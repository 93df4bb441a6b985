"""The Python values of tool results. Results named after a server were recorded from that server."""

from __future__ import annotations

import base64
import copy
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from bridge_kernel.errors import ToolError
from bridge_kernel.values import (
    AttrDict,
    AudioContent,
    ImageContent,
    ResourceContent,
    ResourceLink,
    attribute_access,
    to_value,
)

PNG = base64.b64encode(b"\x89PNG").decode()


def value_of(*blocks: dict[str, object], **rest: object) -> Any:
    return to_value({"content": list(blocks), **rest}, "server", "tool")


def text(content: str) -> dict[str, object]:
    return {"type": "text", "text": content}


class RealServers(unittest.TestCase):
    def test_filesystem_text_is_a_plain_str(self) -> None:
        content = value_of(text("a TODO\n"), structuredContent={"content": "a TODO\n"})
        self.assertIs(type(content), str)
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

    def test_methods_of_dict_win_over_keys(self) -> None:
        self.assertEqual(len(self.issue.items()), 4)
        self.assertEqual(self.issue["items"], [1])

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
