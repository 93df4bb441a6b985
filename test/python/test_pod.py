"""The relay of a Pod: what arrives of what, and when it ends."""

from __future__ import annotations

import os
import time
import unittest

from pod import holder


def packet(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class RelayTest(unittest.TestCase):
    def start(self, lease_s: int = 30) -> None:
        source, self.input = os.pipe()
        self.output, sink = os.pipe()
        self.beat, beat_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.input)
            os.close(self.output)
            holder.Relay(source, sink, beat_end, lease_s).run()
            os._exit(0)
        os.close(source)
        os.close(sink)
        os.close(beat_end)
        self.addCleanup(lambda: os.close(self.beat))
        self.addCleanup(lambda: os.close(self.output))

    def end(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def read_all(self) -> bytes:
        pieces = list(iter(lambda: os.read(self.output, 1 << 16), b""))
        return b"".join(pieces)

    def test_passes_on_what_packets_contain_wherever_they_are_cut(self) -> None:
        self.start()
        stream = packet(b"ab") + packet(b"") + packet(b"c" * 300) + packet(b"\n")
        for byte in stream:
            os.write(self.input, bytes([byte]))
        os.close(self.input)
        self.assertEqual(self.read_all(), b"ab" + b"c" * 300 + b"\n")
        self.assertEqual(self.end(), 0)

    def test_keeps_every_byte_of_a_reader_that_is_slow(self) -> None:
        self.pass_on(bytes(range(256)) * 4096, times=8)

    def test_keeps_what_is_in_the_pipe_when_the_writer_ends_before_the_reader_begins(self) -> None:
        self.start()
        os.set_blocking(self.input, False)
        data = bytes(1_000)
        sent = pauses = 0
        while pauses < 5:
            try:
                os.write(self.input, packet(data))
                sent += len(data)
                pauses = 0
            except BlockingIOError:
                pauses += 1
                time.sleep(0.1)
        os.close(self.input)
        time.sleep(0.1)
        self.assertEqual(len(self.read_all()), sent)
        self.assertEqual(self.end(), 0)

    def pass_on(self, data: bytes, times: int = 1) -> None:
        self.start()
        writer = os.fork()
        if writer == 0:
            for _ in range(times):
                view = memoryview(packet(data))
                while view:
                    view = view[os.write(self.input, view) :]
            os._exit(0)
        os.close(self.input)
        time.sleep(0.3)
        self.assertEqual(self.read_all(), data * times)
        os.waitpid(writer, 0)
        self.assertEqual(self.end(), 0)

    def test_ends_without_a_packet_within_the_lease(self) -> None:
        self.start(lease_s=1)
        begin = time.monotonic()
        for _ in range(6):
            time.sleep(0.3)
            os.write(self.input, packet(b""))
        self.assertEqual(self.read_all(), b"")
        self.assertEqual(self.end(), 3)
        self.assertGreater(time.monotonic() - begin, 2.5)
        beats = os.read(self.beat, 16)
        self.assertEqual(set(beats), {1})
        self.assertLess(len(beats), 4)
        os.close(self.input)

    def test_ends_with_its_reader(self) -> None:
        self.start()
        os.close(self.output)
        self.output = os.open("/dev/null", os.O_RDONLY)
        self.assertEqual(self.end(), 0)
        os.close(self.input)


if __name__ == "__main__":
    unittest.main()
