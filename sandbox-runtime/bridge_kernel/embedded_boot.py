"""Starts the kernel in the embedded engine.

`prepare` runs once, when the engine is built; `main` runs in every session. The memory after `prepare` is saved as a
snapshot, so everything it loads is available to sessions at no cost.
"""

from __future__ import annotations

import gc
import os
import sys
import time

from bridge_kernel import __main__ as kernel
from bridge_kernel import importer

# Descriptor numbers of the engine: the host's pipes, and the read ends for descriptors 1 and 2.
_HOST_INPUT, _HOST_OUTPUT = 3, 4
_OUTPUT_READ_ENDS = (5, 6)
# Exists where the host sends a program instead of cells.
_PROGRAM_MARK = "/dev/program"
# The modules that cells import most. Importing one from the library takes up to 100 ms (measured).
_PRELOADED = """
    ast base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal difflib enum
    fractions functools gzip hashlib heapq html.parser inspect io itertools json linecache logging math operator pathlib
    pickle pprint queue random re secrets shutil sqlite3 statistics string struct tempfile textwrap threading time
    timeit traceback types typing unicodedata urllib.request uuid warnings xml.etree.ElementTree zlib zoneinfo
"""


def prepare(home: str = "/workspace") -> None:
    """Brings a new interpreter to the state of the snapshot: modules loaded, missing features explained."""
    import site

    from bridge_kernel import missing, stand_ins

    kernel.import_asyncio()
    # Before modules that probe for features.
    missing.install()
    # The whole kernel too; in a container, modules that only some cells need are loaded later.
    for module in (*_PRELOADED.split(), *importer.installed().sources):
        __import__(module)
    # Those above do without: what they would choose with them is of no use here.
    stand_ins.install()
    # As `import site` does, which this isolated interpreter skips.
    site.setquit()
    site.sethelper()
    os.environ["HOME"] = home
    os.chdir(home)
    # Nothing loaded here becomes garbage, so the collector can skip it.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serves the host until it disconnects, or runs one program."""
    from bridge_kernel.embedded import Channel, Platform

    _reset_shared_state()
    if os.path.exists(_PROGRAM_MARK):
        from bridge_kernel import embedded_program

        os._exit(embedded_program.run(_HOST_INPUT, _HOST_OUTPUT, _OUTPUT_READ_ENDS))
    channel = Channel(_HOST_INPUT, _HOST_OUTPUT)
    kernel.serve(channel, Platform(channel, _OUTPUT_READ_ENDS))


def _reset_shared_state() -> None:
    """Resets state that sessions must not share through the snapshot."""
    random, logging = sys.modules["random"], sys.modules["logging"]
    random.seed()
    # The reference time of log records; in nanoseconds since Python 3.13.
    logging.__dict__["_startTime"] = time.time_ns() if isinstance(logging.__dict__["_startTime"], int) else time.time()
