"""Methods of proxies other than tools, and options of calls."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gc
import io
import warnings
from typing import Any

from fake_host import FILES, GIT, ApiTestCase, text_result

from bridge_kernel.values import ResourceBytes, to_prompt, to_resource


class SurfaceTestCase(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.files: Any = self.namespace["mcp_files"]
        self.host.answers["list_resources"] = lambda params: {"items": [{"uri": "a:b"}], "notices": ["cut"]}
        self.host.answers["read_resource"] = lambda params: {"contents": [{"uri": params["uri"], "text": "hello"}]}
        self.host.answers["get_prompt"] = lambda params: {
            "messages": [{"role": "user", "content": {"type": "text", "text": str(params)}}]
        }


class Methods(SurfaceTestCase):
    async def test_lists_are_returned_and_omissions_reported(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            (found,) = await self.files.list_resources()
        self.assertEqual(found.uri, "a:b")
        self.assertEqual(said.getvalue(), "mcp_files.list_resources: cut\n")

    async def test_text_is_a_str_with_its_uri(self) -> None:
        text = await self.files.read_resource("demo:x")
        self.assertEqual((text, text.uri), ("hello", "demo:x"))
        self.assertEqual(self.files.read_resource.sync(uri="demo:y").uri, "demo:y")

    async def test_arguments_of_prompts_are_sent_as_text(self) -> None:
        prompt = await self.files.get_prompt("p", count=3, who="me", name="n")
        expected = {"server": "files", "name": "p", "arguments": {"count": "3", "who": "me", "name": "n"}}
        self.assertEqual(prompt.messages[0].content, str(expected))

    async def test_arguments_of_prompts_are_converted_as_those_of_tools(self) -> None:
        await self.files.get_prompt("p", day=dt.date(2026, 1, 2), many=(1, None))
        self.assertEqual(self.host.asked[-1][1]["arguments"], {"day": "2026-01-02", "many": "[1, null]"})
        for value, said in ((float("nan"), r"x is nan, a missing value"), ([0, {"a": b""}], r"x\[1\]\['a'\] is bytes")):
            with self.assertRaisesRegex(TypeError, rf"mcp_files\.get_prompt: {said}"):
                await self.files.get_prompt("p", x=value)

    async def test_wrong_arguments_are_refused_before_the_call(self) -> None:
        for call in (
            self.files.server.read_resource,
            lambda: self.files.server.read_resource(3),
            lambda: self.files.server.list_resources("x"),
            lambda: self.files.server.list_resources(x=1),
            self.files.server.get_prompt,
        ):
            with self.assertRaises(TypeError):
                call()
        self.assertEqual(self.host.asked, [])

    async def test_a_tool_of_the_same_name_wins_and_the_method_stays_available(self) -> None:
        self.host.answers["list_tools"] = lambda params: [{"name": "list_resources", "alias": "list_resources"}]
        self.assertEqual(await self.files.list_resources(), "done")
        self.assertEqual(self.files.list_resources.sync(), "done")
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(len(await self.files.server.list_resources()), 1)
            self.assertEqual(len(self.files.server.list_resources.sync()), 1)

    async def test_a_tool_called_server_can_be_called(self) -> None:
        self.assertEqual(await self.files.server(), "done")


class Values(SurfaceTestCase):
    def test_json_is_parsed_if_the_server_declares_it(self) -> None:
        contents = {"uri": "a:b", "mimeType": "application/json; charset=utf-8", "text": '{"n": [1]}'}
        value: Any = to_resource({"contents": [contents]})
        self.assertEqual(value.n, [1])
        plain: Any = to_resource({"contents": [{**contents, "mimeType": "text/plain"}]})
        self.assertEqual(plain, '{"n": [1]}')

    def test_a_blob_is_bytes(self) -> None:
        value = to_resource({"contents": [{"uri": "a:b", "mimeType": "image/png", "blob": "iVBORw=="}]})
        assert isinstance(value, ResourceBytes)
        self.assertEqual((bytes(value), value.mime_type, value.uri), (b"\x89PNG", "image/png", "a:b"))
        self.assertEqual(repr(value), "<ResourceBytes image/png, 4 bytes>")

    def test_several_parts_are_a_list_and_none_is_none(self) -> None:
        self.assertEqual(to_resource({"contents": [{"text": "a"}, {"text": "b"}]}), ["a", "b"])
        self.assertIsNone(to_resource({"contents": []}))
        self.assertIsNone(to_resource({}))

    def test_messages_of_prompts_hold_values(self) -> None:
        image = {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}
        prompt: Any = to_prompt({"description": "d", "messages": [{"role": "user", "content": image}]})
        self.assertEqual(prompt.messages[0].content.data, b"\x89PNG")
        self.assertEqual(to_prompt({}), {"messages": []})


class Options(SurfaceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.host.answers["call_tool"] = lambda params: text_result(str(params.get("progress")))
        self.host.reports = [{"progress": 1, "total": 2, "message": "half"}, {"progress": 2}]
        self.seen: list[object] = []

    def note(self, progress: float, total: float | None, message: str | None) -> None:
        self.seen.append((progress, total, message))

    async def test_progress_is_requested_only_with_a_callback(self) -> None:
        self.assertEqual(await self.files.read_file.with_options(on_progress=self.note)(path="a"), "True")
        self.assertEqual(self.seen, [(1, 2, "half"), (2, None, None)])
        self.assertEqual(self.files.read_file.with_options(on_progress=self.note).sync(path="a"), "True")
        self.assertEqual(len(self.seen), 4)
        self.assertEqual(await self.files.read_file(path="a"), "None")

    async def test_timeout_is_passed_and_options_combine(self) -> None:
        await self.files.read_file.with_options(timeout=2).with_options(on_progress=self.note)(path="a")
        self.assertEqual(self.host.timeouts[-1], 2)
        self.assertEqual(len(self.seen), 2)

    async def test_a_failing_callback_is_reported_once_and_the_call_continues(self) -> None:
        def fail(*report: object) -> None:
            self.seen.append(report)
            raise ValueError("mine")

        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            await self.files.read_file.with_options(on_progress=fail)(path="a")
        self.assertEqual(len(self.seen), 1)
        self.assertIn("on_progress of mcp_files.read_file raised ValueError('mine'); it is not", said.getvalue())

    # The call used to return before the last report was handled, and a slow first report came after it.
    async def test_a_callback_may_be_a_coroutine_function(self) -> None:
        slow = [0.01, 0]

        async def note(*report: object) -> None:
            await asyncio.sleep(slow.pop(0))
            self.seen.append(report)

        await self.files.read_file.with_options(on_progress=note)(path="a")
        self.assertEqual(self.seen, [(1, 2, "half"), (2, None, None)])

    async def test_a_failing_coroutine_callback_is_reported_once_and_the_call_continues(self) -> None:
        async def fail(*report: object) -> None:
            self.seen.append(report)
            raise ValueError("mine")

        said = io.StringIO()
        with contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("error")
            await self.files.read_file.with_options(on_progress=fail)(path="a")
            gc.collect()
        self.assertEqual(len(self.seen), 1)
        self.assertEqual(said.getvalue().count("; it is not called again"), 1)

    def test_a_blocking_call_refuses_a_coroutine_callback(self) -> None:
        async def note(*report: object) -> None:
            self.seen.append(report)

        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.files.read_file.with_options(on_progress=note).sync(path="a")
        self.assertIn("on_progress must be a plain function, not 'async def'", said.getvalue())

    async def test_invalid_options_are_refused(self) -> None:
        for options in ({"timeout": 0}, {"timeout": "3"}, {"timeout": True}, {"on_progress": 3}):
            with self.assertRaises((TypeError, ValueError)):
                self.files.read_file.with_options(**options)


class Updates(SurfaceTestCase):
    def test_they_work_on_every_server(self) -> None:
        self.api.update([FILES], [FILES, GIT])
        self.assertIn("read_resource", dir(self.files.server))
