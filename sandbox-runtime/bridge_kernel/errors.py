"""The exceptions that a failed call raises in user code.

One class covers everything the host refuses or cannot do; a subclass is for tools that report failure themselves.
Codes, messages and hints come from the host; a test compares `CODES` with the table in `src/core/base/errors.ts`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CODES = (
    "ARGUMENT_INVALID",
    "USAGE_INVALID",
    "CONFIG_INVALID",
    "ENGINE_UNAVAILABLE",
    "ENGINE_FAILED",
    "IMAGE_MISSING",
    "IMAGE_PULLING",
    "IMAGE_UNSUITABLE",
    "SESSION_START_TIMEOUT",
    "SESSION_LOST",
    "SESSION_LIMIT",
    "HTTP_BUSY",
    "HTTP_REFUSED",
    "CHECK_FAILED",
    "CELL_DEADLINE",
    "CELL_CANCELLED",
    "LIMIT_CALLS",
    "LIMIT_ARTIFACT",
    "LIMIT_FRAME",
    "LIMIT_RESULT",
    "PROTOCOL_VIOLATION",
    "CALL_REFUSED",
    "CALL_TIMEOUT",
    "CALL_CANCELLED",
    "SERVER_NOT_AVAILABLE",
    "SERVER_UNKNOWN",
    "SERVER_START_FAILED",
    "SERVER_UNREACHABLE",
    "LOGIN_REQUIRED",
    "LOGIN_FAILED",
    "SECRET_UNAVAILABLE",
    "SERVER_EXITED",
    "SERVER_PROTOCOL",
    "CAPABILITY_MISSING",
    "TOOL_UNKNOWN",
    "TOOL_ARGUMENT_INVALID",
    "TOOL_CHANGED",
    "CALL_NOT_RECORDED",
    "OUTCOME_UNKNOWN",
    "TOOL_FAILED",
    "ARTIFACT_UNKNOWN",
    "POLICY_DENIED",
    "POLICY_LIMIT",
    "APPROVAL_DENIED",
    "APPROVAL_TIMEOUT",
    "APPROVAL_UNAVAILABLE",
    "PACKAGE_UNAVAILABLE",
    "STATE_WRITE_FAILED",
    "AUDIT_UNAVAILABLE",
    "INTERNAL",
)
"""Every error code of the bridge, in the order of `src/core/base/errors.ts`."""


# Integers in the protocol are smaller.
_MAX_CALLS = 1 << 53


class MCPError(Exception):
    """A call that failed: `code` is stable, `message` says what failed, `hint` is one next step (or None)."""

    # User code imports the class from `mcp.runtime`, so tracebacks and pickles use that name.
    __module__ = "mcp.runtime"

    # The call that the host answered with this error. The result of a cell names it, so the host can look up the code
    # in its own record: user code can write anything into the `code` attribute.
    _call: int | None = None

    def __init__(
        self,
        message: str,
        code: str = "INTERNAL",
        hint: str | None = None,
        data: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, code, hint, data)
        self.message = message
        self.code = code
        self.hint = hint
        self.data: dict[str, object] = dict(data or {})

    def __str__(self) -> str:
        first = f"{self.code}: {self.message}"
        return first if self.hint is None else f"{first}\nHint: {self.hint}"


class ToolError(MCPError):
    """The tool reported failure (`isError`); `result` is its unmodified answer."""

    __module__ = "mcp.runtime"

    def __init__(self, text: str, server: str, tool: str, result: Mapping[str, object]) -> None:
        super().__init__(f"{server}.{tool}: {text}", "TOOL_FAILED")
        self.args = (text, server, tool, result)
        self.server = server
        self.tool = tool
        self.result: dict[str, object] = dict(result)


class ArgumentError(MCPError, TypeError, ValueError):
    """Arguments that the tool would refuse; nothing was sent.

    It is both a TypeError (wrong call) and a ValueError (wrong value), because a schema does not distinguish the two.
    """

    __module__ = "mcp.runtime"


class ServerNotAvailableError(MCPError, KeyError):
    """A server that is not loaded or not configured. Also a `KeyError`, because `mcp_servers` is a mapping."""

    __module__ = "mcp.runtime"


class PolicyError(MCPError):
    """A call that the user's policy forbids, or that the user did not approve."""

    __module__ = "mcp.runtime"


class CheckError(MCPError):
    """A cell that did not run because the check before it found a certain failure."""

    __module__ = "mcp.runtime"


def call_of(error: BaseException) -> int | None:
    """The number of the call that the host answered with this error; None for any other exception."""
    call: object = getattr(error, "_call", None) if isinstance(error, MCPError) else None
    return call if type(call) is int and 0 <= call < _MAX_CALLS else None


def error_from_frame(error: object, call: int | None = None) -> MCPError:
    """The exception for the `error` of an `answer` frame; `call` is the number of the answered call."""
    facts: dict[str, object] = {}
    if isinstance(error, dict):
        facts.update(error)  # pyright: ignore[reportUnknownArgumentType]
    code = str(facts.get("code", "INTERNAL"))
    hint, data = facts.get("hint"), facts.get("data")
    raised = _class_of(code)(
        str(facts.get("message", "the host gave no reason")),
        code,
        hint if isinstance(hint, str) else None,
        data if isinstance(data, dict) else None,  # pyright: ignore[reportUnknownArgumentType]
    )
    raised._call = call  # pyright: ignore[reportPrivateUsage] # noqa: SLF001
    return raised


def _class_of(code: str) -> type[MCPError]:
    if code.startswith(("POLICY_", "APPROVAL_")) or code == "TOOL_CHANGED":
        return PolicyError
    return ServerNotAvailableError if code in ("SERVER_NOT_AVAILABLE", "SERVER_UNKNOWN") else MCPError
