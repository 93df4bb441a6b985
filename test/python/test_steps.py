"""Steps: their order, their results that are kept, and what is tried again."""

from __future__ import annotations

import asyncio
import contextlib
import io
import pickle
import sys
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from fake_host import ApiTestCase

from bridge_kernel.errors import MCPError
from bridge_kernel.steps import key_of

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
        results = await self.runtime.step_map(work, range(5), errors="return")
        self.assertEqual([type(result) for result in results], [int, int, ValueError, ValueError, int])
        self.assertEqual(self.ended[-1]["failed_rows"], 2)

    async def test_wrong_options_are_named(self) -> None:
        for options in ({"at_once": 0}, {"at_once": True}, {"errors": "ignore"}):
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


class Kept(StepCase):
    def setUp(self) -> None:
        super().setUp()
        self.keeps = True

    async def test_a_kept_result_takes_the_place_of_the_step(self) -> None:
        calls: list[int] = []

        def work(number: int) -> dict[str, int]:
            calls.append(number)
            return {"n": number}

        self.assertEqual(await self.runtime.step(work, 1), {"n": 1})
        data = self.ended[0]["data"]
        self.assertEqual(pickle.loads(b64decode(data)), {"n": 1})
        key = next(str(params["key"]) for method, params in self.host.asked if method == "kept_step")
        self.kept[key] = data
        self.assertEqual(await self.runtime.step(work, 1), {"n": 1})
        self.assertEqual(await self.runtime.step(work, 2), {"n": 2})
        self.assertEqual(calls, [1, 2])
        self.assertEqual(self.ended[1], {"step": 2, "outcome": "kept"})

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
            await self.runtime.step(str, sys)
        self.assertIn("its inputs cannot be compared", said.getvalue())

    async def test_a_result_that_cannot_be_restored_is_made_again(self) -> None:
        self.host.answers["kept_step"] = lambda _: {"data": "AAAA"}
        self.assertEqual(await self.runtime.step(len, "abc"), 3)
        self.assertEqual(self.ended[-1]["outcome"], "ok")


class Keys(StepCase):
    def test_equal_work_has_the_same_key(self) -> None:
        source = "def work(x):\n    return other(x) + LIMIT if x in {'a', 'b'} else 0"
        other = "def other(x):\n    return len(x)"
        first = mine(source, "work", other=mine(other, "other"), LIMIT=3)
        second = mine("\n\n" + source, "work", other=mine(other, "other"), LIMIT=3, unused=1)
        shared = str(b"shared", "ascii")
        rows = [{"name": shared}, {"name": shared}]
        copies = pickle.loads(pickle.dumps([{"name": "shared"}])) + pickle.loads(pickle.dumps([{"name": "shared"}]))
        self.assertEqual(key_of(first, (rows,), {"a": 1, "b": 2}), key_of(second, (copies,), {"b": 2, "a": 1}))

    def test_other_work_has_another_key(self) -> None:
        source, other = "def work(x):\n    return other(x) + LIMIT", "def other(x):\n    return len(x)"
        keys = [
            key_of(mine(source, "work", other=mine(other, "other"), LIMIT=3), ("a",), {}),
            key_of(mine(source, "work", other=mine(other, "other"), LIMIT=4), ("a",), {}),
            key_of(mine(source, "work", other=mine(other + " + 1", "other"), LIMIT=3), ("a",), {}),
            key_of(mine(source, "work", other=mine(other, "other"), LIMIT=3), ("b",), {}),
            key_of(mine(source.replace("+", "-"), "work", other=mine(other, "other"), LIMIT=3), ("a",), {}),
            key_of(mine("def work(x, y=1): ...", "work"), ("a",), {}),
            key_of(mine("def work(x, y=2): ...", "work"), ("a",), {}),
        ]
        self.assertEqual(len(set(keys)), len(keys))
        self.assertNotIn(None, keys)

    # Pickling an object adds `__slotnames__` to its class.
    def test_use_of_a_class_does_not_change_the_key(self) -> None:
        point = mine("class Point:\n    def __init__(self):\n        self.x = 1", "Point")
        work = mine("def work():\n    return Point()", "work", Point=point)
        before = key_of(work, (), {})
        with contextlib.suppress(pickle.PicklingError):
            pickle.dumps(work())
        self.assertIn("__slotnames__", vars(point))
        self.assertEqual(key_of(work, (), {}), before)

    def test_inputs_that_cannot_be_compared_have_no_key(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        self.assertIsNone(key_of(len, (loop,), {}))
        self.assertIsNone(key_of(len, (sys,), {}))
