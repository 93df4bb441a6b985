"""What a syntax tree contains, found once and kept with the tree: a cell is searched several times."""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Attributes of a tree.
_NODES = "_bridge_nodes"
_BOUND = "_bridge_bound"
# Fields that never hold anything but text, a number, a context or an operator.
_PLAIN = frozenset({
    "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "op", "ops", "simple",
    "type_comment",
})  # fmt: skip

_fields: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}
# What else than names and imports binds a name, and the field that has it.
_NAMED: dict[type[ast.AST], str] = {
    ast.arg: "arg",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}


def nodes_of(tree: ast.AST) -> Sequence[ast.AST]:
    """The nodes below `tree` in the order of `ast.walk`, without contexts and operators: in a third of its time.

    The tree must not change after the first call.
    """
    kept = tree.__dict__.get(_NODES)
    if kept is not None:
        return kept
    nodes: list[ast.AST] = []
    _add_children(tree, nodes)
    for node in nodes:  # It grows meanwhile.
        _add_children(node, nodes)
    # Without `tree` itself: a cycle would keep both in memory.
    tree.__dict__[_NODES] = nodes
    return nodes


def _add_children(node: ast.AST, nodes: list[ast.AST]) -> None:
    kind = type(node)
    fields = _fields.get(kind)
    if fields is None:
        fields = _fields[kind] = tuple(field for field in kind._fields if field not in _PLAIN)
    for field in fields:
        value: Any = getattr(node, field, None)
        if type(value) is list:
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                if isinstance(item, ast.AST):
                    nodes.append(item)  # noqa: PERF401 A comprehension is slower for lists this short.
        elif isinstance(value, ast.AST):
            nodes.append(value)


def names_bound_in(tree: ast.AST) -> Mapping[str, int]:
    """How many times the code binds each name, in any way and in any scope. The tree must not change afterwards."""
    kept = tree.__dict__.get(_BOUND)
    if kept is not None:
        return kept
    bound: dict[str, int] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            name = None if isinstance(node.ctx, ast.Load) else node.id
        elif isinstance(node, ast.alias):
            name = node.asname or node.name.partition(".")[0]
        else:
            field = _NAMED.get(type(node))
            name = None if field is None else getattr(node, field)
        if name is not None:
            bound[name] = bound.get(name, 0) + 1
    tree.__dict__[_BOUND] = bound
    return bound


def blocks_of(statement: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements in a statement."""
    parts = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    return [getattr(part, field) for part in parts for field in ("body", "orelse", "finalbody") if hasattr(part, field)]
