"""Runs one program, as `python3 main.py` would, in the embedded engine: an instance of its own, without a session.

The first line from the host is the job; lines go back as from the runner of JavaScript (`program_runner/runner.mjs`):
`started`, `output`, `file`, and `exit` as the last one. Such a program makes no calls.
"""

from __future__ import annotations

import atexit
import base64
import builtins
import io
import json
import os
import sys
import types

from bridge_kernel.embedded import Channel, replace_loops
from bridge_kernel.rpc import READ_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_HOME = "/workspace"
_STREAMS = ("stdout", "stderr")
# Bytes of output in one line, and of a file. Chosen: small against the longest line that the host accepts.
_OUTPUT_BYTES = 96 << 10
_FILE_PIECE_BYTES = 768 << 10
# The same as the host's limits for files that come back.
_MAX_FILES = 1_000
_MAX_FILES_BYTES = 32 << 20
_MAX_NAME_CHARS = 1_000


def run(read_descriptor: int, write_descriptor: int, read_ends: tuple[int, int]) -> int:
    """Runs the program that the host sends. Returns its exit status once everything is sent."""
    channel = Channel(read_descriptor, write_descriptor)
    job = json.loads(_first_line(read_descriptor))
    program = _Program(channel, read_ends)
    channel.send({"type": "started"})
    given = {each["name"]: base64.b64decode(each["content"]) for each in job["files"]}
    status = program.run(job, given)
    program.drain()
    omitted = program.send_files(given) if job["wants_files"] else []
    channel.send({"type": "exit", "exit_code": status, "omitted_files": omitted})
    # The host ends its input when it has read that; the process ends with it.
    channel.pump(None)
    return status


class _Program:
    def __init__(self, channel: Channel, read_ends: tuple[int, int]) -> None:
        self._channel = channel
        self._read_ends = read_ends

    def run(self, job: dict[str, Any], given: dict[str, bytes]) -> int:
        """Writes the files and runs the first one's code as `__main__`. Returns the exit status."""
        for name, content in given.items():
            path = os.path.join(_HOME, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        self._become_interpreter(job)
        path = os.path.join(_HOME, job["entry"])
        main = types.ModuleType("__main__")
        main.__dict__.update(__file__=path, __builtins__=builtins)
        sys.modules["__main__"] = main
        try:
            return self._status_of(given[job["entry"]], path, main.__dict__)
        finally:
            # As the interpreter does at its end, whatever the program has put in their place.
            atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            for stream in (sys.stdout, sys.stderr):
                _flush(stream)

    def _become_interpreter(self, job: dict[str, Any]) -> None:
        os.environ.update(job["env"])
        os.chdir(_HOME)
        sys.argv = [job["entry"], *job["args"]]
        sys.path.insert(0, os.path.dirname(os.path.join(_HOME, job["entry"])))
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BytesIO(base64.b64decode(job["stdin"])), encoding="utf-8")
        for index, name in enumerate(_STREAMS):
            text = self._open(index)
            setattr(sys, name, text)
            setattr(sys, f"__{name}__", text)
        self._channel.before_waiting = self.drain
        self._channel.start(lambda frame: None)
        replace_loops(self._channel)

    def _open(self, index: int) -> io.TextIOWrapper:
        raw = _Drained(index + 1, self)
        raw.name = f"<{_STREAMS[index]}>"
        # stderr shows what a program wrote before it broke off.
        errors, is_unbuffered = ("strict", False) if index == 0 else ("backslashreplace", True)
        buffer = io.BufferedWriter(raw)
        return io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=is_unbuffered, write_through=is_unbuffered)

    @staticmethod
    def _status_of(source: bytes, path: str, names: dict[str, Any]) -> int:
        try:
            exec(compile(source, path, "exec", dont_inherit=True), names)
        except SystemExit as error:
            if error.code is None or isinstance(error.code, int):
                return (error.code or 0) & 0xFF
            print(error.code, file=sys.stderr)
            return 1
        except BaseException as error:  # noqa: BLE001
            # Without the frame of this function.
            trace = error.__traceback__ and error.__traceback__.tb_next
            sys.excepthook(type(error), error.with_traceback(trace), trace)
            return 1
        return 0

    def drain(self) -> None:
        """Sends everything written so far."""
        for name, descriptor in zip(_STREAMS, self._read_ends, strict=True):
            while data := os.read(descriptor, _OUTPUT_BYTES):
                self._channel.send({"type": "output", "stream": name, "data": _text(data)})

    def send_files(self, given: dict[str, bytes]) -> list[str]:
        """Sends the files that are new or have other content. Returns the names of those beyond the limits."""
        omitted: list[str] = []
        sent, room = 0, _MAX_FILES_BYTES
        for name, path in _files():
            if sent == _MAX_FILES or os.path.getsize(path) > room:
                omitted.append(name[:_MAX_NAME_CHARS])
                continue
            with open(path, "rb") as file:
                content = file.read()
            if given.get(name) != content:
                sent, room = sent + 1, room - len(content)
                for at in range(0, max(1, len(content)), _FILE_PIECE_BYTES):
                    piece = content[at : at + _FILE_PIECE_BYTES]
                    self._channel.send({"type": "file", "name": name, "data": _text(piece)})
        return omitted[:_MAX_FILES]


class _Drained(io.FileIO):
    def __init__(self, descriptor: int, program: _Program) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._program = program

    def write(self, data: Any, /) -> int:
        written = super().write(memoryview(data)[:_OUTPUT_BYTES])
        # At once: the program may be ended at its deadline before it writes again.
        self._program.drain()
        return written


def _first_line(descriptor: int) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        # The process ends here if the host is gone.
        line += os.read(descriptor, READ_BYTES)
    return bytes(line)


def _files() -> Iterator[tuple[str, str]]:
    for folder, _, names in os.walk(_HOME):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, _HOME), path


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _flush(stream: Any) -> None:
    try:
        stream.flush()
    except Exception:  # noqa: BLE001
        pass  # The program has closed it.
