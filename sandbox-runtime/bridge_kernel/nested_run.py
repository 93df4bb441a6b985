"""Makes `asyncio.run(main())` work inside a cell, although the cell already runs in a loop.

Scripts end with that line, and asyncio refuses it: a loop cannot be entered twice. So the coroutine runs in a separate
loop beside the session's, while the cell waits. How a second loop can run at the same time depends on the platform;
calls to the host work from any loop.
"""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    # Takes asyncio's own `run`, the coroutine, and the options for `run`.
    RunBeside = Callable[[Callable[..., object], Awaitable[object], dict[str, object]], object]

_original_run = asyncio.run


def install(loop: asyncio.AbstractEventLoop, run_beside: RunBeside) -> None:
    """Replaces `asyncio.run` and the `run_until_complete` of the session's loop."""

    original: Callable[..., object] = _original_run

    def run(main: Awaitable[object], **options: object) -> object:
        if asyncio._get_running_loop() is None:  # noqa: SLF001 The public function raises if there is none.
            return original(main, **options)
        return run_beside(original, main, options)

    original_complete = loop.run_until_complete

    def run_until_complete(future: Awaitable[object]) -> object:
        if not loop.is_running() or isinstance(future, asyncio.Future):
            return original_complete(future)  # A future belongs to this loop, so asyncio's own error is right.
        return run_beside(original, future, {})

    asyncio.run = asyncio.runners.run = run
    loop.run_until_complete = run_until_complete  # pyright: ignore[reportAttributeAccessIssue]
