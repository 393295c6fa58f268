"""Where the nuggets that an answer lacks were lost: by the retriever, or by the generator.

A nugget is in the passages that the answer was made from (C: one of the top K supports it), and it is in the
answer (A), or it is not:

|                     | in the answer | not in the answer                                        |
| ------------------- | ------------- | -------------------------------------------------------- |
| in the passages     | used          | lost by the generator                                    |
| not in the passages | from memory   | cut: below rank K; missed: not retrieved; gap: nowhere   |

With a nugget counting its weight's share of the question, and every question the same, the six shares add up
to 1, and recall = used + from memory = c·u + (1 − c)·r, c being the share in the passages, u = P(A | C) and
r = P(A | not C). A perfect retriever would add (1 − c)(u − r), a perfect generator c(1 − u), if nuggets were
used as often as they are now.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval import hooks
from rageval.comparison.intervals import cluster_remarks
from rageval.comparison.results import Clusters, require_clusters
from rageval.core.remark import Remark
from rageval.core.signature import join_signature
from rageval.core.turn import CONVERSATION, clusters_by_conversation
from rageval.errors import InputError, MissingJudgements, Place, UsageError
from rageval.files.jsonl import in_memory
from rageval.files.judgements import JudgementTable
from rageval.files.kinds import tag_of
from rageval.files.nuggets import read_nuggets
from rageval.judges.material import passages_in
from rageval.judges.offline import holding_gold
from rageval.measures import family
from rageval.measures.scales import ABSTENTION, CRAG, REFUSED, SUPPORT
from rageval.names import near_misses, suggestion
from rageval.records import Nugget, Qrel
from rageval.scoring.answers import read_judgements
from rageval.scoring.answers import scored as scored_answers
from rageval.scoring.assessments import answerable_in, conversations_in, on, required
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Order, Run
from rageval.scoring.scores import require_groups
from rageval.scoring.sources import as_qrels, run_source
from rageval.statistics.bootstrap import interval_of
from rageval.table import Table, finite
from rageval.text import visible
from rageval.version import __version__

if TYPE_CHECKING:
    from rageval.typing import JudgementsLike, NuggetsLike, QrelsLike, QuestionsLike, RecordsLike, RunLike


# What became of each nugget of each answer: whether the answer has it, and whether its passages had it.

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
            _fate_kind(answered, in_passages, below, self.supported)
            for answered in self.answered
            for in_passages in self.found
            for below in self.below
        }

    def at_point(self, answered: bool) -> str:
        """Return what it is if unjudged passages support nothing, as scores have it."""
        return _fate_kind(answered, self.found[0], self.below[0], self.supported)


def _fate_kind(answered: bool, in_passages: bool, below: bool, supported: bool) -> str:
    if in_passages:
        return USED if answered else DROPPED
    if answered:
        return MEMORY
    return CUT if below else MISSED if supported else GAP


class _Passages(NamedTuple):
    """Some documents of a query: whether any is unjudged, and the nuggets of which nobody knows."""

    docs: frozenset[str]
    is_open: bool
    undecided: frozenset[str] = frozenset()

    def options(self, nugget: str, support: set[str]) -> _Options:
        """Return whether any of them supports a nugget that these documents support."""
        if not support.isdisjoint(self.docs):
            return (True,)
        return BOTH if self.is_open or nugget in self.undecided else (False,)


class Evidence:
    """What a run retrieved, and which nuggets its documents support."""

    def __init__(self, run: Run, qrels: Qrels, depth: int | None, rel: int) -> None:
        """Take the run and the judgements; what a grade is worth from `rel` on is support."""
        ranked = dict(run.ranked(Order()))
        self.depth = depth or max(map(len, ranked.values()), default=0)
        self._ranked = ranked
        self._parts: dict[str, tuple[_Passages, _Passages]] = {}  # within the depth and below it, by query
        self._qrels = qrels
        self._judged = {query: set(docs) for query, docs, _ in qrels.documents()}
        self._support = qrels.supporting(rel)

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
        docs = self._ranked.get(query, ())[: self.depth]
        if self._qrels.is_complete:
            undecided = self._qrels.undecided.get(query, {})
            return sum(bool(undecided.get(doc)) for doc in docs)
        return sum(doc not in self._judged[query] for doc in docs)

    def of(self, query: str, nugget: str) -> tuple[_Options, _Options, bool]:
        """Return whether passages, and documents below them, support a nugget, and any judged document."""
        support = self._support[query].get(nugget, set())
        if query not in self._parts:
            docs = self._ranked.get(query, ())
            self._parts[query] = self._part(query, docs[: self.depth]), self._part(query, docs[self.depth :])
        in_passages, below = (part.options(nugget, support) for part in self._parts[query])
        return in_passages, below, bool(support)

    def _part(self, query: str, docs: Sequence[str]) -> _Passages:
        if not self._qrels.is_complete:
            return _Passages(frozenset(docs), not self._judged[query].issuperset(docs))
        undecided = self._qrels.undecided.get(query, {})
        return _Passages(frozenset(docs), False, frozenset().union(*(undecided.get(doc, ()) for doc in docs)))


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
        self.run = _choose_system([str(line.run_id) for _, line in lines], system)
        judges = {str(line.judge) for _, line in lines if line.run_id == self.run}
        if len(judges) > 1:
            raise UsageError(
                f"{table.name}: {len(judges)} judges said which nuggets answers have"
                f" ({', '.join(map(visible, sorted(judges)))}); expected one, or their vote (rageval judge"
                " --vote majority)"
            )
        for row, line in lines:
            query = str(line.query_id)
            nugget = names.get((query, str(line.aspect)), str(line.aspect))
            weight = _COUNTS[line.importance]
            self._listed.setdefault(query, {}).setdefault(nugget, weight)
            if line.run_id == self.run:
                failed = line.status if not table.statement_of(row).is_graded else ""
                is_answered = None if failed else support.worth(row) == 1
                place = query, str(line.repeat)
                self.fates.setdefault(place, {})[nugget] = is_answered, weight, failed

    @property
    def queries(self) -> dict[str, list[str]]:
        """The questions of which any system was judged, each with the repeats of this one."""
        repeats: dict[str, list[str]] = {}
        for query, repeat in self.fates:
            repeats.setdefault(query, []).append(repeat)
        # What other systems were judged on, and this one was not at all, is missing.
        return {query: repeats.get(query, [""]) for query in {**repeats, **self._listed}}

    def of(self, query: str, repeat: str, more: Iterable[str]) -> dict[str, tuple[bool | None, float, str]]:
        """Return (in the answer, weight, why nobody knows) of each nugget of an answer, and of `more`."""
        fates = self.fates.get((query, repeat), {})
        listed = {**dict.fromkeys(more, 1.0), **self._listed.get(query, {})}
        return {nugget: fates.get(nugget, (None, weight, _ABSENT)) for nugget, weight in listed.items()}


def _choose_system(runs: Sequence[str], system: str | None) -> str:
    """Return the one system, or the one that is wanted."""
    systems = list(dict.fromkeys(runs))
    if not systems:
        raise InputError(
            problem="no judgement says which nuggets an answer has",
            expected="those of rageval judge nugget-assignment",
        )
    if system is None and len(systems) > 1:
        raise UsageError(
            f"several systems were judged: {', '.join(map(visible, systems))}; choose one: --system"
        )
    if system is not None and system not in systems:
        raise UsageError(
            f"--system {visible(system)}: is not judged; use one of {', '.join(map(visible, systems))}"
            + suggestion(system, systems)
        )
    return systems[0] if system is None else system


# The right answer as the one nugget of its question, for those who have no nuggets.
#
# Whether a passage has it is told by its words, as the judge `contains` does; whether the answer has it, by
# its label. What stands in a passage may mean something else, and what is put in other words is not seen.

_NUGGET = "answer"
_NOTHING = "nothing retrieved"  # stands for the passages of a question that has none
_WORDLESS = frozenset(("yes", "no", "true", "false", "invalid question"))


class RightAnswers(NamedTuple):
    """Judgements of answers and of passages by one nugget a question, its texts, and what to say of it."""

    judgements: JudgementsLike
    qrels: Qrels
    nuggets: list[Nugget]
    remarks: list[Remark]


def by_right_answers(
    table: JudgementTable, run: Run, questions: QuestionsLike | None, passages: RecordsLike | None
) -> RightAnswers:
    """Return which answers and which passages have the right answer."""
    if questions is None or passages is None:
        raise UsageError(
            "expected judgements of documents by nuggets (--qrels); or questions with right answers"
            " (--questions) and passage texts (--passages), to use each right answer as a nugget"
        )
    asked = hooks.questions_in(_file(questions, "questions"), [])
    texts = dict(passages_in(_file(passages, "passages")))
    retrieved = dict(run.ranked(Order()))
    judgements = list(_crag_judgements(table))
    queries = [query for query in dict.fromkeys(row["query_id"] for row in judgements) if query in asked]
    # A yes, or a premise that is wrong, stands in no passage as such.
    usable = [
        asked[query]
        for query in queries
        if any(
            gold.strip().lower().rstrip(".") not in _WORDLESS for gold in asked[query].gold if gold.strip()
        )
    ]
    if not usable:
        raise InputError(
            at=Place(table.name),
            problem="none of its questions has a right answer whose words could be found",
        )
    remarks = [Remark("gold_as_nuggets")]
    if len(usable) < len(queries):
        counts = {"number": len(queries) - len(usable), "total": len(queries)}
        remarks.append(Remark("gold_without_words", facts=counts))
    holding: list[Qrel] = []
    for question in usable:
        documents = retrieved.get(question.query_id, ())
        shown = {doc: texts[doc] for doc in documents if doc in texts}
        right = holding_gold(question, shown)
        holding += [Qrel(question.query_id, doc, int(doc in right), _NUGGET) for doc in shown]
        if not shown:
            holding.append(Qrel(question.query_id, _NOTHING, 0, _NUGGET))
    usable_ids = {question.query_id for question in usable}
    return RightAnswers(
        [row for row in judgements if row["query_id"] in usable_ids],
        Qrels.from_records(holding, "the right answers"),
        [Nugget(question.query_id, _NUGGET, " / ".join(question.gold)) for question in usable],
        remarks,
    )


def _file(records: Any, name: str) -> Any:
    return in_memory(records, name) if isinstance(records, list | tuple) else records


def _crag_judgements(table: JudgementTable) -> Iterator[dict[str, Any]]:
    """Yield a judgement of the nugget for each of an answer: what is right in part has it."""
    crag = required(table, CRAG, "diagnose without --qrels")
    for answer, row in crag.rows():
        line = table.line(answer, row)
        place = {
            "query_id": str(line.query_id),
            "run_id": line.run_id,
            "aspect": _NUGGET,
            "repeat": line.repeat,
        }
        label = None if line.label is None else "support" if CRAG.labels[line.label] > 0 else "not_support"
        yield place | {"label": label, "status": line.status, "rubric": "nugget-assignment"}


ON_MISSING = ("error", "skip", "worst", "best")
FEWEST = 20  # nuggets that a share among them rests on, at least
_WORST = 10


class Range(NamedTuple):
    """A number with its interval, for other questions of this kind."""

    value: float
    low: float
    high: float


class Bounded(NamedTuple):
    """A number with the range of what is unknown; no interval, as nothing is sampled."""

    value: float
    least: float
    most: float


@dataclass(frozen=True)
class QuestionLosses:
    """What became of the nuggets of one question; `shares` is empty where nothing of it is known.

    `parts` are the shares of the weight in C, in A and C, not in C, in A and not in C.
    """

    query_id: str
    shares: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]
    parts: tuple[float, float, float, float]
    lost: Sequence[tuple[str, str]]  # (nugget, how), those of most weight first

    @property
    def recall(self) -> float:
        """The share of the nuggets that is in the answer."""
        return self.shares[USED] + self.shares[MEMORY]


@dataclass(frozen=True)
class Diagnosis:
    """Where the nuggets of a system's answers were lost.

    `shares` are the six, each with its range over unjudged passages and missing judgements. `counts` is how
    many nuggets are of each kind. `what_if` is what a perfect retriever and a perfect generator would add to
    the recall, None with too few nuggets. `by` has the shares of slices, `abstention` how often the system
    refused. `texts` are those of nuggets, by query and id.
    """

    run: str
    depth: int
    questions: Sequence[QuestionLosses]
    shares: Mapping[str, Bounded]
    counts: Mapping[str, int]
    what_if: Mapping[str, Range | None]
    signature: str
    remarks: Sequence[Remark] = ()
    by: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    abstention: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def recall(self) -> float:
        """The share of the nuggets that is in the answers."""
        return math.fsum(self.shares[kind].value for kind in (USED, MEMORY))

    @property
    def in_passages(self) -> float:
        """The share of the nuggets that the passages hold: c."""
        return math.fsum(self.shares[kind].value for kind in (USED, DROPPED))

    @property
    def nuggets(self) -> int:
        """How many nuggets there are, of all answers."""
        return sum(self.counts.values())

    def worst(self) -> list[QuestionLosses]:
        """Return the questions with the largest losses, the worst first."""
        lost = [losses for losses in self.questions if losses.shares and losses.lost]
        return sorted(lost, key=lambda losses: (losses.recall, losses.query_id))[:_WORST]

    def tables(self) -> list[Table]:
        """Return the shares, what could be gained, slices, refusals, and the worst questions."""
        tables: list[Table] = hooks.display_of_diagnosis(self).tables()
        return tables

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "diagnosis": 1,
            "run": self.run,
            "depth": self.depth,
            "questions": len(self.questions),
            "nuggets": self.nuggets,
            "in_answers": self.recall,
            "in_passages": self.in_passages,
            "shares": {kind: self.shares[kind]._asdict() for kind in KINDS},
            "counts": dict(self.counts),
            "what_if": {name: gain and finite(gain._asdict()) for name, gain in self.what_if.items()},
            "abstention": finite(self.abstention),
            "by": {
                name: {group: dict(shares) for group, shares in of.items()} for name, of in self.by.items()
            },
            "worst": [
                {
                    "query_id": losses.query_id,
                    "in_answer": losses.recall,
                    "lost": [
                        {
                            "nugget_id": nugget,
                            "how": how,
                            "text": self.texts.get((losses.query_id, nugget), nugget),
                        }
                        for nugget, how in losses.lost
                    ],
                }
                for losses in self.worst()
            ],
            "remarks": [remark.as_record() for remark in self.remarks],
            "signature": self.signature,
        }


def diagnose(
    judgements: JudgementsLike,
    run: RunLike,
    qrels: QrelsLike | None = None,
    *,
    passages: RecordsLike | None = None,
    depth: int | None = None,
    rel: int = 1,
    system: str | None = None,
    nuggets: NuggetsLike | None = None,
    questions: QuestionsLike | None = None,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    on_missing: str = "error",
    level: float = 0.95,
    resamples: int = 4000,
    seed: int = 0,
    clusters: Clusters | None = None,
    clustered_by: str = "clusters",
) -> Diagnosis:
    """Show whether the retriever or the generator lost the nuggets that answers lack.

    Parameters
    ----------
    judgements
        Which nuggets the answers hold: files of `rageval judge nugget-assignment`, or dicts with their keys.
    run
        What was retrieved for them.
    qrels
        Which documents support which nuggets, as for `evaluate`; of spans what `rageval.spans.project`
        returns. Without, the right answer of each of the `questions` is its one nugget: an answer has it if
        its label of CRAG says so, a passage if it holds its words.
    passages
        The texts of passages, where there are no `qrels`: JSON lines with an id and a text.
    depth
        How many passages an answer was made from (default: all that were retrieved).
    rel
        The lowest grade that counts as support.
    system
        Whose answers, where several systems were judged.
    nuggets
        The nuggets, for their texts and importance.
    questions
        The questions, for their field `answerable`, and for right answers where there are no `qrels`.
    groups
        Slices: `{field: {query: value}}`.
    on_missing
        What judgements are that failed or are not there: an `error`, left out (`skip`), or taken for the
        `worst` or the `best`.
    level, resamples, seed
        Of the bootstrap over questions.
    clusters, clustered_by
        `{question: cluster}`, where questions are not independent, and its name in the signature; by default
        the conversations that judgements or questions name, which `none` undoes.

    Returns
    -------
    Diagnosis
        Six shares that add up to 1, what a perfect retriever or generator would add, the worst questions.

    Examples
    --------
    >>> from rageval.comparison import diagnose
    >>> labels = [("n1", "support"), ("n2", "not_support"), ("n3", "not_support"), ("n4", "not_support")]
    >>> judged = [{"query_id": "q", "run_id": "ours", "aspect": name, "label": label}
    ...           for name, label in labels]
    >>> run = {"q": {"a": 3.0, "b": 2.0}}
    >>> qrels = {"q": {"n1": {"a": 1}, "n2": {"a": 1}, "n3": {"b": 1}, "n4": {"c": 1}}}
    >>> diagnosis = diagnose(judged, run, qrels, depth=1)
    >>> {kind: share.value for kind, share in diagnosis.shares.items() if share.value}
    {'used': 0.25, 'lost_by_generator': 0.25, 'cut': 0.25, 'missed': 0.25}
    """
    require_clusters(clusters)
    if on_missing not in ON_MISSING:
        raise UsageError(f"on_missing={on_missing!r}: expected one of {', '.join(ON_MISSING)}")
    if depth is not None and (type(depth) is not int or depth < 1):
        raise UsageError(f"depth={depth!r}: expected a whole number from 1")
    table = read_judgements(judgements, nuggets=nuggets, questions=questions)
    source = run_source(run)
    tag = tag_of(source.path, source.reading) if source.path is not None else ""
    retrieved = source.run()
    if qrels is None:
        by_gold = by_right_answers(table, retrieved, questions, passages)
        judged, bank, first_remarks = by_gold.qrels, by_gold.nuggets, by_gold.remarks
        answers = read_judgements(by_gold.judgements)
    else:
        judged, bank, first_remarks, answers = as_qrels(qrels), _list_nuggets(nuggets), [], table
    evidence = Evidence(retrieved, judged, depth, rel)
    answered = Answered(answers, system, {(n.query_id, n.text): n.nugget_id for n in bank})
    remarks = list(first_remarks)
    # The run may be of another system than the answers, where each says whose it is.
    if tag and answered.run and tag != answered.run:
        remarks.append(Remark("run_of_another", facts={"tag": tag, "system": answered.run}))
    remarks += _check_overlap(answered, evidence, judged.name)
    of_query: dict[str, list[list[NuggetFate]]] = {
        query: [_fates(answered, evidence, query, repeat) for repeat in repeats]
        for query, repeats in answered.queries.items()
        if query in evidence
    }
    remarks += _missing_remarks(of_query, evidence, on_missing)
    losses = [_question_losses(query, cases, on_missing) for query, cases in of_query.items()]
    whole = [question for question in losses if question.shares]
    if not whole:
        raise InputError(at=Place(table.name), problem="no judgement of a nugget is left to diagnose")
    counts = _count_kinds(of_query, on_missing)
    provenance = dict(judged.provenance)
    provenance |= {"pool": "adaptive"} if judged.is_adaptive else {}
    provenance |= {"gold": "right-answer"} if qrels is None else {}
    parts = {"depth": evidence.depth, "rel": rel, "on_missing": on_missing, **provenance}
    asked = [question.query_id for question in whole]
    if clusters is None:
        clusters, clustered_by = clusters_by_conversation(asked, conversations_in(table)), CONVERSATION
    units = None if clusters == "none" else clusters
    if units is not None:
        require_groups(units, asked, "clusters")
        parts["units"] = visible(clustered_by)
        remarks += cluster_remarks(units, clustered_by, asked)
    parts["v"] = __version__
    return Diagnosis(
        answered.run,
        evidence.depth,
        losses,
        _shares(whole),
        counts,
        _possible_gains(whole, units, counts, level, resamples, seed),
        join_signature("diagnosis", parts),
        [*judged.remarks(), *remarks],
        {name: _slice_shares(whole, of) for name, of in (groups or {}).items()},
        _abstention_rates(table, answered.run, evidence, of_query),
        {(n.query_id, n.nugget_id): n.text for n in bank},
    )


def _list_nuggets(nuggets: NuggetsLike | None) -> list[Nugget]:
    """Return the nuggets of a file, or as they were handed over."""
    bank: Any = () if nuggets is None else nuggets
    return list(bank if isinstance(bank, list | tuple) else read_nuggets(bank))


def _fates(answered: Answered, evidence: Evidence, query: str, repeat: str) -> list[NuggetFate]:
    return [
        NuggetFate(
            nugget,
            weight,
            BOTH if is_answered is None else (is_answered,),
            *evidence.of(query, nugget),
            status,
        )
        for nugget, (is_answered, weight, status) in answered.of(
            query, repeat, evidence.nuggets(query)
        ).items()
    ]


def _check_overlap(answered: Answered, evidence: Evidence, qrels: str) -> Iterator[Remark]:
    """Refuse judgements that speak of other nuggets; say which questions cannot be looked into."""
    queries = answered.queries
    covered = [query for query in queries if query in evidence]
    ours = {nugget for (query, _), fates in answered.fates.items() if query in evidence for nugget in fates}
    theirs = {nugget for query in covered for nugget in evidence.nuggets(query)}
    if not covered or not ours & theirs:
        what = "question" if not covered else "nugget"
        names = (queries, evidence.queries) if not covered else (ours, theirs)
        raise InputError(
            at=Place(visible(qrels)),
            problem=f"no {what} in common with the judged answers",
            expected=f"judgements of documents by the same {what}s",
            remedy=near_misses(*(list(map(str, some)) for some in names)),
        )
    if len(covered) < len(queries):
        counts = {"number": len(queries) - len(covered), "total": len(queries)}
        yield Remark("questions_without_documents", facts=counts)
    if lacking := len(set(evidence.queries) - set(queries)):
        total = len(set(evidence.queries))
        yield Remark("questions_without_answer", facts={"number": lacking, "total": total})
    empty = sum(not evidence.retrieved(query) for query in covered)
    if empty:
        yield Remark("nothing_retrieved", facts={"number": empty, "total": len(covered)})


def _missing_remarks(
    of_query: Mapping[str, list[list[NuggetFate]]], evidence: Evidence, on_missing: str
) -> Iterator[Remark]:
    """Say how many passages are unjudged and judgements missing; raise an error where these may not be."""
    unjudged = list(filter(None, map(evidence.unjudged, of_query)))
    if unjudged:
        counts = {"number": sum(unjudged), "questions": len(unjudged)}
        yield Remark("unjudged_passages", facts=counts)
    lost = Counter(
        fate.status for cases in of_query.values() for fates in cases for fate in fates if fate.status
    )
    if not lost:
        return
    missing = Remark("missing_nuggets", facts={"by_status": sorted(lost.items()), "on_missing": on_missing})
    if on_missing == "error":
        raise MissingJudgements(str(missing))
    yield missing


def _question_losses(query: str, cases: Sequence[Sequence[NuggetFate]], on_missing: str) -> QuestionLosses:
    """Return what became of the nuggets of a question, the mean over its answers."""
    shares: list[dict[str, float]] = []
    bounds: list[dict[str, tuple[float, float]]] = []
    parts: list[tuple[float, ...]] = []
    lost: dict[tuple[str, str], float] = {}
    for fates in cases:
        answers = [(fate, _assumed_answer(fate, on_missing)) for fate in fates]
        kept = [(fate, fate.at_point(answer), answer) for fate, answer in answers if answer is not None]
        total, every = (math.fsum(fate.weight for fate in some) for some in ([k[0] for k in kept], fates))
        if not kept:
            continue
        weights = {kind: math.fsum(f.weight for f, k, _ in kept if k == kind) for kind in KINDS}
        shares.append({kind: weight / total for kind, weight in weights.items()})
        may = [(fate.weight, fate.kinds()) for fate in fates]
        # Between these each share lies, over all that is not known.
        bounds.append(
            {
                kind: (
                    math.fsum(weight for weight, kinds in may if kinds == {kind}) / every,
                    math.fsum(weight for weight, kinds in may if kind in kinds) / every,
                )
                for kind in KINDS
            }
        )
        used, dropped, memory = (shares[-1][kind] for kind in (USED, DROPPED, MEMORY))
        away = math.fsum(shares[-1][kind] for kind in (MEMORY, CUT, MISSED, GAP))
        parts.append((used + dropped, used, away, memory))
        for fate, kind, answer in kept:
            if not answer:
                lost[fate.nugget_id, kind] = max(lost.get((fate.nugget_id, kind), 0.0), fate.weight)
    if not shares:
        return QuestionLosses(query, {}, {}, (0.0, 0.0, 0.0, 0.0), [])
    of_most = sorted(lost, key=lambda place: (-lost[place], place))
    sums = [math.fsum(column) / len(shares) for column in zip(*parts, strict=True)]
    return QuestionLosses(
        query,
        {kind: math.fsum(row[kind] for row in shares) / len(shares) for kind in KINDS},
        {kind: _mean_ends([row[kind] for row in bounds]) for kind in KINDS},
        (sums[0], sums[1], sums[2], sums[3]),
        of_most,
    )


def _assumed_answer(fate: NuggetFate, on_missing: str) -> bool | None:
    """Return whether the answer has a nugget, as far as it is known or taken for; None to leave it out."""
    if len(fate.answered) == 1:
        return fate.answered[0]
    return {"worst": False, "best": True}.get(on_missing)


def _mean_ends(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    low, high = (math.fsum(end[side] for end in ends) / len(ends) for side in (0, 1))
    return low, high


def _shares(losses: Sequence[QuestionLosses]) -> dict[str, Bounded]:
    """Return the six shares, the means over questions."""
    return {
        kind: Bounded(
            math.fsum(question.shares[kind] for question in losses) / len(losses),
            *_mean_ends([question.bounds[kind] for question in losses]),
        )
        for kind in KINDS
    }


def _slice_shares(losses: Sequence[QuestionLosses], groups: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return the shares of each group, and how many questions it has."""
    parts: dict[str, list[QuestionLosses]] = {}
    for question in losses:
        parts.setdefault(groups[question.query_id], []).append(question)
    return {
        group: {"questions": float(len(some)), **{kind: share.value for kind, share in _shares(some).items()}}
        for group, some in sorted(parts.items())
    }


def _count_kinds(of_query: Mapping[str, Sequence[Sequence[NuggetFate]]], on_missing: str) -> dict[str, int]:
    """Return how many nuggets are of each kind."""
    answers = [
        (fate, _assumed_answer(fate, on_missing))
        for cases in of_query.values()
        for fates in cases
        for fate in fates
    ]
    count = Counter(fate.at_point(answer) for fate, answer in answers if answer is not None)
    return {kind: count[kind] for kind in KINDS}


def _possible_gains(
    losses: Sequence[QuestionLosses],
    units: Mapping[str, str] | None,
    counts: Mapping[str, int],
    level: float,
    resamples: int,
    seed: int,
) -> dict[str, Range | None]:
    """Return what a perfect retriever and a perfect generator would add to the recall, with intervals.

    These are over questions, or over `units`, the clusters of these.
    """

    def by_retriever(sums: Any) -> Any:
        """Return (1 − c)(u − r): what is not in the passages, used as often as what is."""
        there, used, away, memory = sums
        return away / (there + away) * (used / there - memory / away)

    def by_generator(sums: Any) -> Any:
        """Return c(1 − u): what is in the passages, all used."""
        there, used, away, _ = sums
        return (there - used) / (there + away)

    are_there = counts[USED] + counts[DROPPED] >= FEWEST
    are_away = sum(counts[kind] for kind in (MEMORY, CUT, MISSED, GAP)) >= FEWEST
    gains: dict[str, tuple[bool, Callable[[Any], Any]]] = {
        "retriever": (are_there and are_away, by_retriever),
        "generator": (are_there, by_generator),
    }
    if not are_there:
        return dict.fromkeys(gains)
    import numpy as np

    # By id, so that the order of lines changes nothing that is drawn.
    parts = np.array([question.parts for question in sorted(losses, key=lambda question: question.query_id)])
    if units is not None:
        names = sorted(question.query_id for question in losses)
        _, unit = np.unique([units[name] for name in names], return_inverse=True)
        sums = np.zeros((int(unit.max()) + 1, parts.shape[1]))
        np.add.at(sums, unit, parts)
        parts = sums
    ranges: dict[str, Range | None] = dict.fromkeys(gains)
    for name, (enough, gain) in gains.items():
        if enough:
            ends = interval_of(gain, parts, level, resamples, seed)
            ranges[name] = Range(float(gain(parts.sum(axis=0))), *ends)
    return ranges


def _abstention_rates(
    table: JudgementTable,
    run: str,
    evidence: Evidence,
    of_query: Mapping[str, Sequence[Sequence[NuggetFate]]],
) -> dict[str, float]:
    """Return how often the system refused, and how many refusals had evidence in their passages."""
    if not table.rubrics().intersection(ABSTENTION.rubrics):
        return {}
    crag = on(table, ABSTENTION)
    lines = [table.line(answer, row) for answer, row in crag.rows()]
    judged_lines = [line for line in lines if line.run_id == run and line.label is not None]
    if not judged_lines:
        return {}
    rates: dict[str, float] = {}
    for name in family("abstention"):
        with suppress(UsageError):  # nothing says which questions can be answered
            rates[name] = scored_answers(name, table, on_missing="skip")[run].scores[0].value
    refused: dict[str, list[bool]] = {}
    answerable = {str(table.queries.words[query]): can for query, can in answerable_in(table).items()}
    for line in judged_lines:  # a question with nuggets can be answered, unless somebody says otherwise
        if str(line.query_id) in of_query and answerable.get(str(line.query_id), True):
            refused.setdefault(str(line.query_id), []).append(line.label == REFUSED)
    shares = {query: sum(some) / len(some) for query, some in refused.items()}
    has_evidence = {query: any(fate.found[0] for fate in of_query[query][0]) for query in shares}
    for name, expected in (("refused_with_evidence", True), ("refused_without_evidence", False)):
        rates[name] = math.fsum(shares[query] for query in shares if has_evidence[query] == expected) / (
            len(shares) or 1
        )
    return rates
