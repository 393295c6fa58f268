"""All findings of some files: of each by itself, and of all together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rageval.diagnosis import kinds
from rageval.diagnosis.answers import diagnose_answers
from rageval.diagnosis.findings import ERROR, Finding, Known
from rageval.diagnosis.judged import diagnose_qrels
from rageval.diagnosis.judgements import diagnose_judgements
from rageval.diagnosis.nuggets import diagnose_assignments, diagnose_nuggets
from rageval.diagnosis.runs import diagnose_run
from rageval.diagnosis.together import diagnose_together
from rageval.errors import InputError
from rageval.files.limits import Limits
from rageval.files.opening import name_of
from rageval.files.trec import PLAIN, Reading

CUTOFFS = (10, 20, 50)  # of FreshStack's three measures


def diagnose(
    files: Sequence[tuple[Any, str | None]],
    cutoffs: Sequence[int] = CUTOFFS,
    reading: Reading = PLAIN,
    unknown: list[str] | None = None,
) -> Iterator[Finding]:
    """The findings of files, whose kinds are told by their first lines where they are not named.

    A file that nobody knows is a finding, too, and is added to `unknown`; if all are such, it is an error.
    """
    known = []
    told, untold = _told(files, reading.limits)
    if not told:
        raise InputError("\n".join(map(str, untold.values())))
    for path, error in untold.items():
        yield from _refused(path, error, "it is left out: nothing is said of it")
        if unknown is not None:
            unknown.append(path)
    for path, found in told:
        try:
            findings, holds = _of_file(path, found, cutoffs, reading)
        except InputError as error:
            yield from _refused(path, error)
            continue
        yield from sorted(findings, key=lambda finding: finding.line)
        known.append(holds)
    yield from diagnose_together(known)


def _told(
    files: Sequence[tuple[Any, str | None]], limits: Limits
) -> tuple[list[tuple[Any, str]], dict[str, InputError]]:
    """The files with their kinds, and why those have none of which nobody can tell what they are."""
    told, untold = [], {}
    for path, kind in files:
        try:
            told.append((path, kind or kinds.kind_of_file(path, limits)))
        except InputError as error:
            untold[path] = error
    return told, untold


def _of_file(path: str, kind: str, cutoffs: Sequence[int], reading: Reading) -> tuple[list[Finding], Known]:
    if kind == kinds.RUNS:
        return diagnose_run(path, cutoffs, reading)
    if kind == kinds.JUDGED:
        return diagnose_qrels(path, reading)
    if kind == kinds.NUGGETS:
        return diagnose_nuggets(path, reading.limits)
    if kind == kinds.ASSIGNMENTS:
        return diagnose_assignments(path, reading.limits)
    if kind == kinds.ANSWERS:
        return diagnose_answers(path, reading.limits)
    if kind == kinds.JUDGEMENTS:
        return diagnose_judgements(path, reading.limits)
    return _plain(path, kind, reading)


def _plain(path: Any, kind: str, reading: Reading) -> tuple[list[Finding], Known]:
    """What others are compared with: topics, a corpus, a pool, a manifest; or nothing: a leaderboard."""
    known = Known(name_of(path), kind)
    if kind == kinds.LEADERBOARD:
        return [], known
    if kind == kinds.RETRIEVED:
        return [], _retrieved(path, reading)
    if kind == kinds.TOPICS:
        from rageval.files.questions import read_questions

        known.queries = {question.query_id: 1 for question in read_questions(path, reading.limits)}
    elif kind == kinds.CORPUS:
        from rageval.judges.gathering import passages_in

        known.documents = {doc: 1 for doc, _ in passages_in(path, reading.limits)}
    elif kind == kinds.POOL:
        from rageval.building.pools import read_pool

        pool = read_pool(path, reading.limits)
        known.queries = dict.fromkeys(pool, 1)
        known.documents = {doc: 1 for docs in pool.values() for doc in docs}
    else:
        from rageval.building.manifest import changed

        effect = "scores are not of the collection that the manifest describes"
        message = "{} is not as it was when the collection was built"
        return [Finding(path, 1, ERROR, message.format(name), effect) for name in changed(Path(path))], known
    return [], known


def _retrieved(path: str, reading: Reading) -> Known:
    """What a run in JSON holds."""
    from rageval.files.retrieved import run_rows

    known = Known(path, kinds.RUNS)
    rows = run_rows(path, reading.limits)
    best: dict[str, list[tuple[float, bytes]]] = {}
    for line, name, doc, score in zip(rows.lines, rows.queries, rows.docs, rows.scores, strict=True):
        query = name.decode("utf-8", "surrogatepass")
        known.queries.setdefault(query, line)
        known.docs.setdefault(query, {}).setdefault(doc, line)
        best.setdefault(query, []).append((score, doc))
    known.ranked = {query: [doc for _, doc in sorted(docs)[::-1]] for query, docs in best.items()}
    return known


def _refused(
    path: str, error: InputError, effect: str = "nothing is scored: the file is refused"
) -> Iterator[Finding]:
    """What a reader says of a file that it cannot read, as findings."""
    for message in str(error).split("\n"):
        line, _, text = message.removeprefix(f"{path}:").partition(": ")
        where, what = (int(line), text) if line.isdigit() else (1, message.removeprefix(f"{path}: "))
        yield Finding(path, where, ERROR, what, effect)
