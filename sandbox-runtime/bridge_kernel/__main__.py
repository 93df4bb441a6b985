"""The kernel's main module: completes the handshake with the host, then runs the cells it sends, one at a time."""

from __future__ import annotations

import gc
import os
import sys
import warnings

from bridge_kernel import heap, importer, memory_reserve, process_memory, unavailable
from bridge_kernel.frames import PROTOCOL_VERSION, Frame
from bridge_kernel.output_store import OutputStore

# A smaller change of the memory is no news.
_TOLD_CHANGE_BYTES = 1 << 20

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from bridge_kernel.api import Api
    from bridge_kernel.checkpoints import Checkpoints
    from bridge_kernel.display import Display
    from bridge_kernel.egress import Relay
    from bridge_kernel.loop import CellLoop
    from bridge_kernel.repl import Repl
    from bridge_kernel.rpc import Channel
    from bridge_kernel.stdio import Capture, Emit

    class Platform(Protocol):
        """The parts that depend on whether Python has threads: `threaded.py` and `embedded.py`."""

        name: str
        may_fork: bool
        """Whether this process can copy itself."""

        def capture(self, emit: Emit) -> Capture:
            """Captures what is written to descriptors 1 and 2."""
            ...

        def cell_loop(self, channel: Channel) -> CellLoop:
            """Creates the session's event loop. Called after output capture has started."""
            ...


def run(
    outputs: tuple[tuple[int, int], tuple[int, int]],
    modules: Sequence[str] = (),
    memory_bytes: int = 0,
    packages: Sequence[str] = (),
) -> None:
    """Runs the kernel and never returns. Moves the host's pipe off descriptors 0 and 1; `outputs` replace 1 and 2."""
    from bridge_kernel import threaded

    serve(threaded.Channel(*_take_protocol()), threaded.Platform(outputs), modules, memory_bytes, packages)


def serve(
    channel: Channel,
    platform: Platform,
    modules: Sequence[str] = (),
    memory_bytes: int = 0,
    packages: Sequence[str] = (),
) -> None:
    """Completes the handshake and runs the host's cells. Returns only if user code closes the event loop.

    A sandbox may have been started ahead, so what is the same for all sessions comes before the host's greeting, and
    then `modules`, which sessions are likely to import. `packages` is the folder of a set, and the Python of that set.
    """
    kernel = Kernel(channel, platform)
    # Without a greeting, no cell waits yet. A code pack is complete only with what cells load.
    if not channel.has_input() or importer.installed().makes_first_pack:
        from bridge_kernel.rehearsal import rehearse

        rehearse(kernel.api)
    if packages:
        kernel.api.open_packages().begin_with(*packages)
    if modules:
        from bridge_kernel.ahead import import_ahead

        import_ahead(modules, memory_bytes, channel.has_input)
    hello = channel.read_frame()
    if hello is None or hello["type"] != "hello" or hello["protocol_version"] != PROTOCOL_VERSION:
        os._exit(76)
    kernel.greet(hello)
    kernel.serve()


def _take_protocol() -> tuple[int, int]:
    """Private copies of the host's pipe, not inherited by child programs. Stdin becomes /dev/null."""
    read_descriptor, write_descriptor = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return read_descriptor, write_descriptor


def import_asyncio() -> None:
    """Imports asyncio without TLS: OpenSSL costs 4 ms and 4 MB per session, and most use no network.

    asyncio supports a Python without ssl. User code that imports ssl still gets it, and `egress.py` gives asyncio some.
    """
    sys.modules["ssl"] = None  # pyright: ignore[reportArgumentType] None marks a module as missing.
    try:
        __import__("asyncio")
    finally:
        del sys.modules["ssl"]


class Kernel:
    """One session: its namespace, its event loop, and its pipe to the host."""

    def __init__(self, channel: Channel, platform: Platform) -> None:
        self.channel = channel
        self._platform_name = platform.name
        # Said once, before any code of a session runs: later, code could say anything.
        self._python = f"{sys.implementation.cache_tag} {platform.name}"
        self._may_fork = platform.may_fork
        self._checkpoints: Checkpoints | None = None
        self._relay: Relay | None = None
        self.cell = 0
        self._missed_frames = 0
        self._told_memory_bytes = 0
        self._is_first = True
        # Capture starts before any other import, so that whatever imports print ends up in the output of a cell.
        self.capture = platform.capture(self._send_output)
        import_asyncio()
        from bridge_kernel import charts, class_sources, processes
        from bridge_kernel.api import Api
        from bridge_kernel.display import Display
        from bridge_kernel.repl import Repl

        self.loop: CellLoop = platform.cell_loop(channel)
        self.repl: Repl = Repl()
        self.display: Display = Display(channel.send)
        self.api: Api = Api(channel, self.repl.namespace)
        self.api.install(self.display, self.capture.output)
        charts.install(self.display.show_figures)
        processes.install(self.api.owns)
        class_sources.install()
        self._saved_tools: object = []
        self._egress: object = None

    def greet(self, hello: Frame) -> None:
        """Applies what the host says about the session. Call it once, before `serve`."""
        self.capture.open(_integer(hello["kept_output_bytes"]), OutputStore(_integer(hello["stored_output_bytes"])))
        self.repl.limit(_integer(hello["max_value_chars"]), _integer(hello["max_reported_names"]))
        self.display.limit(_integer(hello["max_displays"]), _integer(hello["max_display_bytes"]))
        self.api.describe(str(hello["capability_summary"]), hello.get("autoload") is True)
        unavailable.command = str(hello.get("command", unavailable.command))
        unavailable.wall = str(hello.get("no_packages", "")).rstrip(".")
        self._saved_tools = hello["saved_tools"]
        self.channel.max_line_bytes = _integer(hello["max_line_bytes"])
        self._egress = hello.get("egress")

    def serve(self) -> None:
        """Reports `ready`, then runs cells until the host disconnects."""
        self._send_code_pack()
        # Collections in cells skip what has been loaded so far. Nothing has been collected until now.
        gc.freeze()
        gc.enable()
        self.channel.send({
            "type": "ready",
            "protocol_version": PROTOCOL_VERSION,
            "python_version": sys.version.split()[0],
            "platform": self._platform_name,
            "python": self._python,
        })  # fmt: skip
        # Only after `ready`: the host accepts no code pack from then on, so user code cannot forge one.
        unavailable.install(os.getcwd())
        # While the host prepares the first cell, and before the environment is noted: no checkpoint has it.
        self._open_way()
        self.api.define_saved_tools(self._saved_tools)  # pyright: ignore[reportArgumentType]
        self.repl.mark_own()
        # Before code of the user changes them.
        self._start = list(sys.path), dict(os.environ), os.getcwd(), list(warnings.filters)
        self.channel.start(self._on_frame)
        self.loop.run_forever()

    def _open_way(self) -> None:
        if self._egress is None:
            return
        from bridge_kernel.values import as_dict

        facts = as_dict(self._egress)
        os.environ.update({name: str(text) for name, text in as_dict(facts["keys"]).items()})
        if "certificate" in facts:
            from bridge_kernel import egress, threaded

            assert isinstance(self.channel, threaded.Channel)
            self._relay = egress.open_way(self.channel, str(facts["certificate"]))

    def _send_code_pack(self) -> None:
        pack = importer.installed().finish_recording()
        if pack is None:
            return
        import base64

        # Split into lines that the host accepts.
        for start in range(0, len(pack), 1 << 20):
            data = base64.b64encode(pack[start : start + (1 << 20)]).decode("ascii")
            self.channel.send({"type": "code_pack", "data": data})

    def _on_frame(self, frame: Frame) -> None:
        """Handles a frame. Runs wherever frames are read, which may be another thread."""
        if frame["type"] == "execute":
            if self._checkpoints is not None:
                self._checkpoints.give_way()
            self.channel.run_in(self.loop.loop, self._start_cell, frame)
        elif frame["type"] == "save_checkpoint":
            self.loop.call_soon(lambda: self._open_checkpoints().save(frame))
        elif frame["type"] == "checkpoint_taken":
            self._open_checkpoints().acknowledge(frame)
        elif frame["type"] == "checkpoint_data":
            self._open_checkpoints().give(frame)
        elif "stream" in frame:
            if self._relay is not None:
                self._relay.receive(frame)
        elif frame["type"] == "interrupt":
            # User code can find the pipe and read from it; frames it took never reach calls or later cells.
            self._missed_frames = _integer(frame["sent_before"]) - (self.channel.received - 1)
            self.loop.interrupt(_integer(frame["cell"]))

    def _open_checkpoints(self) -> Checkpoints:
        # Loaded when the first one is written or read: most sessions are short.
        if self._checkpoints is None:
            from bridge_kernel.checkpoints import Checkpoints, SessionParts

            parts = SessionParts(self.repl, self.api, self.loop, self._start, self._may_fork)
            self._checkpoints = Checkpoints(self.channel, parts)
            # The session is idle, and a copy of the process would write to what is free, too.
            heap.trim()
        return self._checkpoints

    def _start_cell(self, frame: Frame) -> None:
        self.cell = _integer(frame["cell"])
        self._missed_frames = 0
        self.loop.start_cell(self.cell, self._run_cell(self.cell, frame))

    async def _run_cell(self, cell: int, frame: Frame) -> None:
        result: Frame = {"type": "result", "cell": cell}
        try:
            self.api.update(frame["servers"], frame.get("discovered"))  # pyright: ignore[reportArgumentType]
            self.capture.begin_cell(cell)
            self.display.begin_cell(cell)
            self.channel.open_gate()
            if frame.get("restore") is True:
                await self._open_checkpoints().restore()
                self._is_first = False
            value = await self.repl.run(cell, str(frame["code"]), self.api.check)
            self.show(result, value)
            result["outcome"] = "ok"
        except BaseException as error:  # noqa: BLE001 Whatever the cell raises is its result.
            self._judge(result, error)
        self._finish(result)

    def show(self, result: Frame, value: object) -> None:
        """Shows a cell's value and the figures it left open. An interrupt here ends the cell (see `loop.py`)."""
        from bridge_kernel.discovery import SAID

        if value is not None and value is not SAID:
            self.repl.remember(value)
            if not (self.display.show_rich(value) or self.display.show_media(value)):
                result["value"] = self.repl.show(value)
        self.display.show_open_figures()

    def _end_fork(self, result: Frame) -> None:
        """Ends a process that user code forked when the forked code ends, as in a script."""
        error = result.get("error")
        if isinstance(error, dict):
            os.write(2, f"{error['traceback']}\n".encode("utf-8", "replace"))
        self.capture.flush()
        os._exit(1 if error else _integer(result.get("exit_code")))

    def _judge(self, result: Frame, error: BaseException) -> None:
        """Records what the cell raised in its result, even if the exception cannot be converted to text."""
        memory_reserve.end_cell()
        if isinstance(error, MemoryError):
            memory_reserve.release()
        try:
            _with_reserve(lambda: self._describe(result, error))
        except BaseException as second:  # noqa: BLE001 An endless __str__ was interrupted, or memory ran out.
            result["outcome"] = "interrupted" if self.loop.interrupted else "error"
            result["error"] = _plain_error(error, f"its text is unavailable: {type(second).__name__}")

    def _describe(self, result: Frame, error: BaseException) -> None:
        if isinstance(error, SystemExit):
            self._set_exit(result, error)
        else:
            self._set_error(result, error)
        if self.loop.interrupted:
            self.display.close_figures()
        else:
            self.display.show_open_figures()

    def _finish(self, result: Frame) -> None:
        """Sends the result, after all output. Every cell gets one, whatever it did to streams and names."""
        if self.channel.is_forked():
            self._end_fork(result)
        memory_reserve.end_cell()
        self.loop.end_cell()
        self.channel.close_gate()
        try:
            _with_reserve(lambda: self._send_result(result))
        except BaseException as error:  # noqa: BLE001
            facts = _plain_error(error, "the cell ended, but its result could not be built")
            self.channel.send({"type": "result", "cell": result["cell"], "outcome": "error", "error": facts})

    def _send_result(self, result: Frame) -> None:
        self._is_first = False
        self.api.end_cell()
        self.capture.end_cell()
        names = self.repl.changed_names(self.api.owns)
        if names is not None:
            result["names"] = names
        memory = process_memory.resident_bytes()
        if abs(memory - self._told_memory_bytes) >= _TOLD_CHANGE_BYTES:
            result["memory_bytes"] = self._told_memory_bytes = memory
        imported = self.api.newly_imported()
        if imported:
            result["imported"] = imported
        if self._missed_frames > 0:
            result["missed_frames"] = self._missed_frames
        self.channel.send(result)

    def _set_exit(self, result: Frame, error: SystemExit) -> None:
        code = error.code
        result["outcome"] = "exit"
        status = code if isinstance(code, int) else 0 if code is None else 1
        # sys.exit accepts any int; the operating system keeps its low eight bits.
        result["exit_code"] = status & 0xFF
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)  # As the interpreter does.

    def _set_error(self, result: Frame, error: BaseException) -> None:
        from bridge_kernel.errors import CheckError, MCPError, call_of
        from bridge_kernel.hints import explain_mapping, hint_for, is_without_network
        from bridge_kernel.tracebacks import traceback_texts

        explain_mapping(error)
        is_stopped = isinstance(error, CheckError) and not self.repl.has_begun
        result["outcome"] = "not_run" if is_stopped else "interrupted" if self.loop.interrupted else "error"
        call = call_of(error)
        shown, whole = traceback_texts(error, self.cell, only_own=is_without_network(error))
        hint = hint_for(error) or self._hint_of_session(error, shown)
        if not is_stopped and shown != whole:
            self.capture.store.add(self.cell, "traceback", whole.encode("utf-8", "replace"))
        facts: dict[str, object] = {
            "name": type(error).__name__,
            "message": self.repl.shorten(_text_of(error)),
            "traceback": "" if is_stopped else self.repl.shorten(shown if hint is None else f"{shown}\nHint: {hint}"),
        }
        if hint is not None:
            facts["hint"] = hint
        if isinstance(error, MCPError) and (is_stopped or call is not None):
            # User code may have changed these attributes.
            facts["message"] = self.repl.shorten(str(error.message))
            if error.hint is not None:
                facts["hint"] = self.repl.shorten(str(error.hint))
        if call is not None:
            facts["call"] = call
        result["error"] = facts

    def _hint_of_session(self, error: BaseException, shown: str) -> str | None:
        """The hint for a file or a name that this session does not have."""
        if isinstance(error, OSError) and not self.loop.interrupted:
            return self.api.hint_for_file(error)
        if isinstance(error, (AttributeError, KeyError, TypeError)):
            from bridge_kernel.missing_keys import hint_for_key

            return hint_for_key(error, self.cell)
        if not isinstance(error, NameError):
            return None
        from bridge_kernel.hints import hint_for_name

        names = [name for name, value in self.repl.user_values(self.api.owns).items() if type(value) is not type(sys)]
        find = None if self.loop.interrupted else self.api.find_kept_function
        return hint_for_name(error, shown, names, is_first=self._is_first, find=find)

    def _send_output(self, stream: str, text: str, dropped_bytes: int, dropped_lines: int) -> None:
        frame: Frame = {"type": "output", "cell": self.cell, "stream": stream, "text": text}
        if dropped_bytes:
            frame["dropped_bytes"] = dropped_bytes
            frame["dropped_lines"] = dropped_lines
        self.channel.send(frame)


def _with_reserve(act: Callable[[], None]) -> None:
    """Does it once more, with the reserve, if memory is short."""
    try:
        act()
    except MemoryError:
        memory_reserve.release()
        act()


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 The user's __str__ may raise anything.
        return ""


def _plain_error(error: BaseException, remark: str) -> dict[str, str]:
    name = type(error).__name__
    return {"name": name, "message": remark, "traceback": f"{name} ({remark})"}


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
