"""Names the work that goes on between cells, which no checkpoint keeps: tasks, threads and processes."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

from bridge_kernel.jobs import TASK_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bridge_kernel.state_pickle import Lost

_OURS = "bridge-"
# The function of a pool of threads that waits for the next piece of work.
_WAITING = "_worker"
# The kernel is started by the first process of its sandbox.
_FIRST = 1


def described(loop: asyncio.AbstractEventLoop) -> Lost:
    """By the function that each runs, and why it is not kept. The names are those of no variable."""
    lost: Lost = {}
    for task in asyncio.all_tasks(loop):
        name = task.get_name()
        if name.startswith(TASK_PREFIX):
            _add(lost, name.removeprefix(TASK_PREFIX), "a background job")
        else:
            _add(lost, _function_of(task), "a running task")
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.name.startswith(_OURS) and not _is_waiting(thread):
            _add(lost, _name_of(thread), "a running thread")
    for name in _other_processes():
        _add(lost, name, "a running process")
    return lost


def _is_waiting(thread: threading.Thread) -> bool:
    """Whether it is one of a pool, without work."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return frame is not None and frame.f_code.co_name == _WAITING


def _other_processes() -> Iterator[str]:
    """Names of the processes of the sandbox that cells have started."""
    if not hasattr(os, "getppid") or os.getppid() != _FIRST:
        return
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (_FIRST, os.getpid()):
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    program, _, rest = file.read().partition("(")[2].rpartition(")")
            except OSError:
                continue  # It has ended.
            if not rest.startswith(" Z"):
                yield program


def _function_of(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return str(getattr(coroutine, "__name__", "") or task.get_name())


def _name_of(thread: threading.Thread) -> str:
    """Python names a thread without a name of its own `Thread-1 (FUNCTION)`."""
    number, _, function = thread.name.partition(" (")
    return function.rstrip(")") if function and number.startswith("Thread-") else thread.name


def _add(lost: Lost, name: str, reason: str) -> None:
    """Only names that the host shows: identifiers. The marker keeps them apart from variables of the same name."""
    shown = "".join(char if char.isalnum() else "_" for char in name) or "_"
    key = f"*{shown if shown.isidentifier() else f'_{shown}'}"
    while key in lost and lost[key] != reason:
        key = f"*{key}"
    lost[key] = reason
