"""Encodes and decodes frames. Mirrors `src/core/protocol/frames.ts`; a test compares it with the generated JSON Schema.

A frame is one line of JSON. Escaping to ASCII keeps other line separators and lone surrogates out of the bytes. A part
of a checkpoint, of a large result or of a stream follows its frame as bytes, with a line feed at the end.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeGuard

PROTOCOL_VERSION = 1

Frame = dict[str, object]

# type: (required keys, optional keys), without `type` itself.
_STREAM_FRAMES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "egress_data": (frozenset({"stream", "bytes"}), frozenset()),
    "egress_end": (frozenset({"stream"}), frozenset()),
    "egress_reset": (frozenset({"stream"}), frozenset()),
    "egress_taken": (frozenset({"stream", "bytes"}), frozenset()),
}

HOST_FRAMES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "hello": (
        frozenset({
            "protocol_version", "session", "generation", "kept_output_bytes",
            "stored_output_bytes", "max_value_chars", "max_line_bytes",
            "max_display_bytes",
            "max_displays", "max_reported_names", "saved_tools", "capability_summary",
        }),
        frozenset({"autoload", "command", "egress", "no_packages"}),
    ),
    "execute": (frozenset({"cell", "code", "servers"}), frozenset({"discovered", "restore"})),
    "interrupt": (frozenset({"cell", "reason", "sent_before"}), frozenset()),
    "answer_part": (frozenset({"call", "data"}), frozenset()),
    "answer_bytes": (frozenset({"call", "total", "bytes"}), frozenset()),
    "answer": (frozenset({"call", "ok"}), frozenset({"value", "parts", "error"})),
    "call_progress": (frozenset({"call", "progress"}), frozenset({"total", "message"})),
    "save_checkpoint": (frozenset({"checkpoint", "max_bytes", "memory_bytes", "may_block"}), frozenset()),
    "checkpoint_taken": (frozenset({"checkpoint"}), frozenset()),
    "checkpoint_data": (frozenset({"bytes"}), frozenset()),
    **_STREAM_FRAMES,
}  # fmt: skip

SANDBOX_FRAMES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "code_pack": (frozenset({"data"}), frozenset()),
    "ready": (frozenset({"protocol_version", "python_version", "platform"}), frozenset({"python"})),
    "output": (frozenset({"cell", "stream", "text"}), frozenset({"dropped_bytes", "dropped_lines"})),
    "call": (frozenset({"call", "method", "params"}), frozenset({"job", "step"})),
    "job_ended": (frozenset({"name"}), frozenset()),
    "cancel_call": (frozenset({"call"}), frozenset()),
    "display": (frozenset({"cell", "mime_type"}), frozenset({"base64", "text"})),
    "progress": (frozenset({"done"}), frozenset({"total", "message"})),
    "checkpoint_part": (frozenset({"checkpoint", "bytes"}), frozenset({"restart"})),
    "checkpoint_end": (frozenset({"checkpoint", "ok"}), frozenset({"variables", "files", "lost", "omitted", "reason"})),
    "want_checkpoint": (frozenset({"offset", "size"}), frozenset()),
    "restored": (frozenset({"variables", "files", "lost", "omitted"}), frozenset()),
    "egress_open": (frozenset({"stream"}), frozenset()),
    **_STREAM_FRAMES,
    "result": (
        frozenset({"cell", "outcome"}),
        frozenset({"value", "error", "exit_code", "names", "imported", "memory_bytes", "missed_frames"}),
    ),
}

_MEMBERS = {kind: {"type"} | required | optional for kind, (required, optional) in HOST_FRAMES.items()}


class FrameError(ValueError):
    """A line that is not a frame. `code` is one of `errors.CODES`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


_CONTAINERS: tuple[type[object], ...] = (dict, list, tuple)

# One encoder for all frames: with arguments that are not the defaults, json.dumps builds an encoder at every call.
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=True, separators=(",", ":")).encode


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def encode_frame(frame: Frame) -> bytes:
    """The frame as one line.

    Raises ValueError for NaN, infinities, circular values and colliding keys, TypeError for unsupported types.
    """
    line = _encode(frame).encode("ascii") + b"\n"
    if frame["type"] == "call":  # No other frame contains values made by user code.
        _refuse_equal_keys(frame["params"])
    return line


def _refuse_equal_keys(value: object) -> None:
    """Raises ValueError for a dict with keys such as 1 and "1": JSON would hold both, and the reader would keep one."""
    members: Iterable[object] = ()
    if _is_dict(value):
        for key in value:
            if not isinstance(key, str):
                if len({_encode({key: 0}) for key in value}) < len(value):
                    raise ValueError("two keys of a dictionary are the same text in JSON")
                break
        members = value.values()
    elif _is_sequence(value):
        members = value
    for member in members:
        if isinstance(member, _CONTAINERS):  # Asked here, because most members are none, and a call takes time.
            _refuse_equal_keys(member)


def _is_dict(value: object) -> TypeGuard[dict[object, object]]:
    return isinstance(value, dict)


def _is_frame(value: object) -> TypeGuard[Frame]:
    return isinstance(value, dict)  # Keys in JSON are always strings.


def _is_sequence(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, (list, tuple))


def decode_frame(line: bytes) -> Frame:
    """Parses a line as a frame from the host. Raises FrameError if it is not one."""
    try:
        # Not `json.loads(line)`: given bytes, it guesses UTF-16 and accepts a byte order mark.
        frame: object = _decode(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FrameError("PROTOCOL_VIOLATION", f"not JSON: {error}") from error
    if not _is_frame(frame):
        raise FrameError("PROTOCOL_VIOLATION", "not a JSON object")
    kind = frame.get("type")
    fields = HOST_FRAMES.get(kind) if isinstance(kind, str) else None
    if fields is None:
        raise FrameError("PROTOCOL_VIOLATION", f"unknown frame type {kind!r}")
    required, optional = fields
    if not required <= frame.keys() or not frame.keys() <= _MEMBERS[str(kind)]:
        keys = frame.keys() - {"type"}
        raise FrameError("PROTOCOL_VIOLATION", f"{kind}: missing {sorted(required - keys)}, "
                         f"unknown {sorted(keys - required - optional)}")  # fmt: skip
    return frame
