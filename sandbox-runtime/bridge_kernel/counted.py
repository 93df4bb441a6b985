"""Numbers of things, as they are written in messages."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """`1 byte`, `1,024 bytes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
