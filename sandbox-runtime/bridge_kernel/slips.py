"""Repairs slips in the text of a cell, and explains those that cannot be repaired.

Only code that Python refuses is changed, only if it can mean one thing, and every line keeps its number.
"""

from __future__ import annotations

import ast
import re

from bridge_kernel import unavailable
from bridge_kernel.syntax_nodes import blocks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

RETURN = "return"
"""The builtin that a replaced `return` raises. As a keyword, it can be no name in the user's code."""
_MAX_REPAIRS = 100
"""Each repair parses the whole cell again. Chosen."""
_FENCE = re.compile(r"\s*(?:```+|~~~+)[ \t]*[\w+-]*[ \t]*")
_QUESTION = re.compile(r"(\s*)(?:(\?{1,2})[ \t]*([\w.*]+)|([\w.*]+)[ \t]*(\?{1,2}))[ \t]*")
_MAGIC_CALLS = '__import__("bridge_kernel.magic_calls").magic_calls'
_INVISIBLE = str.maketrans({"\ufeff": None, "\u200b": None, "\u2060": None, "\u00a0": " ", "\u202f": " "})
_PIP = re.compile(r"(\s*)[!%]{0,2}\s*(?:python3? -m |uv )?(?:pip3?|conda|mamba) install\s+([^|&;$`#]+?)\s*(?:#.*)?")
_PIP_COMMAND = re.compile(r"\s*[!%]{0,2}\s*(?:python3? -m |uv )?(?:pip3?|conda|mamba)\s+\w+")
_PIP_FLAGS = frozenset({"-q", "-qq", "-qqq", "--quiet", "-U", "-y", "--upgrade", "--user", "--no-cache-dir"})
_SHELL = re.compile(r"(\s*)(?:(\w+)\s*=\s*)?!(?!=)\s*(.+?)\s*")
_MAGIC = re.compile(r"\s*(?:\w[\w.\[\]\"', ]*=\s*)?(%%?[a-zA-Z_]\w*).*")
_JAVASCRIPT = re.compile(r"\s*(?:export\s+)?(?:const|let|var|function|async\s+function)\s+[\w${\[].*")


def parse_repaired(code: str, error: SyntaxError, parse: Callable[[str], ast.Module]) -> tuple[str, ast.Module]:
    """Repairs code that `parse` refused with `error`. Returns its new text, with magics as written, and its tree.

    Raises:
        SyntaxError: the slip cannot be repaired; its message has a next step if the slip is a known one.
    """
    # Lines of magics as they were, by number from 1.
    originals: dict[int, str] = {}
    for _ in range(_MAX_REPAIRS):
        repaired = _repaired(code, error, originals)
        if repaired is None or repaired == code:
            break
        code = repaired
        try:
            tree = parse(code)
        except SyntaxError as again:
            error = again
            continue
        if originals:
            from bridge_kernel import magics

            tree = magics.expand(tree, originals, lambda text: _parsed(text, parse))
            lines = enumerate(code.split("\n"), 1)
            code = "\n".join(originals.get(number, line) for number, line in lines)
        return code, tree
    hint = _hint(_line_of(code, error)) or _text_around(code, error)
    if hint is not None:
        error.msg = hint
    raise error


def _parsed(text: str, parse: Callable[[str], ast.Module]) -> ast.Module:
    """The tree of the code in a line of a magic, which may have another one."""
    try:
        return parse(text)
    except SyntaxError as error:
        return parse_repaired(text, error, parse)[1]


def _line_of(code: str, error: SyntaxError) -> str:
    lines = code.split("\n")
    return lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else ""


def _text_around(code: str, error: SyntaxError) -> str | None:
    """The hint for prose before a Markdown block."""
    before = code.split("\n")[: error.lineno]
    is_prose = sum(bool(line.strip()) for line in before) == 1
    return _ONE_BLOCK if is_prose and any(map(_FENCE.fullmatch, code.split("\n")[len(before) :])) else None


def _repaired(code: str, error: SyntaxError, originals: dict[int, str]) -> str | None:
    if code.startswith("\ufeff"):
        return code[1:]
    lines = code.split("\n")
    filled = [index for index, line in enumerate(lines) if line.strip()]
    # Before its first and after its last statement, code has no string that could contain a fence.
    ends = {filled[0]} if lines[filled[0]].startswith("%%") else {filled[0], filled[-1]}
    fences = [index for index in ends if _FENCE.fullmatch(lines[index])]
    if fences:
        return "\n".join("" if index in fences else line for index, line in enumerate(lines))
    if isinstance(error, IndentationError) and error.lineno == filled[0] + 1:
        import textwrap

        return textwrap.dedent(code)
    at = (error.lineno or 0) - 1
    if not 0 <= at < len(lines):
        return None
    if _MAGIC.match(lines[at]) and not _PIP_COMMAND.match(lines[at]):
        from bridge_kernel.magics import translate

        translated = translate(lines, at)
        if translated is not None:
            changed = [number for number, line in enumerate(translated) if line != lines[number]]
            originals.update((number + 1, lines[number]) for number in changed)
            return "\n".join(translated)
    lines[at] = _repaired_line(lines[at])
    return "\n".join(lines)


def _repaired_line(line: str) -> str:
    question = _QUESTION.fullmatch(line)
    if question is not None:
        indent, before, first, last, behind = question.groups()
        name = first or last
        if "*" in name:
            return f"{indent}{_MAGIC_CALLS}.psearch({name!r})"
        is_source = "??" in (before, behind)
        return f"{indent}{f'{_MAGIC_CALLS}.source' if is_source else 'help'}({name})"
    pip = _PIP.fullmatch(line)
    if pip is not None:
        return _installation(pip[1], pip[2]) or line
    shell = _SHELL.fullmatch(line)
    if shell is not None and not unavailable.is_embedded and not _PIP_COMMAND.match(line):
        indent, target, command = shell.groups()
        if command.startswith("!") and target is None:
            return f"{indent}(await runtime.sh({command[1:]!r})).l"
        text = repr(command)
        if "{" in command or "$" in command:
            text = f"{_MAGIC_CALLS}.filled({text}, locals())"
        run = f"await runtime.sh({text})"
        return f"{indent}({run}).show()" if target is None else f"{indent}{target} = {run}"
    return line.translate(_INVISIBLE)


def _installation(indent: str, words: str) -> str | None:
    """The call for the arguments of a line such as `%pip install -q pandas`; None if there are other options."""
    import shlex

    try:
        names = [word for word in shlex.split(words) if word not in _PIP_FLAGS]
    except ValueError:
        return None
    if not names or any(name.startswith("-") for name in names):
        return None
    return f"{indent}await runtime.install({', '.join(map(repr, names))})"


def _hint(line: str) -> str | None:
    """What to write instead of a line that Python does not understand."""
    if _PIP_COMMAND.match(line):
        return "pip cannot be used here: write, for example, await runtime.install('pandas>=2', 'openpyxl')"
    shell = _SHELL.fullmatch(line)
    if shell is not None and unavailable.is_embedded:
        return "'!' runs no shell command, and the embedded sandbox has no shell: use os, pathlib and shutil"
    magic = _MAGIC.fullmatch(line)
    if magic is not None:
        return f"there is no magic {magic[1]} here, and its cell is no Python: write it in Python, or leave it out"
    if _FENCE.fullmatch(line):
        return _ONE_BLOCK
    if _JAVASCRIPT.fullmatch(line):
        return "this is not Python: run_python runs Python only"
    return None


_ONE_BLOCK = "the code is not only Python: send what is in one Markdown block, without the text around it"
_GUARDED_RETURN = (
    "'return' outside function: here, in 'with' or 'try', put the code into a function: "
    "'async def main():', and at the end 'await main()'"
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PLAIN_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Match)


def replace_returns(tree: ast.Module, file: str) -> None:
    """Replaces each `return` outside a function by `raise`, of the exception that a cell ends with.

    Raises:
        SyntaxError: a `return` is in a `with` or `try`, which would see that exception.
    """
    last = tree.body[-1]
    if isinstance(last, ast.Return):
        tree.body[-1] = ast.copy_location(ast.Expr(last.value or ast.Constant(None)), last)
    _replace_returns(tree.body, file, is_guarded=False)
    ast.fix_missing_locations(tree)


def _replace_returns(statements: list[ast.stmt], file: str, is_guarded: bool) -> None:
    for index, statement in enumerate(statements):
        if isinstance(statement, ast.Return):
            if is_guarded:
                raise SyntaxError(_GUARDED_RETURN, (file, statement.lineno, statement.col_offset + 1, None))
            value = [] if statement.value is None else [statement.value]
            raised = ast.Raise(ast.Call(ast.Name(RETURN, ast.Load()), value, []))
            statements[index] = ast.copy_location(raised, statement)
        elif not isinstance(statement, _SCOPES):
            guards = is_guarded or not isinstance(statement, _PLAIN_BLOCKS)
            for block in blocks_of(statement):
                _replace_returns(block, file, guards)
