"""The code pack: the next sandbox of the same image reuses what one sandbox compiled."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import tempfile
import unittest
from typing import Any

from bridge_kernel import importer as module_of_importer
from bridge_kernel.importer import Importer, PackLoader

NAME = "module_of_the_test"


class CodePackTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, f"{NAME}.py")
        self.write("value = 1\n")
        sys.path.insert(0, folder.name)
        self.addCleanup(sys.path.remove, folder.name)
        self.addCleanup(sys.path_importer_cache.clear)

    def write(self, source: str) -> None:
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(source)
        sys.path_importer_cache.clear()

    def load(self, importer: Importer) -> tuple[object, object]:
        """The module's value and its loader."""
        spec = importer.find_spec(NAME) or importlib.util.find_spec(NAME)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.__dict__["value"], spec.loader

    def make_pack(self) -> bytes:
        importer = Importer({})
        self.load(importer)
        pack = importer.finish_recording()
        assert pack is not None
        return pack

    def test_the_next_sandbox_loads_code_from_the_pack(self) -> None:
        importer = Importer({"pack": self.make_pack()})
        value, loader = self.load(importer)
        self.assertEqual(value, 1)
        self.assertIsInstance(loader, PackLoader)
        self.assertIsNone(importer.finish_recording())

    def test_a_changed_file_is_compiled_again_for_a_new_pack(self) -> None:
        old = self.make_pack()
        self.write("value = 22\n")
        importer = Importer({"pack": old})
        self.assertEqual(self.load(importer)[0], 22)
        new = importer.finish_recording()
        assert new is not None
        value, loader = self.load(Importer({"pack": new}))
        self.assertEqual(value, 22)
        self.assertIsInstance(loader, PackLoader)

    def test_a_damaged_or_foreign_pack_is_ignored(self) -> None:
        pack = self.make_pack()
        for damaged in (b"", b"\0\0\0\0" + pack[4:], pack[:-10], pack[:4] + b"N", pack[:4]):
            with self.subTest(damaged[:8]):
                self.assertEqual(self.load(Importer({"pack": damaged}))[0], 1)

    def test_a_pack_that_was_cut_is_ignored(self) -> None:
        pack = self.make_pack()
        for size in range(len(pack)):
            self.assertEqual(Importer({"pack": pack[:size]}).table, {})

    def test_the_loader_finds_the_code_of_the_importer_in_the_pack(self) -> None:
        with open(os.path.join(os.path.dirname(module_of_importer.__file__), "loader.py"), encoding="utf-8") as file:
            definitions = file.read().partition("\nif sys.argv[1:]")[0]
        self.addCleanup(gc.enable)
        loader: dict[str, Any] = {}
        exec(definitions, loader)
        source = b"value = 1"
        importer = Importer({"importer": source}, compile(source, "from the pack", "exec"))
        self.load(importer)
        pack = importer.finish_recording()
        assert pack is not None
        compiled = "<bridge_kernel>/importer.py"
        cases = (source, pack, "from the pack"), (b"value = 2", pack, compiled), (source, pack[:40], compiled)
        for text, given, file_name in cases:
            with self.subTest(text=text, size=len(given)):
                self.assertEqual(loader["importer_code"](text, given).co_filename, file_name)

    def test_a_module_can_be_reloaded_after_the_pack_was_released(self) -> None:
        importer = Importer({"pack": self.make_pack()})
        _, loader = self.load(importer)
        importer.finish_recording()
        self.assertEqual(importer.block, b"")
        assert isinstance(loader, PackLoader)
        code = loader.get_code(NAME)
        assert code is not None
        self.assertEqual(code.co_filename, self.file)


if __name__ == "__main__":
    unittest.main()
