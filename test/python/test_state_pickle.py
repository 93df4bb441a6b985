"""Kinds of values, written by one interpreter and read by another. The engines' tests use the same list."""

from __future__ import annotations

import ast
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
from typing import Any

from bridge_kernel import processes, state_pickle

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_KERNEL = os.path.dirname(os.path.dirname(state_pickle.__file__))
with open(os.path.join(_ROOT, "test", "fixtures", "state-kinds.json"), encoding="utf-8") as _file:
    KINDS: list[dict[str, Any]] = json.load(_file)

# Both interpreters: the namespace of a session, without a host.
_SESSION = textwrap.dedent("""
    import asyncio, io, json, os, sys
    from bridge_kernel import repl as repl_module
    from bridge_kernel.api import Api
    from bridge_kernel import state_pickle

    repl = repl_module.Repl(1000, 50)
    class Host:
        send = print
    api = Api(Host(), repl.namespace)
    api.install()
    repl.mark_own()
    kinds = json.load(sys.stdin)
    os.chdir(sys.argv[1])
    cell = 0
    def run(code):
        global cell
        cell += 1
        return asyncio.run(repl.run(cell, code))
""")
_WRITE = """
for kind in kinds:
    run(kind["code"])
values = repl.user_values(api.owns)
lost = state_pickle.unwritable(values, values, api.references())
kept = {name: value for name, value in values.items() if name not in lost}
with open(sys.argv[2], "wb") as file:
    state_pickle.dump(kept, file, api.references())
print(json.dumps(lost))
"""
_READ = """
from bridge_kernel import checkpoints
sys.path.insert(0, sys.argv[1])
with open(sys.argv[2], "rb") as file:
    values, lost = state_pickle.load(file, api.references())
for name, value in values.items():
    if name.startswith("*"):
        checkpoints._set_module_state(name[1:], value)
    else:
        repl.namespace[name] = value
wrong = []
for kind in kinds:
    if "check" in kind:
        try:
            good = run(kind["check"])
        except BaseException as error:
            good, kind["name"] = False, f"{kind['name']}: {error!r}"
        if not good:
            wrong.append(kind["name"])
# Restoring a function sets it, and the next checkpoint cannot save it.
if "__builtins__" in repl.user_values(api.owns):
    wrong.append("__builtins__")
print(json.dumps({"wrong": wrong, "lost": lost}))
"""
# These are no part of the variables.
_NOT_HERE = (
    "an async function",
    "environment and folder",
    "settings of modules",
    "variables of a module in a file",
    "a large variable of a module in a file",
    "the order of sys.path",
    "files",
    "source of a function",
    "sources of the last cell",
    "random numbers",
    "decimals and fractions",
)


def run(program: str, kinds: list[dict[str, Any]], *arguments: str) -> Any:
    ended = subprocess.run(
        [sys.executable, "-c", _SESSION + program, *arguments],
        input=json.dumps(kinds), env={**os.environ, "PYTHONPATH": _KERNEL},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode != 0:
        raise AssertionError(ended.stderr)
    return json.loads(ended.stdout.splitlines()[-1])


class ModulesOfWorkers(unittest.TestCase):
    """Worker processes get some modules of the kernel as files."""

    def test_import_no_others_while_they_are_imported(self) -> None:
        names = processes._MODULES  # noqa: SLF001
        for name in names:
            source = pathlib.Path(processes.__file__).with_name(f"{name}.py").read_text()
            for node in ast.parse(source).body:
                if isinstance(node, ast.ImportFrom) and node.module == "bridge_kernel":
                    self.assertLessEqual({alias.name for alias in node.names}, set(names), name)
                elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("bridge_kernel."):
                    self.assertIn(str(node.module).split(".")[1], names, name)


class KindsTest(unittest.TestCase):
    def test_each_kind_is_restored_equal_or_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "sub"))
            file = os.path.join(folder, "values")
            lost = run(_WRITE, KINDS, folder, file)
            here = [kind for kind in KINDS if kind["name"] not in _NOT_HERE]
            read = run(_READ, here, folder, file)
        self.assertEqual(read["wrong"], [])
        lost |= read["lost"]
        expected = {name: reason for kind in KINDS for name, reason in kind.get("lost", {}).items()}
        self.assertEqual(sorted(lost), sorted(expected))
        for name, reason in expected.items():
            self.assertIn(reason, lost[name])


if __name__ == "__main__":
    unittest.main()
