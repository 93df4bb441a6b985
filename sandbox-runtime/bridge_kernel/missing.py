"""Explains, at the point of use, what the embedded engine cannot do and what would work instead.

Python for WASI omits what its platform lacks. Without this module, code that needs such a feature fails on a missing
attribute or module, far from the cause.
"""

from __future__ import annotations

import errno
import os
import signal
import sys

from bridge_kernel import unavailable
from bridge_kernel.unavailable import WAY_OUT, LastFinder, why_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

_THREADS = (
    "threads are not available in the embedded sandbox; use asyncio.gather for parallel tool calls. "
    f"Code that uses threads {WAY_OUT}"
)
_PROCESSES = f"the embedded sandbox cannot start processes; that {WAY_OUT}"
SOCKETS = (
    "sockets are not available in the embedded sandbox, and no sandbox has a network: call a tool of an MCP server "
    f"that fetches for you. A socket within the sandbox {WAY_OUT}"
)

_OF_PROCESSES = """
    execl execle execlp execlpe execv execve execvp execvpe fork forkpty kill killpg openpty pipe pipe2 popen
    posix_spawn posix_spawnp spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe system wait wait3 wait4
    waitid waitpid
"""
_OF_SIGNALS = """
    alarm pause pthread_kill setitimer sigtimedwait sigwait sigwaitinfo
"""
_OF_SOCKETS = """
    create_connection create_server fromfd getaddrinfo gethostbyaddr gethostbyname gethostbyname_ex getnameinfo
    send_fds recv_fds socketpair
"""


def install() -> None:
    """Installs the explanations. They cannot be removed again."""
    unavailable.is_embedded = True
    _refuse_threads()
    _refuse_processes()
    _refuse_sockets()
    sys.meta_path.append(LastFinder(_why_missing))


def refuse_thread(*_: object, **__: object) -> NoReturn:
    """Raises the error for starting a thread."""
    raise RuntimeError(_THREADS)


def refuse_process(*_: object, **__: object) -> NoReturn:
    """Raises the error for starting a process."""
    raise OSError(errno.ENOTSUP, _PROCESSES)


def _refuse_socket(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENOTSUP, SOCKETS)


def _refuse_threads() -> None:
    import _thread
    import threading

    for module in (_thread, threading):
        for name in ("start_new_thread", "start_new", "start_joinable_thread"):
            for spelling in (name, f"_{name}"):
                if hasattr(module, spelling):
                    setattr(module, spelling, refuse_thread)


def _refuse_processes() -> None:
    import subprocess

    subprocess.Popen.__init__ = refuse_process
    explain_attributes(os, _OF_PROCESSES, _PROCESSES)
    explain_attributes(signal, _OF_SIGNALS, f"the embedded sandbox does not have these signals; that {WAY_OUT}")


def _refuse_sockets() -> None:
    import http.client
    import socket

    socket.socket.__init__ = _refuse_socket
    for name in _OF_SOCKETS.split():
        setattr(socket, name, _refuse_socket)

    class HTTPSConnection(http.client.HTTPConnection):
        """Replaces the class that needs ssl; without it urllib would report https as an unknown URL type."""

        __init__ = _refuse_socket

    http.client.HTTPSConnection = HTTPSConnection
    # urllib calls this for every opener, even for http.
    http.client.__dict__["_create_https_context"] = str


def explain_attributes(module: ModuleType, words: str, reason: str) -> None:
    """Makes missing attributes explain themselves. They stay missing for `hasattr`, which libraries probe with."""
    names = words.split()
    for name in names:
        module.__dict__.pop(name, None)

    def explain(name: str) -> NoReturn:
        text = f"module {module.__name__!r} has no attribute {name!r}"
        if name in names:
            text += f": {reason}"
        raise AttributeError(text, name=name, obj=module)

    module.__dict__["__getattr__"] = explain


def _why_missing(name: str) -> str:
    if name in sys.stdlib_module_names:
        return f"{name.lstrip('_')} is not available in the embedded sandbox; that {WAY_OUT}"
    return why_missing(name)
