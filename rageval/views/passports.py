"""A judge's passport in words: its coefficients, what it gets wrong, and its biases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from rageval.comparison.arena import position_remarks
from rageval.comparison.passport import Passport
from rageval.core.basis import Basis, DrawKind
from rageval.statistics.bootstrap import few_differ
from rageval.table import COUNT, INTERVAL, NUMBER, Column, Display, Table
from rageval.text import visible
from rageval.views.bases import IF_DRAWN, name_judges


class PassportDisplay(Display[Passport]):
    """A passport as it shows itself."""

    def table(self) -> Table:
        """Return the coefficients."""
        columns = [
            Column("coefficient"),
            Column("value", NUMBER, 3, "z"),
            Column("interval", INTERVAL, 3, "z"),
        ]
        rows = [
            [coefficient.name, coefficient.value, (coefficient.low, coefficient.high)]
            for coefficient in self.shown.coefficients
        ]
        counted = sum(map(sum, self.shown.confusion))
        title = f"agreement of a judge with gold on {counted:,.0f} judgements"
        return Table(columns, rows, title=title)

    def tables(self) -> list[Table]:
        """Return the coefficients, the confusion, and agreement by label, by system and by place shown."""
        number = partial(Column, kind=NUMBER, places=3, sign="z")
        ends = [number("value"), number("low"), number("high")]
        coefficients = [
            [coefficient.name, coefficient.value, coefficient.low, coefficient.high]
            for coefficient in self.shown.coefficients
        ]
        counts = [[label, *row] for label, row in zip(self.shown.labels, self.shown.confusion, strict=True)]
        names = ("judge", "gold", "agreement")
        shares = [
            [label, *map(values.__getitem__, names)] for label, values in self.shown.facts["by_label"].items()
        ]
        tables = [
            Table([Column(""), *ends], coefficients),
            Table(
                [Column("judge \\ gold"), *(Column(label, NUMBER, 0) for label in self.shown.labels)], counts
            ),
            Table([Column("label"), *map(number, names)], shares),
        ]
        if systems := self.shown.facts["by_system"]:
            first, *rest = next(iter(systems.values()))
            rows = [[system, *values.values()] for system, values in systems.items()]
            tables.append(Table([Column("system"), Column(first, COUNT), *map(number, rest)], rows))
        if self.shown.facts["positions"] and self.shown.facts["positions"]["lists"]:
            columns = [Column("shown at", NUMBER, 0), Column("times", COUNT)]
            columns += map(number, ("mean place given", "places ahead", "low", "high"))
            keys = ("place", "times", "given", "lead", "low", "high")
            places = [[place[key] for key in keys] for place in self.shown.facts["positions"]["lists"]]
            tables.append(Table(columns, places, 0))
        return tables

    def sentences(self) -> list[str]:
        """Return what was compared, the direction of the judge's errors, and its biases."""
        return list(_sentences(self.shown.facts))


def _sentences(facts: Mapping[str, Any]) -> Iterator[str]:
    counts = f"{facts['queries']:,} queries and {facts['systems']:,} systems"
    yield f"{facts['compared']:,} judgements compared, of {counts}"
    yield from sentences_on_draw(facts)
    if facts["partly"]:
        yield (
            f"{facts['answers']:,} answers, {facts['partly']:,} of which were judged in part:"
            f" {facts['compared']:,} of their {facts['of']:,} judgements are in both files"
        )
    if few_differ(facts["queries_that_differ"], facts["queries"]):
        yield f"coarse: they differ in {facts['queries_that_differ']:,} of {facts['queries']:,} queries"
    if facts["bias"]:
        direction = "more generous" if facts["bias"] > 0 else "stricter"
        yield f"the judge is {direction} by {abs(facts['bias']):.3f} on average"
    if facts["tau_b"] is not None:
        yield (
            f"systems by {facts['ranked_by']}: tau_b {facts['tau_b']:z.3f}, tau_AP {facts['tau_ap']:z.3f}"
            + (f", mean tau_b of a query {facts['tau_per_topic']:z.3f}" if facts["topics"] else "")
        )
    for pair in facts["annotators"]:
        numbers = (pair[name] for name in ("kappa", "low", "high"))
        kappa, low, high = ("-" if number is None else f"{number:z.3f}" for number in numbers)
        yield (
            f"{visible(pair['one'])} and {visible(pair['other'])}, whose majority is gold, agree with kappa"
            f" {kappa} [{low}, {high}] on {pair['compared']:,} judgements"
        )
    if several := facts["several_annotators"]:
        numbers = (several[name] for name in ("alpha", "low", "high"))
        value, low, high = ("-" if number is None else f"{number:z.3f}" for number in numbers)
        yield (
            f"{len(several['annotators'])} annotators agree with alpha {value} [{low}, {high}] on"
            f" {several['compared']:,} judgements that two or more labeled"
        )
    if facts["length_tau"] is not None:
        yield f"correlation of answer length with scores that are too high: tau_b {facts['length_tau']:z.3f}"
    if facts["positions"]:
        yield from map(str, position_remarks(facts["positions"]))
    if facts["kin"]:
        yield f"of the judge's own family, which it may prefer: {', '.join(map(visible, facts['kin']))}"
    if facts["failed"]:
        yield f"{facts['failed']:,} of the judge's judgements failed ({facts['failure_rate']:.1%})"
    if facts["missing"]:
        total, ends = (
            facts["compared"] + facts["missing"],
            (facts["agreement_least"], facts["agreement_most"]),
        )
        yield (
            f"{facts['missing']:,} of the {total:,} labels have no judgement by the judge: agreement lies"
            f" between {ends[0]:.3f} and {ends[1]:.3f}"
        )
    if facts["only_judged"] or facts["only_gold"]:
        first, second = facts["only_judged"], facts["only_gold"]
        yield f"not compared: {first:,} only in the first file, {second:,} only in the second"
    for judge in facts["unfenced"]:
        yield f"{visible(judge)}: asked without a fence, like its source: answers can try to influence it"
    if facts["canaries"]:
        best, shown = map(sum, zip(*facts["canaries"].values(), strict=True))
        best_by_judge = ", ".join(
            f"{visible(name)} {of[0]} of {of[1]}" for name, of in facts["canaries"].items()
        )
        yield f"attacks on the judge: {best:,} of {shown:,} verdicts were the best possible ({best_by_judge})"
    if facts["tokens"]:
        money = f", {facts['cost']:,.4f} USD" if facts["cost"] is not None else ""
        yield f"{facts['tokens']:,} tokens were used{money}"


def sentences_on_draw(facts: Mapping[str, Any]) -> Iterator[str]:
    """Say of which judgements the numbers are, and on what condition, by how labels were drawn."""
    if facts["drawn"] == DrawKind.UNSTATED:
        yield (
            f"these numbers are also of the judgements without a label {IF_DRAWN}; say how they were drawn"
            " (--gold-chosen)"
        )
    gold = Basis.parse(facts["gold_basis"])
    if gold.is_judge and gold.names:
        yield f"gold is by {name_judges(gold)}, so this is no comparison with people"
    if facts["is_weighted"]:
        yield (
            "labels count by 1 over the chance with which they were drawn, but in the confusion, which"
            " counts them, and in biases"
        )
    if facts["of_pair"]:
        yield f"only of queries on which {' and '.join(map(visible, facts['of_pair']))} answer differently"
