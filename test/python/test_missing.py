"""Explanations of features that the embedded engine lacks. The session suite tests the rest from user code."""

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

    def test_a_missing_package_is_named_with_an_alternative(self) -> None:
        with self.assertRaisesRegex(
            ModuleNotFoundError, "'no_such_package': .*needs a container engine.*IMAGE"
        ) as caught:
            __import__("no_such_package")
        self.assertEqual(caught.exception.name, "no_such_package")

    def test_find_spec_finds_nothing(self) -> None:
        self.assertIsNone(importlib.util.find_spec("no_such_package"))

    def test_a_module_of_a_package_is_left_to_python(self) -> None:
        with self.assertRaises(ModuleNotFoundError) as caught:
            __import__("json.nothing")
        self.assertEqual(str(caught.exception), "No module named 'json.nothing'")


class MissingAttributeTest(unittest.TestCase):
    def test_a_missing_attribute_stays_missing_and_is_explained(self) -> None:
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
