"""Checks the kernel's codec against the golden frames, and its field lists against the JSON Schema.

`test/contract/frames.test.ts` reads the same files for the host's codec.
"""

from __future__ import annotations

import base64
import json
import math
import unittest
from pathlib import Path
from typing import Any

from bridge_kernel import errors, frames

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "test" / "fixtures" / "frames"
SCHEMA = ROOT / "sandbox-runtime" / "bridge_kernel" / "frames.schema.json"

# Guards against a folder that was not found or was emptied.
MIN_VALID_TO_SANDBOX = 10
MIN_VALID_TO_HOST = 10
MIN_INVALID_TO_SANDBOX = 15


def read_fixtures(kind: str, direction: str) -> list[dict[str, Any]]:
    """The fixtures of one folder and direction, sorted by name; `name` and `bytes` (the line) are added."""
    found: list[dict[str, Any]] = []
    for path in sorted((FIXTURES / kind).glob("*.json")):
        fixture = json.loads(path.read_text("utf-8"))
        if fixture["direction"] != direction:
            continue
        fixture["name"] = path.name
        raw = fixture.get("line_base64")
        fixture["bytes"] = fixture["line"].encode("utf-8") if raw is None else base64.b64decode(raw)
        found.append(fixture)
    return found


class GoldenFrames(unittest.TestCase):
    def test_valid_frames_of_the_host_are_decoded(self) -> None:
        fixtures = read_fixtures("valid", "to_sandbox")
        for fixture in fixtures:
            with self.subTest(fixture["name"]):
                self.assertEqual(frames.decode_frame(fixture["bytes"]), fixture["frame"])
        self.assertGreaterEqual(len(fixtures), MIN_VALID_TO_SANDBOX)

    def test_valid_frames_of_the_kernel_are_encoded(self) -> None:
        fixtures = read_fixtures("valid", "to_host")
        for fixture in fixtures:
            with self.subTest(fixture["name"]):
                self.assertEqual(frames.encode_frame(fixture["frame"]), fixture["bytes"] + b"\n")
        self.assertGreaterEqual(len(fixtures), MIN_VALID_TO_HOST)

    def test_invalid_frames_of_the_host_are_refused(self) -> None:
        fixtures = read_fixtures("invalid", "to_sandbox")
        for fixture in fixtures:
            with self.subTest(fixture["name"]):
                with self.assertRaises(frames.FrameError) as caught:
                    frames.decode_frame(fixture["bytes"])
                self.assertEqual(caught.exception.code, fixture["error"])
                self.assertIn(fixture["error"], errors.CODES)
        self.assertGreaterEqual(len(fixtures), MIN_INVALID_TO_SANDBOX)


class EncodeFrame(unittest.TestCase):
    def test_refuses_numbers_that_json_cannot_represent(self) -> None:
        for number in (math.nan, math.inf, -math.inf):
            with self.subTest(number), self.assertRaises(ValueError):
                frames.encode_frame({"type": "call", "params": {"x": [number]}})

    def test_refuses_keys_that_become_equal_text(self) -> None:
        # json.dumps writes both, and the reader silently keeps one of them.
        with self.assertRaises((TypeError, ValueError)):
            frames.encode_frame({"type": "call", "params": {1: "a", "1": "b"}})

    def test_refuses_circular_values(self) -> None:
        circular: list[object] = []
        circular.append(circular)
        with self.assertRaises(ValueError):
            frames.encode_frame({"type": "call", "params": circular})

    def test_refuses_values_that_are_not_json(self) -> None:
        for value in (b"bytes", {1, 2}, object()):
            with self.subTest(value), self.assertRaises(TypeError):
                frames.encode_frame({"type": "call", "params": {"x": value}})

    def test_writes_one_line_of_ascii(self) -> None:
        line = frames.encode_frame({"type": "output", "text": "a\nb\u2028c\u0085d\ud800"})
        self.assertTrue(line.isascii())
        self.assertEqual(line.count(b"\n"), 1)
        self.assertTrue(line.endswith(b"\n"))


class MirrorOfTheSchema(unittest.TestCase):
    """The kernel's field lists have the same types, required keys and optional keys as the schema."""

    def keys_by_type(self, definition: str) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
        schema = json.loads(SCHEMA.read_text("utf-8"))
        found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        for frame in schema["$defs"][definition]["oneOf"]:
            required = frozenset(frame["required"]) - {"type"}
            every = frozenset(frame["properties"]) - {"type"}
            found[frame["properties"]["type"]["const"]] = (required, every - required)
        return found

    def test_frames_of_the_host(self) -> None:
        self.assertEqual(frames.HOST_FRAMES, self.keys_by_type("HostFrame"))

    def test_frames_of_the_kernel(self) -> None:
        self.assertEqual(frames.SANDBOX_FRAMES, self.keys_by_type("SandboxFrame"))

    def test_protocol_version(self) -> None:
        schema = json.loads(SCHEMA.read_text("utf-8"))
        self.assertEqual(frames.PROTOCOL_VERSION, schema["x-protocol-version"])

    def test_error_codes(self) -> None:
        schema = json.loads(SCHEMA.read_text("utf-8"))
        self.assertEqual(list(errors.CODES), schema["x-error-codes"])


if __name__ == "__main__":
    unittest.main()
