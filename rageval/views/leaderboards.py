"""How alike leaderboards rank runs, in tables and words."""

from __future__ import annotations

from rageval.comparison.leaderboards import JudgesComparison, LeaderboardAgreement
from rageval.table import NUMBER, Column, Display, Table
from rageval.text import visible


class AgreementDisplay(Display[LeaderboardAgreement]):
    """The agreement of two leaderboards as it shows itself."""

    def table(self) -> Table:
        """Return a row a coefficient."""
        columns = [
            Column("coefficient"),
            *(Column(name, NUMBER, sign="z") for name in ("value", "low", "high")),
        ]
        rows = [
            [coefficient.name, coefficient.value, coefficient.low, coefficient.high]
            for coefficient in self.shown.coefficients
        ]
        return Table(
            columns, rows, title=f"{self.shown.truth} and {self.shown.judge}: {self.shown.runs:,} runs"
        )

    def tables(self) -> list[Table]:
        """Return the coefficients with their intervals; - for what is not defined."""
        table = self.table()
        return [
            table._replace(columns=[Column(""), *(column._replace(nan="-") for column in table.columns[1:])])
        ]

    def sentences(self) -> list[str]:
        """Return over how many topics intervals are, and the remarks."""
        over = f"95 % intervals over {self.shown.topics:,} topics, the same drawn for both"
        return [over] * bool(self.shown.topics) + list(map(str, self.shown.remarks))


class JudgesDisplay(Display[JudgesComparison]):
    """Several judges beside one measure of the truth, as they show themselves."""

    def table(self) -> Table:
        """Return a row a judge."""
        names = [coefficient.name for coefficient in next(iter(self.shown.judges.values())).coefficients]
        columns = [Column("judge"), *(Column(name, NUMBER, sign="z", nan="-") for name in names)]
        rows = [
            [visible(name), *(coefficient.value for coefficient in agreement.coefficients)]
            for name, agreement in self.shown.judges.items()
        ]
        return Table(columns, rows, title=f"{visible(self.shown.truth)}: {self.shown.runs:,} runs")

    def tables(self) -> list[Table]:
        """Return the coefficients of all judges, and the pairs of judges."""
        number = [Column(name, NUMBER, sign="z", nan="-") for name in ("difference", "low", "high")]
        columns = [Column("judge"), Column("other"), *number]
        columns += [Column("p", "p", nan="-"), Column("p (Holm)", "p", nan="-"), Column("nearer")]
        rows = [
            [visible(pair.one), visible(pair.other), *pair[2:7], visible(pair.nearer) or "-"]
            for pair in self.shown.pairs
        ]
        return [self.table(), Table(columns, rows, 2, title="Differences of tau_b")]

    def sentences(self) -> list[str]:
        """Return what was tested, and the remarks."""
        topics = sorted({pair.topics for pair in self.shown.pairs if pair.p == pair.p})
        if not topics:
            return list(map(str, self.shown.remarks))
        many = f"{topics[0]:,} to " * (len(topics) > 1) + f"{topics[-1]:,} topics"
        number = len(self.shown.pairs)
        tested = (
            "'nearer' names the judge with the higher tau_b where the difference is significant at 0.05"
            f" (resamples of {many}, Holm over {number:,} pair{'s' * (number > 1)}); this applies to these"
            " runs only, and the other coefficients are not tested"
        )
        return [tested, *map(str, self.shown.remarks)]
