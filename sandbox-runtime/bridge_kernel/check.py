"""Checks a cell before it runs: what is certain to fail stops it before any effect, what is likely to is said.

Looks at calls of tools and helpers alone. The host is asked for the tools of loaded servers that the cell names, which
starts a server that the call would start anyway. What cannot be known in time is left to the call itself.
"""

from __future__ import annotations

import ast
import re
import sys

from bridge_kernel.check_arguments import describe_call, explain_helper_call, explain_tool_call
from bridge_kernel.check_expressions import CERTAIN, LIKELY, Finding, Mention
from bridge_kernel.check_names import HelperRef, MissingServer, Names, ToolRef
from bridge_kernel.check_walk import Walker
from bridge_kernel.discovery import Runtime
from bridge_kernel.errors import CheckError, MCPError
from bridge_kernel.servers import close_names, find_tool
from bridge_kernel.values import as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge_kernel.servers import Registry, ServerState, ToolInfo

    Known = dict[ServerState, list[ToolInfo]]

# Code that can put anything in the place of a name, in ways no reading of the cell shows.
_DYNAMIC = re.compile(
    r"\b(?:exec|eval|globals|locals|vars|setattr|delattr|patch|monkeypatch|modules|reload|_getframe|f_globals|run_path"
    r"|__dict__|__builtins__|import\s+__main__)\b"
)
_STAR = re.compile(r"from\s+(?!mcp\.)[\w.]+\s+import\s+\*")
# Code with these words finds out for itself what there is, so a guess at a place that is only likely is left out.
_PROBES = frozenset({
    "mcp_servers", "LOADED_MCP_SERVERS", "NameError", "hasattr", "getattr", "TOOLS", "TOOL_MAP", "dir", "runtime",
})  # fmt: skip
# A tool of such a name may give the server tools it did not list before: `enable_toolset`, `activate_project`.
_CHANGES_TOOLS = re.compile(r"enable|activate|register|toolset|load|unlock|connect|switch|log_?in|auth", re.IGNORECASE)
_MAX_CODE_CHARS = 200_000
"""Longer cells hold data, not calls, and would cost more than 100 ms to read. Chosen."""
_LIST_SECONDS = 10.0
"""Longest wait for the tools of a server that has to start first; then its calls go unchecked. Chosen."""
_LIST_SECONDS_UNSURE = 2.0
"""The same when the cell may not call the server at all. Chosen."""
_MAX_SHOWN = 8


async def check_cell(tree: ast.Module, code: str, namespace: dict[str, object], registry: Registry) -> None:
    """Raises `CheckError` when the cell is certain to fail; prints to stderr what is likely to."""
    if len(code) > _MAX_CODE_CHARS or _DYNAMIC.search(code) or _STAR.search(code):
        return
    try:
        findings = await _find(tree, code, namespace, registry)
    except Exception as error:  # noqa: BLE001 A fault of the check must not keep good code from running.
        print(f"The check before running failed ({error!r}); the cell runs unchecked.", file=sys.stderr)
        return
    if findings:
        _report(findings, code)


async def _find(tree: ast.Module, code: str, namespace: dict[str, object], registry: Registry) -> list[Finding]:
    names = Names(tree, code, namespace, registry)
    if not names.hits:
        return []
    walker = Walker(names)
    walker.walk(tree)
    known = await _list_tools(walker, registry)
    return [found for found in _judge(walker, names.words, registry, known) if found.state not in walker.opaque]


async def _list_tools(walker: Walker, registry: Registry) -> Known:
    """The tools of the servers that the cell names, as far as they can be had in time.

    They are kept for the check alone: the cell itself may make a server list others.
    """
    seconds: dict[ServerState, float] = {}
    for mention in walker.mentions:
        if isinstance(mention.ref, ToolRef) and registry.may_call(mention.ref.state):
            wait = _LIST_SECONDS if mention.level == CERTAIN else _LIST_SECONDS_UNSURE
            seconds[mention.ref.state] = max(wait, seconds.get(mention.ref.state, 0))
    if len(seconds) <= 1:
        return {state: await _tools_of(state, wait) for state, wait in seconds.items()}
    import asyncio

    lists = await asyncio.gather(*[_tools_of(state, wait) for state, wait in seconds.items()])
    return dict(zip(seconds, lists, strict=True))


async def _tools_of(state: ServerState, seconds: float) -> list[ToolInfo]:
    try:
        answer = await state.host.call("list_tools", {"server": state.name}, seconds)
    except MCPError:
        return []  # The call will say it, at its line.
    return as_list(answer)


def _judge(walker: Walker, words: set[str], registry: Registry, known: Known) -> list[Finding]:
    """The findings of the walk with their texts, and those about the tools that are named."""
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
            if not registry.may_call(mention.ref.state):
                text = None if mention.call is None else _unavailable(registry, mention.ref.state.name)
        if text is not None and (level == CERTAIN or not is_probing):
            state = mention.ref.state if isinstance(mention.ref, ToolRef) else Runtime
            found.append(Finding(mention.node, level, text, state))
    return found


def _judge_helper(mention: Mention, helper: HelperRef) -> str | None:
    if not hasattr(Runtime, helper.name):
        near = close_names(helper.name, [name for name in vars(Runtime) if not name.startswith("_")])
        return f"runtime has no {helper.name!r}.{near or ' runtime.help() prints what there is.'}"
    return None if mention.call is None else explain_helper_call(helper.name, mention.call)


def _judge_tool(
    mention: Mention, ref: ToolRef, tools: list[ToolInfo] | None, before: list[Mention]
) -> tuple[str | None, int]:
    state, level = ref.state, mention.level
    if not tools:
        return None, level  # Not known; or none at all, which the server may say before it has made them.
    info = find_tool(tools, ref.name)
    if info is None:
        if any(_may_change_tools(earlier, state) for earlier in before):
            level = min(level, LIKELY)
        return state.no_such_tool(ref.name, tools), level
    if mention.call is None:
        return None, level
    text = explain_tool_call(ref.label(), info, mention.call)
    return (None if text is None else f"{text}\n{describe_call(ref.label(), info)}"), level


def _may_change_tools(earlier: Mention, state: ServerState) -> bool:
    ref = earlier.ref
    return isinstance(ref, ToolRef) and ref.state is state and _CHANGES_TOOLS.search(ref.name) is not None


def _unavailable(registry: Registry, name: str) -> str:
    error = registry.not_available(name)
    return f"{error.message}. {error.hint}"


def _report(findings: list[Finding], code: str) -> None:
    unique = {(_line(found), found.message): found for found in findings}
    ordered = sorted(unique.values(), key=_line)
    certain = [found for found in ordered if found.level == CERTAIN]
    if certain:
        raise CheckError(
            f"the cell was not run, and nothing in it has happened: {_counted(ordered)}\n{_shown(ordered, code)}",
            "CHECK_FAILED",
            hint="Correct it and run the whole cell again.",
        )
    print(f"Check before running: {_counted(ordered)}\n{_shown(ordered, code)}", file=sys.stderr)


def _line(finding: Finding) -> int:
    return getattr(finding.node, "lineno", 0)


def _counted(findings: list[Finding]) -> str:
    certain = sum(found.level == CERTAIN for found in findings)
    likely = len(findings) - certain
    parts = [f"{certain} mistake{'s' * (certain != 1)}"] if certain else []
    parts += [f"{likely} probable mistake{'s' * (likely != 1)}"] if likely else []
    return " and ".join(parts) + "."


def _shown(findings: list[Finding], code: str) -> str:
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    parts: list[str] = []
    for found in findings[:_MAX_SHOWN]:
        source = lines[_line(found) - 1].strip()[:200]
        probable = "" if found.level == CERTAIN else " (probable)"
        message = found.message.replace("\n", "\n    ")
        parts.append(f"  line {_line(found)}{probable}: {source}\n    {message}")
    if len(findings) > _MAX_SHOWN:
        parts.append(f"  … and {len(findings) - _MAX_SHOWN} more")
    return "\n".join(parts)
