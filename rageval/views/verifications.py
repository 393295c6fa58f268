"""The verification of a bundle, in a table and in words."""

from __future__ import annotations

from typing import Any

from rageval.table import Column, Display, Table


class VerificationDisplay(Display[Any]):
    """What was verified, as it shows itself: a row a step."""

    def table(self) -> Table:
        """Return the steps with their results."""
        columns = [Column("step"), Column("result"), Column("of what")]
        steps = self.shown.as_dict()["steps"]
        return Table(columns, [[step["step"], step["result"], step["of"]] for step in steps])

    def sentences(self) -> list[str]:
        """Return what differs, what is missing, and what was not verified."""
        sentences: list[str] = []
        for step in self.shown.as_dict()["steps"]:
            sentences += [f"{step['step']}: {difference}" for difference in step["differences"]]
            if step["more"]:
                sentences.append(f"{step['step']}: and {step['more']:,} more")
        sentences += map(str, self.shown.remarks)
        return sentences + [f"not verified: {remark}" for remark in self.shown.believed]
