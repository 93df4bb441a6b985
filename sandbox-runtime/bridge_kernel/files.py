"""Arguments that are files: bytes and what has some, as the text in base64 that the tool takes."""

from __future__ import annotations

from bridge_kernel.arguments import NotJsonError
from bridge_kernel.schema_values import UNKNOWN, is_array
from bridge_kernel.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_file(value: object, schema: object) -> object:
    """`value` as the schema of its argument asks for it, if that is a file or a list of files; otherwise unchanged.

    Raises:
        NotJsonError: a file is expected, and the value is none.
    """
    facts = as_dict(schema)
    if _is_file(facts):
        return _encoded(value)
    if _is_file(as_dict(facts.get("items"))) and is_array(value) and not _is_pair(value):
        return [_encoded(item) for item in value]
    return value


def _is_file(facts: dict[str, Any]) -> bool:
    is_base64 = facts.get("contentEncoding") == "base64"
    return is_base64 and facts.get("contentMediaType") == "application/octet-stream"


def _is_pair(value: Any) -> bool:
    return is_array(value) and len(value) == 2 and isinstance(value[0], str) and not isinstance(value[1], str)


def _encoded(value: Any) -> object:
    if value is None or value is UNKNOWN:
        return value
    if _is_pair(value):
        name, content = value
        return _address(str(name), _bytes_of(content))
    if hasattr(value, "__fspath__"):
        with open(value, "rb") as file:
            return _address(str(value), file.read())
    if hasattr(value, "read"):
        return _address(str(getattr(value, "name", "")), _bytes_of(value.read()))
    mime_type = getattr(value, "mime_type", None)
    if isinstance(mime_type, str) and not isinstance(value, (str, bytes)):
        return f"data:{mime_type};base64,{_base64(_bytes_of(value.data))}"
    return _base64(_bytes_of(value))


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, memoryview):
        return value.tobytes()
    what = "a str; pass bytes, such as text.encode()" if isinstance(value, str) else f"a {type(value).__name__}"
    raise NotJsonError(f"is {what}; a file is bytes, (name, bytes), an open file or a Path")


def _address(path: str, content: bytes) -> str:
    """With a name and the type that it suggests (RFC 2397)."""
    import mimetypes
    from os.path import basename
    from urllib.parse import quote

    name = basename(path)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    parameter = f";name={quote(name)}" if name else ""
    return f"data:{kind}{parameter};base64,{_base64(content)}"


def _base64(content: bytes) -> str:
    import binascii

    return binascii.b2a_base64(content, newline=False).decode()
