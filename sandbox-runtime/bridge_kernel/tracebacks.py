"""Tracebacks of cells: without frames of the kernel, and with the inner frames of libraries folded."""

from __future__ import annotations

import os
import re
import traceback

from bridge_kernel.importer import FILE_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Frames = list[traceback.FrameSummary]

_STANDARD_LIBRARY = f"{os.path.dirname(os.__file__)}{os.sep}"
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
# Shorter runs of frames are shown: a fold would save nothing.
_MIN_FOLDED = 2
_FOLDED = "\0folded"
_FOLD_LINE = re.compile(rf'  File "{_FOLDED}", line (\d+).*\n')


def traceback_texts(error: BaseException, cell: int, only_own: bool) -> tuple[str, str]:
    """The traceback to show, and the whole one. The exception is converted to text once, because that may take long.

    Frames of the kernel are in neither. Of each run of library frames only the last is shown, and the text says how to
    see the others. With `only_own`, only the user's frames are shown, and no exceptions that led to this one.
    """
    report = traceback.TracebackException.from_exception(error, compact=True)
    _choose_frames(report, _without_kernel, set())
    whole = _text(report)
    _choose_frames(report, _own if only_own else _folded, set())
    if only_own:
        report.__cause__ = report.__context__ = None
    how = f": print(runtime.output({cell}, 'traceback'))"
    shown = _FOLD_LINE.sub(lambda found: f"  [{found[1]} frames of libraries{how}]\n", _text(report), count=1)
    return _FOLD_LINE.sub(r"  [\1 frames of libraries]\n", shown), whole


def _text(report: traceback.TracebackException) -> str:
    return "".join(report.format()).rstrip("\n")


def _choose_frames(report: traceback.TracebackException, choose: Callable[[Frames], Frames], seen: set[int]) -> None:
    if id(report) in seen:
        return
    seen.add(id(report))
    kept = choose(list(report.stack or ()))
    # Without a stack there is no heading either: a syntax error looks as at the interpreter's prompt.
    report.stack = traceback.StackSummary.from_list(kept) if kept else None  # pyright: ignore[reportAttributeAccessIssue]
    linked = [report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())]
    for other in linked:
        if other is not None:
            _choose_frames(other, choose, seen)


def _without_kernel(frames: Frames) -> Frames:
    return [frame for frame in frames if not frame.filename.startswith(FILE_PREFIX)]


def _own(frames: Frames) -> Frames:
    return [frame for frame in frames if not _is_library(frame)]


def _folded(frames: Frames) -> Frames:
    kept: Frames = []
    run: Frames = []
    for frame in [*frames, None]:
        if frame is not None and _is_library(frame):
            run.append(frame)
            continue
        if len(run) > _MIN_FOLDED:
            kept.append(traceback.FrameSummary(_FOLDED, len(run) - 1, "", lookup_line=False, line=""))
            run = run[-1:]
        kept += run
        run = []
        if frame is not None:
            kept.append(frame)
    return kept


def _is_library(frame: traceback.FrameSummary) -> bool:
    file = frame.filename
    return file.startswith((_STANDARD_LIBRARY, "<frozen ")) or _INSTALLED.search(file) is not None
