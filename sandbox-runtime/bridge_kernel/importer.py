"""Imports the kernel from memory, and standard modules from code that was compiled in an earlier sandbox.

The images people use hold no `.pyc` files, and a read-only root cannot store them: importing asyncio then compiles
about 110 modules, 224 ms at every start against 39 ms (measured). So a sandbox that was given no usable *code pack*
records the code objects it compiles until it is ready and sends them to the host, which hands them to the next
sandbox of the same image. An entry counts only for the file it was made from, by size and modification time, as a
`.pyc` does (PEP 3147), and only for the same interpreter, by magic number.
"""

from __future__ import annotations

import _imp
import marshal
import os
import sys

# What `importlib` is made of, and every interpreter has loaded. Importing `importlib.util` itself compiles four modules
# before there is a pack: 6 ms at every start (measured).
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from importlib.abc import Loader

PACKAGE = "bridge_kernel"
# Shown as the file of kernel modules; tracebacks leave out every frame whose file begins with it.
FILE_PREFIX = "<bridge_kernel>"

# What a module was compiled from: file, modification time in ns, size in bytes, whether it is a package.
Origin = tuple[str, int, int, bool]
# The same, and where the module's marshalled code begins and ends in the block of the pack.
PackEntry = tuple[str, int, int, bool, int, int]


class MemoryLoader:
    """Loads one module of the kernel from its source text, or from the pack when that holds the same source."""

    def __init__(self, importer: Importer, name: str, source: bytes) -> None:
        self.importer = importer
        self.name = name
        self.source = source

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves the making of the module to the import system."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs the module's code in its namespace."""
        exec(self.get_code(self.name), module.__dict__)

    def get_code(self, name: str) -> types.CodeType:
        """The compiled source; from the pack when it was made from these very bytes."""
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
    """Loads one standard module from the code pack; the source file stays its origin."""

    importer: Importer

    def get_code(self, fullname: str) -> types.CodeType | None:
        """The code compiled by an earlier sandbox; asked again when the pack is gone, that of the file."""
        entry = self.importer.table.get(fullname)
        return super().get_code(fullname) if entry is None else self.importer.packed_code(entry)


class RecordingLoader(SourceFileLoader):
    """Loads one standard module from its file and records the compiled code."""

    importer: Importer

    def get_code(self, fullname: str) -> types.CodeType | None:
        """The code of the module, compiled or read from its `.pyc` as ever."""
        code = super().get_code(fullname)
        if code is None:
            return None
        status = os.stat(self.path)
        origin = (self.path, status.st_mtime_ns, status.st_size, self.is_package(fullname))
        self.importer.record(fullname, origin, code)
        return code


class Importer:
    """A finder in front of the usual ones."""

    def __init__(self, parts: dict[str, bytes]) -> None:
        self.sources = {
            f"{PACKAGE}.{name}" if name != "__init__" else PACKAGE: source
            for name, source in parts.items()
            if name not in ("pack", "options")
        }
        self.table: dict[str, PackEntry] = {}
        # All code in one piece: when it is let go, its memory goes back to the system at once.
        self.block = b""
        self.recorded: dict[str, tuple[Origin, types.CodeType]] | None = {}
        self._load_pack(parts.pop("pack", b""))

    def _load_pack(self, data: bytes) -> None:
        """Takes a pack of the same interpreter; another one, or a damaged one, is passed over and made anew."""
        if not data.startswith(MAGIC_NUMBER):
            return
        try:
            table, block = marshal.loads(memoryview(data)[len(MAGIC_NUMBER) :])
        except (ValueError, EOFError, TypeError):
            return
        if isinstance(table, dict) and isinstance(block, bytes):
            self.table, self.block = table, block

    def packed_code(self, entry: PackEntry) -> types.CodeType:
        """The code that an entry of the table points to."""
        return marshal.loads(memoryview(self.block)[entry[4] : entry[5]])

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The kernel's own modules, then what the pack holds, then what is worth recording."""
        source = self.sources.get(fullname)
        if source is not None or fullname == PACKAGE:
            return self._kernel_spec(fullname, source or b"")
        entry = self.table.get(fullname)
        spec = self._packed_spec(fullname, entry) if entry is not None else None
        if spec is None and self.recorded is not None:
            # An entry that is out of date is recorded anew: the image may have been replaced under the same name.
            spec = self._recording_spec(fullname, path)
        return spec

    def _kernel_spec(self, fullname: str, source: bytes) -> ModuleSpec:
        file = f"{FILE_PREFIX}/{fullname.rpartition('.')[2]}.py"
        # Not derived from importlib.abc.Loader: that module is not loaded yet, and costs its compilation here.
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
        """Remembers what had to be compiled, while recording."""
        if self.recorded is not None:
            self.recorded[name] = (origin, code)

    def finish_recording(self) -> bytes | None:
        """Ends recording and the use of the pack. The one for the next sandbox, or None when it served well."""
        pack = None
        if self.recorded:
            for name in self._not_imported():
                MemoryLoader(self, name, self.sources[name]).get_code(
                    name
                )  # Recorded for the first cell that needs it.
            pack = self._make_pack(self.recorded)
            self._load_pack(pack)
        self.release()
        return pack

    def _not_imported(self) -> list[str]:
        return [name for name in self.sources if name not in sys.modules]

    def release(self) -> None:
        """Lets go of the pack, but for modules of the kernel that are imported when a cell first needs them.

        What else is imported from now on comes from its file, as ever.
        """
        kept = {name: self.table[name] for name in self._not_imported() if name in self.table}
        pieces = [self.block[entry[4] : entry[5]] for entry in kept.values()]
        self.recorded, self.table, self.block = None, {}, b"".join(pieces)
        end = 0
        for (name, entry), piece in zip(kept.items(), pieces, strict=True):
            self.table[name] = (*entry[:4], end, end + len(piece))
            end += len(piece)

    def _make_pack(self, recorded: dict[str, tuple[Origin, types.CodeType]]) -> bytes:
        """What the pack at hand holds, and what was recorded besides or in place of it."""
        codes = {name: (entry[:4], self.block[entry[4] : entry[5]]) for name, entry in self.table.items()}
        codes |= {name: (origin, marshal.dumps(code)) for name, (origin, code) in recorded.items()}
        table: dict[str, PackEntry] = {}
        end = 0
        for name, (origin, code) in codes.items():
            table[name] = (*origin, end, end + len(code))
            end += len(code)
        return MAGIC_NUMBER + marshal.dumps((table, b"".join(code for _, code in codes.values())))


def installed() -> Importer:
    """The importer of this process."""
    return next(finder for finder in sys.meta_path if isinstance(finder, Importer))


def install(parts: dict[str, bytes]) -> None:
    """Puts an importer with these parts in front of the usual finders."""
    sys.meta_path.insert(0, Importer(parts))
