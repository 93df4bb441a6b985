"""The hint for a column that a data frame of pandas does not have: pandas itself names only the one that is missing."""

from __future__ import annotations

import sys

from bridge_kernel.near import close_names
from bridge_kernel.tables import separator_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_obj: Any = vars(AttributeError)["obj"].__get__
_name: Any = vars(AttributeError)["name"].__get__
_args: Any = vars(BaseException)["args"].__get__
_traceback: Any = vars(BaseException)["__traceback__"].__get__
# Chosen: about 100 tokens.
_MAX_NAMES = 20
_MAX_NAME_CHARS = 40


def hint_for_column(error: AttributeError | KeyError) -> str | None:
    """The columns of the frame, near ones first; None if the error is about something else."""
    frame = _frame_of(error)
    if frame is None:
        return None
    names = list(frame.columns)
    wanted = _name(error) if isinstance(error, AttributeError) else next(iter(_args(error)), None)
    remark = separator_in(names[0]) if len(names) == 1 else ""
    if remark:
        return f"The frame has one column{remark}."
    shown = ", ".join(text[:_MAX_NAME_CHARS] for text in map(repr, names[:_MAX_NAMES]))
    more = f", … ({len(names):,} in all)" if len(names) > _MAX_NAMES else ""
    near = close_names(wanted, [each for each in names if type(each) is str]) if type(wanted) is str else ""
    return f"The frame has the columns {shown}{more}.{near}" if names else "The frame has no columns."


def _frame_of(error: AttributeError | KeyError) -> Any:
    """The frame that lacks a column: the one whose attribute was asked for, or whose method the cell called."""
    frame_type = getattr(sys.modules.get("pandas"), "DataFrame", None)
    if frame_type is None:
        return None
    if isinstance(error, AttributeError):
        found: Any = _obj(error)
    else:
        place = _traceback(error)
        while place is not None and not place.tb_frame.f_code.co_filename.startswith("<cell "):
            place = place.tb_next
        while place is not None and place.tb_frame.f_code.co_filename.startswith("<cell "):
            place = place.tb_next
        # pandas 3.1 has decorators around its methods.
        while place is not None and "self" not in place.tb_frame.f_locals:
            place = place.tb_next
        found = None if place is None else place.tb_frame.f_locals.get("self")
    return found if type(found) is frame_type else None
