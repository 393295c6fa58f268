"""All findings of some files: what each is by its first line, of each by itself, and of all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, compress, count
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

from rageval.building import changed, read_pool
from rageval.checking.findings import ERROR, WARNING, Finding, error, warning
from rageval.checking.runs import (
    Last,
    Lines,
    Problem,
    Rows,
    Stretch,
    contradiction,
    falls,
    once_each,
    refusals,
    together,
)
from rageval.checking.steps import unstated_quantities
from rageval.checking.tracks import numbered_lines, row_of, track_named, validate_answers
from rageval.core.remark import Scope
from rageval.errors import InputError, Place
from rageval.files.answers import answer_forms, read_claims
from rageval.files.foreign_judgements import read_judged
from rageval.files.jsonl import read_forms, read_records
from rageval.files.judgements import (
    EXPECTED,
    EXPECTED_ASSIGNMENT,
    Assignment,
    JudgedTwice,
    JudgementLine,
    JudgementTable,
)
from rageval.files.judgements import GRADED as OF_WORTH
from rageval.files.kinds import kind_of, kind_of_start, start_of_file
from rageval.files.nuggets import SCORED, NuggetBank, nuggets_without_reference, numbered_banks
from rageval.files.opening import (
    as_local_file,
    is_columnar,
    name_of,
)
from rageval.files.questions import read_questions
from rageval.files.spans import read_chunks, read_spans
from rageval.files.start import RUNS as OF_RUNS
from rageval.files.steps import read_steps
from rageval.files.trec import (
    PLAIN,
    QRELS,
    RUN,
    LineForm,
    Reading,
)
from rageval.judges.material import passages_in
from rageval.judges.rubric import rubric_named, rubric_names
from rageval.logs.tables import ERROR_MESSAGE, read_table
from rageval.measures.scales import ALL as SCALES
from rageval.measures.scales import RUBRICS, SUPPORT
from rageval.names import near_misses, unlike
from rageval.records import Nugget
from rageval.scoring.assessments import on
from rageval.scoring.runs import documents_of
from rageval.scoring.sources import read_qrels, read_run
from rageval.text import is_error_message, visible

RUNS, JUDGED, CORPUS, TOPICS, NUGGETS = "run", "qrels", "corpus", "topics", "nuggets"
ANSWERS, JUDGEMENTS, ASSIGNMENTS = "answers", "judgements", "assignments"
POOL, MANIFEST = "pool", "manifest"
RANKED = "questions"  # of a run, as DRAGUN has them
SPANS, CHUNKS, CLAIMS, STEPS = "spans", "chunks", "claims", "steps"
TABLE = "table of answers"
RETRIEVED, GRADED = "retrieved", "graded"  # a run, and judgements of documents, that are no lines of columns
_NAMES = {
    "candidates": RETRIEVED,
    "scores": RETRIEVED,
    "judged": JUDGEMENTS,
    "asked": RANKED,
    "questions": TOPICS,
    "answer rows": TABLE,
    "log": TABLE,
}
_OF_COLUMNS = {"run": RETRIEVED, "qrels": GRADED, "answer rows": TABLE, "log": TABLE}  # in Parquet
_READABLE_KINDS = (
    *(RUNS, JUDGED, CORPUS, TOPICS, NUGGETS, ANSWERS, JUDGEMENTS, ASSIGNMENTS),
    *(TABLE, POOL, MANIFEST, RETRIEVED, GRADED, RANKED, SPANS, CHUNKS, CLAIMS, STEPS),
)
_CUTOFFS = (10, 20, 50)  # of FreshStack's three measures
_Line = int


@dataclass(slots=True)
class FileContents:
    """What a file holds, each thing with the line where it stands first.

    `docs` are the documents of each query of qrels; of a run `rows` are the lines and documents of each query
    and `ranked` its documents, best first, of which only `qrels_findings` are kept; `nuggets` are pairs of a
    query and a nugget, with `texts` where these are known.
    """

    source: str
    kind: str
    queries: dict[str, _Line] = field(default_factory=dict)
    documents: dict[str, _Line] = field(default_factory=dict)
    docs: dict[str, dict[bytes, _Line]] = field(default_factory=dict)
    rows: list[tuple[Lines, Sequence[bytes]]] = field(default_factory=list)
    ranked: dict[str, list[bytes]] = field(default_factory=dict)
    nuggets: dict[tuple[str, str], _Line] = field(default_factory=dict)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    qrels_findings: list[Finding] = field(default_factory=list)

    def every_document(self) -> dict[str, _Line]:
        """Return the documents whatever the query, which are many and seldom asked for."""
        # By line, so that the first of a document is found whichever query it was retrieved for.
        rows = [*self.rows, *((docs.values(), docs) for docs in self.docs.values())]
        lines = sorted(chain.from_iterable(zip(*stretch, strict=True) for stretch in rows))
        documents = dict(self.documents)
        for line, doc in lines:
            documents.setdefault(doc.decode("utf-8", "surrogatepass"), line)
        return documents


def once(
    code: str,
    level: str,
    source: str,
    places: Mapping[Any, _Line] | Iterable[tuple[Any, _Line]],
    names: tuple[str, ...] = ("query",),
    /,
    **facts: Any,
) -> Iterator[Finding]:
    """Yield one finding for everything of a kind: how many (`number`), and the first, at its line.

    `names` are the facts that the keys of the places are.

    >>> next(once("tied_queries", WARNING, "run", {"q2": 7, "q9": 8})).facts
    mappingproxy({'number': 2, 'query': 'q2'})
    """
    listed = list(places.items() if isinstance(places, Mapping) else places)
    if listed:
        key, line = listed[0]
        first = zip(names, key if isinstance(key, tuple) else (key,), strict=True)
        yield Finding(
            code, Scope(file=source, line=line), {"number": len(listed), **dict(first), **facts}, level
        )


def named(name: str) -> str:
    """Return an id as a message may show it."""
    return f"'{visible(name)[:80]}'"


_SHOWN = 10  # lines that cannot be read, and grades that contradict others


class DiagnosedRows:
    """Reads a file; after iterating, `findings` holds what is wrong with its lines and ids."""

    def __init__(self, source: str, kind: LineForm, reading: Reading) -> None:
        self.source, self.kind = name_of(source), kind
        self.findings: list[Finding] = []
        self._rows = Rows(source, kind, reading, "lines of columns")

    def __iter__(self) -> Iterator[Stretch]:
        bad = 0
        spaced: dict[str, int] = {}
        for stretch in self._rows:
            if isinstance(stretch, Problem):
                bad += 1
                # A file in a wrong form is wrong in every line; ten tell it.
                if bad <= _SHOWN:
                    rejected = error("rejected_line", stretch.line, reason=stretch.text)
                    self.findings.append(rejected.in_file(self.source))
                continue
            ids = [stretch.columns[index] for index in self.kind.ids]
            # One search in all ids together finds nothing, nearly always.
            if any(b" " in b"".join(column) for column in ids):
                for line, *names in zip(stretch.lines, *ids, strict=True):
                    for name in names:
                        if b" " in name:
                            spaced.setdefault(name.decode(), line)
            yield stretch
        if bad > _SHOWN:
            more = error("more_rejected_lines", 1, number=bad - _SHOWN)
            self.findings.append(more.in_file(self.source))
        self.findings += once("ids_with_space", WARNING, self.source, spaced, ("id",))


def diagnose(
    files: Sequence[tuple[Any, str | None]],
    cutoffs: Sequence[int] = _CUTOFFS,
    reading: Reading = PLAIN,
    unknown: list[str] | None = None,
) -> Iterator[Finding]:
    """Yield the findings of files, whose kinds are told by their first lines where they are not named.

    A file that nobody knows is a finding, too, and is added to `unknown`; if all are such, it is an error.
    """
    contents = []
    kinds, unrecognized = [], {}
    for path, kind in files:
        try:
            kinds.append((path, kind or _kind_of_file(path, reading)))
        except InputError as error:
            unrecognized[path] = error
    # Only then an error: one file that nobody knows shall not hide what is wrong with the others.
    if not kinds:
        raise InputError.joined(list(unrecognized.values()))
    for path, refused in unrecognized.items():
        yield from _refusal_findings("unknown_file", path, refused)
        if unknown is not None:
            unknown.append(path)
    # Runs last: beside what is known already each can be looked at when it is read, and need not be kept.
    are_runs = [kind in (RUNS, RETRIEVED, STEPS) for _, kind in kinds]
    ahead = {
        index: _findings_of(path, kind, cutoffs, reading)
        for index, (path, kind) in enumerate(kinds)
        if not are_runs[index]
    }
    others = [holds for _, holds in ahead.values() if holds is not None]
    for index, (path, kind) in enumerate(kinds):
        findings, holds = ahead[index] if index in ahead else _findings_of(path, kind, cutoffs, reading)
        yield from findings
        if holds is not None and are_runs[index]:
            judged = (other for other in others if other.kind == JUDGED)
            holds.qrels_findings = [finding for qrels in judged for finding in _run_and_qrels(holds, qrels)]
            holds.ranked = {}
            if not any(other.kind == CORPUS for other in others):
                holds.rows = []
        if holds is not None:
            contents.append(holds)
    yield from _diagnose_together(contents)


def _findings_of(
    path: str, kind: str, cutoffs: Sequence[int], reading: Reading
) -> tuple[list[Finding], FileContents | None]:
    """Return the findings of a file, and what it holds, unless it is refused."""
    by_path = {
        NUGGETS: diagnose_nuggets,
        ASSIGNMENTS: diagnose_assignments,
        ANSWERS: diagnose_answers,
        TABLE: diagnose_table,
        JUDGEMENTS: diagnose_judgements,
        RANKED: diagnose_questions,
    }
    try:
        if kind == RUNS:
            findings, holds = diagnose_run(path, cutoffs, reading)
        elif kind == JUDGED:
            findings, holds = diagnose_qrels(path, reading)
        elif kind in by_path:
            findings, holds = by_path[kind](path)
        else:
            findings, holds = _read_reference(path, kind, reading)
    except InputError as error:
        return list(_refusal_findings("refused_file", path, error)), None
    # Each check walks the file by itself; a person reads it from the top.
    return sorted(findings, key=lambda finding: finding.line), holds


def _read_reference(path: Any, kind: str, reading: Reading) -> tuple[list[Finding], FileContents]:
    """Read what others are compared with: topics, a corpus, a pool or a manifest."""
    contents = FileContents(name_of(path), kind)
    if kind == RETRIEVED:
        contents = FileContents(path, RUNS)
        for query, docs in documents_of(read_run(path, reading=reading).queries):
            contents.queries[query] = 1
            contents.ranked[query] = [doc.encode("utf-8", "surrogatepass") for doc in docs]
            contents.rows.append(([1] * len(docs), contents.ranked[query]))
        return [], contents
    if kind == GRADED:
        contents = FileContents(path, JUDGED)
        for row in read_qrels(path, reading=reading):
            contents.queries.setdefault(row.query_id, 1)
            contents.nuggets.setdefault((row.query_id, row.iteration), 1)
            contents.docs.setdefault(row.query_id, {}).setdefault(
                row.doc_id.encode("utf-8", "surrogatepass"), 1
            )
        return [], contents
    if kind == SPANS:
        spans = read_spans(path).spans
        contents.queries = dict.fromkeys((span.query_id for span in spans), 1)
        contents.nuggets = {(span.query_id, span.nugget_id): 1 for span in spans}
        wide = [((span.nugget_id, span.query_id), 1) for span in spans if span.wide]
        return list(once("unlocated_spans", WARNING, path, wide, ("nugget", "query"))), contents
    if kind == CHUNKS:  # the documents of runs over them, whose texts lie in the sources
        documents = {chunk.chunk_id: 1 for chunk in read_chunks(path)}
        return [], FileContents(name_of(path), CORPUS, documents=documents)
    if kind == STEPS:
        contents = FileContents(path, RUNS)
        trajectories = read_steps(path)
        for trajectory in trajectories:
            contents.queries.setdefault(trajectory.query_id, 1)
            ranked = contents.ranked.setdefault(trajectory.query_id, [])
            seen = (doc.encode("utf-8", "surrogatepass") for step in trajectory.steps for doc in step.docs)
            ranked += [doc for doc in dict.fromkeys(seen) if doc not in ranked]  # which any system saw
        contents.rows = [([1] * len(docs), docs) for docs in contents.ranked.values()]
        return [finding.in_file(path) for finding in unstated_quantities(trajectories)], contents
    if kind == TOPICS:
        contents.queries = {question.query_id: 1 for question in read_questions(path)}
    elif kind == CORPUS:
        contents.documents = {doc: 1 for doc, _ in passages_in(path)}
    elif kind == CLAIMS:
        contents.queries = {claim.query_id: 1 for claim in read_claims(path)}
    elif kind == POOL:
        pool = read_pool(path)
        contents.queries = dict.fromkeys(pool, 1)
        contents.documents = {doc: 1 for docs in pool.values() for doc in docs}
    else:
        names = changed(Path(path))
        return [error("changed_file", 1, name=name).in_file(path) for name in names], contents
    return [], contents


def _refusal_findings(code: str, path: str, refused: InputError) -> Iterator[Finding]:
    """Yield what a reader says of a file that it cannot read, as findings."""
    for line, reason in refusals(refused, path):
        yield error(code, 1 if line is None else line, reason=reason).in_file(path)


def _kind_of_file(path: str, reading: Reading = PLAIN) -> str:
    """Return the kind of a file; `InputError` if it is none that is known here."""
    file = as_local_file(path)
    kind = kind_of(file, reading)
    names = _OF_COLUMNS if is_columnar(file) else _NAMES
    is_graded = kind is not None and kind.rows is not None and kind.holds != OF_RUNS
    name = None if kind is None else GRADED if is_graded else names.get(kind.name, kind.name)
    if name is None or name not in _READABLE_KINDS:
        holds = "cannot tell what this is" if kind is None else f"holds {kind.description}"
        hint = f"to import a table of answers: rageval import {path} -o DIR" if name == "table" else ""
        raise InputError(
            at=Place(path, 1),
            problem=holds,
            expected="a run, steps, qrels, spans, nuggets, answers, judgements, claims, topics (--topics"
            " FILE), chunks or a corpus (--corpus FILE)",
            remedy=hint,
        )
    return name


_HOLES_FROM, _TOP = 0.2, 10  # the share of the top that is worth a word
_BANKS = ("nuggets", "judgements", "assignments")
# What topics are compared with.
_ASKED = (RUNS, JUDGED, SPANS, ANSWERS, JUDGEMENTS, ASSIGNMENTS, NUGGETS, RANKED, POOL)


def _diagnose_together(files: list[FileContents]) -> Iterator[Finding]:
    """Yield the findings of all files beside one another."""
    by_kind: dict[str, list[FileContents]] = {}
    for file in files:
        by_kind.setdefault(file.kind, []).append(file)
    for topics in by_kind.get("topics", ()):
        for file in files:
            if file.kind in _ASKED:
                yield from _queries_not_in(topics, file)
    for corpus in by_kind.get("corpus", ()):
        for file in files:
            if file is not corpus and file.kind != "topics" and (documents := file.every_document()):
                lost = {doc: line for doc, line in documents.items() if doc not in corpus.documents}
                yield from once(
                    "documents_not_in_file",
                    ERROR if len(lost) == len(documents) else WARNING,
                    file.source,
                    lost,
                    ("document",),
                    total=len(documents),
                    other=corpus.source,
                    hint=near_misses(lost, corpus.documents) if lost else "",
                )
    for run in by_kind.get("run", ()):
        yield from run.qrels_findings
    for nuggets in by_kind.get("nuggets", ()):
        for qrels in by_kind.get("qrels", ()):
            unknown = {(name, query): line for (query, name), line in qrels.nuggets.items()
                       if (query, name) not in nuggets.nuggets}  # fmt: skip
            unjudged = {(name, query): line for (query, name), line in nuggets.nuggets.items()
                        if (query, name) not in qrels.nuggets}  # fmt: skip
            names, bank, judged = ("nugget", "query"), nuggets.source, qrels.source
            yield from once("nuggets_not_in_file", WARNING, judged, unknown, names, other=bank)
            yield from once("nuggets_without_judgement", WARNING, bank, unjudged, names, other=judged)
    for kind in _BANKS:
        for file, other in combinations(by_kind.get(kind, ()), 2):
            yield from different_banks(file, other)


def _queries_not_in(other: FileContents, one: FileContents) -> Iterator[Finding]:
    """Yield the queries of one file that another one, which should know them, does not have."""
    lost = {query: line for query, line in one.queries.items() if query not in other.queries}
    # All ids strange: two files that do not belong together, or ids written in two ways. Some: mostly a
    # typing slip.
    yield from once(
        "queries_not_in_file",
        ERROR if len(lost) == len(one.queries) else WARNING,
        one.source,
        lost,
        total=len(one.queries),
        other=other.source,
        hint=near_misses(lost, other.queries) if lost else "",
        kind=one.kind,
        other_kind=other.kind,
    )


def _run_and_qrels(run: FileContents, qrels: FileContents) -> Iterator[Finding]:
    yield from _queries_not_in(qrels, run)
    # Said already; everything further would repeat it.
    if not run.queries.keys() & qrels.queries.keys():
        return
    lacking = {query: line for query, line in qrels.queries.items() if query not in run.queries}
    yield from once("queries_not_in_run", WARNING, qrels.source, lacking, other=run.source)
    ranked = {query: docs for query, docs in run.ranked.items() if query in qrels.queries}
    # Where no document is judged, what their ids differ by is all that there is to say.
    if ranked and all(qrels.docs[query].keys().isdisjoint(docs) for query, docs in ranked.items()):
        ours, theirs = (
            {
                query: [doc.decode("utf-8", "surrogatepass") for doc in docs_of_queries[query]]
                for query in ranked
            }
            for docs_of_queries in (ranked, qrels.docs)
        )
        retrieved = sum(map(len, ranked.values()))
        yield error(
            "no_judged_document",
            run.queries[next(iter(ranked))],
            reason=unlike(named(run.source), retrieved, ours, theirs),
        ).in_file(run.source)
        return
    top = {query: docs[:_TOP] for query, docs in ranked.items()}
    open_ = {query: len(set(docs).difference(qrels.docs[query])) for query, docs in top.items()}
    holes = {query: run.queries[query] for query, number in open_.items() if number}
    unjudged = sum(open_.values())
    share = unjudged / max(1, sum(map(len, top.values())))
    if share >= _HOLES_FROM:
        yield from once("unjudged_documents_in_top", WARNING, run.source, holes, share=share, depth=_TOP)


class _Ranking(NamedTuple):
    """Documents, best first, and the places of those whose scores are equal to those above them."""

    docs: list[bytes]
    ties: list[int]


@dataclass(slots=True)
class _RankedQuery:
    """The rows of a query, documents ranked twice left out: lines, documents and scores."""

    scores: list[float] = field(default_factory=list)
    last: Last = None
    conflict: int | None = None
    _together: tuple[Lines, Sequence[bytes]] | None = None  # lines and documents, mostly as they stand
    _first_lines: dict[bytes, int] = field(default_factory=dict)  # or the line of each document

    @property
    def rows(self) -> tuple[Lines, Sequence[bytes]]:
        """The lines, and the document in each."""
        return self._together or (list(self._first_lines.values()), list(self._first_lines))

    def add(
        self, lines: Lines, docs: Sequence[bytes], ranks: Sequence[bytes], scores: Sequence[float]
    ) -> list[tuple[bytes, int]]:
        """Take rows that stand together; return the documents that are there again, and where."""
        repeats: list[tuple[bytes, int]] = []
        if not self.scores and len(set(docs)) == len(docs):
            self._together = lines, docs
        else:
            if self._together is not None:
                self._first_lines.update(zip(*reversed(self._together), strict=True))
                self._together = None
            (lines, docs, ranks, scores), repeats = once_each(self._first_lines, lines, docs, ranks, scores)
        self.scores.extend(scores)
        if docs:
            conflict, self.last = contradiction(self.last, lines, ranks, scores)
            self.conflict = self.conflict or conflict
        return repeats

    @property
    def first(self) -> int:
        """The line of its first row."""
        return self.rows[0][0]

    def line_of(self, doc: bytes) -> int:
        """Return the line of a document."""
        lines, docs = self.rows
        return lines[docs.index(doc)]

    def ranked(self) -> _Ranking:
        """Return the documents, best first."""
        scores, docs = self.scores, list(self.rows[1])
        # By score, then document id, from the end of the alphabet: as trec_eval breaks ties. Most files have
        # this order but for equal scores.
        if not falls(scores):
            rows = sorted(zip(scores, docs, strict=True), reverse=True)
            scores, docs = [score for score, _ in rows], [doc for _, doc in rows]
        ties = list(compress(count(1), map(eq, scores, scores[1:])))
        for begin in (index - 1 for index in ties if index < 2 or scores[index - 2] != scores[index - 1]):
            end = next(
                (index for index in range(begin, len(scores)) if scores[index] != scores[begin]), len(scores)
            )
            docs[begin:end] = sorted(docs[begin:end], reverse=True)
        return _Ranking(docs, ties)


def diagnose_run(path: str, cutoffs: Sequence[int], reading: Reading) -> tuple[list[Finding], FileContents]:
    """Return the findings of a run, and what it holds."""
    rows = DiagnosedRows(path, RUN, reading)
    queries: dict[str, _RankedQuery] = {}
    twice: dict[tuple[str, str], int] = {}
    scattered: dict[str, int] = {}
    tags: dict[bytes, int] = {}
    now = None
    for lines, (names, _, docs, ranks, scores, of_row) in rows:
        # Nearly always the tag is the one there was, and no row need be looked at.
        if tags.keys() != set(of_row):
            for line, tag in zip(lines, of_row, strict=True):
                tags.setdefault(tag, line)
        for name, part in together(names):
            query = name.decode()
            if query != now and query in queries:
                scattered.setdefault(query, lines[part.start])
            now = query
            of_query = queries.setdefault(query, _RankedQuery())
            for doc, line in of_query.add(lines[part], docs[part], ranks[part], scores[part]):
                twice.setdefault((doc.decode(), query), line)
    name = rows.source
    further = [(tag.decode(), line) for tag, line in tags.items()][1:]
    ranked = {query: of_query.ranked() for query, of_query in queries.items()}
    conflicts = {query: of_query.conflict for query, of_query in queries.items() if of_query.conflict}
    findings = [
        *rows.findings,
        *once("documents_ranked_twice", ERROR, name, twice, ("document", "query")),
        *once("scattered_queries", WARNING, name, scattered),
        *once("additional_tags", WARNING, name, further, ("tag",)),
        *_tie_findings(name, queries, ranked, cutoffs),
        *once("contradicted_ranks", WARNING, name, conflicts),
    ]
    deepest = max((len(of_query.scores) for of_query in queries.values()), default=0)
    beyond = [cutoff for cutoff in sorted(cutoffs) if cutoff > deepest]
    if queries and beyond:
        query, of_query = next(iter(queries.items()))
        shallow = warning("shallow_run", of_query.first, depth=deepest, query=query, cutoff=beyond[0])
        findings.append(shallow.in_file(name))
    contents = FileContents(name, "run")
    contents.queries = {query: of_query.first for query, of_query in queries.items()}
    contents.rows = [of_query.rows for of_query in queries.values()]
    contents.ranked = {query: docs for query, (docs, _) in ranked.items()}
    return findings, contents


def _tie_findings(
    name: str, queries: dict[str, _RankedQuery], ranked: dict[str, _Ranking], cutoffs: Sequence[int]
) -> Iterator[Finding]:
    across: dict[int, dict[str, int]] = {cutoff: {} for cutoff in cutoffs}
    tied: dict[str, int] = {}
    flat = []
    for query, (docs, ties) in ranked.items():
        line_of = queries[query].line_of
        flat.append(len(docs) > 1 and len(ties) == len(docs) - 1)
        if ties:
            tied[query] = line_of(docs[ties[0]])
        for cutoff in cutoffs if ties else ():
            if cutoff in ties:
                across[cutoff][query] = line_of(docs[cutoff])
    if queries and all(flat):
        first = next(iter(queries.values())).first
        yield error("all_scores_equal", first).in_file(name)
        return
    for cutoff, places in across.items():
        yield from once("ties_across_cutoff", WARNING, name, places, cutoff=cutoff)
    yield from once("tied_queries", WARNING, name, tied)


def diagnose_answers(path: str) -> tuple[list[Finding], FileContents]:
    """Yield the findings of a file of answers, and note what it holds: `documents` are cited or were seen."""
    contents = FileContents(path, "answers")
    first: dict[tuple[str, str, str], int] = {}
    answered_twice: dict[str, int] = {}
    nowhere: dict[tuple[int, str], int] = {}
    empty: dict[str, int] = {}
    failed: dict[str, int] = {}
    messages: dict[str, int] = {}
    repeated: dict[str, int] = {}
    citing, parts, line = 0, 0, 1
    for line, answer in read_forms(path, answer_forms(), "answers"):
        query = answer.query_id
        contents.queries.setdefault(query, line)
        # Repeats are numbered, and are no second answers.
        if first.setdefault((answer.run_id, query, answer.repeat), line) != line:
            answered_twice.setdefault(query, line)
        if answer.error:
            failed.setdefault(query, line)
        elif not answer.text.strip():
            empty.setdefault(query, line)
        elif is_error_message(answer.text):
            messages.setdefault(query, line)
        if len(set(answer.references)) < len(answer.references):
            repeated.setdefault(query, line)
        parts = max(parts, len(answer.sentences))
        for number, sentence in enumerate(answer.sentences):
            citing += bool(sentence.citations)
            if None in sentence.citations:
                nowhere.setdefault((number, query), line)
        for doc in (*answer.references, *(doc for s in answer.sentences for doc in s.citations if doc)):
            contents.documents.setdefault(doc, line)
    findings = [
        *once("second_answers", ERROR, path, answered_twice),
        *once("lost_citations", WARNING, path, nowhere, ("sentence", "query")),
        *once("empty_answers", WARNING, path, empty),
        *once("failed_answers", WARNING, path, failed),
        *once("error_messages", WARNING, path, messages),
        *once("repeated_references", WARNING, path, repeated),
    ]
    if contents.documents and parts > 1 and not citing:  # one part is a format without citations
        findings.append(warning("no_citations", line).in_file(path))
    return findings, contents


def diagnose_table(path: str) -> tuple[list[Finding], FileContents]:
    """Yield the findings of a table of answers, or of a log, which is read as one."""
    log, remarks = read_table(path)
    contents = FileContents(path, "answers", queries={answer.query_id: 1 for answer in log.answers})
    asked = {question.query_id: question for question in log.questions}
    bare = {query: 1 for query in contents.queries if query not in asked or not asked[query].gold}
    failed = {answer.query_id: 1 for answer in log.answers if answer.error}
    messages = {answer.query_id: 1 for answer in log.answers if answer.error.startswith(ERROR_MESSAGE)}
    empty = {answer.query_id: 1 for answer in log.answers if not answer.error and not answer.text.strip()}
    asked_twice = {answer.query_id: 1 for answer in log.answers if answer.repeat not in ("", "1")}
    findings = [
        *once("questions_without_gold_in_table", WARNING, path, bare),
        *once("empty_answers", WARNING, path, empty),
        *once("failed_answers", WARNING, path, {query: 1 for query in failed if query not in messages}),
        *once("error_messages", WARNING, path, messages),
        *once("repeated_questions", WARNING, path, asked_twice),
    ]
    for remark in remarks:
        if remark.code not in ("rows_twice_in_table", "answers_differ_in_table"):
            continue
        number, query = remark.facts["number"], remark.facts["examples"][0]
        if remark.code == "rows_twice_in_table":
            findings.append(warning("doubled_rows", 1, number=number, query=query).in_file(path))
        else:
            findings.append(warning("doubled_answers", 1, number=number, query=query).in_file(path))
    return findings, contents


def diagnose_questions(path: str) -> tuple[list[Finding], FileContents]:
    """Return what DRAGUN refuses in the questions that a run asks, and what they are about."""
    contents = FileContents(path, "questions")
    track = track_named("dragun25-questions")
    for number, line in numbered_lines(path):
        row = row_of(line, track) if line.strip() else None
        if isinstance(row, dict):
            contents.queries.setdefault(str(row["topic_id"]), number)
    findings = [finding.in_file(path) for finding in validate_answers(path, track, None)]
    return [finding for finding in findings if finding.level == ERROR], contents


_OF_NUGGETS = ("nugget-assignment", "lexical")
_JudgedLines = list[tuple[int, JudgementLine]]


def diagnose_judgements(path: str) -> tuple[list[Finding], FileContents]:
    """Return the findings of judgements, and what they hold."""
    lines: _JudgedLines = list(_read_lines(path))
    contents = FileContents(path, "judgements")
    first: dict[tuple[Any, ...], int] = {}
    twice: dict[tuple[str, str], int] = {}
    for line, judgement in lines:
        contents.queries.setdefault(str(judgement.query_id), line)
        if _is_of_nuggets(judgement):
            contents.nuggets.setdefault((str(judgement.query_id), str(judgement.aspect)), line)
        answer = (judgement.query_id, judgement.run_id, judgement.repeat, judgement.item_id)
        key = (*answer, judgement.judge, judgement.aspect)
        if first.setdefault(key, line) != line:
            twice.setdefault((str(judgement.run_id), str(judgement.query_id)), line)
    lost = [(line, judgement) for line, judgement in lines if judgement.status not in OF_WORTH]
    failed = [(str(judgement.query_id), line) for line, judgement in lost]
    counts = Counter(judgement.status for _, judgement in lost)
    findings = [
        *_refused_by_scoring(path, bool(twice)),
        *once("answers_judged_twice", ERROR, path, twice, ("run", "query")),
        *once("failed_judgements", WARNING, path, failed, by_status=counts.most_common()),
        *_version_findings(path, lines),
        *_judge_findings(path, lines),
        *_bank_findings(path, lines),
        *_unrated_nuggets(path, lines),
        *_runs_with_fewer_answers(path, lines),
    ]
    return findings, contents


def _unrated_nuggets(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Yield judged nuggets of which nobody says the importance, where that of others is there."""
    support = [
        (line, judgement)
        for line, judgement in lines
        if _is_of_nuggets(judgement) or _rubric(judgement)[0] in SUPPORT.rubrics
        or (not judgement.rubric and judgement.label in SUPPORT.labels)
    ]  # fmt: skip
    is_rated = any(judgement.importance for _, judgement in support)
    unrated: dict[tuple[str, str], int] = {}
    for line, judgement in support if is_rated else ():
        if judgement.importance is None and judgement.weight is None:
            unrated.setdefault((str(judgement.aspect), str(judgement.query_id)), line)
    yield from once("nuggets_without_importance", WARNING, path, unrated, ("nugget", "query"))


def _runs_with_fewer_answers(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Yield queries to which a system has fewer answers than it, or another, has to others."""
    repeats: dict[tuple[str, str], dict[str, int]] = {}
    for line, judgement in lines:
        answers = repeats.setdefault((str(judgement.run_id), str(judgement.query_id)), {})
        answers.setdefault(str(judgement.repeat), line)
    number = max(map(len, repeats.values()), default=0)
    fewer = {
        place: next(iter(answers.values())) for place, answers in repeats.items() if len(answers) < number
    }
    yield from once("fewer_answers_of_run", WARNING, path, fewer, ("run", "query"), answers=number)


def _refused_by_scoring(path: str, is_judged_twice: bool) -> Iterator[Finding]:
    """Yield what scoring says of a file that it refuses; what was judged twice is told by itself."""
    table, errors = JudgementTable(path), list[InputError]()
    try:
        table.add_file(path)
    except InputError as refused:
        yield from _refusal_findings("refused_file", path, refused)
        return
    try:
        table.finish()
    except InputError as refused:
        errors = [] if is_judged_twice and isinstance(refused, JudgedTwice) else [refused]
    else:
        labels = set(table.labels())
        for scale in SCALES:
            # Rows without a rubric are of the scale that knows all their labels.
            is_named = table.rubrics() & set(scale.rubrics)
            if is_named or (not table.rubrics() & RUBRICS and labels and labels <= scale.labels.keys()):
                try:
                    on(table, scale)
                except InputError as refused:
                    errors.append(refused)
                    break
    for problem in errors:
        yield from _refusal_findings("refused_file", path, problem)


def _read_lines(path: str) -> Iterator[tuple[int, JudgementLine]]:
    """Yield judgements, ours or another tool's, with their lines."""
    start = start_of_file(path)
    kind = kind_of_start(start)
    if kind is None or kind.name != "judged":
        yield from read_records(path, JudgementLine, EXPECTED)
        return
    for numbers, judged in read_judged(path, start.text):
        yield from zip(numbers, (JudgementLine(**row) for row in judged.rows), strict=True)


def _is_of_nuggets(judgement: JudgementLine) -> bool:
    return _rubric(judgement)[0] in _OF_NUGGETS and judgement.item_id == "answer"


def _rubric(judgement: JudgementLine) -> tuple[str, str]:
    """Return the name and the version of a judgement's rubric."""
    name, _, version = judgement.rubric.partition("@")
    return name, version


def _version_findings(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Yield rubrics that come in several versions, or in another one than is installed."""
    versions: dict[str, dict[str, int]] = {}
    for line, judgement in lines:
        name, version = _rubric(judgement)
        if version:
            versions.setdefault(name, {}).setdefault(version, line)
    for name, lines_of in versions.items():
        # The first version is the one that the others are further to.
        others = list(lines_of.items())[1:]
        yield from once("additional_versions", WARNING, path, others, ("version",), rubric=name)
        rubrics = [rubric_named(rubric_name) for rubric_name in rubric_names()]
        ours = {rubric.digest for rubric in rubrics if rubric.judged_as == name}
        # Only of rubrics that are installed here can be said that it is another version.
        if ours and not ours & set(lines_of):
            version, line = next(iter(lines_of.items()))
            facts = {"version": version, "rubric": name, "installed": sorted(ours)}
            yield warning("other_version_of_rubric", line, **facts).in_file(path)


def _judge_findings(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Yield systems that other judges judged than the first one."""
    judges: dict[str, set[str]] = {}
    lines_of: dict[str, int] = {}
    for line, judgement in lines:
        judges.setdefault(str(judgement.run_id), set()).add(judgement.judge)
        lines_of.setdefault(str(judgement.run_id), line)
    if not judges:
        return
    first, first_judges = next(iter(judges.items()))
    # As sets: several judges of each answer are fine as long as every system had the same ones.
    places = {run: lines_of[run] for run, names in judges.items() if names != first_judges}
    yield from once("systems_of_other_judges", WARNING, path, places, ("run",), first=first)


def _bank_findings(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Yield answers to one question that were judged on other nuggets, or not at all."""
    banks: dict[str, dict[str, set[str]]] = {}
    answered: dict[str, dict[str, int]] = {}
    for line, judgement in lines:
        run, query = str(judgement.run_id), str(judgement.query_id)
        answered.setdefault(run, {}).setdefault(query, line)
        if _is_of_nuggets(judgement):
            banks.setdefault(query, {}).setdefault(run, set()).add(str(judgement.aspect))
    different = {
        # The place shown is the first answer whose bank is not that of the first system.
        query: answered[next(run for run, bank in of_run.items() if bank != next(iter(of_run.values())))][
            query
        ]
        for query, of_run in banks.items()
        if any(bank != next(iter(of_run.values())) for bank in of_run.values())
    }
    yield from once("different_banks", WARNING, path, different)
    everything = {query for lines_of_queries in answered.values() for query in lines_of_queries}
    # Two systems that each lack another query have the same number and are both short of the whole.
    fewer = {
        run: min(lines_of_queries.values())
        for run, lines_of_queries in answered.items()
        if len(lines_of_queries) < len(everything)
    }
    yield from once("fewer_queries_of_run", WARNING, path, fewer, ("run",))


_Listed = Iterable[tuple[int, Sequence[Nugget]]]


def diagnose_nuggets(path: str) -> tuple[list[Finding], FileContents]:
    """Return the findings of a file of nuggets, and what it holds."""
    banks = list(numbered_banks(path))
    lines = [(line, bank.nuggets) for line, bank in banks]
    contents = FileContents(path, "nuggets")
    for line, nuggets in lines:
        for nugget in nuggets:
            contents.queries.setdefault(nugget.query_id, line)
            contents.nuggets.setdefault((nugget.query_id, nugget.nugget_id), line)
            contents.texts[nugget.query_id, nugget.nugget_id] = nugget.text
    findings = [*_list_findings(path, banks), *_importance_findings(path, lines)]
    # What Auto-ARGUE's rule leaves out, and what cannot be scored.
    remark = nuggets_without_reference(nugget for _, nuggets in lines for nugget in nuggets)
    if remark is not None:
        line = next(line for line, nuggets in lines if nuggets_without_reference(nuggets))
        findings.append(Finding(remark.code, Scope(file=path, line=line), remark.facts, WARNING))
    unscored = {
        (nugget.nugget_id, nugget.query_id): line
        for line, bank in banks
        for nugget in bank.nuggets
        if nugget.aggregator not in SCORED
    }
    findings += once("unknown_aggregators", ERROR, path, unscored, ("nugget", "query"))
    return findings, contents


def _list_findings(path: str, banks: Iterable[tuple[int, NuggetBank]]) -> Iterator[Finding]:
    repeated: dict[tuple[str, str], int] = {}
    questions: dict[tuple[str, str], int] = {}
    empty: dict[tuple[Any, ...], int] = {}
    for line, bank in banks:
        seen: set[str] = set()
        for nugget in bank.nuggets:
            # Case and blanks do not make a second nugget.
            text = " ".join(nugget.text.casefold().split())
            if not text:
                if not nugget.answers:  # rubrics were published without their questions
                    empty.setdefault((nugget.nugget_id, nugget.query_id), line)
            elif text in seen:
                repeated.setdefault((nugget.nugget_id, nugget.query_id), line)
            # A question with its answers is a nugget of the newer form; one without is a mistake of the
            # writer's.
            elif text.endswith("?") and not nugget.answers:
                questions.setdefault((nugget.nugget_id, nugget.query_id), line)
            seen.add(text)
        if not bank.nuggets:
            empty[None, bank.query_id, line] = line
    names = ("nugget", "query")
    yield from once("repeated_nuggets", WARNING, path, repeated, names)
    yield from once("nuggets_that_ask", WARNING, path, questions, names)
    yield from once("empty_nuggets", WARNING, path, [(key[:2], line) for key, line in empty.items()], names)


def _importance_findings(path: str, lines: _Listed) -> Iterator[Finding]:
    """Yield unrated nuggets where others are rated, and queries that have no vital one."""
    rated = {nugget.importance for _, nuggets in lines for nugget in nuggets}
    # Where no nugget is rated nobody meant to, and nothing is missing.
    if not rated & {"vital", "okay"}:
        return
    unrated: dict[tuple[str, str], int] = {}
    without: dict[str, int] = {}
    for line, nuggets in lines:
        for nugget in nuggets:
            if nugget.importance is None and nugget.weight is None:
                unrated.setdefault((nugget.nugget_id, nugget.query_id), line)
        if nuggets and not any(nugget.importance == "vital" for nugget in nuggets):
            without.setdefault(nuggets[0].query_id, line)
    yield from once("nuggets_without_importance", WARNING, path, unrated, ("nugget", "query"))
    yield from once("queries_without_vital", WARNING, path, without)


def diagnose_assignments(path: str) -> tuple[list[Finding], FileContents]:
    """Return the findings of AutoNuggetizer's assignments, and what they hold."""
    contents = FileContents(path, "assignments")
    banks: dict[str, tuple[str, frozenset[str]]] = {}
    different: dict[tuple[str, str, str], int] = {}
    failed: dict[str, int] = {}
    rated, unrated = False, dict[tuple[str, str], int]()
    for line, answer in read_records(path, Assignment, EXPECTED_ASSIGNMENT):
        query, texts = str(answer.qid), frozenset(nugget.text for nugget in answer.nuggets)
        contents.queries.setdefault(query, line)
        for text in texts:
            contents.nuggets.setdefault((query, text), line)
        # Nuggets are held against those of the first answer to the query, as texts: their order may differ.
        run, first = banks.setdefault(query, (str(answer.run_id), texts))
        if first != texts:
            different.setdefault((query, run, str(answer.run_id)), line)
        for nugget in answer.nuggets:
            rated = rated or nugget.importance in ("vital", "okay")
            if nugget.importance in (None, "failed"):
                unrated.setdefault((nugget.text, query), line)
        if any(nugget.assignment == "failed" for nugget in answer.nuggets):
            failed.setdefault(query, line)
    findings = [
        *once("answers_with_other_bank", WARNING, path, different, ("query", "first_run", "run")),
        *once("failed_assignments", WARNING, path, failed),
        *once("nuggets_without_importance", WARNING, path, unrated if rated else {}, ("nugget", "query")),
    ]
    return findings, contents


def different_banks(one: FileContents, other: FileContents) -> Iterator[Finding]:
    """Yield queries for which two files have different nuggets."""
    texts: list[dict[str, set[Any]]] = []
    for contents in (one, other):
        of_query: dict[str, set[Any]] = {}
        for (query, nugget), _ in contents.nuggets.items():
            of_query.setdefault(query, set()).add(contents.texts.get((query, nugget), nugget))
        texts.append(of_query)
    places = {
        query: other.queries[query]
        for query in texts[1]
        if query in texts[0] and texts[0][query] != texts[1][query]
    }
    yield from once("other_nuggets_in_file", WARNING, other.source, places, other=one.source)


_PLAIN = ({"0"}, {"Q0"})  # what plain qrels have in place of a nugget


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
        self.contents = FileContents(source, "qrels")
        self.nuggets: dict[tuple[str, str], _NuggetRows] = {}
        self.repeated: dict[tuple[str, str, str], int] = {}
        self.conflicts: list[Finding] = []
        self.negative: dict[bytes, int] = {}

    def add(self, key: tuple[str, str], lines: Lines, docs: Sequence[bytes], grades: Sequence[int]) -> None:
        """Take rows of one nugget that stand together."""
        nugget_rows = self.nuggets.setdefault(key, _NuggetRows())
        nugget_rows.rows.append((lines, docs))
        fresh = dict(zip(docs, grades, strict=True))
        if len(fresh) < len(docs) or not nugget_rows.grades.keys().isdisjoint(fresh):
            # Some of these rows were there before.
            for line, doc, grade in zip(lines, docs, grades, strict=True):
                first_grade = nugget_rows.grades.setdefault(doc, grade)
                before = nugget_rows.line_of(doc)
                if before == line:
                    if grade < 0:
                        self.negative[doc] = line
                elif first_grade == grade:
                    self.repeated.setdefault((*key, doc.decode()), line)
                else:
                    query, name = key
                    conflict = error(
                        "contradicting_grade",
                        line,
                        grade=grade,
                        document=doc.decode(),
                        nugget=name,
                        query=query,
                        first_grade=first_grade,
                        first_line=before,
                    )
                    self.conflicts.append(conflict.in_file(self.contents.source))
        else:
            nugget_rows.grades.update(fresh)
            if min(grades) < 0:
                rows = zip(lines, docs, grades, strict=True)
                self.negative |= {doc: line for line, doc, grade in rows if grade < 0}
        contents = self.contents
        contents.queries.setdefault(key[0], lines[0])
        contents.nuggets.setdefault(key, lines[0])
        of_query = contents.docs.setdefault(key[0], {})
        for doc, line in zip(docs, lines, strict=True):
            if doc not in of_query:
                of_query[doc] = line


def diagnose_qrels(path: str, reading: Reading) -> tuple[list[Finding], FileContents]:
    """Return the findings of judgements of documents, and what they hold."""
    rows = DiagnosedRows(path, QRELS, reading)
    qrels = _JudgedQueries(rows.source)
    for lines, (queries, nuggets, docs, grades) in rows:
        for (query, nugget), part in together(list(zip(queries, nuggets, strict=True))):
            qrels.add((query.decode(), nugget.decode()), lines[part], docs[part], grades[part])
    contents = qrels.contents
    plain: list[Finding] = []
    has_one = bool(contents.queries) and len(contents.nuggets) <= len(contents.queries)
    is_meant = {nugget for _, nugget in contents.nuggets} in _PLAIN and not contents.source.endswith(
        ".nugget"
    )
    if has_one and not is_meant:
        plain.append(
            warning("one_nugget_everywhere", next(iter(contents.queries.values()))).in_file(contents.source)
        )
    negative = {doc.decode(): line for doc, line in qrels.negative.items()}
    findings = [
        *rows.findings,
        *qrels.conflicts[:_SHOWN],
        *once("repeated_rows", WARNING, rows.source, qrels.repeated, ("query", "nugget", "document")),
        *plain,
        *_without_support(contents, qrels.nuggets),
        *once("negative_grades", WARNING, rows.source, negative, ("document",)),
    ]
    return findings, contents


def _without_support(
    contents: FileContents, nuggets: dict[tuple[str, str], _NuggetRows]
) -> Iterator[Finding]:
    supported = {key for key, rows in nuggets.items() if max(rows.grades.values()) > 0}
    answered = {query for query, _ in supported}
    nowhere = {query: line for query, line in contents.queries.items() if query not in answered}
    yield from once("queries_without_relevant_document", WARNING, contents.source, nowhere)
    idle = {
        (nugget, query): line
        for (query, nugget), line in contents.nuggets.items()
        if query in answered and (query, nugget) not in supported
    }
    yield from once("unsupported_nuggets", WARNING, contents.source, idle, ("nugget", "query"))
