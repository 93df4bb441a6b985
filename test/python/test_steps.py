"""Steps: their order, their results that are kept, and what is tried again."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import pickle
import sys
import threading
import unittest
import unittest.mock
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from fake_host import ApiTestCase

from bridge_kernel.errors import MCPError
from bridge_kernel.steps import code_hash, input_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def mine(source: str, name: str, **names: object) -> Callable[..., Any]:
    """A function that a cell defines."""
    namespace: dict[str, Any] = {"__name__": "__main__", **names}
    exec(source, namespace)
    return namespace[name]


class StepCase(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.begun: list[dict[str, Any]] = []
        self.ended: list[dict[str, Any]] = []
        self.keeps = False
        self.kept: dict[str, str] = {}
        self.host.answers.update(begin_step=self.begin, end_step=self.end, kept_step=self.find)
        self.runtime: Any = self.namespace["runtime"]

    def begin(self, params: dict[str, object]) -> object:
        self.begun.append(params)
        return {"step": len(self.begun), "keeps": self.keeps}

    def end(self, params: dict[str, object]) -> object:
        self.ended.append(params)
        return None

    def find(self, params: dict[str, object]) -> object:
        data = self.kept.get(str(params["key"]))
        return None if data is None else {"data": data}

    def afters(self) -> dict[str, list[str]]:
        """The names of the steps that each step followed."""
        names = [step["name"] for step in self.begun]
        return {step["name"]: [names[number - 1] for number in step["after"]] for step in self.begun}


class Order(StepCase):
    async def named(self, name: str, seconds: float = 0) -> None:
        async def work() -> None:
            await asyncio.sleep(seconds)

        work.__name__ = name
        await self.runtime.step(work)

    async def test_steps_in_turn_follow_each_other(self) -> None:
        await self.named("a")
        await self.named("b")
        await self.named("c")
        self.assertEqual(self.afters(), {"a": [], "b": ["a"], "c": ["b"]})

    async def test_what_follows_a_gather_follows_all_of_it(self) -> None:
        await self.named("a")
        await asyncio.gather(self.named("b", 0.02), self.named("c"))
        await self.named("d")
        self.assertEqual(self.afters(), {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]})

    async def test_chains_beside_each_other_do_not_mix(self) -> None:
        async def chain(first: str, second: str, seconds: float) -> None:
            await self.named(first, seconds)
            await self.named(second, seconds)

        await asyncio.gather(chain("a1", "a2", 0.01), chain("b1", "b2", 0.02))
        await self.named("end")
        self.assertEqual(self.afters(), {"a1": [], "b1": [], "a2": ["a1"], "b2": ["b1"], "end": ["a2", "b2"]})

    async def test_steps_of_a_step_are_within_it(self) -> None:
        async def outer() -> None:
            await self.named("inner 1")
            await self.named("inner 2")

        await self.named("before")
        await self.runtime.step(outer)
        await self.named("after")
        self.assertEqual(
            self.afters(),
            {"before": [], "outer": ["before"], "inner 1": [], "inner 2": ["inner 1"], "after": ["outer"]},
        )
        self.assertEqual([step.get("within") for step in self.begun], [None, None, 2, 2, None])

    async def test_a_failed_step_is_followed_like_others(self) -> None:
        def fail() -> None:
            raise KeyError("x")

        with self.assertRaises(KeyError):
            await self.runtime.step(fail)
        await self.named("next")
        self.assertEqual(self.afters(), {"fail": [], "next": ["fail"]})
        self.assertEqual(self.ended[0], {"step": 1, "outcome": "error", "exception": "KeyError"})

    async def test_a_step_that_is_given_up_is_cancelled(self) -> None:
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(self.named("slow", 60), 0.01)
        await asyncio.sleep(0)
        self.assertEqual(self.ended, [{"step": 1, "outcome": "cancelled"}])

    async def test_a_task_begins_where_its_creator_stood(self) -> None:
        await self.named("first")

        async def late() -> None:
            await asyncio.sleep(0.02)
            await self.named("late")

        task = asyncio.create_task(late())
        await self.named("beside")
        await task
        await self.named("end")
        self.assertEqual(
            self.afters(), {"first": [], "beside": ["first"], "late": ["first"], "end": ["beside", "late"]}
        )

    async def test_a_step_that_is_cancelled_while_it_begins_is_ended(self) -> None:
        begun = asyncio.Event()

        async def slow(method: str, params: dict[str, object], *_: object) -> object:
            if method == "begin_step":
                begun.set()
                await asyncio.sleep(0.01)
            return self.host.call_sync(method, params)

        with unittest.mock.patch.object(self.host, "call", slow):
            task = asyncio.ensure_future(self.named("slow"))
            await begun.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.05)
        self.assertEqual(self.ended, [{"step": 1, "outcome": "cancelled"}])

    async def test_what_the_host_says_of_the_end_does_not_hide_the_result(self) -> None:
        def refuse(_: object) -> object:
            raise MCPError("no step 1 runs", "CALL_REFUSED")

        self.host.answers["end_step"] = refuse
        self.assertEqual(await self.runtime.step(len, "ab"), 2)
        with self.assertRaises(ZeroDivisionError):
            await self.runtime.step(lambda: 1 / 0)

    async def test_what_is_no_function_is_refused(self) -> None:
        async def fetch() -> None: ...

        with self.assertRaisesRegex(TypeError, r"step takes a function and its inputs, .* not a coroutine"):
            await self.runtime.step(fetch())
        with self.assertRaisesRegex(TypeError, "step_map takes a function"):
            await self.runtime.step_map([1], [2])
        self.assertEqual(self.begun, [])


class Maps(StepCase):
    async def test_results_are_in_the_order_of_the_rows_and_few_run_at_once(self) -> None:
        running, most = 0, 0

        async def work(row: int) -> int:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.02 / (row + 1))
            running -= 1
            return row * row

        self.assertEqual(await self.runtime.step_map(work, iter(range(9)), at_once=3), [n * n for n in range(9)])
        self.assertEqual(most, 3)
        self.assertEqual(self.begun[0], {"name": "work", "after": [], "rows": 9})
        self.assertTrue(all(row["is_row"] and row["within"] == 1 for row in self.begun[1:]))
        self.assertEqual(self.ended[-1], {"step": 1, "outcome": "ok"})
        self.assertEqual(await self.runtime.step_map(work, []), [])

    async def test_a_failed_row_stops_the_rest_unless_errors_are_returned(self) -> None:
        done: list[int] = []

        async def work(row: int) -> int:
            await asyncio.sleep(0.001)
            if row in (2, 3):
                raise ValueError(row)
            done.append(row)
            return row

        with self.assertRaisesRegex(ValueError, "2"):
            await self.runtime.step_map(work, range(50), at_once=2)
        self.assertLess(len(done), 5)
        self.assertEqual(self.ended[-1]["exception"], "ValueError")
        failed = [end["outcome"] for end in self.ended].count("error")
        results = await self.runtime.step_map(work, range(5), errors="return")
        self.assertEqual([type(result) for result in results], [int, int, ValueError, ValueError, int])
        self.assertEqual([end["outcome"] for end in self.ended].count("error"), 2 + failed)

    @unittest.skipIf(sys.version_info < (3, 11), "Python 3.10 does not tell who is cancelled")
    async def test_a_row_that_waits_for_a_cancelled_task_has_failed(self) -> None:
        async def work(row: int) -> int:
            if row == 1:
                task = asyncio.ensure_future(asyncio.sleep(60))
                task.cancel()
                await task
            return row

        results = await self.runtime.step_map(work, range(3), errors="return")
        self.assertEqual([type(result) for result in results], [int, asyncio.CancelledError, int])

    async def test_wrong_options_are_named(self) -> None:
        for options in ({"at_once": 0}, {"at_once": True}, {"at_once": 501}, {"errors": "ignore"}):
            with self.assertRaisesRegex(ValueError, next(iter(options))):
                await self.runtime.step_map(len, [], **options)


class Retries(StepCase):
    async def tried(self, error: Exception, **options: Any) -> int:
        times = 0

        @self.runtime.retry(3, wait=0, **options)
        def work() -> None:
            nonlocal times
            times += 1
            raise error

        with self.assertRaises(type(error)):
            await self.runtime.step(work)
        return times

    async def test_only_what_may_pass_is_tried_again(self) -> None:
        self.assertEqual(await self.tried(TimeoutError()), 3)
        self.assertEqual(self.ended[-1]["tries"], 3)
        self.assertEqual(await self.tried(TimeoutError(), on=ValueError), 1)
        self.assertEqual(await self.tried(MCPError("no", "APPROVAL_DENIED")), 1)
        self.assertEqual(await self.tried(MCPError("who knows", "OUTCOME_UNKNOWN")), 1)
        self.assertEqual(await self.tried(MCPError("gone", "SERVER_EXITED")), 3)

    async def test_a_partial_keeps_what_its_function_declares(self) -> None:
        times: list[int] = []

        @self.runtime.retry(2, wait=0)
        def work(number: int) -> None:
            times.append(number)
            raise TimeoutError

        with self.assertRaises(TimeoutError):
            await self.runtime.step(functools.partial(work, 1))
        self.assertEqual(times, [1, 1])

    async def test_a_function_that_declares_nothing_is_tried_once(self) -> None:
        times: list[int] = []

        def work() -> None:
            times.append(1)
            raise TimeoutError

        with self.assertRaises(TimeoutError):
            await self.runtime.step(work)
        self.assertEqual(len(times), 1)

    def test_wrong_declarations_are_refused(self) -> None:
        for options in ({"times": 0}, {"times": 1.5}, {"wait": -1}, {"wait": 61}):
            with self.assertRaises(ValueError):
                self.runtime.retry(**options)
        with self.assertRaisesRegex(TypeError, "on must be a class of exceptions"):
            self.runtime.retry(on="TimeoutError")


class Kept(StepCase):
    def setUp(self) -> None:
        super().setUp()
        self.keeps = True

    async def test_a_kept_result_takes_the_place_of_the_step(self) -> None:
        def work(number: int) -> dict[str, int]:
            return {"n": number}

        self.assertEqual(await self.runtime.step(work, 1), {"n": 1})
        data = self.ended[0]["data"]
        self.assertEqual(pickle.loads(b64decode(data)), {"n": 1})
        key = next(str(params["key"]) for method, params in self.host.asked if method == "kept_step")
        self.kept[key] = data
        self.assertEqual(await self.runtime.step(work, 1), {"n": 1})
        self.assertEqual(await self.runtime.step(work, 2), {"n": 2})
        self.assertEqual([end["outcome"] for end in self.ended], ["ok", "kept", "ok"])

    async def test_what_cannot_be_kept_is_said(self) -> None:
        def numbers() -> Iterator[int]:
            yield 1

        def large() -> bytes:
            return bytes(5 << 20)

        for work, why in ((numbers, "cannot pickle"), (large, "it has more than 4 MiB")):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                await self.runtime.step(work)
            self.assertIn(why, said.getvalue())
            self.assertNotIn("data", self.ended[-1])
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            await self.runtime.step(str, threading.Lock())
        self.assertIn("inputs cannot be compared", said.getvalue())

    async def test_a_map_says_once_that_its_rows_are_not_kept(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            await self.runtime.step_map(lambda _: threading.Lock(), range(20))
        self.assertEqual(len(said.getvalue().splitlines()), 1)

    async def test_a_result_that_cannot_be_restored_is_made_again(self) -> None:
        self.host.answers["kept_step"] = lambda _: {"data": "AAAA"}
        self.assertIn("is done again, because its result cannot be restored", await self.said(len, "abc"))
        self.assertEqual(self.ended[-1]["outcome"], "ok")

    async def said(self, *step: Any) -> str:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            await self.runtime.step(*step)
        return said.getvalue()

    # What the task does later would be missing, or be taken for what another step does.
    async def test_a_step_that_leaves_a_task_is_not_kept(self) -> None:
        tasks: list[asyncio.Task[None]] = []

        def leave() -> None:
            tasks.append(asyncio.create_task(asyncio.sleep(60)))

        async def outer() -> None:
            await self.runtime.step(leave)

        self.assertIn("'leave' would be done again", await self.said(leave))
        self.assertIn("'outer' would be done again", await self.said(outer))
        for task in tasks:
            task.cancel()
        self.assertEqual([end for end in self.ended if "data" in end], [])
        await asyncio.sleep(0)

        async def waits() -> None:
            await asyncio.create_task(asyncio.sleep(0))

        self.assertEqual(await self.said(waits), "")

    async def test_a_step_whose_threads_make_calls_is_not_kept(self) -> None:
        def stray() -> None:
            self.host.stray_calls += 1

        self.assertIn("threads have made calls", await self.said(stray))


class Keys(StepCase):
    def test_equal_work_has_the_same_key(self) -> None:
        source = "def work(x):\n    return other(x) + LIMIT if x in {'a', 'b'} else 0"
        other = "def other(x):\n    return len(x)"
        first = mine(source, "work", other=mine(other, "other"), LIMIT=3)
        second = mine("\n\n" + source, "work", other=mine(other, "other"), LIMIT=3, unused=1)
        self.assertEqual(code_hash(first), code_hash(second))
        shared = str(b"shared", "ascii")
        rows = [{"name": shared}, {"name": shared}]
        copies = pickle.loads(pickle.dumps([{"name": "shared"}])) + pickle.loads(pickle.dumps([{"name": "shared"}]))
        self.assertEqual(input_hash((rows,), {"a": 1, "b": 2}), input_hash((copies,), {"b": 2, "a": 1}))

    # Each was taken for the same.
    def test_other_code_has_another_key(self) -> None:
        work = "def work(x): return NAMED"
        pairs: list[tuple[str, str]] = [
            (work + "\nNAMED = 1", work + "\nNAMED = 2"),
            (work + "\nNAMED = {'EUR': 1}", work + "\nNAMED = {'EUR': 2}"),
            (work + "\nNAMED = ('a', 1)", work + "\nNAMED = ('a', 2)"),
            (work + "\nfrom math import floor as NAMED", work + "\nfrom math import ceil as NAMED"),
            (work + "\nimport re\nNAMED = re.compile('a')", work + "\nimport re\nNAMED = re.compile('b')"),
            (work + "\ndef NAMED(): return 1", work + "\ndef NAMED(): return 2"),
            ("import functools\n@functools.cache\ndef work(x): return 1",
             "import functools\n@functools.cache\ndef work(x): return 2"),
            ("import functools\n@functools.cache\ndef h(): return 1\ndef work(): h()",
             "import functools\n@functools.cache\ndef h(): return 2\ndef work(): h()"),
            ("class B:\n def r(self): return 1\nclass S(B): ...\ndef work(): S()",
             "class B:\n def r(self): return 2\nclass S(B): ...\ndef work(): S()"),
            ("class S:\n @property\n def r(self): return 1\ndef work(): S()",
             "class S:\n @property\n def r(self): return 2\ndef work(): S()"),
            ("import enum\nclass S(enum.Enum):\n A = 1\ndef work(): S.A",
             "import enum\nclass S(enum.Enum):\n A = 2\ndef work(): S.A"),
            ("class S:\n FIELDS = [1]\ndef work(): S()", "class S:\n FIELDS = [2]\ndef work(): S()"),
            ("def h(): return 1\ndef work(g=h): ...", "def h(): return 2\ndef work(g=h): ..."),
            ("def make(n):\n def inner(): return n\n return inner\nwork = make(1)",
             "def make(n):\n def inner(): return n\n return inner\nwork = make(2)"),
            ("def work(x, y=1): ...", "def work(x, y=2): ..."),
            ("def work(): return 1", "def work(): return 1.0"),
        ]  # fmt: skip
        for before, after in pairs:
            with self.subTest(after):
                first, same, second = (code_hash(mine(source, "work")) for source in (before, before, after))
                self.assertIsNotNone(first)
                self.assertEqual(first, same)
                self.assertNotEqual(first, second)

    def test_other_inputs_have_another_key(self) -> None:
        helper, changed = mine("def h(): return 1", "h"), mine("def h(): return 2", "h")
        pairs: list[tuple[object, object]] = [(1, 2), ("a", b"a"), ([1], (1,)), (helper, changed), (True, 1)]
        for first, second in pairs:
            self.assertNotEqual(input_hash((first,), {}), input_hash((second,), {}))
        self.assertNotEqual(code_hash({"k": 1}.get), code_hash({"k": 2}.get))
        self.assertNotEqual(code_hash(functools.partial(helper, 1)), code_hash(functools.partial(helper, 2)))
        self.assertNotEqual(code_hash(functools.partial(helper, 1)), code_hash(functools.partial(changed, 1)))
        tools: Any = self.namespace["mcp_files"]
        self.assertNotEqual(code_hash(tools.read_file), code_hash(tools.list))
        self.assertEqual(code_hash(tools.read_file), code_hash(tools.read_file))

    # Pickling an object adds `__slotnames__` to its class.
    def test_use_of_a_class_does_not_change_the_key(self) -> None:
        point = mine("class Point:\n    def __init__(self):\n        self.x = 1", "Point")
        work = mine("def work():\n    return Point()", "work", Point=point)
        before = code_hash(work)
        with contextlib.suppress(pickle.PicklingError):
            pickle.dumps(work())
        self.assertIn("__slotnames__", vars(point))
        self.assertEqual(code_hash(work), before)

    def test_a_global_that_cannot_be_pickled_does_not_matter(self) -> None:
        first = mine("import threading\nlock = threading.Lock()\ndef work():\n with lock: return 1", "work")
        self.assertIsNotNone(code_hash(first))

    # Its change would not be noticed.
    def test_a_global_that_is_too_large_is_not_left_out(self) -> None:
        self.assertIsNone(code_hash(mine("DATA = bytes(65 << 20)\ndef work(): return DATA", "work")))

    def test_inputs_that_cannot_be_compared_have_no_key(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        self.assertIsNone(input_hash((loop,), {}))
        self.assertIsNone(input_hash((threading.Lock(),), {}))
