"""Explanations of features that the embedded engine lacks. The session suite tests the rest from user code."""

from __future__ import annotations

import types
import unittest

from bridge_kernel.missing import explain_attributes


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
