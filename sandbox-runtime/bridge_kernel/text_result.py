"""Text from a tool: a `str` with `.json()` and `.lines()`, for the two things that code does with it most."""

from __future__ import annotations

import json
import re

from bridge_kernel.attr_dict import attribute_access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
# JSON that starts a line or follows a tag, as in `### Result` or `<untrusted-data-1>`.
_START = re.compile(r"(?:^|>)[ \t]*(?=[\[{])", re.MULTILINE)
# What may follow on the line where such JSON ends: nothing, or a tag.
_END = re.compile(r"[ \t\r]*(?:$|<)", re.MULTILINE)
_MAX_STARTS = 100
"""Lines tried as the start of JSON. Chosen: bounds the time for text full of brackets."""
_SHOWN_CHARS = 60
# What code asks of a raw result.
_OF_RAW = frozenset({
    "data", "dict", "get", "isError", "items", "keys", "meta", "model_dump", "model_dump_json", "structuredContent",
    "structured_content", "values",
})  # fmt: skip


class TextResult(str):
    """The text of a tool's result."""

    # User code gets it from calls, and pickle looks it up as `mcp.runtime.TextResult`.
    __module__ = "mcp.runtime"
    __slots__ = ()

    def json(self) -> object:
        """The JSON in the text: all of it, a fenced block, or a block that starts a line or follows a tag.

        Raises:
            ValueError: the text has no JSON.
        """
        for found in _candidates(self):
            return attribute_access(found)
        start = f"{self[:_SHOWN_CHARS]!r}{'…' if len(self) > _SHOWN_CHARS else ''}"
        raise ValueError(f"the text has no JSON; use it as text, or its .lines(). It starts with {start}")

    def lines(self) -> list[str]:
        """The lines that are not blank, without line ends."""
        lines = [line.removesuffix("\r") for line in self.split("\n")]
        return [line for line in lines if line.strip()]

    @property
    def text(self) -> str:
        """The text itself, as a block of an MCP result has it."""
        return str(self)

    @property
    def content(self) -> list[TextResult]:
        """The text as the only block, so `result.content[0].text` works as in the SDKs."""
        return [self]

    def __getattr__(self, name: str) -> object:
        fix = "; the result is text: use it directly, or call .json() or .lines()" if name in _OF_RAW else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{fix}", name=name, obj=self)


def _candidates(text: str) -> Iterator[object]:
    """The values of the JSON in the text, best first."""
    try:
        whole: object = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(whole, str):
            yield from _candidates_in(whole)  # Some servers encode a text with JSON once more.
        yield whole
    yield from _candidates_in(text)


def _candidates_in(text: str) -> Iterator[object]:
    for fence in _FENCE.finditer(text):
        try:
            yield json.loads(fence[2])
        except (ValueError, RecursionError):
            continue
    decoder = json.JSONDecoder()
    for number, start in enumerate(_START.finditer(text)):
        if number == _MAX_STARTS:
            return
        try:
            value, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            continue
        if _END.match(text, end):
            yield value
