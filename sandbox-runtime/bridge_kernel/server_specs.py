"""How the tools of one server look, as far as this session has asked the host: a call asks once, later calls know."""

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
    """The specs of one server by the names that code has used for its tools.

    A spec may be out of date, because servers change their tools and the host may know a server from an earlier run.
    So it can let a call pass, but refuses none: before a refusal the host is told to ask the server itself.
    """

    def __init__(self, host: _Host, server: str) -> None:
        self._host = host
        self._server = server
        self._specs: dict[str, ToolSpec | None] = {}
        # What the host says of tools that a policy hides.
        self._refused: dict[str, object] = {}
        self._asked: set[str] = set()
        self._fresh: set[str] = set()
        self._asking: dict[tuple[str, bool], asyncio.Task[None]] = {}

    def begin_cell(self) -> None:
        """What is known may be out of date by now."""
        self._asked.clear()
        self._fresh.clear()

    def known(self, tool: str) -> ToolSpec | None:
        """What this session knows of a tool without asking; None when that is nothing."""
        return self._specs.get(tool)

    def refusal(self, tool: str) -> MCPError | None:
        """What a call of the tool would raise, when the host has said that a policy hides it."""
        error = self._refused.get(tool)
        return None if error is None else error_from_frame(error)

    async def fetch(self, tool: str, fresh: bool = False) -> ToolSpec | None:
        """How a tool looks, asked once per cell; None when the server lists no such tool.

        With `fresh`, as the running server says itself. Raises `PolicyError` for a tool that a policy hides.
        """
        import asyncio

        if tool not in (self._fresh if fresh else self._asked):
            # One question for all that wait for it; one that is cancelled leaves it to the others.
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
        """As `fetch`, blocking this thread."""
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
        """How several tools look, in one question; None for those that the server does not list, or a policy hides.

        Those that were asked for before are known, unless `fresh` wants the running server to be asked. A tool that is
        missing is asked for again by its call, because the cell may change the server.
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
        # Not at the start: a session that calls no tool needs none of it.
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
        """The arguments of a call as the server knows them; unchecked when a policy hides the tool.

        Raises:
            ArgumentError: for what the tool certainly refuses.
            MCPError: when the host cannot tell.
        """
        try:
            return await self._arguments(tool, args, kwargs)
        except PolicyError:
            if args:
                raise  # Nothing is known that would give them names.
            return kwargs  # The host refuses the call itself, so that it has a record of it.

    async def _arguments(self, tool: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        spec = self.known(tool) or await self.fetch(tool)
        try:
            return self._checked(spec, tool, args, kwargs)
        except ArgumentError:
            if tool in self._fresh:
                raise
        return self._checked(await self.fetch(tool, fresh=True), tool, args, kwargs)

    def arguments_sync(self, tool: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        """As `arguments`, blocking this thread."""
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
        """The arguments for a tool of which nothing is known; the host will say why."""
        if args:
            said = f"{self._server}.{tool}: arguments can only be given by name, because nothing is known of this tool"
            raise ArgumentError(said, "TOOL_ARGUMENT_INVALID")
        return kwargs
