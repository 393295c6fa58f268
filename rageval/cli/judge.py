"""`rageval judge`: judgements by a model, a file or a matcher."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._inputs import source_named
from rageval.cli._options import (
    Asking,
    Command,
    FileOrId,
    completing,
    takes_options,
)
from rageval.cli._output import deliver, print_lines, say
from rageval.cli._tables import answers_of
from rageval.cli.label_agree import passport_lines
from rageval.cli.score import score
from rageval.comparison.arena import next_battles
from rageval.comparison.passport import passport, retest_agreement
from rageval.errors import InputError, JudgeFailed, UsageError
from rageval.files.answers import write_claims
from rageval.files.judgements import judgement_line
from rageval.files.kinds import is_answer_table
from rageval.files.line_tables import JUDGEMENT_COLUMNS, PARQUET, write_line_table
from rageval.files.nuggets import write_nuggets
from rageval.judges import votes
from rageval.judges.material import SPLITS, UNITS, gathered, with_battles
from rageval.judges.offline import knows
from rageval.judges.panel import (
    Settings,
    ask_all_judges,
    claims_by,
    each_judgement,
    exchanged,
    forecast,
    nuggets_by,
    prepare_settings,
    vote_of,
)
from rageval.judges.rubric import rubric_named
from rageval.measures.parsing import parse_measures
from rageval.options import settings_from
from rageval.scoring.answers import measures_of_answers, read_judgements
from rageval.scoring.sources import read_qrels, read_run
from rageval.text import visible
from rageval.views.judgements import asking_lines, cascade_text, exchange_lines, retest_text

if TYPE_CHECKING:
    from rageval.judges.budget import Budget
    from rageval.judges.material import Material
    from rageval.judges.rubric import Rubric

_MOST_DIFFERENCES = 20  # things on which two rubrics differ that are listed
_JUDGE_CHOICES = (
    "no judge named; use a model (--judge openai:MODEL, anthropic:MODEL, ollama:MODEL, or any"
    " OpenAI-compatible server: openai:MODEL@http://127.0.0.1:8000/v1), a file of judgements (--judge"
    " frozen:judged.jsonl), or a judge without a model (--judge short, for short answers with gold ones;"
    " --judge lexical, for nuggets)"
)


def _deliver(rubric: Rubric, lines: Iterable[str], output: opt.File | None) -> None:
    """Print the lines of a result, or write them to a file; judgements also as a table."""
    if output is None or not str(output).endswith(PARQUET):
        deliver(lines, output)
        return
    if rubric.file.unit in (*UNITS, SPLITS, "bank"):
        raise UsageError(
            f"-o {visible(str(output))}: {rubric.name} writes a list, which is no table of judgements"
        )
    write_line_table(output, JUDGEMENT_COLUMNS, lines)


def _asking_lines(concurrency: int, spec: str, cost: float | None, calls: int) -> Iterator[str]:
    """Yield the ways to ask a judge, in words."""
    is_provider = spec.startswith(("openai:", "anthropic:")) and "@" not in spec
    return asking_lines(spec, cost, calls, concurrency, is_provider)


def _share_word(word: str) -> float:
    """Return a share above 0 and at most 1, which may be a percentage.

    >>> _share_word("2%"), _share_word("0.5")
    (0.02, 0.5)
    """
    try:
        share = float(word.strip().removesuffix("%")) / (100 if word.strip().endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise UsageError(f"--again {visible(word)!r}: expected a share such as 2% or 0.02")
    return share


class Options(Asking):
    """The options of `rageval judge`."""

    against: Annotated[
        str | None,
        opt.Option(
            "Judge by this rubric too, and print how far the two agree, what each cost, and where they"
            " differ.",
            metavar="RUBRIC",
        ),
    ] = None
    abstentions: Annotated[
        Literal["rageval", "crag"] | None,
        opt.Option(
            "When an answer counts as not knowing: if all its sentences say so (default), or if it has the"
            " words that CRAG's script looks for."
        ),
    ] = None
    measures: Annotated[
        opt.Measures, "Also score the judgements by this measure: crag_score. Needs -o FILE."
    ] = ()
    rel: Annotated[opt.Rel, "With --qrels: lowest grade to judge."] = 2
    on_missing: opt.OnMissing = "error"
    compat: Annotated[
        str | None,
        opt.measured("Read unreadable replies as the grade that this tool gives them.", metavar="NAME"),
    ] = None
    questions: Annotated[opt.Questions, "The questions, with gold answers if the rubric needs them."] = None
    nuggets: Annotated[opt.Nuggets, "The nuggets."] = None
    claims: Annotated[
        str | None,
        opt.read("The claims of answers and gold answers, as written by the rubric claims.", metavar="FILE"),
    ] = None
    passages: Annotated[opt.Passages, "Document texts: JSON lines with an id and a text."] = None
    runs: opt.RunFiles = ()
    qrels: Annotated[opt.Qrels, "Judge only documents that these judgements grade --rel or better."] = None
    depth: Annotated[opt.Depth, "Documents of each topic to judge."] = 20
    rubric: Annotated[str | None, opt.asked("The rubric, instead of the first word.", metavar="FILE")] = None
    judges: Annotated[
        tuple[str, ...],
        opt.asked("The judge; may be repeated.", ("--judge",), metavar="JUDGE", completes="judges"),
    ] = ()
    tiebreak: Annotated[
        str | None,
        opt.asked("A judge asked only where two judges differ (--vote majority or median).", metavar="JUDGE"),
    ] = None
    fit: Annotated[
        opt.File | None,
        opt.asked(
            "Refit `short` on these human labels for some of the answers; cross-validated, and kept only if"
            " better.",
            metavar="LABELS",
            kind="file",
        ),
    ] = None
    then: Annotated[
        str | None,
        opt.asked(
            "The judge that decides what the first one is least sure of.", metavar="JUDGE", completes="judges"
        ),
    ] = None
    ask: Annotated[
        float | None,
        opt.asked("Share of the answers that --then decides.", metavar="SHARE", above=0, most=1),
    ] = None
    keep_error: Annotated[
        float | None,
        opt.asked(
            "Keep verdicts as long as at most this share of them is wrong (at 95 %), estimated with --gold."
            " The rest goes to --then, or is left for human labels.",
            metavar="SHARE",
            above=0,
            most=0.5,
        ),
    ] = None
    gold: Annotated[opt.Gold, "Human labels for a random sample of the answers, for --keep-error."] = ()
    gold_chosen: opt.GoldChosen | None = None
    permutations: Annotated[
        int,
        opt.asked(
            "Number of different orders in which to show a list; all orders if there are fewer.", least=1
        ),
    ] = 10
    balanced: Annotated[bool, opt.asked("Show lists in the orders of a balanced Latin square.")] = False
    battles: Annotated[
        float | None,
        opt.asked(
            "Compare so many pairs of answers, each in one order: a number, or a share of all. They are"
            " balanced over queries, systems and places. Default: all, in both orders.",
            metavar="N",
            above=0,
        ),
    ] = None
    pilot: opt.Pilot = ()
    examples: Annotated[
        str | None, opt.asked("In-context examples: JSON lines with a reply, or a text.", metavar="FILE")
    ] = None
    canaries: Annotated[
        int,
        opt.asked(
            "Number of items that try to influence the judge, to be judged first; a judge that obeys is"
            " refused.",
            least=0,
        ),
    ] = 6
    dry_run: opt.DryRun = False
    shard: Annotated[
        str | None,
        opt.costs("Judge only the I-th (from 1) of N shares, with 1/N of the limits.", metavar="I/N"),
    ] = None
    requests_out: Annotated[
        opt.File | None,
        opt.done(
            "Ask nobody; write the requests without a stored reply to FILE, for any engine: .parquet, or JSON"
            " lines as the provider's batches hold them.",
            metavar="FILE",
            kind="output",
        ),
    ] = None
    replies_in: Annotated[
        tuple[opt.File, ...],
        opt.done(
            "Ask nobody; take the replies in FILE: the results of a batch, or Parquet or JSON lines with key"
            " and text. May be repeated.",
            metavar="FILE",
            kind="file",
        ),
    ] = ()
    made_by: Annotated[
        str | None,
        opt.done(
            "What computed these replies, stored beside each: vllm,version=0.11.0,dtype=bfloat16,"
            "parallelism=tp2.",
            metavar="ENGINE,…",
        ),
    ] = None
    engine: Annotated[
        str | None,
        opt.done(
            "Ask through Ray Data: ray (this machine's cluster), or ray://HOST:PORT.",
            metavar="ray[://ADDRESS]",
        ),
    ] = None
    engine_class: Annotated[
        str | None,
        opt.done(
            "With --engine: the class with generate(batch) that answers on each worker (default: vLLM for"
            " vllm:MODEL; others are asked where they are served).",
            metavar="MODULE:CLASS",
        ),
    ] = None
    retest: Annotated[
        float | None,
        opt.done(
            "Judge this share (2% or 0.02) twice, and print how often the verdicts are the same.",
            ("--again",),
            metavar="SHARE",
            parses=_share_word,
        ),
    ] = None
    output: Annotated[opt.Output | None, "File for the judgements."] = None
    disagreements: Annotated[
        opt.File | None,
        opt.printed("Also write the judgements on which judges differ.", metavar="FILE", kind="output"),
    ] = None
    seed: Annotated[opt.Seed, "Random seed; the same seed gives the same orders."] = 0


@click.command(
    cls=Command,
    first=(
        "judges",
        "questions",
        "output",
        "measures",
        "nuggets",
        "ask",
        "batch",
        "price",
        "max_cost",
        "dry_run",
    ),
)
@click.argument(
    "words", nargs=-1, metavar="RUBRIC [ANSWERS.jsonl|ID...]", shell_complete=completing("rubrics")
)
@takes_options
@click.pass_context
def judge(ctx: click.Context, /, words: tuple[str, ...], options: Options) -> None:
    """Judge answers (or documents) by RUBRIC, and write judgements as JSON lines.

    RUBRIC is one of rageval's (see: rageval rubrics), one from a plug-in, or a TOML or Python file. Stored
    replies are reused and cost nothing, so a stopped job can continue.

    \b
    rageval judge crag answers.csv --judge openai:MODEL -o judged.jsonl
    rageval judge crag answers.jsonl --questions crag.jsonl --judge openai:MODEL -o judged.jsonl
    rageval judge crag answers.jsonl --questions crag.jsonl --judge short -o judged.jsonl -m crag_score
    rageval judge crag answers.jsonl --questions crag.jsonl --judge short --then openai:MODEL --ask 0.1 …
    rageval judge crag-auto answers.jsonl --questions crag.jsonl --judge openai:MODEL --against original.toml
    rageval judge nugget-assignment answers.jsonl --nuggets nuggets.jsonl --judge anthropic:MODEL --dry-run
    rageval judge relevance --run run.trec --passages corpus.jsonl --questions topics.jsonl --judge …
    """
    if options.rubric is None and not words:
        raise UsageError("no rubric named; use one that `rageval rubrics` lists, or a file")
    rubric_name, words = (options.rubric, words) if options.rubric is not None else (words[0], words[1:])
    rubric = rubric_named(rubric_name)
    # Files, or datasets by their ids, whose right answers are those of a run.
    answers = tuple(source_named(word) or FileOrId("answers").convert(word, None, None) for word in words)
    tables = list(filter(is_answer_table, answers))
    if not options.judges:
        # Right answers are there, and `short` costs nothing.
        if not (knows(rubric) and (options.questions is not None or tables)):
            raise UsageError(_JUDGE_CHOICES)
        options = options.replaced(judges=("short",))
        say("no judge named; using `short`, which needs no model")
    if options.examples is not None:
        rubric = rubric.with_examples(options.examples)
    if options.compat is not None:
        rubric = rubric.counting(options.compat)
    if options.abstentions is not None:
        rubric = rubric.abstaining_by(options.abstentions)
    _check_measures(rubric, options)
    other = None if options.against is None else _other_rubric(options.against, rubric, options)
    material = gathered(
        answers,
        options.questions,
        options.nuggets,
        options.passages,
        _documents_to_judge(options),
        claims=options.claims,
        permutations=options.permutations,
        balanced=options.balanced,
        seed=options.seed,
    )
    material = _with_battles(rubric, material, options)
    settings, remarks = prepare_settings(options.judges, rubric, material, settings_from(Settings, options))
    say(*material.remarks, *remarks)
    if options.dry_run:
        for forecast_rubric in filter(None, (rubric, other)):
            some = options.judges, options.price, options.then, options.ask
            print_lines(
                forecast(forecast_rubric, material, *some, ways=partial(_asking_lines, options.concurrency))
            )
        return
    failed = Counter[str]()
    with exchanged(settings) as settings:
        if other is not None:
            _compare_rubrics((rubric, other), material, options, settings, failed)
        elif options.requests_out is not None and options.output is None:
            # What can be judged already is not asked for.
            for _ in _result_lines(rubric, material, options, settings, failed):
                pass
            failed.clear()
        else:
            _deliver(rubric, _result_lines(rubric, material, options, settings, failed), options.output)
        exchange = settings.exchange
        taken = exchange.replies.count_foreign() if exchange is not None and exchange.replies else None
    unchecked = 0
    if exchange is not None:
        unchecked = exchange.unchecked if options.output is not None or options.requests_out is None else 0
        say(
            *exchange_lines(
                exchange.written if exchange.writes else None,
                str(options.requests_out),
                {"unchecked": unchecked, **({} if taken is None else vars(taken))},
                {} if taken is None else taken.examples,
            )
        )
    if failed:
        counts = ", ".join(f"{count:,} {status}" for status, count in failed.most_common())
        say(f"{failed.total():,} judgements failed and are missing ({counts})")
    if options.measures:
        _score_judgements(ctx, [answers_of(material, tables)] if tables else answers, options)
    if failed or unchecked:
        raise click.exceptions.Exit(JudgeFailed.exit_code)


def _with_battles(rubric: Rubric, material: Material, options: Options) -> Material:
    """Return the material with the pairs of answers that --battles draws."""
    if options.battles is None:
        if options.pilot:
            raise UsageError("--pilot needs --battles N, the number of pairs to draw")
        return material
    judged = read_judgements(list(options.pilot)) if options.pilot else None
    drawn = partial(next_battles, share_or_number=options.battles, seed=options.seed, judged=judged)
    return with_battles(rubric, material, drawn)


def _other_rubric(name: str, rubric: Rubric, options: Options) -> Rubric:
    """Return the rubric of --against; refuse, before anybody is asked, what could not be compared."""
    other = rubric_named(name)
    for compared in (rubric, other):
        if compared.file.unit in (*UNITS, SPLITS, "bank"):
            raise UsageError(
                f"--against: {compared.name} writes a list, not verdicts, so it cannot be compared"
            )
    if rubric.file.unit != other.file.unit:
        raise UsageError(
            f"--against: {rubric.name} judges {rubric.file.unit} and {other.name} {other.file.unit}; both"
            " rubrics must judge the same things"
        )
    if len(options.judges) != 1:
        raise UsageError(f"--against compares rubrics: expected one --judge, found {len(options.judges)}")
    if options.then is not None or options.keep_error is not None:
        raise UsageError("--against compares rubrics with one judge; leave out --then and --keep-error")
    if options.measures:
        raise UsageError("--against and -m cannot be combined; leave one out")
    if options.retest is not None:
        raise UsageError("--against and --again cannot be combined; leave one out")
    if options.compat is not None and other.file.compat == options.compat:
        return other.counting(options.compat)
    return other


def _compare_rubrics(
    rubrics: tuple[Rubric, Rubric],
    material: Material,
    options: Options,
    settings: Settings,
    failed: Counter[str],
) -> None:
    """Judge by both rubrics within one budget, and print how they agree; -o FILE gets those of the first."""

    # One for both, or each rubric could spend all that was allowed.
    budget = settings.budget()
    rows_by_place = []
    for rubric in rubrics:
        rows = _ask_judges(rubric, material, options.judges, settings, None, budget)
        rows_by_place.append({votes.place(row): row for row in rows})
        failed.update(row["status"] for row in rows if row["status"] not in votes.GRADED)
        if options.output is not None and rubric is rubrics[0]:
            _deliver(rubric, map(judgement_line, rows), options.output)
    one, other = rows_by_place
    print_lines(passport_lines(passport(one, other), (one, other), _MOST_DIFFERENCES, "table"))


def _check_measures(rubric: Rubric, options: Options) -> None:
    """Refuse, before anybody is asked, measures that could not be computed or printed."""
    if not options.measures:
        return
    measures_of_answers(parse_measures(options.measures))
    if rubric.file.unit in (*UNITS, SPLITS, "bank"):
        raise UsageError(f"-m: {rubric.name} writes a list, which cannot be scored")
    if options.output is None or (os.path.exists(options.output) and not os.path.isfile(options.output)):
        raise UsageError("-m prints scores, so judgements need a file; add -o FILE")


def _score_judgements(ctx: click.Context, answers: Sequence[Any], options: Options) -> None:
    """Score what was written as `rageval FILE -m MEASURES` does."""
    given = {"measures": options.measures, "nuggets": options.nuggets, "on_missing": options.on_missing}
    # Standard input is used up by now.
    files = tuple(source for source in answers if not hasattr(source, "read"))
    try:
        ctx.invoke(score, words=(str(options.output),), answers=files, **given)
    except click.exceptions.Exit as done:
        # `score` ends with an exit even when all is well.
        if done.exit_code:
            raise


def _documents_to_judge(options: Options) -> Iterator[tuple[str, str]]:
    """Yield the documents in the top ranks of any of the runs, each once; of these, or of all, the graded."""
    seen: dict[tuple[str, str], None] = {}
    for path in options.runs:
        for query, docs in read_run(path).ranked():
            # A dict keeps the order, so that the same files make the same requests in the same order.
            seen |= dict.fromkeys((query, doc) for doc in docs[: options.depth])
    if options.qrels is None:
        yield from seen
        return
    graded = (row for row in read_qrels(options.qrels) if row.relevance >= options.rel)
    good = dict.fromkeys((row.query_id, row.doc_id) for row in graded)
    if not good:
        raise InputError(problem=f"no document is graded {options.rel} or better (--qrels, --rel)")
    yield from ((place for place in seen if place in good) if options.runs else good)


def _result_lines(
    rubric: Rubric, material: Material, options: Options, settings: Settings, failed: Counter[str]
) -> Iterator[str]:
    """Yield the lines of the result, while counting what failed by status."""
    # Shards know nothing of one another, so each keeps to its part of the limits.
    cost, calls = settings.limits()
    parts = [f"make {calls:,} of the {settings.max_calls:,} calls"] if calls is not None else []
    parts += [f"spend ${cost:,.4g} of ${settings.max_cost:,.4g}"] if cost is not None else []
    if settings.shard is not None and parts:
        say(f"shard {settings.shard} may {' and '.join(parts)}")
    texts = {query: question.text for query, question in material.questions.items()}
    if rubric.file.unit in UNITS:
        judge = _single_judge(options.judges, "the nuggets of a question are written")
        written = nuggets_by(judge, rubric, material, settings)
        for query, why in written.failed.items():
            say(f"no nuggets for query {visible(query)}: {why}")
            failed[why.partition(":")[0]] += 1
        yield from write_nuggets(written.nuggets, texts)
        return
    if rubric.file.unit == SPLITS:
        judge = _single_judge(options.judges, "answers are split into claims")
        claims, lost = claims_by(judge, rubric, material, settings)
        for query, run, why in lost:
            say(f"no claims of run {visible(run)}, query {visible(query)}: {why}")
            failed[why.partition(":")[0]] += 1
        yield from write_claims(claims)
        return
    # One budget for all that is asked, or asking again could spend as much once more.
    job = (rubric, material, options, settings, settings.budget())
    judgements = _counted(_retested(_judgements(*job), *job), failed)
    if rubric.file.unit == "bank":
        yield from write_nuggets(material.rated(judgements), texts)
    else:
        yield from map(judgement_line, judgements)


def _counted(rows: Iterable[dict[str, Any]], failed: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the judgements, while counting what failed by status."""
    for row in rows:
        if row["status"] not in votes.GRADED:
            failed[row["status"]] += 1
        yield row


def _judgements(
    rubric: Rubric, material: Material, options: Options, settings: Settings, budget: Budget
) -> Iterable[dict[str, Any]]:
    """Return the judgements; as they are known, where nobody is waited for and none depends on the others."""
    is_alone = len(options.judges) == 1 and options.disagreements is None and settings.vote == "mean"
    if is_alone and (settings.exchange is not None or settings.engine is not None):
        return _unfenced_remarked(each_judgement(options.judges, rubric, material, settings, budget), rubric)
    return _ask_judges(rubric, material, options.judges, settings, options.disagreements, budget)


def _retested(
    rows: Iterable[dict[str, Any]],
    rubric: Rubric,
    material: Material,
    options: Options,
    settings: Settings,
    budget: Budget,
) -> Iterator[dict[str, Any]]:
    """Yield the judgements; with --again, judge a sample of them once more, and say how far both agree."""
    if options.retest is None:
        yield from rows
        return
    more = replace(settings, sample=options.retest, repetition=settings.repetition + 1)
    repeats = {
        _asked_place(row): row.get("grade")
        for row in each_judgement(options.judges, rubric, material, more, budget)
    }
    pairs: list[tuple[str, float, float]] = []
    for row in rows:
        first, second = row.get("grade"), repeats.get(_asked_place(row))
        if first is not None and second is not None:
            pairs.append((row["query_id"], first, second))
        yield row
    say(retest_text(retest_agreement(pairs), len(pairs), len(repeats)))


def _asked_place(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a judgement is about, in which order it was shown, and whose it is."""
    return row["judge"], *votes.repeated_place(row), *row.get("shown", ())


def _single_judge(judges: tuple[str, ...], work: str) -> str:
    """Return the one judge there may be of this work, of which there are no votes."""
    if len(judges) != 1:
        raise UsageError(f"{work} by one judge, found {len(judges)}")
    return judges[0]


def _ask_judges(
    rubric: Rubric,
    material: Material,
    judges: tuple[str, ...],
    settings: Settings,
    listed: opt.File | None,
    budget: Budget | None = None,
) -> list[dict[str, Any]]:

    rows = ask_all_judges(judges, rubric, material, settings, budget)
    if rows and "handed_on" in rows[0]:
        say(cascade_text(rows[0]["handed_on"], settings.then))
    rows = [*_unfenced_remarked(rows, rubric)]
    groups = votes.disagreements(rows)
    if groups:
        say(f"the judges differ on {len(groups):,} judgements")
    if listed is not None:
        deliver((judgement_line(one) for group in groups for one in group), listed)
    return list(vote_of(rows, rubric, settings))


def _unfenced_remarked(rows: Iterable[dict[str, Any]], rubric: Rubric) -> Iterator[dict[str, Any]]:
    """Yield the judgements; say what is to be known of them if the rubric does not fence answers."""
    rates: list[list[int]] = []
    for row in rows:
        rates += row.get("canaries", {}).values()
        yield row
    if rubric.file.unfenced:
        # Said every time: numbers by such a rubric look like any other.
        best, shown = sum(rate[0] for rate in rates), sum(rate[1] for rate in rates)
        tried = (
            f"{best:,} of {shown:,} verdicts on attacks were the best possible"
            if shown
            else "no attack was tried"
        )
        departs = "".join(f"; {departure}" for departure in rubric.file.departures)
        say(
            f"{visible(rubric.name)} does not fence answers, like its source;"
            f" of attacks on it, {tried}{departs}"
        )
