"""`runtime.open_artifact`: files that libraries can read from and write to."""

from __future__ import annotations

import base64
import csv
import unittest
import zipfile
from typing import Any

from bridge_kernel import artifacts


class FakeHost:
    """Keeps artifacts in memory."""

    def __init__(self) -> None:
        self.saved: dict[str, bytes] = {}

    def call_sync(self, method: str, params: dict[str, Any]) -> object:
        name = params["name"]
        if method == "save_artifact":
            before = self.saved.get(name, b"") if params["offset"] else b""
            self.saved[name] = before + base64.b64decode(params["data"])
            return {"name": name, "size": len(self.saved[name])}
        part = self.saved[name][params["offset"] : params["offset"] + params["length"]]
        return {"data": base64.b64encode(part).decode(), "size": len(self.saved[name])}


class OpenArtifact(unittest.TestCase):
    def setUp(self) -> None:
        self.host = FakeHost()

    def open(self, name: str, mode: str = "rb", session: str | None = None) -> Any:
        return artifacts.open_file(self.host, name, mode, session)  # pyright: ignore[reportArgumentType]

    def test_libraries_write_to_it_and_read_from_it(self) -> None:
        with self.open("a.zip", "wb") as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x.txt", "x" * 2_000_000)
        with self.open("a.zip") as file, zipfile.ZipFile(file) as archive:
            self.assertEqual(len(archive.read("x.txt")), 2_000_000)
        with self.open("a.csv", "w") as file:
            csv.writer(file).writerows([["Zoë", 1], ["x", 2]])
        self.assertEqual(self.host.saved["a.csv"], "Zoë,1\r\nx,2\r\n".encode())
        with self.open("a.csv", "r") as file:
            self.assertEqual(list(csv.reader(file)), [["Zoë", "1"], ["x", "2"]])

    def test_nothing_is_saved_before_it_is_closed_or_if_its_block_fails(self) -> None:
        for mode, content in (("w", "x"), ("wb", b"x")):
            file = self.open("open", mode)
            file.write(content)
            self.assertEqual(self.host.saved, {})
            with self.assertRaises(ZeroDivisionError), file:
                _ = 1 / 0
            file.close()
            del file
            self.assertEqual(self.host.saved, {}, mode)

    def test_closing_twice_saves_once(self) -> None:
        file = self.open("a", "wb")
        file.write(b"1")
        file.close()
        self.host.saved.clear()
        file.close()
        self.assertEqual(self.host.saved, {})

    def test_other_modes_and_other_sessions_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "mode must be one of 'rb', 'r', 'wb', 'w', not 'a'"):
            self.open("a", "a")
        with self.assertRaisesRegex(ValueError, "in this session only"):
            self.open("a", "w", "other")


if __name__ == "__main__":
    unittest.main()
