"""Converts a tool's answer to a Python value.

Turns the raw `CallToolResult` (MCP 2025-06-18 and later, server/tools) into a convenient value: a dict with attribute
access, a list, text (`TextResult`), or an image object. The rules, and the servers they were derived from, are in
`docs/internals/decisions/002-results-as-python-values.md`.
"""

from __future__ import annotations

import json

from bridge_kernel.attr_dict import AttrDict, attribute_access
from bridge_kernel.counted import counted
from bridge_kernel.errors import ToolError
from bridge_kernel.text_result import TextResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Any


_KEYS_OF_RESULT = ("content", "structuredContent", "isError", "_meta", "resultType")


def as_dict(value: object) -> dict[str, Any]:
    """`value` if it is a JSON object, otherwise an empty dict."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def as_list(value: object) -> list[Any]:
    """`value` if it is a JSON array, otherwise an empty list."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


class _Content:
    """A block of a result that is not text. `raw` has all keys of the block, including those without an attribute."""

    __module__ = "mcp.runtime"

    def __init__(self, raw: Mapping[str, object]) -> None:
        self.raw: dict[str, object] = dict(raw)
        self.mime_type: str | None = _text_or_none(raw.get("mimeType"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mime_type or 'of unknown type'}>"


class _BinaryContent(_Content):
    __module__ = "mcp.runtime"

    def __init__(self, raw: Mapping[str, object]) -> None:
        super().__init__(raw)
        self._base64 = str(raw["data"])

    @property
    def data(self) -> bytes:
        """The decoded bytes. Raises ValueError if the server sent invalid base64."""
        import binascii

        return binascii.a2b_base64(self._base64)

    def save(self, path: str | PathLike[str]) -> str:
        """Writes the bytes to `path` and returns it."""
        with open(path, "wb") as file:
            file.write(self.data)
        return str(path)

    def __len__(self) -> int:
        return len(self.data)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        kind = self.mime_type or "of unknown type"
        return f"<{type(self).__name__} {kind}, {_base64_size(self._base64)}: .data, .save(path)>"


def _base64_size(text: str) -> str:
    # Computed without decoding: four characters are three bytes, minus one for each padding character.
    return counted(len(text) * 3 // 4 - text[-2:].count("="), "byte")


class ImageContent(_BinaryContent):
    """An image: `.data` (bytes), `.mime_type`, `.save(path)`."""

    __module__ = "mcp.runtime"


class AudioContent(_BinaryContent):
    """A sound: `.data` (bytes), `.mime_type`, `.save(path)`."""

    __module__ = "mcp.runtime"


class ResourceContent(_Content):
    """A resource in a result: `.uri`, `.mime_type`, and either `.text` or `.data` (bytes); the other is None."""

    __module__ = "mcp.runtime"

    def __init__(self, raw: Mapping[str, object]) -> None:
        super().__init__(raw)
        self.uri: str = str(raw.get("uri") or "")
        self.text: str | None = _text_or_none(raw.get("text"))
        self._blob = _text_or_none(raw.get("blob"))

    @property
    def data(self) -> bytes | None:
        """The decoded bytes of a binary resource. Raises ValueError if the server sent invalid base64."""
        if self._blob is None:
            return None
        import binascii

        return binascii.a2b_base64(self._blob)

    def save(self, path: str | PathLike[str]) -> str:
        """Writes the bytes, or the text as UTF-8, to `path` and returns it."""
        with open(path, "wb") as file:
            file.write(self.data or (self.text or "").encode())
        return str(path)

    def __str__(self) -> str:
        return repr(self) if self.text is None else self.text

    def __repr__(self) -> str:
        if self.text is not None:
            size, attribute = counted(len(self.text), "character"), ".text"
        else:
            size, attribute = _base64_size(self._blob or ""), ".data"
        return f"<ResourceContent {self.uri}, {size}: {attribute}, .save(path)>"


class ResourceLink(_Content):
    """A link to a resource, without its content: `.uri`, `.name`, `.description`, `.mime_type`."""

    __module__ = "mcp.runtime"

    def __init__(self, raw: Mapping[str, object]) -> None:
        super().__init__(raw)
        self.uri: str = str(raw["uri"])
        self.name: str = str(raw.get("name") or "")
        self.description: str | None = _text_or_none(raw.get("description"))

    def __repr__(self) -> str:
        return f"<ResourceLink {self.name} {self.uri}>"


def to_value(raw: object, server: str, tool: str) -> object:
    """The Python value of a raw `CallToolResult`.

    Raises:
        ToolError: the result has `isError` set.
    """
    result = as_dict(raw)
    blocks = _blocks(result, "content")
    if result.get("isError") not in (None, False, "false"):
        raise ToolError(_error_text(result, blocks), server, tool, result)
    structured = result.get("structuredContent")
    if structured is None:
        return _only([_block_value(block) for block in blocks]) if blocks else _unknown(raw, _KEYS_OF_RESULT)
    if _is_copy_of(structured, blocks):
        return _only([_block_value(block, parse=False) for block in blocks])
    others = [_block_value(block) for block in blocks if not _is_text(block)]
    value = _unwrapped(structured, blocks)
    return _only([TextResult(value) if isinstance(value, str) else attribute_access(value), *others])


class ResourceText(TextResult):
    """Text of a resource, with `.uri` and `.mime_type`."""

    __module__ = "mcp.runtime"
    __slots__ = ("mime_type", "uri")

    uri: str
    mime_type: str | None


class ResourceBytes(bytes):
    """Bytes of a resource: `bytes` with `.uri`, `.mime_type` and `.save(path)`."""

    __module__ = "mcp.runtime"

    uri: str
    mime_type: str | None

    def save(self, path: str | PathLike[str]) -> str:
        """Writes the bytes to `path` and returns it."""
        with open(path, "wb") as file:
            file.write(self)
        return str(path)

    def __repr__(self) -> str:
        return f"<ResourceBytes {self.mime_type or 'of unknown type'}, {counted(len(self), 'byte')}>"


def to_resource(raw: object) -> object:
    """The Python value of a raw `ReadResourceResult`: JSON is parsed, other text is a str, a blob is bytes.

    Raises:
        ValueError: the server sent invalid base64.
    """
    parts = _blocks(as_dict(raw), "contents")
    return _only([_resource_value(part) for part in parts]) if parts else _unknown(raw, ("contents", "_meta"))


def _resource_value(contents: object) -> object:
    raw = as_dict(contents)
    if not _is_resource(raw):
        return TextResult(raw["text"]) if _is_text(contents) else attribute_access(contents)
    mime_type, blob = raw.get("mimeType"), raw.get("blob")
    if isinstance(blob, str):
        import binascii

        value: ResourceBytes | ResourceText = ResourceBytes(binascii.a2b_base64(blob))
    else:
        value = ResourceText(raw["text"])
        if (mime_type or "").partition(";")[0].strip().endswith(("/json", "+json")):
            parsed = _parsed(value)
            if parsed is not value:
                return parsed
    value.uri, value.mime_type = raw.get("uri") or "", mime_type
    return value


def to_prompt(raw: object) -> object:
    """The Python value of a raw `GetPromptResult`: `description`, and `messages` with `role` and `content`."""
    found = as_dict(raw)
    if found is not raw:
        return attribute_access(raw)
    prompt = AttrDict(found)
    prompt["messages"] = [_message_value(message) for message in _blocks(prompt, "messages")]
    return prompt


def _message_value(raw: object) -> object:
    message = as_dict(raw)
    if _is_text(raw):
        return TextResult(message["text"])
    if "content" not in message:
        return attribute_access(raw)
    # MCP allows one block; some servers send a list.
    values = [_block_value(block, parse=False) for block in _blocks(message, "content")]
    return AttrDict({**message, "content": _only(values)})


def _blocks(result: Mapping[str, object], key: str) -> list[object]:
    """The list at `key`. Anything else there is its only member, and a text in place of an object is a text block."""
    given = result.get(key)
    listed = as_list(given)
    several = listed if given is listed or given is None else [given]
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in several]


def _unknown(raw: object, known: tuple[str, ...]) -> object:
    """A result without content: None, or the result itself if it has anything else."""
    found = as_dict(raw)
    return None if raw is None or (found is raw and found.keys() <= set(known)) else attribute_access(raw)


def _only(values: list[object]) -> object:
    """None for no value, the value itself for one, a list for several."""
    if len(values) > 1:
        return values
    return values[0] if values else None


def _block_value(block: object, parse: bool = True) -> object:
    """The value of a block; one that is not as MCP defines it stays as it is."""
    raw = as_dict(block)
    kind = raw.get("type")
    if _is_text(block):
        return _parsed(raw["text"]) if parse else TextResult(raw["text"])
    if kind in ("image", "audio") and _has_texts(raw, "data", optional=("mimeType",)):
        return ImageContent(raw) if kind == "image" else AudioContent(raw)
    if kind == "resource" and _is_resource(as_dict(raw.get("resource"))):
        return ResourceContent(raw["resource"])
    if kind == "resource_link" and _has_texts(raw, "uri", optional=("name", "description", "mimeType")):
        return ResourceLink(raw)
    return attribute_access(block)


def _is_text(block: object) -> bool:
    raw = as_dict(block)
    return raw.get("type") == "text" and isinstance(raw.get("text"), str)


def _is_resource(raw: Mapping[str, object]) -> bool:
    return any(_has_texts(raw, key, optional=("uri", "mimeType")) for key in ("text", "blob"))


def _has_texts(raw: Mapping[str, object], needed: str, optional: tuple[str, ...]) -> bool:
    return isinstance(raw.get(needed), str) and all(isinstance(raw.get(key, ""), (str, type(None))) for key in optional)


def _parsed(text: str) -> object:
    """`text` parsed if it is a JSON object or array; any other text stays text, so `"42"` is a `TextResult`."""
    if text.lstrip(" \t\r\n")[:1] in ("{", "["):
        try:
            return attribute_access(json.loads(text))
        except (ValueError, RecursionError):
            pass
    return text if isinstance(text, TextResult) else TextResult(text)


def _unwrapped(structured: object, blocks: list[object]) -> object:
    """The value in `{"result": value}`, the envelope that Python servers put around non-objects.

    A server that really returns an object with that single key repeats the object as its text; then it is kept.
    """
    envelope = as_dict(structured)
    if len(envelope) != 1 or "result" not in envelope:
        return structured
    texts = [as_dict(block)["text"] for block in blocks if _is_text(block)]
    if len(texts) == 1 and texts[0].lstrip().startswith("{") and _parsed(texts[0]) == envelope:
        return structured
    return envelope["result"]


def _is_copy_of(structured: object, blocks: list[object]) -> bool:
    """Whether `structured` is `{"content": …}` and only repeats the blocks, as their text or as they are.

    `server-filesystem` answers like this. It declares the text a string, so a JSON file that was read stays text.
    """
    envelope = as_dict(structured)
    if len(envelope) != 1 or "content" not in envelope or not blocks:
        return False
    inner = envelope["content"]
    if isinstance(inner, str):
        return len(blocks) == 1 and _is_text(blocks[0]) and as_dict(blocks[0])["text"] == inner
    return inner == blocks


def _error_text(result: Mapping[str, object], blocks: list[object]) -> str:
    values = [_block_value(block, parse=False) for block in blocks]
    said = [value for value in values if not isinstance(value, _Content)]
    texts = [value if isinstance(value, str) else json.dumps(value) for value in said]
    text = "\n".join(part for part in texts if part.strip())
    if text:
        return text
    structured = result.get("structuredContent")
    others = {key: value for key, value in result.items() if key not in _KEYS_OF_RESULT}
    if structured is None and not others:
        return "the tool failed without giving a reason"
    return json.dumps(others if structured is None else structured)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
