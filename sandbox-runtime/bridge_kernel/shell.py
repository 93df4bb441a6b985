"""`runtime.sh`: command lines in the session's own sandbox."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from bridge_kernel import missing, unavailable
from bridge_kernel.pending import Pending

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO, Any

_SHELLS = ("/bin/bash", "/bin/sh")
# Of each stream. Chosen: enough for data, and far below the memory of a session.
_MAX_KEPT_BYTES = 32 << 20
_PIECE_BYTES = 1 << 16
# How often a process that has closed its output is looked at.
_TICK_SECONDS = 0.05
# A process in the background may keep the output open. What arrives for so long after the end of its shell is kept.
_AFTER_END_SECONDS = 0.2


class RunResult:
    """How a program ended, and what it wrote."""

    def __init__(self, status: str, exit_code: int | None, streams: tuple[_Kept, _Kept], seconds: float) -> None:
        self.status = status
        """`success`, `error` or `timeout`."""
        self.exit_code = exit_code
        """None if it was ended at its deadline."""
        self.stdout, self.stderr = (kept.text() for kept in streams)
        self.dropped_bytes = sum(kept.dropped for kept in streams)
        """Output beyond what is kept of each stream."""
        self.duration_ms = round(seconds * 1000)

    @property
    def l(self) -> list[str]:  # noqa: E743 The names of this and the next ones are those of IPython.
        """The lines of its output. The result itself can be used like this list."""
        return self.stdout.splitlines()

    n = property(lambda self: "\n".join(self.l))
    s = property(lambda self: " ".join(self.l))

    def __iter__(self) -> Iterator[str]:
        return iter(self.l)

    def __len__(self) -> int:
        return len(self.l)

    def __getitem__(self, index: Any) -> Any:
        lines: Any = self.l
        return lines[index]

    def grep(self, pattern: str, prune: bool = False, field: int | None = None) -> RunResult:
        """The lines that match, or with `prune` the others; with `field`, those whose column does."""
        import re

        def is_match(line: str) -> bool:
            columns = line.split()
            text = line if field is None else columns[field] if field < len(columns) else ""
            return (re.search(pattern, text, re.IGNORECASE) is None) == prune

        return self._with(filter(is_match, self.l))

    def fields(self, *numbers: int) -> RunResult:
        """The columns with these numbers of each line."""
        split = [line.split() for line in self.l]
        return self._with(
            " ".join(row[at] for at in numbers or range(len(row)) if -len(row) <= at < len(row)) for row in split
        )

    def _with(self, lines: Iterable[str]) -> RunResult:
        import copy

        changed = copy.copy(self)
        changed.stdout = "".join(f"{line}\n" for line in lines)
        return changed

    def show(self) -> None:
        """Prints what the program wrote, and how it ended unless that was a success."""
        vars(sys.modules["__main__"])["_exit_code"] = self.exit_code
        _print(self.stdout, sys.stdout)
        _print(self.stderr, sys.stderr)
        _print("".join(f"{line}\n" for line in self._remarks()), sys.stderr)

    def _remarks(self) -> list[str]:
        remarks: list[str] = []
        if self.dropped_bytes:
            remarks.append(f"[{self.dropped_bytes:,} further bytes of output are not kept]")
        if self.status == "timeout":
            remarks.append(f"[ended at its timeout, after {self.duration_ms / 1000:.3g} s]")
        elif self.status != "success":
            remarks.append(f"[exit code {self.exit_code}]")
        return remarks

    def __repr__(self) -> str:
        parts = [self.stdout, *([f"--- stderr ---\n{self.stderr}"] if self.stderr else []), *self._remarks()]
        return "\n".join(part.rstrip("\n") for part in parts if part) or "[no output]"


class Shell:
    """Runs a command line in this sandbox (await, or `.sync`): `.stdout` `.stderr` `.exit_code` `.status`."""

    def __call__(
        self, command: str, *, timeout: float | None = None, stdin: str | bytes = "", cwd: str | None = None
    ) -> Pending:
        """A deadline in seconds ends the command with what it has started; its status is then `timeout`."""
        _check(command)

        async def run() -> object:
            import asyncio

            running = _Running(command, timeout, stdin, cwd)
            try:
                return await asyncio.get_running_loop().run_in_executor(None, running.finish)
            finally:
                # Does nothing unless the cell was interrupted.
                running.end()

        return Pending("runtime.sh(...)", run)

    def sync(
        self, command: str, *, timeout: float | None = None, stdin: str | bytes = "", cwd: str | None = None
    ) -> RunResult:
        """The same, and waits here."""
        _check(command)
        running = _Running(command, timeout, stdin, cwd)
        try:
            return running.finish()
        finally:
            running.end()


def _check(command: object) -> None:
    if not isinstance(command, str):
        raise TypeError(f"sh takes a command line (str), not {type(command).__name__}: use subprocess for a list")
    if unavailable.is_embedded:
        missing.refuse_process()


class _Running:
    """A command that runs. Its methods may be called in any thread, `finish` once."""

    def __init__(self, command: str, timeout: float | None, stdin: str | bytes, cwd: str | None) -> None:
        import subprocess

        shell = next((path for path in _SHELLS if os.path.exists(path)), "sh")
        self._input = memoryview(stdin.encode() if isinstance(stdin, str) else stdin)
        self._began = time.monotonic()
        self._deadline = None if timeout is None else self._began + timeout
        self._is_ended = False
        pipe = subprocess.PIPE
        # With a group of its own, all that it has started ends with it.
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            [shell, "-c", command], stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, start_new_session=True
        )

    def finish(self) -> RunResult:
        """Waits for the end. Processes that it left in the background go on."""
        process = self._process
        streams = (_Kept(), _Kept())
        status = "timeout" if not self._pump(streams) else "success"
        if status == "timeout":
            self.end()
            process.wait()
        for pipe in _pipes(process):
            pipe.close()
        code = process.returncode
        if status == "success" and code != 0:
            status = "error"
        self._is_ended = True
        return RunResult(status, None if status == "timeout" else code, streams, time.monotonic() - self._began)

    def end(self) -> None:
        """Ends the command and what it has started, unless it has ended."""
        if not self._is_ended:
            self._is_ended = True
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _pump(self, streams: tuple[_Kept, _Kept]) -> bool:
        """Moves input and output until the command has ended; False at the deadline."""
        process = self._process
        stdin, stdout, stderr = _pipes(process)
        for pipe in (stdin, stdout, stderr):
            os.set_blocking(pipe.fileno(), False)
        # By descriptor: what moves its bytes, and says whether more may follow.
        movers: dict[int, Callable[[], bool]] = {
            stdout.fileno(): lambda: streams[0].take(stdout),
            stderr.fileno(): lambda: streams[1].take(stderr),
        }
        readers = frozenset(movers)
        movers[stdin.fileno()] = lambda: self._feed(stdin)
        poll = select.poll()
        for descriptor in movers:
            poll.register(descriptor, select.POLLIN if descriptor in readers else select.POLLOUT)
        last_until = 0.0
        while process.poll() is None or not readers.isdisjoint(movers):
            now = time.monotonic()
            if self._deadline is not None and now >= self._deadline:
                return False
            if process.returncode is not None:
                last_until = last_until or now + _AFTER_END_SECONDS
                if now >= last_until:
                    break
            for descriptor, _ in poll.poll(_TICK_SECONDS * 1000):
                if not movers[descriptor]():
                    poll.unregister(descriptor)
                    del movers[descriptor]
        return True

    def _feed(self, stdin: IO[bytes]) -> bool:
        """Writes some of the input; closes it and returns False if there is nothing left or nothing reads it."""
        try:
            self._input = self._input[os.write(stdin.fileno(), self._input[:_PIECE_BYTES]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self._input = memoryview(b"")
        if not self._input:
            stdin.close()
        return bool(self._input)


class _Kept:
    """The beginning of a stream."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._room = _MAX_KEPT_BYTES
        self.dropped = 0

    def take(self, pipe: IO[bytes]) -> bool:
        """Reads what is there; False at the end of the stream."""
        try:
            data = os.read(pipe.fileno(), _PIECE_BYTES)
        except BlockingIOError:
            return True
        if self._room:
            self._pieces.append(data[: self._room])
        self.dropped += max(0, len(data) - self._room)
        self._room = max(0, self._room - len(data))
        return bool(data)

    def text(self) -> str:
        return b"".join(self._pieces).decode("utf-8", "replace")


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None and stdout is not None and stderr is not None  # They are pipes.
    return stdin, stdout, stderr


def _print(text: str, file: Any) -> None:
    if text:
        file.write(text)
