"""The first code in the sandbox, run as `python3 -c`: reads the kernel's sources from stdin and starts the supervisor.

The blob is the length of its header in 8 digits, the header `name:length name:length …`, and the parts in that order.
This code imports only modules that a bare interpreter has loaded or contains, and it reads nothing beyond the blob: the
bytes after it are frames. It uses no names of the kernel, because it runs before any kernel module exists.
"""

from __future__ import annotations

import _imp
import gc
import marshal
import os
import stat
import sys
from _frozen_importlib_external import MAGIC_NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

# Until the kernel is loaded: hardly anything of it becomes garbage.
gc.disable()


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


def read_exactly(size: int) -> bytearray:
    data = bytearray(size)
    left = memoryview(data)
    while left:
        count = os.readv(0, [left])
        if not count:
            os._exit(0)
        left = left[count:]
    return data


def importer_code(source: bytearray, pack: bytearray) -> CodeType:
    """The code in the pack, if it was compiled from this source; see `importer.py`. Compiling it takes 4 ms."""
    if pack.startswith(MAGIC_NUMBER):
        try:
            # Behind three lengths of 4 bytes.
            source_hash, code = marshal.loads(memoryview(pack)[len(MAGIC_NUMBER) + 12 :])
            if source_hash == _imp.source_hash(0, source) and type(code) is type(importer_code.__code__):
                return code
        except (ValueError, EOFError, TypeError):
            pass  # Damaged. The importer makes another one.
    return compile(source, "<bridge_kernel>/importer.py", "exec")


if sys.argv[1:] == ["--descriptor"]:
    del sys.argv[1:]
    take_descriptor()
parts: dict[str, bytearray] = {}
for item in read_exactly(int(read_exactly(8))).decode("ascii").split():
    part_name, _, part_size = item.partition(":")
    parts[part_name] = read_exactly(int(part_size))
# Registered under its name, so that the kernel finds this instance instead of creating another.
importer = sys.modules["bridge_kernel.importer"] = type(sys)("bridge_kernel.importer")
own_code = importer_code(parts["importer"], parts.get("pack", bytearray()))
exec(own_code, importer.__dict__)
importer.install(parts, own_code)
from bridge_kernel import supervisor  # noqa: E402 Importable only now.

supervisor.run(parts["options"])
