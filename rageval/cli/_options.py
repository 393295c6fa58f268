"""Options that several commands share: files and ids, outputs, and how judges are asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from rageval.errors import FAULTS, UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from rageval.files.opening import Limits
    from rageval.files.trec import Reading
    from rageval.judges.panel import Settings


METAVAR = "FILE|ID"


def completing(what: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Return what completes a word in a shell; `what` is a function of `rageval.cli._completion`."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from rageval.cli import _completion

        return list(getattr(_completion, what)(incomplete))

    return complete


class FileOrId(click.ParamType):  # type: ignore[type-arg]
    """A file of this name, or the data set of this id; `what` it must hold."""

    name = METAVAR

    def __init__(self, what: str) -> None:
        self.what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word itself, or a data set that stands for a file."""
        if "/" not in str(value):  # no id, and nothing to import for it
            return value
        from rageval.datasets.ids import standing_for

        return standing_for(value, self.what)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return files and ids that begin so."""
        return completing("files_and_ids")(ctx, param, incomplete)


class LimitOption(click.Option):
    """How much files may ask of us: it is put into every source of its command before that is called."""


QUESTIONS, NUGGETS, DOCUMENTS = FileOrId("questions"), FileOrId("nuggets"), FileOrId("documents")
ANSWERS, QRELS = FileOrId("answers"), FileOrId("qrels")


# What several commands take: names, and what they mean, once. A command may say in other words what it does
# with one, whether it must be there, and whether it may be repeated; never what it is called or holds.
_SHARED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "--measure": (
        ("-m", "--measure", "measures"),
        {
            "multiple": True,
            "metavar": "MEASURES",
            "shell_complete": completing("measures"),
            "help": "What to measure: alpha_ndcg@10, 'nDCG@10 AP', official:freshstack."
            " See: rageval measures.",
        },
    ),
    "--sort": (
        ("--sort",),
        {
            "metavar": "MEASURE",
            "shell_complete": completing("measures"),
            "help": "Put the best run by this measure first; 'run' sorts by name.",
        },
    ),
    "--names": (
        ("--names",),
        {
            "multiple": True,
            "metavar": "NAME=FILE",
            "help": "Call the run in FILE by this name; 'tag': call runs by their tags (default: by"
            " their files).",
        },
    ),
    "--size": (
        ("--size",),
        {
            "metavar": "WxH",
            "help": "Of --plot: column (3.3 inches wide), page (7), or width and height in inches, as in 5x3"
            " (default: as wide as its panels need, at most a page).",
        },
    ),
    "--caption": (
        ("--caption",),
        {
            "metavar": "TEXT",
            "help": "Of --format latex: the table's caption, with formulas as in $\\alpha$ (default: what it"
            " rests on; '': the tabular alone).",
        },
    ),
    "--label": (
        ("--label",),
        {"metavar": "NAME", "help": "Of --format latex: by what a text refers to the table, as in tab:runs."},
    ),
    "--depth": (
        ("-M", "--depth"),
        {"type": click.IntRange(1), "help": "Only the first N documents of each ranking."},
    ),
    "--places": (
        ("-p", "--places"),
        {"type": click.IntRange(0, 17), "help": "Decimal places to print (default 4; 6 in ndeval's format)."},
    ),
    "--level": (
        ("--level",),
        {
            "type": float,
            "default": 0.95,
            "show_default": True,
            "help": "The confidence level of intervals and tests.",
        },
    ),
    "--on-missing": (
        ("--on-missing",),
        {
            "type": click.Choice(("error", "skip", "worst", "best")),
            "default": "error",
            "show_default": True,
            "help": "Judgements that failed or are not there: refuse (exit 3), leave out, take for the worst"
            " or best.",
        },
    ),
    "--nuggets-in-qrels": (
        ("--nuggets-in-qrels",),
        {
            "type": click.Choice(("yes", "no")),
            "help": "Whether the second column of the judgements names nuggets (default: yes, with a"
            " warning where it looks otherwise).",
        },
    ),
    "--questions": (
        ("--questions",),
        {"type": QUESTIONS, "metavar": METAVAR, "help": "The questions."},
    ),
    "--nuggets": (
        ("--nuggets",),
        {
            "type": NUGGETS,
            "metavar": METAVAR,
            "help": "The nuggets that were judged: which are vital, or of what weight.",
        },
    ),
    "--intent-weights": (
        ("--intent-weights",),
        {
            "type": NUGGETS,
            "metavar": METAVAR,
            "help": "What each nugget of runs' judgements weighs: lines 'topic nugget weight', or nuggets"
            " (vital 1, okay 0.5).",
        },
    ),
    "--answers": (
        ("--answers",),
        {
            "multiple": True,
            "type": ANSWERS,
            "metavar": METAVAR,
            "help": "The answers that were judged: for their lengths, sentences and citations.",
        },
    ),
    "--interval": (
        ("--interval",),
        {
            "type": click.Choice(("bca", "percentile")),
            "default": "bca",
            "show_default": True,
            "help": "Which bootstrap interval; measures of two values have Wilson's.",
        },
    ),
    "--resamples": (
        ("--resamples",),
        {"type": int, "default": 4000, "show_default": True, "help": "How often the bootstrap resamples."},
    ),
    "--cluster": (
        ("--cluster",),
        {
            "metavar": "FIELD|FILE",
            "help": "Queries of one cluster are not independent: a field of the questions, or lines"
            " 'query_id cluster'.",
        },
    ),
    "--gold": (
        ("--gold",),
        {
            "multiple": True,
            "type": QRELS,
            "metavar": METAVAR,
            "help": "What people said of some of it: claims are then corrected by it, and rest on it.",
        },
    ),
    "--gold-chosen": (
        ("--gold-chosen",),
        {
            "metavar": "uniform|PLAN|FILE",
            "help": "How the part that people judged was chosen: at random, by a plan"
            " (label-plan), or with chances: lines 'query_id chance'.",
        },
    ),
    "--population": (
        ("--population",),
        {
            "type": click.Choice(("kind", "set")),
            "default": "kind",
            "show_default": True,
            "help": "What claims from people's labels are about: queries of this kind, or this very set.",
        },
    ),
    "--corpus": (("--corpus",), {"type": DOCUMENTS, "metavar": METAVAR, "help": "The texts of documents."}),
    "--topics": (
        ("--topics",),
        {"type": QUESTIONS, "metavar": METAVAR, "help": "The queries of the collection."},
    ),
    "--by": (
        ("--by",),
        {
            "metavar": "FIELDS",
            "help": "A row for each value of a field, such as domain,question_type, with interval.",
        },
    ),
    "--comments": (
        ("--comments",),
        {
            "type": click.Choice(("error", "skip", "data")),
            "default": "error",
            "show_default": True,
            "help": "Lines that begin with '#'.",
        },
    ),
    "--limit": (
        ("--limit", "limits"),
        {
            "cls": LimitOption,
            "multiple": True,
            "metavar": "NAME=NUMBER",
            "help": "Raise a safety limit: line, record, id, grade, ratio, unpacked, columns, entries"
            " (as in line=4M).",
        },
    ),
    "--seed": (
        ("--seed",),
        {"type": int, "show_default": True, "help": "The same seed, the same numbers."},
    ),
    "--max-bias": (
        ("--max-bias",),
        {
            "type": click.FloatRange(0),
            "metavar": "PLACES",
            "help": "Fail (exit 1) if the place shown moves an answer by more than so many"
            " places (a pair is a list of two: with 0.1 the first may win 60 %).",
        },
    ),
    "--chunks": (
        ("--chunks",),
        {
            "metavar": "FILE",
            "help": "The chunks that are retrieved: lines {id, doc_id, start, end} or {id, doc_id, text}."
            " Judgements may then be spans of sources.",
        },
    ),
    "--sources": (
        ("--sources",),
        {
            "metavar": "DIR|FILE",
            "help": "The texts that spans and chunks are of: files, or lines {id, text}.",
        },
    ),
    "--overlap": (
        ("--overlap",),
        {
            "metavar": "RULE",
            "show_default": "share>=0.5",
            "help": "How much of a span a chunk must have to hold it: a share, whole or any.",
        },
    ),
    "--stale": (
        ("--stale",),
        {
            "type": click.Choice(("error", "drop")),
            "show_default": "error",
            "help": "Spans whose text their sources hold no longer: refuse, or leave out.",
        },
    ),
    "--dask": (("--dask",), {"metavar": "ADDRESS", "help": "Let the workers of a Dask cluster do it."}),
    "--run": (("--run", "runs"), {"multiple": True, "metavar": "FILE"}),
    "--dry-run": (("--dry-run",), {"is_flag": True, "help": "Say what it would cost, and ask nobody."}),
    "--store": (
        ("--store",),
        {"metavar": "FILE", "help": "Where replies are kept (default: the user's cache)."},
    ),
    "--vote": (
        ("--vote",),
        {
            "type": click.Choice(("mean", "median", "majority")),
            "default": "mean",
            "show_default": True,
            "help": "How several judges become one.",
        },
    ),
    "--concurrency": (
        ("--concurrency",),
        {
            "type": click.IntRange(1),
            "default": 16,
            "show_default": True,
            "help": "How many calls are under way at a time.",
        },
    ),
    "--max-cost": (
        ("--max-cost",),
        {"type": click.FloatRange(0), "metavar": "USD", "help": "Stop before spending more (exit 4)."},
    ),
    "--max-calls": (
        ("--max-calls",),
        {"type": click.IntRange(0), "metavar": "N", "help": "Stop before asking more often (exit 4)."},
    ),
    "--batch": (
        ("--batch",),
        {"is_flag": True, "help": "Ask in batches: half the price, but a reply may take a day."},
    ),
    "--poll-every": (
        ("--poll-every",),
        {"type": click.FloatRange(0.01), "default": 60.0, "help": "Seconds between looks at a batch."},
    ),
    "--price": (
        ("--price",),
        {
            "multiple": True,
            "metavar": "[MODEL=]IN[,OUT]",
            "help": "What a judge costs, in USD per million tokens; without MODEL: each whose price is not"
            " known (0: a server of your own).",
        },
    ),
    "--rebuy": (
        ("--rebuy",),
        {
            "is_flag": True,
            "help": "Ask again what may be in a batch that cannot be found (and may be paid for twice).",
        },
    ),
    "--timeout": (
        ("--timeout",),
        {
            "type": click.FloatRange(0, min_open=True),
            "metavar": "SECONDS",
            "help": "How long one call may take (default: 120, and five times as long for the"
            " files of batches).",
        },
    ),
    "--patience": (
        ("--patience",),
        {
            "type": click.FloatRange(0),
            "metavar": "SECONDS",
            "help": "How long to keep trying when a judge stops answering (default: 240). One"
            " that never answered ends the job at once.",
        },
    ),
    "--refresh": (("--refresh",), {"is_flag": True, "help": "Ask again what is in the store."}),
    "--retry": (
        ("--retry",),
        {
            "metavar": "STATUS,...",
            "default": "",
            "help": "Ask again what failed so before, and nothing else: invalid, truncated, refused,"
            " filtered. Errors are asked again anyway.",
        },
    ),
    "--quiet": (("--quiet",), {"is_flag": True, "help": "Show no progress."}),
}


def shared(name: str, **said: Any) -> Callable[[Decorated], Decorated]:
    """Return an option that several commands take; `said` is what this command says of it."""
    names, settings = _SHARED[name]
    return click.option(*names, **{**settings, **said})


# The sections of --help, by the names of parameters; what stands in none of them comes first.
_SECTIONS = {
    "What is measured": (
        *("measures", "measure", "rel", "ties", "zero_rel", "intersection", "complete", "nothing_judged"),
        *("overlap", "stale", "on_missing", "bounds", "group_by", "weights", "provider", "compat"),
    ),
    "What is read": (
        *(
            "questions",
            "topics",
            "nuggets",
            "intent_weights",
            "claims",
            "answers",
            "passages",
            "corpus",
            "runs",
            "gold",
            "evidence",
            "chunks",
            "sources",
        ),
        "gold_chosen",
        *("qrels", "judgements", "depth", "judged_only", "dedup", "nuggets_in_qrels", "comments", "limits"),
    ),
    "What may be claimed": (
        *("baseline", "all_pairs", "test", "adjust", "interval", "level", "power", "cluster", "sensitivity"),
        *("draws", "resamples", "population", "until", "claim", "looks", "alpha", "pilot"),
    ),
    "Gates": (
        *("require", "fail_under", "save_baseline", "margin", "slice_margin", "block", "judge_changed"),
        *("inconclusive", "first_run", "system", "aa", "policy", "show_policy"),
    ),
    "Who is asked": (
        *(
            "rubric",
            "rubrics",
            "judges",
            "judge",
            "support_judges",
            "vote",
            "tiebreak",
            "permutations",
            "balanced",
        ),
        *("examples", "canaries", "refresh", "retry", "store"),
    ),
    "What it may cost": ("dry_run", "max_cost", "max_calls", "price", "batch", "rebuy", "shard"),
    "What is printed or written": (
        *(
            "by_query",
            "no_summary",
            "sort",
            "names",
            "by",
            "title",
            "details",
            "texts",
            "style",
            "show",
            "caption",
            "label",
            "places",
            "output",
            "disagreements",
        ),
        *("plot", "size", "md", "junit", "json", "quiet"),
    ),
    "How it is done": ("jobs", "dask", "concurrency", "timeout", "patience", "poll_every", "seed"),
}
_MANY = 12  # options: with fewer a list is read sooner than sections


class Command(click.Command):
    """A command that lists many options in sections, and knows a short option when it sees one."""

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command, once it is known what of it acts and how much is read."""
        self.prepare(ctx)
        return super().invoke(ctx)

    def prepare(self, ctx: click.Context) -> None:
        """Refuse what was typed and would change nothing, and put what --limit says into all sources."""
        from rageval.cli._acting import refuse_idle

        refuse_idle(ctx)
        _put_limits(ctx)

    def make_parser(self, ctx: click.Context) -> Any:
        """Return the parser, with the short options among the long ones.

        click looks for a short one among the long ones first, and loads difflib to say what it may have been
        meant as.
        """
        parser = super().make_parser(ctx)
        getattr(parser, "_long_opt", {}).update(getattr(parser, "_short_opt", {}))
        return parser

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by sections where there are many."""
        records = {
            param.name: param.get_help_record(ctx)
            for param in self.get_params(ctx)
            if param.param_type_name == "option"
        }
        shown = {name or "": record for name, record in records.items() if record is not None}
        if len(shown) < _MANY:
            super().format_options(ctx, formatter)
            return
        known = {name for names in _SECTIONS.values() for name in names}
        sections = {"Options": [name for name in shown if name not in known], **_SECTIONS}
        for title, names in sections.items():
            found = [shown[name] for name in names if name in shown]
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


class Group(click.Group):
    """Commands of which the nearest is named when none is called so."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which there is."""
        if (
            args
            and not ctx.resilient_parsing
            and self.get_command(ctx, args[0]) is None
            and not args[0].startswith("-")
        ):
            known = self.list_commands(ctx)
            hint = nearest_command(args[0], known) or f"; expected one of {', '.join(known)}"
            raise UsageError(f"{visible(args[0])}: no such command{hint}")
        return super().resolve_command(ctx, args)


def nearest_command(word: str, commands: Iterable[str]) -> str:
    """Return a hint at the command that a word was meant as, if it is no file, and near one."""
    if not word.replace("-", "").isalpha() or os.path.exists(word):
        return ""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), commands, n=1)
    return f"; did you mean {near[0]}?" if near else ""


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_Words = dict[str, list[str]]  # what was typed, or is so when nothing is, by parameter
_TEXTS = {"title"}  # what is no name of a file, whatever it says
_BESIDE_STORE = ("", "-wal", "-shm", "-journal")


class _OutputPath(click.Path):
    """The name of a file, as a `Path`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; what makes one is imported only where one is named."""
        from pathlib import Path

        return Path(os.fsdecode(super().convert(value, param, ctx)))


class OutputOption(click.Option):
    """A file to be written; refused if it is a folder, an input, the store, or another output."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Take the value, once it is known to be none of the other words of the command line."""
        found = super().handle_parse_result(ctx, opts, args)
        path = ctx.params.get(self.name or "")
        if isinstance(path, os.PathLike) and not ctx.resilient_parsing:
            from rageval.files.writing import refuse_place

            others = {param.name or "": _words(param, ctx, opts) for param in ctx.command.params}
            del others[self.name or ""]
            outputs = [param.name or "" for param in ctx.command.params if isinstance(param, OutputOption)]
            places = {os.path.realpath(word) for name in outputs for word in others.pop(name, ())}
            if os.path.realpath(path) in places:
                raise UsageError(f"{visible(str(path))}: is named by two options; expected a file for each")
            refuse_place(cast("Path", path), *_named(others), *_stores(others))
        return found


def output_option(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Return an option that names a file to be written."""
    return click.option(*names, cls=OutputOption, type=_OutputPath(), **settings)


def _words(param: click.Parameter, ctx: click.Context, opts: Mapping[str, Any]) -> list[str]:
    said = opts.get(param.name or "") or param.get_default(ctx)
    every = said if isinstance(said, list | tuple) else [said]
    return [str(word) for word in every if isinstance(word, str | os.PathLike)]


def _named(words: _Words) -> Iterator[str]:
    """Every file that may be meant, also as in SETTING=FILE and frozen:FILE."""
    for name in words.keys() - _TEXTS:
        for word in words[name]:
            yield from (word, word.partition("=")[2], word.partition(":")[2])
            if os.path.isdir(word):
                from rageval.building.collection import ALL_FILES

                yield from (os.path.join(word, file) for file in ALL_FILES)


def _stores(words: _Words) -> Iterator[str]:
    """Yield the files of the store that the command uses."""
    if "store" in words:
        from rageval.judges.store import default_path

        store = words["store"][0] if words["store"] else default_path()
        yield from (f"{store}{end}" for end in _BESIDE_STORE)


_ASKING: tuple[str, ...] = ("store", "concurrency", "max_cost", "max_calls", "batch", "poll_every")
_ASKING += ("price", "rebuy", "timeout", "patience", "refresh", "retry", "vote", "quiet")


def asking_options(command: Decorated) -> Decorated:
    """Add the options of all commands that ask judges."""
    command = click.option("-q", "was_quiet", is_flag=True, hidden=True, callback=_say_quiet)(command)
    for name in reversed(_ASKING):
        command = shared(f"--{name.replace('_', '-')}")(command)
    return command


def _say_quiet(ctx: click.Context, param: click.Parameter, said: bool) -> bool:
    """Say that -q will not be taken for --quiet any longer: elsewhere it is --by-query."""
    if said:
        click.echo("rageval: -q is short for --by-query (rageval score); say --quiet", err=True)
    return said


def checked_plot(options: Mapping[str, Any]) -> Path | None:
    """Return where --plot shall be, before an hour of scoring; refuse names and sizes no figure can have."""
    if options["plot"] is None:
        return None
    from rageval.comparison.plots import checked_path, checked_size

    checked_size(options["size"])
    return checked_path(options["plot"])


def reading_of(comments: str) -> Reading:
    """Return how files are read, by what --comments says."""
    from rageval.files.trec import Reading

    return Reading(comments)


def _put_limits(ctx: click.Context) -> None:
    """Put what --limit says into every source of the command, so that no reader can miss it."""
    option = next((param for param in ctx.command.params if isinstance(param, LimitOption)), None)
    words = ctx.params[option.name or ""] if option is not None else ()
    if not words:
        return
    from rageval.files.opening import DEFAULT

    limits = DEFAULT.changed(words)
    for param in ctx.command.params:
        name = param.name or ""
        is_text = not isinstance(param, OutputOption | LimitOption) and name not in _TEXTS
        if is_text and not isinstance(param.type, click.Choice):
            ctx.params[name] = _limited(ctx.params.get(name), limits)


def _limited(value: Any, limits: Limits) -> Any:
    """Return the value with limits in what names a source, be it by one of several words."""
    from rageval.files.opening import STDIN, is_remote, with_limits

    if isinstance(value, tuple):
        return tuple(_limited(each, limits) for each in value)
    if not isinstance(value, str):
        return value
    is_named = value == STDIN or is_remote(value) or any(map(os.path.exists, [value, *value.split(",")]))
    return with_limits(value, limits) if is_named else value


def settings_of(options: dict[str, Any], *more: str) -> Settings:
    """Return the settings that the options say; `more` are options of this command alone."""
    from rageval.judges.panel import Settings

    found = {name: options[name] for name in (*_ASKING, *more)}
    return Settings(**{**found, "quiet": options["quiet"] or options["was_quiet"]})


def end_if_biased(found: Iterable[tuple[str, Mapping[str, Any] | None]], limit: float | None) -> None:
    """End with exit code 1 where a place shown moves answers farther than allowed, or nobody knows."""
    if limit is None:
        return
    from rageval.comparison.positions import too_much

    # Where nothing says an order there may be no judge of whom anything is known.
    judges = list(found) or [("the judge", None)]
    why = [(judge, too_much(positions, limit)) for judge, positions in judges]
    for judge, reason in why:
        if reason is not None:
            click.echo(f"rageval: {visible(judge)}: {reason}, so --max-bias {limit:g} is not met", err=True)
    if any(reason is not None for _, reason in why):
        raise click.exceptions.Exit(FAULTS)


def end_if_failed(failed: int, what: str = "judgements") -> None:
    """End with exit code 3 where something is missing because judging failed."""
    if failed:
        from rageval.errors import JudgeFailed

        message = f"rageval: {failed:,} {what} failed and are missing; the same command asks for them again"
        click.echo(message, err=True)
        raise click.exceptions.Exit(JudgeFailed.exit_code)
