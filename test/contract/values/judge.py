"""Compares what the sandbox shows of generated values with what their library writes; see `values.test.ts`.

Prints one JSON object: the versions, the number of values of each kind, and the first differences. There are two
references. Frames whose cells name their own row and column ("r17c3") are read back line by line. All values are
compared with the library's own text of the same rows, which is asked for in another way than the sandbox does.

Usage: judge.py COUNT SEED, with the kernel and the libraries on PYTHONPATH.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import json
import math
import random
import re
import sys
import warnings
from typing import Any

from bridge_kernel.display import Display
from bridge_kernel.repl import Repl
from bridge_kernel.toon import to_toon

# Rows and columns that are shown without cutting, as docs/guide.md promises, and how many if there are more.
WHOLE_ROWS, CUT_ROWS, MAX_COLUMNS = 60, 20, 20
MAX_REPORTED = 20
TEXTS = ["plain", "two words", "日本語のテキスト", "שלום עולם", "مرحبا", "é", "👩‍👩‍👧", "tab\there", "line\nbreak", "", "...", "a" * 70]

repl = Repl(10_000_000, 100)
display = Display(lambda frame: None, 20, 1 << 20)
counts: dict[str, int] = {}
differences: list[str] = []
rng = random.Random()


def shown(value: object) -> str:
    """The text of a cell's value, made as the kernel makes it."""
    if display.show_rich(value) or display.show_media(value):
        return "[shown as a document]"
    return repl.show(value)


def check(kind: str, value: Any, text: str, is_right: bool, expected: object = "") -> None:
    counts[kind] = counts.get(kind, 0) + 1
    if not is_right and len(differences) < MAX_REPORTED:
        import difflib

        lines = difflib.unified_diff(str(expected).split("\n"), text.split("\n"), "the library", "shown", lineterm="", n=1)
        differences.append(f"{kind} ({type(value).__name__}):\n" + "\n".join(line[:300] for line in [*lines][:30]))


def one_of(*makers: Any) -> Any:
    return rng.choice(makers)()


# ---- pandas


def index_of(pd: Any, rows: int) -> Any:
    days = [dt.datetime(2026, 1, 1) + dt.timedelta(days=number, minutes=number) for number in range(rows)]
    name = rng.choice([None, "k", "a name", "שם", 7, ("x", "y")])
    zone = rng.choice(["UTC", "Europe/Berlin", "Asia/Kolkata"])
    return one_of(
        lambda: pd.RangeIndex(rows, name=name),
        lambda: pd.Index([f"r{number}" for number in range(rows)], name=name, dtype=object),
        lambda: pd.Index([rng.choice("abc") for _ in range(rows)], name=name, dtype=object),
        lambda: pd.Index([rng.choice(TEXTS) for _ in range(rows)], name=name, dtype=object),
        lambda: pd.Index([number / 7 for number in range(rows)], name=name),
        lambda: pd.DatetimeIndex(days, name=name),
        lambda: pd.DatetimeIndex(days, name=name).tz_localize("UTC").tz_convert(zone),
        lambda: pd.PeriodIndex(days, freq="D", name=name),
        lambda: pd.TimedeltaIndex([pd.Timedelta(hours=number) for number in range(rows)], name=name),
        lambda: pd.CategoricalIndex([rng.choice("xyz") for _ in range(rows)], name=name),
        lambda: pd.IntervalIndex.from_breaks(list(range(rows + 1)), name=name),
        lambda: pd.Index([None if number % 3 else f"r{number}" for number in range(rows)], name=name, dtype=object),
        lambda: pd.MultiIndex.from_tuples(
            [(number // 5, f"r{number}") for number in range(rows)] or [(0, "r0")][:rows], names=[name, "second"]
        )
        if rows
        else pd.RangeIndex(0),
        lambda: pd.MultiIndex.from_tuples([(number % 2, "b", number) for number in range(rows)])
        if rows
        else pd.RangeIndex(0),
    )


def column_of(pd: Any, rows: int) -> Any:
    def many(make: Any) -> list[Any]:
        return [make() for _ in range(rows)]

    stamps = many(lambda: pd.Timestamp(rng.randrange(10**18), unit="ns"))
    return one_of(
        lambda: many(lambda: rng.randrange(-1000, 1000)),
        lambda: many(lambda: rng.choice([1e-300, 1e300, 2.5, -0.0, 1 / 3, float("nan"), float("inf"), 123456789.123])),
        lambda: many(rng.random),
        lambda: many(lambda: rng.choice([True, False])),
        lambda: many(lambda: rng.choice([*TEXTS, None])),
        lambda: many(lambda: rng.choice([1, "1", 1.0, None, True, b"bytes", decimal.Decimal("1.10"), 3 + 4j])),
        lambda: many(lambda: rng.choice([[1, [2, 3]], {"a": 1}, (1,), {1, 2}, list(range(40))])),
        lambda: many(lambda: rng.choice([10**30, -(10**25), 1])),
        lambda: pd.array(many(lambda: rng.choice([1, 2**40, None])), dtype="Int64"),
        lambda: pd.array(many(lambda: rng.choice([0.5, None])), dtype="Float64"),
        lambda: pd.array(many(lambda: rng.choice([True, None])), dtype="boolean"),
        lambda: pd.array(many(lambda: rng.choice([*TEXTS, None])), dtype="string"),
        lambda: pd.Categorical(many(lambda: rng.choice(["low", "high", None]))),
        lambda: pd.DatetimeIndex(stamps),
        lambda: pd.DatetimeIndex(stamps).tz_localize("UTC").tz_convert("America/New_York"),
        lambda: pd.to_timedelta(many(lambda: rng.choice([None, rng.randrange(10**15)])), unit="ns"),
        lambda: pd.PeriodIndex(stamps, freq="M"),
    )


def columns_of(pd: Any, count: int) -> Any:
    plain = [f"c{number}" for number in range(count)]
    return one_of(
        lambda: plain,
        lambda: plain,
        lambda: pd.RangeIndex(count),
        lambda: pd.Index([rng.choice(["same", "other", "two words", "עמודה"]) for _ in range(count)], name="named"),
        lambda: pd.MultiIndex.from_tuples([(f"g{number // 3}", f"c{number}") for number in range(count)])
        if count
        else plain,
    )


def size() -> int:
    return rng.choice([0, 1, 2, 3, 5, 19, 20, 21, 59, 60, 61, 100, 400])


def cut_rows(value: Any) -> Any:
    half = CUT_ROWS // 2
    return value.iloc[[*range(half), *range(len(value) - half, len(value))]] if len(value) > WHOLE_ROWS else value


def words_of(text: str) -> list[list[str]]:
    """The words of each line, without dots, and without lines of nothing else: rows and columns that were cut."""
    lines = [[word for word in line.split() if word not in ("...", "..", "…")] for line in text.split("\n")]
    return [line for line in lines if line]


def has_dots(text: str) -> bool:
    return any(line and not line.strip(" .…") and "." in line for line in text.split("\n"))


def check_frame(pd: Any, frame: Any) -> None:
    text = shown(frame)
    rows, columns = frame.shape
    has_hidden = columns > MAX_COLUMNS and rows > 0
    is_cut = rows > WHOLE_ROWS and columns > 0
    heading = f"DataFrame, {rows:,} row{'' if rows == 1 else 's'} × {columns:,} column{'' if columns == 1 else 's'}"
    first, _, body = text.partition("\n")
    hidden, _, body = body.partition("\n") if has_hidden else ("Columns not shown: ", "", body)
    part = cut_rows(frame) if is_cut else frame
    if has_hidden:
        half = MAX_COLUMNS // 2
        part = part.iloc[:, [*range(half), *range(columns - half, columns)]]
    # The heading says that there are no rows.
    expected = part.to_string(max_colwidth=pd.get_option("display.max_colwidth")).removeprefix("Empty DataFrame\n")
    is_same = words_of(body) == words_of(expected) and (body == expected or is_cut or has_hidden)
    is_said = first.startswith(heading) and hidden.startswith("Columns not shown: ") and (has_dots(body) or not is_cut)
    check("frame", frame, text, is_same and is_said, expected)
    check("heading", frame, first, said_types(frame, first), frame.dtypes)


def said_types(frame: Any, heading: str) -> bool:
    """Whether the heading names the types of all columns that do not look like what they are, and of no others."""
    rows, columns = frame.shape
    kinds = [str(kind) for kind in frame.dtypes]
    said = heading.partition(" (")[2]
    if not 0 < rows <= WHOLE_ROWS or columns > MAX_COLUMNS:
        return all(kind in said for kind in kinds[:20])
    unclear = [
        kind
        for at, kind in enumerate(kinds)
        if kind not in ("int64", "float64", "bool")
        and not (kind in ("object", "str", "string") and is_plain_text(frame.iloc[:, at].tolist()))
    ]
    return all(kind in said for kind in unclear) and (bool(unclear) or said == "")


def is_plain_text(values: list[Any]) -> bool:
    """Whether no one would take it for anything else: words, and perhaps gaps."""
    texts = [value for value in values if value is not None and not (type(value) is float and math.isnan(value))]
    return bool(texts) and all(type(value) is str and value[:1] not in ("1", "2", "3") for value in texts)


def names_in(line: str) -> list[str]:
    """The names `c…` that a line says, with those in its ranges."""
    names: list[str] = []
    for first, last, count, single in re.findall(r"\bc(\d+) … c(\d+) \((\d+)\)|\b(c\d+)", line):
        run = [single] if single else [f"c{number}" for number in range(int(first), int(last) + 1)]
        names += run if single or len(run) == int(count) else ["wrong count"]
    return names


def check_series(pd: Any, series: Any) -> None:
    text = shown(series)
    is_cut = len(series) > WHOLE_ROWS
    with pd.option_context("display.max_rows", None):
        expected = repr(cut_rows(series))
    length = f"Length: {len(series)}"
    body = text
    if is_cut:
        # Only the whole has a length, and the part may have no frequency.
        body, expected = (re.sub(rf"Freq: \S+, |{length}, ", "", lines) for lines in (text, expected))
    is_said = not is_cut or (has_dots(text) and length in text)
    check("series", series, text, words_of(body) == words_of(expected) and is_said, expected)


def named_cells(rows: int, columns: int, pd: Any) -> Any:
    """A frame in which each cell names its row and column, under labels that do too."""
    labels = [f"r{number}" for number in range(rows)]
    name = rng.choice([None, "k"])
    index = one_of(
        lambda: pd.Index(labels, name=name),
        lambda: pd.MultiIndex.from_arrays([[number // 4 for number in range(rows)], labels], names=["group", name]),
        lambda: pd.CategoricalIndex(labels, name=name),
    )
    data = [[f"r{row}c{column}" for column in range(columns)] for row in range(rows)]
    names = pd.Index([f"c{column}" for column in range(columns)], name=rng.choice([None, "axis"]))
    return pd.DataFrame(data, index=index, columns=names)


def check_named_frame(pd: Any) -> None:
    rows, columns = rng.choice([1, 2, 20, 60, 61, 300]), rng.choice([1, 3, 20, 21, 50])
    frame = named_cells(rows, columns, pd)
    text = shown(frame)
    lines = text.split("\n")
    hidden = names_in(lines[1]) if lines[1].startswith("Columns not shown: ") else []
    header = next(line for line in lines[1 + bool(hidden) :] if "c0" in line)
    names = re.findall(r"\bc\d+", header)
    ends = {match.group(): match.end() for match in re.finditer(r"\bc\d+", header)}
    problems: list[str] = []
    seen: list[int] = []
    for line in lines:
        cells = list(re.finditer(r"\br(\d+)(c\d+)\b", line))
        if not cells:
            continue
        label = re.search(r"\br(\d+)(?!\w)", line)
        row = int(label.group(1)) if label else -1
        seen.append(row)
        if any(int(cell.group(1)) != row or cell.end() != ends[cell.group(2)] for cell in cells):
            problems.append(f"cells at another label: {line[:200]}")
        if [cell.group(2) for cell in cells] != names:
            problems.append(f"cells under another column: {line[:200]}")
    half = CUT_ROWS // 2
    all_rows = list(range(rows)) if rows <= WHOLE_ROWS else [*range(half), *range(rows - half, rows)]
    said = [int(name[1:]) for name in names + hidden]
    if seen != all_rows:
        problems.append(f"rows {seen}")
    if sorted(said) != list(range(columns)):
        problems.append(f"columns {sorted(said)}")
    check("named cells", frame, text, not problems, "; ".join(problems[:3]))


def check_named_series(pd: Any) -> None:
    rows = rng.choice([1, 2, 3, 20, 60, 61, 300])
    series = named_cells(rows, 1, pd)["c0"].rename(rng.choice([None, "v"]))
    text = shown(series)
    pairs = re.findall(r"^\d* *r(\d+) +r(\d+)c0$", text, re.MULTILINE)
    half = CUT_ROWS // 2
    wanted = list(range(rows)) if rows <= WHOLE_ROWS else [*range(half), *range(rows - half, rows)]
    is_right = [int(label) for label, _ in pairs] == wanted and all(label == value for label, value in pairs)
    check("named cells", series, text, is_right, wanted)


class Host:
    """Keeps what `runtime.to_toon` sends to be formatted."""

    def call_sync(self, _method: str, params: dict[str, Any]) -> str:
        return json.dumps(params["value"], allow_nan=False)


def check_toon(pd: Any) -> None:
    rows, columns = rng.choice([0, 1, 5, 30]), rng.choice([1, 3])
    table = named_cells(rows, columns, pd)
    table = one_of(lambda: table, lambda: table.reset_index(drop=True), lambda: table["c0"])
    sent = json.loads(to_toon(Host(), table))  # pyright: ignore[reportArgumentType]
    if isinstance(sent, dict):
        is_right = list(sent.items()) == [(f"r{row}", f"r{row}c0") for row in range(rows)]
    else:
        has_label = not isinstance(table.index, pd.RangeIndex) or not rows
        is_right = len(sent) == rows and all(
            [record[f"c{at}"] for at in range(table.shape[1] if table.ndim == 2 else 1)]
            == [f"r{row}c{at}" for at in range(table.shape[1] if table.ndim == 2 else 1)]
            and (f"r{row}" in record.values()) == has_label
            for row, record in enumerate(sent)
        )
    check("toon", table, json.dumps(sent), is_right)


def judge_toon(pd: Any, np: Any) -> None:
    """Tables in which something would be lost or look different."""
    stamp = pd.Timestamp("2026-01-02 03:04:05.000000006")
    for value, expected in (
        (pd.Series([1, 2], index=["a", "a"]), [{"index": "a", "value": 1}, {"index": "a", "value": 2}]),
        (pd.DataFrame({"k": ["x"], "v": [1.5]}).groupby("k").sum(), [{"k": "x", "v": 1.5}]),
        (pd.DataFrame({"v": [1, 2]}, index=[7, 8]), [{"index": 7, "v": 1}, {"index": 8, "v": 2}]),
        (pd.DataFrame({"v": [stamp, pd.NaT]}), [{"v": stamp.isoformat()}, {"v": None}]),
        (np.array(["2026-01-02T03:04:05.000000006", "NaT"], dtype="M8[ns]"), ["2026-01-02T03:04:05.000000006", None]),
        (pd.DataFrame([[1, 2]], columns=["same", "same"]), "two columns are named 'same'"),
        ({1: "a", "1": "b"}, "two keys are the same as text"),
    ):
        try:
            sent: object = json.loads(to_toon(Host(), value))  # pyright: ignore[reportArgumentType]
        except ValueError as error:
            sent = expected if str(expected) in str(error) else str(error)
        check("toon", value, str(sent), sent == expected, expected)


def judge_headings(pd: Any) -> None:
    """Frames whose heading was longer than they, or which were read with the wrong separator."""
    text = str(pd.Series(["a"]).dtype)
    days = pd.to_datetime(["2026-01-02", "2026-01-03"])
    day = str(days.dtype)
    one = "DataFrame, 1 row × 1 column"
    for value, expected in (
        (pd.DataFrame({"name": ["a", None], "n": [1, 2], "x": [0.5, 1], "is": [True, False]}), "DataFrame, 2 rows × 4 columns"),
        (pd.DataFrame({"day": days, "n": [1, 2]}), f"DataFrame, 2 rows × 2 columns (day: {day})"),
        (pd.DataFrame({"d": days, "n": [1, 2], "m": ["a", "b"]}), f"DataFrame, 2 rows × 3 columns (d: {day})"),
        (pd.DataFrame({"code": ["007", "a"], "n": [1, 2]}), f"DataFrame, 2 rows × 2 columns (code: {text})"),
        (pd.DataFrame({f"c{at}": [1.5] for at in range(9)}).astype("float32"), "DataFrame, 1 row × 9 columns (float32 × 9)"),
        (pd.DataFrame({"a": []}, dtype="float32"), "DataFrame, 0 rows × 1 column (float32)"),
        (pd.DataFrame({"a\tb": ["x\ty"]}), f"{one}; its name contains '\\t': read it with sep='\\t'"),
        (pd.DataFrame({"a;b;c": ["x;y;z"]}), f"{one}; its name contains ';': read it with sep=';'"),
        (pd.DataFrame({"a; b": ["x"]}), one),
        (pd.DataFrame({"a\tb": ["x"], "c": ["y"]}), "DataFrame, 1 row × 2 columns"),
        (pd.DataFrame({7: ["x"]}), one),
    ):
        heading = shown(value).partition("\n")[0]
        check("heading", value, heading, heading == expected, expected)
    pixels = [f"pixel_{number}" for number in range(64)]
    for names, expected in (
        (pixels, "pixel_10 … pixel_53 (44)"),
        ([*"abcdefghijk", "x", "x1", "x2", "x3", "y", *"lmnopqrstu"], "k, x, x1, x2, x3, y"),
        (list(range(30)), "10 … 19 (10)"),
        ([*"abcdefghij", *(f"x{number:02}b" for number in (8, 9, 10, 11, 13)), *"klmnopqrst"], "x08b … x11b (4), x13b"),
        ([f"c{number * number}" for number in range(64)], ", ".join(f"c{at * at}" for at in range(10, 50)) + ", … 4 more"),
        ([f"n{number}" for number in range(20_020)], "n10 … n10009 (10,000), … 10,000 more"),
        (pd.MultiIndex.from_product([["g"], range(24)]), "('g', 10) … ('g', 13) (4)"),
    ):
        line = shown(pd.DataFrame([[0] * len(names)], columns=names)).split("\n")[1]
        check("heading", names, line, line == f"Columns not shown: {expected}", expected)


def judge_pandas(pd: Any, count: int) -> None:
    for _ in range(count):
        rows = size()
        index = index_of(pd, rows)
        if rng.random() < 0.4:
            series = pd.Series(column_of(pd, rows), index=index, name=rng.choice([None, "v", "two words", 3]))
            check_series(pd, series)
        else:
            names = columns_of(pd, rng.choice([0, 1, 2, 3, 5, 16, 20, 21, 45]))
            frame = pd.DataFrame({at: pd.Series(column_of(pd, rows), index=index) for at in range(len(names))}, index=index)
            frame.columns = names
            check_frame(pd, frame)
        check_named_frame(pd) if rng.random() < 0.5 else check_named_series(pd)
        if rng.random() < 0.1:
            check_toon(pd)
    frame = pd.DataFrame({"k": list("aabbc"), "v": [1, 2, 3, 4, 5]})
    check_series(pd, frame.groupby("k").v.sum())
    # An option that code has set holds.
    with pd.option_context("display.max_rows", 5, "display.min_rows", 4):
        text = shown(pd.Series(range(100)))
        check("option", text, text, text == repr(pd.Series(range(100))))
    with pd.option_context("display.max_rows", None, "display.max_columns", None):
        frame = named_cells(300, 50, pd)
        text = shown(frame)
        check("option", frame, text, all(f" r{at}c{at % 50}" in text for at in range(300)) and "not shown" not in text)
    index = index_of(pd, 300)
    check("index", index, shown(index), shown(index) == repr(index), repr(index))


# ---- numpy, polars, pyarrow, and containers


def judge_numpy(np: Any, count: int) -> None:
    for _ in range(count):
        shape = tuple(rng.choice([0, 1, 3, 7, 40, 60]) for _ in range(rng.randrange(4)))
        kind = rng.choice(["int64", "float32", "complex128", "bool", "datetime64[ns]", "timedelta64[s]", "U5", "S3", "object"])
        array = (np.arange(int(np.prod(shape))) - 3).reshape(shape).astype(kind)
        text = shown(array)
        is_said = array.size <= 1000 or " × ".join(f"{n:,}" for n in shape) in text or f"shape={shape}" in text
        check("array", array, text, text.endswith(repr(array)) and is_said, repr(array))


def judge_others(count: int) -> None:
    makers: list[Any] = []
    with contextlib.suppress(ImportError):
        import polars as pl

        makers += [lambda data: pl.DataFrame(data, strict=False), lambda data: pl.Series("s", data["c0"], strict=False)]
    with contextlib.suppress(ImportError):
        import pyarrow as pa

        makers += [pa.table, lambda data: pa.chunked_array([data["c0"]])]
    for _ in range(count):
        rows = size()
        kinds: list[list[Any]] = [[1.5, None], [1, 2], ["שלום", "日本"], [[1, 2], []]]
        columns = {f"c{at}": rng.choice(kinds) for at in range(rng.choice([1, 3, 12]))}
        data = {name: [rng.choice(values) for _ in range(rows)] for name, values in columns.items()}
        for make in makers:
            value = make(data)
            library = type(value).__module__.partition(".")[0]
            check(library, value, shown(value), shown(value) == repr(value), repr(value))


def judge_containers(count: int) -> None:
    for _ in range(count):
        length = rng.choice([0, 1, 5, 9_999, 10_001, 30_000])
        kind = rng.choice([list, tuple, dict])
        numbers = range(100_000, 100_000 + length)
        value = {number: number for number in numbers} if kind is dict else kind(numbers)
        text = shown(value)
        found = [int(word) for word in re.findall(r"\d{6}", text)]
        found = found[::2] if kind is dict and found[::2] == found[1::2] else found
        gap = re.search(r"… ([\d,]+) more …", text)
        left_out = int(gap.group(1).replace(",", "")) if gap else 0
        head = next((at for at, number in enumerate(found) if number != 100_000 + at), len(found))
        tail = found[head:]
        is_whole = len(found) + left_out == length and tail == list(range(100_000 + length - len(tail), 100_000 + length))
        check("container", value, text, is_whole and (gap is not None or text == repr(value)), (len(found), left_out))


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng.seed(seed)
    warnings.simplefilter("ignore")
    import numpy as np
    import pandas as pd

    judge_pandas(pd, count)
    judge_headings(pd)
    judge_toon(pd, np)
    judge_numpy(np, count // 4)
    judge_others(count // 10)
    judge_containers(count // 10)
    versions = {name: sys.modules[name].__version__ for name in ("pandas", "numpy", "polars", "pyarrow") if name in sys.modules}
    print(json.dumps({"versions": versions, "counts": counts, "differences": differences}))


main()
