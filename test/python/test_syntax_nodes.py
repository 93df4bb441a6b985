"""What is kept with a syntax tree is what the tree contains."""

from __future__ import annotations

import ast
import gc
import unittest
import weakref
from collections import Counter
from pathlib import Path

from bridge_kernel import syntax_nodes
from bridge_kernel.syntax_nodes import names_bound_in, nodes_of

_LEFT_OUT = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_SOURCES = sorted(Path(syntax_nodes.__file__).parent.glob("*.py"))
_BINDS = """
import os.path, json as j
from a import b as c, d
x = y = 1
x += 1
for z in []: pass
def f(p, *q, r=1, **s): pass
async def f(): pass
class K: pass
try: pass
except E as e: pass
match x:
    case [m, *n, {"k": o, **u}] as w: pass
[v for v in x if (t := v)]
with x as h: pass
del g
print(unbound)
"""


class Nodes(unittest.TestCase):
    def test_are_those_of_walk_without_contexts_and_operators(self) -> None:
        self.assertGreater(len(_SOURCES), 50)
        for source in _SOURCES:
            tree = ast.parse(source.read_text(encoding="utf-8"))
            expected = [node for node in ast.walk(tree) if not isinstance(node, _LEFT_OUT)][1:]
            found = nodes_of(tree)
            with self.subTest(source=source.name):
                self.assertEqual(len(found), len(expected))
                self.assertTrue(all(node is other for node, other in zip(found, expected, strict=True)))

    def test_are_found_once_and_end_with_the_tree(self) -> None:
        tree = ast.parse("x = 1")
        self.assertIs(nodes_of(tree), nodes_of(tree))

        # `ast` objects have no weak references on every version, so an object of ours stands for them.
        class Mark:
            pass

        mark = Mark()
        tree.__dict__["mark"] = mark
        reference = weakref.ref(mark)
        gc.disable()
        self.addCleanup(gc.enable)
        del tree, mark
        self.assertIsNone(reference())

    def test_a_tree_with_them_can_be_compiled(self) -> None:
        tree = ast.parse(_BINDS)
        names_bound_in(tree)
        compile(tree, "cell", "exec")


class Bound(unittest.TestCase):
    def test_every_way_to_bind(self) -> None:
        single = [
            "os",
            "j",
            "c",
            "d",
            "y",
            "z",
            "p",
            "q",
            "r",
            "s",
            "K",
            "e",
            "m",
            "n",
            "o",
            "u",
            "w",
            "v",
            "t",
            "h",
            "g",
        ]
        expected = Counter({**dict.fromkeys(single, 1), "x": 2, "f": 2})
        self.assertEqual(names_bound_in(ast.parse(_BINDS)), expected)


if __name__ == "__main__":
    unittest.main()
