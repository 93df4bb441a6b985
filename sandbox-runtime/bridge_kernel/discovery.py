"""`runtime`: helpers that find servers and tools, call tools by name, and keep functions and files.

It is a module object, so `from mcp import runtime`, `import mcp.runtime` and `from mcp.runtime import call_tool` all
work. Helpers that ask the host and do not end in `_sync` are awaited; all others return their result directly.
"""

from __future__ import annotations

import sys
from types import ModuleType

from bridge_kernel import values
from bridge_kernel.attr_dict import AttrDict, attribute_access
from bridge_kernel.errors import ArgumentError, MCPError, PolicyError, ServerNotAvailableError, ToolError
from bridge_kernel.found import Hits, ServerHit, ToolHit
from bridge_kernel.near import close_names
from bridge_kernel.pending import Pending, calling_line
from bridge_kernel.proxies import arguments_of
from bridge_kernel.servers import no_server
from bridge_kernel.surface import tool_list
from bridge_kernel.text_result import TextResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
    from typing import Any

    from bridge_kernel.jobs import Jobs
    from bridge_kernel.packages import Packages
    from bridge_kernel.programs import Run, RunSnippet
    from bridge_kernel.progress import ProgressSender
    from bridge_kernel.servers import Registry
    from bridge_kernel.shell import Shell
    from bridge_kernel.steps import Steps

_DETAILS = ("summary", "full")
_MAX_LIMIT = 20
_MAX_PROGRESS_CHARS = 500
_MAX_NAMED = 20
"""Names of servers in one line."""
_MAX_ABOUT_CHARS = 60
"""Of the description of each."""
_HELPERS = (
    "discovered_servers",
    "list_servers",
    "list_servers_sync",
    "list_loaded_server_metadata",
    "find_servers",
    "find_new_servers",
    "propose_server",
    "describe_server",
    "list_tools",
    "list_tools_sync",
    "query_tool_docs",
    "query_tool_docs_sync",
    "search_tool_docs",
    "search_tool_docs_sync",
    "stubs",
    "call_tool",
    "call_tool_raw",
    "fetch",
    "capability_summary",
    "install",
    "run",
    "run_snippet",
    "sh",
    "save_tool",
    "save_artifact",
    "load_artifact",
    "open_artifact",
    "list_artifacts",
    "last_answer",
    "step",
    "step_map",
    "retry",
    "background",
    "jobs",
    "output",
    "progress",
    "to_toon",
    "checkpoint",
    "restore",
    "checkpoints",
    "reset",
    "help",
)
ASYNC_HELPERS = frozenset({
    "list_servers", "find_servers", "find_new_servers", "propose_server", "list_tools", "query_tool_docs",
    "search_tool_docs", "call_tool", "call_tool_raw", "fetch", "install", "run", "run_snippet", "sh", "step",
    "step_map",
})  # fmt: skip
"""The helpers that must be awaited."""
_CLASSES = (
    "MCPError",
    "ToolError",
    "ArgumentError",
    "PolicyError",
    "ServerNotAvailableError",
    "AttrDict",
    "TextResult",
    "ImageContent",
    "AudioContent",
    "ResourceContent",
    "ResourceLink",
    "ToolHit",
    "ServerHit",
    "Hits",
)


class Runtime(ModuleType):
    """Find and call tools of MCP servers; `runtime.help()` lists the helpers."""

    MCPError = MCPError
    ToolError = ToolError
    ArgumentError = ArgumentError
    PolicyError = PolicyError
    ServerNotAvailableError = ServerNotAvailableError
    AttrDict = AttrDict
    TextResult = TextResult
    ImageContent = values.ImageContent
    AudioContent = values.AudioContent
    ResourceContent = values.ResourceContent
    ResourceLink = values.ResourceLink
    ToolHit = ToolHit
    ServerHit = ServerHit
    Hits = Hits

    def __init__(self, registry: Registry, namespace: dict[str, object], manual: Callable[[], str],
                 progress: ProgressSender, output: Callable[[int, str], object] | None = None,
                 open_packages: Callable[[], Packages] | None = None,
                 add_tool: Callable[[str, object], None] | None = None) -> None:  # fmt: skip
        super().__init__("mcp.runtime", "Find and call tools of MCP servers; `runtime.help()` lists the helpers.")
        # Not `help`: `from mcp.runtime import *` must not hide the builtin.
        self.__all__ = [*(name for name in _HELPERS if name != "help"), *_CLASSES]
        self._registry = registry
        self._host = registry.host
        self._namespace = namespace
        self._manual = manual
        self._output = output
        self._open_packages = open_packages
        self._add_tool = add_tool
        self._jobs: Jobs | None = None
        self._steps: Steps | None = None
        self._progress = progress
        self._said: set[object] = set()

    # Servers

    def discovered_servers(self, detailed: bool = False) -> Sequence[Any]:
        """Names of all configured servers; with `detailed`, dicts with `server`, `description`, `tool_count` …"""
        self._mention_no_server()
        if not detailed:
            return tuple(server.name for server in self._registry.all())
        return _servers(self._host.call_sync("discovered_servers", {}))

    def list_servers_sync(self) -> tuple[str, ...]:
        """Names of the loaded servers; `discovered_servers()` names all."""
        if not self._registry.loaded():
            self._mention_unloaded()
        return tuple(server.name for server in self._registry.loaded())

    def list_servers(self) -> Pending:
        """Names of the loaded servers (await); `discovered_servers()` names all."""

        async def run() -> object:
            return self.list_servers_sync()

        return self._pending("list_servers", run)

    def find_servers(self, query: str = "", *, limit: int = 10) -> Pending:
        """The servers that best match `query` (await): `server`, `description`, `loaded`, `matching_tools`, `load`."""
        params: dict[str, object] = {"query": query, "limit": limit}

        async def run() -> object:
            self._mention_no_server()
            return _servers(await self._host.call("find_servers", params))

        return self._pending("find_servers", run)

    def find_new_servers(self, words: str, *, limit: int = 5) -> Pending:
        """Servers that are not configured (await): dicts with `name`, `publisher`, `version`, `runs`, `needs` …"""
        params: dict[str, object] = {"query": words, "limit": limit}

        async def run() -> object:
            answer = values.as_dict(await self._host.call("find_new_servers", params))
            for sentence in answer.get("sources", []):
                self._say_once(sentence)
            return _as_list(answer.get("servers"))

        return self._pending("find_new_servers", run)

    def propose_server(self, name: str, alias: str | None = None, values: dict[str, str] | None = None) -> Pending:
        """Asks the user to add a found server (await); returns a dict: `server`, `proxy`, `missing_secrets` …"""
        params: dict[str, object] = {"name": name, "alias": alias, "values": values or {}}

        async def run() -> object:
            return attribute_access(await self._host.call("propose_server", params))

        return self._pending("propose_server", run)

    def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        data: object = None,
    ) -> Pending:
        """One HTTP request through the host (await), if the user allows it; has `status`, `text`, `json()` …"""
        from bridge_kernel import fetched

        asked = fetched.request(url, method, params, headers, json, data)

        async def run() -> object:
            return fetched.response(url, await self._host.call("fetch", asked))

        return self._pending("fetch", run)

    def describe_server(self, name: str) -> Any:
        """One server: `server`, `description`, `loaded`, `cwd`; if it is loaded, also `tools`, `instructions` …"""
        return _servers([self._host.call_sync("describe_server", {"server": self._name(name)})])[0]

    def list_loaded_server_metadata(self) -> Sequence[Any]:
        """`describe_server` for every loaded server; one that does not answer has an `error` and no tools."""
        return _servers(self._host.call_sync("describe_server", {}))

    # Documents

    def list_tools(self, server: str) -> Pending:
        """The tools of a server (await): documents with `inputSchema`, and `name` and `alias` of each."""
        params: dict[str, object] = {"server": self._name(server)}

        async def run() -> object:
            return tool_list(await self._host.call("list_tools", params))

        return self._pending("list_tools", run)

    def list_tools_sync(self, server: str) -> Hits:
        """Like `list_tools`, without await."""
        return tool_list(self._host.call_sync("list_tools", {"server": self._name(server)}))

    def query_tool_docs(self, server: str, tool: str | None = None, detail: str = "summary") -> Pending:
        """Documentation of a server's tools, or only of `tool` (await); `detail="full"` adds `inputSchema`."""
        params = self._docs_params(server, tool, detail)

        async def run() -> object:
            found = self._found(await self._host.call("query_tool_docs", params))
            return found if tool is None else found[0]

        return self._pending("query_tool_docs", run)

    def query_tool_docs_sync(self, server: str, tool: str | None = None, detail: str = "summary") -> Hits:
        """Like `query_tool_docs`, without await; always returns a list."""
        return self._found(self._host.call_sync("query_tool_docs", self._docs_params(server, tool, detail)))

    def search_tool_docs(self, query: str, *, limit: int = 5, detail: str = "summary") -> Pending:
        """The tools of all servers that best match `query` (await), at most `limit` (1 to 20)."""
        params = _search_params(query, limit, detail)

        async def run() -> object:
            return self._searched(await self._host.call("search_tool_docs", params))

        return self._pending("search_tool_docs", run)

    def search_tool_docs_sync(self, query: str, *, limit: int = 5, detail: str = "summary") -> Hits:
        """Like `search_tool_docs`, without await."""
        return self._searched(self._host.call_sync("search_tool_docs", _search_params(query, limit, detail)))

    def stubs(self, server: str, *only: str | list[str], tools: str | list[str] | None = None,
              max_tokens: int | None = None) -> str:  # fmt: skip
        """Signatures and types of a server's tools, to print; `only` is names, or words of names and descriptions."""
        params: dict[str, object] = {"server": self._name(server)}
        wanted = [text for given in (*only, tools or []) for text in ([given] if isinstance(given, str) else given)]
        if wanted:
            params["tools"] = wanted
        if max_tokens is not None:
            params["max_tokens"] = max_tokens
        return _Text(self._host.call_sync("stubs", params))

    # Calls

    def call_tool(self, server: str, tool: str | None = None, arguments: dict[str, object] | None = None,
                  **named: object) -> Pending:  # fmt: skip
        """Calls a tool by name (await) and returns its result; arguments as a dict, as keywords, or both."""
        params = self._call_params(server, tool, arguments, named)
        state = self._registry.find(str(params["server"]))
        name = str(params["tool"])

        async def run() -> object:
            if state is not None:
                params["arguments"] = await arguments_of(state, name, (), values.as_dict(params["arguments"]))
            return values.to_value(await self._host.call("call_tool", params), str(params["server"]), name)

        return self._pending("call_tool", run)

    def call_tool_raw(self, server: str, tool: str | None = None, arguments: dict[str, object] | None = None,
                      **named: object) -> Pending:  # fmt: skip
        """Calls a tool with unchecked arguments (await); returns the raw `CallToolResult`, even with `isError`."""
        params = self._call_params(server, tool, arguments, named)

        async def run() -> object:
            return await self._host.call("call_tool", params)

        return self._pending("call_tool_raw", run)

    # The session

    def install(self, *requirements: str) -> Pending:
        """Installs packages such as "pandas>=2" (await); returns `name==version` of those of this session."""
        open_packages = self._open_packages
        if open_packages is None or not all(isinstance(each, str) for each in requirements):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("install takes requirements (str), such as 'pandas>=2'")

        async def run() -> object:
            return await open_packages().install([], list(requirements))

        return self._pending("install", run)

    @property
    def sh(self) -> Shell:
        """Runs command lines."""
        from bridge_kernel.shell import Shell

        return Shell()

    @property
    def run(self) -> Run:
        """Runs programs in other languages, each in a fresh sandbox."""
        from bridge_kernel.programs import Run

        return Run(self._host)

    @property
    def run_snippet(self) -> RunSnippet:
        """Runs stored snippets."""
        from bridge_kernel.programs import RunSnippet

        return RunSnippet(self._host)

    def save_tool(self, func: Callable[..., object] | str) -> str:
        """Saves a function, given as an object or by name, for later sessions; returns a confirmation."""
        from bridge_kernel.saved_tools import source_of

        tool = source_of(func, self._namespace)
        params: dict[str, object] = {"name": tool.name, "source": tool.source}
        if tool.packages:
            params["packages"] = tool.packages
        self._host.call_sync("save_tool", params)
        if self._add_tool is not None:
            self._add_tool(tool.name, tool.function)
        return tool.report()

    def save_artifact(self, name: str, data: object) -> Any:
        """Saves bytes, text or a file on the user's machine and links to it in the answer."""
        from bridge_kernel import artifacts

        return artifacts.save(self._host, name, data)

    def load_artifact(self, name: str, session: str | None = None) -> bytes:
        """The bytes of a saved file of this session, or of the named one."""
        from bridge_kernel import artifacts

        return artifacts.load(self._host, name, session)

    def open_artifact(self, name: str, mode: str = "rb", session: str | None = None) -> Any:
        """A saved file as a file object; with mode "w" or "wb", a new one that is saved when it is closed."""
        from bridge_kernel import artifacts

        return artifacts.open_file(self._host, name, mode, session)

    def list_artifacts(self) -> tuple[Any, ...]:
        """All saved files: dicts with `session`, `name`, `size`, `modified`, `uri`, `mime_type`."""
        from bridge_kernel import artifacts

        return artifacts.listing(self._host)

    def last_answer(self) -> str | None:
        """The answer of the cell before this one as text, for when it did not reach you; None if there was none."""
        text = self._host.call_sync("last_answer", {})
        return text if isinstance(text, str) else None

    def step(self, function: Callable[..., Any], /, *inputs: Any, **named: Any) -> Pending:
        """Calls a function as a step (await): shown with its time; done once in a run that is resumed."""
        return self._pending("step", lambda: self._all_steps().step(function, inputs, named))

    def step_map(
        self, function: Callable[..., Any], rows: Iterable[Any], *, at_once: int = 8, errors: str = "raise"
    ) -> Pending:
        """Calls a function for each row, as one step (await); `errors="return"` puts exceptions among the results."""
        return self._pending("step_map", lambda: self._all_steps().step_map(function, rows, at_once, errors))

    def retry(
        self,
        times: int = 3,
        *,
        wait: float = 1,
        on: type[Exception] | tuple[type[Exception], ...] = Exception,
    ) -> Callable[[Any], Any]:
        """Declares that a function may be called again: `@runtime.retry(3, wait=1)`; each wait is twice the last."""
        from bridge_kernel.steps import retry

        return retry(times, wait, on)

    def _all_steps(self) -> Steps:
        if self._steps is None:
            from bridge_kernel.steps import Steps

            self._steps = Steps(self._host)
        return self._steps

    def background(self, work: Awaitable[Any], name: str | None = None, *, timeout: float | None = None) -> Any:
        """Runs a coroutine across cells as a job with `.status()` `.output()` `.result(timeout)` `.cancel()`."""
        return self._all_jobs().start(work, name, timeout)

    def jobs(self) -> tuple[Any, ...]:
        """The jobs of this session."""
        return self._all_jobs().all()

    def _all_jobs(self) -> Jobs:
        if self._jobs is None:
            from bridge_kernel.jobs import Jobs

            self._jobs = Jobs(self._host)
        return self._jobs

    def output(self, cell: int, stream: str = "stdout") -> Any:
        """What an earlier cell wrote: `.head(n)`, `.tail(n)`, `.lines(a, b)`, `.grep(pattern)`, `str()`.

        The stream `traceback` is the whole traceback of a cell that failed, if its answer folded some of it.
        """
        if stream not in ("stdout", "stderr", "traceback"):
            raise ValueError(f"stream must be 'stdout', 'stderr' or 'traceback', not {stream!r}")
        if self._output is None:
            raise MCPError("this session keeps no output", "CALL_REFUSED")
        return self._output(cell, stream)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Reports the cell's progress to clients that show it."""
        frame: dict[str, object] = {"type": "progress", "done": _finite("done", done)}
        if total is not None:
            frame["total"] = _finite("total", total)
        if message is not None:
            frame["message"] = str(message)[:_MAX_PROGRESS_CHARS]
        self._progress.report(frame, done == total)

    def to_toon(self, value: object) -> str:
        """`value` as TOON text, which needs fewer tokens than JSON for lists of records."""
        from bridge_kernel.toon import to_toon

        return to_toon(self._host, value)

    def reset(self) -> str:
        """Ends this session after the cell; the next cell starts with an empty session."""
        self._host.call_sync("reset", {})
        return "The session ends after this cell. The next cell starts with an empty session."

    def checkpoint(self, name: str | None = None) -> str:
        """Saves the session when the cell has ended, also under a name that `restore` takes; the answer says what."""
        self._host.call_sync("checkpoint", {"name": name})
        return "The session is saved when this cell has ended."

    def restore(self, name: str) -> str:
        """Ends this session after the cell; the next cell continues from the checkpoint of this name."""
        self._host.call_sync("restore", {"name": name})
        return f"The session ends after this cell. The next cell continues from the checkpoint {name!r}."

    def checkpoints(self) -> list[Any]:
        """The named checkpoints of this session: dicts: `name`, `cell`, `saved_at`, `variables`, `files`, `lost`."""
        found = _as_list(self._host.call_sync("checkpoints", {}))
        keys = {"name": "name", "cell": "cell", "saved_at": "savedAt", "variables": "variables",
                "files": "files", "lost": "lost"}  # fmt: skip
        return _as_list(attribute_access([{key: each.get(source) for key, source in keys.items()} for each in found]))

    def capability_summary(self) -> str:
        """A text that explains how to work in this session."""
        from bridge_kernel.packages import installed_packages

        return f"{self._manual()}\n**Here:** {self._here()}\n{installed_packages()}"

    def _here(self) -> str:
        """Which servers there are, and the working folder."""
        import os

        servers = self._registry.all()
        named: list[str] = []
        for server in servers[:_MAX_NAMED]:
            about = " ".join(server.description.split())[:_MAX_ABOUT_CHARS]
            named.append(f"{server.name}{' (loaded)' * server.is_loaded}{f': {about}' if about else ''}")
        more = f", … ({len(servers)} in all)" if len(servers) > _MAX_NAMED else ""
        listed = f"servers {', '.join(named)}{more}" if named else "no servers"
        try:
            return f"{listed}; the folder {os.getcwd()}"
        except OSError:  # Code has removed it.
            return listed

    def help(self) -> str:
        """Prints one line for each helper."""
        import inspect

        print("Helpers of runtime ('await' where a line says so); print(runtime.capability_summary()) is the manual:")
        for name in _HELPERS:
            helper = getattr(self, name)
            # Types would double the length, and the first line says what matters.
            bare = [each.replace(annotation=each.empty) for each in inspect.signature(helper).parameters.values()]
            about = (helper.__doc__ or "").partition("\n")[0]
            print(f"  runtime.{name}{inspect.Signature(bare)}: {about}")
        print(f"Here: {self._here()}")
        return SAID

    def __getattr__(self, name: str) -> object:
        # The import system and libraries probe modules for dunder names.
        if name.startswith("__"):
            raise AttributeError(name)
        known = [*_HELPERS, *_CLASSES]
        raise AttributeError(f"runtime has no {name!r}.{close_names(name, known)} runtime.help() lists the helpers.")

    def __dir__(self) -> list[str]:
        return sorted([*_HELPERS, *_CLASSES])

    def __repr__(self) -> str:
        return "<runtime: find and call tools of MCP servers; runtime.help() lists the helpers>"

    def _pending(self, name: str, run: Callable[[], Coroutine[Any, Any, object]]) -> Pending:
        return Pending(f"runtime.{name}(...)", run, depth=3)

    def _name(self, server: object) -> str:
        """The configured name of a server given by name, alias or proxy. An unknown name is returned unchanged."""
        if not isinstance(server, str):
            state = getattr(server, "_state", None)
            if state is None:
                raise TypeError(f"server must be a name (str), not {type(server).__name__}")
            return state.name
        found = self._registry.find(server)
        return server if found is None else found.name

    def _docs_params(self, server: str, tool: str | None, detail: str) -> dict[str, object]:
        params: dict[str, object] = {"server": self._name(server), "detail": _checked_detail(detail)}
        return params if tool is None else {**params, "tool": tool}

    def _call_params(self, server: str, tool: object, arguments: object, named: dict[str, object]) -> dict[str, object]:
        line = calling_line(3)
        if isinstance(tool, str) and not named and (arguments is None or isinstance(arguments, dict)):
            params: dict[str, object] = {"server": self._name(server), "tool": tool, "arguments": arguments or {}}
        else:
            from bridge_kernel.by_name import call_params

            params = call_params(self._registry, self._name(server), tool, arguments, named)
        return params if line is None else {**params, "line": line}

    def _found(self, answer: object) -> Hits:
        """The documents of an answer. Prints to stderr what was not found and, once each, what the answer lacks."""
        found = values.as_dict(answer)
        missed: dict[str, list[str]] = {}
        for entry in found.get("not_searched", []):
            # By server, because the reason changes with each attempt to start it.
            if self._is_new(("not searched", entry["server"], entry.get("late"))):
                missed.setdefault(" ".join(entry["reason"].split()), []).append(entry["server"])
        for reason, servers in missed.items():
            print(f"not searched: {', '.join(servers)} ({reason})", file=sys.stderr)
        for entry in found.get("notices", []):
            self._say_once(f"server {entry['server']}: {entry['notice']}")
        documents = _as_list(found.get("documents"))
        for document in documents:
            # One that another session has saved since this one began.
            if document.get("kind") == "function" and document.get("tool") not in self._namespace:
                document["load"] = f"from {document.get('serverAlias')} import {document.get('tool')}"
        unmatched = "; ".join(_unmatched_word(entry) for entry in found.get("unmatched", []))
        if unmatched:
            rest = "; the hits match the rest of the query" if documents else ""
            searched = "no searched tool" if found.get("not_searched") else "no tool"
            print(f"{searched} mentions {unmatched}{rest}", file=sys.stderr)
        return Hits(map(ToolHit, documents))

    def _searched(self, answer: object) -> Hits:
        self._mention_no_server()
        return self._found(answer)

    def _mention_no_server(self) -> None:
        if not self._registry.all():
            self._say_once(no_server())

    def _mention_unloaded(self) -> None:
        self._mention_no_server()
        names = [server.name for server in self._registry.all()]
        if names:
            more = f", … ({len(names)} in all)" if len(names) > _MAX_NAMED else ""
            load = "the first call loads one" if self._registry.autoload else f"load with servers=[{names[0]!r}]"
            self._say_once(f"No server is loaded. Configured: {', '.join(names[:_MAX_NAMED])}{more}; {load}.")

    def _say_once(self, text: str, key: object = None) -> None:
        if self._is_new(key or text):
            print(text, file=sys.stderr)

    def _is_new(self, key: object) -> bool:
        """Whether it has not been said yet; it has from now on."""
        is_new = key not in self._said
        self._said.add(key)
        return is_new


def _unmatched_word(entry: dict[str, Any]) -> str:
    nearest = ", ".join(repr(word) for word in entry["nearest"])
    return f"{entry['word']!r} (nearest: {nearest})" if nearest else repr(entry["word"])


class _Text(str):
    """A str whose repr is the text itself, so it stays readable as the value of a cell."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


SAID = _Text()
"""The value of a helper that has printed what it has to say: `print` adds no `None`, and it is not shown as a value."""


def _search_params(query: str, limit: int, detail: str) -> dict[str, object]:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _MAX_LIMIT:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"limit must be a whole number from 1 to {_MAX_LIMIT}, not {limit!r}")
    return {"query": query, "limit": limit, "detail": _checked_detail(detail)}


def _finite(name: str, number: float) -> float:
    """`number`, of any numeric class, as a float that JSON can represent."""
    value = float(number)
    if value - value != 0:
        raise ValueError(f"{name} must be a finite number, not {number!r}")
    return value


def _checked_detail(detail: str) -> str:
    if detail not in _DETAILS:
        raise ValueError(f"detail must be 'summary' or 'full', not {detail!r}")
    return detail


def _as_list(value: object) -> list[Any]:
    """A list from the host with attribute access to its dicts; an empty list for anything else."""
    return values.as_list(attribute_access(value))


def _servers(value: object) -> Hits:
    """Servers with attribute access; their tools have the schema under both names."""
    servers = _as_list(value)
    for server in servers:
        if "tools" in server:
            server["tools"] = tool_list(server["tools"])
    return Hits(ServerHit(server) for server in servers)
