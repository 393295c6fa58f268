"""The compiled part: whether it is there, and whether it is wanted.

It is optional: where it was not built everything works, and gives the same numbers, in plain Python. The
variable RAGEVAL_KERNEL=0 turns it off.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

_INTERFACE = 6  # as in _kernel.c; of a file left by another version nothing is used
SEED = os.urandom(16)  # of hashes: nobody can craft ids that share a place


def _found() -> tuple[ModuleType | None, str]:
    if os.environ.get("RAGEVAL_KERNEL") == "0":
        return None, "plain Python: RAGEVAL_KERNEL=0"
    try:
        from rageval import _kernel
    except ImportError:
        return None, "plain Python: nothing was compiled"
    if _kernel.INTERFACE != _INTERFACE:
        return None, "plain Python: what was compiled is of another version"
    return _kernel, "with the compiled part"


kernel: Any
in_use: str
kernel, in_use = _found()
