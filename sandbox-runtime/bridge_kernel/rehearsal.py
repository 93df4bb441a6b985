"""Does once, in a sandbox that no session uses yet, what every first cell would do: load modules, compile, check, run.

No code of a user is involved, and nothing of it remains but loaded modules and, in WebAssembly, compiled code.
"""

from __future__ import annotations

import linecache
import sys

from bridge_kernel import memory_reserve
from bridge_kernel.repl import Repl, cell_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge_kernel.api import Api

# Its import and the word `runtime` load what looks at cells with imports and calls.
_CELL = """import json
from math import sqrt
def text_of(name, *more, end=""):
    try:
        return f"{name} {sqrt(4):.2f}{end}"
    except ValueError as error:
        raise RuntimeError(str(error)) from error
names = {name: [text_of(name), None] for name in ("runtime",)}
for each in sorted(names):
    json.loads(json.dumps(names[each]))
names"""
_SHOWN_CHARS = 1000
# What the first call of a tool needs: its arguments are checked against a schema.
_TOOL: dict[str, object] = {
    "name": "rehearsal",
    "parameters": [{"name": "text", "required": True}],
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def rehearse(api: Api) -> None:
    """Rehearses a cell and the arguments of a call, before anything of a session is known."""
    from bridge_kernel import egress as egress  # Loaded by a session that may reach hosts.
    from bridge_kernel import habits as habits  # Loaded by a cell that uses a name without an import.
    from bridge_kernel.specs import ToolSpec

    ToolSpec(_TOOL, "rehearsal").arguments((), {"text": ""})
    main = sys.modules["__main__"]
    repl = Repl(_SHOWN_CHARS, _SHOWN_CHARS)  # Another namespace than the session's.
    running = repl.run(0, _CELL, api.check)
    try:
        # Not in the loop: without threads, it would read the greeting and drop it. The cell has nothing to wait for.
        running.send(None)
    except StopIteration as end:
        repl.show(end.value)
        repl.changed_names(api.owns)
    finally:
        running.close()
        sys.modules["__main__"] = main
        linecache.cache.pop(cell_file(0), None)
        memory_reserve.end_cell()
