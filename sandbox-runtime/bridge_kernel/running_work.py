"""Names the work that goes on between cells, which no checkpoint keeps: tasks and threads."""

from __future__ import annotations

import asyncio
import threading

from bridge_kernel.jobs import TASK_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge_kernel.state_pickle import Lost

# Of the kernel, and workers that wait for the next piece of work of a library.
_OURS = ("bridge-", "asyncio", "ThreadPoolExecutor")


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
        if thread is not threading.main_thread() and not thread.name.startswith(_OURS):
            _add(lost, _name_of(thread), "a running thread")
    return lost


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
