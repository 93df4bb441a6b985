"""`runtime.step(…)` and `runtime.step_map(…)`: work in steps that the page shows as a graph.

A run that can go on keeps the result of each step, so that none is done twice. What a step is the result of is told by
its code, the code of the functions of the user that it names, and its inputs.
"""

from __future__ import annotations

import asyncio
import base64
import contextvars
import functools
import hashlib
import io
import pickle
import sys
import types

from bridge_kernel.errors import ArgumentError, MCPError, PolicyError
from bridge_kernel.loop import current_cell, is_cell_task
from bridge_kernel.rpc import current_job, current_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from bridge_kernel.servers import Host

# The host has the same limits.
_MAX_NAME_CHARS = 200
_MAX_EXCEPTION_CHARS = 100
_MAX_AFTER = 100
_MAX_KEPT_BYTES = 4 << 20
# Larger inputs are not compared, because reading them takes longer than most steps. Chosen.
_MAX_INPUT_BYTES = 256 << 20
_MAX_WAIT_SECONDS = 60.0
_RETRY = "__bridge_retry__"
# Modules whose functions belong to the user.
_MINE = ("__main__", "user_tools")
_ATOMS = (str, bytes, int, float, complex, bool, type(None))
# Codes of errors that another try does not change, or must not risk.
_FINAL = ("APPROVAL_", "POLICY_", "LIMIT_", "OUTCOME_UNKNOWN", "CALL_REFUSED", "CALL_CANCELLED", "SERVER_NOT_AVAILABLE")


class _Branch:
    """The steps that a task has done last: what it does next comes after them."""

    __slots__ = ("last", "parent", "root", "task")

    def __init__(self, task: object, parent: _Branch | None) -> None:
        self.task = task
        self.parent = parent
        self.root: _Branch = self if parent is None else parent.root
        self.last: set[int] = set() if parent is None else set(parent.last)

    def end(self, step: int, after: list[int]) -> None:
        """What this task has done, those that wait for it have done, too."""
        branch: _Branch | None = self
        while branch is not None:
            branch.last.difference_update(after)
            branch.last.add(step)
            branch = branch.parent


_branch: contextvars.ContextVar[_Branch | None] = contextvars.ContextVar("bridge_branch", default=None)


def retry(times: int, wait: float, on: type[BaseException] | tuple[type[BaseException], ...]) -> Callable[[Any], Any]:
    """See `Runtime.retry`."""
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"times must be a whole number of at least 1, not {times!r}")
    if not 0 <= wait <= _MAX_WAIT_SECONDS:
        raise ValueError(f"wait must be a number of seconds from 0 to {_MAX_WAIT_SECONDS:g}, not {wait!r}")

    def declare(function: Any) -> Any:
        setattr(function, _RETRY, (times, wait, on))
        return function

    return declare


class Steps:
    """The steps of a session."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._reporting: set[asyncio.Task[None]] = set()
        # With their cell. By job; empty for cells.
        self._roots: dict[str, tuple[int, _Branch]] = {}

    async def step(self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Calls the function as a step, and returns its result."""
        _check(function, "step")
        return await self._do(_Work(function, args, named))

    async def step_map(self, function: Callable[..., Any], rows: Iterable[Any], at_once: int, errors: str) -> list[Any]:
        """Calls the function for each row as one step. The results are in the order of the rows."""
        _check(function, "step_map")
        if isinstance(at_once, bool) or not isinstance(at_once, int) or at_once < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"at_once must be a whole number of at least 1, not {at_once!r}")
        if errors not in ("raise", "return"):
            raise ValueError(f"errors must be 'raise' or 'return', not {errors!r}")
        work = _Map(self, function, list(rows), at_once, errors)
        return await self._do(work)

    async def row(self, function: Callable[..., Any], row: Any) -> Any:
        """One row of a map."""
        return await self._do(_Work(function, (row,), {}), is_row=True)

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
        begun: Any = await self._host.call("begin_step", params)
        number: int = begun["step"]
        try:
            return await (self._kept(work, number) if begun["keeps"] else self._run(work, number))
        finally:
            branch.end(number, after)

    def _here(self) -> _Branch:
        """The branch of this task, which begins where the task that has created it stands."""
        branch, task = _branch.get(), asyncio.current_task()
        if current_step.get() is None:
            cell, root = self._roots.get(current_job.get(), (-1, None))
            if root is None or cell != current_cell.get():
                root = _Branch(task if is_cell_task(task) else None, None)
                self._roots[current_job.get()] = (current_cell.get(), root)
            # What an earlier cell has done last does not count.
            branch = branch if branch is not None and branch.root is root else root
        if branch is None or branch.task is not task:
            branch = _Branch(task, branch)
            _branch.set(branch)
        return branch

    async def _kept(self, work: _Work | _Map, number: int) -> Any:
        """The result that an interrupted run has kept, or else that of the work, which is kept."""
        key = None if isinstance(work, _Map) else key_of(work.function, work.args, work.named)
        kept: Any = None if key is None else await self._host.call("kept_step", {"step": number, "key": key})
        if kept is not None:
            found, value = _load(kept["data"])
            if found:
                await self._host.call("end_step", {"step": number, "outcome": "kept"})
                return value
        if key is None and not isinstance(work, _Map):
            _say_not_kept(work, "its inputs cannot be compared with those of a later run")
        return await self._run(work, number, key)

    async def _run(self, work: _Work | _Map, number: int, key: str | None = None) -> Any:
        end: dict[str, object] = {"step": number}
        value = await self._try(work, number, end)
        if key is not None and (data := _dump(value, work)) is not None:
            end["data"] = data
        await self._host.call("end_step", end)
        return value

    async def _try(self, work: _Work | _Map, number: int, end: dict[str, object]) -> Any:
        """Does the work as often as it may be tried. Notes in `end` how it ended."""
        step, branch = current_step.set(number), _branch.set(_Branch(asyncio.current_task(), None))
        try:
            value = await work.run(end)
        except asyncio.CancelledError:
            self._report({**end, "outcome": "cancelled"})
            raise
        except Exception as error:
            end.update(outcome="error", exception=type(error).__name__[:_MAX_EXCEPTION_CHARS])
            await self._host.call("end_step", end)
            raise
        finally:
            _branch.reset(branch)
            current_step.reset(step)
        end["outcome"] = "ok"
        return value

    def _report(self, end: dict[str, object]) -> None:
        """Not awaited: who cancels a step does not wait for the host, which ends all of them with their cell."""

        async def send() -> None:
            try:
                await self._host.call("end_step", end)
            except MCPError:
                pass

        task = asyncio.get_running_loop().create_task(send())
        self._reporting.add(task)
        task.add_done_callback(self._reporting.discard)


class _Work:
    """A function and its inputs."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.function = function
        self.args = args
        self.named = named

    async def run(self, end: dict[str, object]) -> Any:
        """The result; the number of tries is noted in `end`."""
        times, wait, on = getattr(self.function, _RETRY, (1, 0.0, ()))
        for tried in range(1, times + 1):
            if tried > 1:
                end["tries"] = tried
            try:
                value = self.function(*self.args, **self.named)
                return await value if hasattr(value, "__await__") else value
            except Exception as error:
                if tried == times or not isinstance(error, on) or _is_final(error):
                    raise
            await asyncio.sleep(min(wait * 2 ** (tried - 1), _MAX_WAIT_SECONDS))
        raise AssertionError


class _Map:
    """A function and its rows, each of which is kept."""

    def __init__(self, steps: Steps, function: Callable[..., Any], rows: list[Any], at_once: int, errors: str) -> None:
        self.function = function
        self.rows = rows
        self._steps = steps
        self._at_once = at_once
        self._errors = errors

    async def run(self, end: dict[str, object]) -> list[Any]:
        """The results, in order; the number of failed rows is noted in `end`."""
        results: list[Any] = [None] * len(self.rows)
        failed: dict[int, Exception] = {}
        left = iter(range(len(self.rows)))

        async def work() -> None:
            for index in left:
                if failed and self._errors == "raise":
                    return
                try:
                    results[index] = await self._steps.row(self.function, self.rows[index])
                except Exception as error:  # noqa: BLE001 Whatever it is, the row has failed.
                    results[index] = failed[index] = error

        workers = [asyncio.ensure_future(work()) for _ in range(min(self._at_once, len(self.rows)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            if failed:
                end["failed_rows"] = len(failed)
        if failed and self._errors == "raise":
            raise failed[min(failed)]
        return results


def _check(function: object, helper: str) -> None:
    if callable(function) and not hasattr(function, "__await__"):
        return
    if asyncio.iscoroutine(function):
        function.close()
    kind = type(function).__name__
    raise TypeError(f"{helper} takes a function and its inputs, such as runtime.{helper}(fetch, rows), not a {kind}")


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return (name if isinstance(name, str) and name else type(function).__name__)[:_MAX_NAME_CHARS]


def _is_final(error: Exception) -> bool:
    return isinstance(error, (ArgumentError, PolicyError)) or (
        isinstance(error, MCPError) and str(error.code).startswith(_FINAL)
    )


class _Hash:
    """What a pickler writes to."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._left = _MAX_INPUT_BYTES

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._left -= size
        if self._left < 0:
            raise ValueError("too large")
        self.hash.update(data)
        return size


def key_of(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Stands for the function with these inputs; None if they cannot be compared."""
    sink = _Hash()
    # Without a memo, so that equal inputs are the same bytes, whether or not they share objects.
    pickler = pickle.Pickler(sink, protocol=5)
    pickler.fast = True
    try:
        for part in _code_of(function, set()):
            pickler.dump(part)
        pickler.dump((args, sorted(named.items())))
    except Exception:  # noqa: BLE001 Objects of the user are pickled.
        return None
    return sink.hash.hexdigest()


def _code_of(function: Any, seen: set[int]) -> Iterator[object]:
    """What the code of a function is, for as much of it as the user wrote."""
    if isinstance(function, (types.FunctionType, type)):
        if id(function) in seen:
            return
        seen.add(id(function))
    if isinstance(function, functools.partial):
        yield function.args, sorted(function.keywords.items())
        yield from _code_of(function.func, seen)
    elif isinstance(function, types.MethodType):
        yield function.__self__
        yield from _code_of(function.__func__, seen)
    elif isinstance(function, types.FunctionType) and function.__module__ in _MINE:
        yield from _code_of_function(function, seen)
    elif isinstance(function, type) and function.__module__ in _MINE:
        yield function.__qualname__, [base.__qualname__ for base in function.__mro__]
        for name, member in sorted(vars(function).items()):
            inner = getattr(member, "__func__", member)
            # Python and pickle add values such as `__slotnames__`, some only when a class is used.
            if isinstance(inner, types.FunctionType) or not name.startswith("__"):
                yield name
                yield from _code_of_value(inner, seen)
    else:
        yield getattr(function, "__module__", None), getattr(function, "__qualname__", repr(function))


def _code_of_function(function: types.FunctionType, seen: set[int]) -> Iterator[object]:
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        yield code.co_name, code.co_code, code.co_names, code.co_varnames
        for each in code.co_consts:
            if not isinstance(each, types.CodeType):
                # The order of a set differs from process to process.
                parts: Any = each if isinstance(each, frozenset) else [each]
                yield sorted(map(repr, parts))
    for name in sorted(names & function.__globals__.keys()):
        yield from _code_of_value(function.__globals__[name], seen)
    for cell in function.__closure__ or ():
        yield from _code_of_value(cell.cell_contents, seen, is_input=True)
    yield function.__defaults__, sorted((function.__kwdefaults__ or {}).items())


def _code_of_value(value: Any, seen: set[int], is_input: bool = False) -> Iterator[object]:
    """Of a global, only what is code or a constant: large data is no part of the code."""
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial, type)):
        yield from _code_of(value, seen)
    elif is_input or isinstance(value, _ATOMS):
        yield value


class _Kept(io.BytesIO):
    def write(self, data: Any, /) -> int:
        if self.tell() + memoryview(data).nbytes > _MAX_KEPT_BYTES:
            raise ValueError(f"it has more than {_MAX_KEPT_BYTES >> 20} MiB")
        return super().write(data)


def _dump(value: object, work: _Work | _Map) -> str | None:
    sink = _Kept()
    try:
        pickle.Pickler(sink, protocol=5).dump(value)
    except Exception as error:  # noqa: BLE001 Objects of the user are pickled.
        _say_not_kept(work, f"its result is not kept: {error or type(error).__name__}")
        return None
    return base64.b64encode(sink.getvalue()).decode()


def _say_not_kept(work: _Work | _Map, reason: str) -> None:
    name = _name_of(work.function)
    print(f"Step {name!r} would be done again if this run went on, because {reason}.", file=sys.stderr)


def _load(data: str) -> tuple[bool, object]:
    """Whether the result could be restored, and the result. Classes of the user are those of the code that runs."""
    try:
        return True, pickle.loads(base64.b64decode(data))
    except Exception:  # noqa: BLE001 Objects of the user are restored; its class may be gone.
        return False, None
