"""People's judgements beside a judge's: their value of every query that they labeled whole.

Values are the measure's, from what each person said alone: an answer counts as labeled by a person who
judged all that the judge did (every nugget of the same list, every citation), a ranking by one who judged all
of its documents that the judge judged, as deep as the measure looks. What was judged in part is no label, and
is counted. Where several people labeled the same, the mean of their values counts: an answer about which two
differ is worth something between, and there is no vote to be lost.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from msgspec import structs

from rageval.core.basis import Basis, BasisKind, DrawKind
from rageval.core.judge import parse_judge
from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, Place, UsageError
from rageval.files.judgements import JudgementTable, judgement_line
from rageval.files.kinds import kind_of
from rageval.files.opening import Source, can_read_again, name_of
from rageval.files.plans import LabelPlan, Look, is_plan, plans_of_labels, read_plan
from rageval.files.questions import read_weights
from rageval.files.start import JUDGED_ANSWERS, JUDGED_DOCUMENTS
from rageval.measures.base import Measure
from rageval.measures.scales import POSITION
from rageval.scoring.assessments import MOST_MISSING, JudgeOfRun, NotThisJudge
from rageval.scoring.qrels import Qrels
from rageval.scoring.sources import as_qrels, read_qrels
from rageval.statistics.looks import bound_at
from rageval.text import some, visible

UNSAID, UNIFORM = "unsaid", "uniform"
_DOCUMENTS = "documents"  # the system of judgements of documents
DOUBT = 1e-6  # p below which it is doubted that labels were drawn as is said
_LEAST_BOUND = 1e-12
_NUMBERED = "\0"  # between a judge's name and the number of the file, where several have one name


@dataclass(frozen=True)
class Draw:
    """How it came that these queries were labeled: `how` is what signatures say of it.

    `chances` is how likely each was to be chosen, where they were not alike; of a plan, `compares` are the
    systems it was drawn to compare, `same` the queries on which they gave the same answer, and `labeled` is
    how many queries at its beginning were labeled whole.
    """

    name: str = "gold"
    sha: str = ""
    how: str = UNSAID
    chances: Mapping[str, float] | None = field(default=None, hash=False)
    plan: LabelPlan | None = field(default=None, hash=False)
    labeled: int = 0
    doubt: Remark | None = None

    def kind(self, unlabeled: int) -> DrawKind:
        """Return how labels were drawn that leave so many queries without one."""
        if not unlabeled:
            return DrawKind.ALL
        if self.plan is not None:
            return DrawKind.PLAN
        if self.chances is not None:
            return DrawKind.CHANCES
        return DrawKind.UNIFORM if self.how == UNIFORM else DrawKind.UNSTATED

    @property
    def origin(self) -> str:
        """The digest of the plan or of the chances by which the draw was made; "" of others."""
        if self.plan is not None:
            return self.plan.sha
        if self.chances is None:
            return ""
        return _sha_of((), (f"{query} {chance!r}" for query, chance in sorted(self.chances.items())))

    def of_both(self, other: Draw) -> Draw:
        """Return how those queries were drawn that are labeled for both of two systems, drawn alike.

        Of a plan both are a beginning of one order. What depends on a draw that nobody states is stated by
        nobody.
        """
        return min(self, other, key=lambda draw: (draw.how != UNSAID, draw.labeled))

    @property
    def is_uneven(self) -> bool:
        """Whether some queries were likelier to be labeled than others."""
        return bool(self.chances) or (self.plan is not None and bool(self.plan.sizes))

    def weights(self, labeled: Collection[str]) -> dict[str, float] | None:
        """Return how many queries each labeled one stands for: 1 over its chance; None if all are alike."""
        if not self.is_uneven:
            return None
        # A query of a plan that is labeled in part was drawn like the others.
        chances = chances_of(replace(self, labeled=len(labeled)), labeled, labeled) or ()
        return {query: 1 / chance for query, chance in zip(labeled, chances, strict=True)}

    def require_equal_chances(self, what: str) -> None:
        """Refuse labels that are no uniform sample of all queries, for `what` cannot weigh them."""
        if self.is_uneven:
            how = "some of these labels were likelier to be drawn than others"
        elif self.compares:
            names = " and ".join(sorted(map(visible, self.compares)))
            how = f"these labels are only of queries on which {names} gave different answers"
        else:
            return
        raise UsageError(
            f"{visible(self.name)}: {how}, which {what} cannot account for; use labels of a uniform sample"
            " (rageval label plan without --by doubt and --compare)"
        )

    @property
    def clusters(self) -> Mapping[str, str]:
        """The cluster of every query, of a plan that drew whole clusters; nothing of others."""
        return self.plan.clusters if self.plan is not None else {}

    @property
    def refuses_means(self) -> Remark | None:
        """Why labels that were drawn to compare systems correct no mean; None of others."""
        # Such a plan left out queries on which both said the same, so its labels are no sample of all.
        return Remark("labels_to_compare", facts={"names": sorted(self.compares)}) if self.compares else None

    @property
    def look(self) -> Look | None:
        """The look that is taken at the labels of a plan by now."""
        return None if self.plan is None else Look(self.labeled, len(self.plan.asked))

    def look_level(self, level: float) -> float | None:
        """Return the level of an interval that holds at every look before the last; None at the last.

        The last interval has the usual level: with looks from the 20th of 200 labels on, .058 are wrong once.
        """
        look = self.look
        if look is None or look.is_last:
            return None
        # At first the bound is so small that 1 less it is 1.
        return 1 - max(bound_at(look.labeled, look.of, level), _LEAST_BOUND)

    def by_plan(self, rows: Mapping[str, int], name: str) -> Draw:
        """Return the draw with how many queries were labeled whole; `rows` are judgements by query.

        InputError unless these are the beginning of the plan. The last one may not be labeled whole yet.
        """
        if self.plan is None:
            return self
        done = self.plan.drawn(rows, name)
        # The query at hand is labeled whole when as many things are labeled as were asked of it.
        asked = self.plan.asked[len(done) - 1].judgements if done else 0
        return replace(self, labeled=len(done) - (bool(done) and rows[done[-1]] < asked))

    @property
    # Only where something was left out: a plan that asked every query is a sample of all of them.
    def compares(self) -> frozenset[str]:
        """The systems that a plan was drawn to compare, if it left out where they gave the same answer."""
        return frozenset(self.plan.compare or ()) if self.plan is not None and self.plan.same else frozenset()

    @property
    def same(self) -> frozenset[str]:
        """The queries on which these gave the same answer."""
        return frozenset(self.plan.same) if self.plan is not None else frozenset()


@dataclass(frozen=True)
class People:
    """People's value of every query they labeled whole, by one measure, of one system.

    `partly` are the queries that they judged in part, or by another list: no labels. `by` are the names of
    those who labeled, of whom some may be no people; `tests` is how many means and differences there are of
    which it is asked whether the labels were chosen by them. `failed` are the queries of which a label was
    asked for and failed, and that have no value; `who` names those whose values each query has.
    """

    values: Mapping[str, float] = field(hash=False)
    draw: Draw
    partly: frozenset[str] = frozenset()
    by: tuple[str, ...] = ()
    tests: int = 1
    failed: frozenset[str] = frozenset()
    who: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)


class Gold(NamedTuple):
    """What people said: of answers a table, of documents the judgements of each of them.

    `failed` are the documents of each query of which a label failed.
    """

    draw: Draw
    labels: JudgementTable | Mapping[str, Qrels]
    failed: Mapping[str, Collection[str]] = {}

    @property
    def answers(self) -> JudgementTable:
        """The labels of answers."""
        if not isinstance(self.labels, JudgementTable):
            raise UsageError(f"{self.draw.name}: holds judgements of documents; expected some of answers")
        return self.labels

    @property
    def documents(self) -> Mapping[str, Qrels]:
        """The labels of documents, by who gave them."""
        if isinstance(self.labels, JudgementTable):
            raise UsageError(f"{self.draw.name}: holds judgements of answers; expected some of documents")
        return self.labels

    @property
    def queries(self) -> set[str]:
        """The queries of which somebody labeled anything."""
        return {query for query, *_ in _labeled(self.labels)}

    @property
    def by(self) -> tuple[str, ...]:
        """Who labeled, by name: "" for one who is not named."""
        names = self.labels.judges.words if isinstance(self.labels, JudgementTable) else self.labels
        return tuple(str(name).partition(_NUMBERED)[0] for name in names)


def drawn(chosen: Any = None) -> Draw:
    """Return how labels were chosen: `uniform`, by a plan, by chances as a file or {query: chance}."""
    if chosen is None or chosen == UNIFORM:
        return Draw(how=chosen or UNSAID)
    if isinstance(chosen, Mapping):
        return Draw(how="stated", chances=_checked_chances(chosen, "gold_chosen"))
    if not os.path.isfile(chosen):
        raise InputError(
            at=Place(visible(str(chosen))),
            problem="no such file",
            expected=f"{UNIFORM}, a plan, or query and chance",
        )
    sha = _sha_of([chosen])
    if is_plan(chosen):
        plan = read_plan(chosen)
        return Draw(how=f"plan@{plan.sha[:8]}", plan=plan)
    return Draw(
        how=f"stated@{sha}",
        chances=_checked_chances(read_weights(chosen, "query_id chance"), name_of(chosen)),
    )


def chances_of(draw: Draw, queries: Iterable[str], labeled: Collection[str]) -> list[float] | None:
    """Return every query's chance to be chosen, None if they were alike; each labeled one must have one."""
    if draw.plan is not None and draw.plan.sizes:
        from rageval.statistics.samples import in_proportion

        sizes = draw.plan.sizes
        chance = dict(zip(sizes, in_proportion(list(sizes.values()), draw.labeled), strict=True))
        return [chance.get(query, 1.0) for query in queries]
    if draw.chances is None:
        return None
    # Queries without a label need no chance: nothing is weighed by it.
    unknown = [query for query in labeled if query not in draw.chances]
    if unknown:
        raise InputError(
            at=Place(draw.name),
            problem=f"{len(unknown):,} labeled queries have no probability of being chosen, such as"
            f" {visible(unknown[0])!r}",
            expected="a line for each",
        )
    return [draw.chances.get(query, 1.0) for query in queries]


def _against_chances(draw: Draw, labeled: Collection[str], name: str) -> Draw:
    """Return the draw with a doubt of its chances; refuse those that the labeled queries contradict."""
    chances = draw.chances or {}
    without = [query for query in chances if query not in labeled]
    # A file may leave out queries without a label, and then its sum tells nothing.
    if not without:
        return draw
    certain = [query for query in without if chances[query] == 1]
    if certain:
        raise InputError(
            at=Place(visible(name)),
            problem=f"{len(certain):,} queries with a probability of 1 have no label, such as"
            f" {visible(certain[0])!r}",
            expected="the probability with which each query was chosen",
        )
    number = sum(query in labeled for query in chances)
    expected = math.fsum(chances.values())
    spread = math.sqrt(math.fsum(chance * (1 - chance) for chance in chances.values()))
    p = math.erfc(abs(number - expected) / spread / math.sqrt(2))
    if p >= DOUBT:
        return draw
    facts = {"expected": expected, "number": number, "p": p}
    return replace(draw, doubt=Remark("doubtful_chances", Scope(file=draw.name), facts))


def _checked_chances(chances: Mapping[str, float], name: str) -> dict[str, float]:
    for query, chance in chances.items():
        if not 0 < chance <= 1:
            raise InputError(
                at=Place(name),
                expected=f"a probability above 0, up to 1, for query {visible(str(query))}",
                found=f"{chance}",
            )
    return {str(query): float(chance) for query, chance in chances.items()}


def _sha_of(sources: Sequence[Any], lines: Iterable[str] = ()) -> str:
    """Return the first digits of the SHA-256 of the files, one after the other, and of lines."""
    digest = hashlib.sha256()
    for source in sources:
        if isinstance(source, str | os.PathLike) and os.path.isfile(source):
            with open(source, "rb") as stream:
                while block := stream.read(2**20):
                    digest.update(block)
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()[:8]


def _require_plan(sources: Iterable[Any], draw: Draw) -> None:
    """Refuse labels of a plan that is not at hand, or of another one than the one that is."""
    for place, plan in _plan_marks(sources):
        # Labels that a plan drew are no uniform sample, and to take them for one would bend every interval.
        if draw.how == UNSAID:
            raise UsageError(
                f"{place}: is a label of the plan {visible(plan[:8])}; give that plan, too (--gold-chosen"
                f" PLAN.jsonl), or --gold-chosen {UNIFORM} if they were drawn at random"
            )
        if draw.plan is not None and plan not in draw.plan.known:
            raise InputError(
                at=Place(place),
                problem=f"is a label of the plan {visible(plan[:8])}, not of {draw.plan.sha[:8]}, which was"
                " given",
            )


def _plan_marks(sources: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield where each label stands that says which plan it is of, and the plan."""
    for number, source in enumerate(sources, 1):
        if isinstance(source, JudgementTable):
            yield from _plan_marks(filter(os.path.isfile, source.sources))
        elif isinstance(source, Mapping):
            if source.get("plan"):
                yield f"label {number}", str(source["plan"])
        elif isinstance(source, list | tuple):
            yield from _plan_marks(source)
        elif isinstance(source, str | os.PathLike) and can_read_again(source):
            for line, plan in plans_of_labels(source):
                yield f"{name_of(source)}:{line}", plan


# --- labels beside scores


def gold_of(
    labels: JudgementTable | Mapping[str, Qrels],
    sources: Sequence[Any],
    draw: Draw,
    failed: Mapping[str, Collection[str]] | None = None,
) -> Gold:
    """Return labels, held against the plan or the chances by which they were chosen.

    Labels are a table of judged answers, or judgements of documents by each labeler; `sources` are what they
    were read from, and `failed` the documents of each query of which a label failed.
    """
    name = labels.name if isinstance(labels, JudgementTable) else ", ".join(map(_name, sources))
    draw = draw_of_labels(_labeled(labels), sources, draw, name, failed or {})
    if all(isinstance(source, str | os.PathLike) and os.path.isfile(source) for source in sources):
        sha = _sha_of(sources)
    # In memory there is no file to take the digest of, so it is of the lines it would have.
    elif isinstance(labels, JudgementTable):
        sha = _sha_of((), (judgement_line(structs.asdict(line)) for _, line in labels.each()))
    else:
        sha = _sha_of((), (repr(row) for qrels in labels.values() for row in qrels))
    return Gold(replace(draw, sha=sha), labels, failed or {})


def draw_of_labels(
    things: Iterable[tuple[str, ...]],
    sources: Iterable[Any],
    draw: Draw,
    name: str,
    failed: Collection[str] = (),
) -> Draw:
    """Return how labels were drawn, held against the labels themselves; every reader of labels asks this.

    `things` are what was labeled, the query first, `sources` what the labels were read from, and `failed`
    queries of which a label failed. Labels of a plan are refused without it.
    """
    _require_plan(sources, draw)
    draw = replace(draw, name=name)
    if draw.plan is not None:
        # Two annotators of the same thing labeled one thing.
        draw = draw.by_plan(Counter(query for query, *_ in dict.fromkeys(things)), name)
    elif draw.chances is not None:
        draw = _against_chances(draw, {query for query, *_ in things} | set(failed), name)
    return draw


def _labeled(labels: JudgementTable | Mapping[str, Qrels]) -> Iterator[tuple[str, ...]]:
    """Yield what each label is of: the query first."""
    if isinstance(labels, JudgementTable):
        for _, line in labels.each():
            yield str(line.query_id), str(line.run_id), str(line.item_id), str(line.aspect)
    else:
        yield from ((row.query_id, row.doc_id, row.iteration) for qrels in labels.values() for row in qrels)


def _name(source: Any) -> str:
    return name_of(source) if isinstance(source, str) else str(getattr(source, "name", "gold"))


def labels_of_answer(
    measure: object, run: str, judged: JudgementTable, people: JudgementTable
) -> tuple[list[tuple[str, dict[str, float | None]]], Collection[str]]:
    """Return what people said of a system's answers, by a measure, and of which queries labels failed."""
    if run not in people.runs or not isinstance(measure, Measure):
        return [], ()
    ours: dict[str, set[tuple[str, str]]] = {}
    for judge in range(len(judged.judges.words)):
        # "worst": what the judge failed at he was asked, so it belongs to what people had to label.
        for query, (_, places) in _seen(measure, judged, judged.runs[run], judge, "worst").items():
            ours.setdefault(query, set()).update(places)
    by_labeller = []
    for judge, name in enumerate(people.judges.words):
        values: dict[str, float | None] = {}
        for query, (value, places) in _seen(measure, people, people.runs[run], judge, "skip").items():
            if query not in ours:
                continue
            # People and judges may name the answer as a whole differently.
            one_thing = len(ours[query]) <= 1 and len(places) <= 1  # an answer as a whole, by whatever name
            if value == value and (one_thing or places == ours[query]):
                values[query] = value
            elif places:
                values[query] = None
        by_labeller.append((str(name), values))
    return by_labeller, failed_labels(measure, people, run)


def refuse_the_judge(judged: JudgementTable, people: JudgementTable) -> None:
    """Refuse labels of which the judge is the author: they tell nothing of its errors."""
    if judged.is_adaptive:
        raise UsageError(
            f"{visible(judged.name)}: {Remark('adaptive_judgements')}; leave out the human labels"
        )
    refuse_same(list(map(str, judged.judges.words)), people.judges.words, people.name)
    # The same file on both sides has no error at all, and would make the narrowest interval there is.
    if any(map(os.path.isfile, set(people.sources) & set(judged.sources))):
        raise UsageError(f"{visible(people.name)}: has judgements by the judge; expected human labels")


def failed_labels(measure: Measure, table: JudgementTable, run: str) -> dict[str, int]:
    """Return how many labels of each query, of what the measure depends on, were asked for and failed."""
    counts: Counter[str] = Counter()
    if run not in table.runs or not table.failed():
        return counts
    for judge in range(len(table.judges.words)):
        judged = _seen(measure, table, table.runs[run], judge, "skip")
        # "worst" stands in for what failed, so it has what was asked for.
        for query, (_, places) in _seen(measure, table, table.runs[run], judge, "worst").items():
            if failed := places - judged[query][1] if query in judged else places:
                counts[query] += len(failed)
    return counts


def why_lost(failed: int, labeled: int) -> Remark | None:
    """Return why labels that failed forbid a claim; None if they are few.

    What "cannot be told" is seldom a random draw: it may be all that is right, or wrong, of one system.
    """
    total = failed + labeled
    if failed <= MOST_MISSING * total:
        return None
    return Remark("many_labels_failed", facts={"number": failed, "total": total, "most": MOST_MISSING})


def _seen(
    measure: Measure, table: JudgementTable, run: int, judge: int, missing: str
) -> dict[str, tuple[float, set[tuple[str, str]]]]:
    """Return a judge's value of every query that he said anything of, and what it depends on."""
    values = {}
    try:
        for answer in JudgeOfRun(table, run, judge, missing).assessments():
            value = float(measure.value(answer.asked_by(measure)))
            if not answer.was_judged and POSITION not in answer.scales:
                continue
            scales = [scale for scale in answer.scales if scale is not POSITION]
            places = {
                (judgement.item, judgement.aspect) for scale in scales for judgement in answer.judged(scale)
            }
            values[answer.query_id] = value, places
    except NotThisJudge:
        return {}
    return values


def refuse_same(judges: Sequence[str], people: Sequence[str], name: str) -> None:
    """Refuse labels by a judge whose errors they are to tell."""
    # Without the digest of the prompt: the same model by another prompt is the same author.
    ours = {voice.name for judge in judges for voice in parse_judge(judge).voices if voice.name}
    same = [who for who in people if any(voice.name in ours for voice in parse_judge(who).voices)]
    if same:
        raise UsageError(
            f"{visible(name)}: has judgements by the judge itself ({some(same)}), which do not show its"
            " errors; expected human labels"
        )


def label_remarks(gold: Gold) -> list[Remark]:
    """Say that not all labels are by people, that chances are doubtful, that a plan is labeled in part."""
    labels, draw = Scope(file=gold.draw.name), gold.draw
    remarks = []
    if Basis.of_labels(gold.by).kind is not BasisKind.PEOPLE:
        remarks.append(Remark("labels_of_judges", labels, {"labelers": gold.by}))
    if draw.doubt is not None:
        remarks.append(replace(draw.doubt, about=labels))
    if draw.look is not None and not draw.look.is_last:
        counts = {"labeled": draw.look.labeled, "total": draw.look.of}
        remarks.append(Remark("plan_in_part", labels, counts))
    return remarks


# --- documents


def gold_of_documents(sources: Sequence[Any], draw: Draw) -> Gold:
    """Return what people said of documents: qrels, or judgements of documents as JSON lines."""
    qrels_by_judge: dict[str, Qrels] = {}
    failed: dict[str, set[str]] = {}
    for number, source in enumerate(sources):
        for who, qrels in _qrels_by_judge(source, failed):
            # Two files without a judge's name are two people.
            qrels_by_judge[who if who not in qrels_by_judge else f"{who}{_NUMBERED}{number}"] = qrels
    return gold_of(qrels_by_judge, sources, draw, failed)


def _qrels_by_judge(source: Any, failed: dict[str, set[str]]) -> Iterator[tuple[str, Qrels]]:
    """Yield each judge of a file with the judgements; note of which documents of a query they failed."""
    if not isinstance(source, str | os.PathLike):
        qrels = as_qrels(source)
        yield "+".join(qrels.judges), qrels
        return
    kind = kind_of(source, among=(JUDGED_DOCUMENTS, JUDGED_ANSWERS))
    if kind is not None and kind.holds == JUDGED_ANSWERS:
        yield from _of_lines(source, failed)
    else:
        qrels = read_qrels(source)
        yield "+".join(qrels.judges), qrels


def _of_lines(source: Source, failed: dict[str, set[str]]) -> Iterator[tuple[str, Qrels]]:
    name = name_of(source)
    table = JudgementTable(name)
    table.add_file(source)
    table.finish()
    rows: dict[str, list[dict[str, Any]]] = {}
    for row, line in table.each():
        if line.run_id != _DOCUMENTS:
            raise InputError(
                at=table.where(row),
                expected=f"a judgement of a document (run_id {_DOCUMENTS})",
                found=f"one of {visible(str(line.run_id))}",
            )
        if not table.statement_of(row).is_graded:
            failed.setdefault(str(line.query_id), set()).add(str(line.item_id))
            continue
        # Measures of documents know whole grades only.
        if line.grade is None or line.grade % 1:
            raise InputError(
                at=table.where(row), expected="a whole grade of a document", found=f"{line.grade}"
            )
        place = {"query_id": line.query_id, "doc_id": line.item_id, "nugget_id": line.aspect}
        rows.setdefault(line.judge, []).append({**place, "relevance": int(line.grade)})
    for judge, records in rows.items():
        yield judge, Qrels.from_records(records, name)
