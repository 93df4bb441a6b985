"""The steps with which the worker gives up its rights, without a sandbox around them."""

from __future__ import annotations

import os
import sys
import unittest

from bridge_kernel import supervisor

PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4


class Libc:
    """Refuses one option of prctl, and does nothing."""

    def __init__(self, refused: int) -> None:
        self.refused = refused

    def prctl(self, option: int, *_: object) -> int:
        return -1 if option == self.refused else 0


@unittest.skipUnless(sys.platform == "linux", "the supervisor runs on Linux only")
class WorkerTest(unittest.TestCase):
    def test_a_step_that_fails_ends_the_sandbox(self) -> None:
        # The results of these calls were ignored.
        for option in (PR_SET_PDEATHSIG, PR_SET_DUMPABLE):
            with self.subTest(option):
                report, exit_code = end_of_worker(Libc(option))
                self.assertEqual(exit_code, 70)
                self.assertRegex(report, rf'"cause":"failed",.*"detail":".*prctl\({option}, ')


def end_of_worker(libc: Libc) -> tuple[str, int]:
    """What a process reports that becomes a worker, and its exit code."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write_end, 2)
        supervisor.become_worker(libc, None)  # pyright: ignore[reportArgumentType]
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as report:
        return report.read(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
