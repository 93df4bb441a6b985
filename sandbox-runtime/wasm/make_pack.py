"""Packs the standard library and the time zone data into one file that is read by offset.

Layout: 4 bytes with the little-endian length of the index; the index, JSON in UTF-8, `{path below /: [offset, length]}`
sorted by path; the contents one after another, equal ones once. Offsets count from the end of the index.

Runs on the build's Python, which has no extension modules, so it imports only modules written in Python.
"""

import argparse
import importlib.util
import json
import marshal
import os

MODULES = "usr/local/lib/python3.14"
ZONES = "usr/share/zoneinfo"

# Packages and modules that are useless in the sandbox: tests, desktop and installation tools, examples.
LEFT_OUT = frozenset(
    {
        *("test", "idlelib", "tkinter", "turtle.py", "turtledemo", "curses", "ensurepip", "venv", "site-packages"),
        *("antigravity.py", "this.py", "__hello__.py", "__phello__", "__pycache__", "lib-dynload"),
        *("_android_support.py", "_apple_support.py", "_ios_support.py"),
    }
)
# In zoneinfo: zones with leap seconds, duplicates, and files that are not zones.
ZONES_LEFT_OUT = frozenset(
    {"right", "posix", "posixrules", "localtime", "leap-seconds.list", "leapseconds", "+VERSION"}
)


class Pack:
    """Contents in the order in which they were added, and their index."""

    def __init__(self) -> None:
        self.index: dict[str, tuple[int, int]] = {}
        self._data = bytearray()
        self._offsets: dict[bytes, int] = {}

    def add(self, path: str, content: bytes) -> None:
        offset = self._offsets.setdefault(content, len(self._data))
        if offset == len(self._data):
            self._data += content
        self.index[path] = (offset, len(content))

    def write(self, path: str) -> None:
        index = json.dumps(dict(sorted(self.index.items())), separators=(",", ":")).encode()
        with open(path, "wb") as file:
            file.write(len(index).to_bytes(4, "little") + index + self._data)


def files_below(folder: str, left_out: frozenset[str]) -> list[str]:
    """Sorted paths relative to the folder, without the given names."""
    found: list[str] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in left_out]
        found += [os.path.relpath(os.path.join(parent, name), folder) for name in files if name not in left_out]
    return sorted(found)


def add_module(pack: Pack, name: str, source: bytes) -> None:
    """Adds source and bytecode with an unchecked hash, so the source is read only for tracebacks."""
    path = f"{MODULES}/{name}"
    code = compile(source, f"/{path}", "exec", dont_inherit=True, optimize=0)
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
    parent, _, file = path.rpartition("/")
    pack.add(f"{parent}/__pycache__/{file[:-3]}.cpython-314.pyc", header + marshal.dumps(code))
    pack.add(path, source)


def build_variables(folder: str, build_folder: str) -> tuple[str, bytes]:
    """The module with the build variables for sysconfig, without paths of this machine."""
    [name] = [name for name in os.listdir(folder) if name.startswith("_sysconfigdata_") and name.endswith(".py")]
    namespace: dict[str, dict[str, object]] = {}
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        exec(file.read(), namespace)
    variables = namespace["build_time_vars"]
    lines = [f"    {key!r}: {value!r},".replace(build_folder, "/build") for key, value in sorted(variables.items())]
    return name, "\n".join(["build_time_vars = {", *lines, "}", ""]).encode()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True, help="the Lib folder of the sources")
    parser.add_argument("--sysconfig", required=True, help="folder with _sysconfigdata_*.py")
    parser.add_argument("--build-folder", required=True, help="path to remove from the build variables")
    parser.add_argument("--zoneinfo", required=True, help="folder of compiled time zones")
    parser.add_argument("pack", help="file to write")
    options = parser.parse_args()

    pack = Pack()
    for name in files_below(options.library, LEFT_OUT):
        if name.endswith(".py"):
            with open(os.path.join(options.library, name), "rb") as file:
                add_module(pack, name, file.read())
    add_module(pack, *build_variables(options.sysconfig, options.build_folder))
    for name in files_below(options.zoneinfo, ZONES_LEFT_OUT):
        with open(os.path.join(options.zoneinfo, name), "rb") as file:
            pack.add(f"{ZONES}/{name}", file.read())
    pack.write(options.pack)
    print(f"{len(pack.index)} files, {os.path.getsize(options.pack)} bytes")


main()
