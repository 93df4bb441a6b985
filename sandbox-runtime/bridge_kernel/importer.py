"""Imports the kernel from memory, and standard modules from code that was compiled in an earlier sandbox.

The images people use hold no `.pyc` files, and a read-only root cannot store them: importing asyncio then compiles
about 110 modules, 224 ms at every start against 39 ms (measured). So a sandbox that was given no usable *code pack*
records the code objects it compiles until it is ready and sends them to the host, which hands them to the next
sandbox of the same image. An entry counts only for the file it was made from, by size and modification time, as a
`.pyc` does (PEP 3147), and only for the same interpreter, by magic number.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from importlib.abc import Loader

PACKAGE = "bridge_kernel"
# Shown as the file of kernel modules; tracebacks leave out every frame whose file begins with it.
FILE_PREFIX = "<bridge_kernel>"

# One entry: file, modification time in ns, size in bytes, whether it is a package, marshalled code.
PackEntry = tuple[str, int, int, bool, bytes]


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
        origin = f"{FILE_PREFIX}/{source_hash(self.source).hex()}"
        entry = self.importer.pack.get(name)
        if entry is not None and entry[0] == origin:
            return marshal.loads(entry[4])
        file = f"{FILE_PREFIX}/{name.rpartition('.')[2]}.py"
        code = compile(self.source, file, "exec", dont_inherit=True)
        self.importer.record(name, (origin, 0, len(self.source), False, b""), code)
        return code

    def get_source(self, name: str) -> str:
        """The source text, for `linecache` and `inspect`."""
        return self.source.decode("utf-8")


class PackLoader(SourceFileLoader):
    """Loads one standard module from the code pack; the source file stays its origin."""

    marshalled: bytes = b""

    def get_code(self, fullname: str) -> types.CodeType:
        """The code compiled by an earlier sandbox."""
        return marshal.loads(self.marshalled)


class RecordingLoader(SourceFileLoader):
    """Loads one standard module from its file and records the compiled code."""

    importer: Importer

    def get_code(self, fullname: str) -> types.CodeType | None:
        """The code of the module, compiled or read from its `.pyc` as ever."""
        code = super().get_code(fullname)
        if code is None:
            return None
        status = os.stat(self.path)
        entry = (self.path, status.st_mtime_ns, status.st_size, self.is_package(fullname), b"")
        self.importer.record(fullname, entry, code)
        return code


class Importer:
    """A finder in front of the usual ones."""

    def __init__(self, parts: dict[str, bytes]) -> None:
        self.sources = {
            f"{PACKAGE}.{name}" if name != "__init__" else PACKAGE: source
            for name, source in parts.items()
            if name not in ("pack", "options")
        }
        self.pack: dict[str, PackEntry] = {}
        self.recorded: dict[str, tuple[PackEntry, types.CodeType]] | None = {}
        self._load_pack(parts.get("pack", b""))

    def _load_pack(self, data: bytes) -> None:
        """Takes a pack of the same interpreter; another one, or a damaged one, is passed over and made anew."""
        if not data.startswith(MAGIC_NUMBER):
            return
        try:
            pack = marshal.loads(data[len(MAGIC_NUMBER) :])
        except (ValueError, EOFError, TypeError):
            return
        if isinstance(pack, dict):
            self.pack = pack

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The kernel's own modules, then what the pack holds, then what is worth recording."""
        source = self.sources.get(fullname)
        if source is not None or fullname == PACKAGE:
            return self._kernel_spec(fullname, source or b"")
        entry = self.pack.get(fullname)
        if entry is not None:
            return self._packed_spec(fullname, entry)
        if self.recorded is not None:
            return self._recording_spec(fullname, path)
        return None

    def _kernel_spec(self, fullname: str, source: bytes) -> ModuleSpec:
        file = f"{FILE_PREFIX}/{fullname.rpartition('.')[2]}.py"
        # Not derived from importlib.abc.Loader: that module is not loaded yet, and costs its compilation here.
        loader: Loader = MemoryLoader(self, fullname, source)  # pyright: ignore[reportAssignmentType]
        spec = ModuleSpec(fullname, loader, origin=file, is_package=fullname == PACKAGE)
        spec.has_location = True
        return spec

    def _packed_spec(self, fullname: str, entry: PackEntry) -> ModuleSpec | None:
        origin, mtime_ns, size, is_package, marshalled = entry
        try:
            status = os.stat(origin)
        except OSError:
            return None
        if status.st_mtime_ns != mtime_ns or status.st_size != size:
            return None
        loader = PackLoader(fullname, origin)
        loader.marshalled = marshalled
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

    def record(self, name: str, entry: PackEntry, code: types.CodeType) -> None:
        """Remembers what had to be compiled, while recording."""
        if self.recorded is not None:
            self.recorded[name] = (entry, code)

    def finish_recording(self) -> bytes | None:
        """Ends recording. The pack for the next sandbox, or None when the one at hand served well."""
        recorded = self.recorded or {}
        self.recorded = None
        if not recorded:
            return None
        pack = dict(self.pack)
        for name, (entry, code) in recorded.items():
            pack[name] = (*entry[:4], marshal.dumps(code))
        return MAGIC_NUMBER + marshal.dumps(pack)


def install(parts: dict[str, bytes]) -> None:
    """Puts an importer with these parts in front of the usual finders."""
    sys.meta_path.insert(0, Importer(parts))
