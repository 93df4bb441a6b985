"""`display(…)`: shows images, sounds, documents and tables; each leaves one line in the printed text.

Objects are recognized by the methods that notebooks use (`_repr_png_` and so on), a few by their class. If something
cannot be shown, a line says why, and the rest of the answer is unaffected.
"""

from __future__ import annotations

import io
import sys
from weakref import WeakKeyDictionary

from bridge_kernel import images, values
from bridge_kernel.shorten import short_repr
from bridge_kernel.tables import table_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from bridge_kernel.frames import Frame

# Longer documents belong in a file (runtime.save_artifact). Chosen.
_MAX_DOCUMENT_CHARS = 256 * 1024
_MAX_ALT_CHARS = 200
_FILES = (bytes, bytearray, memoryview, io.BytesIO)
_ENDINGS = frozenset({".pdf", ".docx", ".docm", ".xlsx", ".xlsm", ".png", ".jpg", ".jpeg", ".gif", ".webp"})
_KEEP_IT = "runtime.save_artifact(name, data) keeps it as a file"
# Lists of content are flattened to this depth. Chosen: results of tools are flat.
_MAX_DEPTH = 4
# In order of preference: what models read best comes first.
_IMAGE_METHODS = (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"))
_MEDIA = (values.ImageContent, values.AudioContent, values.ResourceContent)
# What frames of pandas, polars, xarray and others can do, besides being HTML.
_TABLE_MARKS = ("__dataframe__", "__arrow_c_stream__", "to_pandas", "to_dataframe")
_TEXT_METHODS = (("_repr_markdown_", "text/markdown"), ("_repr_svg_", "image/svg+xml"), ("_repr_html_", "text/html"))


# Shown only if the class has no text of its own: models read `x**2` better than its LaTeX.
_LAST_METHODS = (("_repr_latex_", "text/latex"), ("_repr_json_", "application/json"))
_BUNDLE = "_repr_mimebundle_"


class Updates:
    """What `display(…, display_id=True)` returns. An answer only grows, so the new value is shown below."""

    def __init__(self, display: Display) -> None:
        self.update = self.display = display


class Display:
    """The `display` of a session, with limits on the number and total bytes of what one cell shows."""

    def __init__(self, send: Callable[[Frame], None], max_displays: int = 0, max_bytes: int = 0) -> None:
        self._send = send
        self.limit(max_displays, max_bytes)
        self.begin_cell(0)

    def limit(self, max_displays: int, max_bytes: int) -> None:
        """Limits what one cell shows."""
        self._max_displays = max_displays
        self._max_bytes = max_bytes

    def __call__(self, *values: object, alt: str | None = None, display_id: object = None) -> Updates | None:
        """Shows values in the answer: images, figures, tables and documents; everything else is printed as text.

        Args:
            alt: a short description for readers who cannot see it.
            display_id: as in notebooks, returns an object whose `update(value)` shows a value later.
        """
        for value in values:
            for part in _parts(value, 0):
                if not self.show_rich(part, alt, is_asked=True):
                    print(table_text(part) or part)

        return None if display_id is None else Updates(self)

    def show_media(self, value: object) -> bool:
        """Shows a list with images or sounds, as tools return it; returns False for every other value."""
        parts = list(_parts(value, 0))
        if not any(isinstance(part, _MEDIA[:2]) for part in parts) or parts == [value]:
            return False
        for part in parts:
            if not self.show_rich(part):
                print(part if isinstance(part, str) else short_repr(part))
        return True

    def __repr__(self) -> str:
        return "<display(*values, alt=None): shows images, figures, tables and documents in the answer>"

    def begin_cell(self, cell: int) -> None:
        """Starts the counts of a new cell."""
        self._cell = cell
        self._shown = 0
        self._bytes = 0
        self._is_full = False
        # The picture of each figure that was shown. Weak, because code may draw hundreds.
        self._figures: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()

    def show_rich(self, value: object, alt: str | None = None, is_asked: bool = False) -> bool:
        """Shows a value that is more than text; returns False if it is not. With `is_asked`, bytes are shown too."""
        if isinstance(value, type):
            return False
        show = self._way_to_show(value, is_asked)
        if show is None:
            return False
        if self._is_full:
            return True  # Already reported; rendering the image would be wasted time.
        try:
            return show(value, alt)
        except images.ImageError as error:
            print(f"[{type(value).__name__}, not shown: the image {error}; {_KEEP_IT}]")
        except Exception as error:  # noqa: BLE001 The user's objects may raise anything.
            print(f"[{type(value).__name__}, not shown: {type(error).__name__}: {error}]")
        return True

    def _way_to_show(self, value: object, is_asked: bool) -> Callable[[Any, str | None], bool] | None:
        if isinstance(value, (values.ImageContent, values.AudioContent)):
            return self._show_content
        if isinstance(value, values.ResourceContent) and is_asked:
            return self._show_resource
        if is_asked and (isinstance(value, _FILES) or _is_document(value)):
            return self._show_file
        if _is_figure(value):
            return self._show_figure if is_asked else self._show_changed_figure
        if images.is_pillow(value):
            return self._show_pillow
        kind = type(value)
        if any(hasattr(kind, name) for name in _TABLE_MARKS):
            return None  # Its HTML holds no more than its text and needs far more tokens.
        if callable(getattr(kind, "_ipython_display_", None)):
            return _show_itself
        has_method = any(callable(getattr(kind, name, None)) for name in (*dict(_methods_of(kind)), _BUNDLE))
        return self._show_by_method if has_method else None

    def show_open_figures(self) -> None:
        """Shows and closes the figures that a cell left open, as notebooks do."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        numbers: list[int] = pyplot.get_fignums()
        for number in numbers:
            figure: object = pyplot.figure(number)
            if figure not in self._figures:
                self.show_rich(figure)
        pyplot.close("all")

    def show_figures(self) -> None:
        """Shows and closes the open figures when code calls `plt.show()`."""
        pyplot = sys.modules["matplotlib.pyplot"]
        for number in list(pyplot.get_fignums()):
            self.show_rich(pyplot.figure(number))
        pyplot.close("all")

    def close_figures(self) -> None:
        """Closes the figures of an interrupted cell without showing them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")

    def _show_content(self, content: values.ImageContent | values.AudioContent, alt: str | None) -> bool:
        data = content.data
        if isinstance(content, values.AudioContent):
            return self._attach_bytes(data, content.mime_type or "audio/wav", "", alt)
        return self._show_bytes(data, alt)

    def _show_resource(self, resource: values.ResourceContent, alt: str | None) -> bool:
        if resource.text is None:
            return self._show_file(resource.data or b"", alt or resource.uri)
        return self._attach_text(resource.text, resource.mime_type or "text/plain", alt or resource.uri)

    def _show_bytes(self, data: bytes, alt: str | None) -> bool:
        kind = images.image_type(data[:16])
        if kind is None:
            raise images.ImageError("is not a PNG, JPEG, GIF or WebP")
        return self._attach_image(images.fit(bytes(data), kind), alt)

    def _show_file(self, value: object, alt: str | None) -> bool:
        from bridge_kernel import documents

        data = documents.content(value)
        if images.image_type(data[:16]) is not None:
            return self._show_bytes(data, alt)
        for part in documents.parts(data):
            if isinstance(part, str):
                print(part)
            else:
                self._attach_image(part, alt)
            if self._is_full:
                break
        return True

    def _show_pillow(self, picture: Any, alt: str | None) -> bool:
        return self._attach_image(images.from_pillow(picture), alt)

    def _show_figure(self, figure: Any, alt: str | None) -> bool:
        return self._attach_figure(figure, self._draw(figure), alt)

    def _show_changed_figure(self, figure: Any, alt: str | None) -> bool:
        """Shows a figure unless the cell has shown it as it is: it may be the value of the cell, too."""
        earlier = self._figures.get(figure)
        picture = self._draw(figure)
        return earlier == picture or self._attach_figure(figure, picture, alt)

    def _draw(self, figure: Any) -> bytes:
        # Even if it cannot be drawn: that is reported once.
        self._figures.setdefault(figure, b"")
        return _picture_of(figure)

    def _attach_figure(self, figure: Any, picture: bytes, alt: str | None) -> bool:
        self._figures[figure] = picture
        return self._attach_image(images.fit(picture, "image/png"), alt or _title_of(figure))

    def _show_by_method(self, value: object, alt: str | None) -> bool:
        for name, mime_type in _IMAGE_METHODS:
            data = _ask(value, name)
            if isinstance(data, (bytes, bytearray)):
                return self._attach_image(images.fit(bytes(data), mime_type), alt)
        for name, mime_type in _methods_of(type(value))[len(_IMAGE_METHODS) :]:
            found = _ask(value, name)
            if found is not None:
                return self._show_text(found, mime_type, alt)
        return self._show_bundle(_ask(value, _BUNDLE), alt)

    def _show_bundle(self, bundle: Any, alt: str | None) -> bool:
        """Shows the picture in a bundle of a value, otherwise its text."""
        if not isinstance(bundle, dict):
            return False
        forms: dict[str, Any] = bundle  # pyright: ignore[reportUnknownVariableType]
        for _, mime_type in _IMAGE_METHODS:
            data = forms.get(mime_type)
            if data is not None:
                import base64

                raw = base64.b64decode(data) if isinstance(data, str) else bytes(data)
                return self._attach_image(images.fit(raw, mime_type), alt)
        for mime_type in ("text/plain", *(kind for _, kind in (*_TEXT_METHODS, *_LAST_METHODS))):
            if mime_type in forms:
                return self._show_text(forms[mime_type], mime_type, alt)
        return False

    def _show_text(self, content: object, mime_type: str, alt: str | None) -> bool:
        if not isinstance(content, str):
            print(short_repr(content))
        elif mime_type in ("text/plain", "text/markdown", "text/latex"):
            print(content)
        else:
            return self._attach_text(content, mime_type, alt)
        return True

    def _attach_image(self, image: images.Image, alt: str | None) -> bool:
        size = "" if image.size is None else f" {image.size[0]}×{image.size[1]}"
        return self._attach_bytes(image.data, image.mime_type, size, alt)

    def _attach_bytes(self, data: bytes, mime_type: str, size: str, alt: str | None) -> bool:
        if self._takes(len(data), mime_type, size, alt):
            import base64

            text = base64.b64encode(data).decode("ascii")
            self._send({"type": "display", "cell": self._cell, "mime_type": mime_type, "base64": text})
        return True

    def _attach_text(self, text: str, mime_type: str, alt: str | None) -> bool:
        if len(text) > _MAX_DOCUMENT_CHARS:
            print(f"[{mime_type}, not shown: {len(text):,} characters; the limit is {_MAX_DOCUMENT_CHARS:,}]")
        elif self._takes(len(text.encode("utf-8", "replace")), mime_type, f" {len(text):,} characters", alt):
            self._send({"type": "display", "cell": self._cell, "mime_type": mime_type, "text": text})
        return True

    def _takes(self, size: int, mime_type: str, about: str, alt: str | None) -> bool:
        """Whether the answer has room; if so, prints the line that represents the item in the text."""
        if self._is_full:
            return False
        if self._shown >= self._max_displays or self._bytes + size > self._max_bytes:
            self._is_full = True
            print(f"[further images and documents are not shown: the limit per cell is {self._max_displays} items "
                  f"and {self._max_bytes:,} bytes]")  # fmt: skip
            return False
        self._shown += 1
        self._bytes += size
        words = f": {' '.join(str(alt).split())[:_MAX_ALT_CHARS]}" if alt else ""
        print(f"[{self._shown}: {mime_type}{about}{words}]")
        return True


def _methods_of(kind: type) -> tuple[tuple[str, str], ...]:
    says_nothing = kind.__repr__ is object.__repr__ or kind.__module__.startswith("IPython.")
    return (*_IMAGE_METHODS, *_TEXT_METHODS, *(_LAST_METHODS if says_nothing else ()))


def _show_itself(value: Any, alt: str | None) -> bool:
    del alt
    value._ipython_display_()
    return True


def _parts(value: object, depth: int) -> Iterator[object]:
    """The members of a list with media, such as the result of a tool; otherwise the value itself."""
    if isinstance(value, (list, tuple)) and depth < _MAX_DEPTH:
        members: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        if any(isinstance(member, _MEDIA) for member in members):
            for member in members:
                yield from _parts(member, depth + 1)
            return
    yield value


def _is_document(value: Any) -> bool:
    """Whether it is a path of a file that can be shown. Other paths are printed."""
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and isinstance(value, pathlib.Path) and value.suffix.lower() in _ENDINGS


def _is_figure(value: object) -> bool:
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def _picture_of(figure: Any) -> bytes:
    buffer = io.BytesIO()
    dpi = min(float(figure.dpi), images.MAX_PIXELS / max(1e-6, *figure.get_size_inches()))
    figure.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight")
    return buffer.getvalue()


def _title_of(figure: Any) -> str:
    """The title of a figure and of its axes."""
    titles = [figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""]
    titles += [axes.get_title() for axes in figure.axes]
    return "; ".join(title for title in titles if title)


def _ask(value: object, name: str) -> object:
    method = getattr(value, name, None)
    found = method() if callable(method) else None
    # Some methods return a tuple of data and metadata.
    return found[0] if isinstance(found, tuple) and found else found  # pyright: ignore[reportUnknownVariableType]
