"""The first code in the sandbox, run as `python3 -c`: reads the kernel's sources from stdin and starts the supervisor.

The blob is one header line, `name:length name:length …`, followed by the parts in that order. This code imports only
modules that a bare interpreter has already loaded, and it reads nothing beyond the blob: the bytes after it are frames.
It uses no names of the kernel, because it runs before any kernel module exists.
"""

from __future__ import annotations

import os
import stat
import sys


def take_descriptor() -> None:
    """Makes descriptor 3, a socket to the host, stdin and stdout."""
    try:
        is_passed_on = stat.S_ISSOCK(os.fstat(3).st_mode)
    except OSError:
        is_passed_on = False
    if not is_passed_on:
        os.write(2, b"descriptor 3 was not passed on\n")
        os._exit(70)
    os.dup2(3, 0)
    os.dup2(3, 1)
    os.close(3)


def read_exactly(size: int) -> bytes:
    pieces: list[bytes] = []
    while size:
        piece = os.read(0, min(size, 1 << 20))
        if not piece:
            os._exit(0)
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


if sys.argv[1:] == ["--descriptor"]:
    del sys.argv[1:]
    take_descriptor()
header = bytearray()
while not header.endswith(b"\n"):
    header += read_exactly(1)
parts: dict[str, bytes] = {}
for item in header.decode("ascii").split():
    part_name, _, part_size = item.partition(":")
    parts[part_name] = read_exactly(int(part_size))
# Registered under its name, so that the kernel finds this instance instead of creating another.
importer = sys.modules["bridge_kernel.importer"] = type(sys)("bridge_kernel.importer")
exec(compile(parts["importer"], "<bridge_kernel>/importer.py", "exec"), importer.__dict__)
importer.install(parts)
from bridge_kernel import supervisor  # noqa: E402 Importable only now.

supervisor.run(parts["options"])
