"""What `display` shows, and what it says about what it cannot show."""

from __future__ import annotations

import base64
import contextlib
import io
import struct
import unittest
import zlib

from bridge_kernel.display import Display
from bridge_kernel.values import AudioContent, ImageContent


def chunk(kind: bytes, data: bytes, damage: int = 0) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data) ^ damage)


HEAD = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
PIXELS = zlib.compress(b"\0\xff\0\0")
END = chunk(b"IEND", b"")
PNG = HEAD + chunk(b"IDAT", PIXELS) + END


def image(data: bytes) -> ImageContent:
    return ImageContent({"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()})


class DisplayTest(unittest.TestCase):
    def setUp(self) -> None:
        self.frames: list[dict[str, object]] = []
        self.display = Display(self.frames.append, 20, 1 << 20)

    def show(self, *values: object) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.display(*values)
        return printed.getvalue()

    # A tool of the reference server `everything` returns such an image.
    def test_a_damaged_chunk_that_no_picture_needs_is_left_out(self) -> None:
        odd = HEAD + chunk(b"iCCP", b"profile", damage=1) + chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", PIXELS) + END
        self.assertEqual(self.show(image(odd)), "[1: image/png 1×1]\n")
        sent = base64.b64decode(str(self.frames[0]["base64"]))
        self.assertEqual(sent, HEAD + chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", PIXELS) + END)

    def test_an_undamaged_image_is_sent_unchanged(self) -> None:
        self.show(PNG + b"trailing")
        self.assertEqual(base64.b64decode(str(self.frames[0]["base64"])), PNG + b"trailing")

    def test_a_damaged_picture_is_reported_with_a_next_step(self) -> None:
        said = "[bytes, not shown: the image is damaged; runtime.save_artifact(name, data) keeps it as a file]\n"
        self.assertEqual(self.show(HEAD + chunk(b"IDAT", PIXELS, damage=1) + END), said)
        self.assertEqual(self.show(PNG[:30]), said)
        self.assertEqual(self.frames, [])

    def test_the_parts_of_a_result_are_shown_in_turn(self) -> None:
        sound = AudioContent({"type": "audio", "mimeType": "audio/wav", "data": "AAAA"})
        said = self.show(["Here:", image(PNG), ["nested", sound], {"a": 1}])
        self.assertEqual(said, "Here:\n[1: image/png 1×1]\nnested\n[2: audio/wav]\n{'a': 1}\n")
        self.assertEqual(len(self.frames), 2)

    # They were shown as <__main__.Shown object at 0x…>.
    def test_the_ways_of_notebooks_to_show_an_object_are_used(self) -> None:
        def shown(repr_text: str | None = None, **methods: object) -> str:
            own = {} if repr_text is None else {"__repr__": lambda _: repr_text}
            made = {f"_{name}_": lambda _, value=value: value for name, value in methods.items()}
            return self.show(type("Shown", (), {**own, **made})())

        png = base64.b64encode(PNG).decode()
        self.assertEqual(shown(repr_latex="$a$"), "$a$\n")
        self.assertEqual(shown("own", repr_latex="$a$"), "own\n")
        self.assertEqual(shown(repr_json={"a": 1}), "{'a': 1}\n")
        self.assertEqual(shown(repr_mimebundle={"text/html": "<b>", "text/plain": "text"}), "text\n")
        self.assertEqual(shown(repr_mimebundle=({"text/html": "<b>"}, {})), "[1: text/html 3 characters]\n")
        self.assertEqual(shown(repr_mimebundle={"image/png": png, "text/plain": "p"}), "[2: image/png 1×1]\n")
        self.assertEqual(shown("own", repr_mimebundle={}), "own\n")
        itself = type("Itself", (), {"_ipython_display_": lambda _: print("itself")})
        self.assertEqual(self.show(itself()), "itself\n")

    # It was a TypeError.
    def test_what_is_displayed_again_is_shown_again(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            handle = self.display("before", display_id=True)
            assert handle is not None
            handle.update("after")
            self.assertIsNone(self.display("no handle"))
        self.assertEqual(printed.getvalue(), "before\nafter\nno handle\n")

    def test_other_lists_are_printed_as_text(self) -> None:
        loop: list[object] = [1]
        loop.append(loop)
        self.assertEqual(self.show(loop, ["a", b"b"], (1, 2)), "[1, [...]]\n['a', b'b']\n(1, 2)\n")
        loop.append(image(PNG))
        self.assertIn("[1: image/png 1×1]\n", self.show(loop))


if __name__ == "__main__":
    unittest.main()
