"""What arrives from the host is taken apart into frames and bytes; calls of one turn are written together."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import select
import unittest
from unittest.mock import patch

from bridge_kernel import rpc
from bridge_kernel.errors import MCPError
from bridge_kernel.frames import Frame
from bridge_kernel.rpc import Pending
from bridge_kernel.threaded import Channel
from bridge_kernel.values import as_dict


class Arrivals(unittest.TestCase):
    """Bytes as they may arrive."""

    def setUp(self) -> None:
        self.ends = os.pipe()
        self.channel = Channel(*self.ends)
        self.frames: list[Frame] = []
        self.channel._on_frame = self.frames.append  # noqa: SLF001

    def tearDown(self) -> None:
        for end in self.ends:
            os.close(end)

    def test_bytes_after_a_frame_may_be_anything_and_arrive_in_any_pieces(self) -> None:
        taken = b'{"type":"checkpoint_taken","checkpoint":1}\n'
        content = b'\n{"type":"checkpoint_taken","checkpoint":2}\n\xff'
        part = b'{"type":"checkpoint_data","bytes":%d}\n%s\n' % (len(content), content)
        end = b'{"type":"checkpoint_data","bytes":0}\n\n'
        stream = taken + part + part + end + taken
        for size in (1, 2, 7, len(taken) + 5, len(stream)):
            with self.subTest(size=size):
                self.frames.clear()
                before = self.channel.received
                for start in range(0, len(stream), size):
                    self.channel._take(stream[start : start + size])  # noqa: SLF001
                self.assertEqual([frame.get("data") for frame in self.frames], [None, content, content, b"", None])
                self.assertEqual(self.channel.received - before, 5)

    def test_a_result_in_bytes_arrives_in_any_pieces(self) -> None:
        value = {"text": "zwölf\n{}", "sum": 12345678901234567890, "part": 1.0}
        data = json.dumps(value, ensure_ascii=False).encode()
        other = b'{"type":"answer_bytes","call":8,"total":2,"bytes":2}\n{}\n'
        # Before, inside and behind the only character that is not ASCII.
        cuts = [data.index(b"\xc3") + place for place in (-3, 1, 2)]
        for cut, size in itertools.product(cuts, (1, 2, 7, 10_000)):
            frame = b'{"type":"answer_bytes","call":7,"total":%d,"bytes":%d}\n%s\n'
            pieces = [frame % (len(data), len(part), part) for part in (data[:cut], data[cut:])]
            stream = pieces[0] + other + pieces[1] + b'{"type":"answer","call":7,"ok":true,"parts":2}\n'
            with self.subTest(cut=cut, size=size):
                answers: list[tuple[object, MCPError | None]] = []
                self.channel._pending[7] = Pending(lambda *answer, to=answers: to.append(answer))  # noqa: SLF001
                for start in range(0, len(stream), size):
                    self.channel._take(stream[start : start + size])  # noqa: SLF001
                self.assertEqual(answers, [(value, None)])
                self.assertEqual(repr(answers[0][0]), repr(value))

    def test_a_result_in_bytes_is_read_to_its_place(self) -> None:
        value = {"text": "zwölf " * 100, "part": 1.0}
        data = json.dumps(value, ensure_ascii=False).encode()
        frame = b'{"type":"answer_bytes","call":7,"total":%d,"bytes":%d}\n%s\n'
        pieces = [data[:5], data[5:6], data[6:]]
        end = b'{"type":"answer","call":7,"ok":true,"parts":3}\n'
        stream = b"".join(frame % (len(data), len(piece), piece) for piece in pieces) + end
        # So many bytes are read beyond a place, and written at once.
        for most, size in itertools.product((1, 10, 4096), (1, 7, 60, 10_000)):
            with self.subTest(most=most, size=size):
                answers: list[tuple[object, MCPError | None]] = []
                self.channel._pending[7] = Pending(lambda *answer, to=answers: to.append(answer))  # noqa: SLF001
                self.channel._ahead = bytearray(most)  # noqa: SLF001
                for start in range(0, len(stream), size):
                    os.write(self.ends[1], stream[start : start + size])
                    while select.select([self.ends[0]], [], [], 0)[0]:
                        self.channel._read_once()  # noqa: SLF001
                self.assertEqual(answers, [(value, None)])

    def test_a_result_without_room_is_an_error_and_what_follows_is_read(self) -> None:
        answers: list[tuple[object, MCPError | None]] = []
        for call in (7, 8):
            self.channel._pending[call] = Pending(lambda *answer: answers.append(answer))  # noqa: SLF001
        part = b'{"type":"answer_bytes","call":7,"total":4,"bytes":2}\n%s\n'
        stream = part % b"[1" + part % b"2]" + b'{"type":"answer","call":7,"ok":true,"parts":2}\n'
        with patch.object(rpc, "Body", side_effect=MemoryError):
            self.channel._take(stream + b'{"type":"answer","call":8,"ok":true,"value":1}\n')  # noqa: SLF001
        (refused, given) = answers
        self.assertEqual(refused[1] and refused[1].code, "LIMIT_RESULT")
        self.assertIn("no room for a result of 4 bytes\nHint: Delete large variables", str(refused[1]))
        self.assertEqual(given, (1, None))

    def test_bytes_without_room_are_not_collected(self) -> None:
        self.channel._pending[7] = Pending(lambda *answer: None)  # noqa: SLF001
        with patch.object(rpc, "Body", side_effect=MemoryError):
            self.channel._take(b'{"type":"answer_bytes","call":7,"total":4000,"bytes":4000}\n')  # noqa: SLF001
            for _ in range(4):
                self.channel._take(b"[" * 1000)  # noqa: SLF001
                self.assertEqual(len(self.channel._unread), 0)  # noqa: SLF001
        self.channel._take(b'\n{"type":"checkpoint_taken","checkpoint":2}\n')  # noqa: SLF001
        self.assertEqual(len(self.frames), 1)

    def test_a_result_in_bytes_that_cannot_be_decoded_is_an_error(self) -> None:
        for data in (b"[1", b'"\xff"', b"[" * 100_000):
            with self.subTest(data=data[:4]):
                answers: list[tuple[object, MCPError | None]] = []
                self.channel._pending[7] = Pending(lambda *answer, to=answers: to.append(answer))  # noqa: SLF001
                frame = b'{"type":"answer_bytes","call":7,"total":%d,"bytes":%d}\n%s\n'
                frame %= (len(data), len(data), data)
                self.channel._take(frame + b'{"type":"answer","call":7,"ok":true,"parts":1}\n')  # noqa: SLF001
                ((value, error),) = answers
                self.assertIsNone(value)
                self.assertEqual(error and error.code, "LIMIT_RESULT")


class Calls(unittest.IsolatedAsyncioTestCase):
    """Calls of tasks, whose answers the test gives."""

    def setUp(self) -> None:
        read_end, self.to_kernel = os.pipe()
        self.from_kernel, write_end = os.pipe()
        self.ends = (read_end, self.to_kernel, self.from_kernel, write_end)
        self.channel = Channel(read_end, write_end)
        self.channel.open_gate()
        counted = patch.object(os, "write", side_effect=os.write)
        self.writes = counted.start()
        self.addCleanup(counted.stop)

    def tearDown(self) -> None:
        for end in self.ends:
            os.close(end)

    def start(self, count: int) -> list[asyncio.Future[object]]:
        return [asyncio.ensure_future(self.channel.call("reset", {"n": number})) for number in range(count)]

    def written(self) -> list[Frame]:
        return [json.loads(line) for line in os.read(self.from_kernel, 1 << 20).splitlines()]

    def answer(self, *frames: Frame) -> None:
        lines = [
            {"type": "answer", "call": frame["call"], "ok": True, "value": as_dict(frame["params"])["n"]}
            for frame in frames
        ]
        self.channel._take(b"".join(json.dumps(line).encode() + b"\n" for line in lines))  # noqa: SLF001

    async def test_those_of_one_turn_take_two_writes(self) -> None:
        calls = self.start(100)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.assertEqual(self.writes.call_count, 2)
        frames = self.written()
        self.assertEqual([frame["call"] for frame in frames], list(range(1, 101)))
        self.answer(*frames)
        self.assertEqual(await asyncio.gather(*calls), list(range(100)))

    async def test_the_first_is_written_before_the_turn_ends(self) -> None:
        (call,) = self.start(1)
        await asyncio.sleep(0)
        self.assertEqual(self.writes.call_count, 1)
        self.answer(*self.written())
        self.assertEqual(await call, 0)

    async def test_many_are_written_before_the_turn_ends(self) -> None:
        calls = self.start(600)
        await asyncio.sleep(0)
        self.assertGreater(self.writes.call_count, 2)
        await asyncio.sleep(0)
        self.assertLess(self.writes.call_count, 6)
        self.answer(*self.written())
        self.assertEqual(await asyncio.gather(*calls), list(range(600)))

    async def test_whatever_is_sent_or_received_takes_the_others_along(self) -> None:
        for action in (self.answer, lambda: self.channel.send({"type": "job_ended", "name": "x"})):
            calls = self.start(2)
            await asyncio.sleep(0)
            before = len(self.written())
            action()
            rest = [frame for frame in self.written() if frame["type"] == "call"]
            self.assertEqual((before, len(rest)), (1, 1))
            await asyncio.sleep(0)  # The end of the turn has nothing left to write.
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            self.written()

    async def test_a_cancelled_one_is_sent_before_its_cancellation(self) -> None:
        calls = self.start(2)
        await asyncio.sleep(0)
        calls[1].cancel()
        await asyncio.gather(calls[1], return_exceptions=True)
        self.assertEqual(
            [(frame["type"], frame["call"]) for frame in self.written()], [("call", 1), ("call", 2), ("cancel_call", 2)]
        )
        calls[0].cancel()
        await asyncio.gather(calls[0], return_exceptions=True)

    async def test_a_fork_can_make_none(self) -> None:
        calls = self.start(1)
        await asyncio.sleep(0)
        self.channel._owner = -1  # noqa: SLF001
        with self.assertRaisesRegex(MCPError, "forked"):
            await self.channel.call("reset", {"n": 1})
        self.channel._owner = os.getpid()  # noqa: SLF001
        self.answer(*self.written())
        self.assertEqual(await calls[0], 0)


if __name__ == "__main__":
    unittest.main()
