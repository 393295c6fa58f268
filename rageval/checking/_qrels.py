"""What is suspicious in qrels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rageval.checking._rows import DiagnosedRows, Lines, together
from rageval.checking.findings import ERROR, WARNING, Finding, Known, in_query, named, once
from rageval.files.trec import QRELS, Reading

_PLAIN = ({"0"}, {"Q0"})  # what plain qrels have in place of a nugget
_SHOWN = 10


class _NuggetRows:
    """The judgements of a nugget: the grade of each document, and where it stands."""

    def __init__(self) -> None:
        self.grades: dict[bytes, int] = {}
        self.rows: list[tuple[Lines, Sequence[bytes]]] = []  # whose lines nobody has asked for yet
        self._lines: dict[bytes, int] = {}

    def line_of(self, doc: bytes) -> int:
        """Return the line in which a document was first judged."""
        for lines, docs in self.rows:
            for line, name in zip(lines, docs, strict=True):
                self._lines.setdefault(name, line)
        self.rows.clear()
        return self._lines[doc]


class _JudgedQueries:
    """What is remembered of judgements whose rows pass."""

    def __init__(self, source: str) -> None:
        self.known = Known(source, "qrels")
        self.nuggets: dict[tuple[str, str], _NuggetRows] = {}
        self.again: dict[str, int] = {}
        self.conflicts: list[Finding] = []
        self.negative: dict[bytes, int] = {}

    def add(self, key: tuple[str, str], lines: Lines, docs: Sequence[bytes], grades: Sequence[int]) -> None:
        """Take rows of one nugget that stand together."""
        found = self.nuggets.setdefault(key, _NuggetRows())
        found.rows.append((lines, docs))
        fresh = dict(zip(docs, grades, strict=True))
        if len(fresh) < len(docs) or not found.grades.keys().isdisjoint(fresh):
            self._add_some(key, found, zip(lines, docs, grades, strict=True))
        else:
            found.grades.update(fresh)
            if min(grades) < 0:
                rows = zip(lines, docs, grades, strict=True)
                self.negative |= {doc: line for line, doc, grade in rows if grade < 0}
        known = self.known
        known.queries.setdefault(key[0], lines[0])
        known.nuggets.setdefault(key, lines[0])
        of_query = known.docs.setdefault(key[0], {})
        for doc, line in zip(docs, lines, strict=True):
            if doc not in of_query:
                of_query[doc] = line

    def _add_some(
        self, key: tuple[str, str], found: _NuggetRows, rows: Iterable[tuple[int, bytes, int]]
    ) -> None:
        """Take rows of which some were there before."""
        for line, doc, grade in rows:
            first = found.grades.setdefault(doc, grade)
            before = found.line_of(doc)
            if before == line:
                if grade < 0:
                    self.negative[doc] = line
            elif first == grade:
                self.again.setdefault(f"{key[0]} {key[1]} {doc.decode()}", line)
            else:
                self.conflicts.append(self._conflict(key, line, doc, grade, first, before))

    def _conflict(
        self, key: tuple[str, str], line: int, doc: bytes, grade: int, first: int, before: int
    ) -> Finding:
        message = (
            f"grade {grade} for document {named(doc.decode())}, nugget {named(key[1])} of query"
            f" {named(key[0])}, which has {first} in line {before}"
        )
        return Finding(line, ERROR, message, _CONFLICT, self.known.source)


def diagnose_qrels(path: str, reading: Reading) -> tuple[list[Finding], Known]:
    """Return the findings of judgements of documents, and what they hold."""
    rows = DiagnosedRows(path, QRELS, reading)
    qrels = _JudgedQueries(rows.source)
    for lines, (queries, nuggets, docs, grades) in rows:
        for (query, nugget), part in together(zip(queries, nuggets, strict=True)):
            qrels.add((query.decode(), nugget.decode()), lines[part], docs[part], grades[part])
    effect = "nothing: equal rows count once"
    negative = {doc.decode(): line for doc, line in qrels.negative.items()}
    below = "they count as judged and not relevant; ndeval refuses grades below -1"
    findings = [
        *rows.findings,
        *qrels.conflicts[:_SHOWN],
        *once(rows.source, qrels.again, WARNING, "rows that are there twice: {n}, first {name}", effect),
        *_one_nugget(qrels.known),
        *_without_support(qrels.known, qrels.nuggets),
        *once(rows.source, negative, WARNING, "documents with a negative grade: {n}, first {name}", below),
    ]
    return findings, qrels.known


_CONFLICT = "refused; elsewhere the last row wins, and every measure changes with the order of lines"


def _one_nugget(known: Known) -> Iterator[Finding]:
    names = {nugget for _, nugget in known.nuggets}
    if not known.queries or len(known.nuggets) > len(known.queries):
        return
    if names in _PLAIN and not known.source.endswith(".nugget"):
        return
    message = "one nugget a query everywhere: these are probably plain qrels"
    effect = "coverage@k is success@k, and alpha_ndcg counts a document after the first as redundant"
    yield Finding(next(iter(known.queries.values())), WARNING, message, effect, known.source)


def _without_support(known: Known, nuggets: dict[tuple[str, str], _NuggetRows]) -> Iterator[Finding]:
    supported = {key for key, found in nuggets.items() if max(found.grades.values()) > 0}
    answered = {query for query, _ in supported}
    nowhere = {query: line for query, line in known.queries.items() if query not in answered}
    effect = "every measure is 0 there, and the query counts (--zero-rel skip leaves it out)"
    yield from once(
        known.source, nowhere, WARNING, "queries without a relevant document: {n}, first {name}", effect
    )
    open_ = {
        in_query(nugget, query): line
        for (query, nugget), line in known.nuggets.items()
        if query in answered and (query, nugget) not in supported
    }
    effect = "coverage cannot reach 1 there (coverage(denominator=attainable) can); alpha_ndcg is as before"
    yield from once(
        known.source, open_, WARNING, "nuggets that no document supports: {n}, first {name}", effect
    )
