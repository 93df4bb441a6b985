"""What `runtime.progress` sends. Of what a fast loop reports, the newest is kept and the rest is left out."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Report = dict[str, object]

# So many reports leave at once, then one each interval. Chosen: code that names its few steps loses none of them.
_BURST = 10.0
_INTERVAL_SECONDS = 0.1


class ProgressSender:
    """The reports of one cell after the other. The first and the last of each are always sent."""

    def __init__(self, send: Callable[[Report], None]) -> None:
        self._send = send
        self._allowance = _BURST
        self._counted_at = 0.0
        self._held: Report | None = None

    def report(self, frame: Report, is_complete: bool) -> None:
        """Sends a report now, or holds it until the next one, the next time the code awaits, or the end of the cell."""
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
        """Sends the last report of a cell."""
        self._send_held()
        self._allowance = _BURST

    def _send_soon(self) -> None:
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # A thread of the user.
        loop.call_later(_INTERVAL_SECONDS, self._send_held)

    def _send_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._send(held)
