"""Compare, gate, report and judge in one call each: what `rageval.compare` and its like are."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, cast, overload

from rageval import comparison, hooks
from rageval import judges as judge_tools
from rageval.comparison import Comparison, GateSettings, Settings
from rageval.comparison.arena import next_battles
from rageval.comparison.gate import baseline_in, baseline_side, chosen_system, side_of
from rageval.comparison.gate import gate as decided
from rageval.core.remark import Remark, unique
from rageval.errors import UsageError
from rageval.files.judgements import GRADED, judgement_line
from rageval.files.opening import kept, name_of
from rageval.files.questions import read_groups
from rageval.files.writing import whole_file
from rageval.judges.material import with_battles
from rageval.judges.panel import prepare_settings
from rageval.judges.tables import are_tables, judged_tables, table_sources
from rageval.logs.tables import only_system
from rageval.measures.parsing import parse_measure
from rageval.names import suggestion
from rageval.pages.page import page
from rageval.pages.report import PageInputs, provenance, report_of_scores
from rageval.records import Answer, Question, is_frame
from rageval.scoring.answers import evaluate_judged, measures_of_answers
from rageval.scoring.arguments import as_source, in_order
from rageval.scoring.gold import drawn
from rageval.scoring.runs import documents_of
from rageval.scoring.scores import Scores, ScoresTable, require_groups
from rageval.scoring.sources import one_run
from rageval.subjects import ANSWERS, RUNS
from rageval.table import Displayed

if TYPE_CHECKING:
    from rageval.comparison import GateReport
    from rageval.comparison.margins import MarginLike
    from rageval.judges import Model, Rubric
    from rageval.typing import (
        AnswerOptions,
        ChosenLike,
        CompareOptions,
        ComparisonOptions,
        FileLike,
        Frame,
        GateOptions,
        JudgementsLike,
        JudgeOptions,
        JudgesLike,
        MeasuresLike,
        QrelsLike,
        QuestionsLike,
        RecordsLike,
        RunLike,
        SystemsLike,
        TableOptions,
        TablesLike,
    )

OnMissing: TypeAlias = Literal["error", "skip", "worst", "best"]


@overload
def compare(
    measures: MeasuresLike,
    runs: Mapping[str, RunLike] | Iterable[RunLike],
    qrels: QrelsLike,
    **options: Unpack[CompareOptions],
) -> Comparison: ...


@overload
def compare(
    measures: MeasuresLike | TablesLike,
    runs: TablesLike | None = None,
    /,
    *,
    judge: JudgesLike | None = None,
    rubric: str | Rubric | None = None,
    questions: QuestionsLike | None = None,
    **options: Unpack[TableOptions],
) -> Comparison: ...


@overload
def compare(
    measures: Mapping[str, Scores] | Iterable[Scores], /, **options: Unpack[ComparisonOptions]
) -> Comparison: ...


def compare(measures: Any, runs: Any = None, qrels: Any = None, **options: Any) -> Comparison:
    """Score runs and report which is better, by how much, and whether the queries suffice to show it.

    Parameters
    ----------
    measures
        A measure, its name, several names in one text, or a list of these. Or existing scores alone, such as
        those of `evaluate_answers`: `compare(scores)`. Or tables of answers alone, by the rubric's measure.
    runs
        `{name: run}`, or a list of runs that have names, each in any form that `evaluate` takes. Without
        `qrels`, tables of answers: `{name: table}`, each a path, a DataFrame or dicts, or a list of paths.
    qrels
        The judgements, as for `evaluate`.
    **options
        For tables of answers `judge` (by default `short`, which needs no model), `rubric` and `questions`.
        The options of `evaluate` and of `rageval.comparison.Settings`. With `gold`, human labels of some of
        the queries, every claim uses the corrected difference (`gold_chosen`: how the queries were chosen).
        For scores of answers, pass the labels to `evaluate_answers(…, gold=…)`.

    Returns
    -------
    Comparison
        Means with intervals, and for each pair a difference, a test and a verdict.

    Examples
    --------
    >>> import rageval
    >>> qrels = {str(query): {"a": 1} for query in range(8)}
    >>> good, bad = ({str(query): {"a": 1.0, "b": score} for query in range(8)} for score in (0.0, 2.0))
    >>> rageval.compare("rr", {"good": good, "bad": bad}, qrels).pairs[0].verdict
    'lower'
    """
    fields = comparison.Settings.__dataclass_fields__
    # Options of both come in one bag; what is left belongs to scoring.
    settings = comparison.Settings(**{name: options.pop(name) for name in list(options) if name in fields})
    files = {**options, "runs": runs, "qrels": qrels}
    with in_order("compare(measures, runs, qrels)", files, measures=measures, runs=runs, qrels=qrels):
        if qrels is None and (tables := _tables_among(measures, runs)) is not None:
            names = () if runs is None else measures
            own = {name: options.pop(name) for name in _OF_TABLES if name in options}
            _refuse_unknown_options(options, [*_OF_TABLES, *ANSWERS.rules, *fields], compare)
            subject = _subject_of_tables(tables, names, options, **own)
            subject.require_comparable()
            return comparison.comparisons.compare_subject(subject, subject.score(), settings)
        # Runs to be scored, or scores that are there already: told by whether anything is given beside.
        if runs is not None or qrels is not None:
            if qrels is None:
                raise UsageError(
                    "compare: expected judgements of documents (qrels) after the runs; judged answers are"
                    " compared by their scores: compare(evaluate_answers(measures, judgements)); tables of"
                    " answers are judged first: compare(judge(rubric, tables, judges, measures).scores)"
                )
            _refuse_unknown_options(options, [*RUNS.rules, *fields, "gold", "gold_chosen"], compare)
            return comparison.compare_runs(measures, runs, qrels, settings, **options)
        _refuse_unknown_options(options, fields, compare)
        if isinstance(measures, str):
            raise UsageError("compare: expected measures, runs and judgements, or several Scores")
        return comparison.compare(_list_scores(measures), settings)


_OF_TABLES = ("judge", "rubric", "questions")  # options of tables of answers


def _tables_among(measures: Any, runs: Any) -> list[Any] | None:
    """Return the tables of answers, if these are what is given, with measures before them or alone."""
    given = measures if runs is None else runs
    return table_sources(given) if are_tables(given) else None


def _subject_of_tables(
    tables: Sequence[Any],
    measures: Any,
    rules: Mapping[str, Any],
    judge: Any = None,
    rubric: Any = None,
    questions: Any = None,
) -> Any:
    """Return judged tables as what is scored."""
    judged = judged_tables(tables, as_source(questions, "questions"), judge, rubric)
    names = measures or judged.measures
    more = {"on_missing": judged.on_missing, **rules}
    subject = ANSWERS.gated(judged.rows, names, more, {**judged.texts(), "nuggets": None})
    # How they were read and judged, before all else.
    usual = [] if measures else [Remark("usual_measure", facts={"measures": judged.measures})]
    subject.table.remarks[:0] = [*judged.remarks, *usual]
    return subject


def gate(
    candidate: RunLike | JudgementsLike | Frame,
    qrels: QrelsLike | None = None,
    measures: MeasuresLike = (),
    *,
    baseline: FileLike | Frame,
    margin: MarginLike,
    anchor: FileLike | None = None,
    judge: JudgesLike | None = None,
    rubric: str | Rubric | None = None,
    slices: Mapping[str, Mapping[str, str]] | None = None,
    system: str | None = None,
    answers: RecordsLike | None = None,
    nuggets: RecordsLike | None = None,
    questions: QuestionsLike | None = None,
    gold: QrelsLike | JudgementsLike | None = None,
    gold_chosen: ChosenLike | None = None,
    **options: Unpack[GateOptions],
) -> GateReport:
    """Compare a candidate with a baseline: `ship`, `block` or `inconclusive`.

    Parameters
    ----------
    candidate
        A run; or, without `qrels`, judgements of answers: files, a DataFrame, or dicts; or, with `judge`, a
        table of answers.
    qrels
        The judgements of documents, as for `evaluate`.
    measures
        The measures to gate: all must ship, and any one can block. For tables the default is the rubric's
        own.
    baseline
        A file that `rageval gate … --save-baseline FILE` wrote, or an earlier table.
    margin
        How much worse is acceptable, in the units of the measures, or as a share of the baseline's value:
        `0.03`, `"10%"`. In a list, `"NAME=…"` is for one measure: `[0.03, "cost=10%"]`.
    anchor
        A second baseline that stays fixed, while `baseline` is saved again with each version; `anchor_margin`
        is its margin.
    judge, rubric
        The judge and the rubric for tables of answers: `short` needs no model.
    slices
        Groups of queries, `{field: {query: value}}`, which can only block.
    system
        Which of several judged systems is the candidate.
    answers, nuggets
        The judged answers and their nuggets, as for `evaluate_answers`.
    questions
        The questions that were asked: one without a judged answer counts as missing.
    gold, gold_chosen
        Human labels of some of the queries, used to correct the verdict, and how these queries were chosen.
    **options
        The options of `evaluate` and of `rageval.comparison.GateSettings`; `clusters` may also be a file of
        lines `query_id cluster`.

    Returns
    -------
    GateReport
        The `verdict` and the numbers behind it.

    Examples
    --------
    >>> import rageval
    >>> folder = "examples/data/gate"
    >>> report = rageval.gate(f"{folder}/same.run", f"{folder}/qrels.nugget", "recall@5",
    ...                       baseline=f"{folder}/baseline.jsonl", margin=0.03)
    >>> report.verdict, [decision.difference for decision in report.decisions]
    ('ship', [0.0])
    """
    own = GateSettings.__dataclass_fields__
    chosen: dict[str, Any] = {name: value for name, value in options.items() if name in own}
    if "fail_under" in chosen:
        floors = chosen["fail_under"].items()
        chosen["fail_under"] = {str(parse_measure(name)): limit for name, limit in floors}
    rules: dict[str, Any] = {name: value for name, value in options.items() if name not in own}
    kind = ANSWERS if qrels is None else RUNS
    _refuse_unknown_options(rules, [*kind.rules, *own], gate)
    before, judging = "", list[Remark]()
    texts: Mapping[str, Question] = {}
    if judge is not None:
        if qrels is not None:
            raise UsageError("gate: judge= is for tables of answers; leave out qrels")
        if not are_tables(candidate):
            raise UsageError(
                "gate: judge= is for tables of answers, and the candidate is not one; leave it out"
            )
        tables = _named_sides(candidate, baseline)
        judged = judged_tables(tables, as_source(questions, "questions"), judge, rubric)
        candidate, questions = judged.rows, None
        measures = measures or judged.measures
        system, *others = judged.system_names
        before, judging, texts = "".join(others), judged.remarks, judged.material.questions
    if judge is None and qrels is None and are_tables(candidate):
        raise UsageError(
            'gate: the candidate is a table of answers, and no judge is named; give judge="short"'
        )
    for name, source in {"baseline": None if before else baseline, "anchor": anchor}.items():
        if is_frame(source):
            raise UsageError(
                f"gate: {name}= is a DataFrame; expected a file that rageval gate --save-baseline wrote"
                " (tables of answers as candidate and baseline need judge=)"
            )
    order = "gate(candidate, qrels, measures, baseline=…, margin=…)"
    files = {"qrels": qrels, "answers": answers, "nuggets": nuggets, "questions": questions}
    with in_order(order, files, candidate=candidate, qrels=qrels, measures=measures):
        subject = kind.gated(candidate, measures, rules, files)
    if gold is not None:
        labels = gold if isinstance(gold, list) else [gold]
        subject = subject.with_gold(subject.read_gold(labels, drawn(gold_chosen)))
    scored = subject.score()
    side = side_of(subject, chosen_system(scored.results, system))
    clusters = chosen.get("clusters")
    if clusters not in (None, "none"):
        is_known = isinstance(clusters, Mapping)
        chosen["clusters"] = clusters if is_known else read_groups(clusters)
        where = "clusters=" if is_known else name_of(clusters)
        require_groups(chosen["clusters"], side.scores.scores[0].query_ids, where)
    if before:
        other = side_of(subject, chosen_system(scored.results, before))
    else:
        other = baseline_side(baseline_in(cast("FileLike", baseline)), side)
    fixed = None if anchor is None else baseline_side(baseline_in(anchor), side)
    verdict = decided(side, other, GateSettings(margin=margin, **chosen), slices, fixed).with_texts(texts)
    return replace(verdict, remarks=[*judging, *scored.remarks, *verdict.remarks])


def _named_sides(candidate: Any, baseline: Any) -> list[Any]:
    """Return the candidate, and the baseline if it is a table, too, as tables that have names."""
    tables = []
    for name, side in {"candidate": candidate, "baseline": baseline}.items():
        if are_tables(side):
            is_named = isinstance(side, str | os.PathLike | Mapping)
            sources = table_sources(side if is_named else {name: side})
            only_system(name, list(map(name_of, sources)))
            tables += sources
    return tables


def report(
    scores: Scores | Mapping[str, Scores] | Iterable[Scores] | Comparison | TablesLike,
    path: str | os.PathLike[str],
    *,
    title: str = "Evaluation report",
    questions: RecordsLike | None = None,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    judgements: JudgementsLike | None = None,
    answers: RecordsLike | Iterable[FileLike] | None = None,
    nuggets: RecordsLike | None = None,
    passages: RecordsLike | None = None,
    store: str | os.PathLike[str] | None = None,
    texts: int | Literal["all"] = 50,
    runs: Mapping[str, RunLike] | Iterable[RunLike] | None = None,
    qrels: QrelsLike | None = None,
    judge: JudgesLike | None = None,
    rubric: str | Rubric | None = None,
    measures: MeasuresLike = (),
    **options: Unpack[ComparisonOptions],
) -> Path:
    """Write a self-contained HTML report on scores.

    The page needs no network. With `judgements` of answers it shows the judgements with their quotes, the
    cost of the judges, and their agreement; with `answers`, also each text next to what it cites. With `runs`
    and `qrels` it shows the grades of every ranking.

    Parameters
    ----------
    scores
        The scores of one run, or of several, or a `Comparison`; or tables of answers, as for `compare`.
    path
        The file to write.
    title
        The heading.
    questions
        The texts of the queries: a file, the id of a dataset, records or a DataFrame.
    groups
        Slices: `{field: {query: value}}`.
    judgements
        What `evaluate_answers` made the scores from: files, a table, a DataFrame, or dicts.
    answers
        The answers that were judged, in the same forms.
    nuggets
        The nuggets, for their texts, in the same forms.
    passages
        The texts of what answers cite, in the same forms: an id and a text each.
    store
        The store of replies, for the prompts; by default the usual one, if it exists.
    texts
        The number of queries whose texts are shown in full, the worst first; `"all"` for all.
    runs, qrels
        The runs and judgements of the scores, made by `evaluate` with default rules.
    judge, rubric, measures
        For tables of answers: who judges them by what, and what is measured; by default the rubric's own.
    **options
        The options of `rageval.comparison.Settings`.

    Returns
    -------
    Path
        The path of the page.

    Examples
    --------
    >>> import rageval, tempfile
    >>> scores = rageval.evaluate("rr", {"q": {"a": 1.0}}, {"q": {"a": 1}})
    >>> rageval.report(scores, tempfile.mkdtemp() + "/report.html").name
    'report.html'
    """
    _refuse_unknown_options(options, Settings.__dataclass_fields__, report)
    judging: list[Remark] = []
    if are_tables(scores):
        tables = judged_tables(table_sources(scores), as_source(questions, "questions"), judge, rubric)
        judgements, judging = tables.rows, tables.remarks
        answers, questions = tables.texts().values()
        names = measures or tables.measures
        scores = evaluate_judged(names, tables.rows, tables.material.answers, on_missing=tables.on_missing)
    compared = scores if isinstance(scores, Comparison) else None
    if compared is not None and options:
        raise UsageError(
            f"report: a Comparison has its settings already; give {', '.join(options)} to compare instead"
        )
    if judgements is None and any(source is not None for source in (answers, passages, store)):
        raise UsageError("report: answers, passages and store need judgements; give these, too")
    if (runs is None) != (qrels is None) or (runs is not None and judgements is not None):
        raise UsageError("report: expected runs and qrels together, or judgements of answers")
    if texts != "all" and (not isinstance(texts, int) or texts < 0):
        raise UsageError(f"report: texts={texts!r}: expected a whole number from 0, or 'all'")
    page_files = {"questions": questions, "nuggets": nuggets, "passages": passages}
    # What is in memory is read more than once, too.
    files: Any = {
        name: None if given is None else kept(as_source(given, name)) for name, given in page_files.items()
    }
    extra = PageInputs(
        title=title,
        groups=groups or {},
        store=None if store is None else os.fspath(store),
        texts=None if texts == "all" else texts,
        **files,
    )
    with in_order("report(scores, path)", scores=scores, path=path):
        results = _list_scores(scores)
        settings = Settings(**options) if compared is None else compared.settings
        contents = report_of_scores(results, settings, extra, judgements, answers, runs, qrels, compared)
        contents["provenance"] = provenance(["rageval.report(…)"], ())
        contents["remarks"] = unique([*judging, *contents["remarks"]])
        with whole_file(Path(path)) as stream:
            stream.write(page(contents).encode())
    return Path(path)


def _list_scores(scores: Any) -> list[Scores]:
    """Return the scores of all runs in any of the forms that they are handed over in."""
    if isinstance(scores, Scores):
        return [scores]
    if hasattr(scores, "pairs"):  # a comparison
        scores = scores.scores
    by_name = scores if isinstance(scores, Mapping) else None
    results = list(scores if by_name is None else by_name.values())
    if not all(isinstance(item, Scores) for item in results):
        raise UsageError("expected Scores, such as evaluate returns, or several of them")
    if by_name is None:
        return results
    # A system is called what its scores stand under.
    return [item.renamed_to(str(name)) for name, item in zip(by_name, results, strict=True)]


class Judged(Displayed, list[dict[str, Any]]):
    """Judgements, as dicts with the keys of their file, and their scores.

    A judgement that failed is among them, with its status in place of a grade.
    """

    _display = hooks.display_of_judgements

    def __init__(
        self,
        judgements: Iterable[dict[str, Any]],
        measures: MeasuresLike = (),
        answers: Sequence[Answer] = (),
        on_missing: OnMissing = "error",
    ) -> None:
        """Keep what scoring needs; nothing is scored before somebody asks."""
        super().__init__(judgements)
        self._measures, self._answers = measures, answers
        self._on_missing: OnMissing = on_missing

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The judgements that failed."""
        return [judgement for judgement in self if judgement.get("status", "ok") not in GRADED]

    @cached_property
    def scores(self) -> ScoresTable:
        """The scores of every system by the given measures; empty if there are none.

        Raises `MissingJudgements` if judgements that they need failed and `on_missing` is `error`.
        """
        return self.score(self._measures) if self._measures else ScoresTable()

    def score(self, measures: MeasuresLike, **options: Unpack[AnswerOptions]) -> ScoresTable:
        """Return the scores of every system by other measures; options are those of `evaluate_answers`."""
        options = {"on_missing": self._on_missing, **options}
        return evaluate_judged(measures, self, self._answers, **options)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the judgements as JSON lines, as `rageval judge -o` does, and return where they are."""
        with whole_file(Path(path)) as stream:
            for judgement in self:
                stream.write(judgement_line(judgement).encode() + b"\n")
        return Path(path)

    def _beneath(self) -> Iterable[str]:
        return map(str, self.scores.remarks)

    def _records(self) -> Iterable[dict[str, Any]]:
        return self


def judge(
    rubric: str | Rubric,
    answers: RecordsLike | SystemsLike | Iterable[FileLike] | Iterable[Answer] | None,
    judges: str | Model | Iterable[str | Model] = "short",
    measures: MeasuresLike = (),
    *,
    questions: RecordsLike | Iterable[Question] | None = None,
    nuggets: RecordsLike | None = None,
    passages: RecordsLike | None = None,
    claims: RecordsLike | None = None,
    run: RunLike | None = None,
    depth: int = 20,
    permutations: int = 10,
    balanced: bool = False,
    battles: float | None = None,
    seed: int = 0,
    on_missing: OnMissing = "error",
    **options: Unpack[JudgeOptions],
) -> Judged:
    """Judge answers by a rubric.

    Parameters
    ----------
    rubric
        The name of one that `rageval rubrics` lists, a file, or a `Rubric`.
    answers
        Files, ids of datasets, DataFrames, or dicts with the keys of the files; or {name: DataFrame or
        dicts}, by system.
    judges
        One or several judges: models, such as `openai:MODEL`, or judges without a model (`short`, `lexical`).
    measures
        The measures of the result's `scores`.
    questions, nuggets, passages, claims
        Further inputs in the same forms; an error says which of them a rubric needs.
    run, depth
        Judge the first `depth` documents of this run.
    permutations, balanced, seed
        In how many orders lists are shown, whether the design is balanced, and the seed.
    battles
        Compare so many pairs of answers, each in one order: a number, or a share of all.
    on_missing
        How failed judgements count in `scores`: as an `error`, or `skip`, `worst`, `best`.
    **options
        The options of `rageval.judges.Settings`.

    Returns
    -------
    Judged
        A list of judgements with their `scores` by the given measures. Failed judgements are included, with a
        status in place of a grade.

    Examples
    --------
    >>> import rageval
    >>> answers = [{"query_id": "q", "run_id": "ours", "question": "Where?", "answer": "In Oslo."}]
    >>> gold = [{"query_id": "q", "question": "Where?", "answer": "Oslo"}]
    >>> judged = rageval.judge("crag", answers, "contains", "crag_score", questions=gold)
    >>> judged[0]["label"], judged.scores["ours"]["crag_score"].value
    ('perfect', 1.0)
    """
    # Everything that can be wrong is said before anybody is asked, and paid.
    _refuse_unknown_options(options, judge_tools.Settings.__dataclass_fields__, judge)
    several = list(judges) if isinstance(judges, Iterable) and not isinstance(judges, str) else [judges]
    places: dict[str, Any] = {"rubric": rubric, "answers": answers, "judges": judges, "measures": measures}
    inputs = {"questions": questions, "nuggets": nuggets, "passages": passages, "claims": claims}
    with in_order("judge(rubric, answers, judges, measures)", {**inputs, "run": run}, **places):
        chosen = measures_of_answers(measures) if measures else ()
        chosen_rubric = judge_tools.rubric_named(rubric) if isinstance(rubric, str) else rubric
        given = table_sources(answers) if are_tables(answers) else as_source(answers, "answers")
        top: list[tuple[str, str]] = []
        if run is not None:
            top = one_run(run).each(
                lambda ranked: [(query, doc) for query, docs in documents_of(ranked) for doc in docs[:depth]]
            )
        material = judge_tools.gathered(
            given if isinstance(given, list) else [] if given is None else [given],
            **{name: as_source(source, name) for name, source in inputs.items()},
            candidates=top,
            permutations=permutations,
            balanced=balanced,
            seed=seed,
        )
        if battles is not None:
            draw = partial(next_battles, share_or_number=battles, seed=seed)
            material = with_battles(chosen_rubric, material, draw)
        settings, remarks = prepare_settings(
            several, chosen_rubric, material, judge_tools.Settings(**options)
        )
    for remark in [*material.remarks, *remarks]:
        warnings.warn(str(remark), stacklevel=2)
    rows = judge_tools.judged_by(several, chosen_rubric, material, settings)
    return Judged(rows, chosen, material.answers, on_missing)


def _refuse_unknown_options(
    options: Mapping[str, Any], allowed: Iterable[str], verb: Callable[..., Any]
) -> None:
    """Refuse options that a verb does not know; also the names of its own parameters may be meant."""
    unknown = next((name for name in options if name not in allowed), None)
    if unknown is not None:
        hint = (
            suggestion(unknown, [*signature(verb).parameters, *allowed])
            or f"; expected some of {', '.join(allowed)}"
        )
        raise UsageError(f"unknown option {unknown!r}{hint}")
