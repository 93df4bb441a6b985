"""What `display` shows of files: documents without further packages, and one line for anything else.

`test/e2e/documents.test.ts` shows those that need packages, with the real ones.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

from bridge_kernel import documents, unavailable
from bridge_kernel.display import Display

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MISSING = dict.fromkeys(("pypdfium2", "pymupdf", "fitz", "pypdf", "PyPDF2", "openpyxl"))


def zipped(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/") + ".xml", text)
    return buffer.getvalue()


def word(body: str) -> bytes:
    return zipped(word__document=f'<w:document xmlns:w="{W}" xmlns:mc="urn:mc"><w:body>{body}</w:body></w:document>')


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


class DocumentsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.frames: list[dict[str, object]] = []
        self.display = Display(self.frames.append, 20, 1 << 20)
        self.enterContext_(mock.patch.dict(sys.modules, MISSING))

    def enterContext_(self, context: contextlib.AbstractContextManager[object]) -> None:  # noqa: N802
        """As `enterContext` of Python 3.11."""
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def show(self, *values: object) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.display(*values)
        return printed.getvalue()

    # `display(pdf)` printed 20,000 tokens of raw bytes.
    def test_bytes_are_one_line_with_kind_and_size(self) -> None:
        for data, line in {
            b"": "[0 bytes]",
            b"\0": "[1 byte: 00]",
            b"\xff" * 100_000: f"[100,000 bytes: {'ff ' * 16}…]",
            b"\x1f\x8b\x08": "[gzip, 3 bytes: 1f 8b 08]",
            b"PAR1xx": "[Parquet, 6 bytes: 50 41 52 31 78 78]",
            b"PK\x03\x04": "[zip, 4 bytes: 50 4b 03 04]",
            b"a,b\n1,2": "[text, 7 bytes: 'a,b\\n1,2']",
            ("ä" * 5_000).encode(): f"[text, 10,000 bytes: '{'ä' * 60}'…]",
            b"a\x1b[2J": "[5 bytes: 61 1b 5b 32 4a]",
        }.items():
            for value in (data, bytearray(data), memoryview(data), io.BytesIO(data)):
                self.assertEqual(self.show(value), f"{line}\n")

    def test_the_last_character_may_be_cut(self) -> None:
        self.assertEqual(self.show(b"x" + ("€" * 400).encode()), f"[text, 1,201 bytes: 'x{'€' * 59}'…]\n")

    def test_a_pdf_without_a_reader_says_what_to_install(self) -> None:
        said = "[PDF, 8 bytes, not shown: with {0}, display shows its {1}: await runtime.install('{0}')]\n"
        self.assertEqual(self.show(b"%PDF-1.7"), said.format("pypdfium2", "pages"))
        with mock.patch.object(unavailable, "is_embedded", True):
            self.assertEqual(self.show(b"%PDF-1.7"), said.format("pypdf", "text"))
        with mock.patch.object(unavailable, "wall", "no index answers"):
            self.assertRegex(self.show(b"%PDF-1.7"), r"neither pypdfium2 nor pypdf .* cannot .* \(no index answers\)\]")

    def test_a_word_document_is_text_with_tables(self) -> None:
        cell = "<w:tc>{}</w:tc>".format
        table = f"<w:tbl><w:tr>{cell(paragraph('a'))}{cell(paragraph('b') + paragraph('c'))}</w:tr></w:tbl>"
        body = [
            paragraph("Report", "Title"),
            paragraph("Sales", "Heading2"),
            paragraph("one", "ListBullet"),
            "<w:p/>",
            (
                "<w:p><w:r><w:t>kept</w:t><w:tab/></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del>"
                "<mc:AlternateContent><mc:Fallback><w:r><w:t>twice</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>"
            ),
            f"<w:sdt><w:sdtContent>{table}</w:sdtContent></w:sdt>",
        ]
        data = word("".join(body))
        lines = ["# Report", "## Sales", "- one", "kept\t", "| a | b c |"]
        self.assertEqual(self.show(data), "\n".join([f"Word document, {len(data):,} bytes:", *lines, ""]))

    def test_a_huge_document_is_read_only_as_far_as_it_is_shown(self) -> None:
        data = word(paragraph("x" * 1_000) * 50_000)
        self.assertLess(len(data), 1 << 20)
        with mock.patch.object(documents, "_block", wraps=documents.__dict__["_block"]) as block:
            said = self.show(data)
        self.assertLess(len(said), 13_000)
        self.assertTrue(said.endswith("the rest is not shown: 12,000 characters are the limit\n"))
        self.assertLess(block.call_count, 20)

    def test_a_workbook_without_openpyxl_has_the_names_of_its_sheets(self) -> None:
        sheets = '<sheets><sheet name="Sales"/><sheet name="2026"/></sheets>'
        data = zipped(xl__workbook=f'<workbook xmlns="urn:x">{sheets}</workbook>')
        self.assertEqual(
            self.show(data),
            f"workbook, {len(data):,} bytes, 2 sheets: 'Sales', '2026'\n"
            "[for rows: await runtime.install('openpyxl')]\n",
        )

    def test_a_damaged_document_is_reported(self) -> None:
        self.assertRegex(self.show(zipped(word__document="<a>")[:-30]), r"^\[zip, \d+ bytes: 50 4b 03 04 .*\]\n$")
        self.assertRegex(self.show(zipped(word__document="<a></b>")), r"\[bytes, not shown: ParseError: mismatched tag")

    def test_a_path_of_a_document_is_shown_and_any_other_printed(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "a.DOCX").write_bytes(word(paragraph("hi")))
            (folder / "a.txt").write_text("hi")
            self.assertTrue(self.show(folder / "a.DOCX").endswith("bytes:\nhi\n"))
            self.assertEqual(self.show(folder / "a.txt", folder), f"{folder}/a.txt\n{folder}\n")
            self.assertRegex(self.show(folder / "none.pdf"), r"^\[\w+, not shown: FileNotFoundError: .*none.pdf'\]\n$")


if __name__ == "__main__":
    unittest.main()
