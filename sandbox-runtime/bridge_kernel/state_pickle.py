"""Variables as bytes and back, with `cloudpickle`, which also takes what a cell defines: functions, classes, lambdas.

Each variable is one pickle in a stream that shares one memo, so two variables that hold the same object still do so
afterwards. What cannot be restored as it was is refused with a reason, not changed: an open file, a view of a dict.
"""

# cloudpickle has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import _collections_abc
import abc
import collections
import contextlib
import functools
import importlib
import io
import pickle
import re
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import Any, Protocol

    class References(Protocol):
        """See `references.py`."""

        def reference_to(self, value: object, /) -> tuple[Any, ...] | None: ...
        def referred(self, kind: str, /, *rest: Any) -> object: ...

    class Source(Protocol):
        """What the unpickler reads from."""

        def read(self, size: int, /) -> bytes: ...
        def readline(self) -> bytes: ...
        def tell(self) -> int: ...
        def seek(self, offset: int, /) -> object: ...

    class Sink(Protocol):
        """What the pickler writes to."""

        def write(self, data: Any, /) -> object: ...


# Not ours, and without types.
cloudpickle: Any = importlib.import_module("bridge_kernel.cloudpickle")
_python_unpickler: Any = pickle.__dict__["_Unpickler"]
# The newest that Python 3.10 reads.
_PROTOCOL = 5
_MAX_REASON_CHARS = 120
_OD = collections.OrderedDict[object, object]()
_VIEWS = (
    _collections_abc.dict_keys, _collections_abc.dict_values, _collections_abc.dict_items,
    type(_OD.keys()), type(_OD.values()), type(_OD.items()),
)  # fmt: skip
_LRU_CACHE = type(functools.lru_cache(len))

Lost = dict[str, str]
"""By name: why a variable is not kept."""


class NotKeptError(Exception):
    """A value that a checkpoint does not keep. The text is the reason."""


class _Namespace:
    """Stands for the namespace of the session as the globals of a function."""

    def __reduce__(self) -> tuple[Callable[[], object], tuple[()]]:
        return _namespace, ()


def _namespace() -> dict[str, object]:
    return sys.modules["__main__"].__dict__


class Pickler(cloudpickle.Pickler):
    """Knows the objects of the kernel, and refuses what would come back as something else."""

    def __init__(self, file: Sink, references: References | None) -> None:
        super().__init__(file, protocol=_PROTOCOL)
        self._references = references
        self._main = sys.modules["__main__"]
        self._marks: dict[int, tuple[str, str]] | None = None

    def reducer_override(self, obj: Any) -> Any:
        kind: type = type(obj)
        if kind is types.FunctionType:
            return self._function_reduce(obj)
        if kind is types.ModuleType:
            return (sys.modules.__getitem__, ("__main__",)) if obj is self._main else NotImplemented
        if kind in _SPECIAL:
            return _SPECIAL[kind](obj)
        # Not `isinstance(obj, type)`, which is true for `list[int]` in Python 3.10.
        if issubclass(kind, type):
            return _reduce_class(obj)
        if kind.__name__ == "ndarray" and kind.__module__ == "numpy" and (view := _array_view(obj)) is not None:
            return view
        reference = None if self._references is None else self._references.reference_to(obj)
        if reference is not None:
            return _referred, reference
        if isinstance(obj, io.IOBase) and not isinstance(obj, (io.BytesIO, io.StringIO)):
            raise NotKeptError("an open file")
        if isinstance(obj, BaseException):
            return _reduce_exception(obj)
        return self._instance_reduce(obj)

    def _instance_reduce(self, obj: Any) -> Any:
        if (place := self._place_of(obj)) is not None:
            return _of_module, place
        return _reduce_of_argparse(obj) if _is_of_argparse(obj) else super().reducer_override(obj)

    def _place_of(self, obj: Any) -> tuple[str, str] | None:
        """Where a module keeps a mark that code compares with `is`, such as `dataclasses.MISSING`; None for others."""
        kind: Any = type(obj)
        if kind.__base__ not in _BASES_OF_MARKS or kind.__reduce_ex__ is not object.__reduce_ex__:
            return None
        if kind is object:
            if self._marks is None:
                self._marks = {id(value): place for value, place in _marks()}
            return self._marks.get(id(obj))
        # Without a state, or what code has changed in it would be lost.
        module = sys.modules.get(kind.__module__)
        if module is None or module is self._main or getattr(obj, "__dict__", None) or hasattr(kind, "__slots__"):
            return None
        return next(((module.__name__, name) for name, value in vars(module).items() if value is obj), None)

    def _dynamic_function_reduce(self, func: types.FunctionType) -> Any:
        make, (code, namespace, *others, _), (state, slots), *rest = super()._dynamic_function_reduce(func)
        # By itself, cloudpickle gives each function closure variables of its own.
        slots["__closure__"] = None
        if func.__globals__ is self._main.__dict__:
            # A function of a cell belongs to the one namespace, which later cells change.
            namespace = _Namespace()
            slots["__globals__"] = {}
        return make, (code, namespace, *others, func.__closure__), (state, slots), *rest


# Those of `object` itself, and of a class without one.
_BASES_OF_MARKS = (None, object)


def _marks() -> Iterator[tuple[object, tuple[str, str]]]:
    """Each plain `object()` in a module that can be imported."""
    for name, module in list(sys.modules.items()):
        if name != "__main__" and getattr(module, "__spec__", None) is not None:
            for attribute, value in list(vars(module).items()):
                if type(value) is object:
                    yield value, (name, attribute)


def _of_module(module: str, name: str) -> object:
    return getattr(importlib.import_module(module), name)


class _Suppressed:
    """Stands for `argparse.SUPPRESS`, a text that is compared with `is`."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return _of_module, ("argparse", "SUPPRESS")


def _is_of_argparse(value: object) -> bool:
    return "argparse" in sys.modules and any(cls.__module__ == "argparse" for cls in type(value).__mro__)


def _reduce_of_argparse(value: Any) -> Any:
    argparse = sys.modules["argparse"]
    make, arguments, *rest = value.__reduce_ex__(_PROTOCOL)
    if rest and isinstance(rest[0], dict):
        state: dict[str, Any] = rest[0]
        rest[0] = {key: _Suppressed() if each is argparse.SUPPRESS else each for key, each in state.items()}
    return make, arguments, *rest


def _reduce_class(cls: type) -> Any:
    reduced: Any = cloudpickle._class_reduce(cls)  # noqa: SLF001
    if not isinstance(reduced, tuple) or reduced[0] is not cloudpickle._make_skeleton_class:  # noqa: SLF001
        return reduced
    (metaclass, name, _, members, *others), (attributes, slots), *rest = reduced[1:]
    if sys.version_info >= (3, 14):
        # They are made when they are first needed (PEP 649), and cloudpickle leaves out the function that makes them.
        attributes = {**attributes, "__annotations__": _annotations_of(cls)}
    # Without the first, instances would get a `__dict__`; without the other, `typing.Generic` refuses to be a base.
    members = {**members, **{key: cls.__dict__[key] for key in ("__slots__", "__orig_bases__") if key in cls.__dict__}}
    # The bases in the end: `typing.NamedTuple` and others stand for one with a metaclass that makes another class.
    return _make_class, (metaclass, name, cls.__bases__, members, *others), (attributes, slots), *rest


def _annotations_of(cls: type) -> dict[str, Any]:
    annotationlib: Any = importlib.import_module("annotationlib")
    return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)


def _make_class(metaclass: Any, name: str, bases: Any, members: dict[str, Any], tracker: str, _extra: object) -> Any:
    """A class without its attributes, which follow. Without code of its metaclass, which ran when it was defined."""
    base = abc.ABCMeta if issubclass(metaclass, abc.ABCMeta) else type
    try:
        with _without_subclass_hooks(bases):
            made = base.__new__(metaclass, name, bases, members)
    except TypeError:
        # A metaclass in C has a layout of its own.
        made = types.new_class(name, bases, {"metaclass": metaclass}, lambda namespace: namespace.update(members))
    return cloudpickle._lookup_class_or_track(tracker, made)  # noqa: SLF001


@contextlib.contextmanager
def _without_subclass_hooks(bases: tuple[type, ...]) -> Generator[None]:
    """Keeps `__init_subclass__` of classes that cells defined from running again."""
    hook = "__init_subclass__"
    classes = {each: None for base in bases for each in base.__mro__ if each.__module__ == "__main__"}
    hooks = {each: each.__dict__[hook] for each in classes if hook in each.__dict__}
    for each in hooks:
        setattr(each, hook, classmethod(_no_hook))
    try:
        yield
    finally:
        for each, own in hooks.items():
            setattr(each, hook, own)


def _no_hook(_cls: type, **_options: object) -> None:
    """Stands in for an `__init_subclass__` that has run."""


def _array_view(array: Any) -> Any:
    """A NumPy array that shows the memory of another one, which must still do so."""
    whole = array.base
    if type(whole) is not type(array) or array.dtype.hasobject or not whole.flags.forc:
        return None
    offset = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return _shown_array, (type(array), whole, offset, array.shape, array.strides, array.dtype, array.flags.writeable)


def _shown_array(
    kind: Any, whole: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, writeable: bool
) -> Any:
    # Only arrays in the order of C can be a buffer.
    array = kind(shape, dtype, whole if whole.flags.c_contiguous else whole.T, offset, strides)
    array.flags.writeable = writeable
    return array


def _reduce_cell(cell: types.CellType) -> Any:
    # The contents follow, because they may be a function that has this cell.
    try:
        contents = (cell.cell_contents,)
    except ValueError:
        contents = ()
    return types.CellType, (), contents, None, None, _fill_cell


def _fill_cell(cell: types.CellType, contents: tuple[()] | tuple[object]) -> None:
    if contents:
        cell.cell_contents = contents[0]


def _refuse(reason: str) -> Callable[[object], Any]:
    def refuse(_value: object) -> Any:
        raise NotKeptError(reason)

    return refuse


def _reduce_cached(cached: Any) -> Any:
    # By itself it is pickled as a name, which means nothing until the variable of that name is there.
    function = cached.__wrapped__
    if cloudpickle._should_pickle_by_reference(function):  # noqa: SLF001
        return NotImplemented
    return _cached, (function, cached.cache_parameters())


def _cached(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _reduce_exception(error: BaseException) -> Any:
    make, arguments, *rest = error.__reduce_ex__(_PROTOCOL)
    state = {
        "__cause__": error.__cause__,
        "__context__": error.__context__,
        "__suppress_context__": error.__suppress_context__,
    }
    return make, arguments, (rest[0] if rest else None, state), None, None, _set_exception


def _set_exception(error: BaseException, state: tuple[Any, dict[str, Any]]) -> None:
    own, more = state
    if own is not None:
        error.__setstate__(own)
    for name, value in more.items():
        setattr(error, name, value)


_SPECIAL: dict[type, Callable[[Any], Any]] = {
    memoryview: _refuse("a view of other memory"),
    types.GeneratorType: _refuse("a running generator"),
    types.CoroutineType: _refuse("a running coroutine"),
    types.AsyncGeneratorType: _refuse("a running generator"),
    types.FrameType: _refuse("a frame of running code"),
    types.TracebackType: _refuse("a traceback"),
    types.CellType: _reduce_cell,
    _LRU_CACHE: _reduce_cached,
    **dict.fromkeys(_VIEWS, _refuse("a view of a dict")),
}


# Of the restore under way: pickle passes no context to the functions that it calls.
_current: list[References] = []


def _referred(*reference: Any) -> object:
    """The object of the kernel that `References.reference_to` has named."""
    return _current[-1].referred(*reference)


def dump(values: dict[str, object], file: Sink, references: References) -> None:
    """Writes the variables. Raises `NotDumpedError` with the name of the first one that cannot be written."""
    pickler = Pickler(file, references)
    for name, value in values.items():
        try:
            pickler.dump((name, value))
        except (MemoryError, OSError):
            raise
        except Exception as error:
            raise NotDumpedError(name, _with_type_of(value, reason_of(error))) from error
    pickler.dump(None)


_NO_PICKLE = re.compile(r"TypeError: cannot pickle '([^']*)' object")
# What a container or a function holds says more than its own type.
_CONTAINERS = frozenset({"builtins", "collections", "functools", "types"})


def _with_type_of(value: object, reason: str) -> str:
    """The reason with the type of the variable, not that of something deep in it, which its user has never seen."""
    kind = type(value)
    found = _NO_PICKLE.match(reason)
    if found is None or kind.__module__ in _CONTAINERS or found[1].rpartition(".")[2] == kind.__name__:
        return reason
    return f"TypeError: cannot pickle '{kind.__name__}' object"


_ATOMS = frozenset({type(None), type(...), bool, float, complex, types.ModuleType})
_SEQUENCES = frozenset({list, tuple, set, frozenset})


def is_small_and_plain(value: object, max_items: int, max_bytes: int) -> bool:
    """Whether pickling it takes little and runs no code of the user, as other types and subclasses may."""
    waiting: list[Any] = [value]
    items = size = 0
    while waiting:
        one = waiting.pop()
        kind = type(one)
        items += 1
        if kind is str or kind is bytes or kind is bytearray:
            size += len(one)
        elif kind is int:
            size += one.bit_length() // 8
        elif kind in _SEQUENCES or kind is dict:
            # Before they are taken: there may be millions. What contains itself is never at its end.
            if items + len(one) > max_items:
                return False
            waiting.extend(one)
            if kind is dict:
                waiting.extend(one.values())
        elif kind not in _ATOMS:
            return False
        if items > max_items or size > max_bytes:
            return False
    return True


class NotDumpedError(Exception):
    """A variable that cannot be written, and why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason


class _Null:
    def write(self, data: object, /) -> int:
        return 0


def unwritable(values: dict[str, object], names: Iterable[str], references: References) -> Lost:
    """Those of the named variables that cannot be written, and why."""
    lost: Lost = {}
    for name in names:
        try:
            dump({name: values[name]}, _Null(), references)
        except NotDumpedError as error:
            lost[name] = error.reason
    return lost


def load(file: Source, references: References) -> tuple[dict[str, object], Lost]:
    """Reads what `dump` wrote: the variables, and those that cannot be read. Code of the user may run and raise."""
    start = file.tell()
    _current.append(references)
    try:
        try:
            return _load(pickle.Unpickler(file)), {}
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 Code of the user may raise anything.
            file.seek(start)
            return _salvage(file, references)
    finally:
        _current.pop()


def unloadable(data: bytes, references: References) -> Lost:
    """Those of the variables in `data` that cannot be read, and why.

    Only for a process that ends soon: code of the user runs, and classes are made a second time.
    """
    cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()  # noqa: SLF001
    cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.clear()  # noqa: SLF001
    _current.append(references)
    try:
        _load(pickle.Unpickler(io.BytesIO(data)))
    except BaseException:  # noqa: BLE001 Code of the user may raise anything.
        return _salvage(io.BytesIO(data), references)[1]
    else:
        return {}
    finally:
        _current.pop()


def _load(unpickler: pickle.Unpickler) -> dict[str, object]:
    values: dict[str, object] = {}
    while (pair := unpickler.load()) is not None:
        values[pair[0]] = pair[1]
    return values


class _Stub:
    """Stands for an object that could not be made. It takes whatever the rest of the stream does to it."""

    reason = ""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __call__(self, *_: object, **__: object) -> _Stub:
        return self

    def __setstate__(self, state: object) -> None:
        pass

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def append(self, value: object) -> None:
        """As a list."""

    def extend(self, values: object) -> None:
        """As a list."""

    def add(self, value: object) -> None:
        """As a set."""

    def update(self, values: object) -> None:
        """As a set."""


def _stub(error: BaseException) -> _Stub:
    stub = _Stub()
    stub.reason = reason_of(error)
    return stub


def _filling(fill: Callable[[Any], None]) -> Callable[[_Salvager], None]:
    """Fills a container, which calls methods of it or of its contents, perhaps before they have their attributes."""

    def try_to_fill(salvager: _Salvager) -> None:
        try:
            fill(salvager)
        except (MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001
            _spoil(salvager, salvager.stack[-1], error)

    return try_to_fill


def _spoil(salvager: _Salvager, target: Any, error: BaseException) -> None:
    # Those of Python itself are written without asking the detector, so it must find something inside.
    kind = type(target)
    if kind is list:
        target.append(_stub(error))
    elif kind is set:
        target.add(_stub(error))
    elif kind is dict:
        target[_stub(error)] = None
    else:
        salvager.taint(target, error)


class _Salvager(_python_unpickler):
    """Puts stubs in the place of what cannot be made. In Python, so much slower than the one in C."""

    dispatch: Any = dict(_python_unpickler.dispatch)  # noqa: RUF012 As in the base class.

    def find_class(self, module_name: str, global_name: str) -> Any:
        try:
            return super().find_class(module_name, global_name)
        except Exception as error:  # noqa: BLE001
            return _stub(error)

    def _call(self, function: Any, *arguments: object) -> object:
        stubs = [each for each in (function, *arguments) if isinstance(each, _Stub)]
        if stubs:
            return stubs[0]
        try:
            return function(*arguments)
        except (MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001
            return _stub(error)

    def _reduce(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self._call(self.stack[-1], *arguments)

    def _newobj(self) -> None:
        arguments = self.stack.pop()
        cls = self.stack.pop()
        self.append(self._call(getattr(cls, "__new__", cls), cls, *arguments))

    def _newobj_ex(self) -> None:
        options = self.stack.pop()
        arguments = self.stack.pop()
        cls = self.stack.pop()
        self.append(self._call(functools.partial(getattr(cls, "__new__", cls), **options), cls, *arguments))

    def _build(self) -> None:
        state, target = self.stack[-1], self.stack[-2]
        try:
            _python_unpickler.dispatch[pickle.BUILD[0]](self)
        except (MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001
            if self.stack[-1] is state:
                self.stack.pop()
            self.taint(target, error)

    def _frozenset(self) -> None:
        items = self.pop_mark()  # First, because this replaces `append`.
        self.append(self._call(frozenset, items))

    def taint(self, target: object, error: BaseException) -> None:
        """Notes that an object is not what it was."""
        # The object exists, perhaps in other variables too, but it is not what it was.
        self.tainted.append((target, reason_of(error)))

    dispatch[pickle.REDUCE[0]] = _reduce
    dispatch[pickle.NEWOBJ[0]] = _newobj
    dispatch[pickle.NEWOBJ_EX[0]] = _newobj_ex
    dispatch[pickle.BUILD[0]] = _build
    dispatch[pickle.FROZENSET[0]] = _frozenset
    dispatch.update(
        {
            code[0]: _filling(_python_unpickler.dispatch[code[0]])
            for code in (pickle.APPEND, pickle.APPENDS, pickle.SETITEM, pickle.SETITEMS, pickle.ADDITEMS)
        }
    )

    def __init__(self, file: Source) -> None:
        super().__init__(file)
        self.tainted: list[tuple[object, str]] = []


class _Detector(Pickler):
    """Raises for a value that holds what could not be made."""

    def __init__(self, references: References, tainted: list[tuple[object, str]]) -> None:
        super().__init__(_Null(), references)
        self._tainted = {id(target): reason for target, reason in tainted}

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is _Stub:
            raise NotKeptError(obj.reason)
        if id(obj) in self._tainted:
            raise NotKeptError(self._tainted[id(obj)])
        return super().reducer_override(obj)


def _salvage(file: Source, references: References) -> tuple[dict[str, object], Lost]:
    salvager = _Salvager(file)
    values = _load(salvager)
    lost: Lost = {}
    for name, value in values.items():
        try:
            _Detector(references, salvager.tainted).dump(value)
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # noqa: BLE001
            lost[name] = reason_of(error)
    return {name: value for name, value in values.items() if name not in lost}, lost


def reason_of(error: BaseException) -> str:
    """Why a value is not kept, in one short line."""
    if isinstance(error, NotKeptError):
        return str(error)
    # Not imported above: worker processes have this module and few others of the kernel.
    from bridge_kernel.errors import MCPError

    if isinstance(error, MCPError):
        return "a call while it was saved or restored"
    cause = error.__cause__
    if isinstance(error, pickle.PicklingError) and isinstance(cause, RecursionError):
        return "nested too deeply"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 The user's __str__ may raise anything.
        text = ""
    line = f"{type(error).__name__}: {text}".partition("\n")[0]
    return line[:_MAX_REASON_CHARS]
