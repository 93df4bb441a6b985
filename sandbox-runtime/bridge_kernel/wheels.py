"""Wheels that a sandbox without a package store gets through its pipe, and unpacks itself.

Each has a folder of its own in `sys.path`. Nothing in a wheel runs: a `.pth` file has no effect, because only `site`
reads those. A hostile wheel can write what the code of this session could write, and fill only a volume of its own.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys

from bridge_kernel.errors import MCPError
from bridge_kernel.processes import share_packages
from bridge_kernel.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from zipfile import ZipFile, ZipInfo

    from bridge_kernel.servers import Host

_FOLDER = "/packages"
_METHOD = "read_wheel"


async def use(wheels: list[Any], host: Host) -> bool:
    """Unpacks the wheels that are not here yet, and adds them to `sys.path`. Returns whether the host had them all."""
    added: list[str] = []
    try:
        for wheel in map(as_dict, wheels):
            folder = f"{_FOLDER}/{wheel['sha256']}"
            if os.path.isdir(folder):
                continue
            content = await _read(str(wheel["sha256"]), host)
            if content is None:
                return False
            _unpack(str(wheel["file"]), content, folder)
            added.append(folder)
    except BaseException:
        # All of a request or nothing.
        for folder in added:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    sys.path += added
    for folder in added:
        share_packages(folder)
    return True


async def _read(sha256: str, host: Host) -> bytearray | None:
    """The wheel; None if the host has it no more."""
    import base64

    content = bytearray()
    while True:
        try:
            part = as_dict(await host.call(_METHOD, {"sha256": sha256, "offset": len(content)}))
        except MCPError:
            return None
        piece = base64.b64decode(str(part["data"]))
        content += piece
        if not piece or len(content) >= part["size"]:
            return content


def _unpack(name: str, content: bytearray, folder: str) -> None:
    import io
    import zipfile

    partial = f"{folder}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _extract(archive, name, partial)
        os.rename(partial, folder)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, FileExistsError, NotADirectoryError) as error:
        raise _refusal(f"{name} is not a valid wheel: {error}") from None
    except OSError as error:
        raise _refusal(f"{name} could not be unpacked in {_FOLDER}: {error.strerror}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _extract(archive: ZipFile, name: str, folder: str) -> None:
    os.mkdir(folder)
    for entry in archive.infolist():
        target = _target(entry, name)
        if target is None:
            continue
        path = os.path.join(folder, target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with archive.open(entry) as source, open(path, "xb") as file:
            shutil.copyfileobj(source, file)


def _target(entry: ZipInfo, wheel: str) -> str | None:
    """Where a file goes, None if nowhere: scripts, headers and data have no use here. As the builder decides it."""
    parts = entry.filename.split("/")
    if entry.filename.endswith("/"):
        return None
    if any(part in ("", ".", "..") for part in parts) or "\\" in entry.filename:
        raise _refusal(f"{wheel} has a file with the unusable name {entry.filename[:80]!r}")
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        raise _refusal(f"{wheel} has {entry.filename[:80]!r}, which is not a regular file")
    if parts[0].endswith(".data"):
        return "/".join(parts[2:]) if len(parts) > 2 and parts[1] in ("purelib", "platlib") else None
    return entry.filename


def _refusal(message: str) -> MCPError:
    return MCPError(message, "PACKAGE_UNAVAILABLE", hint="Choose another version; nothing was installed.")
