"""TOON from the sandbox: the text of the host's encoder, and what Python has beyond JSON."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import unittest
from pathlib import Path

from bridge_kernel.toon import to_toon

GOLDEN = Path(__file__).parent.parent / "fixtures" / "toon" / "golden.jsonl"


class Golden(unittest.TestCase):
    def test_writes_what_the_encoder_of_the_host_writes(self) -> None:
        pairs = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").split("\n") if line]
        self.assertGreater(len(pairs), 300)
        for value, text in pairs:
            with self.subTest(value=value):
                self.assertEqual(to_toon(json.loads(value)), text)


class PythonValues(unittest.TestCase):
    def test_takes_tuples_sets_dates_and_dataclasses(self) -> None:
        @dataclasses.dataclass
        class Point:
            x: int
            when: dt.date

        self.assertEqual(to_toon([Point(1, dt.date(2026, 4, 8))]), "[1]{x,when}:\n  1,2026-04-08")
        self.assertEqual(to_toon({"both": (1, 2), "one": {3}}), "both[2]: 1,2\none[1]: 3")

    def test_keeps_every_digit_of_a_large_integer(self) -> None:
        self.assertEqual(to_toon({"id": 2**53 + 1}), 'id: "9007199254740993"')

    def test_writes_what_is_no_number_as_null(self) -> None:
        self.assertEqual(to_toon([float("nan"), float("inf"), -0.0]), "[3]: null,null,0")

    def test_names_the_place_of_what_it_cannot_write(self) -> None:
        with self.assertRaisesRegex(TypeError, r"value\['a'\]\[1\]: object has no TOON form"):
            to_toon({"a": [1, object()]})
        with self.assertRaisesRegex(ValueError, r"value\['a'\]: text with a lone surrogate at index 1"):
            to_toon({"a": "x\ud800"})

    def test_refuses_what_contains_itself(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        with self.assertRaisesRegex(ValueError, "contains itself"):
            to_toon(loop)


if __name__ == "__main__":
    unittest.main()
