"""What is suspicious in judgements of answers, in nuggets (assigned to answers, or not yet), and in qrels.

Failures, prompts that changed, judges and banks that differ; grades, counts and ids that can't be meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rageval.checking._rows import DiagnosedRows, Known, Lines, in_query, named, once, refusals, together
from rageval.checking.findings import ERROR, WARNING, Finding
from rageval.errors import InputError
from rageval.files.foreign_judgements import read_judged
from rageval.files.jsonl import read_records
from rageval.files.judgements import EXPECTED, EXPECTED_ASSIGNMENT, Assignment, JudgementLine, JudgementTable
from rageval.files.kinds import start_of_file, told_by
from rageval.files.nuggets import SCORED, NuggetBank, left_out, numbered_banks
from rageval.files.trec import QRELS, Reading
from rageval.measures.scales import ALL, RUBRICS
from rageval.records import Nugget
from rageval.scoring.assessing import on

_GRADED = ("ok", "repaired")
_OF_NUGGETS = ("nugget-assignment", "lexical")
_JudgedLines = list[tuple[int, JudgementLine]]


def diagnose_judgements(path: str) -> tuple[list[Finding], Known]:
    """Return the findings of judgements, and what they hold."""
    lines: _JudgedLines = list(_lines(path))
    known = Known(path, "judgements")
    for line, said in lines:
        known.queries.setdefault(str(said.query_id), line)
        if _is_of_nuggets(said):
            known.nuggets.setdefault((str(said.query_id), str(said.aspect)), line)
    findings = [
        *_unscored(path),
        *_twice(path, lines),
        *_failed(path, lines),
        *_versions(path, lines),
        *_judges(path, lines),
        *_banks(path, lines),
    ]
    return findings, known


def _unscored(path: str) -> Iterator[Finding]:
    """Yield what scoring says of a file that it refuses; what was judged twice is told by itself."""
    table, errors = JudgementTable(path), list[InputError]()
    try:
        table.add_file(path)
        table.finish()
    except InputError as error:
        errors = [] if "was judged before" in str(error) else [error]
    else:
        labels = set(table.labels())
        for scale in ALL:
            # Rows without a rubric are of the scale that knows all their labels.
            is_named = table.rubrics() & set(scale.rubrics)
            if is_named or (not table.rubrics() & RUBRICS and labels and labels <= scale.labels.keys()):
                try:
                    on(table, scale)
                except InputError as error:
                    errors.append(error)
                    break
    for refused in errors:
        for line, text in refusals(refused, path):
            effect = "nothing is scored: the file is refused"
            yield Finding(1 if line is None else line, ERROR, text.removeprefix(f"{path}: "), effect, path)


def _lines(path: str) -> Iterator[tuple[int, JudgementLine]]:
    """Yield judgements, ours or another tool's, with their lines."""
    start = start_of_file(path)
    kind = told_by(start)
    if kind is None or kind.name != "judged":
        yield from read_records(path, JudgementLine, EXPECTED)
        return
    for numbers, judged in read_judged(path, start.text):
        yield from zip(numbers, (JudgementLine(**row) for row in judged.rows), strict=True)


def _is_of_nuggets(said: JudgementLine) -> bool:
    return _rubric(said)[0] in _OF_NUGGETS and said.item_id == "answer"


def _rubric(said: JudgementLine) -> tuple[str, str]:
    """(name, version) of a judgement's rubric."""
    name, _, version = said.rubric.partition("@")
    return name, version


def _twice(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    first: dict[tuple[Any, ...], int] = {}
    again: dict[str, int] = {}
    for line, said in lines:
        key = (said.query_id, said.run_id, said.repeat, said.judge, said.item_id, said.aspect)
        if first.setdefault(key, line) != line:
            again.setdefault(in_query(str(said.run_id), str(said.query_id)), line)
    yield from once(path, again, ERROR, "answers judged twice by a judge: {n}, first {name}", "refused")


def _failed(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    failed = [(str(said.query_id), line) for line, said in lines if said.status not in _GRADED]
    counts = Counter(said.status for _, said in lines if said.status not in _GRADED)
    kinds = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
    yield from once(
        path, failed, WARNING, f"failed judgements ({kinds}): {{n}}, first of query {{name}}", FAILED
    )


def _versions(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Rubrics that come in several versions, or in another one than is installed."""
    versions: dict[str, dict[str, int]] = {}
    for line, said in lines:
        name, version = _rubric(said)
        if version:
            versions.setdefault(name, {}).setdefault(version, line)
    for name, found in versions.items():
        # The first version is the one that the others are further to.
        others = list(found.items())[1:]
        message = f"further versions of the rubric {named(name)}: {{n}}, first {{name}}"
        effect = "other prompts give other grades: a mean over both is of neither"
        yield from once(path, others, WARNING, message, effect)
        ours = _digests(name)
        # Only of rubrics that are installed here can be said that it is another version.
        if ours and not ours & set(found):
            version, line = next(iter(found.items()))
            installed = " or ".join(sorted(ours))
            message = f"judged by version {version} of the rubric {named(name)}, here it is {installed}"
            effect = "what is judged anew is not comparable with it; frozen: does not find it"
            yield Finding(line, WARNING, message, effect, path)


def _digests(name: str) -> set[str]:
    """Return the versions of the installed rubrics whose judgements bear this name."""
    from rageval.judges.rubric import rubric_named, rubric_names

    rubrics = [rubric_named(known) for known in rubric_names()]
    return {rubric.digest for rubric in rubrics if rubric.judged_as == name}


def _judges(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Systems that were judged by others than the first one."""
    judges: dict[str, set[str]] = {}
    lines_of: dict[str, int] = {}
    for line, said in lines:
        judges.setdefault(str(said.run_id), set()).add(said.judge)
        lines_of.setdefault(str(said.run_id), line)
    if not judges:
        return
    first, by = next(iter(judges.items()))
    # As sets: several judges of each answer are fine as long as every system had the same ones.
    places = {run: lines_of[run] for run, found in judges.items() if found != by}
    message = f"systems judged by others than {named(first)}: {{n}}, first {{name}}"
    effect = "the difference between two systems may be that between two judges"
    yield from once(path, places, WARNING, message, effect)


def _banks(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Answers to one question that were judged on other nuggets, or not at all."""
    banks: dict[str, dict[str, set[str]]] = {}
    answered: dict[str, dict[str, int]] = {}
    for line, said in lines:
        run, query = str(said.run_id), str(said.query_id)
        answered.setdefault(run, {}).setdefault(query, line)
        if _is_of_nuggets(said):
            banks.setdefault(query, {}).setdefault(run, set()).add(str(said.aspect))
    different = {
        # The place shown is the first answer whose bank is not that of the first system.
        query: answered[next(run for run, bank in of_run.items() if bank != next(iter(of_run.values())))][
            query
        ]
        for query, of_run in banks.items()
        if any(bank != next(iter(of_run.values())) for bank in of_run.values())
    }
    yield from once(path, different, WARNING, "queries whose nugget banks differ: {n}, first {name}", BANKS)
    everything = {query for found in answered.values() for query in found}
    # Two systems that each lack another query have the same number and are both short of the whole.
    fewer = {run: min(found.values()) for run, found in answered.items() if len(found) < len(everything)}
    effect = "what others have and it lacks is a missing judgement: scoring wants --on-missing"
    yield from once(path, fewer, WARNING, "systems judged on fewer queries: {n}, first {name}", effect)


_Listed = Iterable[tuple[int, Sequence[Nugget]]]


def diagnose_nuggets(path: str) -> tuple[list[Finding], Known]:
    """Return the findings of a file of nuggets, and what it holds."""
    banks = list(numbered_banks(path))
    lines = [(line, bank.nuggets) for line, bank in banks]
    known = Known(path, "nuggets")
    for line, nuggets in lines:
        for nugget in nuggets:
            known.queries.setdefault(nugget.query_id, line)
            known.nuggets.setdefault((nugget.query_id, nugget.nugget_id), line)
            known.texts[nugget.query_id, nugget.nugget_id] = nugget.text
    findings = [*_of_lists(path, lines), *_of_importance(path, lines), *_of_banks(path, banks)]
    return findings, known


def _of_banks(path: str, banks: Sequence[tuple[int, NuggetBank]]) -> Iterator[Finding]:
    """Yield what the rules of v3 leave out, and what cannot be scored."""
    if (said := left_out(bank for _, bank in banks)) is not None:
        line = next(line for line, bank in banks if bank.unsupported)
        yield Finding(line, WARNING, said, "no measure asks for them", path)
    unscored = {
        in_query(nugget.nugget_id, nugget.query_id): line
        for line, bank in banks
        for nugget in bank.nuggets
        if nugget.aggregator not in SCORED
    }
    effect = "scoring refuses these nuggets"
    yield from once(path, unscored, ERROR, "nuggets that say NOT or SUM: {n}, first {name}", effect)


def _of_lists(path: str, lines: _Listed) -> Iterator[Finding]:
    repeated: dict[str, int] = {}
    questions: dict[str, int] = {}
    empty: dict[str, int] = {}
    for line, nuggets in lines:
        seen: set[str] = set()
        for nugget in nuggets:
            # Case and blanks do not make a second nugget.
            text = " ".join(nugget.text.casefold().split())
            if not text:
                if not nugget.answers:  # rubrics were published without their questions
                    empty.setdefault(in_query(nugget.nugget_id, nugget.query_id), line)
            elif text in seen:
                repeated.setdefault(in_query(nugget.nugget_id, nugget.query_id), line)
            # A question with its answers is a nugget of the newer form; one without is a mistake of the
            # writer's.
            elif text.endswith("?") and not nugget.answers:
                questions.setdefault(in_query(nugget.nugget_id, nugget.query_id), line)
            seen.add(text)
        if not nuggets:
            empty.setdefault(f"line {line}", line)
    effect = "nugget_recall and coverage count what it says twice"
    yield from once(
        path, repeated, WARNING, "nuggets that repeat one of their query: {n}, first {name}", effect
    )
    effect = "no answer can hold a question: nugget_recall is too low"
    yield from once(path, questions, WARNING, "nuggets that are questions: {n}, first {name}", effect)
    effect = "nugget_recall is undefined where there is no nugget, and meaningless where one says nothing"
    yield from once(path, empty, WARNING, "empty nuggets or lists: {n}, first {name}", effect)


def _of_importance(path: str, lines: _Listed) -> Iterator[Finding]:
    """Where some nuggets are rated, those that are not, and queries that have no vital one."""
    rated = {nugget.importance for _, nuggets in lines for nugget in nuggets}
    # Where no nugget is rated nobody meant to, and nothing is missing.
    if not rated & {"vital", "okay"}:
        return
    unrated: dict[str, int] = {}
    without: dict[str, int] = {}
    for line, nuggets in lines:
        for nugget in nuggets:
            if nugget.importance is None and nugget.weight is None:
                unrated.setdefault(in_query(nugget.nugget_id, nugget.query_id), line)
        if nuggets and not any(nugget.importance == "vital" for nugget in nuggets):
            without.setdefault(nuggets[0].query_id, line)
    effect = "v_strict and w leave them out: rating them failed"
    yield from once(path, unrated, WARNING, "nuggets without an importance: {n}, first {name}", effect)
    effect = "v_strict and v are undefined there, and their means are over fewer queries"
    yield from once(path, without, WARNING, "queries without a vital nugget: {n}, first {name}", effect)


def diagnose_assignments(path: str) -> tuple[list[Finding], Known]:
    """Return the findings of AutoNuggetizer's assignments, and what they hold."""
    known = Known(path, "assignments")
    banks: dict[str, tuple[str, frozenset[str]]] = {}
    different: dict[str, int] = {}
    failed: dict[str, int] = {}
    for line, answer in read_records(path, Assignment, EXPECTED_ASSIGNMENT):
        query, texts = str(answer.qid), frozenset(nugget.text for nugget in answer.nuggets)
        known.queries.setdefault(query, line)
        for text in texts:
            known.nuggets.setdefault((query, text), line)
        # Nuggets are held against those of the first answer to the query, as texts: their order may differ.
        run, first = banks.setdefault(query, (str(answer.run_id), texts))
        if first != texts:
            different.setdefault(f"{query}' (runs '{run}' and '{answer.run_id}", line)
        if any(nugget.assignment == "failed" for nugget in answer.nuggets):
            failed.setdefault(query, line)
    findings = [
        *once(
            path, different, WARNING, "answers with another nugget bank: {n}, first to query {name}", BANKS
        ),
        *once(path, failed, WARNING, "queries with failed assignments: {n}, first {name}", FAILED),
    ]
    return findings, known


BANKS = "nugget_recall divides by other nuggets: these systems cannot be compared"
FAILED = "they are missing: scoring wants --on-missing, and says between what values the measure lies"


def different_banks(one: Known, other: Known) -> Iterator[Finding]:
    """Two files that have other nuggets for the same query."""
    texts: list[dict[str, set[Any]]] = []
    for known in (one, other):
        found: dict[str, set[Any]] = {}
        for (query, nugget), _ in known.nuggets.items():
            found.setdefault(query, set()).add(known.texts.get((query, nugget), nugget))
        texts.append(found)
    places = {
        query: other.queries[query]
        for query in texts[1]
        if query in texts[0] and texts[0][query] != texts[1][query]
    }
    message = f"queries with other nuggets than {named(one.source)}: {{n}}, first {{name}}"
    yield from once(other.source, places, WARNING, message, BANKS)


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
