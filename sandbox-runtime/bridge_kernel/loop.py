"""The event loop of the main thread, and how an interrupt ends a cell without ending the loop.

An interrupt arrives as SIGINT, because only a signal stops Python code that never yields. What it does depends on the
code that is running. In user code it raises KeyboardInterrupt at the current line, as in a terminal. In the loop's own
code an exception could corrupt its queues, so the cell's task is cancelled instead. While a frame is being written
or handled, the interrupt waits until that is done.

Tried and dropped: `loop.add_signal_handler` (runs as a callback, so never while user code runs) and `asyncio.Runner`
(its handler cancels first and needs a second signal to stop a plain loop).
"""

from __future__ import annotations

import _signal as signal  # As in the supervisor: the public module is slow to import.
import asyncio
import contextvars
import selectors
import sys
import types

from bridge_kernel.importer import FILE_PREFIX
from bridge_kernel.pending import Pending, coroutine_of
from bridge_kernel.rpc import current_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from bridge_kernel.rpc import Channel

# The cell that created a task; inherited by the tasks it creates.
_CELL_OF_TASK = "_bridge_cell"
# Of the task that runs the code of a cell.
_IS_CELL = "_bridge_is_cell"
current_cell: contextvars.ContextVar[int] = contextvars.ContextVar("bridge_current_cell", default=0)


class CellLoop:
    """Runs cells as tasks of a loop that lives as long as the session."""

    def __init__(
        self, channel: Channel, loop: asyncio.AbstractEventLoop, interrupt_main: Callable[[], None] | None
    ) -> None:
        """`interrupt_main` sends SIGINT to the main thread; None if the host's interrupts arrive as signals anyway."""
        self._channel = channel
        self.loop = loop
        self._interrupt_main = interrupt_main
        asyncio.set_event_loop(self.loop)
        self.loop.set_task_factory(self._make_task)  # pyright: ignore[reportArgumentType]
        # One context for all cells: context variables persist between cells like any other state.
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[None] | None = None
        self._cell = 0
        self._interrupts = 0
        self.interrupted = False
        # The cell that the host wants to end; set where frames are read.
        self._wanted = 0
        # While the main thread saves the session, a cell waits; its interrupt ends the saving.
        self.is_saving = False

    def _make_task(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[object, object, object],
                   **options: object) -> asyncio.Task[object]:  # fmt: skip
        if isinstance(coroutine, Pending):
            # Python 3.14 asks for the truth of a task's coroutine to print the task; a call answers "not awaited".
            coroutine = coroutine_of(coroutine)
        task = asyncio.Task(coroutine, loop=loop, **options)  # pyright: ignore[reportArgumentType]
        setattr(task, _CELL_OF_TASK, current_cell.get())
        return task

    def run_forever(self) -> None:
        """Runs callbacks and tasks. Returns only if the user closes the loop; `stop()` has no effect."""
        while not self.loop.is_closed():
            try:
                self.loop.run_forever()
            except (KeyboardInterrupt, SystemExit):
                # A task that ends this way also raises through the loop. The task itself records the exception.
                continue

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Calls back in the context of the cells, from any thread."""
        self.loop.call_soon_threadsafe(callback, context=self._context)

    def start_cell(self, cell: int, coroutine: Coroutine[object, object, None]) -> None:
        """Starts a cell's coroutine as a task. Call it in the loop's thread, while no cell runs."""
        # Python handles pending signals before it sets a new handler, so an interrupt that came too late for the
        # previous cell does not hit this one.
        signal.signal(signal.SIGINT, self._on_signal)
        self._cell, self._interrupts, self.interrupted, self.is_saving = cell, 0, False, False
        if self._interrupt_main is None:
            self._wanted = cell
        self._context.run(current_cell.set, cell)
        self._task = self._context.run(self._create_task, coroutine)
        setattr(self._task, _IS_CELL, True)

    def _create_task(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        try:
            return self.loop.create_task(coroutine, context=self._context)  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
        except TypeError:
            # Python 3.10 has no `context` argument: the task runs in a copy, and context variables end with the cell.
            return self.loop.create_task(coroutine)

    def end_cell(self) -> None:
        """Stops interrupts for this cell. If it was interrupted, the tasks it left behind are cancelled."""
        cell, self._cell = self._cell, 0
        if self.interrupted:
            for task in asyncio.all_tasks(self.loop):
                if getattr(task, _CELL_OF_TASK, 0) == cell and task is not self._task:
                    task.cancel()
        self._task = None

    def interrupt(self, cell: int) -> None:
        """Interrupts a cell as soon as possible. Called where frames are read."""
        if self._interrupt_main is None:
            return  # The signal has already arrived.
        self._wanted = cell
        if cell == self._cell or self.is_saving:
            self._interrupt_main()

    def _on_signal(self, number: int, frame: types.FrameType | None) -> None:
        if not self.is_saving and (self._cell == 0 or self._wanted != self._cell):
            return
        if self._channel.main_is_busy:
            self._channel.interrupt_held = lambda: self._on_signal(number, _caller())
            return
        if self.is_saving:
            raise KeyboardInterrupt
        self._interrupts += 1
        self.interrupted = True
        # A job belongs to no cell, so the interrupt is not for it.
        if not current_job.get() and _in_user_code(frame, insist=self._interrupts > 1):
            raise KeyboardInterrupt
        self.loop.call_soon_threadsafe(self._cancel_cell, self._cell)

    def _cancel_cell(self, cell: int) -> None:
        if self._task is not None and cell == self._cell:
            self._task.cancel()


def is_cell_task(task: object) -> bool:
    """Whether a task runs the code of a cell, and was not created by it."""
    return hasattr(task, _IS_CELL)


def _caller() -> types.FrameType:
    return sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] No public function returns it.


def _in_user_code(frame: types.FrameType | None, insist: bool) -> bool:
    """Whether the interrupted line belongs to the user: a cell, code it called, or the display of its value.

    With `insist` (an earlier interrupt had no effect), any code counts except the loop's wait and the kernel itself.
    """
    if insist and frame is not None:
        file = frame.f_code.co_filename
        if file != selectors.__file__ and not file.startswith(FILE_PREFIX):
            return True
    walked = frame
    while walked is not None:
        code = walked.f_code
        is_display = code.co_name == "show" and code.co_filename.startswith(FILE_PREFIX)
        if is_display or code.co_filename.startswith("<cell "):
            return True
        walked = walked.f_back
    return False
