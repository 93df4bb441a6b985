"""Matches the regular expressions of servers, but only if that is safe and certain.

A server writes its patterns for JavaScript (ECMA-262). A pattern is matched here only if Python reads it the same way
and matching cannot take long; everything else is left to the server.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

_MAX_PATTERN_CHARS = 500
_MAX_STEPS = 1_000_000
"""Limit on the cost of backtracking, about 20 ms. Chosen."""
_SAFE_ESCAPES = frozenset("dDwWsSbBtnrfv")
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_MAX_DIGITS = 5
_MAX_GROUP_DIGITS = 2
_MAX_KEPT = 500

_compiled: dict[str, tuple[Pattern[str], int] | None] = {}
"""Cache: the compiled pattern and the number of its variable repetitions, or None if unusable."""


def matches(pattern: str, text: str) -> bool | None:
    """Whether the pattern matches somewhere in `text`; None if that is uncertain or too costly to find out."""
    if pattern not in _compiled:
        if len(_compiled) >= _MAX_KEPT:
            _compiled.clear()
        _compiled[pattern] = _compile(pattern)
    known = _compiled[pattern]
    # Beyond ASCII the two languages define \w, \s and upper case differently.
    if known is None or not text.isascii():
        return None
    expression, repetitions = known
    # Each repetition may end anywhere, and the match may start anywhere.
    if (len(text) + 1) ** (repetitions + 1) > _MAX_STEPS:
        return None
    return expression.search(text) is not None


def _compile(pattern: str) -> tuple[Pattern[str], int] | None:
    if len(pattern) > _MAX_PATTERN_CHARS or not pattern.isascii():
        return None
    read = _Reader(pattern).read()
    if read is None:
        return None
    import re

    try:
        return re.compile(read[0], re.ASCII), read[1]
    except (re.error, OverflowError, RecursionError):
        return None


class _Reader:
    """Scans a pattern once: translates `$`, counts repetitions, and gives up on anything unknown."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._repetitions = 0
        # What a quantifier at this point would repeat: nothing, one character, or a group.
        self._last = "nothing"
        # For each open group: the repetitions before it, and whether it contains a repeated group.
        self._groups: list[tuple[int, bool]] = []

    def read(self) -> tuple[str, int] | None:
        """The pattern for Python and the number of its variable repetitions; None if uncertain."""
        written: list[str] = []
        while self._at < len(self._pattern):
            step = self._step(self._pattern[self._at])
            if step is None:
                return None
            written.append(step)
        return None if self._groups else ("".join(written), self._repetitions)

    def _step(self, character: str) -> str | None:
        if character in "*+?{":
            return self._repetition(character)
        if character in "()":
            return self._open_group() if character == "(" else self._close_group()
        if character == "\\":
            return self._escape()
        if character == "[":
            return self._class()
        if character in "]}":
            return None
        self._at += 1
        if character == "|":
            self._repetitions += 1  # Costs as much as a repetition.
        self._last = "nothing" if character in "^$|" else "character"
        return r"\Z" if character == "$" else character  # In Python `$` also matches before a final newline.

    def _escape(self) -> str | None:
        escape = self._pattern[self._at : self._at + 2]
        character = escape[1:]
        if character in ("x", "u"):
            length = 2 if character == "x" else 4
            digits = self._pattern[self._at + 2 : self._at + 2 + length]
            if len(digits) < length or not all(digit in _HEX for digit in digits):
                return None
            escape += digits
        elif not character or (character.isalnum() and character not in _SAFE_ESCAPES):
            return None
        self._at += len(escape)
        self._last = "nothing" if character in ("b", "B") else "character"
        return escape

    def _class(self) -> str | None:
        end = 2 if self._pattern.startswith("[^", self._at) else 1
        written = [self._pattern[self._at : self._at + end]]
        self._at += end
        if self._pattern.startswith("]", self._at):
            return None  # Empty in JavaScript, a literal in Python.
        while self._at < len(self._pattern):
            character = self._pattern[self._at]
            if character == "]":
                self._at += 1
                self._last = "character"
                return "".join(written) + "]"
            if character == "\\":
                step = self._escape()
                if step is None or self._last == "nothing":
                    return None
            else:
                self._at += 1
                step = "\\" + character if character in "[&~|" else character
            written.append(step)
        return None

    def _open_group(self) -> str | None:
        self._groups.append((self._repetitions, False))
        self._last = "nothing"
        self._at += 1
        if self._pattern.startswith("?:", self._at):
            self._at += 2
            return "(?:"
        return None if self._pattern.startswith("?", self._at) else "("

    def _close_group(self) -> str | None:
        if not self._groups:
            return None
        before, has_repeated_group = self._groups.pop()
        self._at += 1
        # Nested repetitions backtrack exponentially.
        is_simple = self._repetitions == before and not has_repeated_group
        self._last = "group" if is_simple else "nothing"
        return ")"

    def _repetition(self, character: str) -> str | None:
        text = character
        if character == "{":
            text = self._pattern[self._at : self._pattern.find("}", self._at) + 1]
        low, comma, high = text[1:-1].partition(",")
        is_counted = character == "{"
        is_known = not is_counted or (low != "" and all(digit in _DIGITS for digit in low + high))
        is_short = max(len(low), len(high)) <= (_MAX_GROUP_DIGITS if self._last == "group" else _MAX_DIGITS)
        if self._last == "nothing" or not is_known or not is_short:
            return None
        if self._last == "group" and self._groups:
            self._groups[-1] = (self._groups[-1][0], True)
        self._at += len(text)
        if self._pattern.startswith("?", self._at):  # Lazy: the same strings match.
            text += "?"
            self._at += 1
        self._repetitions += not is_counted or (comma != "" and low != high)
        self._last = "nothing"
        return text
