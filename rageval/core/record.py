"""Values as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval.core.basis import Basis
from rageval.core.remark import Remark


def plain_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as JSON has them: a basis as `basis`, `corrected_from`, `drawn`; remarks as records."""
    record: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Basis):
            record |= value.texts
        elif isinstance(value, Remark):
            record[name] = value.as_record()
        elif isinstance(value, tuple) and all(isinstance(remark, Remark) for remark in value):
            record[name] = [remark.as_record() for remark in value]
        else:
            record[name] = value
    return record
