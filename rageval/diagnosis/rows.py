"""The rows of a run or of qrels: those that cannot be read are findings, and the others go on."""

from __future__ import annotations

from collections.abc import Iterator

from rageval.diagnosis.findings import ERROR, WARNING, Finding, once
from rageval.files.lines import Kind
from rageval.files.opening import name_of
from rageval.files.trec import Reading
from rageval.validation import rows

_SHOWN = 10


class Rows:
    """Reads a file; after iterating, `findings` holds what is wrong with its lines and ids."""

    def __init__(self, source: str, kind: Kind, reading: Reading) -> None:
        self.source, self.kind = name_of(source), kind
        self.findings: list[Finding] = []
        self._rows = rows.Rows(source, kind, reading, "lines of columns")

    def __iter__(self) -> Iterator[rows.Stretch]:
        bad = 0
        spaced: dict[str, int] = {}
        for stretch in self._rows:
            if isinstance(stretch, rows.Problem):
                bad += 1
                if bad <= _SHOWN:
                    effect = "nothing is scored: rageval refuses the file, others read other columns"
                    self.findings.append(Finding(self.source, stretch.line, ERROR, stretch.text, effect))
                continue
            ids = [stretch.columns[at] for at in self.kind.ids]
            if any(b" " in b"".join(column) for column in ids):
                for line, *names in zip(stretch.lines, *ids, strict=True):
                    for name in names:
                        if b" " in name:
                            spaced.setdefault(name.decode(), line)
            yield stretch
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
