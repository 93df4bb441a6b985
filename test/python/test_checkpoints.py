"""When a checkpoint is written by a copy of the process, and when at once."""

from __future__ import annotations

import asyncio
import decimal
import os
import tempfile
import types
import unittest
import warnings
from typing import Any
from unittest.mock import patch

from bridge_kernel import checkpoints, state_pickle


class _Channel:
    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self.data = b""

    def send(self, frame: dict[str, Any]) -> None:
        self.frames.append(frame)

    def send_with_bytes(self, frame: dict[str, Any], data: bytes) -> None:
        self.frames.append(frame)
        self.data += data


class _Reducible:
    """Its pickling runs its code."""

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        raise AssertionError("only a copy may run this")


class Savings(unittest.TestCase):
    """A session that cannot be copied: it only says that it tried."""

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)

    def save(self, values: dict[str, object]) -> tuple[dict[str, Any], _Channel]:
        """Returns the report."""
        api: Any = types.SimpleNamespace(
            references=lambda: None, owns=lambda _name: False, open_packages=lambda: types.SimpleNamespace(used=None)
        )
        repl: Any = types.SimpleNamespace(user_values=lambda _owns: values, flags=0)
        start: Any = ([], dict(os.environ), self.folder.name, list(warnings.filters))
        channel: Any = _Channel()
        loop: Any = types.SimpleNamespace(loop=self.loop, is_saving=False)
        parts = checkpoints.SessionParts(repl, api, loop, start, may_fork=True)
        saving = checkpoints.Checkpoints(channel, parts)
        frame: Any = {"checkpoint": 1, "max_bytes": 1 << 30, "memory_bytes": 1 << 40, "may_block": False}
        with patch.object(checkpoints, "_fork", side_effect=OSError(11, "no processes here")):
            saving.save(frame)
        return channel.frames[-1], channel

    def test_plain_values_are_written_at_once(self) -> None:
        report, channel = self.save({"n": 1, "text": "x" * 1_000, "rows": [{"a": (1.5, None)}], "os": os})
        self.assertEqual((report["ok"], report["variables"], report["files"]), (True, 4, 0))
        self.assertEqual([frame["type"] for frame in channel.frames], ["checkpoint_part", "checkpoint_end"])
        self.assertGreater(len(channel.data), 1_000)

    def test_the_context_of_decimal_is_plain_unless_it_is_of_a_subclass(self) -> None:
        self.assertTrue(self.save({"n": 1})[0]["ok"])
        self.addCleanup(decimal.setcontext, decimal.getcontext())
        decimal.setcontext(type("Context", (decimal.Context,), {})())
        self.assertEqual(self.save({"n": 1})[0]["reason"], "no copy of the process: no processes here")

    def test_everything_else_is_written_by_a_copy(self) -> None:
        itself: list[object] = []
        itself.append(itself)
        subclass = type("Text", (str,), {})("x")
        for value in (_Reducible(), subclass, lambda: 0, [0] * 2_000, "x" * 100_000, 1 << 1_000_000, itself):
            with self.subTest(value=type(value).__name__):
                report, channel = self.save({"value": value})
                self.assertEqual(report["reason"], "no copy of the process: no processes here")
                self.assertEqual(len(channel.frames), 1)

    def test_so_are_large_files(self) -> None:
        with open(os.path.join(self.folder.name, "large.bin"), "wb") as file:
            file.write(bytes(200_000))
        report, channel = self.save({"n": 1})
        self.assertEqual(report["reason"], "no copy of the process: no processes here")
        self.assertEqual(len(channel.frames), 1)

    def test_what_is_plain_has_limits(self) -> None:
        self.assertTrue(state_pickle.is_small_and_plain({"a": [1, 2]}, 10, 10))
        self.assertFalse(state_pickle.is_small_and_plain([0] * 10, 10, 10))
        self.assertFalse(state_pickle.is_small_and_plain("x" * 11, 10, 10))
        self.assertFalse(state_pickle.is_small_and_plain({"a": {"b": object()}}, 100, 100))


if __name__ == "__main__":
    unittest.main()
