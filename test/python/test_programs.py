"""Programs in other languages: `runtime.run` and `runtime.run_snippet`."""

from __future__ import annotations

import base64
from typing import Any

from fake_host import ApiTestCase

ANSWER: dict[str, object] = {
    "status": "error",
    "exit_code": 3,
    "stdout": "out\n",
    "stderr": "err\n",
    "dropped_bytes": 0,
    "duration_ms": 12,
    "files": [{"name": "new.txt", "content": base64.b64encode(b"N").decode()}],
}


class Programs(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.host.answers["run_program"] = lambda params: ANSWER
        self.runtime: Any = self.namespace["runtime"]

    def asked(self) -> dict[str, Any]:
        return self.host.asked[-1][1]

    async def test_code_files_and_input_are_sent_and_the_result_comes_back(self) -> None:
        result = await self.runtime.run(
            "javascript", "code", files={"a.txt": "text", "b": b"\xff"}, args=["x", 1], stdin="in", timeout=2,
            wants_files=True,
        )  # fmt: skip
        self.assertEqual(self.asked(), {
            "language": "javascript", "code": "code", "args": ["x", "1"], "timeout": 2, "wants_files": True,
            "stdin": "aW4=", "files": [{"name": "a.txt", "content": "dGV4dA=="}, {"name": "b", "content": "/w=="}],
        })  # fmt: skip
        told = (result.status, result.exit_code, result.stdout, result.stderr, result.duration_ms, result.files)
        self.assertEqual(told, ("error", 3, "out\n", "err\n", 12, {"new.txt": b"N"}))
        self.assertEqual(repr(result), "out\n--- stderr ---\nerr\n[exit code 3]\n[files: new.txt]")

    async def test_snippets_and_calls_without_await(self) -> None:
        await self.runtime.run_snippet("report", args=["q"])
        self.assertEqual(self.asked()["snippet"], "report")
        self.assertNotIn("timeout", self.asked())
        self.assertEqual(self.runtime.run.sync("bash", "exit 3").exit_code, 3)
        self.assertEqual(self.runtime.run_snippet.sync("report").exit_code, 3)

    async def test_what_cannot_be_sent_is_refused_before_the_call(self) -> None:
        run = self.runtime.run
        for wrong in (
            lambda: run("bash", b"echo"), lambda: run("bash", "x", args="abc"), lambda: run("bash", "x", stdin=3),
            lambda: run("bash", "x", files={"a": 1}),
        ):  # fmt: skip
            self.assertRaises(TypeError, wrong)
        with self.assertRaisesRegex(ValueError, "the limit is 5,242,880 bytes"):
            run("bash", "x", stdin=b"x" * (5 << 20))
        self.assertEqual(self.host.asked, [])
