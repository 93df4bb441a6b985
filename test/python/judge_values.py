"""Checks pairs of JSON Schema and value, one JSON array per line of stdin; prints each problem as JSON, or null."""

from __future__ import annotations

import json
import sys

from bridge_kernel.json_schema import find_problem

for line in sys.stdin:
    schema, value = json.loads(line)
    problem = find_problem(value, schema)
    print(json.dumps(None if problem is None else problem.text))
