"""Keys of a result that are also methods of dict: `result.items` is the value, and `result.items()` still calls it.

APIs like to name a list `items`, `values` or `keys`. Code writes `for issue in page.items:` as well as `page.items()`,
so the attribute is the value of the key with the method as its call.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAMES = ("copy", "get", "items", "keys", "pop", "update", "values")
"""The methods that keys of real results are named after."""


class _Callable:
    """A value that is called like the method. Pickled and deep-copied as the plain value."""

    _plain: Any
    _method: Callable[..., object]

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._method(*args, **kwargs)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return self._plain, (self._plain(self),)


class _List(_Callable, list["Any"]):
    _plain = list


class _Text(_Callable, str):  # noqa: SLOT000 It has the method beside the text.
    _plain = str


class _Integer(_Callable, int):
    _plain = int


class _Float(_Callable, float):
    _plain = float


class KeyOrMethod:
    """The attribute of a dict class for one of `NAMES`. Without such a key it is the method.

    A value that cannot be subclassed (true, false, null) is read as `result["update"]`.
    """

    def __init__(self, name: str, method: Any, dict_class: type[dict[str, object]]) -> None:
        """`method` is the function of `dict_class`."""
        self._name = name
        self._method = method

        class _Dict(_Callable, dict_class):
            _plain = dict_class

        self._kinds: dict[Any, Any] = {
            list: _List, str: _Text, int: _Integer, float: _Float, dict: _Dict, dict_class: _Dict,
        }  # fmt: skip

    def __get__(self, owner: dict[str, object] | None, kind: type) -> object:
        if owner is None:
            return self._method
        bound = self._method.__get__(owner, kind)
        if self._name not in owner:
            return bound
        value = owner[self._name]
        if isinstance(value, _Callable):
            if value._method == bound:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
                return value
            value = value._plain(value)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] From a copy of another dict.
        wrapper = self._kinds.get(type(value))
        if wrapper is None:
            return bound
        wrapped: Any = wrapper(value)
        object.__setattr__(wrapped, "_method", bound)
        if not isinstance(wrapped, (str, int, float)):
            owner[self._name] = wrapped  # So that changes such as `page.items.sort()` stay.
        return wrapped
