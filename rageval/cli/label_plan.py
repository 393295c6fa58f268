"""`rageval label plan`: what people shall label, drawn before anybody labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import click

from rageval import options as opt
from rageval.cli._inputs import sort_words
from rageval.cli._options import Command, Scoring, takes_options
from rageval.cli._output import deliver, say
from rageval.comparison import plans
from rageval.comparison.plans import labels_for, of_answers, of_pairs, of_runs, rubric_to_ask
from rageval.errors import UsageError
from rageval.files.plans import plan_lines, plans_of_labels
from rageval.files.trec import Reading
from rageval.judges.material import gathered
from rageval.judges.rubric import rubric_named
from rageval.measures.parsing import parse_measure, parse_measures
from rageval.scoring.answers import read_judgements
from rageval.scoring.gold import UNIFORM, Draw
from rageval.scoring.query_groups import clusters_of
from rageval.scoring.sources import read_qrels, read_run
from rageval.subjects import RUNS
from rageval.text import visible
from rageval.views.plans import plan_messages

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.comparison.plans import Population
    from rageval.files.plans import LabelPlan
    from rageval.judges.material import Material
    from rageval.judges.rubric import Rubric
    from rageval.scoring.qrels import Qrels

_DEPTH = 10


class Options(opt.Options):
    """The options of `rageval label plan`."""

    overwrite: Annotated[opt.Overwrite, "Replace an existing plan."] = False
    number: Annotated[
        int | None,
        opt.Option(
            "Number of queries to label (of clusters, if there are any: whole ones are drawn).",
            ("-n", "--number"),
            metavar="N",
            least=1,
        ),
    ] = None
    pairs: Annotated[
        bool,
        opt.Option(
            "Plan -n pairs of answers to compare, balanced over queries, systems and places; with --pilot,"
            " pairs of systems whose ranks overlap."
        ),
    ] = False
    by: Annotated[
        Literal["doubt"] | None,
        opt.Option(
            "Draw more of what the judge is unsure of (by its probabilities, p), and record each query's"
            " chance."
        ),
    ] = None
    width: Annotated[
        float | None,
        opt.Option(
            "Instead of a number: as many as an interval of ± W by --measure needs, estimated from --pilot.",
            metavar="W",
            above=0,
        ),
    ] = None
    compare: Annotated[
        tuple[str, str] | None,
        opt.Option(
            "Plan labels to compare these two systems: leave out queries on which they gave the same answer.",
            metavar="A B",
        ),
    ] = None
    measures: Annotated[opt.Measure | None, "The measure that the labels are for."] = None
    questions: opt.Questions = None
    nuggets: Annotated[opt.Nuggets, "The judged nuggets."] = None
    answers: Annotated[opt.Answers, "The judged answers, shown to annotators."] = ()
    passages: opt.Passages = None
    depth: Annotated[
        opt.Depth | None,
        "Documents of each run to label (default: those the measure uses, or 10).",
    ] = None
    level: opt.Level = 0.95
    cluster: opt.Cluster | None = None
    decide: Annotated[
        str | None,
        opt.claimed(
            "The claim to decide: compare while labels come in, and stop as soon as it is decided.",
            metavar="'A>B'",
        ),
    ] = None
    pilot: opt.Pilot = ()
    rubric: Annotated[
        str | None,
        opt.asked("The rubric for annotators (default: the judge's).", metavar="NAME", completes="rubrics"),
    ] = None
    output: Annotated[
        opt.File | None,
        opt.printed("File for the plan.", ("-o", "--output"), metavar="FILE.jsonl", kind="output"),
    ] = None
    seed: opt.Seed = 0


@click.command(
    "plan",
    cls=Command,
    first=(
        "number",
        "pairs",
        "by",
        "width",
        "compare",
        "measures",
        "answers",
        "questions",
        "pilot",
        "output",
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="JUDGED.jsonl... | QRELS [RUN...]")
@takes_options
def label_plan(words: tuple[str, ...], options: Options) -> None:
    """Draw what to label, and in which order, before anybody labels.

    Takes judged answers, or judgements of documents with runs. Changes to the plan are detected. Make a page
    of it for annotators with rageval label page. Labels count as a random draw only if they are the beginning
    of the plan's order. With --answers (and the other files that rageval judge took) the plan includes the
    texts.

    \b
    rageval label plan judged.jsonl -n 100 --answers answers.jsonl --questions crag.jsonl -o ask.jsonl
    rageval label plan judged.jsonl --by doubt -n 100 --answers answers.jsonl --questions crag.jsonl -o
    ask.jsonl
    rageval label plan judged.jsonl --compare ours theirs -n 100 --answers answers.jsonl -o ask.jsonl
    rageval label plan judged.jsonl --width 0.05 --pilot labels.jsonl -m crag_score -o more.jsonl
    rageval label plan judged.jsonl --pairs -n 100 --answers answers.jsonl -o ask.jsonl
    rageval label plan judged.jsonl --decide 'ours>theirs' -m crag_score -n 200 -o ask.jsonl
    rageval label plan umbrela.qrels a.run b.run --passages corpus.jsonl --questions topics.jsonl -n 50 …
    """
    output = options.output
    if output is None:
        raise UsageError("expected -o FILE.jsonl for the plan")
    if output.exists() and not options.overwrite:
        raise UsageError(
            f"{visible(str(output))}: already exists, and a plan must not change once labeling starts; use"
            " another file, or --overwrite"
        )
    drawn_plan, population = _draw_plan(words, options)
    deliver(plan_lines(drawn_plan), output)
    say(*plan_messages(drawn_plan, population))


def _draw_plan(words: tuple[str, ...], options: Options) -> tuple[LabelPlan, Population]:

    inputs = sort_words(words, Reading())
    if inputs.measures:
        raise UsageError(f"{', '.join(map(visible, inputs.measures))}: name measures with -m")
    decide = _claim(options.decide, options.compare)
    if options.decide and not options.measures:
        raise UsageError("--decide needs -m MEASURE to decide the claim")
    measure = str(parse_measure(options.measures)) if options.measures else None
    compare = options.compare or decide
    if (options.number is None) == (options.width is None):
        raise UsageError(
            "expected -n N, the number of queries to label, or --width W with --pilot LABELS.jsonl"
        )
    if options.pairs:
        return _draw_pairs(inputs, options)
    if bool(options.pilot) != (options.width is not None) or (options.pilot and not options.measures):
        raise UsageError("--width W also needs --pilot LABELS.jsonl, with 30 or more labels, and -m MEASURE")
    if inputs.kind.population is None:
        raise UsageError(f"{inputs.kind.noun}: there is nothing to label; expected runs or judged answers")
    options = options.replaced(depth=_depth(options) if inputs.kind is RUNS else None)
    population, rubric, material = inputs.kind.population(inputs, compare, options)
    queries = list(population.asks)
    clusters, by = clusters_of(options.cluster, queries, options.questions, inputs.question_sources)
    if clusters is not None and clusters != "none":
        population = replace(population, clusters=clusters, clustered_by=by)
    pilot = _read_pilot(inputs, population, compare, options) if options.pilot else None
    aim = plans.Aim(
        pilot.number if pilot else options.number or 0,
        options.seed,
        measure=measure,
        compare=compare,
        decide=decide,
        level=options.level,
        width=options.width,
        depth=options.depth,
        by_doubt=options.by == "doubt",
    )
    drawn_plan = plans.plan(population, aim, rubric, material)
    return (drawn_plan.extending(pilot.plan, pilot.queries) if pilot else drawn_plan), population


def _draw_pairs(inputs: Inputs, options: Options) -> tuple[LabelPlan, Population]:
    refused = {
        "--width": options.width,
        "--by": options.by,
        "--compare": options.compare,
        "--decide": options.decide,
    }
    if extra := [name for name, value in refused.items() if value is not None]:
        raise UsageError(f"--pairs draws pairs of all systems; leave out {', '.join(extra)}")
    if inputs.kind is RUNS:
        raise UsageError("--pairs draws pairs of answers; expected judged answers")
    judged = read_judgements(inputs.files["judgements"])
    compares = options.rubric is None and "pairwise" not in judged.rubrics()
    rubric = rubric_to_ask(judged, "pairwise" if compares else options.rubric)
    population = of_pairs(judged, rubric)
    pilot = read_judgements(list(options.pilot)) if options.pilot else None
    material = _material(options, ()) if options.answers else None
    number = options.number or 0
    return plans.plan_of_pairs(population, number, options.seed, rubric, material, pilot), population


class _Pilot(NamedTuple):
    """What labels that were given before say: how many are needed, and which plan they were of."""

    number: int
    plan: str
    queries: frozenset[str]


def _read_pilot(
    inputs: Inputs, population: Population, compare: tuple[str, str] | None, options: Options
) -> _Pilot:
    (measure,) = parse_measures([options.measures])
    files = list(options.pilot)
    scoring = Scoring(answers=options.answers, nuggets=options.nuggets, on_missing="skip")
    subject = inputs.kind.subject(inputs, [measure], scoring, True)
    gold = subject.read_gold(files, Draw(how=UNIFORM))
    scores = {result.run: result.scores[0] for result in subject.with_gold(gold).score().results}
    chosen = [scores[system] for system in population.systems if system in scores]
    queries = list(subject.queries)
    clusters, _ = clusters_of(options.cluster, queries, options.questions, inputs.question_sources)
    number = labels_for(options.width or 0.0, chosen, compare, population.same, options.level, clusters)
    # As many clusters as hold so many queries.
    number = math.ceil(number * len(population.queries_by_cluster) / len(population.differing))
    plans = {plan for file in files for _, plan in plans_of_labels(file)}
    return _Pilot(number, plans.pop() if len(plans) == 1 else "", frozenset(gold.queries))


def _claim(text: str | None, compare: tuple[str, str] | None) -> tuple[str, str] | None:
    """Return the system that is to be better and the other one: of names with '>', those --compare says."""
    if text is None:
        return None
    one, mark, other = (part.strip() for part in text.partition(">"))
    if compare is not None:
        # Without blanks, which people put around the sign or not.
        claims = {"".join(">".join(pair).split()): pair for pair in (compare[::-1], compare)}
        typed, *_, expected = "".join(text.split()), *claims
        if typed not in claims:
            raise UsageError(f"--decide {text!r}: expected {expected!r}, as --compare says")
        return claims[typed]
    if not (one and mark and other) or ">" in other:
        raise UsageError(f"--decide {text!r}: expected 'A>B', two systems (--compare A B if names hold '>')")
    return one, other


def _depth(options: Options) -> int:
    """Return how many documents of each run are labeled: as many as the measure looks at, if not more."""
    name, depth = options.measures, options.depth
    if name is None:
        return int(depth or _DEPTH)
    k = getattr(parse_measure(name), "k", None)
    if k is None:
        raise UsageError(f"-m {name}: uses whole rankings, which cannot be labeled; add a cut-off: {name}@10")
    if depth is not None and depth < k:
        raise UsageError(f"-m {name}: uses {k} documents of each run; expected --depth {k} or more")
    return int(depth or k)


_Planned = tuple["Population", "Rubric", "Material | None"]


def population_of_answers(inputs: Inputs, compare: tuple[str, str] | None, options: Options) -> _Planned:
    """Return what people may label of judged answers, the rubric, and the texts if there are any."""
    judged = read_judgements(inputs.files["judgements"])
    rubric = rubric_to_ask(judged, options.rubric)
    asked = dict.fromkeys((str(line.query_id), str(line.item_id)) for _, line in judged.each())
    of_documents = rubric.file.unit in ("documents", "passage")
    has_texts = options.answers or options.passages
    material = _material(options, asked if of_documents else ()) if has_texts else None
    if compare and not options.answers:
        say("without --answers it is unknown where both systems gave the same answer; asking for all")
    answers = material.answers if material else ()
    return of_answers(judged, rubric, compare or (), answers), rubric, material


def population_of_runs(inputs: Inputs, compare: tuple[str, str] | None, options: Options) -> _Planned:
    """Return which documents of runs people may label, the rubric, and the texts if there are any."""
    files = inputs.files["qrels"]
    if len(files) != 1:
        raise UsageError(f"expected one file of judgements (4 columns), found {len(files)}")
    (source,) = files
    qrels: Qrels = source.load() if hasattr(source, "load") else read_qrels(source)
    named = qrels.has_nuggets and not qrels.looks_plain
    rubric = rubric_named(options.rubric or ("nugget-support" if named else "relevance"))
    runs = [read_run(run) for run in inputs.files["run"]]
    population = of_runs(qrels, runs, rubric, compare or (), options.depth or _DEPTH)
    if options.passages is None:
        return population, rubric, None
    asked = {(query, ask.item_id): None for query, asks in population.asks.items() for ask in asks}
    return population, rubric, _material(options, asked)


def _material(options: Options, candidates: Iterable[tuple[str, str]]) -> Material:
    texts = options.answers, options.questions, options.nuggets, options.passages
    return gathered(*texts, candidates, every_question=False)
