"""The steps with which the worker gives up its rights, without a sandbox around them."""

from __future__ import annotations

import os
import sys
import unittest
from unittest.mock import patch

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


RESIDENT, PROPORTIONAL = supervisor._resident, supervisor._proportional  # noqa: SLF001


class ExceededTest(unittest.TestCase):
    def counts(self, processes: int) -> tuple[str | None, list[object]]:
        """What is exceeded if the processes share most of 2 GB, and how it was counted."""
        counted: list[object] = []

        def use(count: object) -> tuple[int, int]:
            counted.append(count)
            return (2 << 30 if count is RESIDENT else 1 << 20), processes

        with patch.object(supervisor, "_use", use):
            return supervisor._exceeded(512 << 20, 512), counted  # noqa: SLF001

    def test_what_a_few_processes_share_is_counted_once(self) -> None:
        self.assertEqual(self.counts(8), (None, [RESIDENT, PROPORTIONAL]))

    # Exact counting of a fork bomb took seconds, in which it grew to 4,000 processes and stopped the machine.
    def test_many_processes_are_not_counted_exactly(self) -> None:
        self.assertEqual(self.counts(100), ("memory", [RESIDENT]))
        self.assertEqual(self.counts(600), ("pids", [RESIDENT]))


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
