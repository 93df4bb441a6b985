"""Lets code in a cell run another event loop, although the cell already runs in one.

Scripts end in `asyncio.run(main())`, and others use `asyncio.Runner`, a loop of their own, or asynchronous unit tests.
asyncio refuses all of these while a loop runs in the thread. So the loop around is suspended meanwhile: its tasks stand
still, as with any blocking call. Calls to the host work from any loop.

Running the loop around again instead, as nest_asyncio does, would patch private parts of asyncio and run other tasks
of the session inside what looks like a blocking call. A thread for the inner loop would break objects of the main
thread, such as `sqlite3` connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Awaitable, Callable, Coroutine, Generator
    from typing import Any

_WAITS_FOR_ITSELF = (
    "this thread runs the loop that has to do the work, so it would wait forever: "
    "write 'await asyncio.wrap_future(future)'"
)


def install(loop: asyncio.AbstractEventLoop, before: Callable[[], object]) -> None:
    """Changes how loops are entered. `loop` is the session's; `before` is called each time it is suspended."""

    def nested(enter: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(enter)
        def enter_nested(*args: Any, **options: Any) -> Any:
            outer = asyncio._get_running_loop()  # noqa: SLF001 The public function raises if there is none.
            if outer is None or (args and outer is args[0]):
                return enter(*args, **options)  # A loop that is running already cannot be entered.
            before()
            with _suspended(outer):
                return enter(*args, **options)

        return enter_nested

    base: Any = asyncio.BaseEventLoop
    base.run_forever = nested(base.run_forever)
    base.run_until_complete = nested(base.run_until_complete)
    runner: Any = getattr(asyncio, "Runner", None)  # Since Python 3.11.
    if runner is not None:
        runner.run = nested(runner.run)
    run_nested = nested(asyncio.run)

    @functools.wraps(asyncio.run)
    def run(main: Awaitable[object], **options: Any) -> object:
        # In a cell, it takes whatever can be awaited.
        is_inner = asyncio._get_running_loop() is not None  # noqa: SLF001
        return run_nested(_awaited(main) if is_inner else main, **options)

    asyncio.run = asyncio.runners.run = run
    complete = loop.run_until_complete

    def run_until_complete(future: Awaitable[object]) -> object:
        if not loop.is_running() or isinstance(future, asyncio.Future):
            return complete(future)  # A future belongs to this loop, so asyncio's own error is right.
        return run(future)

    threadsafe = asyncio.run_coroutine_threadsafe

    def run_coroutine_threadsafe(
        coro: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop
    ) -> concurrent.futures.Future[Any]:
        """Submit a coroutine object to a given event loop."""
        future = threadsafe(coro, loop)
        if asyncio._get_running_loop() is loop:  # noqa: SLF001
            _refuse_waiting(future, loop)
        return future

    loop.run_until_complete = run_until_complete  # pyright: ignore[reportAttributeAccessIssue]
    asyncio.run_coroutine_threadsafe = asyncio.tasks.run_coroutine_threadsafe = run_coroutine_threadsafe


async def _awaited(future: Awaitable[object]) -> object:
    return await future


@contextlib.contextmanager
def _suspended(outer: asyncio.AbstractEventLoop) -> Generator[None]:
    """Lets another loop run in this thread."""
    tasks, task = asyncio.tasks, asyncio.current_task()
    if task is not None:
        tasks._leave_task(outer, task)  # noqa: SLF001
    asyncio._set_running_loop(None)  # noqa: SLF001
    try:
        yield
    finally:
        asyncio.set_event_loop(outer)
        asyncio._set_running_loop(outer)  # noqa: SLF001
        if task is not None:
            tasks._enter_task(outer, task)  # noqa: SLF001


def _refuse_waiting(future: concurrent.futures.Future[Any], loop: asyncio.AbstractEventLoop) -> None:
    """Makes waiting for a future raise where it would never end."""
    for name in ("result", "exception"):
        wait = getattr(future, name)

        def wait_elsewhere(timeout: float | None = None, wait: Callable[..., Any] = wait) -> Any:
            if not future.done() and asyncio._get_running_loop() is loop:  # noqa: SLF001
                raise RuntimeError(_WAITS_FOR_ITSELF)
            return wait(timeout)

        setattr(future, name, wait_elsewhere)
