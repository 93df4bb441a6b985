"""What all clients have in common: the bridge to connect to, the cells to run, and the report."""

import asyncio
import json
import os
import sys

BRIDGE = json.loads(os.environ["BRIDGE"])
"""`{"command", "args", "env"}`, or `{"url"}`."""

CELLS = [
    {"code": "x = 41"},
    {"code": "print(await mcp_notes.echo(text='from ' + 'notes')); x + 1", "servers": ["notes"]},
    {"code": "1 / 0"},
]
"""Arguments of `run_python`, in order."""


def report(tools, answers):
    json.dump({"tools": list(tools), "answers": list(answers)}, sys.stdout)


def run(main):
    asyncio.run(main())
