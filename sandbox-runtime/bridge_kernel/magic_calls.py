"""What magics do when the cell runs. `magics.py` puts calls of these functions in their place."""

from __future__ import annotations

import os
import sys
import time as clock
from itertools import repeat

from bridge_kernel import magics
from bridge_kernel.magics import OPTION, SCRIPT_OPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import ModuleType
    from typing import Any

    from bridge_kernel.shell import RunResult

    _Inner = Callable[[Iterable[None], Callable[[], float]], Any]

# As in IPython.
_MAX_INFO_CHARS = 41
# Functions in a profile. Chosen.
_MAX_PROFILED = 20

_kept: list[object] = []


def keep(value: object) -> None:
    """Keeps a value until `kept`, which follows at once."""
    _kept[:] = [value]


def kept() -> object:
    """What was kept, once."""
    return _kept.pop() if _kept else None


class magic_timing:  # noqa: N801 The check before running knows it as one that lets exceptions pass.
    """Prints the times of a block, also if it raises."""

    def __enter__(self) -> None:
        self._start = (*_processor_times(), clock.perf_counter())

    def __exit__(self, *_: object) -> None:
        now = (*_processor_times(), clock.perf_counter())
        user, system, wall = (end - start for end, start in zip(now, self._start, strict=True))
        total = f"total: {_duration(user + system)}"
        print(f"CPU times: user {_duration(user)}, sys: {_duration(system)}, {total}\nWall time: {_duration(wall)}")


class magic_profile:  # noqa: N801 As above.
    """Prints how often the functions of a block were called and how long they took, the longest first."""

    def __enter__(self) -> None:
        import cProfile

        self._profile = cProfile.Profile()
        self._profile.enable()

    def __exit__(self, *_: object) -> None:
        import pstats

        self._profile.disable()
        pstats.Stats(self._profile).strip_dirs().sort_stats("time").print_stats(_MAX_PROFILED)


def _processor_times() -> tuple[float, float]:
    try:
        import resource
    except ImportError:
        return clock.process_time(), 0.0  # Python in WebAssembly.
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


def _duration(seconds: float) -> str:
    if seconds >= 60:
        minutes, rest = divmod(int(seconds), 60)
        return f"{minutes // 60}h {minutes % 60}min {rest}s" if minutes >= 60 else f"{minutes}min {rest}s"
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "μs")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


class TimeitResult:
    """What `%timeit -o` returns."""

    def __init__(self, loops: int, seconds: list[float]) -> None:
        self.loops, self.repeat = loops, len(seconds)
        self.all_runs = seconds
        self.timings = [run / loops for run in seconds]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.average = sum(self.timings) / len(seconds)
        self.stdev = (sum((each - self.average) ** 2 for each in self.timings) / len(seconds)) ** 0.5

    def __str__(self) -> str:
        runs = f"{self.repeat} run{'s' * (self.repeat != 1)}, {self.loops:,} loop{'s' * (self.loops != 1)} each"
        times = f"{_duration(self.average)} ± {_duration(self.stdev)}"
        return f"{times} per loop (mean ± std. dev. of {runs})"

    def __repr__(self) -> str:
        return f"<TimeitResult : {self}>"


def _measuring(options: str) -> Generator[int, float, object]:
    """Yields how many loops to run next, and is sent how many seconds they took."""
    found = list(OPTION.finditer(f"{options} "))
    given = {match["key"]: int(match["number"]) for match in found if match["key"]}
    flags = {match["flag"] for match in found}
    loops = given.get("n", 0)
    power = 0
    while not loops:
        if (yield 10**power) >= 0.2 or power == 9:
            loops = 10**power
        power += 1
    seconds: list[float] = []
    while len(seconds) < given.get("r", 7):
        seconds += [(yield loops)]
    result = TimeitResult(loops, seconds)
    if "q" not in flags:
        if result.worst > 4 * result.best > 0:
            print(f"The slowest run took {result.worst / result.best:.1f} times as long as the fastest: is it cached?")
        print(result)
    return result if "o" in flags else None


def measure(options: str, inner: _Inner) -> object:
    """Runs `%timeit`."""
    measuring = _measuring(options)
    loops = next(measuring)
    try:
        while True:
            loops = measuring.send(inner(repeat(None, loops), clock.perf_counter))
    except StopIteration as ended:
        return ended.value


async def measure_async(options: str, inner: _Inner) -> object:
    """Runs `%timeit` of code with `await`."""
    measuring = _measuring(options)
    loops = next(measuring)
    try:
        while True:
            loops = measuring.send(await inner(repeat(None, loops), clock.perf_counter))
    except StopIteration as ended:
        return ended.value


class Captured:
    """`%%capture`: keeps what a block prints, as `stdout` and `stderr`."""

    def __init__(self, options: list[str]) -> None:
        import io

        self._files = {name: io.StringIO() for name in ("stdout", "stderr") if f"--no-{name}" not in options}

    stdout = property(lambda self: self._text("stdout"))
    stderr = property(lambda self: self._text("stderr"))

    def _text(self, name: str) -> str:
        return self._files[name].getvalue() if name in self._files else ""

    def show(self) -> None:
        """Prints it."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    def __enter__(self) -> Captured:
        self._before = {name: getattr(sys, name) for name in self._files}
        sys.__dict__.update(self._files)
        return self

    def __exit__(self, *_: object) -> None:
        sys.__dict__.update(self._before)

    def __str__(self) -> str:
        return self.stdout


def filled(command: str, local: dict[str, object]) -> str:
    """A command line with the values of `{expression}` and `$name`; `$$` is `$`.

    As in IPython, all of it is left as it is if an expression fails. Braces that mean something to the shell, such as
    `{1,2}`, are left as they are.
    """
    import re

    names = {**vars(sys.modules["__main__"]), **local}

    def value(found: re.Match[str]) -> str:
        expression, name = found.groups()
        if expression is not None:
            shown = eval(expression.strip(), names)
            return found[0] if isinstance(shown, tuple) or callable(shown) else str(shown)
        return str(names[name]) if name in names else "$" if found[0] == "$$" else found[0]

    try:
        return re.sub(r"(?<!\$)\{([^{}]+)\}|\$\$|\$([A-Za-z_]\w*)", value, command)
    except Exception:  # noqa: BLE001 The user's code may raise anything.
        return command


def left_out(magic: str, line: int) -> None:
    """Says that a line was left out."""
    print(f"line {line} was left out: there is no magic {magic} here; write it in Python", file=sys.stderr)


def cd(path: str) -> None:
    """Changes the working folder and prints it."""
    global _last_folder  # noqa: PLW0603
    before = os.getcwd()
    path = path.strip("'\"")
    os.chdir(_last_folder if path == "-" else os.path.expanduser(path or "~"))
    _last_folder = before
    print(os.getcwd())


_last_folder = os.getcwd()


def pwd(_: str) -> str:
    """The working folder."""
    return os.getcwd()


def env(text: str) -> object:
    """All variables of the environment, one of them, or sets one: `NAME=value` or `NAME value`."""
    name, separator, value = text.partition("=") if "=" in text.partition(" ")[0] else text.partition(" ")
    if not name:
        return dict(os.environ)
    if not separator:
        return os.environ[name]
    os.environ[name] = value.strip()
    print(f"env: {name}={value.strip()}")
    return None


set_env = env


def run(text: str) -> None:
    """Runs a script and takes its names; with `-i`, in this namespace."""
    import shlex
    from types import ModuleType

    words = shlex.split(text)
    flags = [words.pop(0) for _ in range(len(words)) if words and words[0].startswith("-")]
    path = "".join(words[:1])
    if not os.path.exists(path) and not path.endswith(".py"):
        path += ".py"
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    main = sys.modules["__main__"]
    name = os.path.splitext(os.path.basename(path))[0] if "-n" in flags else "__main__"
    module = main if "-i" in flags else ModuleType(name)
    arguments, sys.argv = sys.argv, [path, *words[1:]]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    if name == "__main__":
        sys.modules["__main__"] = module
    try:
        exec(code, vars(module))
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.modules["__main__"] = main
        sys.argv = arguments
        del sys.path[0]
        vars(main).update({name: value for name, value in vars(module).items() if not name.startswith("__")})


def who_ls(kinds: str = "") -> list[str]:
    """The user's names, or those of these types."""
    from bridge_kernel.proxies import Server

    values = vars(sys.modules["__main__"])
    names = [name for name in values if name[:1] != "_" and name.isidentifier() and name not in magics.predefined]
    wanted = kinds.split()
    return sorted(
        name
        for name in names
        if not isinstance(values[name], Server) and name != "LOADED_MCP_SERVERS"
        if not wanted or type(values[name]).__name__ in wanted
    )


def who(kinds: str) -> None:
    """Prints the user's names, or those of these types."""
    names = who_ls(kinds)
    print("\t ".join([*names, ""]) if names else "Interactive namespace is empty.")


def whos(_: str) -> None:
    """Prints the user's names with their types and values."""
    values = vars(sys.modules["__main__"])
    found = ((name, type(values[name]).__name__, _info(values[name])) for name in who_ls())
    rows = [("Variable", "Type", "Data/Info"), *found]
    widths = [max(len(row[column]) for row in rows) + 3 for column in (0, 1)]
    lines = [f"{row[0]:{widths[0]}}{row[1]:{widths[1]}}{row[2]}" for row in rows]
    print("\n".join([lines[0], "-" * len(lines[0]), *lines[1:]]))


def _info(value: object) -> str:
    if isinstance(value, (list, tuple, dict, set)):
        return f"n={len(value)}"  # pyright: ignore[reportUnknownArgumentType]
    from bridge_kernel.shorten import short_repr

    text = (value if isinstance(value, str) else short_repr(value)).replace("\n", "\\n")
    half = _MAX_INFO_CHARS // 2 - 2
    return text if len(text) <= _MAX_INFO_CHARS else f"{text[:half]}<...>{text[-half:]}"


def reset(_: str, pattern: str = "") -> None:
    """Deletes the user's names, or those that match."""
    import re

    for name in who_ls():
        if re.search(pattern, name):
            del vars(sys.modules["__main__"])[name]


def reset_selective(text: str) -> None:
    """Deletes the user's names that match."""
    reset("", text.removeprefix("-f").strip())


def xdel(text: str) -> None:
    """Deletes a name."""
    del vars(sys.modules["__main__"])[text.removeprefix("-n").strip()]


def source(value: object) -> None:
    """Prints the source of a value, or its documentation if it has none."""
    import inspect

    try:
        print(inspect.getsource(value), end="")  # pyright: ignore[reportArgumentType] It checks the type.
    except (OSError, TypeError):
        help(value)


def pdef(text: str) -> None:
    """Prints the signature of a function."""
    import inspect

    print(f"{text}{inspect.signature(eval(text, vars(sys.modules['__main__'])))}")


def psearch(text: str) -> None:
    """Prints the names that match a pattern such as `str.*find*`."""
    import builtins
    from fnmatch import fnmatchcase

    owner, _, pattern = text.rpartition(".")
    names = vars(sys.modules["__main__"])
    found = dir(eval(owner, names)) if owner else sorted({*who_ls(), *dir(builtins)})
    print("\n".join(f"{owner}{'.' if owner else ''}{name}" for name in found if fnmatchcase(name, pattern)))


class Document:
    """A cell that is a document."""

    def __init__(self, mime_type: str, text: str) -> None:
        self._forms = {mime_type: text}

    def _repr_mimebundle_(self) -> dict[str, str]:
        return self._forms


_loaded: dict[str, tuple[int, int]] | None = None
"""By the names of modules in the working folder, when they were changed and their size; None if none is reloaded."""


def autoreload(mode: str) -> None:
    """From now on, modules in the working folder that were changed are loaded again before a cell runs."""
    global _loaded  # noqa: PLW0603
    _loaded = None if mode.strip() in ("0", "off") else {}
    reload_changed()


def reload_changed(is_over: bool = False) -> None:
    """Loads changed modules again. Names that the session has imported from them get their new values.

    After a cell, only notes which modules it has loaded: it may also have changed some, for the next one.
    """
    if _loaded is None:
        return
    folder = os.path.join(os.getcwd(), "")
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.startswith(folder) or not os.path.exists(file):
            continue
        status = os.stat(file)
        now = (status.st_mtime_ns, status.st_size)
        if _loaded.setdefault(name, now) != now and not is_over:
            _loaded[name] = now
            _reload(name, module)


def _reload(name: str, module: ModuleType) -> None:
    import importlib

    before = dict(vars(module))
    try:
        importlib.reload(module)
    except Exception as error:  # noqa: BLE001 The user's code may raise anything.
        print(f"{name} was not reloaded: {type(error).__name__}: {error}", file=sys.stderr)
        return
    main = vars(sys.modules["__main__"])
    for bound, value in list(main.items()):
        for attribute, old in before.items():
            if old is value and not attribute.startswith("__"):
                main[bound] = vars(module).get(attribute, value)


def lsmagic(_: str) -> None:
    """Prints the magics."""
    print(*(f"%{name}" for name in magics.LINE_MAGICS))
    print(*(f"%%{name}" for name in magics.CELL_MAGICS))


def writefile(text: str, body: str) -> None:
    """Writes a cell to a file; with `-a`, to its end."""
    words = text.split()
    path = os.path.expanduser(" ".join(word for word in words if word not in ("-a", "--append")).strip("'\""))
    is_more = len(words) > 1 and words[0] in ("-a", "--append")
    print(f"{'Appending to' if is_more else 'Overwriting' if os.path.exists(path) else 'Writing'} {path}")
    with open(path, "a" if is_more else "w", encoding="utf-8") as file:
        file.write(body)


def script(options: str, body: str, result: RunResult) -> None:
    """Shows or keeps what a program wrote. Raises CalledProcessError if it failed, as IPython does."""
    kept = {option[1]: option[2] for option in SCRIPT_OPTION.finditer(options) if option[1]}
    for stream, text, file in (("out", result.stdout, sys.stdout), ("err", result.stderr, sys.stderr)):
        if stream in kept:
            vars(sys.modules["__main__"])[kept[stream]] = text
        else:
            file.write(text)
    if result.exit_code and "--no-raise-error" not in options:
        from subprocess import CalledProcessError

        raise CalledProcessError(result.exit_code, body)
