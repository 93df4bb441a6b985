"""The text of huge values shows their size and both ends, and is fast."""

from __future__ import annotations

import unittest
from typing import Any

from bridge_kernel.repl import shortened
from bridge_kernel.shorten import short_repr


class Small(unittest.TestCase):
    def test_small_values_are_unchanged(self) -> None:
        loop: list[Any] = []
        loop.append(loop)
        for value in (1, "a'b", b"x", [], (1,), {1: [2, {3}]}, frozenset({1}), set[int](), list(range(5000)), loop):
            self.assertEqual(short_repr(value), repr(value))

    def test_user_classes_keep_their_own_repr(self) -> None:
        class Mine(list[int]):
            def __repr__(self) -> str:
                return "mine"

        self.assertEqual(short_repr(Mine(range(1_000_000))), "mine")


class Huge(unittest.TestCase):
    def test_list_shows_both_ends(self) -> None:
        text = short_repr(list(range(10_000_000)))
        heading, body = text.split("\n")
        self.assertEqual(heading, "list, 10,000,000 items:")
        self.assertRegex(body, r"^\[0, 1, 2, .* … 9,99\d,\d{3} more …, .* 9999998, 9999999\]$")
        self.assertLess(len(body), 7_000)

    def test_dict_and_set_show_their_start(self) -> None:
        text = short_repr({f"key{index}": index for index in range(100_000)})
        self.assertTrue(text.startswith("dict, 100,000 items:\n{'key0': 0, 'key1': 1"))
        self.assertRegex(text, r"… 9\d,\d{3} more …\}$")
        self.assertRegex(short_repr(set(range(50_000))), r"^set, 50,000 items:\n\{.* more …\}$")

    def test_the_brackets_are_those_of_repr(self) -> None:
        class Tags(set[int]):
            pass

        for value, end in (
            (("x" * 50_000,), "x',)"),
            (Tags(range(50_000)), "more …})"),
            (frozenset(range(50_000)), "more …})"),
            (set(range(50_000)), "more …}"),
        ):
            body = short_repr(value).split("\n")[1]
            self.assertEqual((body[:7], body[-len(end) :]), (repr(value)[:7], end))

    def test_a_dict_shows_what_it_holds(self) -> None:
        class Doubling(dict[int, int]):
            def __getitem__(self, key: int) -> int:
                return super().__getitem__(key) * 2

        text = short_repr(Doubling((n, n) for n in range(50_000)))
        self.assertEqual(text.partition("\n")[2][:16], "{0: 0, 1: 1, 2: ")

    def test_text_and_bytes_show_both_ends(self) -> None:
        text = short_repr("a" * 50_000 + "z" * 50_000)
        self.assertTrue(text.startswith("str, 100,000 characters:\n'aaa"))
        self.assertTrue(text.endswith("zzz'"))
        self.assertIn("' … 94,000 more … '", text)
        self.assertTrue(short_repr(bytes(100_000)).startswith("bytes, 100,000 bytes:\nb'"))

    def test_nested_huge_values_are_found(self) -> None:
        for value in ([list(range(1_000_000))], {"rows": [{"id": n} for n in range(100_000)]}, ("x" * 1_000_000, 1)):
            text = short_repr(value)
            self.assertLess(len(text), 8_000)
            self.assertIn("more …", text)
        self.assertTrue(short_repr(("x" * 1_000_000, 1)).endswith(", 1)"))

    def test_deep_and_circular_values_terminate(self) -> None:
        deep: list[Any] = list(range(20_000))
        for _ in range(500):
            deep = [deep]
        self.assertIn("…", short_repr(deep))
        loop: list[Any] = list(range(20_000))
        loop[0] = loop
        self.assertLess(len(short_repr(loop)), 8_000)

    def test_only_the_shown_parts_are_rendered(self) -> None:
        class Item:
            asked = 0

            def __repr__(self) -> str:
                Item.asked += 1
                return "Item()"

        short_repr([Item() for _ in range(100_000)])
        self.assertLess(Item.asked, 2_000)


class Texts(unittest.TestCase):
    def test_short_texts_are_unchanged(self) -> None:
        self.assertEqual(shortened("abcd", 4), "abcd")

    # The host reads the counts and adds what it cuts itself, so the words must be those of src/core/render/truncate.ts.
    def test_what_is_cut_is_counted_in_bytes_and_lines(self) -> None:
        self.assertEqual(shortened("ab12345678yz", 4), "ab\n[8 bytes omitted here.]\nyz")
        self.assertEqual(shortened("ab\nyz", 4), "ab\n[1 byte (1 line) omitted here.]\nyz")
        self.assertEqual(
            shortened("ab" + "€\n\ud800" * 1000 + "yz", 4), "ab\n[7,000 bytes (1,000 lines) omitted here.]\nyz"
        )


if __name__ == "__main__":
    unittest.main()
