"""The hint for a file that is not in the sandbox: what is there instead, or the tool that reads the user's files."""

from __future__ import annotations

import errno
import linecache
import os
import re
import sys
import time

from bridge_kernel.errors import MCPError
from bridge_kernel.near import close_names
from bridge_kernel.servers import alias_of
from bridge_kernel.values import as_dict, as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge_kernel.servers import Registry, ServerState

# The answer waits for it, as it does for a search: a server started through npx answers in 1 to 3 s.
_ASK_SECONDS = 5
_MIN_ASK_SECONDS = 0.1
_errno: Any = vars(OSError)["errno"].__get__
_MAX_LISTED = 8
_MAX_SERVERS = 10
_MAX_READERS = 2
# The words to search for, and the names of tools that do it.
_READS = {
    "text": ("read text file", re.compile(r"(read|get|load|view|fetch)_(text_)?file(_contents?|_text)?|file_?read")),
    "bytes": ("read media file", re.compile(r"(read|get|load|fetch|download)_(media|binary|image|raw)(_file)?")),
    "folder": ("list directory", re.compile(r"(list|read)_(dir|directory|folder|files)(_contents?)?")),
}
_BYTES = re.compile(
    r"\.(xls[xm]?|ods|parquet|feather|arrow|np[yz]|pkl|pickle|png|jpe?g|gif|webp|bmp|tiff?|pdf|docx|pptx|zip|gz|bz2|xz|tar"
    r"|db|sqlite|h5|hdf5|mp[34]|wav)\Z",
    re.IGNORECASE,
)
_PARAMETERS = re.compile(r"(file_?)?(path|name)|file|uri", re.IGNORECASE)
_WRITES = re.compile(r"""open\(.*,\s*(mode=)?["'][wax]b?t?\+?["']|\.(write|to|save)\w*\(|mkdir""")
_LISTS = re.compile(r"listdir|scandir|iterdir|chdir|walk\(")
_READER = re.compile(r"\b(\w+\.(?:read_(?!text|bytes)|load|open|imread)\w*)\(")
# Of libraries that give no `filename`: "/data/x.csv not found.", "Failed to open local file '/data/x.csv'".
_IN_TEXT = re.compile(r"""^File (.+) does not exist|["']([^"']+)["']|(\S+\.\w+)""", re.DOTALL)
_MAX_TEXT_CHARS = 1000
_IS_TEXT = re.compile(r".*\n|\s*({.*}|\[.*\])\s*\Z", re.DOTALL)
_TEXT_GIVEN = "It takes a path or a file; for text, pass io.StringIO(text)."
# What is missing there is not the user's.
_OF_THE_SYSTEM = ("/etc/", "/usr/", "/proc/", "/sys/", "/dev/", "/lib", "/bin/", "/run/", sys.prefix)
_PACKAGES = ("site-packages", "dist-packages")


def hint_for_file(error: OSError, registry: Registry) -> str | None:
    """The hint, or None if the file is not one of the user's, or is there."""
    is_missing = isinstance(error, FileNotFoundError)
    path = _path_of(error) if is_missing or _errno(error) == errno.ENAMETOOLONG else None
    line = _line_of_cell(error)
    if path is None or line is None:
        return None
    if _IS_TEXT.match(path):
        return _TEXT_GIVEN
    try:
        return _hint_for_path(path, line, registry) if is_missing else None
    except OSError:
        return None  # The working folder is gone.


def _hint_for_path(path: str, line: str, registry: Registry) -> str | None:
    whole = os.path.abspath(path)
    if os.path.lexists(whole) or whole.startswith(_OF_THE_SYSTEM) or any(part in whole for part in _PACKAGES):
        return None
    folder, name = os.path.split(whole)
    if _WRITES.search(line):
        return None if os.path.isdir(folder) else f"The sandbox has no folder {folder}: {_where_to_write(folder)}."
    here = _here_instead(folder, name)
    if here is not None:
        return here
    unseen = "The sandbox does not see the user's files."
    if not os.path.isabs(path):
        unseen = f"{path!r} means {whole}. {unseen}"
    elif folder == os.getcwd():
        path = name  # The folder is one of the sandbox only.
    kind = "folder" if _LISTS.search(line) else "bytes" if _BYTES.search(name) else "text"
    readers = _readers(kind, path, registry)
    if readers:
        return f"{unseen} Write: {' or '.join(_with_reader(kind, call, line) for call in readers)}"
    search = f"await runtime.search_tool_docs({_READS[kind][0]!r}) looks further; " if registry.all() else ""
    return f"{unseen} No known tool reads them: {search}the user can add a server, or a folder in MCP_BRIDGE_MOUNTS."


def _path_of(error: OSError) -> str | None:
    given = vars(OSError)["filename"].__get__(error)
    if type(given) in (str, bytes):
        return os.fsdecode(given) or None
    texts = [text for text in vars(BaseException)["args"].__get__(error) if type(text) is str]
    text = texts[-1] if texts else ""
    # Both ends, because a library may have been given a whole file.
    if len(text) > _MAX_TEXT_CHARS:
        text = text[: _MAX_TEXT_CHARS // 2] + text[-_MAX_TEXT_CHARS // 2 :]
    found = _IN_TEXT.search(text)
    return None if found is None else found[1] or found[2] or found[3]


def _line_of_cell(error: BaseException) -> str | None:
    """The line of a cell that failed; None if a program is missing instead of a file, or no cell has failed."""
    line = None
    place: Any = vars(BaseException)["__traceback__"].__get__(error)
    while place is not None:
        if place.tb_frame.f_globals.get("__name__") == "subprocess":
            return None
        file = place.tb_frame.f_code.co_filename
        if file.startswith("<cell "):
            line = linecache.getline(file, place.tb_lineno)
        place = place.tb_next
    return line


def _where_to_write(folder: str) -> str:
    if folder.startswith((os.getcwd(), "/tmp/")):
        return f"os.makedirs({folder!r}) makes it"
    return f"write to {os.getcwd()}, or for the user with runtime.save_artifact(name, data)"


def _here_instead(folder: str, name: str) -> str | None:
    """What the sandbox has: a file of that name or a similar one, or all of a folder that is not one of its own."""
    own = os.getcwd()
    for other in {own, "/tmp"} - {folder}:
        if os.path.isfile(os.path.join(other, name)):
            return f"It is in {other}: {os.path.join(other, name)!r}."
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    near = close_names(name, names)
    if near:
        return f"{folder} has no {name!r}.{near}"
    if not names or folder in (own, "/tmp", "/"):
        return None
    more = f", … ({len(names):,} in all)" if len(names) > _MAX_LISTED else ""
    return f"{folder} has {', '.join(map(repr, names[:_MAX_LISTED]))}{more}."


def _with_reader(kind: str, call: str, line: str) -> str:
    """The call, and what the cell calls with its result instead of the path."""
    code, _, load = call.partition("   #")
    found = _READER.search(line)
    data = {"folder": "print({})", "bytes": "data = ({}).data", "text": "text = {}"}[kind].format(code)
    source = {"folder": "", "bytes": "(io.BytesIO(data))", "text": "(io.StringIO(text))"}[kind]
    return data + (f"; {found[1]}{source}" if found and source else "") + (f"   #{load}" if load else "")


def _readers(kind: str, path: str, registry: Registry) -> list[str]:
    """Calls of tools that read it, each with how to load its server, if that is needed."""
    query, names = _READS[kind]
    until = time.monotonic() + _ASK_SECONDS

    def ask(method: str, **params: object) -> list[Any]:
        try:
            return as_list(registry.host.call_sync(method, params, max(_MIN_ASK_SECONDS, until - time.monotonic())))
        except MCPError:
            return []  # The hint can do without.

    def calls(state: ServerState | None, tools: list[str]) -> list[str]:
        # `read_text_file` rather than `read_file`, where both are.
        fitting = sorted(filter(names.fullmatch, tools), key=lambda name: "text" not in name)
        call = _call(state, fitting[0], path) if state is not None and fitting else None
        load = "" if state is None or state.is_callable else f"   # with servers=[{state.name!r}]"
        return [] if call is None else [call + load]

    # A server that is loaded may still be starting, and is worth waiting for.
    loaded = registry.loaded()
    found = [call for state in loaded for call in calls(state, [*map(alias_of, ask("list_tools", server=state.name))])]
    if not found and len(loaded) < len(registry.all()):
        servers = [as_dict(each) for each in ask("find_servers", query=query, limit=_MAX_SERVERS)]
        known = [(registry.find(str(each.get("server"))), as_list(each.get("matching_tools"))) for each in servers]
        found = [call for state, tools in known for call in calls(state, [*map(str, tools)])]
    return found[:_MAX_READERS]


def _call(state: ServerState, tool: str, path: str) -> str | None:
    """A call of the tool, if a path is all that it needs."""
    try:
        spec = state.specs.fetch_sync(tool)
    except MCPError:
        return None  # A policy hides it.
    needed = [each.get("alias", "") for each in spec.parameters if each.get("required")] if spec else []
    is_path = len(needed) == 1 and _PARAMETERS.fullmatch(needed[0])
    return f"await mcp_{state.alias}.{tool}({needed[0]}={path!r})" if is_path else None
