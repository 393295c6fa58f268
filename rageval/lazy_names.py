"""Names of a package that stand in its modules, each imported when it is first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `homes` has the names that stand in each of its modules.

    A name that is that of its module stands for the module itself.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def load_name(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{home[name]}")
        value = module if home[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)  # asked for once
        return value

    return load_name
