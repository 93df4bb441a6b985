"""`runtime.step(…)` and `runtime.step_map(…)`: work in steps that the page shows as a graph.

A run that can go on keeps the result of each step, so that none is done twice. Its key is a hash of the code of the
function, of what this names, and of the inputs.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import io
import pickle
import sys
import types

from bridge_kernel.errors import ArgumentError, MCPError, PolicyError
from bridge_kernel.loop import current_cell, is_cell_task
from bridge_kernel.proxies import Server, Tool
from bridge_kernel.rpc import current_job, current_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from bridge_kernel.servers import Host

# The host has the same limits.
_MAX_NAME_CHARS = 200
_MAX_EXCEPTION_CHARS = 100
_MAX_AFTER = 100
_MAX_KEPT_BYTES = 4 << 20
# Larger inputs are not compared, because reading them takes longer than most steps. Chosen.
_MAX_INPUT_BYTES = 64 << 20
# Fewer than the host allows in all, so that steps within rows have room.
_MAX_ROWS_AT_ONCE = 500
_AGAIN = "would be done again if this run went on, because"
_MAX_SAID = 100
_MAX_WAIT_SECONDS = 60.0
_RETRY = "__bridge_retry__"
# Of a task: the steps that it has done last.
_BRANCH = "_bridge_branch"
# Modules whose functions belong to the user.
_MINE = ("__main__", "user_tools")
# Codes of errors that another try does not change, or must not risk.
_FINAL = ("APPROVAL_", "POLICY_", "LIMIT_", "OUTCOME_UNKNOWN", "CALL_REFUSED", "CALL_CANCELLED", "SERVER_NOT_AVAILABLE")


class _Branch:
    """The steps that a task has done last: what it does next comes after them."""

    __slots__ = ("last", "outer", "parent", "root", "step")

    def __init__(self, parent: _Branch | None, step: int | None = None, outer: _Branch | None = None) -> None:
        """A branch of another, of a cell or a job, or of the work of a step that the branch `outer` does."""
        self.parent = parent
        self.root: _Branch = self if parent is None else parent.root
        self.last: set[int] = set() if parent is None else set(parent.last)
        self.step = step
        self.outer = outer

    def end(self, step: int, after: list[int]) -> None:
        """What this task has done, those that wait for it have done, too."""
        branch: _Branch | None = self
        while branch is not None:
            branch.last.difference_update(after)
            branch.last.add(step)
            branch = branch.parent

    def is_within(self, step: int) -> bool:
        """Whether what it does is part of the work of a step."""
        branch: _Branch | None = self
        while branch is not None and branch.root.step != step:
            branch = branch.root.outer
        return branch is not None


def _branch_of(task: object) -> _Branch | None:
    return getattr(task, _BRANCH, None)


def _watch_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """From now on, a task begins where the one that creates it stands."""
    before: Any = loop.get_task_factory()
    if getattr(before, _BRANCH, False):
        return

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        task = asyncio.Task(coroutine, loop=loop, **options) if before is None else before(loop, coroutine, **options)
        branch = _branch_of(asyncio.current_task(loop))
        if branch is not None:
            setattr(task, _BRANCH, _Branch(branch))
        return task

    setattr(make, _BRANCH, True)
    loop.set_task_factory(make)


def retry(times: int, wait: float, on: type[BaseException] | tuple[type[BaseException], ...]) -> Callable[[Any], Any]:
    """See `Runtime.retry`."""
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"times must be a whole number of at least 1, not {times!r}")
    if not 0 <= wait <= _MAX_WAIT_SECONDS:
        raise ValueError(f"wait must be a number of seconds from 0 to {_MAX_WAIT_SECONDS:g}, not {wait!r}")

    classes = on if isinstance(on, tuple) else (on,)
    if not all(isinstance(each, type) and issubclass(each, BaseException) for each in classes):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"on must be a class of exceptions or a tuple of them, not {on!r}")

    def declare(function: Any) -> Any:
        setattr(function, _RETRY, (times, wait, on))
        return function

    return declare


class Steps:
    """The steps of a session."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._reporting: set[asyncio.Task[None]] = set()
        self._said: set[str] = set()
        # With their cell. By job; empty for cells.
        self._roots: dict[str, tuple[int, _Branch]] = {}

    async def step(self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Calls the function as a step, and returns its result."""
        _check(function, "step")
        return await self._do(_Work(function, args, named))

    async def step_map(self, function: Callable[..., Any], rows: Iterable[Any], at_once: int, errors: str) -> list[Any]:
        """Calls the function for each row as one step. The results are in the order of the rows."""
        _check(function, "step_map")
        if isinstance(at_once, bool) or not isinstance(at_once, int) or not 1 <= at_once <= _MAX_ROWS_AT_ONCE:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"at_once must be a whole number from 1 to {_MAX_ROWS_AT_ONCE}, not {at_once!r}")
        if errors not in ("raise", "return"):
            raise ValueError(f"errors must be 'raise' or 'return', not {errors!r}")
        return await self._do(_Map(self, function, list(rows), at_once, errors))

    async def row(self, of: _Map, row: Any) -> Any:
        """One row of a map."""
        return await self._do(_Work(of.function, (row,), {}, of.code), is_row=True)

    def _here(self) -> _Branch:
        """The branch of this task."""
        task = asyncio.current_task()
        branch = _branch_of(task)
        if branch is not None and branch.root.step is not None:
            return branch
        cell, root = self._roots.get(current_job.get(), (-1, None))
        if root is None or cell != current_cell.get():
            root = _Branch(None)
            self._roots[current_job.get()] = (current_cell.get(), root)
            _watch_tasks(asyncio.get_running_loop())
        # What an earlier cell has done last does not count.
        if branch is None or branch.root is not root:
            branch = root if is_cell_task(task) else _Branch(root)
            setattr(task, _BRANCH, branch)
        return branch

    async def _do(self, work: _Work | _Map, is_row: bool = False) -> Any:
        branch = self._here()
        after = sorted(branch.last)[-_MAX_AFTER:]
        params: dict[str, object] = {"name": _name_of(work.function), "after": [] if is_row else after}
        if (within := current_step.get()) is not None:
            params["within"] = within
        if isinstance(work, _Map):
            params["rows"] = len(work.rows)
        if is_row:
            params["is_row"] = True
        begun = await self._begin(params)
        number: int = begun["step"]
        end: dict[str, object] = {"step": number}
        try:
            return await (self._kept(work, end) if begun["keeps"] else self._run(work, end))
        except asyncio.CancelledError:
            self._report({**end, "outcome": "cancelled"})
            raise
        finally:
            branch.end(number, after)

    async def _begin(self, params: dict[str, object]) -> Any:
        """The host begins the step, also if whoever waits for it is cancelled meanwhile; it is ended then."""
        asking: asyncio.Future[Any] = asyncio.ensure_future(self._host.call("begin_step", params))
        setattr(asking, _BRANCH, None)

        def end(asked: asyncio.Future[Any]) -> None:
            if not asked.cancelled() and asked.exception() is None:
                self._report({"step": asked.result()["step"], "outcome": "cancelled"})

        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.add_done_callback(end)
            raise

    async def _kept(self, work: _Work | _Map, end: dict[str, object]) -> Any:
        """The result that an interrupted run has kept, or else that of the work, which is kept."""
        if isinstance(work, _Map):
            work.code = code_hash(work.function) or ""
            return await self._run(work, end)
        key = work.key()
        kept: Any = None if key is None else await self._host.call("kept_step", {**end, "key": key})
        if kept is not None:
            try:
                # Classes of the user are those of the code that runs.
                value = pickle.loads(base64.b64decode(kept["data"]))
            except Exception as why:  # noqa: BLE001 Objects of the user are restored.
                self._say(work, f"is done again, because its result cannot be restored: {why or type(why).__name__}")
            else:
                await self._host.call("end_step", {**end, "outcome": "kept"})
                return value
        if key is None:
            self._say(work, f"{_AGAIN} its code and inputs cannot be compared with those of a later run")
        return await self._run(work, end, key)

    async def _run(self, work: _Work | _Map, end: dict[str, object], key: str | None = None) -> Any:
        """Does the work, and notes in `end` how it ended."""
        number: Any = end["step"]
        strays = self._host.stray_calls
        value = await self._try(work, number, end)
        if key is not None:
            if self._host.stray_calls != strays:
                self._say(work, f"{_AGAIN} threads have made calls that may be its own; asyncio.to_thread tells")
            elif _leaves_tasks(number):
                self._say(work, f"{_AGAIN} it has left a task that runs")
            else:
                try:
                    end["data"] = _dump(value)
                except Exception as error:  # noqa: BLE001 Objects of the user are pickled.
                    self._say(work, f"{_AGAIN} its result is not kept: {error or type(error).__name__}")
        await self._end(end)
        return value

    async def _try(self, work: _Work | _Map, number: int, end: dict[str, object]) -> Any:
        """Does the work as often as it may be tried. Notes in `end` how it ended."""
        task = asyncio.current_task()
        outer, step = _branch_of(task), current_step.set(number)
        setattr(task, _BRANCH, _Branch(None, number, outer))
        try:
            value = await work.run(end)
        except Exception as error:
            end.update(outcome="error", exception=type(error).__name__[:_MAX_EXCEPTION_CHARS])
            await self._end(end)
            raise
        finally:
            setattr(task, _BRANCH, outer)
            current_step.reset(step)
        end["outcome"] = "ok"
        return value

    def _say(self, work: _Work | _Map, what: str) -> None:
        """Once: a map may have many rows."""
        text = f"Step {_name_of(work.function)!r} {what}."
        if text not in self._said and len(self._said) < _MAX_SAID:
            self._said.add(text)
            print(text, file=sys.stderr)

    async def _end(self, end: dict[str, object]) -> None:
        """What the step has done counts, also if the host has ended it with its cell."""
        try:
            await self._host.call("end_step", end)
        except MCPError:
            pass

    def _report(self, end: dict[str, object]) -> None:
        """Not awaited: who cancels a step does not wait for the host."""
        task = asyncio.get_running_loop().create_task(self._end(end))
        # It is no part of the work of a step around this one.
        setattr(task, _BRANCH, None)
        self._reporting.add(task)
        task.add_done_callback(self._reporting.discard)


class _Work:
    """A function and its inputs."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], code: str | None = None
    ) -> None:
        """`code` is the hash of the code of the function, if it is known; empty if that cannot be compared."""
        self.function = function
        self._args = args
        self._named = named
        self._code = code

    def key(self) -> str | None:
        """Stands for the function with these inputs; None if they cannot be compared."""
        code = code_hash(self.function) if self._code is None else self._code
        inputs = input_hash(self._args, self._named) if code else None
        return None if inputs is None else hashlib.sha256(f"{code} {inputs}".encode()).hexdigest()

    async def run(self, end: dict[str, object]) -> Any:
        """The result; the number of tries is noted in `end`."""
        times, wait, on = getattr(_unwrap(self.function), _RETRY, (1, 0.0, ()))
        for tried in range(1, times + 1):
            if tried > 1:
                end["tries"] = tried
            try:
                value = self.function(*self._args, **self._named)
                return await value if hasattr(value, "__await__") else value
            except Exception as error:
                if tried == times or not isinstance(error, on) or _is_final(error):
                    raise
            await asyncio.sleep(min(wait * 2 ** min(tried - 1, 10), _MAX_WAIT_SECONDS))
        raise AssertionError


class _Map:
    """A function and its rows, each of which is kept."""

    def __init__(self, steps: Steps, function: Callable[..., Any], rows: list[Any], at_once: int, errors: str) -> None:
        self.function = function
        self.rows = rows
        # The same for all rows, whatever the first of them change.
        self.code: str | None = None
        self._steps = steps
        self._at_once = at_once
        self._errors = errors

    async def run(self, _: dict[str, object]) -> list[Any]:
        """The results, in order."""
        results: list[Any] = [None] * len(self.rows)
        failed: dict[int, BaseException] = {}
        left = iter(range(len(self.rows)))

        async def work() -> None:
            for index in left:
                if failed and self._errors == "raise":
                    return
                try:
                    results[index] = await self._steps.row(self, self.rows[index])
                except asyncio.CancelledError as error:
                    if _is_cancelled():
                        raise
                    results[index] = failed[index] = error
                except Exception as error:  # noqa: BLE001 Whatever it is, the row has failed.
                    results[index] = failed[index] = error

        workers = [asyncio.ensure_future(work()) for _ in range(min(self._at_once, len(self.rows)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
        if failed and self._errors == "raise":
            raise failed[min(failed)]
        return results


def _is_cancelled() -> bool:
    """Whether this task itself is to end, and not only what it waits for. Python 3.10 does not tell."""
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is None or cancelling() > 0


def _leaves_tasks(step: int) -> bool:
    here = asyncio.current_task()
    branches = (_branch_of(task) for task in asyncio.all_tasks() if task is not here)
    return any(branch is not None and branch.is_within(step) for branch in branches)


def _check(function: object, helper: str) -> None:
    if callable(function) and not hasattr(function, "__await__"):
        return
    if asyncio.iscoroutine(function):
        function.close()
    kind = type(function).__name__
    raise TypeError(f"{helper} takes a function and its inputs, such as runtime.{helper}(fetch, rows), not a {kind}")


def _unwrap(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _name_of(function: Any) -> str:
    function = _unwrap(function)
    name = getattr(function, "__name__", None)
    return (name if isinstance(name, str) and name else type(function).__name__)[:_MAX_NAME_CHARS]


def _is_final(error: Exception) -> bool:
    return isinstance(error, (ArgumentError, PolicyError)) or (
        isinstance(error, MCPError) and str(error.code).startswith(_FINAL)
    )


class _TooLargeError(Exception):
    """There is more than may be compared."""


class _Hash:
    """What a pickler writes to."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._left = _MAX_INPUT_BYTES

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._left -= size
        if self._left < 0:
            raise _TooLargeError
        self.hash.update(data)
        return size


class _KeyPickler(pickle.Pickler):
    """Writes what the user has written as its code, and everything else as its value."""

    def __init__(self, sink: _Hash, seen: set[int]) -> None:
        """`seen` are the functions and classes that were written before."""
        super().__init__(sink, protocol=5)
        # Without a memo, so that equal inputs are the same bytes, whether or not they share objects.
        self.fast = True
        self._seen = seen

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        parts = self._parts_of(obj)
        return NotImplemented if parts is None else (_mark, (type(obj).__qualname__, parts))

    def _parts_of(self, obj: Any) -> object:
        kind: type[Any] = type(obj)  # pyright: ignore[reportUnknownVariableType]
        if kind is types.FunctionType or issubclass(kind, type):
            if not _is_written_out(obj):
                return None
            if id(obj) in self._seen:
                return obj.__qualname__
            self._seen.add(id(obj))
            return self._parts_of_function(obj) if kind is types.FunctionType else self._parts_of_class(obj)
        if kind is types.BuiltinMethodType:
            return None if isinstance(obj.__self__, (types.ModuleType, type)) else (obj.__name__, obj.__self__)
        if issubclass(kind, (types.ModuleType, Server, Tool)):
            return repr(obj)
        if kind.__module__ == "functools" and hasattr(obj, "__wrapped__"):
            return obj.__wrapped__
        return _DESCRIPTORS[kind](obj) if kind in _DESCRIPTORS else None

    def _parts_of_function(self, function: types.FunctionType) -> object:
        names: set[str] = set()
        parts: list[object] = []
        codes = [function.__code__]
        while codes:
            code = codes.pop()
            names.update(code.co_names)
            parts.append((code.co_name, code.co_code, code.co_names, code.co_varnames))
            for each in code.co_consts:
                if isinstance(each, types.CodeType):
                    codes.append(each)
                else:
                    # The order of a set differs from process to process.
                    parts.append(sorted(map(repr, each if isinstance(each, frozenset) else [each])))  # pyright: ignore[reportUnknownArgumentType]
        known = function.__globals__
        named = [(name, self._part_of(known[name])) for name in sorted(names & known.keys())]
        cells = [self._part_of(cell.cell_contents) for cell in function.__closure__ or () if _is_filled(cell)]
        return parts, named, cells, function.__defaults__, sorted((function.__kwdefaults__ or {}).items())

    def _parts_of_class(self, kind: type) -> object:
        # Python and pickle add values such as `__slotnames__`, some only when a class is used.
        members = [
            (name, self._part_of(member))
            for name, member in sorted(vars(kind).items())
            if not name.startswith("__") or isinstance(getattr(member, "__func__", member), types.FunctionType)
        ]
        return kind.__qualname__, kind.__bases__, type(kind), members

    def _part_of(self, value: Any) -> object:
        """A function or class as such; of others the hash, or the type of what cannot be pickled, such as a lock."""
        if isinstance(value, (types.FunctionType, type)):
            return value
        sink = _Hash()
        try:
            _KeyPickler(sink, self._seen).dump(value)
        except _TooLargeError:
            raise
        except Exception:  # noqa: BLE001 Objects of the user are pickled.
            return type(value).__qualname__
        return sink.hash.digest()


def _is_written_out(obj: Any) -> bool:
    """Whether the user wrote it here, or no name leads to it."""
    return obj.__module__ in _MINE or "<" in obj.__qualname__


def _mark(*_: object) -> None:
    """Named in what is hashed, and never called."""


_DESCRIPTORS: dict[type, Callable[[Any], object]] = {
    property: lambda each: (each.fget, each.fset, each.fdel),
    staticmethod: lambda each: each.__func__,
    classmethod: lambda each: each.__func__,
    functools.cached_property: lambda each: each.func,
    functools.partialmethod: lambda each: (each.func, each.args, each.keywords),
    types.MemberDescriptorType: lambda each: each.__name__,
    types.GetSetDescriptorType: lambda each: each.__name__,
}


def _hash_of(value: object) -> str | None:
    """The hash of a value; None if it cannot be pickled, refers to itself, or is too large."""
    sink = _Hash()
    try:
        _KeyPickler(sink, set()).dump(value)
    except Exception:  # noqa: BLE001 Objects of the user are pickled.
        return None
    return sink.hash.hexdigest()


def code_hash(function: Callable[..., Any]) -> str | None:
    """Stands for the code of a function, with what it names; None if it cannot be compared."""
    return _hash_of(function)


def input_hash(args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Stands for the inputs of a function; None if they cannot be compared."""
    return _hash_of((args, sorted(named.items())))


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 Raises if it is empty.
    except ValueError:
        return False
    return True


class _Kept(io.BytesIO):
    def write(self, data: Any, /) -> int:
        if self.tell() + memoryview(data).nbytes > _MAX_KEPT_BYTES:
            raise ValueError(f"it has more than {_MAX_KEPT_BYTES >> 20} MiB")
        return super().write(data)


def _dump(value: object) -> str:
    """Raises whatever pickling raises, and ValueError for a result that is too large."""
    sink = _Kept()
    pickle.Pickler(sink, protocol=5).dump(value)
    return base64.b64encode(sink.getvalue()).decode()
