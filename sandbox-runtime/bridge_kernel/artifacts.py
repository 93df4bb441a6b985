"""`runtime.save_artifact` and its relatives: files that outlive the sandbox, sent through the pipe in pieces."""

from __future__ import annotations

import io
import os

from bridge_kernel import values
from bridge_kernel.attr_dict import attribute_access
from bridge_kernel.errors import MCPError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bridge_kernel.servers import Host

# Its base64 is well below the longest line that the host accepts, and short enough not to delay an interrupt.
_PIECE_BYTES = 1 << 20
_MAX_PATH_CHARS = 4096
_MODES = ("rb", "r", "wb", "w")


def save(host: Host, name: str, data: object) -> Any:
    """Sends the bytes and returns the artifact's metadata. Raises TypeError if `data` has no bytes, and MCPError."""
    import base64

    offset = 0
    pending: str | None = None
    for piece in _pieces(data):
        if pending is not None:
            host.call_sync("save_artifact", {"name": name, "offset": offset, "data": pending, "last": False})
            offset += _PIECE_BYTES
        pending = base64.b64encode(piece).decode("ascii")
    saved = host.call_sync("save_artifact", {"name": name, "offset": offset, "data": pending or "", "last": True})
    return attribute_access(saved)


def _pieces(data: Any) -> Iterator[bytes]:
    """The bytes in order. A `str` that names an existing file means that file; any other `str` is text."""
    if isinstance(data, os.PathLike) or (isinstance(data, str) and _is_file(data)):
        with open(data, "rb") as file:  # pyright: ignore[reportUnknownArgumentType]
            while piece := file.read(_PIECE_BYTES):
                yield piece
        return
    try:
        view = memoryview(_content_of(data)).cast("B")
    except TypeError:
        raise TypeError(
            f"data must be bytes, a str, a path or the content of a tool result, not {type(data).__name__}; "
            "convert it first, for example with json.dumps or DataFrame.to_csv()"
        ) from None
    for start in range(0, len(view), _PIECE_BYTES):
        yield bytes(view[start : start + _PIECE_BYTES])


def _content_of(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    # The content of a tool result keeps its bytes in `data`; `bytes` and similar types have no such attribute.
    return getattr(data, "data", data)


def _is_file(text: str) -> bool:
    return len(text) <= _MAX_PATH_CHARS and "\n" not in text and "\0" not in text and os.path.isfile(text)


def load(host: Host, name: str, session: str | None) -> bytes:
    """The bytes of an artifact of this session, or of the named one."""
    import base64

    data = bytearray()
    while True:
        params: dict[str, object] = {"name": name, "offset": len(data), "length": _PIECE_BYTES}
        if session is not None:
            params["session"] = session
        part = values.as_dict(host.call_sync("load_artifact", params))
        data += base64.b64decode(str(part["data"]))
        if len(data) >= int(part["size"]):
            return bytes(data)
        if not part["data"]:
            raise MCPError(f"the artifact {name!r} was truncated while it was being read", "CALL_REFUSED")


class _NewArtifact(io.BytesIO):
    """A file that becomes an artifact when it is closed, but not if its `with` block failed."""

    def __init__(self, host: Host, name: str) -> None:
        super().__init__()
        self._host = host
        self._name = name

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.discard()
        self.close()

    def discard(self) -> None:
        """Closes the file without saving it."""
        super().close()

    def close(self) -> None:
        """Saves the content. Closing a second time does nothing."""
        if not self.closed:
            data = self.getvalue()
            super().close()
            save(self._host, self._name, data)


class _NewText(io.TextIOWrapper):
    """The same for text."""

    def __init__(self, file: _NewArtifact) -> None:
        super().__init__(file, "utf-8", newline="")
        self._file = file

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._file.discard()
        self.close()

    def close(self) -> None:
        """Saves the content, unless it was discarded."""
        if not self._file.closed:
            super().close()


def open_file(host: Host, name: str, mode: str, session: str | None) -> Any:
    """A file object on an artifact. Raises ValueError for any mode but `r`, `rb`, `w` and `wb`."""
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _MODES))}, not {mode!r}")
    is_text = "b" not in mode
    if mode.startswith("r"):
        data = io.BytesIO(load(host, name, session))
        return io.TextIOWrapper(data, "utf-8") if is_text else data
    if session is not None:
        raise ValueError("files can be saved in this session only: leave out `session`")
    file = _NewArtifact(host, name)
    return _NewText(file) if is_text else file


def listing(host: Host) -> tuple[Any, ...]:
    """Metadata of all artifacts."""
    return tuple(values.as_list(attribute_access(host.call_sync("list_artifacts", {}))))
