"""The JSON of a large result is decoded as `json.loads` would, although long texts are taken out first."""

from __future__ import annotations

import itertools
import json
import unittest
from unittest.mock import patch

from bridge_kernel import large_results
from bridge_kernel.large_results import Body, loads

LONG = "x" * large_results._LONG_BYTES  # noqa: SLF001
TEXTS = ("", "short", LONG, f"{LONG}é{LONG}", f'{LONG}\n"\\{LONG}', "\U0001f600" * 20_000)


def decoded(text: str) -> object:
    data = text.encode()
    body = Body(len(data))
    for start in range(0, len(data), 1000):
        piece = data[start : start + 1000]
        with body.place_for(len(piece)) as place:
            place[:] = piece
    return loads(body.data)


class Loads(unittest.TestCase):
    def test_any_texts_anywhere(self) -> None:
        for first, second in itertools.product(TEXTS, TEXTS):
            for value in (
                {"content": [{"type": "text", "text": first}, {"text": second, "type": "text"}], "isError": False},
                [first, {first: second, "n": 1.5, "none": None}, second],
                first,
            ):
                for ascii_only, indent in itertools.product((True, False), (None, 2)):
                    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
                    with self.subTest(first=first[:9], second=second[:9], ascii=ascii_only, indent=indent):
                        self.assertEqual(decoded(text), value)

    def test_a_key_is_no_value(self) -> None:
        for space in ("", " \n"):
            self.assertEqual(decoded(f'{{"{LONG}"{space}: "{LONG}"}}'), {LONG: LONG})

    def test_many_texts(self) -> None:
        value = [*(str(number) for number in range(200)), LONG]
        self.assertEqual(decoded(json.dumps(value)), value)

    def test_what_takes_the_place_of_a_text_is_refused_elsewhere(self) -> None:
        for text in (f'["{LONG}", NaN]', f'["{LONG}", Infinity]', f'["{LONG}"', f'"{LONG}', f'["{LONG}", "é'):
            with self.subTest(text=text[-9:]), self.assertRaises(ValueError):
                decoded(text)

    def test_where_python_cannot_map_memory(self) -> None:
        with patch.dict("sys.modules", {"mmap": None}):
            self.assertEqual(decoded(json.dumps([LONG])), [LONG])


if __name__ == "__main__":
    unittest.main()
