"""The `mmap` of the embedded engine does with files what the real one does."""

from __future__ import annotations

import mmap as real
import os
import tempfile
import unittest
from typing import TYPE_CHECKING, Any

from bridge_kernel import mapped

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT = b"first line\nsecond\n\x00\xff and the last"
STEPS: list[Callable[[Any], Any]] = [
    lambda m: (len(m), m.size(), m.tell(), m.closed),
    lambda m: (m[0], m[-1], m[:5], m[3:20:4], m[100:], bytes(m[:])),
    lambda m: (m.find(b"line"), m.find(b"i", 3), m.find(b"none"), m.rfind(b"n"), m.rfind(b"n", 0, 9), m.find(b"")),
    lambda m: (m.readline(), m.tell(), m.find(b"e"), m.read(3), m.read_byte(), m.readline(), m.read(), m.read(1)),
    lambda m: m.readline(),
    lambda m: (m.seek(3), m.tell())[1],
    lambda m: (m.seek(2, os.SEEK_CUR), m.seek(-4, os.SEEK_END), m.read())[2],
    lambda m: m.seek(1000),
    lambda m: m.seek(-1),
    lambda m: m.seek(0, 9),
    lambda m: m.read_byte(),
    lambda m: list(m)[:3],
    lambda m: b"f" in m,
    lambda m: m[1000],
    lambda m: m.__setitem__(0, 65) or m[0],
    lambda m: m.__setitem__(slice(0, 2), b"XY") or m[:3],
    lambda m: m.__setitem__(slice(0, 2), b"XYZ"),
    lambda m: (m.seek(0), m.write(b"abc"), m.tell(), m[:5])[1:],
    lambda m: (m.write_byte(66), m.tell(), m[:6])[1:],
    lambda m: m.move(0, 6, 4) or m[:10],
    lambda m: m.move(0, 6, 4000),
    lambda m: m.write(b"x" * 1000),
    lambda m: m.close() or m.closed,
    lambda m: m[0],
    lambda m: m.read(),
]


def outcomes(module: Any, path: str, **options: Any) -> list[str]:
    """What each step gives, or its error."""
    with open(path, "r+b") as file:
        given = {name: getattr(module, str(value)) if name == "access" else value for name, value in options.items()}
        file.seek(5)
        found: list[str] = []
        try:
            m = module.mmap(file.fileno(), given.pop("length", 0), **given)
        except (OSError, ValueError, OverflowError) as error:
            return [repr(error)]
        for step in STEPS:
            try:
                found.append(repr(step(m)))
            except (TypeError, ValueError, IndexError) as error:
                found.append(f"{type(error).__name__}: {error}")
        return [*found, str(file.tell())]


class MappedTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "file")
        with open(self.path, "wb") as file:
            file.write(CONTENT)

    def test_each_method_does_what_the_real_one_does(self) -> None:
        for options in (
            {"access": "ACCESS_READ"},
            {"access": "ACCESS_COPY"},
            {"access": "ACCESS_READ", "length": 20},
            {"access": "ACCESS_READ", "length": 4000},
            {"access": "ACCESS_READ", "offset": 1 << 20},
        ):
            with self.subTest(options):
                self.assertEqual(outcomes(mapped, self.path, **options), outcomes(real, self.path, **options))
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), CONTENT)

    def test_an_empty_file_cannot_be_mapped(self) -> None:
        with open(self.path, "wb"):
            pass
        self.assertEqual(
            outcomes(mapped, self.path, access="ACCESS_READ"), outcomes(real, self.path, access="ACCESS_READ")
        )

    def test_changes_that_would_reach_the_file_are_refused(self) -> None:
        with open(self.path, "r+b") as file, self.assertRaisesRegex(OSError, "only for reading"):
            mapped.mmap(file.fileno(), 0)

    def test_memory_without_a_file_can_be_changed(self) -> None:
        with mapped.mmap(-1, 10) as m:
            m.write(b"abc")
            self.assertEqual(m[:4], b"abc\0")


if __name__ == "__main__":
    unittest.main()
