"""All findings of some files: what each is by its first line, of each by itself, and of all together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from rageval.checking._answers import diagnose_answers, diagnose_questions
from rageval.checking._judgements import (
    diagnose_assignments,
    diagnose_judgements,
    diagnose_nuggets,
    diagnose_qrels,
    different_banks,
)
from rageval.checking._rows import Known, in_query, named, once, refusals
from rageval.checking._runs import diagnose_run
from rageval.checking.findings import ERROR, WARNING, Finding
from rageval.errors import InputError
from rageval.files.kinds import told
from rageval.files.opening import BOM, head, is_columnar, limits_of, name_of, noted
from rageval.files.scores import ALL, UntoldForm, is_leaderboard, read_leaderboard
from rageval.files.start import RUNS as OF_RUNS
from rageval.files.trec import PLAIN, Reading
from rageval.names import near_misses, unlike
from rageval.scoring.runs import documents_of

_CUTOFFS = (10, 20, 50)  # of FreshStack's three measures


def diagnose(
    files: Sequence[tuple[Any, str | None]],
    cutoffs: Sequence[int] = _CUTOFFS,
    reading: Reading = PLAIN,
    unknown: list[str] | None = None,
) -> Iterator[Finding]:
    """Yield the findings of files, whose kinds are told by their first lines where they are not named.

    A file that nobody knows is a finding, too, and is added to `unknown`; if all are such, it is an error.
    """
    known = []
    named, untold = _told(files, reading)
    # Only then an error: one file that nobody knows shall not hide what is wrong with the others.
    if not named:
        raise InputError("\n".join(map(str, untold.values())))
    for path, error in untold.items():
        yield from _refused(path, error, "it is left out: nothing is said of it")
        if unknown is not None:
            unknown.append(path)
    for path, found in named:
        try:
            findings, holds = _of_file(path, found, cutoffs, reading)
        except InputError as error:
            yield from _refused(path, error)
            continue
        # Each check walks the file by itself; a person reads it from the top.
        yield from sorted(findings, key=lambda finding: finding.line)
        known.append(holds)
    yield from _diagnose_together(known)


def _told(
    files: Sequence[tuple[Any, str | None]], reading: Reading
) -> tuple[list[tuple[Any, str]], dict[str, InputError]]:
    """Return the files with their kinds, and why those have none of which nobody can tell what they are."""
    found, untold = [], {}
    for path, kind in files:
        try:
            found.append((path, kind or _kind_of_file(path, reading)))
        except InputError as error:
            untold[path] = error
    return found, untold


def _of_file(path: str, kind: str, cutoffs: Sequence[int], reading: Reading) -> tuple[list[Finding], Known]:
    if kind == RUNS:
        return diagnose_run(path, cutoffs, reading)
    if kind == JUDGED:
        return diagnose_qrels(path, reading)
    if kind == NUGGETS:
        return diagnose_nuggets(path)
    if kind == ASSIGNMENTS:
        return diagnose_assignments(path)
    if kind == ANSWERS:
        return diagnose_answers(path)
    if kind == JUDGEMENTS:
        return diagnose_judgements(path)
    if kind == RANKED:
        return diagnose_questions(path)
    return _plain(path, kind, reading)


def _plain(path: Any, kind: str, reading: Reading) -> tuple[list[Finding], Known]:
    """Read what others are compared with: topics, a corpus, a pool, a manifest; or a leaderboard."""
    known = Known(name_of(path), kind)
    if kind == LEADERBOARD:
        return _leaderboard(path), known
    if kind == RETRIEVED:
        return [], _retrieved(path, reading)
    if kind == GRADED:
        return [], _graded(path, reading)
    if kind == SPANS:
        return _spans(path, known), known
    if kind == CHUNKS:  # the documents of runs over them, whose texts lie in the sources
        from rageval.files.spans import read_chunks

        documents = {chunk.chunk_id: 1 for chunk in read_chunks(path)}
        return [], Known(name_of(path), CORPUS, documents=documents)
    if kind == TOPICS:
        from rageval.files.questions import read_questions

        known.queries = {question.query_id: 1 for question in read_questions(path)}
    elif kind == CORPUS:
        from rageval.judges.material import passages_in

        known.documents = {doc: 1 for doc, _ in passages_in(path)}
    elif kind == CLAIMS:
        from rageval.files.answers import read_claims

        known.queries = {found.query_id: 1 for found in read_claims(path)}
    elif kind == POOL:
        from rageval.building import read_pool

        pool = read_pool(path)
        known.queries = dict.fromkeys(pool, 1)
        known.documents = {doc: 1 for docs in pool.values() for doc in docs}
    else:
        from rageval.building import changed

        effect = "scores are not of the collection that the manifest describes"
        message = "{} is not as it was when the collection was built"
        return [Finding(1, ERROR, message.format(name), effect, path) for name in changed(Path(path))], known
    return [], known


def _leaderboard(path: str) -> list[Finding]:
    """Return what is odd in a leaderboard; FreshStack's, one object of its own kind, is not read here."""
    start = head(path, limits_of(path).record).removeprefix(BOM)
    # What the published boards of FreshStack hold, nobody here scores with.
    if start.lstrip().startswith(b"{") and not is_leaderboard(start.split(b"\n")[:1]):
        return []
    try:
        read_leaderboard(path)
    except UntoldForm:
        effect = "rageval agree --leaderboards takes it only with --form"
        message = f"nothing says which of the four columns holds the topics: {ALL!r} is in none, or in both"
        return [Finding(1, WARNING, message, effect, path)]
    return []


def _spans(path: str, known: Known) -> list[Finding]:
    """Note what spans are of, and return what is odd about them."""
    from rageval.files.spans import read_spans

    spans = read_spans(path).spans
    known.queries = dict.fromkeys((span.query_id for span in spans), 1)
    known.nuggets = {(span.query_id, span.nugget_id): 1 for span in spans}
    wide = [(in_query(span.nugget_id, span.query_id), 1) for span in spans if span.wide]
    effect = "in chunks with a part of one it is not known who holds its nugget: a range, and no number"
    return list(once(path, wide, WARNING, "wide spans: {n}, first {name}", effect))


def _retrieved(path: str, reading: Reading) -> Known:
    """Return what a run in JSON or Parquet holds."""
    from rageval.scoring.sources import read_run

    known = Known(path, RUNS)
    for query, docs in documents_of(read_run(path, reading=reading).queries):
        known.queries[query] = 1
        known.ranked[query] = [doc.encode("utf-8", "surrogatepass") for doc in docs]
        known.docs[query] = dict.fromkeys(known.ranked[query], 1)
    return known


def _graded(path: str, reading: Reading) -> Known:
    """Return what judgements of documents hold that are a table of BEIR's, JSON or Parquet."""
    from rageval.scoring.sources import read_qrels

    known = Known(path, JUDGED)
    for row in read_qrels(path, reading=reading):
        known.queries.setdefault(row.query_id, 1)
        known.nuggets.setdefault((row.query_id, row.iteration), 1)
        known.docs.setdefault(row.query_id, {}).setdefault(row.doc_id.encode("utf-8", "surrogatepass"), 1)
    return known


def _refused(
    path: str, error: InputError, effect: str = "nothing is scored: the file is refused"
) -> Iterator[Finding]:
    """Yield what a reader says of a file that it cannot read, as findings."""
    for line, text in refusals(error, path):
        yield Finding(1 if line is None else line, ERROR, text.removeprefix(f"{path}: "), effect, path)


_HOLES_FROM, _TOP = 0.2, 10  # the share of the top that is worth a word
_BANKS = ("nuggets", "judgements", "assignments")
_IGNORED = "these queries are left out of every mean"
_EFFECTS = {
    "run": "every measure ignores these queries",
    "qrels": "they count in every mean although nobody was asked them",
    "spans": "they count in every mean although nobody was asked them",
    "answers": "they are judged against nothing",
    "judgements": "they count in every mean although nobody was asked them",
    "assignments": "they count in every mean although nobody was asked them",
    "nuggets": "their nuggets are never looked for",
    "questions": "nobody compares them with a rubric",
    "pool": "they are judged for nothing",
}


def _diagnose_together(known: list[Known]) -> Iterator[Finding]:
    """Yield the findings of all files beside one another."""
    of: dict[str, list[Known]] = {}
    for one in known:
        of.setdefault(one.kind, []).append(one)
    for topics in of.get("topics", ()):
        for one in known:
            if one.kind in _EFFECTS:
                yield from _dangling(one, one.queries, topics, topics.queries, "queries", _EFFECTS[one.kind])
    for corpus in of.get("corpus", ()):
        for one in known:
            if one is not corpus and one.kind != "topics" and (documents := one.every_document()):
                effect = "no judge can see their text; if ids differ only in spelling, nothing matches"
                yield from _dangling(one, documents, corpus, corpus.documents, "documents", effect)
    for run in of.get("run", ()):
        for qrels in of.get("qrels", ()):
            yield from _run_and_qrels(run, qrels)
    for nuggets in of.get("nuggets", ()):
        for qrels in of.get("qrels", ()):
            yield from _nuggets_and_qrels(nuggets, qrels)
    for kind in _BANKS:
        for one, other in combinations(of.get(kind, ()), 2):
            yield from different_banks(one, other)


def _dangling(
    one: Known, ids: Mapping[str, int], other: Known, there: Iterable[str], what: str, effect: str
) -> Iterator[Finding]:
    """Ids of one file that another one, which should know them, does not have."""
    known = set(there)
    lost = {name: line for name, line in ids.items() if name not in known}
    # All ids strange: two files that do not belong together, or ids written in two ways. Some: mostly a
    # typing slip.
    none = len(lost) == len(ids)
    level = ERROR if none else WARNING
    there_is = f"none of its {what} is in" if none else f"{what} that are not in"
    hint = near_misses(lost, known) if lost else ""
    counted = "" if none else ": {n}"
    message = f"{there_is} {named(other.source)}{counted}, first {{name}}{hint}"
    yield from once(one.source, lost, level, message, effect)


def _run_and_qrels(run: Known, qrels: Known) -> Iterator[Finding]:
    yield from _dangling(run, run.queries, qrels, qrels.queries, "queries", _IGNORED)
    # Said already; everything further would repeat it.
    if not run.queries.keys() & qrels.queries.keys():
        return
    lacking = {query: line for query, line in qrels.queries.items() if query not in run.queries}
    message = f"judged queries that {named(run.source)} lacks: {{n}}, first {{name}}"
    effect = "each measure is 0 there and counts (--intersection leaves them out)"
    yield from once(qrels.source, lacking, WARNING, message, effect)
    # Then the share of unjudged documents is all of them, and says nothing more.
    if found := list(_nothing_judged(run, qrels)):
        yield from found
        return
    top = {query: docs[:_TOP] for query, docs in run.ranked.items() if query in qrels.queries}
    open_ = {query: sum(doc not in qrels.docs[query] for doc in docs) for query, docs in top.items()}
    holes = {query: run.queries[query] for query, number in open_.items() if number}
    unjudged = sum(open_.values())
    share = unjudged / max(1, sum(map(len, top.values())))
    if share >= _HOLES_FROM:
        message = (
            f"queries with unjudged documents in the top {_TOP} ({share:.0%} of it): {{n}}, first {{name}}"
        )
        effect = "it counts as not relevant in every measure; --bounds says how much could change"
        yield from once(run.source, holes, WARNING, message, effect)


def _nothing_judged(run: Known, qrels: Known) -> Iterator[Finding]:
    """Report that no document of the run is judged, and what its ids differ by."""
    ranked = {query: docs for query, docs in run.ranked.items() if query in qrels.queries}
    if not all(qrels.docs[query].keys().isdisjoint(docs) for query, docs in ranked.items()):
        return
    ours, theirs = ({query: _decoded(of[query]) for query in ranked} for of in (ranked, qrels.docs))
    message = unlike(named(run.source), sum(map(len, ranked.values())), ours, theirs)
    first = {query: run.queries[query] for query in ranked}
    yield from once(run.source, first, ERROR, message, "score refuses it (--nothing-judged zero scores it)")


def _decoded(docs: Iterable[bytes]) -> list[str]:
    return [doc.decode("utf-8", "surrogatepass") for doc in docs]


def _nuggets_and_qrels(nuggets: Known, qrels: Known) -> Iterator[Finding]:
    """Nuggets that only one of the two knows."""
    # As `in_query` would name them, here as keys that both sides share.
    strange = {f"{name}' of '{query}": line for (query, name), line in qrels.nuggets.items()}
    listed = {f"{name}' of '{query}": line for (query, name), line in nuggets.nuggets.items()}
    lost = {name: line for name, line in strange.items() if name not in listed}
    message = f"nuggets that {named(nuggets.source)} does not have: {{n}}, first {{name}}"
    yield from once(qrels.source, lost, WARNING, message, "coverage counts them in its denominator")
    open_ = {name: line for name, line in listed.items() if name not in strange}
    message = f"nuggets that nobody judged a document for in {named(qrels.source)}: {{n}}, first {{name}}"
    effect = "coverage does not know of them and comes out too high"
    yield from once(nuggets.source, open_, WARNING, message, effect)


RUNS, JUDGED, CORPUS, TOPICS, NUGGETS = "run", "qrels", "corpus", "topics", "nuggets"
ANSWERS, JUDGEMENTS, ASSIGNMENTS = "answers", "judgements", "assignments"
POOL, MANIFEST, LEADERBOARD = "pool", "manifest", "leaderboard"
RANKED = "questions"  # of a run, as DRAGUN has them
SPANS, CHUNKS, CLAIMS = "spans", "chunks", "claims"
RETRIEVED, GRADED = "retrieved", "graded"  # a run, and judgements of documents, that are no lines of columns


def _kind_of_file(path: str, reading: Reading = PLAIN) -> str:
    """Return the kind of a file; `InputError` if it is none that is known here."""
    file = noted(path)
    kind = told(file, reading)
    names = _OF_COLUMNS if is_columnar(file) else _NAMES
    is_graded = kind is not None and kind.rows is not None and kind.holds != OF_RUNS
    name = None if kind is None else GRADED if is_graded else names.get(kind.name, kind.name)
    if name is None or name not in _KNOWN:
        holds = "cannot tell what this is" if kind is None else f"holds {kind.said}"
        way = f"; a table of answers is parted by: rageval import {path} -o DIR" if name == "table" else ""
        raise InputError(
            f"{path}:1: {holds}; expected a run, qrels, spans, nuggets, answers,"
            f" judgements, claims, topics (--topics FILE), chunks or a corpus (--corpus FILE){way}"
        )
    return name


_NAMES = {
    "candidates": RETRIEVED,
    "scores": RETRIEVED,
    "judged": JUDGEMENTS,
    "asked": RANKED,
    "questions": TOPICS,
}
_OF_COLUMNS = {"run": RETRIEVED, "qrels": GRADED}  # of a table
_KNOWN = (
    *(RUNS, JUDGED, CORPUS, TOPICS, NUGGETS, ANSWERS, JUDGEMENTS, ASSIGNMENTS),
    *(POOL, MANIFEST, LEADERBOARD, RETRIEVED, GRADED, RANKED, SPANS, CHUNKS, CLAIMS),
)
