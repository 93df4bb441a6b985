"""`runtime.fetch`: what the host is asked, and what code gets."""

from __future__ import annotations

import base64
import pickle
from typing import Any

from fake_host import ApiTestCase

from bridge_kernel.errors import ArgumentError, MCPError


def answer(body: bytes = b"", status: int = 200, *headers: tuple[str, str]) -> dict[str, object]:
    encoded = base64.b64encode(body).decode()
    return {"status": status, "reason": "Said", "headers": [list(pair) for pair in headers], "body": encoded}


class Fetch(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.runtime: Any = self.namespace["runtime"]

    async def asked(self, *args: object, **kwargs: object) -> dict[str, Any]:
        self.host.answers["fetch"] = lambda params: answer()
        await self.runtime.fetch(*args, **kwargs)
        method, params = self.host.asked[-1]
        self.assertEqual(method, "fetch")
        return dict(params)

    async def test_parameters_become_a_request(self) -> None:
        asked = await self.asked("https://a.example/x?a=1", params={"b": [2, "ä"]}, headers={"X-A": 1})
        expected = {"url": "https://a.example/x?a=1&b=2&b=%C3%A4", "method": "GET", "headers": [["X-A", "1"]]}
        self.assertEqual(asked, expected)

    async def test_bodies_have_their_type(self) -> None:
        for kwargs, kind, body in [
            ({"json": {"a": None}}, "application/json", b'{"a": null}'),
            ({"data": "ä"}, "text/plain; charset=utf-8", "ä".encode()),
            ({"data": b"\x00"}, "application/octet-stream", b"\x00"),
            ({"data": {"a": [1, 2]}}, "application/x-www-form-urlencoded", b"a=1&a=2"),
        ]:
            asked = await self.asked("https://a.example", method="POST", **kwargs)
            self.assertEqual(asked["headers"], [["content-type", kind]])
            self.assertEqual(base64.b64decode(asked["body"]), body)
        asked = await self.asked("https://a.example", json=1, headers={"Content-Type": "x/y"})
        self.assertEqual(asked["headers"], [["Content-Type", "x/y"]])

    async def test_the_answer_has_what_libraries_have(self) -> None:
        said = answer('{"a": "ä"}'.encode(), 201, ("Content-Type", "application/json"), ("X-A", "1"), ("x-a", "2"))
        self.host.answers["fetch"] = lambda params: said
        response = await self.runtime.fetch("https://a.example")
        self.assertEqual((response.status, response.status_code, response.ok), (201, 201, True))
        self.assertEqual(response.reason, "Said")
        self.assertEqual((response.json(), response.text), ({"a": "ä"}, '{"a": "ä"}'))
        self.assertEqual(response.headers, {"content-type": "application/json", "x-a": "1, 2"})
        self.assertIs(response.raise_for_status(), response)
        self.assertEqual(pickle.loads(pickle.dumps(response)).content, response.content)
        self.assertEqual(repr(response), "<Response 201 Said, 11 bytes of application/json>")

    async def test_text_is_decoded_as_the_answer_says(self) -> None:
        for kind, body, text in [
            ("text/plain; charset=latin-1", b"\xe4", "ä"),
            ('text/plain; charset="utf-16"; x=y', "ä".encode("utf-16"), "ä"),
            ("text/plain; charset=unknown", "ä".encode(), "ä"),
            ("text/plain", b"\xff", "\ufffd"),
        ]:
            said = answer(body, 200, ("content-type", kind))
            self.host.answers["fetch"] = lambda params, said=said: said
            self.assertEqual((await self.runtime.fetch("https://a.example")).text, text)

    async def test_a_failure_raises_only_if_asked_to(self) -> None:
        self.host.answers["fetch"] = lambda params: answer(b"no such thing", 404)
        response = await self.runtime.fetch("https://a.example/x")
        self.assertFalse(response.ok)
        with self.assertRaisesRegex(MCPError, "https://a.example/x answered 404 Said: no such thing"):
            response.raise_for_status()

    def test_wrong_arguments_are_named(self) -> None:
        for kwargs in ({"url": 1}, {"url": "https://a.example", "json": 1, "data": "x"}, {"url": "u", "data": 1}):
            with self.assertRaises(ArgumentError):
                self.runtime.fetch(**kwargs)
