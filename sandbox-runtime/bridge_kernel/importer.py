"""Imports the kernel from memory, and standard modules from code that an earlier sandbox compiled.

Common images contain no `.pyc` files, and a read-only root cannot store them, so importing asyncio compiles about 110
modules: 224 ms at every start instead of 39 ms (measured). A sandbox without a usable *code pack* therefore records
the code objects that it compiles until it is ready and sends them to the host, which gives them to the next sandbox of
the same image. An entry is valid only for the same source file, by size and modification time as for a `.pyc`
(PEP 3147), and only for the same interpreter, by magic number.

A pack is the magic number, the lengths of its three parts in 4 bytes each (little-endian), and the parts: the hash of
this module's source with its code, for the loader; the table; the block, which is all other code. The first two, and
each code in the block, are marshaled.
"""

from __future__ import annotations

import _imp
import marshal
import os
import sys

# The frozen parts of `importlib`, which every interpreter has loaded. Importing `importlib.util` itself compiles four
# modules if there is no pack: 6 ms at every start (measured).
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from importlib.abc import Loader

    Bytes = bytes | bytearray

PACKAGE = "bridge_kernel"
# The file name prefix of kernel modules; tracebacks omit frames whose file starts with it.
FILE_PREFIX = "<bridge_kernel>"

_LENGTH_BYTES = 4
_HEAD_BYTES = len(MAGIC_NUMBER) + 3 * _LENGTH_BYTES
# Source of a compiled module: file, modification time in ns, size in bytes, whether it is a package.
Origin = tuple[str, int, int, bool]
# The same, plus start and end of the marshaled code in the pack's block.
PackEntry = tuple[str, int, int, bool, int, int]


class MemoryLoader:
    """Loads a kernel module from its source text, or from the pack if it was compiled from the same source."""

    def __init__(self, importer: Importer, name: str, source: Bytes) -> None:
        self.importer = importer
        self.name = name
        self.source = source

    def create_module(self, spec: ModuleSpec) -> None:
        """Returns None: the import system creates the module."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs the module's code in its namespace."""
        exec(self.get_code(self.name), module.__dict__)

    def get_code(self, name: str) -> types.CodeType:
        """The compiled source; from the pack if it was compiled from these bytes."""
        origin = f"{FILE_PREFIX}/{_imp.source_hash(0, self.source).hex()}"
        entry = self.importer.table.get(name)
        if entry is not None and entry[0] == origin:
            return self.importer.packed_code(entry)
        file = f"{FILE_PREFIX}/{name.rpartition('.')[2]}.py"
        code = compile(self.source, file, "exec", dont_inherit=True)
        self.importer.record(name, (origin, 0, len(self.source), False), code)
        return code

    def get_source(self, name: str) -> str:
        """The source text, for `linecache` and `inspect`."""
        return self.source.decode("utf-8")


class PackLoader(SourceFileLoader):
    """Loads a standard module from the code pack; its origin remains the source file."""

    importer: Importer

    def get_code(self, fullname: str) -> types.CodeType | None:
        """The code from the pack, or from the file once the pack has been released."""
        entry = self.importer.table.get(fullname)
        return super().get_code(fullname) if entry is None else self.importer.packed_code(entry)


class RecordingLoader(SourceFileLoader):
    """Loads a standard module from its file and records the compiled code."""

    importer: Importer

    def get_code(self, fullname: str) -> types.CodeType | None:
        """The module's code, compiled or read from its `.pyc` as usual."""
        code = super().get_code(fullname)
        if code is None:
            return None
        status = os.stat(self.path)
        origin = (self.path, status.st_mtime_ns, status.st_size, self.is_package(fullname))
        self.importer.record(fullname, origin, code)
        return code


class Importer:
    """A meta path finder that runs before the standard ones."""

    def __init__(self, parts: dict[str, Bytes], own_code: types.CodeType | None = None) -> None:
        """`own_code` is that of this module, for a pack."""
        self.own_code = own_code
        self.sources = {
            f"{PACKAGE}.{name}" if name != "__init__" else PACKAGE: source
            for name, source in parts.items()
            if name not in ("pack", "options")
        }
        self.table: dict[str, PackEntry] = {}
        # All code in one piece, so that releasing it returns the memory to the system at once.
        self.block: bytes | memoryview = b""
        self.recorded: dict[str, tuple[Origin, types.CodeType]] | None = {}
        self._load_pack(parts.pop("pack", b""))

    @property
    def makes_first_pack(self) -> bool:
        """Whether no earlier sandbox compiled what this one imports. False once recording has ended."""
        return self.recorded is not None and not self.table

    def _load_pack(self, data: Bytes) -> None:
        """Loads a pack of the same interpreter. A damaged or foreign one is ignored, and a new one is recorded."""
        if not data.startswith(MAGIC_NUMBER) or len(data) < _HEAD_BYTES:
            return
        places = range(len(MAGIC_NUMBER), _HEAD_BYTES, _LENGTH_BYTES)
        own, table_size, block_size = (int.from_bytes(data[at : at + _LENGTH_BYTES], "little") for at in places)
        start = _HEAD_BYTES + own
        if len(data) != start + table_size + block_size:
            return
        view = memoryview(data)
        try:
            table = marshal.loads(view[start : start + table_size])
        except (ValueError, EOFError, TypeError):
            return
        if isinstance(table, dict):
            self.table, self.block = table, view[start + table_size :]

    def packed_code(self, entry: PackEntry) -> types.CodeType:
        """The code of a table entry."""
        return marshal.loads(memoryview(self.block)[entry[4] : entry[5]])

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Finds kernel modules, then modules in the pack, then modules to record."""
        source = self.sources.get(fullname)
        if source is not None or fullname == PACKAGE:
            return self._kernel_spec(fullname, source or b"")
        entry = self.table.get(fullname)
        spec = self._packed_spec(fullname, entry) if entry is not None else None
        if spec is None and self.recorded is not None:
            # An outdated entry is recorded again: the image may have been replaced under the same name.
            spec = self._recording_spec(fullname, path)
        return spec

    def _kernel_spec(self, fullname: str, source: Bytes) -> ModuleSpec:
        file = f"{FILE_PREFIX}/{fullname.rpartition('.')[2]}.py"
        # Not derived from importlib.abc.Loader: importing that module here would mean compiling it.
        loader: Loader = MemoryLoader(self, fullname, source)  # pyright: ignore[reportAssignmentType]
        spec = ModuleSpec(fullname, loader, origin=file, is_package=fullname == PACKAGE)
        spec.has_location = True
        return spec

    def _packed_spec(self, fullname: str, entry: PackEntry) -> ModuleSpec | None:
        origin, mtime_ns, size, is_package, _, _ = entry
        try:
            status = os.stat(origin)
        except OSError:
            return None
        if status.st_mtime_ns != mtime_ns or status.st_size != size:
            return None
        loader = PackLoader(fullname, origin)
        loader.importer = self
        spec = ModuleSpec(fullname, loader, origin=origin, is_package=is_package)
        spec.has_location = True
        if is_package and spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(origin))
        return spec

    def _recording_spec(self, fullname: str, path: object) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path)  # pyright: ignore[reportArgumentType]
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return spec
        loader = RecordingLoader(fullname, spec.loader.path)
        loader.importer = self
        spec.loader = loader
        return spec

    def record(self, name: str, origin: Origin, code: types.CodeType) -> None:
        """Records compiled code, as long as recording is on."""
        if self.recorded is not None:
            self.recorded[name] = (origin, code)

    def finish_recording(self) -> bytes | None:
        """Ends recording and releases the pack. Returns the pack for the next sandbox, None if nothing was compiled."""
        pack = None
        if self.recorded:
            for name in self._not_imported():
                # Compiled now for the first cell that needs it.
                MemoryLoader(self, name, self.sources[name]).get_code(name)
            pack = self._make_pack(self.recorded)
            self._load_pack(pack)
        self.release()
        return pack

    def _not_imported(self) -> list[str]:
        return [name for name in self.sources if name not in sys.modules]

    def release(self) -> None:
        """Releases the pack, except for kernel modules that are imported only when a cell needs them.

        Other imports are loaded from their files from now on.
        """
        kept = {name: self.table[name] for name in self._not_imported() if name in self.table}
        pieces = [self.block[entry[4] : entry[5]] for entry in kept.values()]
        self.recorded, self.table, self.block = None, {}, b"".join(pieces)
        end = 0
        for (name, entry), piece in zip(kept.items(), pieces, strict=True):
            self.table[name] = (*entry[:4], end, end + len(piece))
            end += len(piece)

    def discard(self) -> None:
        """Releases everything: this process imports no more modules of the kernel."""
        self.recorded, self.sources, self.table, self.block = None, {}, {}, b""

    def _make_pack(self, recorded: dict[str, tuple[Origin, types.CodeType]]) -> bytes:
        """The current pack, with recorded entries added or replaced."""
        codes = {name: (entry[:4], self.block[entry[4] : entry[5]]) for name, entry in self.table.items()}
        codes |= {name: (origin, marshal.dumps(code)) for name, (origin, code) in recorded.items()}
        table: dict[str, PackEntry] = {}
        end = 0
        for name, (origin, code) in codes.items():
            table[name] = (*origin, end, end + len(code))
            end += len(code)
        own = marshal.dumps((_imp.source_hash(0, self.sources.get(__name__, b"")), self.own_code))
        parts = own, marshal.dumps(table), b"".join(code for _, code in codes.values())
        return b"".join([MAGIC_NUMBER, *(len(part).to_bytes(_LENGTH_BYTES, "little") for part in parts), *parts])


def installed() -> Importer:
    """The importer of this process."""
    return next(finder for finder in sys.meta_path if isinstance(finder, Importer))


def install(parts: dict[str, Bytes], own_code: types.CodeType | None = None) -> None:
    """Installs an importer with these parts in front of the standard finders."""
    sys.meta_path.insert(0, Importer(parts, own_code))
