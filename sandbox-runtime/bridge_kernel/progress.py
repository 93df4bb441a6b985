"""Rate limit of `runtime.progress`: when code reports too fast, only the newest report is sent."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Report = dict[str, object]

# This many reports are sent at once, then one per interval. Chosen so that code with a few steps loses none of them.
_BURST = 10.0
_INTERVAL_SECONDS = 0.1


class ProgressSender:
    """Sends the reports of cells. The first and the last report of each cell are always sent."""

    def __init__(self, send: Callable[[Report], None]) -> None:
        self._send = send
        self._allowance = _BURST
        self._counted_at = 0.0
        self._held: Report | None = None

    def report(self, frame: Report, is_complete: bool) -> None:
        """Sends a report now, or holds it until the next report, the next await, or the end of the cell."""
        now = time.monotonic()
        self._allowance = min(_BURST, self._allowance + (now - self._counted_at) / _INTERVAL_SECONDS)
        self._counted_at = now
        if self._allowance >= 1 or is_complete:
            self._allowance = max(0.0, self._allowance - 1)
            self._held = None
            self._send(frame)
            return
        is_awaited = self._held is not None
        self._held = frame
        if not is_awaited:
            self._send_soon()

    def end_cell(self) -> None:
        """Sends the held report at the end of a cell."""
        self._send_held()
        self._allowance = _BURST

    def _send_soon(self) -> None:
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # Called from a user thread.
        loop.call_later(_INTERVAL_SECONDS, self._send_held)

    def _send_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._send(held)
