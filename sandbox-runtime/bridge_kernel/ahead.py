"""Imports modules in a sandbox that no session uses yet, because the sessions of its user import them.

A session must find the modules as if its own code had imported them, and never wait for more than the one in progress:
an import that is cut short cannot be repeated, because NumPy and others load only once in a process.
"""

from __future__ import annotations

import gc
import os
import sys
import time

from bridge_kernel import heap, importer, process_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# No module is begun after that. Chosen: by then, the machine has better things to do.
_MOST_SECONDS = 20
# Nor when the process uses this part of the session's memory. Chosen.
_MEMORY_SHARE = 4
# The sandbox ends with this code if an import fails half way.
_EXIT_CODE = 78


def import_ahead(modules: Sequence[str], memory_bytes: int, is_needed: Callable[[], bool]) -> None:
    """Imports modules, one after the other, until a session needs the sandbox. Missing ones are left out."""
    own = importer.installed()
    # The code pack is for what every session needs.
    recorded, own.recorded = own.recorded, None
    end = time.monotonic() + _MOST_SECONDS
    most_bytes = memory_bytes // _MEMORY_SHARE
    outputs = [os.dup(1), os.dup(2)]
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)
    for name in modules:
        if is_needed() or time.monotonic() > end or process_memory.resident_bytes() > most_bytes:
            break
        _import(name)
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.flush()
    for number, output in enumerate(outputs, 1):
        os.dup2(output, number)
        os.close(output)
    own.recorded = recorded
    # Now, because no session waits. What is left is frozen when the session begins.
    gc.collect()
    heap.trim()


def _import(name: str) -> None:
    try:
        __import__(name)
    except BaseException as error:  # noqa: BLE001 Whatever an import raises, the session must not inherit half of it.
        is_absent = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        if not is_absent:
            os._exit(_EXIT_CODE)
