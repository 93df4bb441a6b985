"""`runtime.background(…)`: work that continues between cells, as a task that the host knows by name.

Calls of other tasks wait while no cell runs, because no one would see what they do. A job is started explicitly by a
cell, so the host lets its calls through and logs them under the job's name.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import re
import sys
import time

from bridge_kernel.loop import current_cell
from bridge_kernel.rpc import current_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator
    from typing import Any, TextIO

    from bridge_kernel.servers import Host

# The host has the same pattern.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
# Output kept per job; the oldest is dropped first. Chosen.
_MAX_OUTPUT_CHARS = 1 << 20
_SHOWN_CHARS = 200

# Of the names of their tasks.
TASK_PREFIX = "job "

_outputs: contextvars.ContextVar[_Output | None] = contextvars.ContextVar("bridge_job_output", default=None)


class Jobs:
    """The jobs of a session, by name."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs: dict[str, Job] = {}

    def start(self, work: Awaitable[Any], name: str | None, timeout: float | None = None) -> Job:
        """Starts a job that ends after `timeout` seconds at most.

        Raises TypeError if `work` cannot be awaited, ValueError for a bad name or timeout, otherwise MCPError.
        """
        if not hasattr(work, "__await__") and not asyncio.iscoroutine(work):
            raise TypeError(f"background takes a coroutine, such as main(), not {type(work).__name__}")
        name = self._free_name() if name is None else name
        if not isinstance(name, str) or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"{name!r} is not a valid job name: use up to 64 letters, digits, '_', '.' and '-', "
                "starting with a letter, a digit or '_'"
            )
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")
        old = self._jobs.get(name)
        if old is not None and old.status() == "running":
            raise ValueError(f"job {name!r} is still running; choose another name or cancel it first")
        self._host.call_sync("start_job", {"name": name})
        self._jobs[name] = Job(self._host, work, name, timeout)
        return self._jobs[name]

    def all(self) -> tuple[Job, ...]:
        """Every job of the session, including those that ended."""
        return tuple(self._jobs.values())

    def _free_name(self) -> str:
        number = 1
        while f"job{number}" in self._jobs:
            number += 1
        return f"job{number}"


class Job:
    """Work that continues between cells. `await job` returns its result or raises its exception."""

    # User code reaches it as `runtime.background(…)`.
    __module__ = "mcp.runtime"

    def __init__(self, host: Host, work: Awaitable[Any], name: str, timeout: float | None) -> None:
        self.name = name
        self._host = host
        self._begun = time.monotonic()
        self._seconds: float | None = None
        self._output = _Output()
        _divert()
        context = contextvars.copy_context()
        context.run(current_job.set, name)
        # A job belongs to no cell, so interrupting a cell does not end it.
        context.run(current_cell.set, 0)
        context.run(_outputs.set, self._output)
        self._task: asyncio.Task[Any] = context.run(_start, work, name, timeout)
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._seconds = time.monotonic() - self._begun
        if not task.cancelled():
            task.exception()  # Retrieved, so that asyncio does not log it as never retrieved.
        self._host.send({"type": "job_ended", "name": self.name})

    def status(self) -> str:
        """`running`, `done`, `failed` or `cancelled`."""
        if not self._task.done():
            return "running"
        if self._task.cancelled():
            return "cancelled"
        return "done" if self._task.exception() is None else "failed"

    def output(self) -> str:
        """What the job has printed so far; only the end if it is long."""
        return self._output.getvalue()

    async def result(self, timeout: float | None = None) -> Any:
        """The job's result. Raises the job's exception, or TimeoutError if it takes longer than `timeout` seconds."""
        done, _ = await asyncio.wait([self._task], timeout=timeout)
        if not done:
            raise TimeoutError(f"job {self.name!r} is not done after {timeout:g} s; it keeps running")
        return self._task.result()

    def cancel(self) -> bool:
        """Requests cancellation; False if the job has ended already."""
        return self._task.cancel()

    def __await__(self) -> Generator[Any, None, Any]:
        return self.result().__await__()

    def __repr__(self) -> str:
        seconds = time.monotonic() - self._begun if self._seconds is None else self._seconds
        error = f": {str(self._task.exception())[:_SHOWN_CHARS]}" if self.status() == "failed" else ""
        about = f"{self.status()}, {seconds:.1f} s{error}"
        return f"<job {self.name!r} {about}; .status() .output() .result(timeout) .cancel()>"


def _start(work: Awaitable[Any], name: str, timeout: float | None) -> asyncio.Task[Any]:
    # A checkpoint, which does not keep it, names it.
    return asyncio.get_running_loop().create_task(_run(work, name, timeout), name=f"{TASK_PREFIX}{name}")


async def _run(work: Awaitable[Any], name: str, timeout: float | None) -> Any:
    if timeout is None:
        return await work
    task = asyncio.current_task()
    is_late = False

    def expire() -> None:
        nonlocal is_late
        is_late = True
        if task is not None:
            task.cancel()

    timer = asyncio.get_running_loop().call_later(timeout, expire)
    try:
        return await work
    except asyncio.CancelledError:
        if is_late:
            raise TimeoutError(f"job {name!r} was ended after its {timeout:g} s") from None
        raise
    finally:
        timer.cancel()


class _Output(io.StringIO):
    """The end of what a job printed."""

    def write(self, text: str, /) -> int:
        written = super().write(text)
        if self.tell() > 2 * _MAX_OUTPUT_CHARS:
            kept = self.getvalue()[-_MAX_OUTPUT_CHARS:]
            self.seek(0)
            self.truncate()
            super().write(kept)
        return written


class _Diverted(io.TextIOBase):
    """A stream that keeps what jobs print with the job, and passes everything else to the original stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        output = _outputs.get()
        return self._stream.write(text) if output is None else output.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _divert() -> None:
    """Diverts stdout and stderr at the first job, including streams that the user replaced."""
    for name in ("stdout", "stderr"):
        stream: TextIO = getattr(sys, name)
        if not isinstance(stream, _Diverted):
            setattr(sys, name, _Diverted(stream))
