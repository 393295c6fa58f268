"""What became of each nugget of each answer: whether the answer has it, and whether its passages had it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from rageval.errors import InputError, UsageError
from rageval.files.judgements import JudgementTable
from rageval.measures.scales import SUPPORT
from rageval.names import suggestion
from rageval.scoring.assessments import on
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Order, Run
from rageval.text import visible

USED, DROPPED, MEMORY, CUT, MISSED, GAP = KINDS = (
    *("used", "lost_by_generator", "from_memory", "cut", "missed", "gap"),
)
_COUNTS = {"vital": 1.0, "okay": 0.5, None: 1.0}
_ABSENT = "absent"
_Options = tuple[bool, ...]
BOTH = (False, True)


class NuggetFate(NamedTuple):
    """What became of one nugget of one answer; what is not known may be both.

    `found`: whether a passage supports it, `below`: one that was retrieved below them, `supported`: any
    judged document.
    """

    nugget_id: str
    weight: float
    answered: _Options
    found: _Options
    below: _Options
    supported: bool
    status: str = ""  # why nobody knows whether it is in the answer

    def kinds(self) -> set[str]:
        """Return what it may be, over all that is not known."""
        return {
            _kind(answered, found, below, self.supported)
            for answered in self.answered
            for found in self.found
            for below in self.below
        }

    def at_point(self, answered: bool) -> str:
        """Return what it is if unjudged passages support nothing, as scores have it."""
        return _kind(answered, self.found[0], self.below[0], self.supported)


def _kind(answered: bool, found: bool, below: bool, supported: bool) -> str:
    if found:
        return USED if answered else DROPPED
    if answered:
        return MEMORY
    return CUT if below else MISSED if supported else GAP


class Evidence:
    """What a run retrieved, and which nuggets its documents support."""

    def __init__(self, run: Run, qrels: Qrels, depth: int | None, rel: int) -> None:
        """Take the run and the judgements; what a grade is worth from `rel` on is support."""
        ranked = dict(run.ranked(Order()))
        self.depth = depth or max(map(len, ranked.values()), default=0)
        self._rel = rel
        self._ranked = ranked
        self._spans = qrels.spans
        self._judged = {query: set(docs) for query, docs, _ in qrels.documents()}
        self._support: dict[str, dict[str, set[str]]] = {
            query: {nugget: set() for nugget in qrels.nuggets(query)} for query in qrels.query_ids
        }
        if qrels.spans is not None:
            for query, nuggets in qrels.spans.grades.items():
                for nugget, docs in nuggets.items():
                    self._support[query][nugget] = {doc for doc, grade in docs.items() if grade >= rel}
        else:
            for row in qrels:
                if row.relevance >= rel:
                    self._support[row.query_id][row.iteration].add(row.doc_id)

    @property
    def queries(self) -> Collection[str]:
        """The questions whose documents were judged."""
        return self._support

    def __contains__(self, query: str) -> bool:
        return query in self._support

    def nuggets(self, query: str) -> Collection[str]:
        """Return the nuggets that documents were judged by."""
        return self._support.get(query, {})

    def retrieved(self, query: str) -> bool:
        """Return whether the run has anything for the query."""
        return query in self._ranked

    def unjudged(self, query: str) -> int:
        """Return how many of the passages nobody judged."""
        return sum(self._may(query, doc, None) for doc in self._ranked.get(query, ())[: self.depth])

    def of(self, query: str, nugget: str) -> tuple[_Options, _Options, bool]:
        """Return whether passages, and documents below them, support a nugget, and any judged document."""
        support = self._support[query].get(nugget, set())
        docs = self._ranked.get(query, ())
        found, below = (
            self._options(query, nugget, part, support) for part in (docs[: self.depth], docs[self.depth :])
        )
        return found, below, bool(support)

    def _options(self, query: str, nugget: str, docs: Sequence[str], support: Collection[str]) -> _Options:
        if any(doc in support for doc in docs):
            return (True,)
        return BOTH if any(self._may(query, doc, nugget) for doc in docs) else (False,)

    def _may(self, query: str, doc: str, nugget: str | None) -> bool:
        """Return whether nobody knows if a document supports a nugget, or any."""
        if self._spans is not None:
            nuggets = self._spans.undecided.get(query, {}).get(doc, set())
            return bool(nuggets) if nugget is None else nugget in nuggets
        return doc not in self._judged[query]


class Answered:
    """Which nuggets the answers of one system hold, by what one judge said."""

    def __init__(
        self, table: JudgementTable, system: str | None, names: Mapping[tuple[str, str], str]
    ) -> None:
        """Choose the system; `names` are ids of nuggets by query and text, as judgements may name them."""
        support = on(table, SUPPORT)
        self.fates: dict[tuple[str, str], dict[str, tuple[bool | None, float, str]]] = {}
        self._listed: dict[str, dict[str, float]] = {}
        lines = [(row, table.line(answer, row)) for answer, row in support.rows()]
        lines = [(row, line) for row, line in lines if line.item_id == "answer"]
        self.run = _system([str(line.run_id) for _, line in lines], system)
        judges = {str(line.judge) for _, line in lines if line.run_id == self.run}
        if len(judges) > 1:
            raise UsageError(
                f"{table.name}: {len(judges)} judges said which nuggets answers hold"
                f" ({', '.join(map(visible, sorted(judges)))}); expected one, or their vote"
                " (rageval judge --vote majority)"
            )
        for row, line in lines:
            query = str(line.query_id)
            nugget = names.get((query, str(line.aspect)), str(line.aspect))
            weight = _COUNTS[line.importance]
            self._listed.setdefault(query, {}).setdefault(nugget, weight)
            if line.run_id == self.run:
                failed = line.status if not table.said_in(row).is_graded else ""
                said = None if failed else support.worth(row) == 1
                place = query, str(line.repeat)
                self.fates.setdefault(place, {})[nugget] = said, weight, failed

    @property
    def queries(self) -> dict[str, list[str]]:
        """The questions of which any system was judged, each with the repeats of this one."""
        found: dict[str, list[str]] = {}
        for query, repeat in self.fates:
            found.setdefault(query, []).append(repeat)
        # What other systems were judged on, and this one was not at all, is missing.
        return {query: found.get(query, [""]) for query in {**found, **self._listed}}

    def of(self, query: str, repeat: str, more: Iterable[str]) -> dict[str, tuple[bool | None, float, str]]:
        """Return (in the answer, weight, why nobody knows) of each nugget of an answer, and of `more`."""
        said = self.fates.get((query, repeat), {})
        listed = {**dict.fromkeys(more, 1.0), **self._listed.get(query, {})}
        return {nugget: said.get(nugget, (None, weight, _ABSENT)) for nugget, weight in listed.items()}


def _system(runs: Sequence[str], wanted: str | None) -> str:
    """Return the one system, or the one that is wanted."""
    known = list(dict.fromkeys(runs))
    if not known:
        raise InputError(
            "no judgement says which nuggets an answer holds; expected those of rageval judge"
            " nugget-assignment"
        )
    if wanted is None and len(known) > 1:
        raise UsageError(
            f"several systems were judged: {', '.join(map(visible, known))}; choose one: --system"
        )
    if wanted is not None and wanted not in known:
        raise UsageError(
            f"--system {visible(wanted)}: is not judged; expected one of {', '.join(map(visible, known))}"
            + suggestion(wanted, known)
        )
    return known[0] if wanted is None else wanted
