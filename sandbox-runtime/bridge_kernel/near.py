"""Suggests known names close to a misspelled one."""

from __future__ import annotations

_MAX_NEAR = 3
_MIN_PART = 2
"""Fragments up to this length occur in too many names to suggest one."""


def close_names(name: str, known: list[str]) -> str:
    """`" Did you mean 'a' or 'b'?"` for the known names closest to `name`, or an empty string."""
    import difflib

    folded = name.casefold()
    by_folded = {candidate.casefold(): candidate for candidate in known}
    longer = [candidate for candidate in by_folded if len(folded) > _MIN_PART and folded in candidate]
    near = difflib.get_close_matches(folded, by_folded, n=_MAX_NEAR, cutoff=0.6)
    found = list(dict.fromkeys(near + longer))[:_MAX_NEAR]
    return f" Did you mean {' or '.join(repr(by_folded[match]) for match in found)}?" if found else ""
