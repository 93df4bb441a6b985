"""Makes `asyncio.run(main())` work inside a cell, although the cell runs in a loop already.

Scripts end in that line, and asyncio refuses it: a loop cannot be entered twice. So the coroutine runs in a loop of its
own, beside that of the session, while the cell waits. How a second loop can run at the same time is up to the platform;
calls to the host work from any loop.
"""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    # Runs a coroutine with asyncio's own `run`, given first, and its options.
    RunBeside = Callable[[Callable[..., object], Awaitable[object], dict[str, object]], object]

_original_run = asyncio.run


def install(loop: asyncio.AbstractEventLoop, run_beside: RunBeside) -> None:
    """Replaces `asyncio.run`, and `run_until_complete` of the session's loop."""

    original: Callable[..., object] = _original_run

    def run(main: Awaitable[object], **options: object) -> object:
        if asyncio._get_running_loop() is None:  # noqa: SLF001 The public function raises instead of telling.
            return original(main, **options)
        return run_beside(original, main, options)

    original_complete = loop.run_until_complete

    def run_until_complete(future: Awaitable[object]) -> object:
        if not loop.is_running() or isinstance(future, asyncio.Future):
            return original_complete(future)  # A future belongs to this loop: asyncio's own error is the right one.
        return run_beside(original, future, {})

    asyncio.run = asyncio.runners.run = run
    loop.run_until_complete = run_until_complete  # pyright: ignore[reportAttributeAccessIssue]
