"""Which thread reads what the host sends, and how long the one that drains stdout and stderr lets its pipes fill."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
import unittest
from typing import Any
from unittest.mock import patch

from bridge_kernel import rpc, threaded
from bridge_kernel.frames import Frame

_F_SETPIPE_SZ = 1031
# A reader that never found out that the main thread is busy would make a test fail, not hang.
_DEADLINE_SECONDS = 30


class Reading(unittest.TestCase):
    """A channel whose other end answers each call at once, with the thread that noticed the answer."""

    def setUp(self) -> None:
        read_end, self.to_kernel = os.pipe()
        self.from_kernel, write_end = os.pipe()
        self.channel = threaded.Channel(read_end, write_end)
        self.loop = self.channel.main_loop = asyncio.SelectorEventLoop(threaded.selector_of(self.channel))
        self.addCleanup(self.loop.close)
        self.channel.open_gate()
        self.frames: list[tuple[Frame, str]] = []
        self.channel.start(lambda frame: self.frames.append((frame, threading.current_thread().name)))
        self.readers: list[str] = []
        taken = patch.object(self.channel, "_take", side_effect=self.take)
        self.take_really = self.channel._take  # noqa: SLF001
        taken.start()
        self.addCleanup(taken.stop)
        threading.Thread(target=self.answer, daemon=True).start()

    def take(self, data: bytes) -> None:
        self.readers.append(threading.current_thread().name)
        self.take_really(data)

    def answer(self) -> None:
        """The host. A call with a `delay` is answered so many seconds later."""
        with os.fdopen(self.from_kernel, "rb") as calls:
            for line in calls:
                frame: dict[str, Any] = json.loads(line)
                if frame["type"] != "call":
                    continue
                time.sleep(frame["params"].get("delay", 0))
                self.send({"type": "answer", "call": frame["call"], "ok": True, "value": frame["call"]})

    def send(self, frame: Frame) -> None:
        os.write(self.to_kernel, json.dumps(frame).encode() + b"\n")

    def interrupt(self) -> None:
        self.send({"type": "interrupt", "cell": 1, "reason": "", "sent_before": 0})

    async def call(self, **params: object) -> object:
        return await self.channel.call("reset", params)

    def test_the_loop_reads_while_it_waits(self) -> None:
        async def main() -> None:
            for number in range(1, 21):
                self.assertEqual(await self.call(delay=0.002), number)

        self.loop.run_until_complete(main())
        # Not all: on a busy machine, an answer can arrive before the main thread has begun to wait.
        self.assertGreater(self.readers.count("MainThread"), 15)

    def test_answers_need_no_wake_up(self) -> None:
        with patch.object(self.loop, "call_soon_threadsafe", side_effect=AssertionError):
            self.assertEqual(self.loop.run_until_complete(self.call()), 1)

    def test_a_blocking_call_of_the_main_thread_reads(self) -> None:
        for number in range(1, 21):
            self.assertEqual(self.channel.call_sync("reset", {}), number)
        self.assertGreater(self.readers.count("MainThread"), 15)

    def test_the_reader_reads_what_the_main_thread_leaves(self) -> None:
        for _ in range(3):
            self.interrupt()
            end = time.monotonic() + _DEADLINE_SECONDS
            while not self.frames and time.monotonic() < end:
                pass  # Code of a cell that never yields.
            ((frame, reader),) = self.frames
            self.assertEqual((frame["type"], reader), ("interrupt", "bridge-reader"))
            self.frames.clear()
            # Now both wait for input. Once the loop has found some first, it reads alone again.
            self.readers.clear()
            while "MainThread" not in self.readers and time.monotonic() < end:
                self.loop.run_until_complete(self.call())
            self.readers.clear()
            self.loop.run_until_complete(self.call(delay=0.002))
            self.assertEqual(set(self.readers), {"MainThread"})

    def test_blocking_calls_of_other_threads_need_no_main_thread(self) -> None:
        answers: list[object] = []

        def work() -> None:
            answers.extend(self.channel.call_sync("reset", {}) for _ in range(20))

        # The reader pauses, and would not end that by itself.
        with patch.object(threaded, "_PAUSE_SECONDS", 10 * _DEADLINE_SECONDS):
            self.loop.run_until_complete(self.call())
            self.readers.clear()
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            thread.join(_DEADLINE_SECONDS)
        self.assertEqual(answers, list(range(2, 22)))
        self.assertEqual(set(self.readers), {"bridge-reader"})

    def test_a_thread_and_the_loop_wait_at_the_same_time(self) -> None:
        async def main() -> None:
            threads = [asyncio.to_thread(self.channel.call_sync, "reset", {}) for _ in range(20)]
            answers = await asyncio.gather(*threads, *(self.call() for _ in range(20)))
            self.assertEqual(sorted(map(str, answers)), sorted(map(str, range(1, 41))))

        self.loop.run_until_complete(main())

    def test_a_blocking_call_ends_when_its_time_is_over(self) -> None:
        with self.assertRaisesRegex(Exception, "did not answer within 0.05 s"):
            self.channel.call_sync("reset", {"delay": 0.5}, timeout=0.05)

    def test_a_copy_of_the_process_leaves_the_frames_to_the_original(self) -> None:
        with patch.object(self.channel, "is_forked", return_value=True):
            self.loop.call_later(0.05, self.loop.stop)
            with patch.object(self.channel, "_read_in_main", side_effect=AssertionError):
                self.interrupt()
                self.loop.run_forever()

    def test_a_frame_that_finds_no_memory_does_not_end_the_reading(self) -> None:
        def decode(line: bytes) -> Frame:
            if b"large" in line:
                raise MemoryError
            return decode_really(line)

        decode_really = rpc.decode_frame
        with (
            patch.object(rpc, "decode_frame", side_effect=decode),
            patch.object(threaded.memory_reserve, "release") as release,
        ):
            self.send({"type": "interrupt", "cell": 1, "reason": "large", "sent_before": 0})
            self.interrupt()
            self.loop.call_later(0.05, self.loop.stop)
            self.loop.run_forever()
        release.assert_called_once()
        self.assertEqual([frame["reason"] for frame, _ in self.frames], [""])

    def test_an_idle_session_wakes_nothing(self) -> None:
        self.loop.run_until_complete(self.call())
        self.loop.run_until_complete(asyncio.sleep(1.5))
        before = _switches()
        self.loop.run_until_complete(asyncio.sleep(0.5))
        self.assertEqual(_switches() - before, 0)


class HostGone(unittest.TestCase):
    """The process ends, whoever reads."""

    def test_while_the_loop_waits_or_code_runs(self) -> None:
        for main in ("channel.main_loop.run_forever()", "while True: pass", "channel.wait(threading.Event())"):
            code = f"""
                import asyncio, os, threading
                from bridge_kernel import rpc, threaded
                channel = threaded.Channel(0, 1)
                channel.main_loop = asyncio.SelectorEventLoop(threaded.selector_of(channel))
                channel.start(print)
                {main}
            """
            with self.subTest(main=main):
                ended = subprocess.run(
                    [sys.executable, "-c", textwrap.dedent(code)],
                    input=b"", timeout=_DEADLINE_SECONDS, check=False,
                )  # fmt: skip
                self.assertEqual(ended.returncode, 0)


def _switches() -> int:
    """How often threads of the reader's name have waited so far."""
    total = 0
    for thread in threading.enumerate():
        if thread.name == "bridge-reader":
            with open(f"/proc/self/task/{thread.native_id}/status", encoding="utf-8") as status:
                total += sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))
    return total


class LetFill(unittest.TestCase):
    def setUp(self) -> None:
        self.pipes = (os.pipe(), os.pipe())
        for pipe in self.pipes:
            for end in pipe:
                self.addCleanup(os.close, end)
        # What a new pipe of a user gets whose pipes hold 64 MiB together.
        fcntl.fcntl(self.pipes[0][1], _F_SETPIPE_SZ, 8 << 10)

    def slept(self) -> float:
        """Seconds."""
        capture = object.__new__(threaded.Capture)
        capture.read_ends = (self.pipes[0][0], self.pipes[1][0])
        with patch.object(threaded.time, "sleep") as sleep:
            capture._let_fill()
        return sum(call.args[0] for call in sleep.call_args_list)

    def test_gathers_what_a_program_prints_line_by_line(self) -> None:
        os.write(self.pipes[0][1], b"a line\n")
        self.assertAlmostEqual(self.slept(), 0.016)

    # 32 sandboxes used up the pipes of their user, and printing 1 MB took 2.6 s in all later ones: 20 ms for 8 KiB.
    def test_takes_at_once_what_fills_a_small_pipe(self) -> None:
        os.write(self.pipes[0][1], b"x" * (4 << 10))
        self.assertLess(self.slept(), 0.001)

    def test_the_same_is_little_for_a_large_pipe(self) -> None:
        os.write(self.pipes[1][1], b"x" * (4 << 10))
        self.assertAlmostEqual(self.slept(), 0.016)

    def test_looks_at_both(self) -> None:
        os.write(self.pipes[1][1], b"x" * (32 << 10))
        self.assertLess(self.slept(), 0.001)


if __name__ == "__main__":
    unittest.main()
