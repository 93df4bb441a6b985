"""What `tool.with_options(…)` adds to a call: a deadline, and a function that is told how far the call is."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import Any

    OnProgress = Callable[[float, float | None, str | None], object]

_tasks: set[object] = set()
"""Reports that an `async def` is still busy with: the loop itself holds tasks only weakly."""


class CallOptions:
    """Options of the calls of one tool. `timeout` is in seconds."""

    __slots__ = ("on_progress", "timeout")

    def __init__(self, timeout: float | None = None, on_progress: OnProgress | None = None) -> None:
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"timeout is a number of seconds above 0, not {timeout!r}")
        if on_progress is not None and not callable(on_progress):
            raise TypeError(f"on_progress is a function of (progress, total, message), not {on_progress!r}")
        self.timeout = timeout
        self.on_progress = on_progress

    def changed(self, timeout: float | None, on_progress: OnProgress | None) -> CallOptions:
        """These options with what is given in place of what was."""
        return CallOptions(
            self.timeout if timeout is None else timeout,
            self.on_progress if on_progress is None else on_progress,
        )

    def reporter(self, label: str) -> Callable[[Mapping[str, object]], None] | None:
        """Takes the reports of one call to the user's function, whose faults are said on stderr once."""
        return None if self.on_progress is None else _Reporter(label, self.on_progress)


class _Reporter:
    def __init__(self, label: str, function: OnProgress) -> None:
        self._label = label
        self._function: OnProgress | None = function

    def __call__(self, report: Mapping[str, Any]) -> None:
        if self._function is None:
            return
        try:
            result: Any = self._function(report["progress"], report.get("total"), report.get("message"))
            if hasattr(result, "__await__"):
                self._follow(result)
        except Exception as error:  # noqa: BLE001 The user's function may raise anything; the call goes on.
            self._give_up(error)

    def _follow(self, coroutine: Coroutine[Any, Any, object]) -> None:
        import asyncio

        async def follow() -> None:
            try:
                await coroutine
            except Exception as error:  # noqa: BLE001
                self._give_up(error)

        try:
            task = asyncio.get_running_loop().create_task(follow())
        except RuntimeError as error:
            coroutine.close()
            raise TypeError("with .sync(...) on_progress is a plain function, not 'async def'") from error
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)

    def _give_up(self, error: Exception) -> None:
        self._function = None
        print(f"on_progress of {self._label} is not called again: it raised {error!r}", file=sys.stderr)
