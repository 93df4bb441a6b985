"""Lets `inspect` find the source of a class of a cell: it looks only for the file of the module, and cells are none."""

from __future__ import annotations

import inspect
import linecache
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator
    from typing import Any

_CELL = "<cell "


def install() -> None:
    """Extends `inspect.getfile`, which all of its other functions use."""
    getfile = inspect.getfile

    def getfile_or_cell(object: Any) -> str:  # noqa: A002 As the original.
        """Work out which source or compiled file an object was defined in."""
        try:
            return getfile(object)
        except (OSError, TypeError):
            cell = _cell_of(object) if isinstance(object, type) and object.__module__ == "__main__" else None
            if cell is None:
                raise
            return cell

    inspect.getfile = getfile_or_cell


def _cell_of(cls: type) -> str | None:
    """The file name of the cell that has defined a class, or the newest that could have."""
    name, members = cls.__qualname__, vars(cls)
    for member in members.values():
        function: object = member
        if isinstance(member, property):
            function = member.fget
        elif isinstance(member, (classmethod, staticmethod)):
            function = member.__func__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(function, FunctionType) and function.__qualname__.startswith(f"{name}."):
            file = inspect.unwrap(function).__code__.co_filename
            if file.startswith(_CELL):
                return file
    # Known since Python 3.13.
    line: object = members.get("__firstlineno__")
    for file in reversed([file for file in linecache.cache if file.startswith(_CELL)]):
        if any(found == name and line in (None, first) for found, first in _classes_in(file, cls.__name__)):
            return file
    return None


def _classes_in(file: str, name: str) -> Iterator[tuple[str, int]]:
    """Qualified name and first line of the classes in a cell that has one of this name."""
    import ast

    source = "".join(linecache.getlines(file))
    if f"class {name}" in source:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            return  # This cell has not run.
        yield from _walk(tree, "")


def _walk(tree: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    import ast

    for node in ast.iter_child_nodes(tree):
        inner = prefix
        if isinstance(node, ast.ClassDef):
            inner = f"{prefix}{node.name}."
            yield inner[:-1], min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = f"{prefix}{node.name}.<locals>."
        yield from _walk(node, inner)
