"""Finds loops over a result that is text: they go over its characters, where nearly all code means its lines."""

from __future__ import annotations

import ast

from bridge_kernel.check_expressions import LIKELY, Finding
from bridge_kernel.check_names import ToolRef
from bridge_kernel.syntax_nodes import nodes_of
from bridge_kernel.text_result import TextResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge_kernel.check_names import Names

# Names of a loop that means characters.
_CHARACTERS = frozenset({"c", "ch", "char", "character", "letter"})


def text_loops(
    tree: ast.Module, names: Names, namespace: Mapping[str, object], returns_text: Callable[[ToolRef], bool]
) -> list[Finding]:
    """One finding for each loop over text from a tool."""

    def is_text_call(node: ast.expr) -> bool:
        if not isinstance(node, ast.Await) or not isinstance(node.value, ast.Call):
            return False
        called = names.resolve(node.value.func)
        return isinstance(called, ToolRef) and not called.is_sync and returns_text(called)

    texts = {
        statement.targets[0].id
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        and names.binds_once(statement.targets[0].id) and is_text_call(statement.value)
    }  # fmt: skip

    def is_text(node: ast.expr) -> bool:
        if not isinstance(node, ast.Name):
            return is_text_call(node)
        return node.id in texts or (isinstance(namespace.get(node.id), TextResult) and not names.is_bound(node.id))

    return [
        Finding(loop.iter, LIKELY, _message(loop.iter))
        for loop in nodes_of(tree)
        if isinstance(loop, (ast.For, ast.comprehension))
        and not (isinstance(loop.target, ast.Name) and loop.target.id in _CHARACTERS)
        and is_text(loop.iter)
    ]


def _message(source: ast.expr) -> str:
    name = source.id if isinstance(source, ast.Name) else "(…)"
    return (
        f"the result is text, so this loop goes over its characters: write {name}.lines(), or {name}.json() for JSON."
    )
