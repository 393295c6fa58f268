"""Measures meet judged answers: judgements in, a value a measure and query out, for every system."""

from __future__ import annotations

import heapq
import json
import math
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from rageval import hooks
from rageval.core.remark import Remark, Scope
from rageval.core.signature import short_digest
from rageval.errors import InputError, MeasureError, MissingJudgements, Place, UsageError
from rageval.files.answers import write_answers
from rageval.files.jsonl import in_memory
from rageval.files.judgements import JudgementTable, kept_in_table
from rageval.files.kinds import JUDGED_FIRST, kind_of_records
from rageval.files.opening import Limits, name_of, with_limits
from rageval.files.start import ANSWERS as OF_ANSWERS
from rageval.files.start import ROWS
from rageval.measures.assessment import Assessment
from rageval.measures.base import LOWER, MEAN, NEITHER, POOL, TOGETHER, Measure
from rageval.measures.parsing import parse_measures
from rageval.measures.ranking import Blend, Share, pooled
from rageval.measures.scales import ALL, CRAG, OUTCOME, POSITION, PROXIES, SUPPORT, Scale
from rageval.measures.together import merged
from rageval.scoring._weights import add_matches, relate_citations, weigh
from rageval.scoring.arguments import as_source, in_order, items_of
from rageval.scoring.assessments import (
    ABSENT,
    GIVE_NUGGETS,
    NO_ANSWER,
    UNRATED,
    JudgeOfRun,
    NotThisJudge,
    conversations_in,
    on,
    unanswered,
    unknown_rubrics,
    with_labeled,
    with_questions,
)
from rageval.scoring.rules import COMPAT_OF_ANSWERS, Rules, rules_of
from rageval.scoring.scores import (
    EXAMPLES,
    RunFingerprint,
    Score,
    Scored,
    Scores,
    ScoresTable,
    SpreadOfAnswers,
    checked_weights,
    combined,
    require_groups,
    says_something,
    undefined_remarks,
)
from rageval.subjects import ANSWERS, require_kind
from rageval.text import count_noun, visible
from rageval.version import __version__

if TYPE_CHECKING:
    from rageval.records import Answer
    from rageval.scoring.gold import Draw, Gold
    from rageval.scoring.likeness import Likenesses
    from rageval.typing import (
        AnswerOptions,
        ChosenLike,
        FileLike,
        JudgementsLike,
        JudgesLike,
        MeasuresLike,
        NuggetsLike,
        QuestionsLike,
        RecordsLike,
    )

_SHOWN = 10
_UNSURE = 0.1  # the doubt from which a verdict is called unsure
_FIRST = 3  # of these, how many are named
_WAY_OF_QUESTIONS = (
    "if other questions were asked than those given, give only those that were asked, or use --intersection"
    " (intersection=True in Python)"
)
_WAYS_ON = "judge them again, or use --on-missing skip, worst or best (on_missing= in Python)"


def evaluate_answers(
    measures: MeasuresLike,
    judgements: JudgementsLike | None = None,
    *,
    answers: RecordsLike | Iterable[FileLike] | None = None,
    nuggets: NuggetsLike | None = None,
    questions: QuestionsLike | None = None,
    gold: JudgementsLike | None = None,
    gold_chosen: ChosenLike | None = None,
    judge: JudgesLike | None = None,
    rubric: str | None = None,
    **rules: Unpack[AnswerOptions],
) -> ScoresTable:
    """Score judged answers, or tables of answers that are judged first.

    Parameters
    ----------
    measures
        A measure of answers, its name, several names in one text, or a list of these.
    judgements
        Paths, a table made by `read_judgements`, a DataFrame, or dicts with the keys of the files; or {name:
        DataFrame or dicts}, each of the system of that name. With `judge`, tables of answers in the same
        forms.
    answers
        The answers themselves, in the same forms, for measures that need their texts or citations.
    nuggets
        A file, the id of a dataset, or records of `Nugget`: importance and weight, where judgements lack
        them.
    questions
        The questions that were asked: all of them count, and their field `answerable` says which can be
        answered.
    gold
        Human labels of some of the same answers, with which `compare` and `report` correct the judge.
    gold_chosen
        How these were chosen: `"uniform"`, a plan (a file of `rageval label plan`), or the probability of
        each query, as {query: probability} or a file.
    judge, rubric
        The judge and the rubric for tables of answers: `short` needs no model.
    **rules
        The options of `rageval.scoring.rules.Rules` that are of answers: `on_missing`, `groups`, `weights`,
        `compat`, `intersection`.

    Returns
    -------
    ScoresTable
        `{run_id: Scores}`, which is shown as a table.

    Raises
    ------
    MissingJudgements
        Judgements failed or are missing, and `on_missing` is `error`.

    Examples
    --------
    >>> judged = [{"query_id": "q", "run_id": "ours", "label": "perfect"},
    ...           {"query_id": "q", "run_id": "theirs", "label": "incorrect"}]
    >>> {run: scores["crag_score"].value for run, scores in evaluate_answers("crag_score", judged).items()}
    {'ours': 1.0, 'theirs': -1.0}
    """
    if judge is not None:
        tables = hooks.judged_tables(
            hooks.table_sources(judgements), as_source(questions, "questions"), judge, rubric
        )
        judgements = tables.rows
        answers, questions = tables.texts().values()
        rules = {"on_missing": tables.on_missing, **rules}
    inputs: dict[str, Any] = {"answers": answers, "nuggets": nuggets, "questions": questions}
    labels = {"gold": gold, "gold_chosen": gold_chosen}
    order = "evaluate_answers(measures, judgements)"
    with in_order(
        order, {"judged": judgements, **inputs, **labels}, measures=measures, judgements=judgements
    ):
        # The third frame from where it is said is the caller's.
        return scored(measures, judgements, partial(warnings.warn, stacklevel=3), **inputs, **labels, **rules)


def scored(
    measures: Any,
    judgements: Any = None,
    say: Callable[[str], object] = lambda text: None,
    *,
    answers: Any = None,
    nuggets: Any = None,
    questions: Any = None,
    gold: Any = None,
    gold_chosen: Any = None,
    **rules: Any,
) -> ScoresTable:
    """Return what `evaluate_answers` returns; what that warns of is said to `say` alone."""
    checked = rules_of(ANSWERS, rules)
    inputs = {"answers": _kept(answers), "nuggets": _kept(nuggets)}
    table = read_judgements(judgements, **inputs, questions=questions)
    subject = Answers(measures_of_answers(measures), table, checked, inputs)
    if gold is not None:
        subject = subject.with_gold(subject.read_gold(items_of(gold), hooks.drawn(gold_chosen)))
    # Before anything is computed: what is then refused may have its reason there.
    for remark in table.remarks:
        say(str(remark))
    scored = subject.score()
    for remark in scored.unsaid:
        if remark not in table.remarks:
            say(str(remark))
    return scored.table


class Answers:
    """Judged answers of one or several systems: a `Subject`.

    Parameters
    ----------
    measures, table, rules
        What is asked of which judgements, and how.
    inputs
        The `answers` and `nuggets` that were read beside the judgements; labels of people are, too.
    files
        The files of the judgements, which have quotes and the keys of replies.
    """

    kind = ANSWERS

    def __init__(
        self,
        measures: Sequence[Measure],
        table: JudgementTable,
        rules: Rules,
        inputs: Mapping[str, Any] | None = None,
        files: Sequence[Any] = (),
    ) -> None:
        self.measures, self.table, self.rules = measures, table, rules
        self.inputs, self.files = inputs or {}, files
        self.gold: Gold | None = None

    @property
    def systems(self) -> list[str]:
        """The systems, by name."""
        return self.table.runs.words

    @property
    def queries(self) -> list[str]:
        """The queries that count, whichever of them a system answered."""
        return self.table.queries.words

    def judged_by(self, run: str) -> tuple[set[str], set[str]]:
        """Return who judged a system, and by which rubrics, as far as the judgements say."""
        lines = [line for _, line in self.table.each() if line.run_id == run]
        return {line.judge for line in lines}, {line.rubric for line in lines}

    def require_comparable(self) -> None:
        """Do nothing: any judged answers can be compared."""

    def read_gold(self, sources: Sequence[Any], draw: Draw) -> Gold:
        """Return what people said of the same."""
        gold: Gold = hooks.gold_of_answers(read_judgements(sources, **self.inputs), sources, draw)
        return gold

    def with_gold(self, gold: Gold) -> Answers:
        """Return the answers with human labels, whose queries count, too."""
        table = with_labeled(self.table, gold.answers, gold.draw.plan)
        labeled = Answers(self.measures, table, self.rules, self.inputs, self.files)
        labeled.gold = gold
        return labeled

    def score(self, run_all: Callable[..., Iterable[Scores]] = map) -> Scored:
        """Score every system."""
        table, rules = self.table, self.rules
        # Before anything is computed: a query without a group would otherwise be found at the first mean.
        if rules.groups is not None:
            require_groups(rules.groups, self.queries, "groups")
            if rules.weights is not None:
                checked_weights(rules.weights, {q: rules.groups[q] for q in self.queries}, "weights")
        results = evaluate_all(self.measures, table, rules)
        remarks = list(_table_remarks(results, table))
        own = [remark for remark in remarks if remark not in table.remarks]
        results = [
            scores.with_remarks(remark for remark in own if remark.about.includes(scores.run))
            for scores in results
        ]
        scored = Scored(results, [*remarks, *_answer_count_remarks(results, table, rules)])
        if self.gold is None:
            return scored
        with_people: Scored = hooks.with_people(scored, hooks.answer_labels(self.table, self.gold))
        return with_people

    def likenesses(self, results: Sequence[Scores]) -> Likenesses:
        """Return which systems are the same."""
        return {}  # what answers have in common is seen in their values

    def fingerprint(self, scores: Scores) -> RunFingerprint:
        """Return what a system gave to each query."""
        table, run = self.table, self.table.runs[scores.run]
        rows: dict[str, list[str]] = {}
        for _, line in table.each():
            if line.run_id == scores.run:
                content = (
                    line.item_id,
                    line.aspect,
                    line.judge,
                    line.rubric,
                    line.label,
                    line.grade,
                    line.status,
                )
                more = line.importance, line.weight, line.repeat
                rows.setdefault(str(line.query_id), []).append(repr((*content, *more)))
        for (of, query, repeat), answer in table.facts.items():
            if of == run:
                lengths = sorted(answer.lengths.items())
                amounts = sorted(answer.amounts.items())
                facts = repr((table.repeats.words[repeat], lengths, amounts, answer.cited, answer.sentences))
                rows.setdefault(str(self.queries[query]), []).append(facts)
        absent = frozenset(map(str, self.queries)) - rows.keys()
        return RunFingerprint(
            absent,
            {query: short_digest(sorted(lines)) for query, lines in rows.items()},
            without_value(scores, absent),
            {query: short_digest(map(repr, bank)) for query, bank in lists_of_nuggets(table, run).items()},
            {
                str(self.queries[number]): len(repeats)
                for number, repeats in table.repeats_by_query(run).items()
            },
            rubrics=sorted(table.rubrics()),
        )


def without_value(scores: Scores, absent: Iterable[str]) -> frozenset[str]:
    """Return those of the queries that a system did not answer which have no value for all that."""
    return frozenset(
        query
        for query in absent
        if any(
            query in score.between or score.by_query[query] != score.by_query[query]
            for score in scores.scores
        )
    )


def _kept(given: Any) -> Any:
    """Return what can be read twice: human labels are read beside it, too."""
    return list(given) if hasattr(given, "__next__") and not hasattr(given, "read") else given


def evaluate_judged(
    measures: MeasuresLike,
    judgements: Sequence[Mapping[str, Any]],
    answers: Iterable[Answer],
    **rules: Unpack[AnswerOptions],
) -> ScoresTable:
    """Score judgements as they come from a judge, beside the answers that were judged.

    Parameters
    ----------
    measures, **rules
        As for `evaluate_answers`.
    judgements
        Dicts with the keys of the files.
    answers
        The answers, of which texts and citations are taken.

    Returns
    -------
    ScoresTable
        `{run_id: Scores}`, which is shown as a table.
    """
    return evaluate_answers(measures, judgements, answers=as_records(answers), **rules)


def as_records(answers: Iterable[Answer]) -> list[dict[str, Any]] | None:
    """Return answers as records of a file; None if there are none."""
    texts = (answer._replace(passages=(), prompt="") for answer in answers)
    return [json.loads(line) for line in write_answers(texts, "plain")] or None


def read_judgements(
    judgements: JudgementsLike | None = None,
    *,
    answers: RecordsLike | Iterable[FileLike] | None = None,
    nuggets: NuggetsLike | None = None,
    questions: QuestionsLike | None = None,
    limits: Limits | None = None,
) -> JudgementTable:
    """Read judgements of answers.

    Parameters
    ----------
    judgements
        Paths, or dicts with the keys of the files. A table is returned as it is.
    answers
        The judged answers, in the same forms.
    nuggets
        A file, the id of a dataset, or records of `Nugget`: importance and weight, where judgements lack
        them.
    questions
        The questions that were asked: all of them count, and their field `answerable` says which can be
        answered.
    limits
        How large a line, a record or an id may be.

    Returns
    -------
    JudgementTable
        A table for `evaluate_answers`, which you can use several times.
    """
    nuggets = with_limits(as_source(nuggets, "nuggets"), limits)
    questions = with_limits(as_source(questions, "questions"), limits)
    # Reading a table takes longer than scoring it, so that callers keep one and hand it in again.
    if isinstance(judgements, JudgementTable):
        return _complete(judgements, nuggets, questions)
    items = with_limits(items_of(judgements), limits)
    paths = [
        hooks.dataset_or_file(item, "labels") if isinstance(item, str) else item
        for item in items
        if not isinstance(item, Mapping)
    ]
    # The name is what errors call the judgements by: the files, or just what they are.
    grades = JudgementTable(", ".join(map(name_of, paths)) or "judgements")
    for path in paths:
        grades.add_file(path)
    records = [item for item in items if isinstance(item, Mapping)]
    kind = kind_of_records(records)
    # Records are told as a file of them is: answers alone have lengths, and no judgements yet.
    if kind is not None and kind.holds == OF_ANSWERS:
        grades.add_answers(with_limits(in_memory(records, "answers"), limits))
    elif kind is not None and kind.holds == ROWS:
        raise InputError(
            at=Place("judgements"),
            problem=f"found a table of answers ({', '.join(map(str, records[0])):.200}), which is judged"
            f" before it is scored ({JUDGED_FIRST})",
        )
    else:
        grades.add_dicts(records)
    for path in with_limits(items_of(as_source(answers, "answers")), limits):
        grades.add_answers(path)
    if not grades.runs.words:
        raise InputError(
            "holds no judgements and no answers",
            at=Place(grades.name),
            expected="judgements {query_id, run_id, …}",
        )
    if nuggets is not None and (grades.matched or any(facts.cited for facts in grades.facts.values())):
        bank = hooks.dataset_or_file(nuggets, "nuggets")
        add_matches(grades, bank)
        relate_citations(grades, bank)
    return _complete(grades.finish(), nuggets, questions)


def _complete(grades: JudgementTable, nuggets: Any, questions: Any) -> JudgementTable:
    """Return the table with what nuggets weigh, in which these questions count."""
    if nuggets is not None:
        # The word may be the id of a dataset, which this package does not import.
        weigh(grades, hooks.dataset_or_file(nuggets, "nuggets"))
    return grades if questions is None else with_questions(grades, questions)


def measures_of_answers(measures: object) -> list[Measure]:
    """Return the measures, all of them of answers."""
    parsed = parse_measures(measures)
    if not parsed:
        raise MeasureError("no measure named; expected something like v_strict or crag_score")
    require_kind(ANSWERS, parsed)
    return [measure for measure in parsed if isinstance(measure, Measure)]


def evaluate_all(measures: Sequence[Measure], grades: JudgementTable, rules: Rules) -> list[Scores]:
    """Score every system; `MissingJudgements` tells of all that are missing, if that is an error."""
    asked = measures
    if rules.compat:
        measures = list(map(COMPAT_OF_ANSWERS[rules.compat].measure, measures))
    results = []
    complaints: list[str] = []
    # All systems are gone through before anything is refused: one error then tells of all that is missing.
    for number, run in enumerate(grades.runs.words):
        evaluated = by_judge(measures, grades, number, rules)
        for evaluation in evaluated if rules.compat == "crag" else ():
            # CRAG's rule speaks of its own labels; on another scale it would mean nothing.
            if other := next((scale for scale in evaluation.scales if scale is not CRAG), None):
                raise UsageError(
                    f"{evaluation.measure}: compat='crag' is about CRAG's labels; it asks for {other.name}"
                )
        scores = [_score_of_evaluated(evaluation, grades, number, rules) for evaluation in evaluated]
        scores = [replace(score, asked=measure) for score, measure in zip(scores, asked, strict=True)]
        results.append(Scores(run, tuple(scores), is_adaptive=grades.is_adaptive))
        complaints += [_complaint(run, score) for score in scores if score.lost]
    if complaints and rules.on_missing == "error" and not rules.compat:
        # A run of a thousand queries may miss something in each; the first few show what it is.
        more = [f"… and {len(complaints) - _SHOWN:,} more"] if len(complaints) > _SHOWN else []
        remedies = [_WAY_OF_QUESTIONS] if grades.expected else []
        remarks = [*_answer_count_remarks(results, grades, rules), *unlike_remarks(grades)]
        raise MissingJudgements(
            "\n".join([*map(str, remarks), *complaints[:_SHOWN], *more, *remedies, _WAYS_ON])
        )
    return results


@dataclass(slots=True)
class _Evaluated:
    """A measure's values by each judge, what it missed, by status, and the scales it asked for.

    `repeats` are the values of each answer, of which several to one query become one of `values`. What an
    answer states of its cost (`reads_amounts`) is no text.
    """

    measure: Measure
    values: dict[str, list[float]] = field(default_factory=dict)
    repeats: dict[str, list[list[float]]] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    scales: list[Scale] = field(default_factory=list)
    is_open: bool = False
    reads_amounts: bool = False


def by_judge(
    measures: Sequence[Measure],
    grades: JudgementTable,
    run: int,
    rules: Rules,
    filling: str | float | None = None,
) -> list[_Evaluated]:
    """Return the values of a system by each judge who said anything on the scales of a measure.

    With a `filling`, that is what missing judgements are taken for.
    """
    evaluated = [_Evaluated(measure) for measure in measures]
    taken_for = rules.filling if filling is None else filling
    # Where answers are scored without judgements, such as by their length, there is no judge: one stands in.
    for number, judge in enumerate(grades.judges.words or [""]):
        sight = JudgeOfRun(grades, run, number, taken_for, only_here=rules.compat == "nuggetizer")
        by_index = {index: _Evaluated(measure, {judge: []}) for index, measure in enumerate(measures)}
        for answers in sight.answers(1 if rules.compat else grades.answers_to_each):
            # A copy: measures on whose scales this judge says nothing are dropped on the way.
            for index, evaluation in list(by_index.items()):
                try:
                    values = [
                        _answer_value(evaluation, answer, sight, rules, taken_for, filling is not None)
                        for answer in answers
                    ]
                # Other judges spoke on this scale, and this one never: it has no values, not values of 0.
                except NotThisJudge:
                    del by_index[index]
                    continue
                evaluation.values[judge].append(_over_repeats(values, evaluation.measure))
                there = [value for value, answer in zip(values, answers, strict=True) if answer.place[1] >= 0]
                evaluation.repeats.setdefault(judge, []).append(there)
        for index, evaluation in by_index.items():
            evaluated[index].values |= evaluation.values
            evaluated[index].repeats |= evaluation.repeats
            evaluated[index].lost += evaluation.lost
            evaluated[index].is_open = evaluated[index].is_open or evaluation.is_open
            evaluated[index].reads_amounts |= evaluation.reads_amounts
            # In the order in which they were asked for, each once: the signature names them so.
            evaluated[index].scales = list(dict.fromkeys([*evaluated[index].scales, *evaluation.scales]))
    for evaluation in evaluated:
        if not evaluation.values:
            judges = ", ".join(visible(judge) or "one without a name" for judge in grades.judges.words)
            raise UsageError(
                f"{evaluation.measure}: needs several kinds of judgements, but no judge ({judges}) made"
                " all of them; expected all kinds from one judge"
            )
    return evaluated


def _answer_value(
    evaluation: _Evaluated,
    answer: Assessment,
    sight: JudgeOfRun,
    rules: Rules,
    filling: str | float,
    is_end: bool,
) -> float:
    """Return a measure's value of one answer; note what it missed, and what it asked for."""
    measure, query = evaluation.measure, answer.place[0]
    value = measure.value(answer.asked_by(measure))
    if answer.scales != evaluation.scales:
        evaluation.scales = list(dict.fromkeys([*evaluation.scales, *answer.scales]))
    evaluation.reads_amounts |= answer.reads_amounts
    if rules.intersection and sight.is_unanswered(query):
        return math.nan
    is_known = answer.is_settled or answer.lost or {OUTCOME, POSITION} & {*answer.scales}
    if answer.place[1] == NO_ANSWER and not is_known:
        # What it would have been is not known, also by a measure that asks for no judgements.
        answer.is_open, answer.lost = True, {ABSENT: 1}
    if not answer.was_judged and answer.scales and not (answer.is_open or answer.lost):
        # An answer that is not there is known only where it has the worst value there is.
        is_better = measure.better != NEITHER and value > measure.ends[0]
        answer.is_open = is_better and sight.is_left_out(query)
        answer.lost = {ABSENT: 1} if answer.is_open else answer.lost
    if answer.lost:
        evaluation.lost.update(answer.lost)
    # What stands for a conversation the measure says itself.
    if answer.is_open and not measure.about.by_conversation:
        evaluation.is_open = True
        value = _taken_for(filling, measure)
        if math.isinf(value) and not is_end:
            value = math.nan  # there is no worst, or no best, that could be averaged
    # NaN is the one value that differs from itself; the usual value skips all of this.
    return _where_undefined(value, measure, answer, sight, rules) if value != value else value


def _taken_for(filling: str | float, measure: Measure) -> float:
    """Return the value that stands for one of which nothing is known; NaN where it is left out."""
    if measure.aggregate == TOGETHER:
        return math.nan  # nobody knows what confidence or cost it would have had
    least, most = measure.ends
    worst, best = (most, least) if measure.better == LOWER else (least, most)
    end = {"worst": worst, "best": best, "skip": math.nan, "nothing": math.nan}.get(str(filling), most)
    # Nobody knows how many parts a share would have had: one, where shares are pooled.
    return Share(end, 1) if measure.aggregate == POOL and math.isfinite(end) and end >= 0 else end


def _over_repeats(values: Sequence[float], measure: Measure) -> float:
    """Return what the values of the answers to one query become.

    That is their mean over the repeats whose value is defined; of pooled shares the mean part and whole.
    """
    if measure.about.repeats is not None:
        k = measure.k or 1
        if len(values) < k:
            raise UsageError(
                f"{measure}: no query has more answers than {len(values):,}, expected {k:,} or more, with"
                " different values of `repeat`"
            )
        return measure.about.repeats(values, k)
    if len(values) == 1:
        return values[0]
    if measure.aggregate == TOGETHER:
        return merged(values)
    if measure.aggregate == POOL:
        # Repeats are one answer to the reader: their parts and wholes are averaged before pooling over
        # queries.
        return pooled(values, as_one=True)
    defined = [value for value in values if value == value]
    return math.fsum(defined) / len(defined) if defined else math.nan


def _where_undefined(
    value: float, measure: Measure, answer: Assessment, sight: JudgeOfRun, rules: Rules
) -> float:
    """Return what becomes of a value that is undefined, or of a query that was left out.

    Of a system that has no answer where others were judged, what depends on judgements is 0, or undefined by
    `intersection`. Some tools have 0 for what is undefined: nuggetizer where it has a record of the answer.
    """
    if measure.about.by_conversation:
        return value  # it stands at the last turn alone
    left_out = sight.is_left_out(answer.place[0])
    if rules.compat is None:
        judged = left_out and any(sight.is_judged(scale, answer.place[0]) for scale in answer.scales)
        counts = judged and not answer.lost
    else:
        counted = {"never": False, "always": True}.get(COMPAT_OF_ANSWERS[rules.compat].counts)
        counts = answer.was_judged or sight.has_record(answer.place) if counted is None else counted
    if not counts or value == value or (measure.aggregate in (POOL, TOGETHER) and says_something(value)):
        return value
    if isinstance(value, Blend):  # of which one share may be known
        return Blend(value.rule, *(share if share == share else Share(0, 0) for share in value.shares))
    # What a measure calls nothing is usually 0; one of which low is good may say otherwise.
    return measure.nothing


def _score_of_evaluated(evaluation: _Evaluated, grades: JudgementTable, run: int, rules: Rules) -> Score:
    measure, values, bounds = evaluation.measure, evaluation.values, None
    between: dict[str, tuple[float, float]] = {}
    if evaluation.lost and not rules.compat:
        # Computed again with all that is missing at its worst, and at its best: the value must lie between.
        filled = [_over_judges(by_judge([measure], grades, run, rules, end)[0]) for end in _fillings(measure)]
        ends = [combined(measure, numbers) for numbers in filled]
        # The best judgements need not give the higher value: of an error rate they give the lower one.
        bounds = (min(ends), max(ends))
        # Its parts are not known, and may weigh anything.
        if (evaluation.is_open and measure.aggregate == POOL) or measure.aggregate == TOGETHER:
            bounds = measure.ends
        by_query = zip(grades.queries.words, zip(*filled, strict=True), strict=True)
        between = {
            query: (min(numbers), max(numbers)) for query, numbers in by_query if min(numbers) < max(numbers)
        }
        between = {} if measure.aggregate == TOGETHER else between  # of single queries it says nothing
    # With one judge the values by judge would be the score once more.
    several = values if len(values) > 1 else {}
    judges = {name: combined(measure, of_judge) for name, of_judge in several.items()}
    # A measure that counts words, and says that it does, depends on nobody's judgements.
    deciding = tuple(values) if any(scale not in PROXIES for scale in evaluation.scales) else ()
    return Score(
        measure,
        grades.queries.words,
        _over_judges(evaluation),
        evaluation.lost.total(),
        _signature(measure, rules, list(values), grades.is_adaptive),
        rules.groups,
        weights=rules.weights,
        bounds=bounds,
        judges=judges,
        lost=dict(evaluation.lost),
        judged_by=_judged_by(grades, run, evaluation.scales),
        spread=_spread(evaluation),
        said_by=deciding,
        of_words=not (deciding or evaluation.reads_amounts),
        between=between,
        conversations=conversations_in(grades),
    )


def _spread(evaluation: _Evaluated) -> SpreadOfAnswers | None:
    """Return how much questions, answers and judges differ; None where no question has several answers."""
    several = evaluation.measure.about.repeats is None and evaluation.measure.aggregate == MEAN
    if not several or all(len(values) < 2 for of in evaluation.repeats.values() for values in of):
        return None
    # A query counts where every judge has a value of every answer.
    tables = [
        list(zip(*of_judges, strict=True)) for of_judges in zip(*evaluation.repeats.values(), strict=True)
    ]
    number = max(map(len, tables))
    whole = [
        answers
        for answers in tables
        if len(answers) == number and all(value == value for answer in answers for value in answer)
    ]
    if len(whole) < 2:
        return None
    judges = len(whole[0][0])
    means = [[math.fsum(answer) / judges for answer in answers] for answers in whole]
    judge = math.nan
    if judges > 1:
        judge = math.fsum(_variance(answer) for answers in whole for answer in answers) / len(whole) / number
    within = math.fsum(map(_variance, means)) / len(whole)
    between = _variance([math.fsum(of) / number for of in means])
    return SpreadOfAnswers(
        max(between - within / number, 0.0),
        max(within - (judge / judges if judges > 1 else 0.0), 0.0),
        judge,
        len(whole),
        number,
        judges,
        hooks.advice_on_repeats(means),
    )


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _over_judges(evaluation: _Evaluated) -> list[float]:
    """Return the mean over the judges whose value is defined; pooled shares are pooled over judges, too."""
    # With one judge nothing is averaged, so that its numbers keep their bits.
    if len(evaluation.values) == 1:
        return list(*evaluation.values.values())
    of_queries = zip(*evaluation.values.values(), strict=True)
    if evaluation.measure.aggregate == POOL:
        return list(map(pooled, of_queries))
    if evaluation.measure.aggregate == TOGETHER:
        return list(map(merged, of_queries))
    # NaN is no value: a query counts by the judges that could say something of it.
    defined = ([value for value in of_query if value == value] for of_query in of_queries)
    return [math.fsum(values) / len(values) if values else math.nan for values in defined]


def _fillings(measure: Measure) -> list[str | float]:
    """Return what missing judgements are taken for, in turn, to see between what values a measure lies."""
    counted = measure.parameters.get("label", measure.parameters.get("level"))
    own = [] if counted in (None, "accurate") else [counted]
    return ["worst", "best", *own, *measure.about.ends]


def _complaint(run: str, score: Score) -> str:
    counts = ", ".join(f"{count:,} {status}" for status, count in sorted(score.lost.items()))
    low, high = score.bounds or (math.nan, math.nan)
    return (
        f"{visible(run)}: {count_noun(score.missing, 'judgement')} that {score.measure} needs"
        f" {'is' if score.missing == 1 else 'are'} missing ({counts});"
        f" its value lies between {low:.4f} and {high:.4f}"
        + (f"; {score.measure.about.lacking}" if score.measure.about.lacking and ABSENT in score.lost else "")
        + (f"; it needs the importance of each nugget: {GIVE_NUGGETS}" if UNRATED in score.lost else "")
    )


def _signature(measure: Measure, rules: Rules, judges: list[str], is_adaptive: bool) -> str:
    context: dict[str, object] = {"pool": "adaptive"} if is_adaptive else {}
    if rules.on_missing != "error":
        context["on_missing"] = rules.on_missing
    if rules.intersection:
        context["intersection"] = True
    if rules.compat:
        context["compat"] = rules.compat
    if rules.groups is not None:
        context["mean"] = "weighted" if rules.weights else "of-groups"
    named = [visible(judge) for judge in judges if judge]
    if named:
        context["judge"] = "+".join(named)
    return measure.signature(**context, v=__version__)


def _table_remarks(results: Sequence[Scores], grades: JudgementTable) -> Iterator[Remark]:
    """Yield what should be known of the scores of judged answers."""
    yield from grades.remarks
    yield from unlike_remarks(grades)
    # Judgements that were left out for their rubric, and say what others do.
    for scale in ALL:
        for rubric, number in unknown_rubrics(grades, scale).items():
            facts = {"number": number, "rubric": rubric, "scale": scale.name, "rubrics": scale.rubrics}
            yield Remark("unknown_rubric", facts=facts)
    yield from _doubt_remarks(grades)
    for scores in results:
        yield from undefined_remarks(scores)
        for score in scores.scores:
            yield from _answer_score_remarks(score, Scope((scores.run,), str(score.measure)))


def _doubt_remarks(table: JudgementTable) -> Iterator[Remark]:
    """Name the verdicts of which the judge is least sure, where it says how sure it is."""
    doubts = list(table.doubts())
    unsure = [doubt for doubt in doubts if doubt[0] >= _UNSURE]
    if unsure:
        first = heapq.nlargest(_FIRST, unsure, key=lambda doubt: doubt[0])
        examples = [(query, run, p) for _, query, run, p in first]
        facts = {"number": len(unsure), "total": len(doubts), "limit": _UNSURE, "examples": examples}
        yield Remark("uncertain_verdicts", facts=facts)


def _answer_count_remarks(results: Sequence[Scores], table: JudgementTable, rules: Rules) -> Iterator[Remark]:
    """Say how many of the queries that count each system answered, and what becomes of the others.

    Also which it answered fewer times than others, or than other systems did.
    """
    total = len(table.queries.words)
    number = 1 if rules.compat else table.answers_to_each
    for scores in results if number > 1 else ():
        answers = table.repeats_by_query(table.runs[scores.run])
        few = [str(table.queries.words[query]) for query, repeats in answers.items() if len(repeats) < number]
        if few and any(few[0] in score.between for score in scores.scores):
            facts = {"number": len(few), "total": total, "answers": number, "examples": few[:EXAMPLES]}
            yield Remark("fewer_answers", Scope((scores.run,)), facts)
    for scores in results:
        skipped = unanswered(table, table.runs.find(scores.run))
        if not skipped:
            continue
        missing, zero = ([], []) if rules.intersection else _effects(scores, skipped)
        # Where the others change no value there is nothing to say.
        if rules.intersection or missing or zero:
            yield Remark(
                "unanswered_queries",
                Scope((scores.run,)),
                {
                    "answered": total - len(skipped),
                    "total": total,
                    "examples": skipped[:EXAMPLES],
                    "is_left_out": rules.intersection,
                    "missing_in": missing,
                    "zero_in": zero,
                },
            )


def _effects(scores: Scores, skipped: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return in which measures queries that a system did not answer are missing, and in which they are 0."""
    missing, zero = [], []
    for score in scores.scores:
        if any(query in score.between for query in skipped):
            missing.append(str(score.measure))
        elif score.measure.about.by_conversation:
            continue  # a value is that of all turns
        # A value where there is no answer: nothing was found, and no value is worse.
        elif score.said_by and any(score.by_query[query] == score.by_query[query] for query in skipped):
            zero.append(str(score.measure))
    return missing, zero


def _answer_score_remarks(score: Score, about: Scope) -> Iterator[Remark]:
    if score.missing:
        low, high = score.bounds or (None, None)
        yield Remark(
            "missing_judgements",
            about,
            {"number": score.missing, "by_status": sorted(score.lost.items()), "low": low, "high": high},
        )
    if score.spread is not None:
        yield Remark("spread_of_answers", about, score.spread.as_facts())
    if score.judges:
        yield Remark("values_by_judge", about, {"values": list(score.judges.items())})


# --- by which nuggets, or beside which systems, each was judged: by others, scores are not comparable


class _Nugget(NamedTuple):
    """What a system was judged by; equal if its name, its importance and its weight are."""

    aspect: int
    importance: str | None
    weight: float | None


def unlike_remarks(table: JudgementTable) -> Iterator[Remark]:
    """Yield remarks on nuggets that only some systems were judged by, and on importances and weights."""
    systems: dict[int, int] = {}
    judged: Counter[tuple[int, int]] = Counter()
    variants: dict[tuple[int, int], set[_Nugget]] = {}
    for query, by_run in _unlike_nuggets(table).items():
        systems[query] = len(by_run)
        for nuggets in by_run.values():
            judged.update({(query, nugget.aspect) for nugget in nuggets})
            for nugget in nuggets:
                variants.setdefault((query, nugget.aspect), set()).add(nugget)
    some = sorted(place for place, number in judged.items() if number < systems[place[0]])
    if some:
        query, aspect = some[0]
        yield Remark(
            "unlike_nuggets",
            facts={
                "number": len({query for query, _ in some}),
                "query": table.queries.words[query],
                "nugget": table.aspects.words[aspect],
                "judged": judged[query, aspect],
                "total": systems[query],
            },
        )
    count = sum(len({nugget.importance for nugget in nuggets}) > 1 for nuggets in variants.values())
    if count:
        yield Remark("unlike_importance", facts={"number": count})
    count = sum(len({nugget.weight for nugget in nuggets}) > 1 for nuggets in variants.values())
    if count:
        yield Remark("unlike_weights", facts={"number": count})


def _judged_by(table: JudgementTable, run: int, scales: Collection[Scale]) -> Mapping[str, frozenset[Any]]:
    """Return by what a system was judged, by query: nuggets, or opponents."""
    bases: dict[str, frozenset[Any]] = {}
    words = table.queries.words
    for scale in scales:
        if scale is SUPPORT:
            unlike = _unlike_nuggets(table)
            bases |= _shared_nuggets(table)
            for query, by_run in unlike.items():
                bases.pop(words[query], None)
                if run in by_run:
                    bases[words[query]] = frozenset(_nugget_name(table, nugget) for nugget in by_run[run])
        elif scale in (OUTCOME, POSITION):
            met = _opponents(table, scale).get(run, {})
            bases |= {words[query]: names for query, names in met.items()}
    return bases


@kept_in_table
def _shared_nuggets(table: JudgementTable) -> dict[str, frozenset[Any]]:
    """Return by which nuggets the first system was judged in each query, which is as good as any."""
    nuggets_by_query: dict[int, frozenset[Any]] = {}
    support = on(table, SUPPORT) if _speaks_of_nuggets(table) else None
    for answer, query in enumerate(table.query):
        if support is not None and query not in nuggets_by_query:
            nuggets = frozenset(
                _nugget_name(table, _nugget(table, row)) for row in filter(support.holds, table.rows(answer))
            )
            if nuggets:
                nuggets_by_query[query] = nuggets
    return {table.queries.words[query]: nuggets for query, nuggets in nuggets_by_query.items()}


def _nugget(table: JudgementTable, row: int) -> _Nugget:
    statement = table.statement_of(row)
    return _Nugget(table.row_aspect[row], statement.importance, statement.weight)


def _nugget_name(table: JudgementTable, nugget: _Nugget) -> tuple[Any, ...]:
    """Return a nugget by its name, as other tables have other numbers."""
    return table.aspects.words[nugget.aspect], nugget.importance, nugget.weight


@kept_in_table
def _unlike_nuggets(table: JudgementTable) -> dict[int, dict[int, frozenset[_Nugget]]]:
    """Return the nuggets of each system in queries where not all systems were judged by the same."""
    several = len(table.runs.words) > 1 and _speaks_of_nuggets(table)
    # The cheap look first: of millions of judgements nearly all tables are alike.
    return dict(_unlike(table)) if several and not _have_equal_nuggets(table) else {}


def _have_equal_nuggets(table: JudgementTable) -> bool:
    """Return whether it is plain that all answers to a query were judged by the same, with all their rows."""
    first: dict[int, int] = {}
    numbers: dict[tuple[str | None, float | None], int] = {}
    of_code = [
        numbers.setdefault((statement.importance, statement.weight), len(numbers))
        for statement in table.said.words
    ]
    # Numbers in an array compare at once, where records would be compared one by one.
    kind = array("i", map(of_code.__getitem__, table.row_statement))  # rows that speak of nuggets alike
    for answer, query in enumerate(table.query):
        other = first.setdefault(query, answer)
        here, there = (slice(table.begin[index], table.end[index]) for index in (answer, other))
        if table.row_aspect[here] == table.row_aspect[there] and kind[here] == kind[there]:
            continue
        ours, theirs = ({*zip(table.row_aspect[part], kind[part], strict=True)} for part in (here, there))
        if ours != theirs:
            return False
    return True


def _unlike(table: JudgementTable) -> Iterator[tuple[int, dict[int, frozenset[_Nugget]]]]:
    support = on(table, SUPPORT)
    answers: dict[int, list[int]] = {}
    for answer, query in enumerate(table.query):
        answers.setdefault(query, []).append(answer)
    for query, those in sorted(answers.items()):
        by_run: dict[int, set[_Nugget]] = {}
        for answer in those:
            for row in filter(support.holds, table.rows(answer)):
                by_run.setdefault(table.run[answer], set()).add(_nugget(table, row))
        everything = set().union(*by_run.values())
        # An aspect that is there twice has two importances or weights.
        once = len({nugget.aspect for nugget in everything}) == len(everything)
        if not once or any(nuggets != everything for nuggets in by_run.values()):
            yield query, {run: frozenset(nuggets) for run, nuggets in by_run.items()}


@kept_in_table
def _opponents(table: JudgementTable, scale: Scale) -> dict[int, dict[int, frozenset[str]]]:
    """Return the systems beside which each was judged, by query; systems of one ranking share a set."""
    groups: dict[tuple[int, int, int], set[int]] = {}
    for answer, row in on(table, scale).rows():
        place = table.query[answer], table.row_aspect[row], table.judge[answer]
        groups.setdefault(place, set()).add(table.run[answer])
    # The same systems in many orders are one set, once: else a ranking of n would hold n sets of n names.
    run_sets: dict[int, dict[frozenset[int], None]] = {}
    for (query, _, _), runs in groups.items():
        run_sets.setdefault(query, {})[frozenset(runs)] = None
    opponents: dict[int, dict[int, frozenset[str]]] = {}
    for query, sets in run_sets.items():
        named = [(runs, frozenset(map(table.runs.words.__getitem__, runs))) for runs in sets]
        companions: dict[int, list[frozenset[str]]] = {}
        for together, names in named:
            for run in together:
                companions.setdefault(run, []).append(names)
        for run, several in companions.items():
            whole = several[0] if len(several) == 1 else frozenset().union(*several)
            opponents.setdefault(run, {})[query] = whole
    return opponents


def _speaks_of_nuggets(table: JudgementTable) -> bool:
    labels = set(table.labels())
    named = bool(set(SUPPORT.rubrics) & table.rubrics())
    return bool(labels & SUPPORT.labels.keys()) and (named or not labels - SUPPORT.labels.keys())


def lists_of_nuggets(table: JudgementTable, run: int) -> dict[str, list[tuple[str, str, str]]]:
    """Return by which nuggets (and their importance and weight) a system was judged; {} if by none."""
    if not _speaks_of_nuggets(table):
        return {}
    support = on(table, SUPPORT)
    nuggets_by_query: dict[str, set[tuple[str, str, str]]] = {}
    for answer in table.judged_of(run):
        query = table.query[answer]
        for row in filter(support.holds, table.rows(answer)):
            statement, aspect = table.statement_of(row), str(table.aspects.words[table.row_aspect[row]])
            nugget = aspect, statement.importance or "", str(statement.weight)
            nuggets_by_query.setdefault(str(table.queries.words[query]), set()).add(nugget)
    return {query: sorted(nuggets) for query, nuggets in nuggets_by_query.items()}
