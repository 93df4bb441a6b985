"""The names predefined for user code: `runtime`, server proxies, exceptions, saved functions, and the `mcp` package."""

from __future__ import annotations

import sys
from types import MethodType

from bridge_kernel.discovery import Runtime
from bridge_kernel.mcp_package import ServerModule, install_package, module_name
from bridge_kernel.pending import warn_of_unused
from bridge_kernel.progress import ProgressSender
from bridge_kernel.proxies import Server, Servers, Tool, proxy_of
from bridge_kernel.saved_tools import define_saved_tools
from bridge_kernel.servers import Registry
from bridge_kernel.text_result import TextResult
from bridge_kernel.user_tools import UserTools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ast import Module
    from collections.abc import Awaitable, Callable

    from bridge_kernel.packages import Packages, Wanted
    from bridge_kernel.references import References
    from bridge_kernel.saved_tools import SavedTool
    from bridge_kernel.servers import Host, ServerRef


class Api:
    """The API of a session. Call `install` once, `update` before each cell, and `end_cell` after it."""

    def __init__(self, host: Host, namespace: dict[str, object]) -> None:
        self._registry = Registry(host)
        self._namespace = namespace
        self._bound: dict[str, object] = {}
        self._constants: dict[str, object] = {}
        self._progress = ProgressSender(host.send)
        self._runtime: Runtime | None = None
        self._host = host
        self._user_tools = UserTools(host, namespace)
        self._packages: Packages | None = None
        self._capability_summary = ""

    def install(
        self, display: Callable[..., object] = print, output: Callable[[int, str], object] | None = None
    ) -> None:
        """Predefines the names and the `mcp` package.

        Args:
            display: the `display` of user code.
            output: serves `runtime.output(...)`.
        """
        runtime = Runtime(self._registry, self._namespace, self._manual, self._progress, output, self.open_packages,
                           self._user_tools.add)  # fmt: skip
        self._runtime = runtime
        install_package(self._registry, runtime)
        sys.modules["user_tools"] = self._user_tools
        self._constants = {
            "runtime": runtime,
            "save_tool": runtime.save_tool,
            "display": display,
            "MCPError": runtime.MCPError,
            "ToolError": runtime.ToolError,
            "PolicyError": runtime.PolicyError,
            "mcp_servers": Servers(self._registry),
        }
        self._bind_constants()
        self._bind("LOADED_MCP_SERVERS", ())

    def describe(self, capability_summary: str, autoload: bool) -> None:
        """Sets what `runtime.capability_summary()` returns, and whether the first call of a server loads it."""
        self._capability_summary = capability_summary
        self._registry.autoload = autoload

    def _manual(self) -> str:
        return self._capability_summary

    def references(self) -> References:
        """Names the objects predefined here, for a checkpoint."""
        from bridge_kernel.references import References

        return References(self._registry, self._constants)

    def update(self, servers: list[ServerRef], discovered: list[ServerRef] | None) -> None:
        """Applies the lists of an `execute` frame: the loaded servers, and all configured ones if they changed."""
        self._bind_constants()
        before = set(self._registry.all())
        self._registry.update(servers, discovered)
        after = set(self._registry.all())
        for state in before - after:
            self._unbind(f"mcp_{state.alias}")
            for module in (module_name(state), f"mcp_{state.alias}"):
                sys.modules.pop(module, None)
        for state in after - before:
            sys.modules[module_name(state)] = ServerModule(state)
            # `import mcp_x` is not needed, but harmless.
            sys.modules[f"mcp_{state.alias}"] = proxy_of(state)  # pyright: ignore[reportArgumentType]
        for state in self._registry.all() if after != before else self._registry.loaded():
            self._bind(f"mcp_{state.alias}", proxy_of(state))
        self._bind("LOADED_MCP_SERVERS", tuple(state.name for state in self._registry.loaded()))

    def check(self, tree: Module, code: str, used: set[str]) -> Awaitable[None] | None:
        """Returns a check for calls that would fail, to await before the cell runs; it raises `CheckError`.

        `used` are the names used in the code. Those that it uses as in other tools are bound first.
        None if the cell cannot call anything; this must be cheap to decide.
        """
        if self._runtime is not None:
            self._bind_habits(tree, used, self._runtime)
        checking = self._check_calls(tree, code, used)
        if "import" not in code and "install" not in code and "# /// script" not in code:
            return checking
        packages = self.open_packages()
        wanted = packages.wanted(tree, code)
        return checking if wanted is None else self._prepare(packages, wanted, checking)

    def _check_calls(self, tree: Module, code: str, used: set[str]) -> Awaitable[None] | None:
        if "mcp" not in code and "runtime" not in code and not any(map(self._is_proxy, used)):
            return None
        from bridge_kernel.check import check_cell

        return check_cell(tree, code, self._namespace, self._registry)

    def _bind_habits(self, tree: Module, used: set[str], runtime: Runtime) -> None:
        maybe = [
            name
            for name in used
            if name not in self._namespace
            and (name.startswith("mcp") or name in runtime.__all__ or name.casefold() in self._registry.words)
        ]
        if maybe:
            from bridge_kernel.habits import names_to_bind

            for name, value in names_to_bind(tree, maybe, self._namespace, self._registry, runtime).items():
                self._bind(name, value)

    def open_packages(self) -> Packages:
        """The packages of the session."""
        # Loaded with the first cell that needs it: most cells import nothing.
        if self._packages is None:
            from bridge_kernel.packages import Packages

            self._packages = Packages(self._host)
        return self._packages

    def newly_imported(self) -> list[str]:
        """The modules that cells have imported by name, except for those reported before."""
        return [] if self._packages is None else self._packages.newly_imported()

    async def _prepare(self, packages: Packages, wanted: Wanted, checking: Awaitable[None] | None) -> None:
        # First what costs nothing: a cell that is not going to run needs no packages.
        if checking is not None:
            await checking
        await packages.prepare(wanted)

    def _is_proxy(self, name: str) -> bool:
        value = self._namespace.get(name)
        return isinstance(value, (Server, Tool, Runtime, ServerModule, TextResult)) or (
            type(value) is MethodType and isinstance(value.__self__, Runtime)
        )

    def hint_for_file(self, error: OSError) -> str | None:
        """The hint for a file that is not in the sandbox; may ask the host which tools read files."""
        from bridge_kernel.missing_files import hint_for_file

        return hint_for_file(error, self._registry)

    def find_kept_function(self, name: str) -> bool:
        """Whether a function of this name was kept after the session began. It is defined then; asks the host."""
        try:
            return callable(getattr(self._user_tools, name))
        except Exception:  # noqa: BLE001 There is none, or it is refused: the error that led here says enough.
            return False

    def end_cell(self) -> None:
        """Warns about calls that were not awaited. Runs after the code of a cell, while output is still captured."""
        warn_of_unused()
        self._progress.end_cell()

    def define_saved_tools(self, tools: list[SavedTool]) -> None:
        """Defines the functions saved by earlier sessions; a failure is reported on stderr."""
        define_saved_tools(tools, self._namespace, self._user_tools.add)

    def owns(self, name: str) -> bool:
        """Whether a top-level name still has the value set here, so it does not belong to the user."""
        return name in self._bound and self._namespace.get(name) is self._bound[name]

    def _bind_constants(self) -> None:
        for name, value in self._constants.items():
            self._bind(name, value)

    def _bind(self, name: str, value: object) -> None:
        """Sets a name unless the user has reassigned it. A name that the user deleted is restored."""
        if self._namespace.get(name) is value and self._bound.get(name) is value:
            return  # As after most cells.
        if name not in self._namespace or self.owns(name):
            self._namespace[name] = value
            self._bound[name] = value

    def _unbind(self, name: str) -> None:
        if self.owns(name):
            del self._namespace[name]
        self._bound.pop(name, None)
