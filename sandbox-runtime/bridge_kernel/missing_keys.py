"""The hint for a key or an attribute that a value does not have: near names, and when its variable was last set.

Another cell may have given the variable another value since the code that fails was planned. Nothing of the user runs
here: only dicts and lists are looked into, by their own methods.
"""

from __future__ import annotations

import ast
import linecache
import sys
from itertools import islice

from bridge_kernel.attr_dict import AttrDict
from bridge_kernel.missing_columns import hint_for_column
from bridge_kernel.near import close_names
from bridge_kernel.text_result import TextResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any

_obj: Any = vars(AttributeError)["obj"].__get__
_name: Any = vars(AttributeError)["name"].__get__
_args: Any = vars(BaseException)["args"].__get__
_traceback: Any = vars(BaseException)["__traceback__"].__get__
# Their own methods, whatever a subclass does.
_dict: Any = dict
_list: Any = list
_CELL = "<cell "
# Chosen: about 100 tokens.
_MAX_KEYS = 20
_MAX_KEY_CHARS = 40
# What is read to find a key, and to find who set a variable. Chosen: some milliseconds.
_MAX_READ_KEYS = 10_000
_MAX_READ_CELLS = 40
_MAX_CELL_CHARS = 100_000
_KEY_TYPES = frozenset({str, int, float, bool})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MISSING = object()


def hint_for_key(error: AttributeError | KeyError | TypeError, cell: int) -> str | None:
    """The hint for an error of cell number `cell`; None if the error is about something else."""
    frame, line = _place_in_cell(error)
    if frame is None:
        return None
    if isinstance(error, TypeError) or (isinstance(error, AttributeError) and type(_obj(error)) is str):
        hint = _hint_for_text(frame, line, error)
        if hint is not None or isinstance(error, TypeError):
            return hint
    columns = hint_for_column(error) if "pandas" in sys.modules else None
    expression, value = _owner_in(frame, line, error)
    keys = _keys_hint(value, error) if columns is None and isinstance(error, KeyError) else None
    told = columns or keys
    variable = _variable_of(expression, frame)
    since = "" if variable is None else _when_set(variable, cell, is_short=told is None and type(value) is not AttrDict)
    return " ".join(part for part in (told, since) if part) or None


def _place_in_cell(error: BaseException) -> tuple[FrameType | None, int]:
    """The last frame of a cell that the error went through."""
    found: tuple[FrameType | None, int] = None, 0
    place = _traceback(error)
    while place is not None:
        if place.tb_frame.f_code.co_filename.startswith(_CELL):
            found = place.tb_frame, place.tb_lineno
        place = place.tb_next
    return found


def _hint_for_text(frame: FrameType, line: int, error: TypeError | AttributeError) -> str | None:
    """The hint for a key of a text from a tool, or of a part of it: the text may have JSON in it."""
    said = next(iter(_args(error)), None)
    if isinstance(error, TypeError) and not (type(said) is str and said.startswith("string indices must be integers")):
        return None
    for node in _nodes_on(frame, line):
        if isinstance(error, AttributeError):
            is_wanted = isinstance(node, ast.Attribute) and node.attr == _name(error)
        else:
            is_wanted = isinstance(node, ast.Subscript) and type(_value_of(node.slice, frame)) is str
        text = _text_behind(node.value, frame) if is_wanted else None
        if text is not None:
            try:
                text.json(0)
            except ValueError:
                return "The result is text without JSON: use it as text, or its .lines()."
            return "The result is text with JSON in it: result.json() is the value."
    return None


def _text_behind(node: ast.expr, frame: FrameType) -> TextResult | None:
    """The text from a tool that the expression is, is a part of (`text[0]`), or gets from a loop (`for x in text`)."""
    tree = _tree_of(frame.f_code.co_filename)
    loops = {
        loop.target.id: loop.iter
        for loop in (() if tree is None else ast.walk(tree))
        if isinstance(loop, (ast.For, ast.comprehension)) and isinstance(loop.target, ast.Name)
    }
    while True:
        value = _value_of(node, frame)
        if type(value) is TextResult:
            return value
        if isinstance(node, ast.Subscript):
            node = node.value
            continue
        source = loops.pop(node.id, None) if isinstance(node, ast.Name) else None
        if source is None:
            return None
        node = source


def _nodes_on(frame: FrameType, line: int) -> Iterator[Any]:
    """The attributes and subscripts of a line of a cell."""
    tree = _tree_of(frame.f_code.co_filename)
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and node.lineno <= line <= (node.end_lineno or 0):
            yield node


def _owner_in(frame: FrameType, line: int, error: BaseException) -> tuple[ast.expr | None, object]:
    """The expression of the line whose key or attribute is missing, and its value."""
    is_attribute = isinstance(error, AttributeError)
    wanted = _name(error) if is_attribute else next(iter(_args(error)), None)
    if type(wanted) not in _KEY_TYPES:
        return None, None
    for node in _nodes_on(frame, line):
        if isinstance(node, ast.Attribute) != is_attribute:
            continue
        if (node.attr if isinstance(node, ast.Attribute) else _value_of(node.slice, frame)) != wanted:
            continue
        value = _value_of(node.value, frame)
        if value is _obj(error) if is_attribute else _lacks(value, wanted):
            return node.value, value
    return None, None


def _lacks(value: object, key: Any) -> bool:
    if _is_dict(value):
        return not _dict.__contains__(value, key)
    frame_type = getattr(sys.modules.get("pandas"), "DataFrame", None)
    return frame_type is not None and type(value) is frame_type


def _value_of(node: ast.expr, frame: FrameType) -> object:
    """The value of an expression of names, constant keys and numbers; `_MISSING` for any other."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id, _MISSING))
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return _MISSING
    owner: Any = _value_of(node.value, frame)
    key: Any = node.attr if isinstance(node, ast.Attribute) else _value_of(node.slice, frame)
    if type(key) not in _KEY_TYPES or (isinstance(node, ast.Attribute) and type(owner) is not AttrDict):
        return _MISSING
    if _is_dict(owner):
        return _dict.get(owner, key, _MISSING)
    if issubclass(type(owner), list) and type(key) is int and -_list.__len__(owner) <= key < _list.__len__(owner):
        return _list.__getitem__(owner, key)
    return _MISSING


def _is_dict(value: object) -> bool:
    return issubclass(type(value), dict)


def _keys_hint(value: object, error: BaseException) -> str | None:
    if not _is_dict(value):
        return None
    wanted = next(iter(_args(error)), None)
    count: int = _dict.__len__(value)
    keys: list[Any] = [key for key in islice(_dict.keys(value), _MAX_READ_KEYS) if type(key) in _KEY_TYPES]
    if not count:
        return "The dict is empty."
    shown = ", ".join(text[:_MAX_KEY_CHARS] for text in map(repr, keys[:_MAX_KEYS]))
    more = f", … ({count:,} in all)" if count > len(keys[:_MAX_KEYS]) else ""
    near = close_names(wanted, [key for key in keys if type(key) is str]) if type(wanted) is str else ""
    return f"The keys are {shown}{more}.{near}" if shown else f"The dict has {count:,} other keys."


def _variable_of(expression: ast.expr | None, frame: FrameType) -> str | None:
    """The variable of the session that the expression begins with."""
    while isinstance(expression, (ast.Attribute, ast.Subscript)):
        expression = expression.value
    if not isinstance(expression, ast.Name) or expression.id not in frame.f_globals:
        return None
    is_local = frame.f_locals is not frame.f_globals and expression.id in frame.f_locals
    return None if is_local else expression.id


def _when_set(name: str, cell: int, is_short: bool) -> str:
    """When the variable was last set; empty if that is no news. `is_short`: only if several cells have set it."""
    numbers = list(islice(_cells_that_set(name), 2))
    if not numbers or (len(numbers) < 2 and (is_short or numbers[0] == cell)):
        return ""
    last = "this cell" if numbers[0] == cell else f"cell {numbers[0]}"
    before = f", before that in cell {numbers[1]}" if len(numbers) > 1 else ""
    return f"{name!r} was last set in {last}{before}."


def _cells_that_set(name: str) -> Iterator[int]:
    """The numbers of the cells whose code sets a variable of the session, the newest first."""
    files = [file for file in linecache.cache if file.startswith(_CELL)]
    for file in files[: -_MAX_READ_CELLS - 1 : -1]:
        number = file.removeprefix(_CELL).removesuffix(">")
        if number.isdecimal() and any(name in line for line in linecache.getlines(file)):
            tree = _tree_of(file)
            if tree is not None and _sets(tree, name):
                yield int(number)


def _tree_of(file: str) -> ast.AST | None:
    code = "".join(linecache.getlines(file))
    if not code or len(code) > _MAX_CELL_CHARS:
        return None
    try:
        return compile(code, file, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _sets(tree: ast.AST, name: str, is_own: bool = True) -> bool:
    """Whether code at the top level sets the name, or a function that declares it global."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Global) and name in node.names:
            return True
        if is_own and (
            (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
            or (isinstance(node, ast.alias) and (node.asname or node.name.partition(".")[0]) == name)
            or (isinstance(node, _SCOPES[:3]) and node.name == name)
        ):
            return True
        is_inner = isinstance(node, (*_SCOPES, *_COMPREHENSIONS))
        if _sets(node, name, is_own and not is_inner):
            return True
    return False
