"""The specs of one server's tools, fetched from the host on first use."""

from __future__ import annotations

from bridge_kernel.errors import ArgumentError, PolicyError, error_from_frame
from bridge_kernel.values import as_dict, as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Protocol

    from bridge_kernel.errors import MCPError
    from bridge_kernel.specs import ToolSpec

    class _Host(Protocol):
        async def call(self, method: str, params: dict[str, object], timeout: float | None = None) -> object: ...

        def call_sync(self, method: str, params: dict[str, object], timeout: float | None = None) -> object: ...


class ServerSpecs:
    """The specs of one server, by the names that code used for its tools.

    A spec may be outdated, because servers change their tools and the host may know an earlier run of the server. So a
    spec can let a call pass but never refuse one: before a refusal the running server is asked.
    """

    def __init__(self, host: _Host, server: str) -> None:
        self._host = host
        self._server = server
        self._specs: dict[str, ToolSpec | None] = {}
        # The host's errors for tools that a policy hides.
        self._refused: dict[str, object] = {}
        self._asked: set[str] = set()
        self._fresh: set[str] = set()
        self._asking: dict[tuple[str, bool], asyncio.Task[None]] = {}

    def begin_cell(self) -> None:
        """Marks everything as possibly outdated."""
        self._asked.clear()
        self._fresh.clear()

    def known(self, tool: str) -> ToolSpec | None:
        """The known spec of a tool, without asking the host; None if there is none."""
        return self._specs.get(tool)

    def refusal(self, tool: str) -> MCPError | None:
        """What a call of the tool would raise if the host reported that a policy hides it; otherwise None."""
        error = self._refused.get(tool)
        return None if error is None else error_from_frame(error)

    async def fetch(self, tool: str, fresh: bool = False) -> ToolSpec | None:
        """The spec of a tool, fetched once per cell; None if the server lists no such tool.

        `fresh` asks the running server. Raises `PolicyError` for a tool that a policy hides.
        """
        import asyncio

        if tool not in (self._fresh if fresh else self._asked):
            # One request serves all waiters; cancelling one waiter leaves it to the others.
            key = (tool, fresh)
            asking = self._asking.get(key)
            if asking is None or asking.done() or asking.get_loop() is not asyncio.get_running_loop():
                asking = self._asking[key] = asyncio.ensure_future(self._ask(tool, fresh))
            await asyncio.shield(asking)
        return self._known_or_refused(tool)

    async def _ask(self, tool: str, fresh: bool) -> None:
        try:
            answer = await self._host.call("tool_specs", self._params([tool], fresh))
            self._keep(tool, fresh, next(iter(as_list(answer)), None))
        finally:
            self._asking.pop((tool, fresh), None)

    def fetch_sync(self, tool: str, fresh: bool = False) -> ToolSpec | None:
        """Like `fetch`, but blocks this thread."""
        if tool not in (self._fresh if fresh else self._asked):
            answer = self._host.call_sync("tool_specs", self._params([tool], fresh))
            self._keep(tool, fresh, next(iter(as_list(answer)), None))
        return self._known_or_refused(tool)

    def _known_or_refused(self, tool: str) -> ToolSpec | None:
        refusal = self.refusal(tool)
        if refusal is not None:
            raise refusal
        return self._specs.get(tool)

    async def fetch_many(self, tools: list[str], timeout: float, fresh: bool = False) -> dict[str, ToolSpec | None]:
        """The specs of several tools in one request; None for those that the server does not list or a policy hides.

        Known specs are not requested again unless `fresh` asks the running server. A missing tool is requested again by
        its call, because the cell may change the server.
        """
        wanted = tools if fresh else [tool for tool in tools if self._specs.get(tool) is None]
        if wanted:
            answer = as_list(await self._host.call("tool_specs", self._params(wanted, fresh), timeout))
            for tool, facts in zip(wanted, answer, strict=False):
                self._keep(tool, fresh, facts)
                if self._specs[tool] is None:
                    self._asked.discard(tool)
                    self._fresh.discard(tool)
        return {tool: self._specs.get(tool) for tool in tools}

    def _params(self, tools: list[str], fresh: bool) -> dict[str, object]:
        params: dict[str, object] = {"server": self._server, "tools": tools}
        return {**params, "fresh": True} if fresh else params

    def _keep(self, tool: str, fresh: bool, facts: object) -> None:
        # Imported late: a session that calls no tool does not need it.
        from bridge_kernel.specs import ToolSpec

        known = as_dict(facts)
        self._refused.pop(tool, None)
        if "refused" in known:
            self._refused[tool] = known["refused"]
        is_known = bool(known) and "refused" not in known
        self._specs[tool] = ToolSpec(known, self._server) if is_known else None
        self._asked.add(tool)
        if fresh:
            self._fresh.add(tool)

    async def arguments(self, tool: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        """The arguments of a call under the server's names; unchecked if a policy hides the tool.

        Raises:
            ArgumentError: the tool would certainly refuse them.
            MCPError: the host has no information on the tool.
        """
        try:
            return await self._arguments(tool, args, kwargs)
        except PolicyError:
            if args:
                raise  # Positional arguments cannot be named without a spec.
            return kwargs  # The host refuses the call, and so has a record of it.

    async def _arguments(self, tool: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        spec = self.known(tool) or await self.fetch(tool)
        try:
            return self._checked(spec, tool, args, kwargs)
        except ArgumentError:
            if tool in self._fresh:
                raise
        return self._checked(await self.fetch(tool, fresh=True), tool, args, kwargs)

    def arguments_sync(self, tool: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        """Like `arguments`, but blocks this thread."""
        try:
            return self._arguments_sync(tool, args, kwargs)
        except PolicyError:
            if args:
                raise
            return kwargs

    def _arguments_sync(self, tool: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        spec = self.known(tool) or self.fetch_sync(tool)
        try:
            return self._checked(spec, tool, args, kwargs)
        except ArgumentError:
            if tool in self._fresh:
                raise
        return self._checked(self.fetch_sync(tool, fresh=True), tool, args, kwargs)

    def _checked(
        self, spec: ToolSpec | None, tool: str, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> dict[str, object]:
        return self.unchecked(tool, args, kwargs) if spec is None else spec.arguments(args, kwargs)

    def unchecked(self, tool: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        """The arguments for a tool without a spec; the host reports the reason."""
        if args:
            said = f"{self._server}.{tool}: pass arguments by name; the parameters of this tool are unknown"
            raise ArgumentError(said, "TOOL_ARGUMENT_INVALID")
        return kwargs
