"""Starts the kernel in the embedded engine.

`prepare` runs once, when the engine is built; `main` runs in every session. The memory between the two is kept as a
snapshot, so whatever is loaded in `prepare` is there at no cost.
"""

from __future__ import annotations

import gc
import os
import sys
import time

from bridge_kernel import __main__ as kernel
from bridge_kernel import importer

# The descriptors as the engine numbers them: the host's pipes, and what was written to descriptors 1 and 2.
_HOST_INPUT, _HOST_OUTPUT = 3, 4
_OUTPUT_READ_ENDS = (5, 6)
# What cells import most. Each costs up to 100 ms when it is first imported from the library (measured).
_PRELOADED = """
    ast base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal difflib enum
    fractions functools gzip hashlib heapq html.parser inspect io itertools json linecache logging math operator pathlib
    pickle pprint queue random re secrets shutil sqlite3 statistics string struct tempfile textwrap threading time
    timeit traceback types typing unicodedata urllib.request uuid warnings xml.etree.ElementTree zlib zoneinfo
"""


def prepare(home: str = "/workspace") -> None:
    """Brings a new interpreter to the state that the snapshot keeps: modules loaded, what is missing explained."""
    import site

    from bridge_kernel import missing

    kernel.import_asyncio()
    # Before the modules that look at what there is.
    missing.install()
    # All of the kernel, too: in a container what only some cells need waits until then.
    for module in (*_PRELOADED.split(), *importer.installed().sources):
        __import__(module)
    # As `import site` does, which an isolated interpreter of this kind leaves out.
    site.setquit()
    site.sethelper()
    os.environ["HOME"] = home
    os.chdir(home)
    # Nothing loaded here is ever garbage: the collector need not look at it again.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serves the host until it goes away."""
    from bridge_kernel.embedded import Channel, Platform

    _make_new()
    channel = Channel(_HOST_INPUT, _HOST_OUTPUT)
    kernel.serve(channel, Platform(channel, _OUTPUT_READ_ENDS))


def _make_new() -> None:
    """Replaces what a snapshot must not give to all sessions alike."""
    random, logging = sys.modules["random"], sys.modules["logging"]
    random.seed()
    # The time from which log records count; in nanoseconds since Python 3.13.
    logging.__dict__["_startTime"] = time.time_ns() if isinstance(logging.__dict__["_startTime"], int) else time.time()
