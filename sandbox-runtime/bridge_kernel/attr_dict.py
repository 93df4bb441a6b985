"""The dicts of results: keys are attributes, also those that are named like a method of dict."""

from __future__ import annotations

from bridge_kernel.callable_keys import NAMES, KeyOrMethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN_KEYS = 12
_CONTAINERS = (dict, list)
_DICT_NAMES = frozenset(dir(dict))
_items = dict[str, object].items  # Not the key of that name.
# What code asks of a raw result, as the SDKs return it.
RAW_NAMES = frozenset({
    "content", "dict", "isError", "json", "lines", "model_dump", "model_dump_json", "structuredContent",
    "structured_content", "text",
})  # fmt: skip
ALREADY = "The result is already {}: use it directly"
"""What to say to code that looks for the parts of a raw result."""


class AttrDict(dict[str, object]):
    """A dict whose keys can be read and set as attributes.

    `issue.title` is `issue["title"]`. If a key is named like a method, `page.items` is its value and `page.items()` the
    method (`callable_keys.py`). Everything else (repr, JSON, pickle, copy, comparison) works as for a dict.
    """

    # User code imports it as `mcp.runtime.AttrDict`, and so does pickle.
    __module__ = "mcp.runtime"
    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        try:
            return self[name]
        except KeyError:
            pass
        # With `name` and `obj`, Python's traceback adds "Did you mean …?" from `__dir__`. Computing close matches here
        # would slow down every `hasattr` of a library that probes its input.
        fix = f". {ALREADY.format('a dict')}" if name in RAW_NAMES else ""
        raise AttributeError(f"no key {name!r}; keys: {_first_keys(self)}{fix}", name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _DICT_NAMES:
            raise AttributeError(f"{name!r} is a method of dict; write [{name!r}] = … instead", name=name, obj=self)
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(f"no key {name!r}; keys: {_first_keys(self)}", name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(key for key in self if key.isidentifier())]

    def copy(self) -> AttrDict:
        return AttrDict(self)


if not TYPE_CHECKING:  # To type checkers they are the methods, which is what code without such keys sees.
    for _name in NAMES:
        setattr(AttrDict, _name, KeyOrMethod(_name, getattr(AttrDict, _name), AttrDict))


def _first_keys(value: Mapping[str, object]) -> str:
    keys = list(value)
    shown = ", ".join(keys[:_SHOWN_KEYS])
    return f"{shown}, … ({len(keys)} in total)" if len(keys) > _SHOWN_KEYS else shown or "none"


def attribute_access(value: object) -> object:
    """`value` with all its dicts replaced by `AttrDict`; lists are changed in place.

    Eager on purpose: it takes 0.45 s for a million objects (measured), while a lazy wrapper would have to override
    every way of reading a dict and a list. The host limits the depth, and so the recursion.
    """
    kind = type(value)
    if kind is dict:
        wrapped = AttrDict(value)  # pyright: ignore[reportCallIssue, reportArgumentType]
        for key, member in _items(wrapped):
            if type(member) in _CONTAINERS:
                wrapped[key] = attribute_access(member)
        return wrapped
    if kind is list:
        members: list[object] = value  # pyright: ignore[reportAssignmentType]
        for index, member in enumerate(members):
            if type(member) in _CONTAINERS:
                members[index] = attribute_access(member)
    return value
