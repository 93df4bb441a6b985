"""What is said of things that the embedded engine lacks. The rest is tested where code meets it: the session suite."""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest

from bridge_kernel.missing import MissingModuleFinder, explain_attributes


class MissingModuleTest(unittest.TestCase):
    def setUp(self) -> None:
        finder = MissingModuleFinder()
        sys.meta_path.append(finder)
        self.addCleanup(sys.meta_path.remove, finder)

    def test_a_package_is_named_with_the_way_out(self) -> None:
        with self.assertRaisesRegex(
            ModuleNotFoundError, "'no_such_package': .*needs a container engine.*IMAGE"
        ) as caught:
            __import__("no_such_package")
        self.assertEqual(caught.exception.name, "no_such_package")

    def test_whoever_only_asks_is_told_no(self) -> None:
        self.assertIsNone(importlib.util.find_spec("no_such_package"))

    def test_a_module_of_a_package_is_left_to_python(self) -> None:
        with self.assertRaises(ModuleNotFoundError) as caught:
            __import__("json.nothing")
        self.assertEqual(str(caught.exception), "No module named 'json.nothing'")


class MissingAttributeTest(unittest.TestCase):
    def test_it_stays_absent_and_says_why(self) -> None:
        module = types.ModuleType("os")
        module.__dict__["fork"] = print
        explain_attributes(module, "fork system", "because")
        self.assertFalse(hasattr(module, "fork"))
        with self.assertRaisesRegex(AttributeError, "^module 'os' has no attribute 'system': because$"):
            module.system  # noqa: B018
        with self.assertRaisesRegex(AttributeError, "^module 'os' has no attribute 'other'$"):
            module.other  # noqa: B018


if __name__ == "__main__":
    unittest.main()
