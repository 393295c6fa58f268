"""The report of a gate: its table, a summary in Markdown, a test report in JUnit's format."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from xml.sax.saxutils import quoteattr

from rageval.comparison.gate import Decision, Fallen, GateReport
from rageval.core.estimate import Estimate
from rageval.table import (
    COUNT,
    NUMBER,
    Bad,
    Column,
    Display,
    Good,
    Headline,
    Table,
    md_code,
    md_line,
    table_of,
)
from rageval.text import visible
from rageval.views.bases import attribution, single_values_note


def name_bounds(level: float) -> tuple[str, str]:
    """Return what one-sided bounds of a level are called at the head of a table.

    >>> name_bounds(0.95)
    ('≥ (95%)', '≤ (95%)')
    """
    return f"≥ ({100 * level:.4g}%)", f"≤ ({100 * level:.4g}%)"


def describe_difference(estimate: Estimate) -> str:
    """Return a difference with its interval, or with its one-sided bounds, each of which holds by itself.

    A dash stands for a difference that nobody knows.

    >>> describe_difference(Estimate(0.25, 0.1, 0.4)), describe_difference(Estimate(0.25, 0.1, 0.4, sides=1))
    ('+0.2500 [+0.1000, +0.4000]', '+0.2500, ≥ +0.1000 (95%), ≤ +0.4000 (95%)')
    """
    if not estimate.is_defined:
        return "-"
    value, low, high = (f"{number:+.4f}" for number in (estimate.value, estimate.low, estimate.high))
    if estimate.sides == 2:
        return f"{value} [{low}, {high}]"
    level = f"({100 * estimate.level:.4g}%)"
    return f"{value}, ≥ {low} {level}, ≤ {high} {level}"


_TONES = {"ship": Good, "block": Bad}


def parts_of_gate(report: GateReport) -> list[Table | str]:
    """Return what people read: the verdict, the decisions, and how it was gated."""
    display = GateDisplay(report)
    return [Headline(display.headline()), display.table()._replace(title=""), report.signature]


class GateDisplay(Display[GateReport]):
    """The report of a gate as it shows itself: a row a decision."""

    def headline(self) -> str:
        """Return the verdict in a line, with what it has to say of its basis."""
        verdict = self.shown.verdict
        head = f"{verdict}: {visible(self.shown.candidate)} against {visible(self.shown.baseline)}"
        return ", ".join([head, *_conditions(self.shown)])

    def table(self) -> Table:
        """Return the decisions beneath the verdict."""
        number = partial(Column, kind=NUMBER, places=3, sign="+", nan="-")
        low, high = name_bounds(self.shown.level)
        cells: list[tuple[Column, Callable[[Decision], Any]]] = [
            (Column("measure"), lambda of: f"  {of.place}" if of.is_part else of.measure),
            (Column("n", COUNT), lambda decision: decision.questions),
            (Column("before → now"), lambda decision: _means(decision, 3)),
            (number("change"), lambda decision: decision.difference),
            (number(low), lambda decision: decision.low),
            (number(high), lambda decision: decision.high),
            (Column("verdict"), lambda decision: _TONES.get(decision.verdict, str)(decision.verdict)),
            (Column("needed", COUNT, none="-"), lambda decision: decision.needed),
        ]
        return table_of(cells, self.shown.decisions, title=self.headline())

    def sentences(self) -> list[str]:
        """Return which floors are missed, and what should be known besides."""
        return list(map(str, [*self.shown.floors, *self.shown.remarks]))


def _conditions(report: GateReport) -> list[str]:
    """Return the text-matching judges behind the verdict, and labels of which nobody states the draw."""
    bases = (decision.basis for decision in report.overall)
    conditions = (attribution(basis) for basis in bases if basis.is_unchecked or basis.is_draw_unstated)
    return list(dict.fromkeys(conditions))


def _means(decision: Decision, places: int = 4) -> str:
    """Return the mean of the baseline and that of the candidate."""
    values = decision.baseline, decision.candidate
    return " → ".join("-" if math.isnan(value) else f"{value:.{places}f}" for value in values)


def _needed(decision: Decision) -> str:
    """Return how much more is needed."""
    return "-" if decision.needed is None else f"{decision.needed:,} {decision.needed_of}"


# What a gate said, for those who read it elsewhere: a summary of a build or a pull request, a test report.
#
# Ids, names of slices and of runs are others' text: in Markdown they stand as code, where nothing is a link,
# a mention or mark-up, and in sentences a mark that nobody sees parts what would be a mention.

_ROOM = 60_000  # characters; GitHub refuses 65,536
_LONGEST = 120  # of a name
_JOINER = "\u2060"
_NO_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_SIGNS = {"ship": "✅ ship", "block": "❌ block", "inconclusive": "⚠️ inconclusive", "informs": "informs"}


def markdown(report: GateReport) -> str:
    """Return one table, what blocks, what fell, what was compared, and how."""
    conditions = ", ".join([_SIGNS[report.verdict], *map(_code, _conditions(report))])
    names = name_bounds(report.level)
    lines = [f"### rageval gate: {conditions}", "", *_markdown_table(report.overall, names)]
    far = [item for item in report.decisions if item.against]
    lines += ["", *_markdown_table(far, names)] if far else []
    slices = [item for item in report.decisions if item.field]
    if slices:
        blocking = [item for item in slices if item.verdict == "block"]
        inform = sum(item.verdict == "informs" for item in slices)
        lines += ["", f"{len(slices):,} slices: {len(blocking):,} block, {inform:,} only inform."]
        lines += ["", *_markdown_table(blocking, names)] if blocking else []
    sentences = [f"- {_sentence(text)}" for text in GateDisplay(report).sentences()]
    lines += ["", *sentences] if sentences else []
    if report.fell:
        # With labels, whose values these are.
        measures = {item.measure for item in report.fell}
        bases = (item.basis for item in report.overall if item.measure in measures)
        notes = "; ".join(dict.fromkeys(filter(None, map(single_values_note, bases))))
        lines += [
            "",
            _sentence(f"Largest losses ({notes}):" if notes else "Largest losses:"),
            "",
            "| question | measure | baseline | candidate |",
            "|---|---|--:|--:|",
        ]
        lines += [
            f"| {_question(item)} | {_cell(item.measure)} | {item.baseline:.4f} | {item.candidate:.4f} |"
            for item in report.fell
        ]
    counts = ", ".join(f"{number:,} {name}" for name, number in report.counts.items() if number)
    lines += ["", f"Questions: {counts}. {_code(report.candidate)} against {_code(report.baseline)}."]
    lines += ["", *map(_code, [report.signature, *dict.fromkeys(report.signatures.values())])]
    return "\n".join(_truncate_lines(lines)) + "\n"


def markdown_of_error(message: str) -> str:
    """Return what kept the gate from saying anything."""
    lines = ["### rageval gate: ❌ error, nothing was gated", "", *map(_sentence, message.split("\n"))]
    return "\n".join(_truncate_lines(lines)) + "\n"


def _markdown_table(decisions: Sequence[Decision], names: tuple[str, str]) -> Iterator[str]:
    yield f"| measure | baseline → candidate | change | {' | '.join(names)} | verdict | needed |"
    yield "|---|--:|--:|--:|--:|---|--:|"
    for decision in decisions:
        name = _cell(decision.measure) + (f", {_cell(decision.place)}" if decision.is_part else "")
        numbers = decision.difference, decision.low, decision.high
        difference = " | ".join("-" if math.isnan(number) else f"{number:+.4f}" for number in numbers)
        cells = (name, _means(decision), difference, _SIGNS[decision.verdict], _needed(decision))
        yield f"| {' | '.join(cells)} |"


def _question(fallen: Fallen) -> str:
    """Return a question as a cell: its id, and its text where that is known."""
    return " ".join(map(_cell, filter(None, (fallen.query_id, fallen.question))))


def _cell(text: str) -> str:
    """Return a name as a cell of a table, where a bar would be the next cell's, even in code."""
    cell = _code(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
    return cell.replace("|", r"\|") if cell.startswith("`") else cell


def _code(text: str) -> str:
    code = md_code(text[:2000])
    return code if code.startswith("`") else _break_mentions(code)


def _sentence(text: str) -> str:
    return _break_mentions(md_line(text[:2000]))


def _break_mentions(text: str) -> str:
    return re.sub("([@#])(?=\\w)", rf"\1{_JOINER}", text)


def _truncate_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield as many lines as there is room for, and how many there would be."""
    room = _ROOM - 100
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            yield ""
            yield f"… {len(lines) - count:,} more lines"
            return
        yield line


def junit(report: GateReport) -> str:
    """Return a suite with a case for each measure and slice: a block is a failure, a doubt is skipped."""
    kinds = {"block": "failure", "inconclusive": "skipped", "informs": "skipped"}
    cases = []
    for decision in report.decisions:
        name = f"{decision.measure} [{decision.place}]" if decision.is_part else decision.measure
        numbers = f"{describe_difference(decision.estimate)}, margin {decision.margin:g}"
        message = "; ".join([f"{decision.verdict}: {numbers}", *map(str, decision.reasons)])
        cases.append((name, kinds.get(decision.verdict, ""), message))
    cases += [("fail-under", "failure", text) for text in map(str, report.floors)]
    return _suite(cases)


def junit_of_error(message: str) -> str:
    """Return a suite with the one error."""
    return _suite([("gate", "error", message)])


def _suite(cases: Sequence[tuple[str, str, str]]) -> str:
    counts = {kind: sum(case[1] == kind for case in cases) for kind in ("failure", "error", "skipped")}
    head = f'tests="{len(cases)}" failures="{counts["failure"]}" errors="{counts["error"]}"'
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    lines.append(f'<testsuite name="rageval gate" {head} skipped="{counts["skipped"]}">')
    for name, kind, message in cases:
        name, message = (quoteattr(re.sub(_NO_XML, "\ufffd", visible(text))) for text in (name, message))
        opened = f'<testcase classname="rageval.gate" name={name}'
        inside = f">\n<{kind} message={message}/>\n</testcase>" if kind else "/>"
        lines.append(opened + inside)
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"
