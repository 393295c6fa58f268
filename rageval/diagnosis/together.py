"""What is suspicious in files beside one another: ids that lead nowhere, and what nobody judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from rageval.diagnosis.findings import ERROR, WARNING, Finding, Known, once, shown
from rageval.diagnosis.nuggets import different_banks
from rageval.names import near_misses, unlike

_HOLES_FROM, _TOP = 0.2, 10  # the share of the top that is worth a word
_BANKS = ("nuggets", "judgements", "assignments")
_IGNORED = "these queries are left out of every mean"
_EFFECTS = {
    "run": "every measure ignores these queries",
    "qrels": "they count in every mean although nobody was asked them",
    "answers": "they are judged against nothing",
    "judgements": "they count in every mean although nobody was asked them",
    "assignments": "they count in every mean although nobody was asked them",
    "nuggets": "their nuggets are never looked for",
    "pool": "they are judged for nothing",
}


def diagnose_together(known: list[Known]) -> Iterator[Finding]:
    """The findings of all files beside one another."""
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
    none = len(lost) == len(ids)
    level = ERROR if none else WARNING
    there_is = f"none of its {what} is in" if none else f"{what} that are not in"
    hint = near_misses(lost, known) if lost else ""
    counted = "" if none else ": {n}"
    message = f"{there_is} {shown(other.source)}{counted}, first {{name}}{hint}"
    yield from once(one.source, lost, level, message, effect)


def _run_and_qrels(run: Known, qrels: Known) -> Iterator[Finding]:
    yield from _dangling(run, run.queries, qrels, qrels.queries, "queries", _IGNORED)
    if not run.queries.keys() & qrels.queries.keys():
        return
    lacking = {query: line for query, line in qrels.queries.items() if query not in run.queries}
    message = f"judged queries that {shown(run.source)} lacks: {{n}}, first {{name}}"
    effect = "each measure is 0 there and counts (--intersection leaves them out)"
    yield from once(qrels.source, lacking, WARNING, message, effect)
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
    """That no document of the run is judged, and what its ids differ by."""
    ranked = {query: docs for query, docs in run.ranked.items() if query in qrels.queries}
    if not all(qrels.docs[query].keys().isdisjoint(docs) for query, docs in ranked.items()):
        return
    ours, theirs = ({query: _decoded(of[query]) for query in ranked} for of in (ranked, qrels.docs))
    message = unlike(shown(run.source), sum(map(len, ranked.values())), ours, theirs)
    first = {query: run.queries[query] for query in ranked}
    yield from once(run.source, first, ERROR, message, "score refuses it (--nothing-judged zero scores it)")


def _decoded(docs: Iterable[bytes]) -> list[str]:
    return [doc.decode("utf-8", "surrogatepass") for doc in docs]


def _nuggets_and_qrels(nuggets: Known, qrels: Known) -> Iterator[Finding]:
    """Nuggets that only one of the two knows."""
    strange = {f"{name}' of '{query}": line for (query, name), line in qrels.nuggets.items()}
    listed = {f"{name}' of '{query}": line for (query, name), line in nuggets.nuggets.items()}
    lost = {name: line for name, line in strange.items() if name not in listed}
    message = f"nuggets that {shown(nuggets.source)} does not have: {{n}}, first {{name}}"
    yield from once(qrels.source, lost, WARNING, message, "coverage counts them in its denominator")
    open_ = {name: line for name, line in listed.items() if name not in strange}
    message = f"nuggets that nobody judged a document for in {shown(qrels.source)}: {{n}}, first {{name}}"
    effect = "coverage does not know of them and comes out too high"
    yield from once(nuggets.source, open_, WARNING, message, effect)
