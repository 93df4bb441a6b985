"""Which installed packages a function needs."""

from __future__ import annotations

import sys


def packages_of(source: str) -> list[str]:
    """The packages that the import lines of a function need, as `name==version`; not those of the standard library."""
    import ast
    from importlib import metadata

    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
    modules -= {*sys.stdlib_module_names, "mcp", "user_tools"}
    if not modules:
        return []
    owners = metadata.packages_distributions()
    names = {owner for module in modules for owner in owners.get(module, [])}
    return sorted(f"{name}=={metadata.version(name)}" for name in names)
