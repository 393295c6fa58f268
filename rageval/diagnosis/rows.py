"""The rows of a run or of qrels, one by one: those that cannot be read are findings, and the others go on."""

from __future__ import annotations

from collections.abc import Iterator

from rageval.diagnosis.findings import ERROR, WARNING, Finding, once
from rageval.files.lines import Kind, is_tabbed, problem_in, spans_of
from rageval.files.opening import name_of
from rageval.files.trec import Reading
from rageval.validation.validating import numbered_lines

_SHOWN = 10
Row = tuple[int, list[str]]


class Rows:
    """Reads a file; after iterating, `findings` holds what is wrong with its lines and ids."""

    def __init__(self, source: str, kind: Kind, reading: Reading) -> None:
        self.source, self.kind, self.reading = name_of(source), kind, reading
        self.findings: list[Finding] = []
        self._path = source

    def __iter__(self) -> Iterator[Row]:
        tabbed: bool | None = None
        bad = 0
        spaced: dict[str, int] = {}
        for number, ended in numbered_lines(self._path, self.reading.limits, "lines of columns"):
            line = ended.removesuffix(b"\r")
            if not line.strip() or (self.reading.comments == "skip" and line.startswith(b"#")):
                continue
            tabbed = is_tabbed(line, self.kind.width) if tabbed is None else tabbed
            spans = spans_of(line, self.kind, tabbed)
            problem = problem_in(line, spans, self.kind, self.reading.comments, self.reading.limits)
            if problem:
                bad += 1
                if bad <= _SHOWN:
                    effect = "nothing is scored: rageval refuses the file, others read other columns"
                    self.findings.append(Finding(self.source, number, ERROR, problem, effect))
                continue
            row = [line[start:end].decode() for start, end in spans]
            for at in self.kind.ids:
                if " " in row[at]:
                    spaced.setdefault(row[at], number)
            yield number, row
        if bad > _SHOWN:
            more = f"… and {bad - _SHOWN:,} more such lines"
            self.findings.append(Finding(self.source, 1, ERROR, more, "nothing is scored"))
        self.findings += once(
            self.source,
            spaced,
            WARNING,
            "ids with a space: {n}, first {name}",
            "rageval parts columns at tabs here; trec_eval and ir_measures part them at the space, and every"
            " measure is of other documents",
        )
