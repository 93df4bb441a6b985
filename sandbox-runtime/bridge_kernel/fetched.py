"""`runtime.fetch`: one HTTP request through the host, also where no library can open a connection."""

from __future__ import annotations

import base64
import json as json_module

from bridge_kernel.errors import ArgumentError, MCPError
from bridge_kernel.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Response:
    """The answer to a request: `status`, `headers`, `content`, `text`, `json()`, `ok`, `raise_for_status()`."""

    def __init__(self, url: str, answer: dict[str, Any]) -> None:
        self.url = url
        self.status: int = answer["status"]
        self.reason: str = answer["reason"]
        self.content: bytes = base64.b64decode(answer["body"])
        headers: dict[str, str] = {}
        for name, value in answer["headers"]:
            key = name.lower()
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        self.headers = headers

    @property
    def status_code(self) -> int:
        """The same as `status`."""
        return self.status

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return self.status < 400

    @property
    def text(self) -> str:
        """The body as text, in the encoding that the answer names."""
        kind = self.headers.get("content-type", "")
        charset = kind.partition("charset=")[2].split(";")[0].strip(' "') or "utf-8"
        try:
            return self.content.decode(charset, "replace")
        except LookupError:
            return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON."""
        return json_module.loads(self.content)

    def raise_for_status(self) -> Response:
        """Raises MCPError if the status is 400 or more; otherwise returns itself."""
        if not self.ok:
            said = self.text[:500]
            raise MCPError(f"{self.url} answered {self.status} {self.reason}: {said}", "TOOL_FAILED")
        return self

    def __repr__(self) -> str:
        kind = self.headers.get("content-type", "")
        return f"<Response {self.status} {self.reason}, {len(self.content):,} bytes of {kind or 'no type'}>"


def request(
    url: object,
    method: str,
    params: Mapping[str, Any] | None,
    headers: Mapping[str, str] | None,
    json: object,
    data: object,
) -> dict[str, object]:
    """The parameters of the host's `fetch`."""
    if not isinstance(url, str):
        raise ArgumentError(f"url must be a str, not {type(url).__name__}", "TOOL_ARGUMENT_INVALID")
    if json is not None and data is not None:
        raise ArgumentError("pass json or data, not both", "TOOL_ARGUMENT_INVALID")
    if params:
        from urllib.parse import urlencode

        url += ("&" if "?" in url else "?") + urlencode(params, doseq=True)
    sent = {str(name): str(value) for name, value in (headers or {}).items()}
    body, kind = _body(json, data)
    if kind and not any(name.lower() == "content-type" for name in sent):
        sent["content-type"] = kind
    asked: dict[str, object] = {"url": url, "method": method, "headers": [list(pair) for pair in sent.items()]}
    if body is not None:
        asked["body"] = base64.b64encode(body).decode()
    return asked


def _body(json: object, data: object) -> tuple[bytes | None, str]:
    if json is not None:
        return json_module.dumps(json).encode(), "application/json"
    if data is None:
        return None, ""
    given: Any = data
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(given), "application/octet-stream"
    if isinstance(data, str):
        return data.encode(), "text/plain; charset=utf-8"
    if isinstance(data, (dict, list, tuple)):
        from urllib.parse import urlencode

        return urlencode(given, doseq=True).encode(), "application/x-www-form-urlencoded"
    raise ArgumentError(f"data must be bytes, str or a dict, not {type(data).__name__}", "TOOL_ARGUMENT_INVALID")


def response(url: str, answer: object) -> Response:
    """What the host answered."""
    return Response(url, as_dict(answer))
