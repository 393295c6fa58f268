"""`rageval gate`: may this ship, judged against a baseline, with margins and error rates that hold."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from json import loads
from pathlib import Path
from random import Random
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

import click

from rageval import hooks, verbs
from rageval import options as opt
from rageval.cli import _tables
from rageval.cli._acting import is_typed
from rageval.cli._inputs import named_measures, sort_words
from rageval.cli._options import Command, Scoring, completing, reading_of, takes_options
from rageval.cli._output import deliver, print_lines, say
from rageval.cli._scoring import scored, subject_of
from rageval.cli.score import _gate_at_least
from rageval.comparison.gate import (
    GateSettings,
    baseline_in,
    baseline_of,
    baseline_side,
    chosen_system,
    side_of,
)
from rageval.comparison.gate import gate as decided
from rageval.comparison.margins import EXPECTED, Margins
from rageval.core.remark import Remark, Scope
from rageval.errors import FAULTS, INCONCLUSIVE, InputError, Place, RagevalError, UsageError
from rageval.files.answers import read_answers, write_answers
from rageval.files.kinds import is_answer_table, is_log
from rageval.files.opening import File, can_read_again, is_remote, limits_of
from rageval.files.scores import baseline_lines
from rageval.files.whole import digest_of
from rageval.files.writing import today, whole_file
from rageval.judges.panel import Settings
from rageval.options import settings_from
from rageval.policy import EFFECTS, Policy, find_policy, policy_in
from rageval.scoring.query_groups import clusters_of, slices_of
from rageval.subjects import RUNS, refuse_other_options
from rageval.table import as_json, lines
from rageval.text import visible
from rageval.views.gates import junit, junit_of_error, markdown, markdown_of_error, parts_of_gate

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.comparison.gate import GateReport, GateSide
    from rageval.scoring.scores import Score

_Value = TypeVar("_Value")
_ALSO = {"measures": "measure"}  # what may be said several times is called so in a list


class _GateCommand(Command):
    """Reads what is not typed out of the section [gate] of the policy: what is typed wins."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse what was typed, with the policy for what was not."""
        if extra.get("resilient_parsing") or {"-h", "--help"} & set(args):
            return super().make_context(info_name, args, parent, **extra)
        typed = _typed_policy(args)
        policy = find_policy() if typed is None else policy_in(typed)
        settled = self._policy_values(policy, info_name or "")
        words = _words_before_equals(args)  # before click takes them out of the list
        try:
            context = super().make_context(info_name, args, parent, default_map=settled, **extra)
        except click.BadParameter as error:
            param = error.param
            if param is None or param.name not in settled or words & {*param.opts, *param.secondary_opts}:
                raise
            # What the policy says wrong is said with its place there, as nobody typed it.
            place = policy.place(info_name or "").below(str(param.name))
            raise InputError(at=place, problem=error.message) from None
        context.meta["policy"] = policy
        return context

    def _policy_values(self, policy: Policy, name: str) -> dict[str, Any]:
        """Return the values of parameters, by their names."""
        options: dict[str, click.Option] = {}
        for param in self.params:
            if isinstance(param, click.Option):
                keys = [option[2:] for option in param.opts if option.startswith("--")]
                keys += [other for other, key in _ALSO.items() if key in keys]
                options |= dict.fromkeys(keys, param)
        values: dict[str, Any] = {}
        for key, value in policy.gate_settings(options.keys() - EFFECTS.keys()).items():
            param = options[key]
            place = policy.place(name).below(visible(key))
            if str(param.name) in values:
                raise InputError(at=place, problem="set twice, under two names", remedy="keep one")
            several = value if isinstance(value, list) and param.multiple else [value]
            for item in several:
                if not isinstance(item, str | int | float | bool) or isinstance(item, bool) != param.is_flag:
                    what = "true or false" if param.is_flag else "text or a number"
                    raise InputError(
                        at=place,
                        expected=f"{what}{' (or a list)' * param.multiple}",
                        found=f"{item!r:.80}",
                    )
            values[str(param.name)] = several if param.multiple else several[0]
        return values

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let a baseline be saved where the policy has it, which then is not read."""
        if "--save-baseline" in _words_before_equals(args) and ctx.default_map:
            ctx.default_map = {name: value for name, value in ctx.default_map.items() if name != "baseline"}
        return super().parse_args(ctx, args)

    def prepare(self, ctx: click.Context) -> None:
        """Prepare the command; what is refused here is written where a report was asked for, too."""
        try:
            super().prepare(ctx)
        except RagevalError as error:
            if not ctx.params["show_policy"]:
                _write_error(error, *(ctx.params[name] for name in ("md", "json", "junit")))
            raise


def _typed_policy(args: list[str]) -> str | None:
    """Return the file after --policy, which is needed before anything is parsed."""
    for number, arg in enumerate(args):
        if arg == "--policy" and number + 1 < len(args):
            return args[number + 1]
        if arg.startswith("--policy="):
            return arg.partition("=")[2]
    return None


def _words_before_equals(args: list[str]) -> set[str]:
    return {arg.partition("=")[0] for arg in args}


class _MarginWord(click.ParamType):  # type: ignore[type-arg]
    """A margin, with or without the name of a measure before it."""

    name = "margin"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word, once it is known to be a margin."""
        text = str(value)
        try:
            Margins.of([text])
        except UsageError:
            self.fail(f"{visible(text)!r:.80}: expected {EXPECTED}", param, ctx)
        return text


class Options(Scoring):
    """The options of `rageval gate`."""

    gold: Annotated[opt.Gold, "Human labels for a sample; the verdict is corrected with them."] = ()
    baseline: Annotated[
        str | None, opt.claimed("The baseline to compare the candidate with.", metavar="FILE")
    ] = None
    level: Annotated[opt.Level, "Confidence level of each one-sided bound."] = 0.95
    cluster: opt.Cluster | None = None
    resamples: opt.Resamples = 4000
    fail_under: opt.FailUnder = ()
    save_baseline: Annotated[
        opt.File | None,
        opt.gated("Do not gate; save the candidate as the baseline.", metavar="FILE", kind="output"),
    ] = None
    baseline_run: str | None = None  # of a baseline that is a table: what its system is called
    margin: Annotated[
        tuple[str, ...],
        opt.gated(
            "Largest loss you accept, in the measure's units, or as a share of the baseline (10%); NAME=M is"
            " for one measure.",
            metavar="[NAME=]M",
            parses=_MarginWord(),
        ),
    ] = ()
    slice_margin: Annotated[
        tuple[str, ...],
        opt.gated("The same for slices (default: twice --margin).", metavar="[NAME=]M", parses=_MarginWord()),
    ] = ()
    anchor: Annotated[
        str | None,
        opt.gated("A fixed baseline to compare the candidate with, besides --baseline.", metavar="FILE"),
    ] = None
    anchor_margin: Annotated[
        tuple[str, ...],
        opt.gated(
            "The margin for --anchor (default: twice --margin).", metavar="[NAME=]M", parses=_MarginWord()
        ),
    ] = ()
    block: opt.Block = "worse"
    judge_changed: opt.JudgeChanged = "error"
    inconclusive: Annotated[
        Literal["fail", "pass"],
        opt.gated("Whether an inconclusive verdict fails (exit 5) or passes (exit 0)."),
    ] = "fail"
    first_run: Annotated[
        Literal["error", "pass"],
        opt.gated("If --baseline does not exist: refuse (exit 2), or pass without gating."),
    ] = "error"
    system: Annotated[
        str | None, opt.gated("Which judged system is the candidate, if there are several.", metavar="RUN_ID")
    ] = None
    aa: Annotated[
        int | None,
        opt.gated(
            "Ask --judge again about N unchanged answers, and report how often the verdict changes.",
            metavar="N",
            least=1,
        ),
    ] = None
    policy: Annotated[
        str | None, opt.gated("Read this policy instead of the nearest rageval.toml.", metavar="FILE")
    ] = None
    show_policy: Annotated[bool, opt.gated("Print the settings and where each comes from, and exit.")] = False
    rubric: Annotated[
        str | None, opt.asked("The rubric for --aa, and for what pytest recorded.", metavar="NAME|FILE")
    ] = None
    judge: Annotated[
        tuple[str, ...],
        opt.asked(
            "Who judges tables of answers (short needs no model). Of judgements, the judge that the gate"
            " accepts; also asked by --aa and for what pytest recorded.",
            metavar="JUDGE",
        ),
    ] = ()
    store: Annotated[opt.Store | None, "Where replies of --aa are stored (default: the user's cache)."] = None
    max_cost: opt.MaxCost | None = None
    max_calls: opt.MaxCalls | None = None
    price: opt.Price = ()
    by: opt.By | None = None
    md: Annotated[
        opt.File | None,
        opt.printed("Also write a summary in Markdown, even on errors.", metavar="FILE", kind="output"),
    ] = None
    junit: Annotated[
        opt.File | None,
        opt.printed(
            "Also write a test report as pytest does, even on errors.", metavar="FILE", kind="output"
        ),
    ] = None
    json: Annotated[
        opt.File | None, opt.printed("Also write everything as JSON.", metavar="FILE", kind="output")
    ] = None
    seed: opt.Seed = 20130


@click.command(
    cls=_GateCommand,
    first=(
        "measures",
        "baseline",
        "margin",
        "judge",
        "save_baseline",
        "by",
        "fail_under",
        "gold",
        "policy",
        "md",
    ),
)
@click.argument(
    "words", nargs=-1, metavar="CANDIDATE [QRELS] [MEASURE...]", shell_complete=completing("scored")
)
@takes_options
@click.pass_context
def gate(ctx: click.Context, /, words: tuple[str, ...], options: Options) -> None:
    """Compare a candidate with a baseline: ship, block, or inconclusive.

    Ship: a loss larger than the margin is ruled out. Block: the loss is significant, and looks larger than
    the margin. With several measures, all must ship, and any can block (Holm). Slices can only block. Options
    can also be set in rageval.toml, under [gate].

    Exit code: 0 ship, 1 block, 2 usage or input, 3 judgements missing, 4 budget, 5 inconclusive.

    \b
    rageval gate run.trec qrels.nugget -m alpha_ndcg@10 --save-baseline gold/baseline.jsonl
    rageval gate run.trec qrels.nugget -m alpha_ndcg@10 --baseline gold/baseline.jsonl --margin 0.03
    rageval gate v2.csv --baseline v1.csv --margin 0.05 --judge short
    rageval gate judged.jsonl -m crag_score --baseline gold/baseline.jsonl --margin 0.05 --by domain
    rageval gate run.trec qrels -m nDCG@10 --baseline gold/last.jsonl --anchor gold/v1.jsonl --margin 0.03
    """
    if options.show_policy:
        print_lines(_policy_lines(ctx))
        return
    try:
        code = _gated(words, options)
    except RagevalError as error:
        _write_error(error, options.md, options.json, options.junit)
        raise
    ctx.exit(code)


def _policy_lines(ctx: click.Context) -> Iterator[str]:
    """Yield what counts, and from where."""
    policy: Policy = ctx.meta["policy"]
    yield f"policy: {visible(policy.path) or 'none found'}"
    for param in ctx.command.params:
        source = ctx.get_parameter_source(str(param.name))
        if not isinstance(param, click.Option) or source is None or param.name == "show_policy":
            continue
        value = ctx.params.get(str(param.name))
        if source.name == "DEFAULT" and value in (None, (), False):
            continue
        where = {"COMMANDLINE": "typed", "DEFAULT_MAP": os.path.basename(policy.path)}
        yield f"{max(param.opts, key=len)[2:]} = {_shown(value)}  ({where.get(source.name, 'default')})"


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return visible(str(value))


def _gated(words: tuple[str, ...], options: Options) -> int:
    """Return the exit code, with everything said and written."""
    if not options.save_baseline:
        baseline = _required(
            options.baseline, "baseline", "a table of answers, or the file that --save-baseline wrote"
        )
        if not os.path.isfile(baseline):
            return _without_baseline(baseline, options)
        _required(options.margin or None, "margin", "the largest loss you accept")
    inputs = sort_words(words, reading_of(options.comments, options.compat), tables=True)
    options = _judged(inputs, options)
    if options.aa:
        _refuse_unasked(options, inputs)
    candidate = _candidate(inputs, options)
    if options.save_baseline:
        say(*candidate.remarks)
        new_baseline = baseline_of(candidate.side, today())
        deliver(baseline_lines(new_baseline), options.save_baseline)
        say(f"{visible(str(options.save_baseline))}: {len(new_baseline.lines):,} questions saved")
        return 0
    report = _report(candidate, options)
    if options.questions is not None and can_read_again(options.questions):
        report = report.with_texts(hooks.questions_in(options.questions, []))
    remarks = [*candidate.remarks, *report.remarks]
    if options.aa:
        remarks += _judge_again(candidate.side, report, options)
    return _write_outcome(replace(report, remarks=remarks), options)


def _required(value: _Value | None, name: str, spelling: str) -> _Value:
    """Return the value; refuse a command that neither the command line nor the policy tells it."""
    if value is None:
        raise UsageError(f"--{name} ({spelling}) is required; pass it, or set it in rageval.toml")
    return value


def _without_baseline(baseline: str, options: Options) -> int:
    name = visible(baseline)
    if options.first_run != "pass":
        raise InputError(
            at=Place(name),
            problem="no such file",
            remedy="write it with --save-baseline, or use --first-run pass once",
        )
    message = f"{name}: no baseline yet, so nothing was gated (--first-run pass)"
    say(message)
    _write_error(message, options.md, options.json)
    return 0


def _judged(inputs: Inputs, options: Options) -> Options:
    """Judge a table of answers, and that of the baseline beside it, by the judge that is named."""
    tables = inputs.unjudged
    if not tables:
        return options

    if not options.judge and not all(map(is_log, tables)):
        raise _no_judge(tables[0])
    if len(tables) > 1:
        raise UsageError(
            f"expected one table, the candidate, found {len(tables)}; pass the other with --baseline"
        )
    if not options.save_baseline and is_answer_table(str(options.baseline)):
        if os.path.samefile(str(options.baseline), tables[0]):
            name = visible(str(options.baseline))
            raise UsageError(f"{name}: is the baseline itself; pass another table as the candidate")
        tables.append(File(str(options.baseline), limits_of(tables[0])))
    settings = Settings(
        store=options.store, max_cost=options.max_cost, max_calls=options.max_calls, price=options.price
    )
    first = tables[0]
    options = _tables.judged(inputs, options, options.judge, options.rubric, settings)
    if not options.judge and inputs.is_judge_asked:
        raise _no_judge(first)
    if len(tables) == 1:
        return options
    candidate, baseline = (_tables.system_of(table, inputs) for table in tables)
    return options.replaced(system=candidate, baseline_run=baseline)


def _no_judge(table: object) -> UsageError:
    return UsageError(
        f"{visible(str(table))}: is a table of answers, and no judge is named; use --judge short, or set"
        ' judge = "short" in rageval.toml'
    )


class _Gated(NamedTuple):
    """What is gated: its side, its slices and clusters, and what should be said of it.

    `other` is the side of a baseline that was judged beside it, and stands in no file.
    """

    side: GateSide
    slices: dict[str, dict[str, str]]
    clusters: tuple[dict[str, str] | Literal["none"] | None, str]
    remarks: list[Remark]
    other: GateSide | None = None


def _candidate(inputs: Inputs, options: Options) -> _Gated:
    """Score the candidate; refuse several, and judgements by others than the judge who is named."""
    measures = named_measures(options, inputs)
    # What failed is missing, and the verdict then holds at both ends of its bounds.
    if "on_missing" in inputs.kind.options:
        options = options.replaced(on_missing="skip")
    subject = subject_of(inputs, measures, options)
    # Of runs each is a file, which is left out; of answers, a file may hold those of several systems.
    if inputs.kind is RUNS and len(inputs.files["run"]) != 1:
        raise UsageError(f"expected one run, the candidate, found {len(inputs.files['run'])}")
    results, remarks, _ = scored(subject)
    scores = chosen_system(results, options.system)
    if options.judge or options.aa:
        judges, rubrics = subject.judged_by(scores.run)
        if judges or not inputs.kind.is_a(RUNS):
            _refuse_other_judge(judges, rubrics, options)
        elif is_typed("judge"):
            raise UsageError("--judge: judgements of documents do not name their judge; leave it out")
    queries = list(subject.queries)
    slices = slices_of(options.by, queries, options.questions, inputs.question_sources)
    clusters = clusters_of(options.cluster, queries, options.questions, inputs.question_sources)
    facts = {query: {name: values[query] for name, values in slices.items()} for query in queries if slices}
    side = side_of(subject, scores, facts, _digest(options.questions))
    other = None
    if options.baseline_run:
        other = side_of(subject, chosen_system(results, options.baseline_run), facts, side.header.known)
    return _Gated(side, slices, clusters, remarks, other)


def _digest(source: Any) -> str:
    """Return the hash of the file of the questions, if there is one that can be read once more."""
    if not isinstance(source, str) or is_remote(source) or not can_read_again(source):
        return ""

    return digest_of(source, "questions")


def _report(candidate: _Gated, options: Options) -> GateReport:
    side = candidate.other or baseline_side(baseline_in(options.baseline or ""), candidate.side)
    anchor = baseline_side(baseline_in(options.anchor), candidate.side) if options.anchor else None
    floors = {str(gate.measure): gate.limit for gate in map(_gate_at_least, options.fail_under)}
    clusters, by = candidate.clusters
    more: dict[str, Any] = {"clusters": clusters, "clustered_by": by, "fail_under": floors}
    more |= {name: getattr(options, name) or None for name in ("slice_margin", "anchor_margin")}
    settings = settings_from(GateSettings, options, **more)
    return decided(candidate.side, side, settings, candidate.slices, anchor)


def _write_outcome(report: GateReport, options: Options) -> int:
    """Print the table, write the files, and return the exit code."""
    if options.md:
        _write_text(options.md, markdown(report))
    if options.junit:
        _write_text(options.junit, junit(report))
    if options.json:
        _write_text(options.json, as_json(report.as_dict()) + "\n")
    print_lines(lines("table", lambda: parts_of_gate(report)))
    say(*report.sentences())
    if report.verdict == "inconclusive" and options.inconclusive == "pass":
        say("inconclusive, but passed (--inconclusive pass)")
        return 0
    return {"ship": 0, "block": FAULTS, "inconclusive": INCONCLUSIVE}[report.verdict]


def _write_error(
    error: RagevalError | str, md: Path | None, json: Path | None, junit: Path | None = None
) -> None:
    """Write what kept the gate from gating, where a summary or a report was asked for."""
    message = error if isinstance(error, str) else error.command_text()
    if md:
        _write_text(md, markdown_of_error(message))
    if junit:
        _write_text(junit, junit_of_error(message))
    if json:
        problems = {"problems": error.as_records()} if isinstance(error, InputError) else {}
        _write_text(json, as_json({"verdict": None, "error": message} | problems) + "\n")


def _write_text(path: Path, content: str) -> None:
    with whole_file(path) as stream:
        stream.write(content.encode("utf-8", "surrogateescape"))


# --aa: a judge is asked again about answers that did not change: how often it says something else, at what
# cost.

_FROZEN = "frozen"  # judgements of a file, in place of a model


def _refuse_unasked(options: Options, inputs: Inputs) -> None:
    """Refuse to ask a judge again that nobody named, or about what was not judged."""
    refuse_other_options(inputs.kind, options.changed())
    if _FROZEN in map(_named, options.judge):
        raise UsageError(
            "--aa: a file's judgements never change, so there is nothing to measure; use a --judge that is"
            " asked, or drop --aa"
        )
    for name, value in {"rubric": options.rubric, "answers": options.answers}.items():
        if not value:
            raise UsageError(f"--aa asks the judge again; add --{name}")


def _refuse_other_judge(judges: Set[str], rubrics: Set[str], options: Options) -> None:
    """Refuse judgements by anybody else than the judges that are named; --aa needs one that is."""
    every = ", ".join(sorted(map(visible, judges))) or "no named judge"
    if options.aa and not options.judge:
        words = [f"--judge {quote(visible(_without_version(judge)))}" for judge in sorted(judges)]
        words += [f"--rubric {quote(visible(_without_version(rubric)))}" for rubric in sorted(rubrics)]
        raise UsageError(
            f"--aa asks the judge again; add --judge. The answers were judged by {every}: use"
            f" {' '.join(words)}, with the address for your own server"
        )
    named = set(map(_named, options.judge))
    others = {judge for judge in judges if not {judge, _without_version(judge)} & named}
    # A file of judgements speaks for whoever judged it.
    if options.judge and others and _FROZEN not in named:
        raise UsageError(
            f"--judge {', '.join(map(visible, options.judge))}: the candidate was judged by {every}; pass"
            " judgements by the named judge, or change --judge"
        )


def _named(spec: str) -> str:
    """Return what a judge is called in judgements: without its address.

    >>> _named("openai:m@http://127.0.0.1:8000/v1"), _named("frozen:judged.jsonl")
    ('openai:m', 'frozen')
    """
    return _FROZEN if spec.startswith(f"{_FROZEN}:") else spec.partition("@http")[0]


def _without_version(name: str) -> str:
    """Return the name of a judge or a rubric without the version behind it.

    >>> _without_version("openai:m@1234abcd+unfenced"), _without_version("contains")
    ('openai:m', 'contains')
    """
    return name.rpartition("@")[0] or name


def _judge_again(side: GateSide, report: GateReport, options: Options) -> list[Remark]:
    """Return what should be said of a judge that is asked about some of the candidate's answers once more."""
    run, names = side.scores.run, [str(name) for name in side.scores]
    queries = sorted(side.same)
    picked = Random(options.seed).sample(queries, min(options.aa or 0, len(queries)))
    asked = {(run, query) for query in picked}
    every = (answer for source in options.answers for answer in read_answers(source))
    answers = [answer for answer in every if (answer.run_id, answer.query_id) in asked]
    if not answers:
        raise UsageError(f"--aa: --answers has none of {visible(run)}'s judged answers")
    rows = [loads(line) for line in write_answers(answers, "plain")]
    with warnings.catch_warnings():
        # That not all questions are judged again is meant.
        warnings.simplefilter("ignore", UserWarning)
        # A repetition: its replies stand in the store beside those of the first time.
        judged = verbs.judge(
            options.rubric or "",
            rows,
            options.judge,
            questions=options.questions,
            nuggets=options.nuggets,
            store=options.store,
            max_cost=options.max_cost,
            max_calls=options.max_calls,
            price=options.price,
            repetition=1,
            quiet=True,
        )
    scores = judged.score(names, on_missing="skip")[run]
    return [
        _repeat_remark(name, side.scores[name], scores[name].by_query, picked, report) for name in side.scores
    ]


def _repeat_remark(
    name: str, score: Score, now: dict[str, float], picked: Sequence[str], report: GateReport
) -> Remark:
    before = score.by_query
    # NaN is unequal to itself: what has no value at one of the times says nothing.
    both = [(before[q], now[q]) for q in picked if q in now and now[q] == now[q] and before[q] == before[q]]
    decision = next(row for row in report.overall if row.measure == name)
    flips = sum(abs(one - other) > 1e-12 for one, other in both)
    noise = math.fsum((one - other) ** 2 for one, other in both) / (2 * len(both)) if both else 0.0
    of_judge = of_answers = lost = None
    if score.spread is not None:  # the mean of so many answers was judged twice
        variance = noise * score.spread.answers
        of_judge, of_answers = math.sqrt(variance), math.sqrt(max(score.spread.answer - variance, 0.0))
    spread = decision.questions * ((decision.high - decision.low) / 2 / 1.645) ** 2
    if noise and spread:
        lost = min(2 * noise / spread, 1.0) * decision.questions
    return Remark(
        "judged_again",
        Scope(measure=name),
        {
            "flips": flips,
            "total": len(both),
            "judge": of_judge,
            "answers": of_answers,
            "lost": lost,
            "questions": decision.questions,
        },
    )
