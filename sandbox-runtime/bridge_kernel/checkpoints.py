"""Checkpoints: what a session has is written to the host, and read back by a later sandbox.

The host never looks into one. Where there is `fork`, a copy of this process writes while the next cell runs here; it
reaches neither the pipe to the host nor, through it, a server. Otherwise the session waits until everything is written.
It also does if there is so little that a copy would take longer, and no code of the user takes part.

A checkpoint holds, in this order: a dict of plain values about the interpreter, the files, and the variables. The files
come first, because a variable may need a module among them.
"""

from __future__ import annotations

import _signal as signal  # As in the supervisor: the public module is slow to import.
import collections
import gc
import itertools
import json
import linecache
import os
import pickle
import sys
import threading
import types

from bridge_kernel import module_states, process_memory, running_work, state_files, state_pickle
from bridge_kernel.rpc import is_moving_state
from bridge_kernel.state_pickle import NotDumpedError, NotKeptError
from bridge_kernel.values import as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from bridge_kernel.api import Api
    from bridge_kernel.frames import Frame
    from bridge_kernel.loop import CellLoop
    from bridge_kernel.references import References
    from bridge_kernel.repl import Repl
    from bridge_kernel.rpc import Channel
    from bridge_kernel.state_pickle import Lost

    # By name, and why others are not kept.
    States = tuple[dict[str, object], Lost]
    # What a copy of the process no longer sees.
    Before = tuple[States, Lost]

    class Output(Protocol):
        """Where a checkpoint goes, and then its report."""

        may_try: bool
        """Whether the process may read what it has written, to see whether that works."""

        def write(self, data: Any, /) -> object: ...
        def restart(self) -> None: ...
        def end(self, report: Frame) -> None: ...


_FORMAT = 1
# The same as MAX_CHECKPOINT_PART_BYTES of the host.
_PART_BYTES = 1 << 20
# Up to here, a session of plain values is written without a copy of the process. The copy alone takes 20 to 30 ms
# (measured).
_MAX_SMALL_BYTES = 64 << 10
_MAX_SMALL_ITEMS = 1_000
# The same for a variable of a module. Chosen: looking through one takes 20 ms.
_MAX_MODULE_ITEMS = 100_000
_MAX_MODULE_BYTES = 16 << 20
# More modules than these in the folder of a session are a library that was copied there. Chosen.
_MAX_OWN_MODULES = 50
# Parts on their way without an acknowledgement. Chosen.
_MAX_UNTAKEN = 4
# Parts that the host was asked for and has not sent. It allows four.
_MAX_AWAITED = 3
# A copy that takes longer is given up: code of the user may wait forever for a thread that only the original has.
_COPY_SECONDS = 60
# The same for reading what was written, which is given up alone.
_TRY_SECONDS = 5
# What is read: everything or, if that is more, variables that are small. Chosen: reading takes as long as writing, and
# large values are mostly plain or of libraries.
_MAX_TRIED_BYTES = 256 << 10
_MAX_TRIED_VARIABLE_BYTES = 64 << 10
# What happens only while they are tried, because no file can be opened then.
_ONLY_TRIED = ("OSError: [Errno 24]", "ImportError", "ModuleNotFoundError")
_NICE = 10
_F_SETPIPE_SZ = 1031
# Longer than the host waits for a checkpoint.
_TAKE_SECONDS = 100
_MAX_REPORTED = 100
_MAX_NAME_CHARS = 100
# Messages of the copy: kind, then the length.
_HEAD_BYTES = 5
_DATA, _RESTART, _END = b"d", b"r", b"e"
# Values that are no variables have names that start with this, which no variable has.
_NO_VARIABLE = "*"


class _TooLargeError(NotKeptError):
    def __init__(self) -> None:
        super().__init__("too large for a checkpoint")


class _CellWaitsError(Exception):
    pass


class SessionParts:
    """What a checkpoint is made of.

    `start` is what the interpreter had from its start: path, environment, folder, filters of warnings.
    """

    def __init__(
        self, repl: Repl, api: Api, loop: CellLoop,
        start: tuple[list[str], dict[str, str], str, list[Any]], may_fork: bool,
    ) -> None:  # fmt: skip
        self.repl = repl
        self.api = api
        self.references = api.references()
        self.loop = loop
        self.path, self.env, self.folder, self.filters = start
        self.may_fork = may_fork


class Checkpoints:
    """Writes and reads the checkpoints of a session."""

    def __init__(self, channel: Channel, session: SessionParts) -> None:
        self._channel = channel
        self._session = session
        self._repl = session.repl
        self._references = session.references
        # Variables that the last checkpoint could not keep. They are tried alone first.
        self._suspects: set[str] = set()
        self._taken = _Counter(channel)
        self._number = 0
        self._gives_way: _HostOutput | None = None
        self._source: _Source | None = None

    # Saving

    def save(self, frame: Frame) -> None:
        """Starts writing a checkpoint. Call it in the main thread, while no cell runs."""
        maximum, memory = _integer(frame["max_bytes"]), _integer(frame["memory_bytes"])
        # A new counter each time: who still waits for an earlier one must not take the answers of this one.
        self._number, self._taken = _integer(frame["checkpoint"]), _Counter(self._channel)
        output = _HostOutput(self._channel, self._number, self._taken, maximum)
        self._gives_way = None if frame["may_block"] is True or self._session.may_fork else output
        try:
            if self._session.may_fork and self._save_small(output):
                return
            # Both processes write to their pages, so in the end each has its own.
            if self._session.may_fork and 2 * process_memory.resident_bytes() + _scratch_bytes() < memory:
                self._save_in_copy(output)
            elif frame["may_block"] is True or not self._session.may_fork:
                self._write_here(output)
            else:
                output.end(_failed("a copy of the process needs too much memory"))
        except Exception as error:  # noqa: BLE001 Code of the user may have changed anything.
            output.end(_failed(state_pickle.reason_of(error)))

    def give_way(self) -> None:
        """A cell waits, and runs first, unless someone asked for the checkpoint or a copy of the process writes it."""
        if self._gives_way is not None:
            self._gives_way.cell_waits = True

    def acknowledge(self, frame: Frame) -> None:
        """The host has taken a part."""
        if frame["checkpoint"] == self._number:
            self._taken.add()

    def _save_small(self, output: _HostOutput) -> bool:
        """Writes a session that is small and plain. If it is not, or that fails, sends nothing and returns False."""
        before = self._before()
        values = [self._user_values(), *filter(_is_no_context, before[0][0].values())]
        if not state_pickle.is_small_and_plain(values, _MAX_SMALL_ITEMS, _MAX_SMALL_BYTES):
            return False
        small = _SmallOutput()
        self._write(small, before)
        if small.report.get("ok") is not True:
            return False
        for part in small.parts:
            output.write(part)
        output.end(small.report)
        return True

    def _write_here(self, output: _HostOutput) -> None:
        """Writes while the session stands still. The deadline of a cell that waits ends it."""
        self._session.loop.is_saving = True
        try:
            self._write(output)
        finally:
            self._session.loop.is_saving = False

    def _save_in_copy(self, output: _HostOutput) -> None:
        # Before the copy is made, because Python seeds its generator again in a copy.
        before = self._before()
        read_end, write_end = os.pipe()
        _enlarge(write_end)
        try:
            pid = _fork()
        except OSError as error:
            os.close(read_end)
            os.close(write_end)
            output.end(_failed(f"no copy of the process: {error.strerror}"))
            return
        if pid == 0:
            os.close(read_end)
            self._run_copy(write_end, output.max_bytes, before)
        os.close(write_end)
        arguments = (pid, read_end, output)
        try:
            threading.Thread(target=self._relay, args=arguments, name="bridge-checkpoint", daemon=True).start()
        except RuntimeError:
            # The limit of processes is reached.
            _kill(pid)
            _reap(pid)
            os.close(read_end)
            output.end(_failed("no thread could be started"))

    def _run_copy(self, write_end: int, max_bytes: int, before: Before) -> None:
        """Writes the checkpoint in the copy, and ends it."""
        try:
            self._channel.close()
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(null, descriptor)
            os.nice(_NICE)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_COPY_SECONDS)
            # A collection would write to most pages.
            gc.disable()
            self._write(_CopyOutput(write_end, max_bytes), before)
        finally:
            os._exit(0)

    def _relay(self, pid: int, read_end: int, output: _HostOutput) -> None:
        """Passes on what the copy writes, and reports its end."""
        report = _failed("the process that wrote it ended early")
        try:
            with os.fdopen(read_end, "rb", buffering=_PART_BYTES) as pipe:
                while len(head := pipe.read(_HEAD_BYTES)) == _HEAD_BYTES:
                    data = pipe.read(int.from_bytes(head[1:], "big"))
                    if head[:1] == _DATA:
                        output.write(data)
                    elif head[:1] == _RESTART:
                        output.restart()
                    else:
                        report = json.loads(data)
        except Exception as error:  # noqa: BLE001 Whatever it is, the host waits for the end.
            report = _failed(state_pickle.reason_of(error))
            _kill(pid)
        finally:
            _reap(pid)
        output.end(report)
        self._note(report)

    def _note(self, report: Frame) -> None:
        if report.get("ok") is True:
            self._suspects = {str(each["name"]) for each in as_list(report["lost"])}

    def _write(self, output: Output, before: Before | None = None) -> None:
        """Writes everything to `output` and ends it with a report."""
        token = is_moving_state.set(True)
        try:
            report = self._written(output, *(self._before() if before is None else before))
        except _TooLargeError:
            report = _failed("it is larger than the limit")
        except (_CellWaitsError, KeyboardInterrupt):
            report = _failed("a cell came first")
        except state_files.FilesChangedError:
            report = _failed("files changed while they were read")
        except BaseException as error:  # noqa: BLE001 Code of the user may raise anything.
            report = _failed(state_pickle.reason_of(error))
        finally:
            is_moving_state.reset(token)
        output.end(report)
        self._note(report)

    def _before(self) -> Before:
        return self._module_states(), running_work.described(self._session.loop.loop)

    def _module_states(self) -> States:
        states, lost = module_states.states(self._session.filters)
        return {f"{_NO_VARIABLE}{name}": state for name, state in states.items()}, lost

    def _user_values(self) -> dict[str, object]:
        return _module_variables(self._session.folder) | self._repl.user_values(self._session.api.owns)

    def _written(self, output: Output, module_states: States, running: Lost) -> Frame:
        states, lost_states = module_states
        values = self._user_values() | states
        suspects = {name: values[name] for name in self._suspects & values.keys()}
        lost = state_pickle.unwritable(values, suspects, self._references)
        may_try = output.may_try
        is_cut = False
        if may_try:
            lost |= self._try_each(suspects, lost)
        while True:
            kept = {name: value for name, value in values.items() if name not in lost}
            try:
                count, lost_files, written = self._write_once(output, kept)
            except NotDumpedError as error:
                if isinstance(error.__cause__, _TooLargeError):
                    # Without one large variable, the rest may fit. Otherwise each attempt would drop another one.
                    if is_cut:
                        raise _TooLargeError from error
                    is_cut = True
                # The rest is tried alone, so that this happens once even if many cannot be kept.
                lost[error.name] = error.reason
                lost |= state_pickle.unwritable(values, kept.keys() - {error.name}, self._references)
                output.restart()
                continue
            # What runs comes first: the host must know it, and gets a limited number of names.
            elsewhere = state_files.elsewhere(self._session.folder)
            lost_now = running | elsewhere | lost | lost_files | lost_states
            report = {"ok": True, "variables": _count(kept), "files": count, **_listed(lost_now)}
            if not may_try:
                return report
            # Counts if code of a value ends this process while it is tried.
            output.end(report)
            may_try = False
            found = self._try_each(kept, lost) if written is None else _tried([written], self._references)
            if not found:
                return report
            lost |= found
            output.restart()

    def _try_each(self, values: dict[str, object], lost: Lost) -> Lost:
        """Those of the small variables that cannot be read, and why."""
        written: list[bytes] = []
        left = _MAX_TRIED_BYTES
        for name in [name for name in values if name not in lost]:
            copied = _Copied(min(left, _MAX_TRIED_VARIABLE_BYTES))
            try:
                state_pickle.dump({name: values[name]}, copied, self._references)
            except NotDumpedError:
                continue  # It is too large.
            written.append(bytes(copied.data))
            left -= len(copied.data)
        return _tried(written, self._references)

    def _write_once(self, output: Output, values: dict[str, object]) -> tuple[int, Lost, bytes | None]:
        """Also returns what it wrote of the variables, None if that is much."""
        buffer = _Buffer(output)
        buffer.write(pickle.dumps(self._facts()))
        count, lost = state_files.dump(self._session.folder, buffer)
        copied = _Copied(_MAX_TRIED_BYTES if output.may_try else 0, buffer)
        state_pickle.dump(values, copied, self._references)
        buffer.flush()
        return count, lost, None if copied.is_cut else bytes(copied.data)

    def _facts(self) -> dict[str, object]:
        """Plain values about the interpreter."""
        start = self._session
        sources = {file: linecache.getlines(file) for file in list(linecache.cache) if file.startswith("<cell ")}
        return {
            "format": _FORMAT,
            "python": sys.version_info[:2],
            "folder": _working_folder() or start.folder,
            "path": [entry for entry in sys.path if entry not in start.path],
            "first": list(itertools.takewhile(lambda entry: entry not in start.path, sys.path)),
            "env": {key: value for key, value in os.environ.items() if start.env.get(key) != value},
            "unset": [key for key in start.env if key not in os.environ],
            "flags": self._repl.flags,
            "sources": sources,
            "packages": self._session.api.open_packages().used,
        }

    # Restoring

    async def restore(self) -> None:
        """Reads the checkpoint that the host offers, and makes it the state of this session, whole or not at all."""
        source = self._source = _Source(self._channel)
        try:
            facts: dict[str, Any] = pickle.Unpickler(source).load()
            if facts["format"] != _FORMAT:
                raise ValueError(f"a checkpoint of format {facts['format']}; this bridge reads {_FORMAT}")
            count, lost = state_files.load(self._session.folder, source)
            await self._apply(facts)
            token = is_moving_state.set(True)
            try:
                values, lost_values = state_pickle.load(source, self._references)
                lost |= lost_values
                for name, value in values.items():
                    self._set(name, value, lost)
            finally:
                is_moving_state.reset(token)
        finally:
            self._source = None
        variables = _count(values)
        self._channel.send({"type": "restored", "variables": variables, "files": count, **_listed(lost)})

    def give(self, frame: Frame) -> None:
        """The host sends a part that was asked for. Runs where frames are read."""
        if self._source is not None:
            self._source.give(frame["data"])

    async def _apply(self, facts: dict[str, Any]) -> None:
        if os.path.isdir(facts["folder"]):
            os.chdir(facts["folder"])
        os.environ.update(facts["env"])
        for key in facts["unset"]:
            os.environ.pop(key, None)
        module_states.set_time_zone()
        self._repl.flags = facts["flags"]
        for file, lines in facts["sources"].items():
            linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
        if facts["packages"] is not None:
            await self._session.api.open_packages().use_again(facts["packages"])
        self._restore_path(facts)

    def _restore_path(self, facts: dict[str, Any]) -> None:
        """What is before the entries of every sandbox, and what is not. A folder of packages may have been replaced."""
        first = facts.get("first", [])
        added = [
            entry
            for entry in facts["path"]
            if entry not in sys.path and (os.path.exists(entry) or str(entry).startswith(self._session.folder))
        ]
        sys.path[:0] = [entry for entry in added if entry in first]
        sys.path += [entry for entry in added if entry not in first]

    def _set(self, name: str, value: Any, lost: Lost) -> None:
        try:
            if name.startswith(_NO_VARIABLE):
                _set_module_state(name.removeprefix(_NO_VARIABLE), value)
            elif name == "_":
                self._repl.remember(value)
            else:
                self._repl.namespace[name] = value
        except Exception as error:  # noqa: BLE001 A module of the user may do anything.
            lost[name] = state_pickle.reason_of(error)


class _Counter:
    """Counts what the host has taken, and wakes who waits for it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._event = threading.Event()
        self.count = 0

    def add(self) -> None:
        """One more. Runs where frames are read."""
        self.count += 1
        self._event.set()

    def wait_for(self, count: int) -> None:
        """Blocks until so many are counted. Raises TimeoutError: code that writes to the pipe may have cut a part."""
        while self.count < count:
            if not self._channel.wait(self._event, _TAKE_SECONDS):
                raise TimeoutError("the host has not answered")
            self._event.clear()


class _HostOutput:
    """Sends parts to the host, not faster than it takes them."""

    may_try = False

    def __init__(self, channel: Channel, number: int, taken: _Counter, max_bytes: int) -> None:
        self._channel = channel
        self._number = number
        self._taken = taken
        self.max_bytes = max_bytes
        self._sent = 0
        self._bytes = 0
        self._is_restarted = False
        self.cell_waits = False

    def write(self, data: Any, /) -> None:
        """Sends at most `_PART_BYTES`."""
        self._bytes += len(data)
        if self._bytes > self.max_bytes:
            raise _TooLargeError
        self._taken.wait_for(self._sent - _MAX_UNTAKEN + 1)
        if self.cell_waits:
            raise _CellWaitsError
        frame: Frame = {"type": "checkpoint_part", "checkpoint": self._number, "bytes": len(data)}
        if self._is_restarted:
            frame["restart"] = True
            self._is_restarted = False
        self._channel.send_with_bytes(frame, data)
        self._sent += 1

    def restart(self) -> None:
        """What was sent does not count."""
        self._is_restarted = True
        self._bytes = 0

    def end(self, report: Frame) -> None:
        """Says how it went."""
        self._channel.send({"type": "checkpoint_end", "checkpoint": self._number, **report})


class _CopyOutput:
    """Writes to the original process."""

    may_try = True

    def __init__(self, descriptor: int, max_bytes: int) -> None:
        self._descriptor = descriptor
        self._max_bytes = max_bytes
        self._bytes = 0

    def write(self, data: Any, /) -> None:
        self._bytes += len(data)
        if self._bytes > self._max_bytes:
            raise _TooLargeError
        self._send(_DATA, data)

    def restart(self) -> None:
        self._bytes = 0
        self._send(_RESTART, b"")

    def end(self, report: Frame) -> None:
        self._send(_END, json.dumps(report).encode())

    def _send(self, kind: bytes, data: Any) -> None:
        for piece in (kind + len(data).to_bytes(_HEAD_BYTES - 1, "big"), data):
            view = memoryview(piece)
            while view:
                view = view[os.write(self._descriptor, view) :]


class _SmallOutput:
    """Keeps what is written, up to `_MAX_SMALL_BYTES`."""

    may_try = False

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.report: Frame = {}
        self._bytes = 0

    def write(self, data: Any, /) -> None:
        self._bytes += len(data)
        if self._bytes > _MAX_SMALL_BYTES:
            raise _TooLargeError
        self.parts.append(data)

    def restart(self) -> None:
        self.parts.clear()
        self._bytes = 0

    def end(self, report: Frame) -> None:
        self.report = report


class _Buffer:
    """Collects what is written into parts."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._pieces: list[bytes] = []
        self._bytes = 0

    def write(self, data: Any, /) -> int:
        """Any number of bytes."""
        view = memoryview(data).cast("B")
        size = len(view)
        while len(view) + self._bytes >= _PART_BYTES:
            room = _PART_BYTES - self._bytes
            self._pieces.append(bytes(view[:room]))
            self.flush()
            view = view[room:]
        if len(view):
            self._pieces.append(bytes(view))
            self._bytes += len(view)
        return size

    def flush(self) -> None:
        """Passes on what is left."""
        if self._pieces:
            pieces, self._pieces, self._bytes = self._pieces, [], 0
            self._output.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))


class _Copied:
    """Keeps a copy of what is written. Beyond `limit` bytes, it passes on the rest, or raises if there is nobody to."""

    def __init__(self, limit: int, to: _Buffer | None = None) -> None:
        self.data = bytearray()
        self.is_cut = False
        self._limit = limit
        self._to = to

    def write(self, data: Any, /) -> int:
        """Any number of bytes."""
        view = memoryview(data).cast("B")
        self.is_cut = self.is_cut or len(self.data) + len(view) > self._limit
        if not self.is_cut:
            self.data += view
        elif self._to is None:
            raise _TooLargeError
        return len(view) if self._to is None else self._to.write(data)


class _Source:
    """Reads the host's checkpoint in parts, some ahead of what is needed."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._event = threading.Event()
        self._parts: collections.deque[bytes] = collections.deque()
        self._part = memoryview(b"")
        # Where the part at hand ends, and the next one to ask for begins.
        self._end = 0
        self._asked = 0
        self._awaited = 0
        self._skipped = 0
        self._is_over = False

    def give(self, data: Any) -> None:
        """Takes a part; an empty one is the end. Runs where frames are read."""
        self._parts.append(data)
        self._event.set()

    def tell(self) -> int:
        """The position of the next byte."""
        return self._end - len(self._part)

    def seek(self, offset: int, /) -> None:
        """Goes on elsewhere. Parts that are on their way are dropped when they arrive."""
        self._skipped += self._awaited
        self._awaited = 0
        self._part, self._end, self._asked, self._is_over = memoryview(b""), offset, offset, False

    def read(self, size: int, /) -> bytes:
        """So many bytes. Raises EOFError if there are not as many."""
        if size <= len(self._part):
            data, self._part = bytes(self._part[:size]), self._part[size:]
            return data
        pieces: list[memoryview] = []
        while size:
            if not self._part:
                self._next()
            pieces.append(self._part[:size])
            self._part = self._part[size:]
            size -= len(pieces[-1])
        return b"".join(pieces)

    def readinto(self, buffer: Any, /) -> int:
        """Fills a buffer, without another copy in between."""
        view = memoryview(buffer).cast("B")
        size = len(view)
        while view:
            if not self._part:
                self._next()
            count = min(len(view), len(self._part))
            view[:count] = self._part[:count]
            view, self._part = view[count:], self._part[count:]
        return size

    def readline(self) -> bytes:
        """Up to the next line feed. Only old kinds of pickles have lines."""
        line = bytearray()
        while not line.endswith(b"\n"):
            line += self.read(1)
        return bytes(line)

    def _next(self) -> None:
        self._ask()
        while self._skipped or not self._parts:
            while not self._parts:
                self._channel.wait(self._event)
                self._event.clear()
            if self._skipped:
                self._parts.popleft()
                self._skipped -= 1
        data = self._parts.popleft()
        self._awaited -= 1
        if not data:
            raise EOFError("the checkpoint ends early")
        self._end += len(data)
        self._part = memoryview(data)
        if len(data) == _PART_BYTES:
            self._ask()

    def _ask(self) -> None:
        # Some are on their way while this process decodes, because a pipe of a container is slow.
        while self._awaited < _MAX_AWAITED:
            self._channel.send({"type": "want_checkpoint", "offset": self._asked, "size": _PART_BYTES})
            self._asked += _PART_BYTES
            self._awaited += 1


def _tried(written: list[bytes], references: References) -> Lost:
    """The variables that cannot be read. Code of the user runs, so no file can be opened, and time is limited."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    signal.alarm(_TRY_SECONDS)
    lost: Lost = {}
    for data in written:
        lost |= state_pickle.unloadable(data, references)
    signal.alarm(_COPY_SECONDS)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    return {name: reason for name, reason in lost.items() if not reason.startswith(_ONLY_TRIED)}


def _enlarge(pipe: int) -> None:
    import fcntl

    try:
        fcntl.fcntl(pipe, _F_SETPIPE_SZ, _PART_BYTES)
    except OSError:
        pass  # The user's pipe memory quota is used up; the default size is slower but works.


def _fork() -> int:
    import warnings

    # Python warns of forks in a process with threads; the copy waits for none of them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass  # Code of the user waited for any child.


def _module_variables(folder: str) -> dict[str, object]:
    """Plain variables of modules that cells have written; other objects of them are as an import makes them."""
    modules = {name: module for name, module in list(sys.modules.items()) if _is_in(module, folder)}
    if len(modules) > _MAX_OWN_MODULES:
        return {}
    return {
        f"{_NO_VARIABLE}{module}.{name}": value
        for module in modules
        for name, value in list(vars(modules[module]).items())
        if type(value) is not types.ModuleType
        and not name.startswith("__")
        and state_pickle.is_small_and_plain(value, _MAX_MODULE_ITEMS, _MAX_MODULE_BYTES)
    }


def _is_in(module: object, folder: str) -> bool:
    file: object = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(f"{folder}/")


def _is_no_context(value: object) -> bool:
    """False for the context of `decimal`. It is small, and pickling it runs only code of Python."""
    decimal = sys.modules.get("decimal")
    return decimal is None or type(value) is not decimal.Context


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # Code removed it.


def _scratch_bytes() -> int:
    """What files in memory take."""
    from bridge_kernel import mounts

    used = 0
    for path in mounts.SCRATCH:
        try:
            usage = os.statvfs(path)
        except OSError:
            continue  # This engine does not mount it.
        used += (usage.f_blocks - usage.f_bfree) * usage.f_frsize
    return used


def _set_module_state(name: str, value: object) -> None:
    if module_states.restore(name, value):
        return
    path, _, attribute = name.rpartition(".")
    first, *rest = path.split(".")
    owner: Any = __import__(first)
    for index, part in enumerate(rest, 2):
        if not hasattr(owner, part):
            __import__(".".join(path.split(".")[:index]))
        owner = getattr(owner, part)
    setattr(owner, attribute, value)


def _count(values: dict[str, object]) -> int:
    return sum(1 for name in values if not name.startswith((_NO_VARIABLE, "_")))


def _listed(lost: Lost) -> Frame:
    """What is lost, as a frame has it."""
    listed = [
        {"name": name.lstrip(_NO_VARIABLE)[:_MAX_NAME_CHARS], "reason": reason}
        for name, reason in list(lost.items())[:_MAX_REPORTED]
    ]
    return {"lost": listed, "omitted": max(0, len(lost) - _MAX_REPORTED)}


def _failed(reason: str) -> Frame:
    return {"ok": False, "reason": reason}


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
