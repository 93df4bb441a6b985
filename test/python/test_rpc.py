"""What arrives from the host is taken apart into frames and the bytes that follow some of them."""

from __future__ import annotations

import os
import unittest

from bridge_kernel.frames import Frame
from bridge_kernel.threaded import Channel


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


if __name__ == "__main__":
    unittest.main()
