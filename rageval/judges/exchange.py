"""Taking over replies from elsewhere: nothing is overwritten, and whatever was not taken is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import batched
from typing import TYPE_CHECKING

from rageval.judges.stored import Stored, from_line

if TYPE_CHECKING:
    from rageval.judges.store import Store

_AT_ONCE = 500  # replies a transaction
