"""Walks the syntax tree of a cell: which tools it calls, how certain each call is, and which calls lack `await`.

A top-level statement is certain to run unless something before it ends the cell. Code in a function, a branch, a loop
or a `try` with handlers is only likely to run. Statements whose lines have no name worth checking are skipped, so
the check costs next to nothing for a cell that calls no tool.
"""

from __future__ import annotations

import ast
import sys

from bridge_kernel.check_expressions import CERTAIN, DROPPED, KEPT, LIKELY, Expressions, Finding, Mention
from bridge_kernel.check_names import HelperRef, MissingServer, ToolRef
from bridge_kernel.mcp_package import NOT_THE_SDK, SERVERS_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bridge_kernel.check_names import Names

_ENDS = frozenset({"exit", "quit", "_exit"})
# Context managers that do not swallow exceptions. Any other may, as `suppress` does.
_TRANSPARENT = frozenset({
    "open", "timeout", "timeout_at", "TaskGroup", "redirect_stdout", "redirect_stderr", "TemporaryDirectory",
    "ThreadPoolExecutor", "Lock", "Semaphore", "closing", "aclosing", "nullcontext", "connect", "ZipFile",
    "magic_timing", "magic_profile", "Captured",
})  # fmt: skip


class Walker(Expressions):
    """One pass over a cell."""

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self._later: list[ast.FunctionDef | ast.AsyncFunctionDef] = []

    def walk(self, tree: ast.Module) -> None:
        """Walks the whole cell: the top level in order, then the bodies of functions."""
        self._block(tree.body, CERTAIN)
        self.depth = 1
        while self._later:
            function = self._later.pop()
            self.is_plain_def = isinstance(function, ast.FunctionDef)
            self._block(function.body, LIKELY)

    def _block(self, body: Sequence[ast.stmt], level: int) -> None:
        for statement in body:
            kind = type(statement)
            first = statement.lineno
            if isinstance(statement, _DECORATED) and statement.decorator_list:
                first = statement.decorator_list[0].lineno
            if self.names.is_on(first, statement.end_lineno or first):
                handle = _STATEMENTS.get(kind)
                if handle is None:
                    self.visit_children(statement, level)
                else:
                    handle(self, statement, level)
            if kind in _JUMPS or (isinstance(statement, ast.Expr) and _ends_the_cell(statement)):
                return  # The rest is unreachable.

    def _nested(self, body: Sequence[ast.stmt], level: int) -> None:
        self.depth += 1
        self._block(body, level)
        self.depth -= 1

    def expression(self, statement: ast.Expr, level: int) -> None:
        self.visit(statement.value, level, DROPPED)

    def assign(self, statement: ast.Assign, level: int) -> None:
        target = statement.targets[0]
        unpacks = any(isinstance(other, (ast.Tuple, ast.List)) for other in statement.targets)
        self._assigned(target if len(statement.targets) == 1 else None, statement.value, level, unpacks)
        for other in statement.targets:
            self.visit(other, level, KEPT)

    def annotated(self, statement: ast.AnnAssign, level: int) -> None:
        if statement.value is not None:
            self._assigned(statement.target, statement.value, level, unpacks=False)
        self.visit(statement.target, level, KEPT)

    def _assigned(self, target: ast.expr | None, value: ast.expr, level: int, unpacks: bool) -> None:
        resolved = self.names.resolve(value)
        name = target.id if isinstance(target, ast.Name) and self.depth == 0 else None
        is_known = resolved is not None and not isinstance(resolved, MissingServer)
        if name is not None and is_known and self.names.bind(name, resolved):
            return
        pending = self.pending(value)
        if name is not None and pending is not None:
            self.names.bind(name, pending)
        self.visit(value, level, "unpacking" if unpacks else KEPT)

    def augmented(self, statement: ast.AugAssign, level: int) -> None:
        self.visit(statement.value, level, "an operator")
        self.visit(statement.target, level, KEPT)

    def branch(self, statement: ast.If, level: int) -> None:
        self.visit(statement.test, level, "a condition")
        is_main = isinstance(statement.test, ast.Compare) and _is_name(statement.test.left, "__name__")
        self._nested(statement.body, level if is_main else min(level, LIKELY))
        self._nested(statement.orelse, min(level, LIKELY))

    def while_loop(self, statement: ast.While, level: int) -> None:
        self.visit(statement.test, level, "a condition")
        self._nested([*statement.body, *statement.orelse], min(level, LIKELY))

    def for_loop(self, statement: ast.For | ast.AsyncFor, level: int) -> None:
        self.visit(statement.iter, level, "the source of a loop")
        self.visit(statement.target, level, KEPT)
        self._nested(statement.body, min(level, LIKELY))
        self._nested(statement.orelse, min(level, LIKELY))

    def with_block(self, statement: ast.With | ast.AsyncWith, level: int) -> None:
        for item in statement.items:
            self.visit(item.context_expr, level, KEPT)
            if item.optional_vars is not None:
                self.visit(item.optional_vars, level, KEPT)
            if last_name(item.context_expr) not in _TRANSPARENT:
                level = min(level, LIKELY)
        self._nested(statement.body, level)

    def try_block(self, statement: ast.Try, level: int) -> None:
        inner = min(level, LIKELY) if statement.handlers else level
        self._nested(statement.body, inner)
        for handler in statement.handlers:
            self._nested(handler.body, min(level, LIKELY))
        self._nested(statement.orelse, inner)
        self._nested(statement.finalbody, level)

    def function(self, statement: ast.FunctionDef | ast.AsyncFunctionDef, level: int) -> None:
        defaults = [default for default in statement.args.kw_defaults if default is not None]
        for expression in [*statement.decorator_list, *statement.args.defaults, *defaults]:
            self.visit(expression, level, KEPT)
        self._later.append(statement)

    def class_body(self, statement: ast.ClassDef, level: int) -> None:
        for expression in [*statement.decorator_list, *statement.bases, *statement.keywords]:
            self.visit(expression, level, KEPT)
        self._nested(statement.body, min(level, LIKELY))

    def match_block(self, statement: ast.Match, level: int) -> None:
        self.visit(statement.subject, level, KEPT)
        for case in statement.cases:
            if case.guard is not None:
                self.visit(case.guard, min(level, LIKELY), "a condition")
            self._nested(case.body, min(level, LIKELY))

    def import_module(self, statement: ast.Import, level: int) -> None:
        for alias in statement.names:
            value = self.names.imported(alias.name)
            if isinstance(value, MissingServer):
                self.missing(statement, level, value)
            elif self.depth == 0:
                bound = value if alias.asname else self.names.imported(alias.name.partition(".")[0])
                self.names.bind(alias.asname or alias.name.partition(".")[0], bound)

    def import_from(self, statement: ast.ImportFrom, level: int) -> None:
        module = statement.module or ""
        if module.startswith(SERVERS_PREFIX):
            server = self.names.imported(module)
            if isinstance(server, MissingServer):
                self.missing(statement, level, server)
        for alias in statement.names:
            if alias.name == "*":
                continue
            value = self.names.member(module, alias.name)
            if module == "mcp" and value is None and self.names.lacks(alias.name):
                text = f"mcp has no {alias.name!r}: {NOT_THE_SDK}."
                self.findings.append(Finding(statement, level, text))
            if isinstance(value, MissingServer):
                self.missing(statement, level, value)
                continue
            if isinstance(value, (ToolRef, HelperRef)):
                self.mentions.append(Mention(statement, level, value, None))
            if self.depth == 0:
                self.names.bind(alias.asname or alias.name, value)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def last_name(node: ast.expr) -> str:
    """`timeout` of `asyncio.timeout(5)`."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _ends_the_cell(statement: ast.Expr) -> bool:
    return isinstance(statement.value, ast.Call) and last_name(statement.value) in _ENDS


_DECORATED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_JUMPS = (ast.Raise, ast.Return, ast.Break, ast.Continue)

_STATEMENTS: dict[type[ast.AST], Callable[[Walker, Any, int], None]] = {
    ast.Expr: Walker.expression,
    ast.Assign: Walker.assign,
    ast.AnnAssign: Walker.annotated,
    ast.AugAssign: Walker.augmented,
    ast.If: Walker.branch,
    ast.While: Walker.while_loop,
    ast.For: Walker.for_loop,
    ast.AsyncFor: Walker.for_loop,
    ast.With: Walker.with_block,
    ast.AsyncWith: Walker.with_block,
    ast.Try: Walker.try_block,
    ast.FunctionDef: Walker.function,
    ast.AsyncFunctionDef: Walker.function,
    ast.ClassDef: Walker.class_body,
    ast.Match: Walker.match_block,
    ast.Import: Walker.import_module,
    ast.ImportFrom: Walker.import_from,
}
if sys.version_info >= (3, 11):
    _STATEMENTS[ast.TryStar] = Walker.try_block
