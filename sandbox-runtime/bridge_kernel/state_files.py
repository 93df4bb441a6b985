"""The files of a session as bytes and back: its folder, with links as links and without what other mounts hold."""

from __future__ import annotations

import os
import pickle
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge_kernel.state_pickle import Lost, Sink, Source

# Kind, path, mode, time of modification in ns, target of a link.
Entry = tuple[str, str, int, int, str]
_CHUNK_BYTES = 1 << 20
_LENGTH_BYTES = 4
# The folders of a sandbox that code can write to.
_SCRATCH = ("/tmp", "/workspace", "/dev/shm")
# Hidden ones, such as caches of libraries; what the kernel, `multiprocessing` and joblib put there.
_NOT_OF_CELLS = (".", "bridge-", "pymp-", "sem.", "psm_", "joblib_", "loky-")


class FilesChangedError(Exception):
    """A file changed while it was read."""


def dump(folder: str, file: Sink) -> tuple[int, Lost]:
    """Writes the files below `folder`; returns their number and what is not kept. Raises FilesChangedError."""
    lost: Lost = {}
    count = 0
    for path, status in _walk(folder):
        name = os.path.relpath(path, folder)
        if stat.S_ISLNK(status.st_mode):
            _dump_entry(("link", name, 0, status.st_mtime_ns, os.readlink(path)), file)
        elif stat.S_ISDIR(status.st_mode):
            _dump_entry(("folder", name, stat.S_IMODE(status.st_mode), status.st_mtime_ns, ""), file)
        elif not stat.S_ISREG(status.st_mode):
            lost[name] = "a pipe, a socket or a device"
            continue
        elif not os.access(path, os.R_OK):
            lost[name] = "a file that cannot be read"
            continue
        else:
            _dump_entry(("file", name, stat.S_IMODE(status.st_mode), status.st_mtime_ns, ""), file)
            _dump_content(path, status, file)
            count += 1
    file.write(pickle.dumps(None))
    return count, lost


def elsewhere(folder: str) -> Lost:
    """The scratch folders beside that of the session in which cells have put something: it is not kept."""
    lost: Lost = {}
    for scratch in _SCRATCH:
        if os.path.realpath(scratch) == os.path.realpath(folder):
            continue
        try:
            names = os.listdir(scratch)
        except OSError:
            continue  # This engine does not mount it.
        if any(not name.startswith(_NOT_OF_CELLS) for name in names):
            lost[f"*{os.path.basename(scratch)}"] = "files outside of /workspace"
    return lost


def _walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    device = os.lstat(folder).st_dev
    todo = [folder]
    while todo:
        with os.scandir(todo.pop()) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            status = entry.stat(follow_symlinks=False)
            # Another mount: what a user shares with the sandbox is not the session's.
            if status.st_dev != device:
                continue
            yield entry.path, status
            if stat.S_ISDIR(status.st_mode) and os.access(entry.path, os.R_OK | os.X_OK):
                todo.append(entry.path)


def _dump_entry(entry: Entry, file: Sink) -> None:
    file.write(pickle.dumps(entry))


def _dump_content(path: str, status: os.stat_result, file: Sink) -> None:
    with open(path, "rb", buffering=0) as content:
        while data := content.read(_CHUNK_BYTES):
            file.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
            file.write(data)
        now = os.fstat(content.fileno())
    if (now.st_mtime_ns, now.st_size) != (status.st_mtime_ns, status.st_size):
        raise FilesChangedError(path)
    file.write(bytes(_LENGTH_BYTES))


def load(folder: str, file: Source) -> tuple[int, Lost]:
    """Writes the files to `folder`; returns their number and those that could not be written."""
    lost: Lost = {}
    count = 0
    folders: list[Entry] = []
    unpickle = pickle.Unpickler(file).load
    while (entry := unpickle()) is not None:
        kind, name, mode, _, target = entry
        path = os.path.join(folder, name)
        try:
            if kind == "folder":
                os.makedirs(path, exist_ok=True)
                folders.append(entry)
            elif kind == "link":
                if not os.path.lexists(path):
                    os.symlink(target, path)
                    _set_time(path, entry)
        except OSError as error:
            lost[name] = str(error.strerror)
        if kind == "file":
            reason = _load_content(path, mode, file)
            if reason is None:
                count += 1
                _set_time(path, entry)
            else:
                lost[name] = reason
    # Last, because a folder may allow no writing, and writing changes its time.
    for entry in reversed(folders):
        path = os.path.join(folder, entry[1])
        if os.path.isdir(path):
            os.chmod(path, entry[2])
            _set_time(path, entry)
    return count, lost


def _load_content(path: str, mode: int, file: Source) -> str | None:
    """Writes one file. Reads all of it, even if it cannot be written; returns the reason then."""
    reason = None
    descriptor = -1
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        reason = str(error.strerror)
    while length := int.from_bytes(file.read(_LENGTH_BYTES), "big"):
        data = memoryview(file.read(length))
        try:
            while data and reason is None:
                data = data[os.write(descriptor, data) :]
        except OSError as error:
            reason = str(error.strerror)
    if descriptor >= 0:
        os.close(descriptor)
        if reason is None:
            os.chmod(path, mode)
        else:
            os.unlink(path)
    return reason


def _set_time(path: str, entry: Entry) -> None:
    if os.utime in os.supports_follow_symlinks or entry[0] != "link":
        os.utime(path, ns=(entry[3], entry[3]), follow_symlinks=entry[0] != "link")
