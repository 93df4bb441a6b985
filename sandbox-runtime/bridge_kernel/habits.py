"""Names that code uses as in other tools: bare helpers, `mcp`, `server.tool`, `mcp__server__tool`.

They are no builtins: each is bound only for code that uses it without having it, and would fail with a NameError.
"""

from __future__ import annotations

import ast
import builtins
import sys

from bridge_kernel.by_name import server_and_tool
from bridge_kernel.proxies import proxy_of
from bridge_kernel.syntax_nodes import names_bound_in, nodes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge_kernel.discovery import Runtime
    from bridge_kernel.servers import Registry


def names_to_bind(
    tree: ast.Module, used: Iterable[str], namespace: Mapping[str, object], registry: Registry, runtime: Runtime
) -> dict[str, object]:
    """The values of names that a cell uses and does not have. `used` may contain more than names."""
    unknown = [name for name in used if name not in namespace and not hasattr(builtins, name)]
    found = {name: value for name in unknown if (value := _meant_by(name, registry, runtime)) is not None}
    if not found:
        return {}
    bound = names_bound_in(tree)
    loaded: set[str] = set()
    bases: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            loaded.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            bases.add(node.value.id)
    # `memory` alone is more likely a variable that was lost than the server.
    used_names = {name for name in loaded if registry.find(name) is None or name in bases}
    return {name: value for name, value in found.items() if name in used_names and name not in bound}


def _meant_by(name: str, registry: Registry, runtime: Runtime) -> object:
    """What an unknown name can only mean; None if it may be a mistake."""
    if name == "mcp":
        return sys.modules.get("mcp")
    # Short names such as `output` and `reset` are likelier to be the user's.
    if name in runtime.__all__ and ("_" in name or name[0].isupper()):
        return getattr(runtime, name)
    state = registry.find(name)
    if state is not None:
        return None if name in sys.stdlib_module_names else proxy_of(state)
    if not name.startswith("mcp_"):
        return None
    state = registry.find(name.removeprefix("mcp_").lstrip("_"))
    if state is not None:
        return proxy_of(state)
    found = server_and_tool(registry, name)
    return None if found is None else proxy_of(found[0])[found[1]]
