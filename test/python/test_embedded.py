"""The channel, the loop and the capture for a Python without threads, with pipes instead of the engine's devices."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import unittest

from bridge_kernel.embedded import Capture, Channel, Loop
from bridge_kernel.errors import MCPError
from bridge_kernel.output_store import OutputStore


class Host:
    """The other end of a channel."""

    def __init__(self) -> None:
        read_end, self._to_kernel = os.pipe()
        self._from_kernel, write_end = os.pipe()
        self.channel = Channel(read_end, write_end)
        self.others: list[dict[str, object]] = []
        self.channel.start(self.others.append)

    def write(self, *frames: dict[str, object]) -> None:
        os.write(self._to_kernel, b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def read(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in os.read(self._from_kernel, 1 << 16).splitlines()]


def answer(call: int, value: object) -> dict[str, object]:
    return {"type": "answer", "call": call, "ok": True, "value": value}


class ChannelTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host = Host()

    def test_a_blocking_call_handles_frames_until_its_answer(self) -> None:
        self.host.channel.open_gate()
        interrupt: dict[str, object] = {"type": "interrupt", "cell": 1, "reason": "deadline", "sent_before": 0}
        self.host.write(interrupt, answer(2, "other"), answer(1, "mine"))
        self.assertEqual(self.host.channel.call_sync("reset", {}), "mine")
        self.assertEqual(self.host.others, [interrupt])
        self.assertEqual(self.host.read()[0]["method"], "reset")

    def test_a_blocking_call_times_out(self) -> None:
        self.host.channel.open_gate()
        with self.assertRaisesRegex(MCPError, "CALL_TIMEOUT"):
            self.host.channel.call_sync("reset", {}, timeout=0.01)
        self.assertEqual([frame["type"] for frame in self.host.read()], ["call", "cancel_call"])

    def test_a_late_tool_is_named_with_a_way_to_more_time(self) -> None:
        self.host.channel.open_gate()
        params: dict[str, object] = {"server": "every", "tool": "long-run", "arguments": {}}
        with self.assertRaises(MCPError) as caught:
            self.host.channel.call_sync("call_tool", params, timeout=0.01)
        self.assertEqual(caught.exception.message, "every.long-run did not answer within 0.01 s")
        hint = "Give it more time: .with_options(timeout=SECONDS). The call may still have taken effect."
        self.assertEqual(caught.exception.hint, hint)

    def test_a_blocking_call_between_cells_is_refused(self) -> None:
        with self.assertRaisesRegex(MCPError, "without await while no cell runs"):
            self.host.channel.call_sync("reset", {})

    def test_a_call_that_waits_in_a_closed_loop_does_not_stop_the_next_cell(self) -> None:
        # The cell failed with "Event loop is closed" before any of its code ran.
        async def begin() -> None:
            call = asyncio.ensure_future(self.host.channel.call("reset", {}))
            await asyncio.sleep(0)
            self.assertFalse(call.done())

        asyncio.run(begin())
        self.host.channel.open_gate()

    def test_output_is_drained_before_a_wait(self) -> None:
        waits: list[int] = []
        self.host.channel.before_waiting = lambda: waits.append(1)
        self.host.channel.pump(0)
        self.assertEqual(waits, [])
        self.host.channel.pump(0.001)
        self.assertEqual(waits, [1])

    def test_a_frame_is_handled_completely_before_an_interrupt(self) -> None:
        struck: list[bool] = []

        def on_frame(_frame: dict[str, object]) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            struck.append(self.host.channel.main_is_busy)

        def on_signal(_number: int, _frame: object) -> None:
            self.assertTrue(self.host.channel.main_is_busy)
            self.host.channel.interrupt_held = lambda: struck.append(self.host.channel.main_is_busy)

        previous = signal.signal(signal.SIGINT, on_signal)
        self.addCleanup(signal.signal, signal.SIGINT, previous)
        self.host.channel.start(on_frame)
        self.host.write({"type": "interrupt", "cell": 1, "reason": "deadline", "sent_before": 0})
        self.host.channel.pump(None)
        self.assertEqual(struck, [True, False])


class LoopTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host = Host()
        self.loop = Loop(self.host.channel)
        self.addCleanup(self.loop.close)

    def test_calls_are_awaited_together(self) -> None:
        channel = self.host.channel
        channel.open_gate()

        async def main() -> object:
            calls = [channel.call("reset", {}) for _ in range(3)]
            self.loop.call_soon(self.host.write, answer(2, "b"), answer(1, "a"), answer(3, "c"))
            return await asyncio.gather(*calls)

        self.assertEqual(self.loop.run_until_complete(main()), ["a", "b", "c"])

    def test_timers_run_while_the_host_is_silent(self) -> None:
        async def main() -> str:
            await asyncio.sleep(0.01)
            return "slept"

        self.assertEqual(self.loop.run_until_complete(main()), "slept")

    def test_a_signal_ends_an_endless_wait(self) -> None:
        async def main() -> str:
            woken = self.loop.create_future()

            def on_signal(_number: int, _frame: object) -> None:
                self.loop.call_soon_threadsafe(woken.set_result, "woken")

            previous = signal.signal(signal.SIGINT, on_signal)
            self.addCleanup(signal.signal, signal.SIGINT, previous)
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            self.addCleanup(timer.join)
            return await woken

        self.assertEqual(self.loop.run_until_complete(main()), "woken")


class CaptureTest(unittest.TestCase):
    def test_lines_are_sent_together(self) -> None:
        import sys

        streams = sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__
        outputs = [os.dup(1), os.dup(2)]
        pipes = [os.pipe(), os.pipe()]
        sent: list[tuple[str, str, int, int]] = []
        try:
            for index, (read_end, write_end) in enumerate(pipes):
                os.set_blocking(read_end, False)
                os.dup2(write_end, index + 1)
            capture = Capture(lambda *output: sent.append(output), (pipes[0][0], pipes[1][0]))
            capture.open(1 << 10, OutputStore(1 << 10))
            capture.begin_cell(1)
            for number in range(1000):
                print(number)
            capture.end_cell()
        finally:
            for index, output in enumerate(outputs):
                os.dup2(output, index + 1)
            sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__ = streams
        written = "".join(f"{number}\n" for number in range(1000))
        self.assertEqual(sent[0][1], "0\n")
        self.assertTrue(written.startswith("".join(text for _, text, _, _ in sent[:-1])))
        self.assertTrue(written.endswith(sent[-1][1]))
        self.assertEqual(sum(len(text) for _, text, _, _ in sent) + sent[-1][2], len(written))


if __name__ == "__main__":
    unittest.main()
