"""A diagnosis in tables: where nuggets were lost, and what could be gained."""

from __future__ import annotations

from functools import partial

from rageval.comparison.losses import Diagnosis
from rageval.table import COUNT, NUMBER, Column, Display, Table

_SHOWN = 60  # characters of a nugget
_NUGGETS = 3  # of a question
_TOO_FEW = ("too few nuggets", "", "")


class DiagnosisDisplay(Display[Diagnosis]):
    """A diagnosis as it shows itself."""

    def tables(self) -> list[Table]:
        """Return the shares, what could be gained, slices, refusals, and the worst questions."""
        kinds = {kind: Column(_kind_name(kind), NUMBER) for kind in self.shown.shares}
        number = partial(Column, kind=NUMBER)
        columns = [Column("share of the nuggets"), *map(number, ("value", "at least", "at most"))]
        shares = [
            [_kind_name(kind), *share, self.shown.counts[kind]] for kind, share in self.shown.shares.items()
        ]
        tables = [Table([*columns, Column("nuggets", COUNT)], shares)]
        columns = [Column("if it were perfect"), *map(number, ("recall would grow by", "low", "high"))]
        gains = [[f"the {name}", *(gain or _TOO_FEW)] for name, gain in self.shown.what_if.items()]
        tables.append(Table(columns, gains))
        for name, groups in self.shown.by.items():
            columns = [Column(name), Column("questions", NUMBER, 0), *kinds.values()]
            rows = [
                [group, values["questions"], *map(values.__getitem__, kinds)]
                for group, values in groups.items()
            ]
            tables.append(Table(columns, rows))
        if self.shown.abstention:
            refusals = [[_kind_name(name), value] for name, value in self.shown.abstention.items()]
            tables.append(Table([Column("refusals"), number("value")], refusals))
        worst = []
        for question in self.shown.worst():
            lost = []
            for nugget, how in question.lost[:_NUGGETS]:
                text = self.shown.texts.get((question.query_id, nugget), nugget)
                lost.append(f"{_kind_name(how)}: {text if len(text) <= _SHOWN else f'{text[: _SHOWN - 1]}…'}")
            if len(question.lost) > _NUGGETS:
                lost.append(f"and {len(question.lost) - _NUGGETS:,} more")
            worst.append([question.query_id, question.recall, "; ".join(lost)])
        columns = [Column("worst questions"), number("in the answer"), Column("lost")]
        return [*tables, Table(columns, worst, 3)]


def _kind_name(kind: str) -> str:
    return kind.replace("_", " ")
