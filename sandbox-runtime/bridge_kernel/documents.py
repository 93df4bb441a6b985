"""What `display` shows of files in memory: the pages of a PDF, the text of a Word document, the sheets of a workbook.

Anything else is one line with its kind and size: raw bytes say nothing and cost thousands of tokens. Whatever a file
contains, what is read, rendered and printed of it is bounded. Sources: ECMA-376 (Word and Excel files), PDF reference.
"""

from __future__ import annotations

import importlib
import io

from bridge_kernel import images, unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any
    from xml.etree.ElementTree import Element
    from zipfile import ZipFile

    Part = str | images.Image

# Three pages are what a reader needs to see what a document is like, and cost a model about 3,000 tokens. Chosen.
_MAX_PAGES = 3
_PAGE_PIXELS = 1100
"""The longer side of a page: small print is legible, and the picture is below `images.MAX_PIXELS`."""
_MAX_CHARS = 12_000
_MAX_XML_BYTES = 32 << 20
_MAX_FILE_BYTES = 64 << 20
_MAX_SHEETS, _MAX_ROWS, _MAX_COLUMNS, _MAX_CELL_CHARS = 8, 5, 12, 40
_HEX_BYTES = 16
_TEXT_CHARS = 60
_KINDS = (
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\xd0\xcf\x11\xe0", "OLE: doc, xls or ppt"),
    (b"SQLite format 3", "SQLite"),
    (b"PAR1", "Parquet"),
    (b"{\\rtf", "RTF"),
    (b"RIFF", "RIFF"),
)
_SKIPPED = frozenset({"del", "Fallback", "instrText", "pPr", "rPr", "sectPr"})


def content(value: Any) -> bytes:
    """The bytes of a file in memory, or of the one at a path. Raises OSError, and ValueError if that one is large."""
    if isinstance(value, io.BytesIO):
        return value.getvalue()
    if not hasattr(value, "open"):
        return bytes(value)
    with value.open("rb") as file:
        data: bytes = file.read(_MAX_FILE_BYTES + 1)
    if len(data) > _MAX_FILE_BYTES:
        raise ValueError(f"it has more than {_MAX_FILE_BYTES:,} bytes")
    return data


def parts(data: bytes) -> Iterator[Part]:
    """Texts to print, and pictures to attach."""
    if b"%PDF-" in data[:1024]:
        return _pdf(data)
    names = _names(data)
    if "word/document.xml" in names:
        return _word(data)
    if "xl/workbook.xml" in names:
        return _workbook(data)
    return iter([_line(data)])


def _line(data: bytes) -> str:
    size = f"{len(data):,} byte{'' if len(data) == 1 else 's'}"
    kind = next((kind for start, kind in _KINDS if data.startswith(start)), "")
    try:
        text = "" if kind else data[: 4 * _TEXT_CHARS].decode("utf-8")
    except UnicodeDecodeError as error:
        # The end of the piece may be in the middle of a character.
        text = data[: error.start].decode("utf-8") if error.start > 4 * _TEXT_CHARS - 4 else ""
    if text and all(char.isprintable() or char in "\n\r\t" for char in text):
        more = "…" if len(text) > _TEXT_CHARS or len(data) > 4 * _TEXT_CHARS else ""
        return f"[text, {size}: {text[:_TEXT_CHARS]!r}{more}]"
    first = f": {data[:_HEX_BYTES].hex(' ')}{' …' if len(data) > _HEX_BYTES else ''}" if data else ""
    return f"[{kind and f'{kind}, '}{size}{first}]"


def _module(*names: str) -> Any:
    """The first of these modules that can be imported; None if there is none."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


# ---- PDF


def _pdf(data: bytes) -> Iterator[Part]:
    size = f"PDF, {len(data):,} bytes"
    pdfium = _module("pypdfium2")
    if pdfium is not None:
        with pdfium.PdfDocument(data) as document:
            yield _pages_line(size, len(document))
            yield from (_pdfium_page(document[number]) for number in range(min(len(document), _MAX_PAGES)))
        return
    mupdf = _module("pymupdf", "fitz")
    if mupdf is not None:
        with mupdf.open(stream=data, filetype="pdf") as document:
            yield _pages_line(size, document.page_count)
            yield from (_mupdf_page(document[number], mupdf) for number in range(min(document.page_count, _MAX_PAGES)))
        return
    reader = _module("pypdf", "PyPDF2")
    if reader is None:
        yield f"[{size}, not shown: {_how_to_see()}]"
        return
    document = reader.PdfReader(io.BytesIO(data))
    count = len(document.pages)
    texts = (document.pages[number].extract_text() or "" for number in range(min(count, _MAX_PAGES)))
    yield _pages_line(size, count, "text of ")
    yield _cut(f"--- page {number}\n{text.strip()}" for number, text in enumerate(texts, 1))


def _pages_line(size: str, count: int, what: str = "") -> str:
    shown = f", {what}the first {_MAX_PAGES}" if count > _MAX_PAGES else ""
    return f"{size}, {count:,} page{'' if count == 1 else 's'}{shown}:"


def _how_to_see() -> str:
    wanted = "pypdf" if unavailable.is_embedded else "pypdfium2"
    if unavailable.wall:
        return f"neither pypdfium2 nor pypdf is installed, and they cannot be installed now ({unavailable.wall})"
    what = "text" if unavailable.is_embedded else "pages"
    return f"with {wanted}, display shows its {what}: await runtime.install({wanted!r})"


def _pdfium_page(page: Any) -> images.Image:
    """The picture is made here: pypdfium2 would need Pillow."""
    scale = _PAGE_PIXELS / max(*page.get_size(), 1)
    while True:
        bitmap = page.render(scale=scale, rev_byteorder=True)
        image = _png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels)
        if len(image.data) <= images.MAX_BYTES or max(bitmap.width, bitmap.height) < 2:
            return image
        scale /= 2  # Photographs do not become smaller as PNG.


def _png(pixels: bytes, width: int, height: int, stride: int, channels: int) -> images.Image:
    """PNG specification 11.2; each row begins with its filter, none."""
    from struct import pack
    from zlib import compress, crc32

    rows = b"".join(b"\0" + pixels[row * stride : row * stride + width * channels] for row in range(height))
    color = {1: 0, 3: 2, 4: 6}[channels]
    chunks = ((b"IHDR", pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)), (b"IDAT", compress(rows)), (b"IEND", b""))
    body = b"".join(pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data)) for kind, data in chunks)
    return images.Image(b"\x89PNG\r\n\x1a\n" + body, "image/png", (width, height))


def _mupdf_page(page: Any, mupdf: Any) -> images.Image:
    scale = _PAGE_PIXELS / max(page.rect.width, page.rect.height, 1)
    return images.fit(page.get_pixmap(matrix=mupdf.Matrix(scale, scale)).tobytes("png"), "image/png")


# ---- Word and Excel


def _names(data: bytes) -> frozenset[str]:
    if not data.startswith(b"PK\x03\x04"):
        return frozenset()
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return frozenset(archive.namelist())
    except (zipfile.BadZipFile, ValueError):
        return frozenset()


def _elements(archive: ZipFile, name: str, wanted: tuple[str, ...]) -> Iterator[Element]:
    """The outermost elements with these names, each once it is complete. No more is read than the caller takes."""
    parser = _module("xml.etree.ElementTree").XMLPullParser(("start", "end"))
    left, depth = _MAX_XML_BYTES, 0
    with archive.open(name) as file:
        while left > 0:
            piece = file.read(min(left, 1 << 16))
            if not piece:
                return
            left -= len(piece)
            parser.feed(piece)
            for event, element in parser.read_events():
                if _name(element) not in wanted:
                    continue
                depth += 1 if event == "start" else -1
                if event == "end" and depth == 0:
                    yield element
                    element.clear()


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _word(data: bytes) -> Iterator[Part]:
    import zipfile

    yield f"Word document, {len(data):,} bytes:"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        blocks = map(_block, _elements(archive, "word/document.xml", ("p", "tbl")))
        yield _cut(block for block in blocks if block.strip())


def _block(element: Element) -> str:
    if _name(element) == "p":
        return f"{_mark(element)}{_words(element)}"
    rows = (row for row in element if _name(row) == "tr")
    cells = ([_words(cell).replace("\n", " ").strip() for cell in row if _name(cell) == "tc"] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _mark(paragraph: Element) -> str:
    """The mark of a heading or of a member of a list, as in Markdown."""
    for element in paragraph.iter():
        if _name(element) == "pStyle":
            style = next(iter(element.attrib.values()), "")
            level = style[len("Heading") :]
            if style == "Title" or (style.startswith("Heading") and level.isdecimal()):
                return "#" * (1 if style == "Title" else min(int(level[:1]), 6)) + " "
            if style.startswith("List"):
                return "- "
        if _name(element) == "numPr":
            return "- "
        if _name(element) == "r":
            break
    return ""


def _words(element: Element) -> str:
    found: list[str] = []
    waiting = [element]
    while waiting:
        here = waiting.pop()
        name = _name(here)
        if name in _SKIPPED:
            continue
        if name == "t":
            found.append(here.text or "")
        elif name == "tab":
            found.append("\t")
        elif name in ("br", "cr") or (name == "p" and found):
            found.append("\n")
        waiting += reversed(here)
    return "".join(found)


def _workbook(data: bytes) -> Iterator[Part]:
    size = f"workbook, {len(data):,} bytes"
    openpyxl = _module("openpyxl")
    if openpyxl is not None:
        yield from _sheets(data, size, openpyxl)
        return
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = [each.get("name", "") for each in _elements(archive, "xl/workbook.xml", ("sheet",))]
    how = f"they cannot be read now ({unavailable.wall})" if unavailable.wall else "await runtime.install('openpyxl')"
    yield f"{size}, {_count(len(sheets), 'sheet')}: {', '.join(map(repr, sheets))[:_MAX_CHARS]}\n[for rows: {how}]"


def _sheets(data: bytes, size: str, openpyxl: Any) -> Iterator[Part]:
    import warnings

    with warnings.catch_warnings():
        # Openpyxl names each feature that it cannot keep; nothing is written here.
        warnings.simplefilter("ignore")
        values = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        # Only Excel stores the values of formulas.
        formulas = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
        yield f"{size}, {_count(len(values.sheetnames), 'sheet')}:"
        for sheet in values.worksheets[:_MAX_SHEETS]:
            rows, columns = sheet.max_row, sheet.max_column
            known = f": {_count(rows, 'row')} × {_count(columns, 'column')}" if rows and columns else ""
            bounds = {"max_row": _MAX_ROWS, "max_col": min(columns or _MAX_COLUMNS, _MAX_COLUMNS), "values_only": True}
            first = zip(sheet.iter_rows(**bounds), formulas[sheet.title].iter_rows(**bounds), strict=False)
            lines = [_row(row, written, (columns or 0) > _MAX_COLUMNS) for row, written in first]
            more = [f"  … {_count(rows - _MAX_ROWS, 'more row')}"] if rows and rows > _MAX_ROWS else []
            yield "\n".join([f"{sheet.title!r}{known}", *lines, *more])
        if len(values.sheetnames) > _MAX_SHEETS:
            yield f"… {_count(len(values.sheetnames) - _MAX_SHEETS, 'more sheet')}"


def _row(values: Iterable[object], written: Iterable[object], is_cut: bool) -> str:
    cells = [known if known is not None else text for known, text in zip(values, written, strict=False)]
    texts = ["" if cell is None else " ".join(str(cell).split()) for cell in cells]
    short = [text if len(text) <= _MAX_CELL_CHARS else f"{text[: _MAX_CELL_CHARS - 1]}…" for text in texts]
    return f"  {' | '.join(short)}{' | …' if is_cut else ''}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _cut(blocks: Iterable[str]) -> str:
    """The blocks as lines, up to the limit. Those that are not shown are not made."""
    shown: list[str] = []
    left = _MAX_CHARS
    for block in blocks:
        if left <= 0:
            shown.append(f"… the rest is not shown: {_MAX_CHARS:,} characters are the limit")
            break
        shown.append(block if len(block) <= left else f"{block[:left]}…")
        left -= len(block) + 1
    return "\n".join(shown)
