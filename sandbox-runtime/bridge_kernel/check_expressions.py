"""Analyzes the expressions of a cell: which tools are called, what is awaited, and how unawaited calls are used."""

from __future__ import annotations

import ast

from bridge_kernel.check_names import HelperRef, MissingServer, PendingCall, ToolRef
from bridge_kernel.discovery import ASYNC_HELPERS, Runtime
from bridge_kernel.mcp_package import ServerModule, state_of_module
from bridge_kernel.proxies import Server, state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bridge_kernel.check_names import Names

NEVER, LIKELY, CERTAIN = 0, 1, 2
"""How certain it is that a piece of code is reached."""

# How the value of an expression is used. Other uses are phrases such as "len()" or "an operator".
KEPT = ""
AWAITED = "await"
DROPPED = "a statement of its own"

_SHOW = frozenset({
    "print", "str", "repr", "format", "len", "list", "tuple", "set", "frozenset", "sorted", "dict", "sum", "min", "max",
    "any", "all", "enumerate", "zip", "map", "filter", "bool", "int", "float", "iter", "next", "reversed",
})  # fmt: skip
_LOOK = frozenset({"help", "dir", "hasattr", "getattr", "type", "isinstance", "callable", "id"})
# Uses that fail on a call that was stored without `await`. Others, such as printing it, may be intentional.
_NEEDS_RESULT = frozenset({
    "len()", "list()", "tuple()", "set()", "frozenset()", "sorted()", "dict()", "sum()", "min()", "max()", "any()",
    "all()", "enumerate()", "zip()", "bool()", "int()", "float()", "iter()", "next()", "reversed()", "a condition",
    "an operator", "unpacking", "the source of a loop",
})  # fmt: skip
# Attributes of a coroutine; any other attribute must be one of the missing result.
_COROUTINE_NAMES = frozenset({"send", "throw", "close"})


class Finding:
    """A mistake, and how certain it is that the code is reached."""

    __slots__ = ("level", "message", "node", "state")

    def __init__(self, node: ast.AST, level: int, message: str, state: object = None) -> None:
        self.node = node
        self.level = level
        self.message = message
        self.state = state


class Mention:
    """A tool or helper named where it has to exist; `call` if it is called there."""

    __slots__ = ("call", "level", "node", "ref")

    def __init__(self, node: ast.AST, level: int, ref: ToolRef | HelperRef, call: ast.Call | None) -> None:
        self.node = node
        self.level = level
        self.ref = ref
        self.call = call


class Expressions:
    """What was found so far. `opaque` holds the objects that the cell may change at run time."""

    def __init__(self, names: Names) -> None:
        self.findings: list[Finding] = []
        self.mentions: list[Mention] = []
        self.opaque: set[object] = set()
        self.names = names
        # 0 is the top level; only there does a name stay bound for the rest of the cell.
        self.depth = 0
        self.is_plain_def = False

    def visit(self, node: ast.AST, level: int, use: str) -> None:
        """Visits an expression; `use` says how its value is used."""
        kind = type(node)
        if kind is ast.Constant:
            return
        handle = _EXPRESSIONS.get(kind)
        if handle is None:
            self.visit_children(node, level)
        else:
            handle(self, node, level, use)

    def visit_children(self, node: ast.AST, level: int) -> None:
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                self.visit(value, level, KEPT)
            elif isinstance(value, list):
                for member in value:  # pyright: ignore[reportUnknownVariableType]
                    if isinstance(member, ast.AST):
                        self.visit(member, level, KEPT)

    def name(self, node: ast.Name, level: int, use: str) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        value = self.names.resolve(node)
        if value is None:
            return
        if isinstance(value, MissingServer):
            self.missing(node, level, value)
        elif isinstance(value, PendingCall):
            if use in _NEEDS_RESULT or use.startswith((".", "[")):
                self._not_awaited(node, level, value, use)
        elif use == KEPT and not isinstance(value, ToolRef):
            # The proxy escapes, so its tools may be replaced.
            self.opaque.add(_subject(value))
        elif use == AWAITED and isinstance(value, ToolRef):
            self._not_called(node, level, value)

    def attribute(self, node: ast.Attribute, level: int, use: str) -> None:
        base = self.names.resolve(node.value)
        if not isinstance(node.ctx, ast.Load):
            if base is not None:
                self.opaque.add(_subject(base))
            self.visit(node.value, level, "." + node.attr)
            return
        if base is None or isinstance(base, PendingCall):
            is_allowed = node.attr in _COROUTINE_NAMES or node.attr.startswith(("_", "cr_", "gi_"))
            self.visit(node.value, level, KEPT if is_allowed else "." + node.attr)
            return
        self.visit(node.value, level, "." + node.attr)
        value = self.names.resolve(node)
        if isinstance(value, MissingServer):
            self.missing(node, level, value)
        elif isinstance(value, ToolRef) and use == AWAITED:
            self._not_called(node, level, value)
        elif isinstance(value, HelperRef):
            self.mentions.append(Mention(node, level, value, None))

    def subscript(self, node: ast.Subscript, level: int, use: str) -> None:
        self.visit(node.value, level, "[…]")
        self.visit(node.slice, level, KEPT)
        value = self.names.resolve(node)
        if isinstance(value, MissingServer):
            self.missing(node, level, value)
        elif isinstance(value, ToolRef) and use == AWAITED:
            self._not_called(node, level, value)

    def call(self, node: ast.Call, level: int, use: str) -> None:
        called = self.names.resolve(node.func)
        argument_use = KEPT
        if isinstance(called, ToolRef) and not called.is_options:
            self.visit(node.func, level, "()")
            self.mentions.append(Mention(node, level, called, node))
            if called.is_sync and use == AWAITED:
                text = f"{called.label()}.sync(...) waits and returns the result: remove 'await'."
                self.findings.append(Finding(node, level, text, called.state))
        elif isinstance(called, HelperRef):
            self.visit(node.func, level, "()")
            self.mentions.append(Mention(node, level, called, node))
            argument_use = "runtime()"
            if use == AWAITED and called.name not in ASYNC_HELPERS and hasattr(Runtime, called.name):
                text = f"runtime.{called.name}(...) returns its result directly: remove 'await'."
                self.findings.append(Finding(node, level, text, Runtime))
        else:
            self.visit(node.func, level, "()")
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in _SHOW or name in _LOOK:
                argument_use = f"{name}()"
        pending = self.pending(node)
        if pending is not None and use not in (KEPT, AWAITED, "runtime()"):
            self._not_awaited(node, level, pending, use)
        for argument in node.args:
            self.visit(argument, level, argument_use)
        for keyword in node.keywords:
            self.visit(keyword.value, level, KEPT)

    def pending(self, node: ast.expr) -> PendingCall | None:
        """The pending call that a call expression returns; None for everything else."""
        if not isinstance(node, ast.Call):
            return None
        called = self.names.resolve(node.func)
        if isinstance(called, ToolRef) and not called.is_sync and not called.is_options:
            return PendingCall(f"{called.label()}(...)", called.state)
        if isinstance(called, HelperRef) and called.name in ASYNC_HELPERS:
            return PendingCall(f"runtime.{called.name}(...)", Runtime)
        return None

    def awaiting(self, node: ast.Await, level: int, use: str) -> None:
        self.visit(node.value, level, AWAITED)

    def boolean(self, node: ast.BoolOp, level: int, use: str) -> None:
        *first, last = node.values
        for index, value in enumerate(first):
            self.visit(value, level if index == 0 else min(level, LIKELY), "a condition")
        self.visit(last, min(level, LIKELY), use)

    def conditional(self, node: ast.IfExp, level: int, use: str) -> None:
        self.visit(node.test, level, "a condition")
        self.visit(node.body, min(level, LIKELY), use)
        self.visit(node.orelse, min(level, LIKELY), use)

    def compare(self, node: ast.Compare, level: int, use: str) -> None:
        self.visit(node.left, level, "a comparison")
        for index, value in enumerate(node.comparators):
            self.visit(value, level if index == 0 else min(level, LIKELY), "a comparison")

    def operator(self, node: ast.BinOp, level: int, use: str) -> None:
        self.visit(node.left, level, "an operator")
        self.visit(node.right, level, "an operator")

    def unary(self, node: ast.UnaryOp, level: int, use: str) -> None:
        self.visit(node.operand, level, "an operator")

    def lambda_body(self, node: ast.Lambda, level: int, use: str) -> None:
        self.visit(node.args, level, KEPT)
        self.visit(node.body, min(level, LIKELY), KEPT)

    def formatted(self, node: ast.FormattedValue, level: int, use: str) -> None:
        self.visit(node.value, level, "an f-string")

    def starred(self, node: ast.Starred, level: int, use: str) -> None:
        self.visit(node.value, level, "unpacking")

    def comprehension(self, node: Any, level: int, use: str) -> None:
        inner = min(level, LIKELY)
        for index, generator in enumerate(node.generators):
            self.visit(generator.iter, level if index == 0 else inner, "the source of a loop")
            for condition in generator.ifs:
                self.visit(condition, inner, "a condition")
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                self.visit(getattr(node, part), inner, KEPT)

    def _not_awaited(self, node: ast.AST, level: int, pending: PendingCall, use: str) -> None:
        label = pending.label
        if use.endswith("()") and self.names.is_shadowed(use[:-2]):
            return  # A user function that shadows a builtin may await it.
        what = "is never sent" if use == DROPPED else f"has no result for {use} yet"
        fix = f"write 'await {label}'"
        if use.startswith((".", "[")):
            fix = f"write '(await {label}){use}'"
        if self.is_plain_def and self.depth:
            name = label.removesuffix("(...)")
            is_helper = name.startswith("runtime.")
            other = f"{name}_sync(...)" if is_helper else f"{name}.sync(...)"
            fix = f"write '{other}', because 'await' needs 'async def'"
        self.findings.append(Finding(node, level, f"{label} without 'await' {what}: {fix}.", pending.subject))

    def _not_called(self, node: ast.AST, level: int, ref: ToolRef) -> None:
        text = f"{ref.label()} is not called: write 'await {ref.label()}(...)'."
        self.findings.append(Finding(node, level, text, ref.state))

    def missing(self, node: ast.AST, level: int, server: MissingServer) -> None:
        self.findings.append(Finding(node, level, "", server))


def _subject(value: object) -> object:
    """What a proxy belongs to: its server's state, or the class of the object."""
    if isinstance(value, ToolRef):
        return value.state
    if isinstance(value, Server):
        return state_of(value)
    if isinstance(value, ServerModule):
        return state_of_module(value)
    return Runtime if isinstance(value, (Runtime, HelperRef)) else type(value)


_EXPRESSIONS: dict[type[ast.AST], Callable[[Expressions, Any, int, str], None]] = {
    ast.Name: Expressions.name,
    ast.Attribute: Expressions.attribute,
    ast.Subscript: Expressions.subscript,
    ast.Call: Expressions.call,
    ast.Await: Expressions.awaiting,
    ast.BoolOp: Expressions.boolean,
    ast.IfExp: Expressions.conditional,
    ast.Compare: Expressions.compare,
    ast.BinOp: Expressions.operator,
    ast.UnaryOp: Expressions.unary,
    ast.Lambda: Expressions.lambda_body,
    ast.FormattedValue: Expressions.formatted,
    ast.Starred: Expressions.starred,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.comprehension,
}
