"""Files as arguments, and the pages of a list: what servers of APIs add to the calls of tools."""

from __future__ import annotations

import contextlib
import io
import pathlib
import tempfile
import unittest
from typing import Any

from fake_host import ApiTestCase

from bridge_kernel.errors import ArgumentError
from bridge_kernel.specs import ToolSpec
from bridge_kernel.values import ImageContent

FILE = {"type": "string", "contentEncoding": "base64", "contentMediaType": "application/octet-stream"}
FACTS: dict[str, Any] = {
    "name": "upload",
    "alias": "upload",
    "parameters": [{"name": name, "alias": name} for name in ("file", "many", "old")],
    "open": False,
    "hint": "",
    "input_schema": {
        "properties": {
            "file": FILE,
            "many": {"type": "array", "items": FILE},
            "old": {"type": "string", "contentEncoding": "base64"},
        },
    },
}
UPLOAD = ToolSpec(FACTS, "shop")


class Files(unittest.TestCase):
    def sent(self, value: object, name: str = "file") -> object:
        return UPLOAD.arguments((), {name: value})[name]

    def test_bytes_are_sent_in_base64(self) -> None:
        self.assertEqual(self.sent(b"a\0b"), "YQBi")
        self.assertEqual(self.sent(bytearray(b"ab")), "YWI=")
        self.assertEqual(self.sent(memoryview(b"ab")), "YWI=")
        self.assertEqual(self.sent([b"a", b"b"], "many"), ["YQ==", "Yg=="])

    def test_what_has_a_name_keeps_it(self) -> None:
        self.assertEqual(self.sent(("a b.png", b"ab")), "data:image/png;name=a%20b.png;base64,YWI=")
        self.assertEqual(self.sent([("x.txt", b"a")], "many"), ["data:text/plain;name=x.txt;base64,YQ=="])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.csv"
            path.write_bytes(b"ab")
            expected = "data:text/csv;name=table.csv;base64,YWI="
            self.assertEqual(self.sent(path), expected)
            with path.open("rb") as file:
                self.assertEqual(self.sent(file), expected)

    def test_an_image_of_another_tool_is_a_file(self) -> None:
        image = ImageContent({"data": "YWI=", "mimeType": "image/png"})
        self.assertEqual(self.sent(image), "data:image/png;base64,YWI=")

    def test_a_text_is_no_file(self) -> None:
        with self.assertRaisesRegex(ArgumentError, r"file is a str; pass bytes, such as text.encode\(\)"):
            self.sent("text")
        with self.assertRaisesRegex(ArgumentError, "is a int; a file is bytes"):
            self.sent(3)

    def test_base64_of_other_servers_stays_a_text(self) -> None:
        self.assertEqual(self.sent("YQ==", "old"), "YQ==")


class Pages(ApiTestCase):
    async def pages(self, results: list[dict[str, Any]]) -> tuple[list[object], str]:
        """The pages of a list whose calls have these results, and what stderr says."""
        waiting = iter(results)
        self.host.answers["call_tool"] = lambda params: next(waiting)
        files: Any = self.namespace["mcp_files"]
        tool = files.read_file
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = [page async for page in tool.pages(path="a")]
        return found, said.getvalue()

    @staticmethod
    def page(value: object, **following: object) -> dict[str, Any]:
        meta = {"_meta": {"bridge/next-page": following}} if following else {}
        return {"content": [], "structuredContent": {"result": value}, **meta}

    async def test_each_is_a_call_with_the_arguments_of_the_last_answer(self) -> None:
        found, said = await self.pages([self.page([1], arguments={"path": "a", "tail": 2}), self.page([2])])
        self.assertEqual((found, said), ([[1], [2]], ""))
        self.assertEqual(self.host.sent_arguments(), [{"path": "a"}, {"path": "a", "tail": 2}])

    async def test_a_circle_ends(self) -> None:
        back = {"arguments": {"path": "a"}}
        found, _ = await self.pages([self.page([1], arguments={"path": "b"}), self.page([2], **back)])
        self.assertEqual(found, [[1], [2]])

    async def test_a_guess_ends_with_an_empty_page_or_the_same_again(self) -> None:
        def guess(value: object, number: int) -> dict[str, Any]:
            return self.page(value, arguments={"path": "a", "tail": number}, isGuess=True)

        self.assertEqual((await self.pages([guess([1], 2), guess([2], 3), self.page([])]))[0], [[1], [2]])
        self.assertEqual((await self.pages([guess([1], 2), guess([1], 3)]))[0], [[1]])

    async def test_a_page_out_of_reach_is_said(self) -> None:
        found, said = await self.pages([self.page([1], isOutOfReach=True)])
        self.assertEqual(found, [[1]])
        self.assertIn("mcp_files.read_file.pages: there is a next page", said)
