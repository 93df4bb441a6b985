"""`user_tools`: the saved functions as a module, so that code can import them by name.

A function that was saved after the session had started, or a shared one that the user has not allowed yet, is asked for
when it is first named.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge_kernel.servers import Host


class UserTools(ModuleType):
    """The functions kept with `runtime.save_tool`, and those of shared folders."""

    def __init__(self, host: Host, namespace: dict[str, object]) -> None:
        super().__init__("user_tools", self.__doc__)
        # Libraries look for optional packages with `importlib.util.find_spec`, which fails on a module without a spec.
        self.__spec__ = ModuleSpec("user_tools", None)
        self._host = host
        self._namespace = namespace
        self.__all__: list[str] = []

    def add(self, name: str, function: object) -> None:
        """Adds a function, or replaces it."""
        vars(self)[name] = function
        self.__all__ = sorted({*self.__all__, name})

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        from bridge_kernel import values
        from bridge_kernel.errors import MCPError
        from bridge_kernel.saved_tools import define

        try:
            answer = values.as_dict(self._host.call_sync("load_tool", {"name": name}))
        except MCPError as error:
            text = f"{error.message} {error.hint or ''}".strip()
            # Python replaces the text of an AttributeError in `from user_tools import name`.
            if _is_import(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage] # noqa: SLF001
                raise ImportError(text, name=self.__name__) from None
            raise AttributeError(text, name=name, obj=self) from None
        function = define(name, str(answer.get("source")), self._namespace)
        self.add(name, function)
        self._namespace.setdefault(name, function)
        return function

    def __dir__(self) -> list[str]:
        return list(self.__all__)

    def __repr__(self) -> str:
        return f"<user_tools: {', '.join(self.__all__) or 'no saved functions'}>"


def _is_import(frame: object) -> bool:
    """Whether the frame is at `from … import …`."""
    from opcode import opmap
    from types import FrameType

    return (
        isinstance(frame, FrameType)
        and frame.f_lasti >= 0
        and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]
    )
