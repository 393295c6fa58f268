"""What a gate said, for those who read it elsewhere: a summary of a build or a pull request, a test report.

Ids, names of slices and of runs are others' text: in Markdown they stand as code, where nothing is a link, a
mention or mark-up, and in sentences a mark that nobody sees parts what would be a mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rageval.table import md_code, md_line
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.gate import Decision, GateReport

_ROOM = 60_000  # characters; GitHub refuses 65,536
_LONGEST = 120  # of a name
_JOINER = "\u2060"
_NO_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_SIGNS = {"ship": "✅ ship", "block": "❌ block", "inconclusive": "⚠️ inconclusive", "informs": "informs"}


def markdown(report: GateReport) -> str:
    """Return one table, what blocks, what fell, what was compared, and how."""
    lines = [f"### rageval gate: {_SIGNS[report.verdict]}", ""]
    lines += _table(report.overall)
    slices = [each for each in report.decisions if each.field]
    if slices:
        blocking = [each for each in slices if each.verdict == "block"]
        inform = sum(each.verdict == "informs" for each in slices)
        lines += ["", f"{len(slices):,} slices, {len(blocking):,} block, {inform:,} only inform."]
        lines += ["", *_table(blocking)] if blocking else []
    said = [f"- {_sentence(text)}" for text in report.sentences()]
    lines += ["", *said] if said else []
    if report.fell:
        lines += ["", "Fell most:", "", "| question | measure | baseline | candidate |", "|---|---|--:|--:|"]
        lines += [
            f"| {_cell(each.query_id)} | {_cell(each.measure)} | {each.baseline:.4f} | {each.candidate:.4f} |"
            for each in report.fell
        ]
    counts = ", ".join(f"{number:,} {name}" for name, number in report.counts.items() if number)
    lines += ["", f"Questions: {counts}. {_code(report.candidate)} against {_code(report.baseline)}."]
    lines += ["", *map(_code, [report.signature, *dict.fromkeys(report.signatures.values())])]
    return "\n".join(_within(lines)) + "\n"


def markdown_of_error(message: str) -> str:
    """Return what kept the gate from saying anything."""
    lines = ["### rageval gate: ❌ error, nothing was gated", "", *map(_sentence, message.split("\n"))]
    return "\n".join(_within(lines)) + "\n"


def _table(decisions: Sequence[Decision]) -> Iterator[str]:
    yield "| measure | baseline → candidate | difference [low, high] | verdict | needed |"
    yield "|---|--:|--:|---|--:|"
    for each in decisions:
        name = _cell(each.measure) + (f", {_cell(each.place)}" if each.field else "")
        difference = f"{each.difference:+.4f} [{each.low:+.4f}, {each.high:+.4f}]"
        values = f"{each.baseline:.4f} → {each.candidate:.4f}"
        yield f"| {name} | {values} | {difference} | {_SIGNS[each.verdict]} | {each.wanted} |"


def _cell(text: str) -> str:
    """Return a name as a cell of a table, where a bar would be the next cell's, even in code."""
    found = _code(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
    return found.replace("|", r"\|") if found.startswith("`") else found


def _code(text: str) -> str:
    found = md_code(text[:2000])
    return found if found.startswith("`") else _apart(found)


def _sentence(text: str) -> str:
    return _apart(md_line(text[:2000]))


def _apart(text: str) -> str:
    return re.sub("([@#])(?=\\w)", rf"\1{_JOINER}", text)


def _within(lines: Sequence[str]) -> Iterator[str]:
    """Yield as many lines as there is room for, and how many there would be."""
    room = _ROOM - 100
    for at, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            yield ""
            yield f"… {len(lines) - at:,} lines more"
            return
        yield line


def junit(report: GateReport) -> str:
    """Return a suite with a case for each measure and slice: a block is a failure, a doubt is skipped."""
    cases = [_case(each) for each in report.decisions]
    cases += [("fail-under", "failure", text) for text in report.floors]
    return _suite(cases)


def junit_of_error(message: str) -> str:
    """Return a suite with the one error."""
    return _suite([("gate", "error", message)])


def _case(each: Decision) -> tuple[str, str, str]:
    name = f"{each.measure} [{each.place}]" if each.field else each.measure
    numbers = f"{each.difference:+.4f} [{each.low:+.4f}, {each.high:+.4f}], margin {each.margin:g}"
    said = f"{each.verdict}: {numbers}" + (f"; {each.why}" if each.why else "")
    kinds = {"block": "failure", "inconclusive": "skipped", "informs": "skipped"}
    return name, kinds.get(each.verdict, ""), said


def _suite(cases: Sequence[tuple[str, str, str]]) -> str:
    counts = {kind: sum(case[1] == kind for case in cases) for kind in ("failure", "error", "skipped")}
    head = f'tests="{len(cases)}" failures="{counts["failure"]}" errors="{counts["error"]}"'
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    lines.append(f'<testsuite name="rageval gate" {head} skipped="{counts["skipped"]}">')
    for name, kind, said in cases:
        opened = f'<testcase classname="rageval.gate" name={_attribute(name)}'
        inside = f">\n<{kind} message={_attribute(said)}/>\n</testcase>" if kind else "/>"
        lines.append(opened + inside)
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr

    return quoteattr(re.sub(_NO_XML, "\ufffd", visible(text)))
