"""`rageval gate`: may this ship, judged against a baseline, with margins and error rates that hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval.cli._acting import is_typed, refuse_idle_for
from rageval.cli._gate_again import refuse_other_judge, refuse_unasked
from rageval.cli._options import completing, output_option, reading_of, shared
from rageval.cli._output import print_lines
from rageval.cli._policy import PolicyCommand, refuse_without, said_of_policy
from rageval.cli.score import score as score_command
from rageval.errors import FAULTS, INCONCLUSIVE, InputError, RagevalError, UsageError
from rageval.table import as_json
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.comparison.gate_results import GateReport, GateSettings, GateSide
    from rageval.files.trec import Reading
    from rageval.scoring.scores import Scores
    from rageval.scoring.subject import Subject

# What `score` takes and a gate does not: how things are printed, and means of another kind.
_NOT_HERE = {"words", "by_query", "no_summary", "style", "sort", "names", "places", "require", "output"}
_NOT_HERE |= {
    "caption",
    "label",
    "size",
    "plot",
    "bounds",
    "on_missing",
    "group_by",
    "weights",
    "jobs",
    "dask",
    "gold",
    "questions",
}
_UNSAID = {"group_by": None, "weights": None, "jobs": 1, "bounds": False, "names": ()}


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
                _write_error(str(error), ctx.params)
            raise


def _with_options_of_score(command: click.Command) -> click.Command:
    command.params += [param for param in score_command.params if param.name not in _NOT_HERE]
    return command


@_with_options_of_score
@click.command(cls=_GateCommand)
@click.argument(
    "words", nargs=-1, metavar="CANDIDATE [QRELS] [MEASURE...]", shell_complete=completing("scored")
)
@shared("--gold", help="What people said of some of it: the verdict is corrected by it, and rests on it.")
@shared("--questions", help="The questions that were asked: of judged answers all count; fields for --by.")
@click.option("--baseline", metavar="FILE", help="What the candidate is held against.")
@output_option("--save-baseline", metavar="FILE", help="Gate nothing: keep the candidate as the baseline.")
@click.option(
    "--margin",
    type=click.FloatRange(0),
    metavar="M",
    help="How much worse is good enough, in the measure's units.",
)
@click.option(
    "--slice-margin",
    type=click.FloatRange(0),
    metavar="M",
    help="The same for slices (default: twice --margin).",
)
@click.option(
    "--block",
    type=click.Choice(("worse", "beyond-margin")),
    default="worse",
    show_default=True,
    help="What is surely worse, and seems so by more than the margin; or only what surely is by more.",
)
@click.option(
    "--judge-changed",
    type=click.Choice(("error", "allow")),
    default="error",
    show_default=True,
    help="Another judge or rubric than the baseline's: refuse (exit 2), or compare and claim nothing.",
)
@click.option(
    "--inconclusive",
    type=click.Choice(("fail", "pass")),
    default="fail",
    show_default=True,
    help="What ends with 5: fail, or 0 all the same.",
)
@click.option(
    "--first-run",
    type=click.Choice(("error", "pass")),
    default="error",
    show_default=True,
    help="No file at --baseline: refuse (exit 2), or say that nothing was gated.",
)
@click.option("--system", metavar="RUN_ID", help="Which of several judged systems is the candidate.")
@shared("--level", help="Of the bounds, each by itself.")
@shared("--interval")
@shared("--cluster")
@shared("--resamples")
@shared("--seed", default=20130)
@click.option(
    "--judge",
    metavar="JUDGE",
    multiple=True,
    help="The judge whose judgements the gate accepts; asked by --aa, and about what pytest recorded.",
)
@click.option("--rubric", metavar="NAME|FILE", help="By which rubric: for --aa, and what pytest recorded.")
@click.option(
    "--aa",
    type=click.IntRange(1),
    metavar="N",
    help="Ask --judge again about N unchanged answers, and say how often it says something else.",
)
@shared("--store", help="Where the replies of --aa are kept (default: the user's cache).")
@shared("--max-cost")
@shared("--max-calls")
@shared("--price")
@output_option("--md", metavar="FILE", help="Also write a summary in Markdown; of an error, too.")
@output_option("--junit", metavar="FILE", help="Also write a test report, as pytest's; of an error, too.")
@output_option("--json", metavar="FILE", help="Also write everything as JSON.")
@click.option("--policy", metavar="FILE", help="Read this policy, in place of the nearest rageval.toml.")
@click.option("--show-policy", is_flag=True, help="Say what counts, and from where, and do nothing.")
@click.pass_context
def gate(ctx: click.Context, /, words: tuple[str, ...], **options: Any) -> None:
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
    if options["show_policy"]:
        print_lines(said_of_policy(ctx))
        return
    try:
        code = _gated(words, options)
    except RagevalError as error:
        _write_error(str(error), options)
        raise
    ctx.exit(code)


def _gated(words: tuple[str, ...], options: dict[str, Any]) -> int:
    """Return the exit code, with everything said and written."""
    from dataclasses import replace

    from rageval.cli._inputs import sorted_out

    reading = reading_of(options["comments"])
    if not options["save_baseline"]:
        refuse_without(options["baseline"], "baseline", "the file that --save-baseline wrote")
        if not os.path.isfile(options["baseline"]):
            return _without_baseline(options)
        refuse_without(options["margin"], "margin", "how much worse is good enough")
    inputs = sorted_out(words, reading)
    refuse_idle_for(bool(inputs.answers))
    if options["aa"]:
        refuse_unasked(options, inputs)
    found = _GateInput(inputs, options, reading)
    if options["save_baseline"]:
        for remark in found.said:
            click.echo(f"rageval: {remark}", err=True)
        _save(found.side, options["save_baseline"])
        return 0
    report = _report(found, options)
    report = replace(report, remarks=[*found.said, *report.remarks])
    if options["aa"]:
        from rageval.cli._gate_again import judged_again

        report = replace(report, remarks=[*report.remarks, *judged_again(found.side, report, options)])
    return _told(report, options)


def _without_baseline(options: dict[str, Any]) -> int:
    name = visible(options["baseline"])
    if options["first_run"] != "pass":
        raise InputError(
            f"{name}: no such file; write it with --save-baseline, or say --first-run pass for once"
        )
    message = f"{name}: there is no baseline yet: nothing was gated (--first-run pass)"
    click.echo(f"rageval: {message}", err=True)
    _write_error(message, options, junit=False)
    return 0


class _GateInput:
    """What is gated: its side, its slices and clusters, and what should be said of it."""

    def __init__(self, inputs: Inputs, options: dict[str, Any], reading: Reading) -> None:
        from rageval.cli._scoring import scored, subject_of
        from rageval.comparison.gate_sides import chosen_system, side_of
        from rageval.measures.parsing import parse_measures
        from rageval.scoring.evaluation import Runs

        measures = parse_measures([*options["measures"], *inputs.measures])
        if not measures:
            raise UsageError("no measure named; say -m alpha_ndcg@10 (see: rageval measures)")
        # What failed is missing, and the verdict then holds at both ends of its bounds.
        on_missing = "skip" if inputs.answers else "error"
        self._inputs, self._options = inputs, {**options, **_UNSAID, "on_missing": on_missing}
        self.slices: dict[str, dict[str, str]] = {}
        self.clusters: dict[str, str] | None = None
        if options["system"] and not inputs.answers:
            raise UsageError("--system is about judged answers; expected one run")
        subject = subject_of(inputs, measures, self._options, reading)
        if isinstance(subject, Runs) and len(subject.runs) != 1:
            raise UsageError(f"expected one run, the candidate, found {len(subject.runs)}")
        results, self.said, _ = scored(subject, options)
        scores = chosen_system(results, options["system"])
        self._mind_judges(subject, scores)
        self.side = side_of(subject, scores, self._facts(list(subject.queries)), self._known())

    def _mind_judges(self, subject: Subject, scores: Scores) -> None:
        """Refuse judgements by others than the judge who is named."""
        if not (self._options["judge"] or self._options["aa"]):
            return
        judges, rubrics = subject.judged_by(scores.run)
        if judges or self._inputs.answers:
            refuse_other_judge(judges, rubrics, self._options)
        elif is_typed("judge"):
            raise UsageError("--judge: the judgements of documents do not say whose they are; leave it out")

    def _facts(self, queries: list[str]) -> dict[str, dict[str, str]]:
        from rageval.cli._inputs import fields_in, groups_of

        def groups(field: str) -> dict[str, str]:
            return groups_of(field, queries, self._options["questions"], self._inputs.telling)

        fields = fields_in(self._options["by"])
        self.slices = {str(name): groups(name) for name in fields}
        if self._options["cluster"]:
            self.clusters = groups(self._options["cluster"])
        return {query: {name: of[query] for name, of in self.slices.items()} for query in queries if fields}

    def _known(self) -> str:
        from rageval.files.opening import can_read_again, is_remote

        source = self._options["questions"]
        if not isinstance(source, str) or is_remote(source) or not can_read_again(source):
            return ""
        import hashlib

        from rageval.files.whole import opened_file

        with opened_file(source, "questions") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def _save(side: GateSide, path: Path) -> None:
    from rageval.comparison.gate_sides import saved
    from rageval.files.baselines import baseline_lines
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


def _report(found: _GateInput, options: dict[str, Any]) -> GateReport:
    from rageval.comparison.gate_sides import baseline_side
    from rageval.comparison.gating import gate as decided
    from rageval.files.baselines import read_baseline

    baseline = read_baseline(options["baseline"])
    side = baseline_side(baseline, found.side)
    return decided(found.side, side, _settings(options, found.clusters), found.slices)


def _settings(options: dict[str, Any], clusters: dict[str, str] | None) -> GateSettings:
    from rageval.cli.score import _gate_at_least
    from rageval.comparison.gate_results import GateSettings

    floors = {str(each.measure): each.limit for each in map(_gate_at_least, options["fail_under"])}
    names = ("margin", "slice_margin", "block", "judge_changed", "level", "interval", "resamples")
    return GateSettings(
        **{name: options[name] for name in (*names, "seed", "population")},
        clusters=clusters,
        clustered_by=Path(options["cluster"] or "").name,
        fail_under=floors,
    )


def _told(report: GateReport, options: dict[str, Any]) -> int:
    """Print the table, write the files, and return the exit code."""
    for remark in report.sentences():
        click.echo(f"rageval: {remark}", err=True)
    _write(report, options)
    from dataclasses import replace

    # The remarks stand on standard error already.
    print_lines([str(replace(report, remarks=())), visible(report.signature)])
    if report.verdict == "inconclusive" and options["inconclusive"] == "pass":
        click.echo("rageval: inconclusive, and passed all the same (--inconclusive pass)", err=True)
        return 0
    return {"ship": 0, "block": FAULTS, "inconclusive": INCONCLUSIVE}[report.verdict]


def _write(report: GateReport, options: dict[str, Any]) -> None:
    if options["md"] or options["junit"]:
        from rageval.cli._gate_files import junit, markdown

        _put(options["md"], lambda: markdown(report))
        _put(options["junit"], lambda: junit(report))
    if options["json"]:
        content = as_json(report.as_dict()) + "\n"
        _put(options["json"], lambda: content)


def _write_error(message: str, options: dict[str, Any], junit: bool = True) -> None:
    """Write what kept the gate from gating, where a summary or a report was asked for."""
    if not (options["md"] or options["junit"] or options["json"]):
        return
    from rageval.cli._gate_files import junit_of_error, markdown_of_error

    _put(options["md"], lambda: markdown_of_error(message))
    if junit:
        _put(options["junit"], lambda: junit_of_error(message))
    if options["json"]:
        _put(options["json"], lambda: as_json({"verdict": None, "error": message}) + "\n")


def _put(path: Path | None, content: Any) -> None:
    if path is None:
        return
    from rageval.files.writing import whole_file

    with whole_file(path) as stream:
        stream.write(content().encode("utf-8", "surrogateescape"))
