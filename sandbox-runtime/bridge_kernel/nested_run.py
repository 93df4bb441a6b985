"""Makes `asyncio.run(main())` work inside a cell, although the cell runs in a loop already.

Scripts end in that line, and asyncio refuses it: a loop cannot be entered twice. So the coroutine runs in a loop of its
own in another thread, while the cell waits; calls to the host work from any thread and any loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_original_run = asyncio.run


def install(loop: asyncio.AbstractEventLoop) -> None:
    """Replaces `asyncio.run`, and `run_until_complete` of the session's loop."""

    original: Callable[..., object] = _original_run

    def run(main: Awaitable[object], **options: object) -> object:
        if asyncio._get_running_loop() is None:  # noqa: SLF001 The public function raises instead of telling.
            return original(main, **options)
        return _run_in_thread(main, options)

    original_complete = loop.run_until_complete

    def run_until_complete(future: Awaitable[object]) -> object:
        if not loop.is_running() or isinstance(future, asyncio.Future):
            return original_complete(future)  # A future belongs to this loop: asyncio's own error is the right one.
        return _run_in_thread(future, {})

    asyncio.run = asyncio.runners.run = run
    loop.run_until_complete = run_until_complete  # pyright: ignore[reportAttributeAccessIssue]


def _run_in_thread(main: Awaitable[object], options: dict[str, object]) -> object:
    results: list[Callable[[], object]] = []
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[object] | None]] = []

    async def wrapper() -> object:
        started.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await main

    def work() -> None:
        try:
            value = context.run(_original_run, wrapper(), **options)  # pyright: ignore[reportArgumentType]
        except BaseException as error:  # noqa: BLE001 Raised again in the cell.
            caught = error
            results.append(lambda: _raise(caught))
        else:
            results.append(lambda: value)

    context = contextvars.copy_context()
    thread = threading.Thread(target=work, name="asyncio.run", daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        for inner, task in started:
            if task is not None:
                inner.call_soon_threadsafe(task.cancel)
        raise
    return results[0]()


def _raise(error: BaseException) -> None:
    raise error
