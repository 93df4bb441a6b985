"""The options of `tool.with_options(…)`: a deadline, and a function that receives progress reports."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    OnProgress = Callable[[float, float | None, str | None], object]

_tasks: set[object] = set()
"""Tasks of `async def` callbacks. Kept here because the event loop holds its tasks only weakly."""


class CallOptions:
    """Options of the calls of one tool. `timeout` is in seconds."""

    __slots__ = ("on_progress", "timeout")

    def __init__(self, timeout: float | None = None, on_progress: OnProgress | None = None) -> None:
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")
        if on_progress is not None and not callable(on_progress):
            raise TypeError(f"on_progress must be a function of (progress, total, message), not {on_progress!r}")
        self.timeout = timeout
        self.on_progress = on_progress

    def changed(self, timeout: float | None, on_progress: OnProgress | None) -> CallOptions:
        """A copy of these options with the given values replaced."""
        return CallOptions(
            self.timeout if timeout is None else timeout,
            self.on_progress if on_progress is None else on_progress,
        )

    def reporter(self, label: str) -> Reporter | None:
        """A reporter for one call; None if there is no `on_progress`."""
        return None if self.on_progress is None else Reporter(label, self.on_progress)


class Reporter:
    """Passes the progress reports of one call to the user's function, in order. If it raises, stderr says so once."""

    def __init__(self, label: str, function: OnProgress) -> None:
        self._label = label
        self._function: OnProgress | None = function
        self._waiting: list[Awaitable[object]] = []
        self._task: asyncio.Task[None] | None = None

    def __call__(self, report: Mapping[str, Any]) -> None:
        if self._function is None:
            return
        try:
            result: Any = self._function(report["progress"], report.get("total"), report.get("message"))
            if hasattr(result, "__await__"):
                self._follow(result)
        except Exception as error:  # noqa: BLE001 The user's function may raise anything; the call goes on.
            self._give_up(error)

    async def finish(self) -> None:
        """Waits until an `async def` has handled all reports so far; otherwise the call could return before that."""
        if self._task is not None:
            import asyncio

            await asyncio.wait([self._task])

    def _follow(self, awaitable: Awaitable[object]) -> None:
        import asyncio

        self._waiting.append(awaitable)
        if self._task is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError as error:
            self._drop_waiting()
            raise TypeError("with .sync(...), on_progress must be a plain function, not 'async def'") from error
        self._task = loop.create_task(self._await_in_turn())
        _tasks.add(self._task)
        self._task.add_done_callback(_tasks.discard)

    async def _await_in_turn(self) -> None:
        try:
            while self._waiting:
                await self._waiting.pop(0)
        except Exception as error:  # noqa: BLE001
            self._give_up(error)
        finally:
            self._drop_waiting()
            self._task = None

    def _drop_waiting(self) -> None:
        """Closes the remaining coroutines; otherwise Python warns that they were never awaited."""
        for awaitable in self._waiting:
            close = getattr(awaitable, "close", None)
            if close is not None:
                close()
        self._waiting.clear()

    def _give_up(self, error: Exception) -> None:
        self._function = None
        print(f"on_progress of {self._label} raised {error!r}; it is not called again", file=sys.stderr)
