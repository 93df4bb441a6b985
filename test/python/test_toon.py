"""What `runtime.to_toon` sends to the host for values of types beyond JSON."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import unittest

from fake_host import FakeHost

from bridge_kernel.errors import MCPError
from bridge_kernel.toon import to_toon


def sent(value: object) -> object:
    """The JSON value sent to the host for `value`."""
    host = FakeHost()
    host.answers["to_toon"] = lambda params: json.dumps(params, allow_nan=False)
    return json.loads(to_toon(host, value))["value"]


class PythonValues(unittest.TestCase):
    def test_takes_tuples_sets_dates_and_dataclasses(self) -> None:
        @dataclasses.dataclass
        class Point:
            x: int
            when: dt.date

        self.assertEqual(sent([Point(1, dt.date(2026, 4, 8))]), [{"x": 1, "when": "2026-04-08"}])
        self.assertEqual(sent({"both": (1, 2), "one": {3}, 4: None}), {"both": [1, 2], "one": [3], "4": None})

    def test_takes_tables_and_numbers_of_other_libraries(self) -> None:
        class Table:
            def to_dict(self, orient: str) -> list[dict[str, object]]:
                return [{"orient": orient, "n": Number()}]

        class Number:
            def tolist(self) -> float:
                return 1.5

        self.assertEqual(sent(Table()), [{"orient": "records", "n": 1.5}])

    def test_keeps_every_digit_of_a_large_integer(self) -> None:
        self.assertEqual(sent({"id": 2**53 + 1}), {"id": 2**53 + 1})

    def test_sends_nan_and_infinity_as_null(self) -> None:
        self.assertEqual(sent([float("nan"), float("inf"), True]), [None, None, True])

    def test_sends_durations_as_python_prints_them(self) -> None:
        class timedelta64:  # noqa: N801 The name that NumPy has.
            def __str__(self) -> str:
                return "1 seconds"

        self.assertEqual(sent([dt.timedelta(1, 2), timedelta64()]), ["1 day, 0:00:02", "1 seconds"])

    def test_names_the_path_of_a_value_it_cannot_convert(self) -> None:
        with self.assertRaisesRegex(TypeError, r"value\['a'\]\[1\]: object has no TOON form"):
            sent({"a": [1, object()]})
        with self.assertRaisesRegex(ValueError, r"value\['a'\]: text with a lone surrogate at index 1"):
            sent({"a": "x\ud800"})

    def test_refuses_circular_values(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        with self.assertRaisesRegex(ValueError, "contains itself"):
            sent(loop)

    def test_explains_what_to_do_about_a_value_that_is_too_large(self) -> None:
        def refuse(_params: dict[str, object]) -> object:
            raise MCPError("a call frame has 9 bytes; the limit is 8 bytes", "LIMIT_FRAME", "Send less.")

        host = FakeHost()
        host.answers["to_toon"] = refuse
        with self.assertRaisesRegex(MCPError, "runtime.to_toon is too large: .*\nHint: Write fewer rows at once."):
            to_toon(host, [])


if __name__ == "__main__":
    unittest.main()
