"""`rageval score`, the default command: runs and judgements in, a value a measure out."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click

from rageval import hooks
from rageval import options as opt
from rageval.cli._inputs import Inputs, ids_of_datasets, named_measures, sort_words
from rageval.cli._options import (
    Command,
    Scoring,
    checked_plot,
    completing,
    reading_of,
    takes_options,
)
from rageval.cli._output import checked_values, deliver, places_of, say, write_scores
from rageval.cli._scoring import (
    best_first,
    on_workers,
    refuse,
    refuse_single_values_of_labels,
    set_remarks,
    subject_of,
)
from rageval.comparison.estimates import estimate_value
from rageval.core.remark import joined_text
from rageval.errors import FAULTS, UsageError
from rageval.measures.base import HIGHER, LOWER, NEITHER
from rageval.measures.parsing import parse_measure
from rageval.subjects import RUNS, kind_of_measure
from rageval.table import FORMATS, on_terminal
from rageval.text import visible
from rageval.views.bases import describe_basis, uncorrected_notes
from rageval.views.scores import SLICE_FORMATS, Layout, are_labels_passed, lines_of, slice_lines, trec_eval

if TYPE_CHECKING:
    from rageval.core.basis import Basis
    from rageval.core.estimate import Estimate
    from rageval.scoring.scores import Score, Scores


_FORMATS = (
    *("trec", "ir_measures", "ndeval", *FORMATS, "cite", "freshstack-leaderboard"),
    *("leaderboard-tot", "leaderboard-ir_measures", "leaderboard-jsonl"),
)


class Options(Scoring):
    """The options of `rageval score`."""

    on_missing: opt.OnMissing = "error"
    bounds: opt.Bounds = False
    group_by: Annotated[
        str | None,
        opt.measured(
            "Average the means of groups: a field of the questions, or a file of lines 'query_id group'.",
            metavar="FIELD|FILE",
        ),
    ] = None
    weights: Annotated[
        str | None,
        opt.measured("Weights for a weighted mean over groups: lines 'group weight'.", metavar="FILE"),
    ] = None
    gold: Annotated[
        opt.Gold,
        "Human labels for a sample; corrects the values of --by, and means for --require and --fail-under.",
    ] = ()
    require: Annotated[
        tuple[str, ...],
        opt.gated(
            "Exit 1 unless the mean of every run meets this: 'hallucination<=0.1', 'coverage@20>=0.9'.",
            metavar="GATE",
        ),
    ] = ()
    fail_under: opt.FailUnder = ()
    by_query: opt.ByQuery = False
    no_summary: Annotated[bool, opt.printed("Do not print the means.", ("-n", "--no-summary"))] = False
    sort: opt.Sort | None = None
    names: opt.Names = ()
    by: opt.By | None = None
    cluster: opt.Cluster | None = None
    style: Annotated[
        str | None,
        opt.printed(
            "Default: table on a terminal, else trec (with --compat trec_eval: under its names). latex is a"
            " table for a paper, cite says how to cite the numbers.",
            ("--format",),
            choices=_FORMATS,
        ),
    ] = None
    caption: opt.Caption | None = None
    label: opt.LatexLabel | None = None
    places: opt.Places | None = None
    output: opt.Output | None = None
    values: Annotated[
        opt.File | None,
        opt.printed("Also write the value of every query.", metavar="FILE.parquet", kind="output"),
    ] = None
    eee: Annotated[
        opt.File | None,
        opt.printed(
            "Also write records for Every Eval Ever: means with intervals, and each query with its texts"
            " (--questions, --answers).",
            metavar="FOLDER",
            kind="folder",
        ),
    ] = None
    plot: opt.Plot | None = None
    size: opt.Size | None = None
    jobs: Annotated[
        int,
        opt.done(
            "Number of processes, for several runs or one run of tens of millions of lines.",
            ("-j", "--jobs"),
            least=1,
        ),
    ] = 1
    dask: Annotated[
        str | None, opt.done("Read the runs on the workers of this Dask cluster.", metavar="ADDRESS")
    ] = None


@click.command(
    cls=Command,
    first=(
        "measures",
        "by_query",
        "by",
        "questions",
        "on_missing",
        "intersection",
        "gold",
        "require",
        "style",
        "output",
    ),
)
@click.argument("words", nargs=-1, metavar="RUN... QRELS [MEASURE...]", shell_complete=completing("scored"))
@takes_options
@click.pass_context
def score(ctx: click.Context, /, words: tuple[str, ...], options: Options) -> None:
    """Score runs against judgements, or judged answers.

    Pass files in any order; formats are detected. Runs have 6 columns, judgements 4, and judged answers are
    JSON lines. '-' is standard input, and compressed files are read directly. A word that is no file is a
    measure or an ir_datasets id.

    \b
    rageval run.trec qrels.nugget -m alpha_ndcg@10
    rageval a.run b.run qrels -m coverage@20,recall@50 -q
    zcat run.gz | rageval - qrels -m 'nDCG@10 AP'
    rageval judged.jsonl -m crag_score --by domain
    """
    style = options.style or ("table" if options.output is None and on_terminal() else "trec")
    # Before anything is read: names of files that say no format that can be written.
    plot = checked_plot(options.plot, options.size)
    _refuse_combinations(options, style)
    gates = _parse_gates(options.require, options.fail_under)
    inputs = sort_words(words, reading_of(options.comments, options.compat), tables=True)
    if inputs.unjudged:
        options = hooks.judge_tables(inputs, options)
    measures = named_measures(options, inputs, [gate.measure for gate in gates])
    subject = subject_of(inputs, measures, options, keep_streams=bool(options.gold))
    results, remarks, refused = subject.score(on_workers(options))
    if not results:
        refuse(refused)
    results = best_first(results, options.sort)
    say(*set_remarks([*options.measures, *inputs.measures], options.compat), *remarks)
    if plot:
        hooks.save_figure(hooks.figure_of_scores(results, options.size), plot)
    if options.values:
        write_scores(results, options.values)
    if options.eee:
        hooks.write_evaluation(results, subject, inputs, options, ids_of_datasets(inputs, options))
    queries = list(subject.queries)
    passed = not gates or _passes_gates(results, gates, len(queries), options.population)
    places = places_of(options.places, 6 if style == "ndeval" else 4)
    shown = options.by_query, not options.no_summary
    layout = Layout(places, *shown, options.caption, options.label, _freshstack_topic(words))
    deliver(_score_lines(results, inputs, queries, layout, style, options), options.output)
    refuse(refused)
    ctx.exit(0 if passed else FAULTS)


def _refuse_combinations(options: Options, style: str) -> None:
    """Refuse options that do not go together."""
    if options.values:
        checked_values(options.values)
    if options.output and options.output.suffix == ".parquet":
        raise UsageError(
            f"-o {visible(str(options.output))}: Parquet holds values of queries; use --values FILE"
        )
    if style == "cite" and (options.by or options.by_query or options.no_summary):
        raise UsageError("--format cite reports the means; leave out --by, -q and -n")
    if options.gold and not (options.by or options.require or options.fail_under):
        raise UsageError(
            "--gold corrects the values of --by, and means for --require and --fail-under; for all queries"
            " use rageval label correct, or compare"
        )
    if (options.by or options.gold) and style not in ("cite", *SLICE_FORMATS):
        raise UsageError(
            f"--format {style} has no slices (--by) and no corrected means (--gold); use one of"
            f" {', '.join(SLICE_FORMATS)}"
        )
    refuse_single_values_of_labels(options.by_query, options.gold)


def _score_lines(
    results: list[Scores], inputs: Inputs, queries: list[str], layout: Layout, style: str, options: Options
) -> Iterable[str]:
    """Return the lines of scores in a format; of slices, where --by or --gold asks for them."""
    if style == "cite":
        return [str(hooks.citation_of(results, ids_of_datasets(inputs, options)))]
    if options.by or options.gold:
        groups: dict[str, dict[str, str]] = {}
        if options.by:
            groups = hooks.slices_of(options.by, queries, options.questions, inputs.question_sources)
            if not groups:
                raise UsageError(f"--by {options.by!r}: expected one or more fields of the questions")
        clusters, by = hooks.clusters_of(options.cluster, queries, options.questions, inputs.question_sources)
        settings = hooks.comparison_settings(
            population=options.population, clusters=clusters, clustered_by=by
        )
        return slice_lines(results, groups, layout, style, settings)
    if style == "trec" and options.compat == "trec_eval":
        return trec_eval(results, layout, options.rel)
    return lines_of(results, layout, style)


def _freshstack_topic(words: Iterable[object]) -> str | None:
    """Return the topic of the dataset of FreshStack among these words, if one of them is its id."""
    ids = [str(word).split("/") for word in words]
    return next((parts[1] for parts in ids if len(parts) == 3 and parts[0] == "freshstack"), None)


# Gates: what the mean of every run must reach, or may not pass. Each measure knows which of its values are
# good, so a gate that would stop the best run and pass the worst is refused; a value that is not defined
# passes no gate.
_HOLDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_MISSED = {">=": "below", "<=": "above", ">": "not above", "<": "not below"}
_GATE = r"\s*(?P<measure>[^<>]*[^<>=\s])\s*(?P<sign>[<>]=?)(?P<limit>[^<>=]+)"
_COMMA = r",(?![^()]*\))"  # outside parentheses
_OPPOSITE_SIGNS = str.maketrans("<>", "><")


class _ScoreGate(NamedTuple):
    """A measure, and on which side of which number its mean must lie; `text` is the gate as it was typed."""

    text: str
    measure: Any
    sign: str
    limit: float

    @property
    def keeps(self) -> str:
        """Return which values it lets through."""
        return HIGHER if self.sign[0] == ">" else LOWER

    @property
    def is_backwards(self) -> bool:
        """Return whether it lets the bad values through and stops the good ones."""
        return self.measure.better not in (self.keeps, NEITHER)

    def holds(self, value: float) -> bool:
        """Return whether this value passes; NaN never does."""
        return bool(_HOLDS[self.sign](value, self.limit))

    def missed(self) -> str:
        """Say what is so of a value that does not pass."""
        return f"{_MISSED[self.sign]} {self.limit:g}"


def _parse_gates(required: Sequence[str], fail_under: Sequence[str]) -> list[_ScoreGate]:
    """Return the gates of the command line; those that would stop the good runs are refused."""
    required_gates = [_parse_requirement(part, text) for text in required for part in re.split(_COMMA, text)]
    gates = [*required_gates, *map(_gate_at_least, fail_under)]
    for gate in required_gates:
        if gate.is_backwards and all(other.is_backwards for other in gates if other.measure == gate.measure):
            good, only = ("low", "lower") if gate.keeps == HIGHER else ("high", "upper")
            opposite = gate.text.translate(_OPPOSITE_SIGNS)
            raise UsageError(
                f"--require {gate.text!r}: for {gate.measure} {good} values are good, so this would stop the"
                f" good runs and pass the bad ones; use {opposite!r} (a {only} limit"
                " only counts together with the opposite one)"
            )
    return gates


def _passes_gates(
    results: Sequence[Scores], gates: Sequence[_ScoreGate], queries: int, population: opt.Population
) -> bool:
    """Return whether every run passes every gate, and say why not; there are so many queries."""
    has_labels = are_labels_passed(results)
    settings = None
    if has_labels:
        settings = hooks.comparison_settings(population=population)
    bases: dict[str, Basis] = {}
    passed = True
    for scores in results:
        for gate in gates:
            score = scores[gate.measure]
            estimate = estimate_value(score, settings)
            bases.setdefault(gate.text, estimate.basis)
            passed = passed and estimate.meets(gate.holds) and not _counted_as_good(score, queries)
            for text in _gate_messages(score, estimate, gate, queries):
                say(f"{visible(scores.run)}: {text}")
    say(*uncorrected_notes(bases, has_labels))
    return passed


def _gate_messages(score: Score, estimate: Estimate, gate: _ScoreGate, queries: int) -> Iterator[str]:
    value = estimate.value
    rests = "" if estimate.queries == queries else f" (over {estimate.queries:,} of {queries:,} queries)"
    shown = f"{gate.measure} is {_format_value(value, gate)}"
    if estimate.is_corrected:
        shown += f" {describe_basis(estimate.basis)}"
    if not estimate.is_defined:
        what = f"defined value{rests}"
        if estimate.is_corrected:
            what = f"corrected value: {joined_text(estimate.reasons)}"
        yield f"{gate.measure} has no {what}, so {gate.text!r} is not met"
    elif _counted_as_good(score, queries):
        yield (
            f"{shown}{rests}, but {score.missing:,} of {queries:,} queries"
            f" are not in the run and count as 0, the best value, so {gate.text!r} is not met;"
            " --intersection leaves them out"
        )
    elif not gate.holds(value):
        yield f"{shown}, {gate.missed()}{rests}"
    elif not estimate.meets(gate.holds):
        low, high = estimate.bounds or (value, value)
        yield (
            f"{shown}{rests}, but {score.missing:,} judgements are"
            f" missing, so it may be {low:.4f} to {high:.4f}, and {gate.text!r} is not met"
        )
    elif rests or estimate.is_corrected:
        yield f"{shown}, which meets {gate.text!r}{rests}"
    if estimate.is_defined:
        yield from (f"{gate.measure}: {reason}" for reason in estimate.reasons)


def _counted_as_good(score: Score, queries: int) -> bool:
    """Whether queries that a run lacks count as 0 where 0 is the best value."""
    measure: Any = score.measure
    if measure.better != LOWER or kind_of_measure(measure) is not RUNS:
        return False
    return score.missing > 0 and len(score.numbers) == queries


def _format_value(value: float, gate: _ScoreGate) -> str:
    """Return the value with four places; with all of them where four would say the opposite."""
    text = f"{value:.4f}"
    return text if gate.holds(float(text)) == gate.holds(value) else repr(value)


def _parse_requirement(part: str, text: str) -> _ScoreGate:
    match = re.fullmatch(_GATE, part)
    if match is None:
        raise UsageError(
            f"--require {text!r}: expected MEASURE>=NUMBER or MEASURE<=NUMBER, as in 'hallucination<=0.1'"
            + (f"; found {part.strip()!r}" if part != text else "")
        )
    limit = _limit_of(match["limit"], f"--require {text!r}: expected a number after {match['sign']}")
    return _ScoreGate(part.strip(), parse_measure(match["measure"]), match["sign"], limit)


def _gate_at_least(text: str) -> _ScoreGate:
    expected = f"--fail-under {text!r}: expected MEASURE=VALUE, as in alpha_ndcg@10=0.5"
    name, equals, value = text.rpartition("=")
    if not equals or name.endswith(("<", ">")) or not name.strip():
        raise UsageError(expected + ("; for other limits use --require" if equals else ""))
    limit = _limit_of(value, expected)
    gate = _ScoreGate(f"{name.strip()}>={value.strip()}", parse_measure(name), ">=", limit)
    if gate.is_backwards:
        raise UsageError(
            f"--fail-under {text!r}: for {gate.measure} low values are good, so this would pass the bad"
            f" runs; use --require '{name.strip()}<={value.strip()}'"
        )
    return gate


def _limit_of(text: str, expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise UsageError(expected) from None
    if not math.isfinite(number):
        raise UsageError(expected)
    return number
