"""`rageval gate`: may this ship, judged against a baseline, with margins and error rates that hold."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._acting import is_typed, refuse_idle_for
from rageval.cli._gate_again import refuse_other_judge, refuse_unasked
from rageval.cli._options import Scoring, completing, reading_of, takes_options
from rageval.cli._output import print_lines
from rageval.cli._policy import PolicyCommand, required, said_of_policy
from rageval.errors import FAULTS, INCONCLUSIVE, InputError, RagevalError, UsageError
from rageval.options import settings_from
from rageval.table import as_json
from rageval.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from rageval.cli._inputs import Inputs
    from rageval.comparison.gate import GateReport, GateSettings, GateSide
    from rageval.files.trec import Reading
    from rageval.scoring.scores import Scores
    from rageval.scoring.subject import Subject


class _GateCommand(PolicyCommand):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let a baseline be saved where the policy has it, which then is not read."""
        if any(arg.partition("=")[0] == "--save-baseline" for arg in args) and ctx.default_map:
            ctx.default_map = {name: value for name, value in ctx.default_map.items() if name != "baseline"}
        return super().parse_args(ctx, args)

    def prepare(self, ctx: click.Context) -> None:
        """Prepare the command; what is refused here is written where a report was asked for, too."""
        try:
            super().prepare(ctx)
        except RagevalError as error:
            if not ctx.params["show_policy"]:
                _write_error(str(error), *(ctx.params[name] for name in ("md", "json", "junit")))
            raise


@dataclass(frozen=True, kw_only=True)
class Options(Scoring):
    """The options of `rageval gate`."""

    gold: Annotated[
        opt.Gold, "What people said of some of it: the verdict is corrected by it, and rests on it."
    ] = ()
    baseline: Annotated[str | None, opt.claimed("What the candidate is held against.", metavar="FILE")] = None
    interval: opt.Interval = "bca"
    level: Annotated[opt.Level, "Of the bounds, each by itself."] = 0.95
    cluster: opt.Cluster | None = None
    resamples: opt.Resamples = 4000
    fail_under: opt.FailUnder = ()
    save_baseline: Annotated[
        opt.File | None,
        opt.gated("Gate nothing: keep the candidate as the baseline.", metavar="FILE", kind="output"),
    ] = None
    margin: Annotated[
        float | None,
        opt.gated("How much worse is good enough, in the measure's units.", metavar="M", least=0),
    ] = None
    slice_margin: Annotated[
        float | None, opt.gated("The same for slices (default: twice --margin).", metavar="M", least=0)
    ] = None
    block: opt.Block = "worse"
    judge_changed: opt.JudgeChanged = "error"
    inconclusive: Annotated[
        Literal["fail", "pass"], opt.gated("What ends with 5: fail, or 0 all the same.")
    ] = "fail"
    first_run: Annotated[
        Literal["error", "pass"],
        opt.gated("No file at --baseline: refuse (exit 2), or say that nothing was gated."),
    ] = "error"
    system: Annotated[
        str | None, opt.gated("Which of several judged systems is the candidate.", metavar="RUN_ID")
    ] = None
    aa: Annotated[
        int | None,
        opt.gated(
            "Ask --judge again about N unchanged answers, and say how often it says something else.",
            metavar="N",
            least=1,
        ),
    ] = None
    policy: Annotated[
        str | None, opt.gated("Read this policy, in place of the nearest rageval.toml.", metavar="FILE")
    ] = None
    show_policy: Annotated[bool, opt.gated("Say what counts, and from where, and do nothing.")] = False
    rubric: Annotated[
        str | None, opt.asked("By which rubric: for --aa, and what pytest recorded.", metavar="NAME|FILE")
    ] = None
    judge: Annotated[
        tuple[str, ...],
        opt.asked(
            "The judge whose judgements the gate accepts; asked by --aa, and about what pytest recorded.",
            metavar="JUDGE",
        ),
    ] = ()
    store: Annotated[opt.Store | None, "Where the replies of --aa are kept (default: the user's cache)."] = (
        None
    )
    max_cost: opt.MaxCost | None = None
    max_calls: opt.MaxCalls | None = None
    price: opt.Price = ()
    by: opt.By | None = None
    md: Annotated[
        opt.File | None,
        opt.printed("Also write a summary in Markdown; of an error, too.", metavar="FILE", kind="output"),
    ] = None
    junit: Annotated[
        opt.File | None,
        opt.printed(
            "Also write a test report, as pytest's; of an error, too.", metavar="FILE", kind="output"
        ),
    ] = None
    json: Annotated[
        opt.File | None, opt.printed("Also write everything as JSON.", metavar="FILE", kind="output")
    ] = None
    seed: opt.Seed = 20130


@click.command(cls=_GateCommand)
@click.argument(
    "words", nargs=-1, metavar="CANDIDATE [QRELS] [MEASURE...]", shell_complete=completing("scored")
)
@takes_options
@click.pass_context
def gate(ctx: click.Context, /, words: tuple[str, ...], options: Options) -> None:
    """Hold a candidate against a baseline: ship, block, or inconclusive.

    Ship: surely not worse by more than the margin. Block: surely worse, and by more than the margin as far as
    is seen. Several measures must all ship, and any may block (Holm). Slices can only block. What is not
    typed may stand in rageval.toml, under [gate].

    Exit code: 0 ship, 1 block, 2 usage or input, 3 judgements missing, 4 budget, 5 inconclusive.

    \b
    rageval gate run.trec qrels.nugget -m alpha_ndcg@10 --save-baseline gold/baseline.jsonl
    rageval gate run.trec qrels.nugget -m alpha_ndcg@10 --baseline gold/baseline.jsonl --margin 0.03
    rageval gate judged.jsonl -m crag_score --baseline gold/baseline.jsonl --margin 0.05 --by domain
    """
    if options.show_policy:
        print_lines(said_of_policy(ctx))
        return
    try:
        code = _gated(words, options)
    except RagevalError as error:
        _write_error(str(error), options.md, options.json, options.junit)
        raise
    ctx.exit(code)


def _gated(words: tuple[str, ...], options: Options) -> int:
    """Return the exit code, with everything said and written."""
    from rageval.cli._inputs import sorted_out

    reading = reading_of(options.comments)
    if not options.save_baseline:
        baseline = required(options.baseline, "baseline", "the file that --save-baseline wrote")
        if not os.path.isfile(baseline):
            return _without_baseline(baseline, options)
        required(options.margin, "margin", "how much worse is good enough")
    inputs = sorted_out(words, reading)
    refuse_idle_for(bool(inputs.answers))
    if options.aa:
        refuse_unasked(options, inputs)
    found = _GateInput(inputs, options, reading)
    if options.save_baseline:
        for remark in found.said:
            click.echo(f"rageval: {remark}", err=True)
        _save(found.side, options.save_baseline)
        return 0
    report = _report(found, options)
    report = replace(report, remarks=[*found.said, *report.remarks])
    if options.aa:
        from rageval.cli._gate_again import judged_again

        report = replace(report, remarks=[*report.remarks, *judged_again(found.side, report, options)])
    return _told(report, options)


def _without_baseline(baseline: str, options: Options) -> int:
    name = visible(baseline)
    if options.first_run != "pass":
        raise InputError(
            f"{name}: no such file; write it with --save-baseline, or say --first-run pass for once"
        )
    message = f"{name}: there is no baseline yet: nothing was gated (--first-run pass)"
    click.echo(f"rageval: {message}", err=True)
    _write_error(message, options.md, options.json)
    return 0


class _GateInput:
    """What is gated: its side, its slices and clusters, and what should be said of it."""

    def __init__(self, inputs: Inputs, options: Options, reading: Reading) -> None:
        from rageval.cli._scoring import scored, subject_of
        from rageval.comparison.gate import chosen_system, side_of
        from rageval.measures.parsing import parse_measures
        from rageval.scoring.evaluation import Runs

        measures = parse_measures([*options.measures, *inputs.measures])
        if not measures:
            raise UsageError("no measure named; say -m alpha_ndcg@10 (see: rageval measures)")
        # What failed is missing, and the verdict then holds at both ends of its bounds.
        missing: opt.Missing = "skip" if inputs.answers else "error"
        self._inputs, self._options = inputs, replace(options, on_missing=missing)
        self.slices: dict[str, dict[str, str]] = {}
        self.clusters: dict[str, str] | None = None
        if options.system and not inputs.answers:
            raise UsageError("--system is about judged answers; expected one run")
        subject = subject_of(inputs, measures, self._options, reading)
        if isinstance(subject, Runs) and len(subject.runs) != 1:
            raise UsageError(f"expected one run, the candidate, found {len(subject.runs)}")
        results, self.said, _ = scored(subject)
        scores = chosen_system(results, options.system)
        self._mind_judges(subject, scores)
        self.side = side_of(subject, scores, self._facts(list(subject.queries)), self._known())

    def _mind_judges(self, subject: Subject, scores: Scores) -> None:
        """Refuse judgements by others than the judge who is named."""
        if not (self._options.judge or self._options.aa):
            return
        judges, rubrics = subject.judged_by(scores.run)
        if judges or self._inputs.answers:
            refuse_other_judge(judges, rubrics, self._options)
        elif is_typed("judge"):
            raise UsageError("--judge: the judgements of documents do not say whose they are; leave it out")

    def _facts(self, queries: list[str]) -> dict[str, dict[str, str]]:
        from rageval.cli._inputs import fields_in, groups_of

        def groups(field: str) -> dict[str, str]:
            return groups_of(field, queries, self._options.questions, self._inputs.telling)

        fields = fields_in(self._options.by)
        self.slices = {str(name): groups(name) for name in fields}
        if self._options.cluster:
            self.clusters = groups(self._options.cluster)
        return {query: {name: of[query] for name, of in self.slices.items()} for query in queries if fields}

    def _known(self) -> str:
        from rageval.files.opening import can_read_again, is_remote

        source = self._options.questions
        if not isinstance(source, str) or is_remote(source) or not can_read_again(source):
            return ""
        import hashlib

        from rageval.files.whole import opened_file

        with opened_file(source, "questions") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def _save(side: GateSide, path: Path) -> None:
    from rageval.comparison.gate import saved
    from rageval.files.scores import baseline_lines
    from rageval.files.writing import whole_file

    baseline = saved(side, _today())
    with whole_file(path) as stream:
        for line in baseline_lines(baseline):
            stream.write(line.encode() + b"\n")
    click.echo(f"rageval: {visible(str(path))}: {len(baseline.lines):,} questions saved", err=True)


def _today() -> str:
    """Return the date, or the one that a build that is to be repeated says it is."""
    import time

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return time.strftime("%Y-%m-%d", time.gmtime(int(epoch) if epoch.isdecimal() else None))


def _report(found: _GateInput, options: Options) -> GateReport:
    from rageval.comparison.gate import baseline_side
    from rageval.comparison.gate import gate as decided
    from rageval.files.scores import read_baseline

    baseline = read_baseline(options.baseline or "")
    side = baseline_side(baseline, found.side)
    return decided(found.side, side, _settings(options, found.clusters), found.slices)


def _settings(options: Options, clusters: dict[str, str] | None) -> GateSettings:
    from pathlib import Path

    from rageval.cli.score import _gate_at_least
    from rageval.comparison.gate import GateSettings

    floors = {str(each.measure): each.limit for each in map(_gate_at_least, options.fail_under)}
    by = Path(options.cluster or "").name
    return settings_from(GateSettings, options, clusters=clusters, clustered_by=by, fail_under=floors)


def _told(report: GateReport, options: Options) -> int:
    """Print the table, write the files, and return the exit code."""
    for remark in report.sentences():
        click.echo(f"rageval: {remark}", err=True)
    _write(report, options)
    # The remarks stand on standard error already.
    print_lines([str(replace(report, remarks=())), visible(report.signature)])
    if report.verdict == "inconclusive" and options.inconclusive == "pass":
        click.echo("rageval: inconclusive, and passed all the same (--inconclusive pass)", err=True)
        return 0
    return {"ship": 0, "block": FAULTS, "inconclusive": INCONCLUSIVE}[report.verdict]


def _write(report: GateReport, options: Options) -> None:
    if options.md or options.junit:
        from rageval.cli._gate_files import junit, markdown

        _put(options.md, lambda: markdown(report))
        _put(options.junit, lambda: junit(report))
    if options.json:
        content = as_json(report.as_dict()) + "\n"
        _put(options.json, lambda: content)


def _write_error(message: str, md: Path | None, json: Path | None, junit: Path | None = None) -> None:
    """Write what kept the gate from gating, where a summary or a report was asked for."""
    if not (md or json or junit):
        return

    from rageval.cli._gate_files import junit_of_error, markdown_of_error

    _put(md, lambda: markdown_of_error(message))
    _put(junit, lambda: junit_of_error(message))
    _put(json, lambda: as_json({"verdict": None, "error": message}) + "\n")


def _put(path: Path | None, content: Any) -> None:
    if path is None:
        return
    from rageval.files.writing import whole_file

    with whole_file(path) as stream:
        stream.write(content().encode("utf-8", "surrogateescape"))
