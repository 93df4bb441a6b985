"""Magics of IPython in a cell. Those that notebooks use most become Python; others are left out when the cell runs.

Loaded with the first of them. `translate` replaces the line of a magic, or all of the cell from a cell magic on, and
keeps the numbers of lines. `expand` then moves the code that is timed or captured to where it belongs in the tree, so
that the check before running and tracebacks see it as it was written. What runs is in `magic_calls.py`.
"""

from __future__ import annotations

import ast
import re

from bridge_kernel.syntax_nodes import blocks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from typing import Any

LINE = re.compile(r"(\s*)((?:\w[\w.\[\]\"', ]*=)?)\s*(%%?)([a-zA-Z_]\w*)[ \t]*(.*?)\s*")
"""Indentation, the start of an assignment, `%` or `%%`, the name, and the rest of the line."""
_HERE = '__import__("bridge_kernel.magic_calls").magic_calls'
_WITHOUT_EFFECT = frozenset({
    "colors", "config", "load_ext", "matplotlib", "pdb", "reload_ext", "unload_ext", "xmode",
})  # fmt: skip
_FUNCTIONS = frozenset({
    "autoreload", "cd", "env", "lsmagic", "pdef", "psearch", "pwd", "reset", "reset_selective", "run", "set_env", "who",
    "who_ls", "whos", "xdel",
})  # fmt: skip
_HELP = {"pdoc": "help", "pinfo": "help", "pinfo2": f"{_HERE}.source", "psource": f"{_HERE}.source"}
"""Magics that are calls with the object."""
_COMMANDS = {
    **{name: name for name in ("cat", "cp", "head", "ls", "mkdir", "mv", "rm", "rmdir", "tail")},
    "ll": "ls -lF",
    "sx": "",
    "system": "",
}
"""Magics that are command lines."""
_DOCUMENTS = {"html": "text/html", "latex": "text/latex", "markdown": "text/markdown", "svg": "image/svg+xml"}
_PROGRAMS = {"bash": "bash", "sh": "sh", "script": "", "python": "python3", "python3": "python3", "perl": "perl"}
"""Programs that a cell magic gives its cell to."""
OPTION = re.compile(r"(?:-(?:(?P<key>[nrp])\s*(?P<number>\d+)|(?P<flag>[tcqov]))|--no-raise-error)\s+")
_OPTIONS = re.compile(r"\A(?:(?:-(?:[nrp]\s*\d+|[tcqov])|--no-raise-error)\s+)*")
SCRIPT_OPTION = re.compile(r"\s*--(?:(out|err)[ =](\w+)|no-raise-error)")
_VALUE = re.compile(r"(?<!\$)\{[a-zA-Z_][\w.]*(?:\[[^\]{}]*\])?\}")
_IN_TREE = ("time", "timeit", "prun", "capture")
_EXPANDED = (*_IN_TREE[:3], *(f"cell_{name}" for name in _IN_TREE))
_ASYNC = (ast.Await, ast.AsyncFor, ast.AsyncWith)
_FUNCTION = "%timeit"  # No name in the user's code can be the same.
_INNER = """def inner(_it, _timer):
    _t0 = _timer()
    for _i in _it:
        pass
    return _timer() - _t0
"""
LINE_MAGICS = sorted({*_IN_TREE[:3], *_FUNCTIONS, *_HELP, *_COMMANDS})
CELL_MAGICS = sorted({*_IN_TREE, *_PROGRAMS, *_DOCUMENTS, "writefile"})

predefined: Container[str] = ()
"""Names that are not the user's; the session sets them."""


def translate(lines: list[str], at: int) -> list[str] | None:
    """The lines with the magic at index `at` as Python; None if there is none, or its cell can be no Python."""
    found = LINE.fullmatch(lines[at])
    if found is None:
        return None
    indent, target, percent, name, rest = found.groups()
    if percent == "%":
        text = _line(name, rest, at + 1, is_assigned=bool(target))
        text = "pass" if indent and not text else text
    elif name in _IN_TREE:
        text = f"{_HERE}.cell_{name}({rest!r})"
    else:
        text = _cell(name, rest, "\n".join(lines[at + 1 :]).rstrip("\n") + "\n")
        if text is None:
            return None
        lines = [*lines[: at + 1], *([""] * (len(lines) - at - 1))]
    return [*lines[:at], f"{indent}{target and f'{target} '}{text}", *lines[at + 1 :]]


def _line(name: str, rest: str, number: int, is_assigned: bool) -> str:
    if name in _WITHOUT_EFFECT:
        return "None" if is_assigned else ""
    if name in _IN_TREE[:3]:
        return f"{_HERE}.{name}({rest!r})"
    if name in _HELP and rest:
        return f"{_HELP[name]}({rest})"
    if name in _FUNCTIONS:
        return f"{_HERE}.{name}({_text(rest)})"
    if name in _COMMANDS:
        run = f"(await runtime.sh({_text(f'{_COMMANDS[name]} {rest}'.strip())}))"
        return f"{run}.stdout.splitlines()" if is_assigned or not _COMMANDS[name] else f"{run}.show()"
    return f"{_HERE}.left_out({f'%{name}'!r}, {number})"


def _cell(name: str, rest: str, body: str) -> str | None:
    if name in ("writefile", "file"):
        return f"{_HERE}.writefile({_text(rest)}, {body!r})"
    if name in _DOCUMENTS:
        return f"display({_HERE}.Document({_DOCUMENTS[name]!r}, {body!r}))"
    if name not in _PROGRAMS:
        return None
    command = f"{_PROGRAMS[name]} {SCRIPT_OPTION.sub('', rest)}".strip()
    return f"{_HERE}.script({rest!r}, {body!r}, await runtime.sh({_text(command)}, stdin={body!r}))"


def _text(words: str) -> str:
    """The words as a literal, in which `{name}` is its value, as in IPython; not `${name}`, or braces of a program."""
    return f"f{words!r}" if "{" in words and "{" not in _VALUE.sub("", words) else repr(words)


def expand(tree: ast.Module, originals: dict[int, str], parse: Callable[[str], ast.Module]) -> ast.Module:
    """Moves the code of magics into the tree. `originals` are the translated lines as they were, by number from 1."""
    for node in ast.walk(tree):
        if getattr(node, "lineno", None) in originals:
            at: Any = node
            at.col_offset, at.end_col_offset = 0, len(originals[at.lineno].encode())
    _expand(tree.body, originals, parse)
    return ast.fix_missing_locations(tree)


def _expand(statements: list[ast.stmt], originals: dict[int, str], parse: Callable[[str], ast.Module]) -> None:
    for index, statement in enumerate(statements):
        call: Any = getattr(statement, "value", None)
        name = getattr(getattr(call, "func", None), "attr", "")
        if statement.lineno not in originals or name not in _EXPANDED:
            for block in blocks_of(statement):
                _expand(block, originals, parse)
            continue
        rest = statements[index + 1 :]
        is_cell = name.startswith("cell_")
        if is_cell:
            _expand(rest, originals, parse)
        line = call.args[0].value
        if name == "cell_capture":
            made = _captured(statement, line, rest)
        else:
            code = _OPTIONS.sub("", f"{line} ", count=1).rstrip()
            inner = _located(parse, code, statement, originals[statement.lineno])
            if name.endswith("timeit"):
                setup, timed = (inner, rest) if is_cell and rest else ([], inner)
                made = _timeit(statement, call, setup, timed, line[: len(line) - len(code)])
            else:
                manager = "magic_profile" if name.endswith("prun") else "magic_timing"
                made = _time(statement, inner + rest if is_cell else inner, manager)
        statements[index:] = made if is_cell else made + rest
        if is_cell:
            return


def _located(parse: Callable[[str], ast.Module], code: str, place: ast.stmt, original: str) -> list[ast.stmt]:
    """The statements of the code in a line."""
    try:
        tree = parse(code)
    except SyntaxError as error:
        error.lineno, error.end_lineno, error.text = place.lineno, place.lineno, original
        raise
    column = len(original[: original.find(code)].encode())
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            at: Any = node
            at.lineno = at.end_lineno = place.lineno
            at.col_offset, at.end_col_offset = at.col_offset + column, at.end_col_offset + column
    return tree.body


def _python(text: str, place: ast.AST) -> list[Any]:
    """The statements of a text, all at one place."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return tree.body


def _captured(statement: ast.stmt, line: str, code: list[ast.stmt]) -> list[Any]:
    words = line.split()
    target = "".join(f" as {word}" for word in words if not word.startswith("-"))
    made = _python(f"with {_HERE}.Captured({words!r}){target}: pass", statement)
    return [_with_body(made[0], code)]


def _with_body(block: Any, code: list[ast.stmt]) -> Any:
    """The block with this body, if it is not empty, and its end."""
    if code:
        block.body = code
        block.end_lineno, block.end_col_offset = code[-1].end_lineno, code[-1].end_col_offset
    return block


def _time(statement: Any, code: list[ast.stmt], manager: str) -> list[ast.stmt]:
    """The value of the last expression is kept until the times are printed; then it is that of the statement."""
    timing, keep, kept = _python(f"with {_HERE}.{manager}(): pass\n{_HERE}.keep(0)\n{_HERE}.kept()", statement)
    has_value = bool(code) and isinstance(code[-1], ast.Expr)
    if has_value:
        last: Any = code[-1]
        keep.value.args = [last.value]
        ast.copy_location(keep.value, ast.copy_location(keep, last))
        code = [*code[:-1], keep]
    _with_body(timing, code)
    if not has_value and isinstance(statement, ast.Expr):
        return [timing]
    statement.value = kept.value
    return [timing, statement]


def _timeit(statement: Any, call: Any, setup: list[ast.stmt], code: list[ast.stmt], options: str) -> list[ast.stmt]:
    """A function that runs the code a number of times, so that its names are not bound, and a call that measures it."""
    nodes = [node for part in (*setup, *code) for node in ast.walk(part)]
    is_async = any(isinstance(node, _ASYNC) or getattr(node, "is_async", 0) for node in nodes)
    made = _python(f"async {_INNER}" if is_async else _INNER, statement)
    function, loop = made[0], made[0].body[1]
    function.name = _FUNCTION
    _with_body(loop, code)
    _with_body(function, [*setup, *function.body])
    function.end_lineno, function.end_col_offset = loop.end_lineno, loop.end_col_offset
    call.func.attr = "measure_async" if is_async else "measure"
    call.args = [ast.Constant(options), ast.Name(_FUNCTION, ast.Load())]
    statement.value = ast.copy_location(ast.Await(call), statement) if is_async else call
    delete = ast.copy_location(ast.Delete([ast.Name(_FUNCTION, ast.Del())]), statement)
    return [function, statement, delete]
