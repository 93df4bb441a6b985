"""Checks a cell before it runs: a certain failure stops it before it has any effect, a probable one is reported.

Only calls of tools and of `runtime` helpers are checked. The host is asked for the tools of loaded servers that the
cell names, which starts only servers that the calls would start anyway. Whatever cannot be found out in time is left
to the call itself.
"""

from __future__ import annotations

import ast
import re
import sys

from bridge_kernel.check_arguments import explain_helper_call, explain_tool_call
from bridge_kernel.check_expressions import CERTAIN, LIKELY, Finding, Mention
from bridge_kernel.check_loops import text_loops
from bridge_kernel.check_names import HelperRef, MissingServer, Names, ToolRef
from bridge_kernel.check_walk import Walker
from bridge_kernel.counted import counted
from bridge_kernel.discovery import Runtime
from bridge_kernel.errors import CheckError, MCPError
from bridge_kernel.near import close_names
from bridge_kernel.servers import alias_of
from bridge_kernel.surface import METHODS
from bridge_kernel.values import as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge_kernel.servers import Registry, ServerState
    from bridge_kernel.specs import ToolSpec

# Code that can rebind any name in ways that reading the cell does not show.
_DYNAMIC = re.compile(
    r"\b(?:exec|eval|globals|locals|vars|setattr|delattr|patch|monkeypatch|modules|reload|_getframe|f_globals|run_path"
    r"|__dict__|__builtins__|import\s+__main__)\b"
)
_STAR = re.compile(r"from\s+(?!mcp\.)[\w.]+\s+import\s+\*|^\s*%(?:run|reset)\b", re.MULTILINE)
# Code with these words probes what exists, so probable mistakes are not reported for it.
_PROBES = frozenset({
    "mcp_servers", "LOADED_MCP_SERVERS", "NameError", "hasattr", "getattr", "TOOLS", "TOOL_MAP", "dir", "runtime",
})  # fmt: skip
# A tool with such a name may add tools to the server's list: `enable_toolset`, `activate_project`.
_CHANGES_TOOLS = re.compile(r"enable|activate|register|toolset|load|unlock|connect|switch|log_?in|auth", re.IGNORECASE)
_MAX_CODE_CHARS = 200_000
"""Longer cells hold data rather than calls, and would take more than 100 ms to check. Chosen."""
_LOOK_UP_SECONDS = 10.0
"""Longest wait for the tools of a server that has to start first; after that its calls go unchecked. Chosen."""
_LOOK_UP_SECONDS_UNSURE = 2.0
"""The same if the cell may not call the server at all. Chosen."""
_MAX_TOOLS = 200
"""The host describes at most this many tools of a server in one answer."""
_MAX_SHOWN = 8


def changes_names(code: str) -> bool:
    """Whether the code may rebind names dynamically, so that reading it proves nothing."""
    return _DYNAMIC.search(code) is not None or _STAR.search(code) is not None


async def check_cell(tree: ast.Module, code: str, namespace: dict[str, object], registry: Registry) -> None:
    """Raises `CheckError` if the cell is certain to fail; prints probable mistakes to stderr."""
    if len(code) > _MAX_CODE_CHARS or changes_names(code):
        return
    try:
        findings = await _find(tree, code, namespace, registry)
    except Exception as error:  # noqa: BLE001 A bug in the check must not stop good code.
        print(f"The check before running failed ({error!r}); the cell runs unchecked.", file=sys.stderr)
        return
    if findings:
        _report(findings, code)


async def _find(tree: ast.Module, code: str, namespace: dict[str, object], registry: Registry) -> list[Finding]:
    names = Names(tree, code, namespace, registry)
    if not names.hits:
        return text_loops(tree, names, namespace, lambda _: False)
    walker = Walker(names)
    walker.walk(tree)
    known = await _look_up(walker)
    findings = _judge(walker, names.words, registry, known)
    doubtful = [state for state in known if any(found.state is state and found.level == CERTAIN for found in findings)]
    for state in doubtful:
        # The host may have described an earlier run of the server. Before stopping a cell, ask the server itself.
        known[state] = await _tools_of(state, list(known[state].specs), _LOOK_UP_SECONDS, fresh=True)
    if doubtful:
        findings = _judge(walker, names.words, registry, known)
    findings += text_loops(tree, names, namespace, lambda ref: _returns_text(known.get(ref.state), ref.name))
    return [found for found in findings if found.state not in walker.opaque]


def _returns_text(tools: _Tools | None, name: str) -> bool:
    spec = None if tools is None else tools.specs.get(name)
    return spec is not None and spec.returns_text


class _Tools:
    """The tools of one server that a cell names. `aliases` holds those of all its tools if one was not found."""

    def __init__(self, specs: dict[str, ToolSpec | None], aliases: list[str]) -> None:
        self.specs = specs
        self.aliases = aliases


async def _look_up(walker: Walker) -> dict[ServerState, _Tools]:
    """Looks up the tools that the cell names, as far as time allows.

    A missing tool is not remembered as missing: the cell itself may make the server list more.
    """
    seconds: dict[ServerState, float] = {}
    names: dict[ServerState, dict[str, None]] = {}
    for mention in walker.mentions:
        if isinstance(mention.ref, ToolRef) and mention.ref.state.is_callable:
            state = mention.ref.state
            wait = _LOOK_UP_SECONDS if mention.level == CERTAIN else _LOOK_UP_SECONDS_UNSURE
            seconds[state] = max(wait, seconds.get(state, 0))
            names.setdefault(state, {})[mention.ref.name] = None
    if len(seconds) <= 1:
        return {state: await _tools_of(state, list(names[state]), wait) for state, wait in seconds.items()}
    import asyncio

    tools = await asyncio.gather(*[_tools_of(state, list(names[state]), wait) for state, wait in seconds.items()])
    return dict(zip(seconds, tools, strict=True))


async def _tools_of(state: ServerState, names: list[str], seconds: float, fresh: bool = False) -> _Tools:
    try:
        specs = await state.specs.fetch_many(names[:_MAX_TOOLS], seconds, fresh)
        if all(spec is not None or state.specs.refusal(name) is not None for name, spec in specs.items()):
            return _Tools(specs, [])
        listed = as_list(await state.host.call("list_tools", {"server": state.name}, seconds))
    except MCPError:
        return _Tools({}, [])  # The call itself raises this, at its line.
    return _Tools(specs, [alias_of(tool) for tool in listed])


def _judge(walker: Walker, words: set[str], registry: Registry, known: dict[ServerState, _Tools]) -> list[Finding]:
    """The walker's findings with their texts, and the findings about named tools."""
    is_probing = not words.isdisjoint(_PROBES)
    found: list[Finding] = []
    for finding in walker.findings:
        if isinstance(finding.state, MissingServer):
            if finding.level == CERTAIN or not is_probing:
                text = _unavailable(registry, finding.state.name)
                found.append(Finding(finding.node, finding.level, text))
        else:
            found.append(finding)
    for index, mention in enumerate(walker.mentions):
        if isinstance(mention.ref, HelperRef):
            text, level = _judge_helper(mention, mention.ref), mention.level
        else:
            text, level = _judge_tool(mention, mention.ref, known.get(mention.ref.state), walker.mentions[:index])
            if not mention.ref.state.is_callable:
                text = None if mention.call is None else _unavailable(registry, mention.ref.state.name)
        if text is not None and (level == CERTAIN or not is_probing):
            state = mention.ref.state if isinstance(mention.ref, ToolRef) and not _is_refused(mention.ref) else Runtime
            found.append(Finding(mention.node, level, text, state))
    return found


def _judge_helper(mention: Mention, helper: HelperRef) -> str | None:
    if not hasattr(Runtime, helper.name):
        near = close_names(helper.name, [name for name in vars(Runtime) if not name.startswith("_")])
        return f"runtime has no {helper.name!r}.{near or ' runtime.help() lists the helpers.'}"
    return None if mention.call is None else explain_helper_call(helper.name, mention.call)


def _judge_tool(mention: Mention, ref: ToolRef, tools: _Tools | None, before: list[Mention]) -> tuple[str | None, int]:
    level = mention.level
    if tools is None or ref.name not in tools.specs:
        return None, level  # Nothing is known about the tool.
    spec = tools.specs[ref.name]
    if spec is not None:
        return (None if mention.call is None else explain_tool_call(spec, mention.call)), level
    refusal = ref.state.specs.refusal(ref.name)
    if refusal is not None:
        return (None if mention.call is None else str(refusal)), level
    # A server that lists no tools at all may not have registered them yet.
    if ref.name in (*METHODS, "server") or not tools.aliases:
        return None, level
    if any(_may_change_tools(earlier, ref.state) for earlier in before):
        level = min(level, LIKELY)
    return ref.state.no_such_tool(ref.name, tools.aliases), level


def _is_refused(ref: ToolRef) -> bool:
    """Whether a policy hides the tool. Then there is no need to ask the server whether it exists."""
    return ref.state.specs.refusal(ref.name) is not None


def _may_change_tools(earlier: Mention, state: ServerState) -> bool:
    ref = earlier.ref
    return isinstance(ref, ToolRef) and ref.state is state and _CHANGES_TOOLS.search(ref.name) is not None


def _unavailable(registry: Registry, name: str) -> str:
    return str(registry.not_available(name))


def _report(findings: list[Finding], code: str) -> None:
    unique = {(_line(found), found.message): found for found in findings}
    ordered = sorted(unique.values(), key=_line)
    certain = [found for found in ordered if found.level == CERTAIN]
    if certain:
        # A server that is not loaded or a call that a policy refuses is no mistake; it names the next step itself.
        said = certain[0].message
        is_one = all(found.message == said for found in ordered)
        is_refusal = is_one and "\nHint: " in said and not said.startswith("SERVER_UNKNOWN")
        counted = "1 problem." if is_refusal else _counted(ordered)
        raise CheckError(
            f"the cell did not run and had no effect. The check found {counted}\n{_shown(ordered, code)}",
            "CHECK_FAILED",
            hint=None if is_refusal else "Fix the code and run the whole cell again.",
        )
    print(f"Check before running: {_counted(ordered)}\n{_shown(ordered, code)}", file=sys.stderr)


def _line(finding: Finding) -> int:
    return getattr(finding.node, "lineno", 0)


def _counted(findings: list[Finding]) -> str:
    certain = sum(found.level == CERTAIN for found in findings)
    likely = len(findings) - certain
    parts = [counted(certain, "mistake")] if certain else []
    parts += [counted(likely, "probable mistake")] if likely else []
    return " and ".join(parts) + "."


def _shown(findings: list[Finding], code: str) -> str:
    """Each different finding once, at its first line."""
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    places: dict[tuple[str, int], list[int]] = {}
    for found in findings:
        places.setdefault((found.message, found.level), []).append(_line(found))
    parts: list[str] = []
    for (message, level), (line, *others) in list(places.items())[:_MAX_SHOWN]:
        also = f", also at {_lines_named(others)}" if others else ""
        probable = "" if level == CERTAIN else " (probable)"
        indented = message.replace("\n", "\n    ")
        parts.append(f"  line {line}{also}{probable}: {lines[line - 1].strip()[:200]}\n    {indented}")
    if len(places) > _MAX_SHOWN:
        parts.append(f"  … and {len(places) - _MAX_SHOWN} more")
    return "\n".join(parts)


def _lines_named(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:_MAX_SHOWN]))
    return f"line{'s' * (len(numbers) > 1)} {shown}{', …' if len(numbers) > _MAX_SHOWN else ''}"
