"""How long the thread that drains the pipes behind stdout and stderr lets them fill."""

from __future__ import annotations

import fcntl
import os
import unittest
from unittest.mock import patch

from bridge_kernel import threaded

_F_SETPIPE_SZ = 1031


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
