"""Text from a tool: a `str` with `.json()` and `.lines()`, for the two things that code does with it most."""

from __future__ import annotations

import json
import re

from bridge_kernel.attr_dict import attribute_access
from bridge_kernel.counted import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    # Where the first document starts, and the documents.
    _Group = tuple[int, list[object]]

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
# JSON that starts a line or follows a tag, as in `### Result` or `<untrusted-data-1>`.
_START = re.compile(r"(?:^|>)[ \t]*(?=[\[{])", re.MULTILINE)
# What may follow on the line where such JSON ends: nothing, or a tag.
_END = re.compile(r"[ \t\r]*(?:$|<)", re.MULTILINE)
_MAX_FAILED = 100
"""Lines that may fail as the start of JSON. Chosen: bounds the time for text full of brackets."""
_SHOWN_CHARS = 60
_MAX_SHOWN = 10
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

    def json(self, which: int | None = None) -> object:
        """The JSON in the text: all of it, a fenced block, or a block that starts a line or follows a tag.

        JSON Lines are a list. Of several documents with other text between them, `which` picks one, from 0.

        Raises:
            ValueError: the text has no JSON, or several documents.
            IndexError: it has not so many.
        """
        text, groups = _groups(self)
        documents = [found for _, group in groups for found in group]
        if not documents:
            start = f"{self[:_SHOWN_CHARS]!r}{'…' if len(self) > _SHOWN_CHARS else ''}"
            raise ValueError(f"the text has no JSON; use it as text, or its .lines(). It starts with {start}")
        if which is not None:
            if not -len(documents) <= which < len(documents):
                have = counted(len(documents), "JSON document")
                raise IndexError(f"the text has {have}, so there is no .json({which}); .json(0) is the first")
            return attribute_access(documents[which])
        if any(group != groups[0][1] for _, group in groups):
            lines = ", ".join(str(text.count("\n", 0, start) + 1) for start, _ in groups[:_MAX_SHOWN])
            lines = f"{lines} …" if len(groups) > _MAX_SHOWN else " and ".join(lines.rsplit(", ", 1))
            have = f"the text has {len(documents)} JSON documents, at lines {lines}"
            raise ValueError(f"{have}; .json(0) is the first, .json(1) the next")
        return attribute_access(documents[0] if len(groups[0][1]) == 1 else groups[0][1])

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


def _groups(text: str) -> tuple[str, list[_Group]]:
    """The text with the JSON, and its documents; those with only white space between them are one group."""
    text = text.removeprefix("\ufeff")
    try:
        whole: object = json.loads(text)
    except (ValueError, RecursionError):
        return text, _groups_in(text)
    if isinstance(whole, str):  # Some servers encode a text with JSON once more.
        groups = _groups_in(whole)
        if groups:
            return whole, groups
    return text, [(0, [whole])]


def _groups_in(text: str) -> list[_Group]:
    fenced: list[_Group] = []
    for fence in _FENCE.finditer(text):
        documents = _documents(fence[2])
        if documents:
            fenced.append((fence.start(2), documents))
    # A number or word in a fence is JSON, too, but not what is looked for if there is an object or array.
    best = [group for group in fenced if isinstance(group[1][0], (dict, list))]
    return best or _grouped(text)[0] or fenced


def _documents(text: str) -> list[object]:
    """The documents in a text that has nothing else."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        groups, is_all = _grouped(text)
        return groups[0][1] if is_all else []


def _grouped(text: str) -> tuple[list[_Group], bool]:
    """The objects and arrays that start a line or follow a tag, and whether there is nothing else."""
    groups: list[_Group] = []
    end, is_all = 0, True
    for start, stop, value in _started(text):
        is_apart = bool(text[end:start].strip())
        is_all = is_all and not is_apart
        if is_apart or not groups:
            groups.append((start, [value]))
        else:
            groups[-1][1].append(value)
        end = stop
    return groups, bool(groups) and is_all and not text[end:].strip()


def _started(text: str) -> Iterator[tuple[int, int, object]]:
    decoder = json.JSONDecoder()
    end = failed = 0
    for start in _START.finditer(text):
        if start.end() < end:
            continue  # Within the one before.
        try:
            value, stop = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            value, stop = None, -1
        if stop >= 0 and _END.match(text, stop):
            end = stop
            yield start.end(), stop, value
            continue
        failed += 1
        if failed == _MAX_FAILED:
            return
