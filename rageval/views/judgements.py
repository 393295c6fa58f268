"""Judgements in a table, and what became of them in a cascade in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval.core.basis import Basis
from rageval.table import Display, Table
from rageval.text import visible
from rageval.views.bases import conditions_of


class JudgedDisplay(Display[Any]):
    """The result of `rageval.judge` as it shows itself."""

    def table(self) -> Table:
        """Return the scores, with the number of judgements above them."""
        systems = len({row["run_id"] for row in self.shown})
        failed = f", {len(self.shown.failed):,} of them failed" if self.shown.failed else ""
        table: Table = self.shown.scores.tables()[0]
        return table._replace(title=f"{len(self.shown):,} judgements of {systems:,} systems{failed}")


def cascade_text(summary: Mapping[str, Any], then: str | None) -> str:
    """Return what became of all that was judged, by the summary in the first row.

    >>> cascade_text({"of": 200, "to_next": 20}, "openai:m")
    '180 of 200 verdicts are kept; openai:m decided 20'
    >>> print(cascade_text({"of": 200, "to_next": 20, "keep_error": 0.05, "labels": 280, "wrong": 4}, None))
    180 of 200 verdicts are kept (at most 5 % of them are wrong, at 95 %: 4 of 280 labels are); \
20 are left to people
    >>> whose = {"basis": "judge:contains", "drawn": "unstated"}
    >>> shown = {"of": 200, "to_next": 20, "keep_error": 0.05, "labels": 280, "wrong": 4}
    >>> print(cascade_text(shown | whose, None))
    180 of 200 verdicts are kept (at most 5 % of them are wrong, at 95 %: 4 of 280 labels are, \
if these labels are a random draw; by labels of contains, not checked against people); 20 are left to people
    """
    kept, rest = summary["of"] - summary["to_next"], summary["to_next"]
    shown = ""
    if "keep_error" in summary:
        bound = f"{100 * summary['keep_error']:.3g} %"
        shown = (
            f" (at most {bound} of them are wrong, at 95 %: {summary['wrong']:,} of"
            f" {summary['labels']:,} labels are{_conditions(summary)})"
            if kept
            else f" (the labels do not show that at most {bound} are wrong)"
        )
    last = f"{rest:,} are left to people" if then is None else f"{visible(then)} decided {rest:,}"
    return f"{kept:,} of {summary['of']:,} verdicts are kept{shown}; {last}"


def _conditions(summary: Mapping[str, Any]) -> str:
    return conditions_of(Basis.parse(summary.get("basis", ""), drawn=summary.get("drawn", "")))
