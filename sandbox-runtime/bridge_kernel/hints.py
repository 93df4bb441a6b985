"""One next step for exceptions whose own message does not name it, shown below their traceback."""

from __future__ import annotations

import errno
import re
import sys

from bridge_kernel import unavailable
from bridge_kernel.attr_dict import ALREADY, RAW_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

NO_NETWORK = (
    "The sandbox has no network: call a tool of a configured MCP server instead; "
    "await runtime.search_tool_docs('fetch a web page') finds one."
)
ONLY_HTTP = (
    "Code reaches hosts only by HTTP, through the proxy that HTTPS_PROXY and HTTP_PROXY name, and only those that the "
    "user has allowed: use requests, httpx, aiohttp or urllib.request, which follow these variables."
)
_NO_PIP = "pip has no network in the sandbox: write, for example, await runtime.install('pandas>=2')."
_NO_MEMORY = (
    "Variables of earlier cells stay in memory: del those you no longer need, or call runtime.reset(). Large data "
    "takes less as a file in /tmp that is read in parts. The user can raise the limit, MCP_BRIDGE_MEMORY."
)
_OTHER_SYSTEM = "Only the user can help further: MCP_BRIDGE_IMAGE, on Podman or Docker, can name an image that has {}."
_OWN_LOOP = "A cell runs in a loop, and top-level await works: write await asyncio.gather(...) or await task."
_OTHER_LOOP = (
    "Tasks, asyncio.gather(...), locks and queues belong to the loop that ran when they were made: make them in the "
    "coroutine that you run, or write await at the top level of the cell."
)
_NOT_JSON_TEXT = "the JSON object must be str, bytes or bytearray, not "
_NO_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")
# A dict-like block of MCP was expected. Defining `__getitem__` would make them sequences for NumPy.
_IS_CONTENT = re.compile(r"'(Image|Audio|Resource)Content' object is not subscriptable")
_CONTENT = "It is an object: .data (bytes) or .text, .save(path), and .raw as the server sent it."
_IS_OTHER_LOOP = re.compile(r"(attached to|bound to|belongs to) a different (event )?loop")
# Where packages of a distribution have files outside /usr.
_OF_THE_SYSTEM = ("/etc/", "/var/", "/opt/", "/run/", "/sys/")
_NO_FILE = frozenset({errno.ENOENT, errno.EACCES})
_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN})
# Python's own attributes: a class of the user may override them with code that raises, or that says something else.
_args: Any = vars(BaseException)["args"].__get__
_cause: Any = vars(BaseException)["__cause__"].__get__
_context: Any = vars(BaseException)["__context__"].__get__
_traceback: Any = vars(BaseException)["__traceback__"].__get__
_errno: Any = vars(OSError)["errno"].__get__
_filename: Any = vars(OSError)["filename"].__get__
_obj: Any = vars(AttributeError)["obj"].__get__
_name: Any = vars(AttributeError)["name"].__get__
_NEW_SESSION = "This session began with this call: nothing of an earlier one is here."
# The newest ones. Chosen.
_MAX_NAMES = 12
_NEAR = 0.8
# Exceptions of HTTP libraries are linked two to five deep. Chosen.
_MAX_LINKED = 20


def hint_for(error: BaseException) -> str | None:
    """The hint, or None."""
    if isinstance(error, AttributeError) and isinstance(_obj(error), list) and _name(error) in RAW_NAMES:
        return f"{ALREADY.format('a list')}."
    if type(error) is MemoryError:
        return _NO_MEMORY
    text = next(iter(_args(error)), None)
    if type(error) is TypeError and isinstance(text, str) and text.startswith(_NOT_JSON_TEXT):
        return "The value is already parsed: use it without json.loads."
    if type(error) is TypeError and isinstance(text, str) and _IS_CONTENT.match(text):
        return _CONTENT
    if type(error) is RuntimeError and text == "This event loop is already running":
        return _OWN_LOOP
    if type(error) in (RuntimeError, ValueError) and isinstance(text, str) and _IS_OTHER_LOOP.search(text):
        return _OTHER_LOOP
    subprocess: Any = sys.modules.get("subprocess")
    # Its own attributes are safe to read; those of a subclass of the user may run code.
    if subprocess is not None and type(error) is subprocess.CalledProcessError and _runs_pip(vars(error).get("cmd")):
        return _NO_PIP
    if is_without_network(error):
        return ONLY_HTTP if unavailable.has_egress else NO_NETWORK
    return _what_the_system_lacks(error, text)


def hint_for_name(error: NameError, shown: str, names: Iterable[str], is_first: bool,
                  find: Callable[[str], bool] | None = None) -> str | None:  # fmt: skip
    """The hint for a name that the cell does not have: that the session is new, or which names there are.

    None if `shown`, the text of the error, ends with a suggestion of Python, or if only an import is missing.
    `find` looks for a saved function of this name.
    """
    name = vars(NameError)["name"].__get__(error)
    if type(error) is not NameError or type(name) is not str or name in sys.stdlib_module_names:
        return None
    if not _is_in_cell(error):
        return None
    # The first cell of a session has just got them all.
    if find is not None and not is_first and find(name):
        return f"{name!r} is a function that was saved after this session began. It is defined now: run the cell again."
    if shown.endswith("?"):
        return None
    import builtins
    import difflib

    known = [each for each in names if each.isidentifier() and not each.startswith("_")]
    # Python itself says it since 3.12.
    near = difflib.get_close_matches(name, [*known, *dir(builtins)], 1, _NEAR)
    if near:
        return f"Did you mean {near[0]!r}?"
    if is_first or not known:
        return _NEW_SESSION if is_first else None
    more = f"… ({len(known)} in all), " if len(known) > _MAX_NAMES else ""
    return f"This session has: {more}{', '.join(known[-_MAX_NAMES:])}."


def _is_in_cell(error: BaseException) -> bool:
    place = _traceback(error)
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_code.co_filename.startswith("<cell ")


def _what_the_system_lacks(error: BaseException, text: object) -> str | None:
    """The hint if a library of the system is missing, or a file that a module reads as it is imported."""
    library = _NO_LIBRARY.search(text) if isinstance(error, (ImportError, OSError)) and type(text) is str else None
    if library is not None:
        return (
            f"The sandbox's system has no {library[1]}. Install a variant of the package that needs none, such as "
            f"opencv-python-headless. {_OTHER_SYSTEM.format('that library')}"
        )
    failed = [each for each in _linked(error) if isinstance(each, OSError) and _errno(each) in _NO_FILE]
    path = _filename(failed[0]) if failed and _is_importing(error) else None
    if type(path) is not str or not path.startswith(_OF_THE_SYSTEM):
        return None
    return f"The sandbox has no {path}, only /usr and a little more. {_OTHER_SYSTEM.format('that file')}"


def _is_importing(error: BaseException) -> bool:
    """Whether a module raised it as it was imported, or what that called. Python hides the frames of the import."""
    place = _traceback(error)
    while place is not None:
        if place.tb_frame.f_code.co_name == "<module>" and place.tb_frame.f_globals.get("__name__") != "__main__":
            return True
        place = place.tb_next
    return False


def _runs_pip(command: object) -> bool:
    # Exact types, because those of the user may override anything.
    words: list[Any] = command.split() if type(command) is str else []
    if type(command) is list:
        words = command  # pyright: ignore[reportUnknownVariableType]
    return any(type(word) is str and word.rpartition("/")[2] in {"pip", "pip3", "uv"} for word in words)


def explain_mapping(error: BaseException) -> None:
    """Says what works instead if the filter refused a shared anonymous mapping, which is the default of `mmap.mmap`."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if (
        isinstance(error, PermissionError)
        and error.errno == errno.EPERM
        and error.filename is None
        and place is not None
        and "mmap" in place.tb_frame.f_code.co_names
    ):
        error.strerror = (
            f"{error.strerror}: without cgroups, the sandbox cannot count shared anonymous memory; pass "
            "flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, or share a file in /dev/shm (not in gVisor, rootless Docker)"
        )


def is_without_network(error: BaseException) -> bool:
    """Whether the exception, or one that led to it, is a failed attempt to reach another host."""
    return any(_is_unreachable(linked) for linked in _linked(error))


def _is_unreachable(error: BaseException) -> bool:
    # By name, because importing socket takes time.
    return isinstance(error, OSError) and (type(error).__name__ == "gaierror" or _errno(error) in _UNREACHABLE)


def _linked(error: BaseException) -> Iterator[BaseException]:
    """The exception, its causes, and what it was raised with: `URLError(gaierror(…))`."""
    waiting: list[object] = [error]
    for _ in range(_MAX_LINKED):
        if not waiting:
            return
        found = waiting.pop(0)
        if isinstance(found, BaseException):
            yield found
            waiting += [_cause(found), _context(found), *_args(found)]
