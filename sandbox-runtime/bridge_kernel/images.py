"""Recognizes, validates and scales encoded images to fit into an answer.

Scaling needs Pillow, which the standard image lacks; without it, images that are too large are left out with a reason.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Models scale images down to about this size, so more pixels only cost.
MAX_PIXELS = 1568
# Five such images fill an answer. Chosen.
MAX_BYTES = 1 << 20
_JPEG_QUALITY = 85
# Set in the first letter of a PNG chunk that decoders may ignore (PNG specification 5.4).
_ANCILLARY = 0x20
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class ImageError(ValueError):
    """An image that cannot be shown. The message is a predicate: "is damaged"."""


class Image:
    """An encoded image; `size` is width and height in pixels, None if unknown."""

    def __init__(self, data: bytes, mime_type: str, size: tuple[int, int] | None) -> None:
        self.data = data
        self.mime_type = mime_type
        self.size = size


def image_type(data: bytes) -> str | None:
    """The MIME type from the file signature, for formats that clients show; otherwise None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), None)


def fit(data: bytes, mime_type: str) -> Image:
    """The image, scaled down if necessary. Raises ImageError if it is damaged or cannot be made small enough."""
    size = None
    if mime_type == "image/png":
        size, data = _checked_png(data)
    if len(data) <= MAX_BYTES and (size is None or max(size) <= MAX_PIXELS):
        return Image(data, mime_type, size)
    return _scaled(data)


def from_pillow(picture: Any) -> Image:
    """A Pillow image as PNG, or as JPEG if the PNG is too large."""
    if max(picture.size) > MAX_PIXELS:
        picture = picture.copy()
        picture.thumbnail((MAX_PIXELS, MAX_PIXELS))
    if picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    data = _encoded(picture, "PNG")
    if len(data) <= MAX_BYTES:
        return Image(data, "image/png", picture.size)
    data = _encoded(picture.convert("RGB"), "JPEG", quality=_JPEG_QUALITY)
    if len(data) > MAX_BYTES:
        raise ImageError(f"has {len(data):,} bytes as JPEG; the limit is {MAX_BYTES:,}")
    return Image(data, "image/jpeg", picture.size)


def _scaled(data: bytes) -> Image:
    import importlib
    import io

    try:
        pillow: Any = importlib.import_module("PIL.Image")
    except ImportError:
        raise ImageError(
            f"is larger than {MAX_BYTES:,} bytes or {MAX_PIXELS} pixels, and Pillow is not installed to scale it"
        ) from None
    try:
        picture = pillow.open(io.BytesIO(data))
        picture.load()
    except Exception as error:
        raise ImageError(f"cannot be decoded: {error}") from error
    return from_pillow(picture)


def _encoded(picture: Any, form: str, **options: int) -> bytes:
    import io

    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def _checked_png(data: bytes) -> tuple[tuple[int, int], bytes]:
    """The size and the bytes, after verifying all chunks (PNG specification 5.3). Raises ImageError if damaged.

    Damaged chunks that decoders may ignore, such as a color profile, are left out: some decoders would refuse the file.
    """
    from zlib import crc32

    position, size = 8, None
    damaged: list[tuple[int, int]] = []
    while position + 12 <= len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        end = position + 8 + length
        kind = data[position + 4 : position + 8]
        if end + 4 > len(data):
            break
        if crc32(data[position + 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            if not kind[0] & _ANCILLARY:
                break
            damaged.append((position, end + 4))
        if kind == b"IHDR" and length == 13:
            size = (int.from_bytes(data[position + 8 : position + 12], "big"),
                    int.from_bytes(data[position + 12 : position + 16], "big"))  # fmt: skip
        if kind == b"IEND" and size is not None:
            return size, _without(data, damaged)
        position = end + 4
    raise ImageError("is damaged")


def _without(data: bytes, parts: list[tuple[int, int]]) -> bytes:
    if not parts:
        return data
    kept: list[bytes] = []
    position = 0
    for start, end in parts:
        kept.append(data[position:start])
        position = end
    return b"".join((*kept, data[position:]))


def is_pillow(value: object) -> bool:
    """Whether the value is a Pillow image. Does not import Pillow."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)
