"""Answers lines of JSON on stdin with lines on stdout. What the code prints below Python goes nowhere: agents would not see it, either."""

import json
import os
import sys


def open_lines():
    """The requests, and a function that answers one. Frees descriptors 0 and 1 for the code."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    sys.stdin = open(os.devnull)

    def answer(**given):
        answers.write(json.dumps(given) + "\n")
        answers.flush()

    return (json.loads(line) for line in requests), answer
