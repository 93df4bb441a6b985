"""Which reports of `runtime.progress` are sent, and when."""

from __future__ import annotations

import asyncio
import unittest

from bridge_kernel.progress import ProgressSender


class Sending(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.sent: list[object] = []
        self.sender = ProgressSender(self.take)
        self.news = asyncio.Event()

    def take(self, frame: dict[str, object]) -> None:
        self.sent.append(frame["done"])
        self.news.set()

    def report(self, *steps: int, total: int | None = None) -> None:
        for step in steps:
            self.sender.report({"done": step}, step == total)

    def test_a_few_steps_are_all_sent(self) -> None:
        self.report(*range(10))
        self.assertEqual(self.sent, [*range(10)])

    # The last report of a loop without a total used to be lost, and so was the first one right after an earlier cell.
    def test_each_cell_sends_its_first_and_last_report(self) -> None:
        for _ in range(2):
            self.sent.clear()
            self.report(*range(100_000))
            self.sender.end_cell()
            self.assertEqual((self.sent[0], self.sent[-1]), (0, 99_999))
            self.assertLess(len(self.sent), 100)

    def test_a_complete_report_is_sent_at_once_and_nothing_older_follows(self) -> None:
        self.report(*range(101), total=100)
        self.assertEqual(self.sent[-1], 100)
        self.sender.end_cell()
        self.assertEqual(self.sent[-1], 100)

    async def test_the_newest_report_is_sent_while_the_code_awaits(self) -> None:
        self.report(*range(100))
        self.assertLess(len(self.sent), 50)
        self.news.clear()
        await asyncio.wait_for(self.news.wait(), 5)
        self.assertEqual(self.sent[-1], 99)
