"""`rageval label-plan`: what people shall label, drawn before anybody labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval.cli._options import DOCUMENTS, METAVAR, Command, completing, output_option, shared
from rageval.errors import UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.comparison.planning import Population
    from rageval.files.plans import LabelPlan
    from rageval.judges.material import Material
    from rageval.judges.rubric import Rubric

_DEPTH = 10


@click.command("label-plan", cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="JUDGED.jsonl... | QRELS [RUN...]")
@output_option("-o", "--output", metavar="FILE.jsonl", help="The plan.")
@click.option("--overwrite", is_flag=True, help="Replace a plan that is there.")
@click.option("-n", "--number", type=click.IntRange(1), metavar="N", help="How many queries to label.")
@click.option(
    "--compare",
    type=(str, str),
    metavar="A B",
    help="The labels are to compare these two: leave out queries on which they gave the same.",
)
@click.option(
    "--until-labelled",
    "until",
    metavar="'A>B'",
    help="Compare, and look at a quarter of the labels, a half, …: stop as soon as it is clear.",
)
@shared("--measure", multiple=False, metavar="MEASURE", help="What the labels are to measure.")
@click.option(
    "--rubric",
    metavar="NAME",
    shell_complete=completing("rubrics"),
    help="What people are asked (default: what the judge was).",
)
@shared("--answers", help="The answers that were judged: to be read by those who label.")
@shared("--questions")
@shared("--nuggets", help="The nuggets that were judged.")
@click.option("--passages", type=DOCUMENTS, metavar=METAVAR, help="Texts of documents, by id.")
@shared("--depth", help=f"Documents of each run that are labelled (default: {_DEPTH}).")
@shared("--level")
@shared("--seed", default=0)
def label_plan(words: tuple[str, ...], **options: Any) -> None:
    """Draw what people shall label, and in which order, before anybody labels.

    From judged answers, or from judgements of documents and runs. The plan is a file that cannot be changed
    without being noticed: rageval annotate makes a page of it for those who label, and labels count as a
    random draw only if they are the beginning of its order. With --answers (and whatever else rageval judge
    took) it holds the texts, too.

    \b
    rageval label-plan judged.jsonl -n 100 --answers answers.jsonl --questions crag.jsonl -o ask.jsonl
    rageval label-plan judged.jsonl --compare ours theirs -n 100 --answers answers.jsonl -o ask.jsonl
    rageval label-plan judged.jsonl --until-labelled 'ours>theirs' -m crag_score -n 200 -o ask.jsonl
    rageval label-plan umbrela.qrels a.run b.run --passages corpus.jsonl --questions topics.jsonl -n 50 …
    """
    output = options["output"]
    if output is None:
        raise UsageError("expected -o FILE.jsonl, a place for the plan")
    if output.exists() and not options["overwrite"]:
        raise UsageError(
            f"{visible(str(output))}: is there, and a plan must not change once people label; expected"
            " another place, or --overwrite"
        )
    found, population = _planned(words, options)
    _write(found, output)
    for line in _said(found, population):
        click.echo(f"rageval: {line}", err=True)


def _planned(words: tuple[str, ...], options: dict[str, Any]) -> tuple[LabelPlan, Population]:
    from rageval.cli._inputs import sorted_out
    from rageval.comparison.planning import Aim, plan
    from rageval.files.trec import Reading

    inputs = sorted_out(words, Reading())
    if inputs.measures:
        raise UsageError(f"{', '.join(map(visible, inputs.measures))}: a measure is named with -m")
    until, measure = _claim(options["until"], options["compare"]), _measure(options)
    compare = options["compare"] or until
    population, rubric, material = (_of_answers if inputs.answers else _of_runs)(inputs, compare, options)
    if options["number"] is None:
        raise UsageError("expected -n N, how many queries to label")
    aim = Aim(
        options["number"],
        options["seed"],
        measure=measure,
        compare=compare,
        until=until,
        level=options["level"],
        depth=None if inputs.answers else options["depth"] or _DEPTH,
    )
    return plan(population, aim, rubric, material), population


def _claim(text: str | None, compare: tuple[str, str] | None) -> tuple[str, str] | None:
    """Return the system that is to be better and the other one: of names with '>', those --compare says."""
    if text is None:
        return None
    one, mark, other = (part.strip() for part in text.partition(">"))
    if compare is not None:
        known = [pair for pair in (compare, compare[::-1]) if "".join(text.split()) == _claimed(pair)]
        if not known:
            raise UsageError(f"--until-labelled {text!r}: expected {_claimed(compare)!r}, as --compare says")
        return known[0]
    if not (one and mark and other) or ">" in other:
        raise UsageError(
            f"--until-labelled {text!r}: expected 'A>B', two systems (--compare A B if names hold '>')"
        )
    return one, other


def _claimed(pair: Sequence[str]) -> str:
    return "".join(">".join(pair).split())


def _measure(options: dict[str, Any]) -> str | None:
    from rageval.measures.parsing import parse_measure

    if options["until"] and not options["measures"]:
        raise UsageError("--until-labelled needs -m MEASURE, by which the claim is decided")
    return str(parse_measure(options["measures"])) if options["measures"] else None


_Planned = tuple["Population", "Rubric", "Material | None"]


def _of_answers(inputs: Inputs, compare: tuple[str, str] | None, options: dict[str, Any]) -> _Planned:
    from rageval.comparison.planning import of_answers, rubric_to_ask
    from rageval.scoring.answers import read_judgements

    judged = read_judgements(inputs.answers)
    rubric = rubric_to_ask(judged, options["rubric"])
    material = _material(options, ()) if options["answers"] or options["passages"] else None
    if compare and not options["answers"]:
        click.echo(
            "rageval: without --answers nobody knows where both gave the same; all are asked", err=True
        )
    answers = material.answers if material else ()
    return of_answers(judged, rubric, compare or (), answers), rubric, material


def _of_runs(inputs: Inputs, compare: tuple[str, str] | None, options: dict[str, Any]) -> _Planned:
    from rageval.comparison.planning import of_runs
    from rageval.judges.rubric import rubric_named
    from rageval.scoring.sources import read_qrels, read_run

    if len(inputs.qrels) != 1:
        raise UsageError(f"expected one file of judgements (4 columns), found {len(inputs.qrels)}")
    (source,) = inputs.qrels
    qrels = source.load() if hasattr(source, "load") else read_qrels(source)
    named = qrels.has_nuggets and not qrels.looks_plain
    rubric = rubric_named(options["rubric"] or ("nugget-support" if named else "relevance"))
    runs = [read_run(run) for run in inputs.runs]
    found = of_runs(qrels, runs, rubric, compare or (), options["depth"] or _DEPTH)
    if options["passages"] is None:
        return found, rubric, None
    asked = {(query, ask.item_id): None for query, asks in found.asks.items() for ask in asks}
    return found, rubric, _material(options, asked)


def _material(options: dict[str, Any], candidates: Iterable[tuple[str, str]]) -> Material:
    from rageval.judges.material import gathered

    names = ("answers", "questions", "nuggets", "passages")
    answers, questions, nuggets, passages = (options[name] for name in names)
    return gathered(answers, questions, nuggets, passages, candidates)


def _write(found: LabelPlan, output: Path) -> None:
    from rageval.files.plans import plan_lines
    from rageval.files.writing import whole_file

    with whole_file(output) as stream:
        for line in plan_lines(found):
            stream.write(line.encode() + b"\n")


def _said(found: LabelPlan, population: Population) -> Iterable[str]:
    """Say how much there is to label, and what was left out."""
    labels = sum(len(query.asks) for query in found.asked)
    yield f"{len(found.asked):,} of {found.rest:,} queries to label, {labels:,} labels (seed {found.seed})"
    if population.same:
        yield f"{len(population.same):,} queries have the same answers by both, and need no label"
    if population.left_out:
        yield f"{population.left_out:,} queries lack a system, or a verdict, and are left out"
    if found.looks:
        yield f"looks at {', '.join(map(str, found.looks))} labelled queries"
    if not any(query.contexts for query in found.asked):
        yield "the plan holds no texts: rageval annotate needs it made with the files that were judged"
