"""What `runtime` finds: tools and servers as dicts with attribute access that print as short lines."""

from __future__ import annotations

from bridge_kernel.near import close_names
from bridge_kernel.values import AttrDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_LINE_CHARS = 160
"""A longer description is cut in a list; the key `description` has all of it. Chosen."""


class _Found(AttrDict):
    __slots__ = ()
    _WHAT = ""

    def __missing__(self, key: str) -> NoReturn:
        if isinstance(key, int):
            raise KeyError(f"no key {key}: this is one {self._WHAT}, not a list. Keys: {', '.join(self)}")
        raise KeyError(f"no key {key!r}.{close_names(str(key), list(self))} Keys: {', '.join(self)}")

    def line(self, max_chars: int = _LINE_CHARS) -> str:
        """One line, with at most `max_chars` characters of the description."""
        raise NotImplementedError

    def in_list(self) -> str:
        """The text in a list: one line, unless more was asked for."""
        return self.line()

    def _description(self, max_chars: int) -> str:
        """The description on one line, and how to load the server if it is not loaded."""
        text = " ".join(str(self.get("description", "")).split())
        if len(text) > max_chars:
            text = f"{text[: max_chars - 1].rstrip()}…" if max_chars else ""
        if text and text[-1] not in ".!?…":
            text += "."
        load = "" if self.get("loaded", True) else f"Not loaded: servers=[{self.get('server')!r}]."
        return f"{text} {load}".strip()


class ToolHit(_Found):
    """A tool: `server`, `tool`, `toolAlias`, `signature`, `description`, `loaded` …; prints as the call of the tool."""

    __module__ = "mcp.runtime"
    __slots__ = ()
    _WHAT = "tool"

    def line(self, max_chars: int = _LINE_CHARS) -> str:
        """`await mcp_x.tool(name: str) -> str  # What it does.`"""
        alias = self.get("serverAlias", self.get("server"))
        signature = self.get("signature") or self.get("toolAlias")
        if self.get("kind") == "function":
            first = f"from {alias} import {self.get('tool')}; " if self.get("load") else ""
            call = f"{first}{'await ' if self.get('awaited') else ''}{signature}"
        else:
            call = f"await mcp_{alias}.{signature}"
        comment = self._description(max_chars)
        return f"{call}  # {comment}" if comment else call

    def in_list(self) -> str:
        # Only `list_tools` has both spellings. It always has the schema; documents have it with detail "full".
        is_full = "inputSchema" in self and "input_schema" not in self
        return f"{self!r}\n" if is_full else self.line()

    def __repr__(self) -> str:
        schema, types = self.get("inputSchema"), [f"  {line}" for line in _texts(self.get("types"))]
        named = ["Types:", *types] if types else []
        if schema is None:
            return "\n".join([self.line(len(str(self.get("description", "")))), *named])
        # The description may have several lines, and those who ask for the schema want all of it.
        return "\n".join([self.line(0), *_texts([self.get("description")]), *named, f"inputSchema: {schema}"])


class ServerHit(_Found):
    """A server: `server`, `description`, `loaded`, `tool_count` …; prints as lines."""

    __module__ = "mcp.runtime"
    __slots__ = ()
    _WHAT = "server"

    def line(self, max_chars: int = _LINE_CHARS) -> str:
        """`name (3 tools, such as a, b): What it offers. Not loaded: servers=['name']. Failed: why.`"""
        count = self.get("tool_count")
        tools = "tools unknown" if count is None else f"{count} {'tool' if count == 1 else 'tools'}"
        such_as = ", ".join(_texts(self.get("matching_tools")))
        failed = f" Failed: {' '.join(str(self['last_error']).split())}" if self.get("last_error") else ""
        name = f"{self.get('server')} ({tools}{f', such as {such_as}' if such_as else ''})"
        said = self._description(max_chars)
        return f"{name}{': ' if self.get('description') else '. '}{said}{failed}" if said else f"{name}{failed}"

    def __repr__(self) -> str:
        shown = ("cwd", "instructions", "server_version", "error")
        more = [f"{key}: {self[key]}" for key in shown if self.get(key)]
        tools = self.get("tools")
        listed = [repr(tools)] if isinstance(tools, Hits) and tools else []
        return "\n".join([self.line(len(str(self.get("description", "")))), *more, *listed])


class Hits(list[object]):
    """A list of tools or servers that prints one line for each; with detail "full", all of each."""

    __module__ = "mcp.runtime"

    def __getitem__(self, index: Any) -> Any:
        found: Any = super().__getitem__(index)
        return Hits(found) if isinstance(index, slice) else found

    def __repr__(self) -> str:
        return "\n".join(hit.in_list() if isinstance(hit, _Found) else repr(hit) for hit in self).rstrip() or "[]"


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str) and text] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
