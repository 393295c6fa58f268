"""Options that several commands share: files and ids, outputs, and how judges are asked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from inspect import cleandoc, signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_type_hints

import click

from rageval import hooks
from rageval import options as opt
from rageval.errors import InputError, UsageError
from rageval.options import REQUIRED, SECTIONS, OptionField, fields_of, fields_of_class
from rageval.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from rageval.files.opening import Limits
    from rageval.files.trec import Reading


METAVAR = "FILE|ID"


def completing(what: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Return what completes a word in a shell; `what` is a function of `rageval.cli._completion`."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        return list(hooks.complete_word(what, incomplete))

    return complete


class FileOrId(click.ParamType):  # type: ignore[type-arg]
    """A file of this name, or the dataset of this id; `what` it must hold."""

    name = METAVAR

    def __init__(self, what: str) -> None:
        self.what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word itself, or a dataset that stands for a file."""
        if "/" not in str(value):  # no id, and nothing to import for it
            return value
        return hooks.dataset_or_file(value, self.what)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return files and ids that begin so."""
        return completing("files_and_ids")(ctx, param, incomplete)


class LimitOption(click.Option):
    """How much files may ask of us: it is put into every source of its command before that is called."""


_PATHS: Mapping[str, Mapping[str, Any]] = {
    "file": {"exists": True, "dir_okay": False},
    "path": {},
    "folder": {"file_okay": False},
}  # of `Option.kind`, for click


def takes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that its parameters, and classes of options among these, declare."""
    hints = get_type_hints(function, include_extras=True)
    defaults = {
        name: parameter.default
        for name, parameter in signature(function).parameters.items()
        if parameter.default is not parameter.empty
    }
    holders = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, opt.Options)
    }
    fields_of_holders = {name: [*fields_of_class(holder)] for name, holder in holders.items()}

    @wraps(function)
    def called(*arguments: Any, **given: Any) -> Any:
        given |= _format_of_file(given)
        for name, holder in holders.items():
            given[name] = holder(**{field.name: given.pop(field.name) for field in fields_of_holders[name]})
        return function(*arguments, **given)

    fields = [
        *(field for holder_fields in fields_of_holders.values() for field in holder_fields),
        *fields_of(hints, defaults),
    ]
    # click reads them last first, as decorators are applied.
    called.__dict__["__click_params__"] = [_click_option(field) for field in reversed(fields)]
    return called


_FORMATS = {
    **{".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl"},
    **{".html": "html", ".md": "md", ".tex": "latex"},
}


def _format_of_file(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the format that the name of the output file says, where no format was typed."""
    context = click.get_current_context(silent=True)
    output = given.get("output")
    if context is None or "style" not in given or not isinstance(output, str | os.PathLike):
        return {}
    if context.get_parameter_source("style") is not click.core.ParameterSource.DEFAULT:
        return {}
    options = {parameter.name: parameter for parameter in context.command.params}
    style = _FORMATS.get(os.path.splitext(output)[1].lower(), "")
    # A page is HTML, whatever else its command can print.
    is_page = getattr(options["output"], "metavar", None) == "FILE.html"
    return {"style": style} if not is_page and style in getattr(options["style"].type, "choices", ()) else {}


def _click_option(field: OptionField) -> click.Option:
    """Return the option of the command line that a field declares."""
    option = field.option
    names = option.names or (f"--{field.name.replace('_', '-')}",)
    settings: dict[str, Any] = {
        "help": option.help or None,
        "metavar": option.metavar,
        "hidden": option.hidden,
    }
    settings["multiple"] = field.is_several
    if field.type is bool:
        settings["is_flag"] = True
    if field.default is REQUIRED:
        settings["required"] = True
    # A flag is off, and what may be said several times is empty, where nothing is said.
    elif field.default is not None and field.default is not False and field.default != ():
        settings |= {"default": field.default, "show_default": option.shows is not False}
    if isinstance(option.shows, str):
        settings["show_default"] = option.shows
    if option.completes:
        settings["shell_complete"] = completing(option.completes)
    if option.reads and option.metavar is None:
        settings["metavar"] = METAVAR
    kind = {"limit": LimitOption, "output": OutputOption}.get(option.kind, click.Option)
    click_option = kind([*names, field.name], type=_click_type(field), **settings)
    click_option.section = option.section  # type: ignore[attr-defined]  # for the help of `Command`
    return click_option


def _click_type(field: OptionField) -> Any:
    """Return what reads a word of the command line as the value of a field."""
    option = field.option
    if option.parses is not None:
        return option.parses
    if field.choices:
        return click.Choice(field.choices)
    if option.reads:
        return FileOrId(option.reads)
    if option.kind == "output":
        return _PathType()
    if option.kind in _PATHS:
        return _PathType(**_PATHS[option.kind])
    low: Any = option.least if option.above is None else option.above
    high: Any = option.most
    if low is not None or high is not None:
        bounds = click.IntRange if field.type is int else click.FloatRange
        return bounds(low, high, min_open=option.above is not None)
    if field.type is bool:
        return None
    return get_args(field.type) or field.type  # a pair is two words


_ALL = "rageval.help_all"


def _process_once(option: Any, process: Callable[[Any, Any], None], value: Any, state: Any) -> None:
    """Take the value of an option that has one; refuse another one for it, of which the last would count."""
    before = state.opts.get(option.dest)
    process(value, state)
    if option.dest in state.opts and before not in (None, state.opts[option.dest]):
        name = option.obj.opts[0]
        values = (
            "" if option.action == "store_const" else f": {visible(str(before))} and {visible(str(value))}"
        )
        raise UsageError(f"{name}: given twice, with different values{values}; give it once")


def _help_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def wants_all(ctx: click.Context) -> bool:
    """Return whether the help is that of --help-all."""
    return bool(ctx.meta.get(_ALL))


def help_all_option(text: str) -> click.Option:
    """Return an option --help-all, which shows more than --help."""
    return click.Option(
        ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all, help=text
    )


_EXAMPLES = 4  # lines of examples in a help that is brief
_NAMES = 32  # columns for the names of options there
_SUMMARY = 64  # what a command of a group does
_SECOND_LINES = 7  # of what options do: the first ones have them
_LEAST = 10  # characters of a clause that says something
_TEXT = 42  # and for what they do
_WIDE = 200  # characters: a summary is cut by nothing but its line
_MANY = 12  # options: with fewer a list is read sooner than sections


def _brief_text(text: str, width: int) -> str:
    """Return how a text begins: its first sentence, else its first clause, else as many words as fit.

    >>> _brief_text("Compare with this run (default: the best). More.", 50)
    'Compare with this run (default: the best)'
    >>> _brief_text("Compare with this run (default: the best). More.", 30)
    'Compare with this run'
    >>> _brief_text("Human labels for a sample", 12)
    'Human …'
    """
    parts = (re.split(border, text, maxsplit=1)[0] for border in (r"\. |\.$", r"[.;] |\.$| \(|: "))
    sentence, clause = parts
    if len(sentence) <= width:
        return sentence
    if _LEAST < len(clause) <= width:
        return clause
    return sentence[: width - 1].rsplit(" ", 1)[0] + " …"


def _brief_records(params: Sequence[click.Parameter]) -> list[tuple[str, str]]:
    """Return options and what they do, in a line or two; what may be chosen is listed by --help-all."""
    names = []
    for param in params:
        takes = " WORD" if isinstance(param.type, click.Choice) else f" {_metavar_of(param)}"
        is_flag = getattr(param, "is_flag", False)
        names.append(", ".join(sorted(param.opts, key=len)) + takes * (not is_flag))
    texts = []
    second_lines = _SECOND_LINES
    for param in params:
        text = _brief_text(getattr(param, "help", None) or "", 2 * _TEXT if second_lines else _TEXT)
        second_lines -= len(text) > _TEXT
        texts.append(text)
    return list(zip(names, texts, strict=True))


def _metavar_of(param: click.Parameter) -> str:
    return param.metavar or {"text": "TEXT", "integer": "N", "float": "NUMBER"}.get(param.type.name, "N")


class Command(click.Command):
    """A command that lists many options in sections, and knows a short option when it sees one.

    Of many options `--help` lists those that are used `first`, by the names of their parameters, and
    `--help-all` lists all.
    """

    def __init__(self, *args: Any, first: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.first = list(first)
        if self.first:
            self.params.append(help_all_option("Show all options, and exit."))

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command, once it is known what of it acts and how much is read."""
        self.prepare(ctx)
        try:
            return super().invoke(ctx)
        except InputError as error:
            reading = reading_of(ctx.params.get("comments"))
            if (wrong := hooks.misplaced_file(error, ctx.params, reading, self.name)) is not None:
                raise wrong from error
            raise

    def prepare(self, ctx: click.Context) -> None:
        """Refuse what was typed and cannot do what it says, and put what --limit says into all sources."""
        from rageval.cli._acting import refuse_idle

        refuse_idle(ctx)
        option = next((param for param in ctx.command.params if isinstance(param, LimitOption)), None)
        words = ctx.params[option.name or ""] if option is not None else ()
        if not words:
            return
        from rageval.files.opening import DEFAULT

        limits = DEFAULT.changed(words)
        # Into every source of the command, so that no reader can miss it.
        for param in ctx.command.params:
            name = param.name or ""
            is_text = not isinstance(param, OutputOption | LimitOption) and name not in _TEXTS
            if is_text and name in ctx.params and not isinstance(param.type, click.Choice):
                ctx.params[name] = _apply_limits(ctx.params[name], limits)

    def make_parser(self, ctx: click.Context) -> Any:
        """Return the parser, with the short options among the long ones.

        click looks for a short one among the long ones first, and loads difflib to say what it may have been
        meant as.
        """
        parser = super().make_parser(ctx)
        getattr(parser, "_long_opt", {}).update(getattr(parser, "_short_opt", {}))
        for option in {id(option): option for option in getattr(parser, "_long_opt", {}).values()}.values():
            if option.action in ("store", "store_const") and not ctx.resilient_parsing:
                option.process = partial(_process_once, option, option.process)
        return parser

    def is_brief(self, ctx: click.Context) -> bool:
        """Return whether the help is that of --help where --help-all says more: within a screen."""
        return bool(self.first) and not wants_all(ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does; in brief its first paragraph, and examples."""
        if not self.is_brief(ctx) or not self.help:
            super().format_help_text(ctx, formatter)
            return
        first, *paragraphs = cleandoc(self.help).split("\n\n")
        examples = [text for text in paragraphs if text.startswith("\b")]
        with formatter.indentation():
            for text in (first, *("\n".join(text.split("\n")[: _EXAMPLES + 1]) for text in examples)):
                formatter.write_paragraph()
                formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by sections where there are many."""
        records = {
            param.name: param.get_help_record(ctx)
            for param in self.get_params(ctx)
            if param.param_type_name == "option"
        }
        shown = {name or "": record for name, record in records.items() if record is not None}
        if len(shown) < _MANY and not self.first:
            super().format_options(ctx, formatter)
            return
        if self.is_brief(ctx):
            options = {param.name: param for param in self.get_params(ctx)}
            names = [*self.first, *list(shown)[-2:]]
            with formatter.section("Most used options"):
                formatter.write_dl(_brief_records([options[name] for name in names]), col_max=_NAMES)
            return
        section_of = {param.name: getattr(param, "section", "") for param in self.get_params(ctx)}
        for title in ("", *SECTIONS):
            records_of_section = [record for name, record in shown.items() if section_of[name] == title]
            if records_of_section:
                with formatter.section(title or "Options"):
                    formatter.write_dl(records_of_section)


class Group(click.Group):
    """Commands of which the nearest is named when none is called so.

    Those `in_files`, by name and with what each does, are imported when they are called: the command `plan`
    of the group `label` is `label_plan` in `rageval.cli.label_plan`.
    """

    command_class = Command

    def __init__(self, *args: Any, in_files: Mapping[str, str] = MappingProxyType({}), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.in_files = in_files

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order in which they are used."""
        return [*self.commands, *self.in_files]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; of those in files import this one, and no other."""
        if cmd_name not in self.in_files:
            return super().get_command(ctx, cmd_name)
        name = self.file_of(cmd_name)
        command: click.Command = getattr(import_module(f"rageval.cli.{name}"), name)
        return command

    def file_of(self, name: str) -> str:
        """Return the file of a command, which is called as its function is."""
        return f"{self.name}_{name}"

    def summaries(self) -> list[tuple[str, str]]:
        """Return the commands, and what each does."""
        own_commands = ((name, command.get_short_help_str(_WIDE)) for name, command in self.commands.items())
        return [*own_commands, *self.in_files.items()]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the commands, none of which needs to be imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _brief_text(text, _SUMMARY)) for name, text in self.summaries()])

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
            names = self.list_commands(ctx)
            hint = nearest_command(args[0], names) or f"; expected one of {', '.join(names)}"
            raise UsageError(f"{visible(args[0])}: no such command{hint}")
        return super().resolve_command(ctx, args)


def nearest_command(word: str, commands: Iterable[str]) -> str:
    """Return a hint at the command that a word was meant as, if it is no file, and near one."""
    if not word.replace("-", "").isalpha() or os.path.exists(word):
        return ""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), commands, n=1)
    return f"; did you mean {near[0]}?" if near else ""


_Words = dict[str, list[str]]  # what was typed, or is so when nothing is, by parameter
_TEXTS = {"title"}  # what is no name of a file, whatever it says
_STORE_SUFFIXES = ("", "-wal", "-shm", "-journal")


class _PathType(click.Path):
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
        result = super().handle_parse_result(ctx, opts, args)
        path = ctx.params.get(self.name or "")
        if isinstance(path, os.PathLike) and not ctx.resilient_parsing:
            from rageval.files.writing import refuse_place, require_folder

            others = {param.name or "": _words_of_param(param, ctx, opts) for param in ctx.command.params}
            del others[self.name or ""]
            outputs = [param.name or "" for param in ctx.command.params if isinstance(param, OutputOption)]
            places = {os.path.realpath(word) for name in outputs for word in others.pop(name, ())}
            if os.path.realpath(path) in places:
                raise UsageError(f"{visible(str(path))}: two options name this file; give each its own")
            stores: list[str] = []
            if "store" in others:
                store = others["store"][0] if others["store"] else hooks.default_store()
                stores = [f"{store}{end}" for end in _STORE_SUFFIXES]
            refuse_place(cast("Path", path), *_possible_files(others), *stores)
            require_folder(cast("Path", path))  # before anything is judged and paid
        return result


def _words_of_param(param: click.Parameter, ctx: click.Context, opts: Mapping[str, Any]) -> list[str]:
    value = opts.get(param.name or "") or param.get_default(ctx)
    every = value if isinstance(value, list | tuple) else [value]
    return [str(word) for word in every if isinstance(word, str | os.PathLike)]


def _possible_files(words: _Words) -> Iterator[str]:
    """Yield every file that may be meant, also as in SETTING=FILE and frozen:FILE."""
    for name in words.keys() - _TEXTS:
        for word in words[name]:
            yield from (word, word.partition("=")[2], word.partition(":")[2])
            if os.path.isdir(word):
                yield from (os.path.join(word, file) for file in hooks.files_of_collection())


class Asking(opt.Options):
    """The options of all commands that ask judges."""

    store: opt.Store | None = None
    concurrency: opt.Concurrency = 16
    max_cost: opt.MaxCost | None = None
    max_calls: opt.MaxCalls | None = None
    batch: opt.Batch = False
    poll_every: opt.PollEvery = 60.0
    price: opt.Price = ()
    rebuy: opt.Rebuy = False
    timeout: opt.Timeout | None = None
    patience: opt.Patience | None = None
    refresh: opt.Refresh = False
    retry: opt.Retry = ""
    vote: opt.Vote = "mean"
    quiet: opt.Quiet = False


class Measuring(opt.Options):
    """What is measured of which files; what is annotated with no option is one of some commands."""

    measures: opt.Measures = ()
    rel: opt.Rel | None = None
    ties: opt.Ties | None = None
    zero_rel: opt.ZeroRel = "zero"
    intersection: opt.Intersection = False
    complete: opt.Complete = False
    nothing_judged: opt.NothingJudged | None = None
    on_missing: opt.Missing = "error"
    bounds: bool = False
    group_by: str | None = None
    weights: str | None = None
    provider: opt.Provider | None = None
    compat: opt.Compat | None = None
    questions: Annotated[
        opt.Questions, "The questions: all of them count for judged answers; --by uses their fields."
    ] = None
    nuggets: opt.Nuggets = None
    intent_weights: opt.IntentWeights = None
    answers: opt.Answers = ()
    depth: opt.Depth | None = None
    judged_only: opt.JudgedOnly = False
    dedup: opt.Dedup | None = None
    nuggets_in_qrels: opt.NuggetsInQrels | None = None
    comments: Annotated[
        opt.Comments | None,
        "Lines that begin with '#' (default: error; with --compat trec_eval skip, as trec_eval 10 does).",
    ] = None
    limits: opt.Limits = ()
    names: tuple[str, ...] = ()
    jobs: int = 1
    dask: str | None = None


class OfSpans(opt.Options):
    """The options of all commands whose judgements may be spans of sources."""

    chunks: opt.Chunks | None = None
    sources: opt.Sources | None = None
    overlap: opt.Overlap | None = None
    stale: opt.Stale | None = None


class OfLabels(opt.Options):
    """The options of all commands that take what people said."""

    gold: opt.Gold = ()
    gold_chosen: opt.GoldChosen | None = None
    population: opt.Population = "kind"


class Scoring(OfLabels, OfSpans, Measuring):
    """The options of all commands that score."""


class Comparing(Scoring):
    """The options of all commands that compare."""

    on_missing: opt.OnMissing = "error"
    bounds: opt.Bounds = False
    baseline: Annotated[
        str,
        opt.claimed(
            "Compare with this run (default: of two runs the first, of several the best by each measure).",
            metavar="RUN",
            shows=False,
        ),
    ] = "best"
    all_pairs: opt.AllPairs = False
    test: opt.Test = "auto"
    adjust: opt.Adjust = "max_t"
    level: opt.Level = 0.95
    power: opt.Power = 0.8
    cluster: opt.Cluster | None = None
    draws: opt.Draws = 10_000
    resamples: opt.Resamples = 4000
    names: opt.Names = ()
    places: opt.Places | None = None
    seed: opt.Seed = 20130


class ComparingTables(Comparing):
    """The options of all commands that compare, and judge tables of answers before."""

    rubric: Annotated[
        str | None, opt.asked("The rubric for tables of answers (default: crag).", metavar="NAME|FILE")
    ] = None
    judge: Annotated[
        tuple[str, ...],
        opt.asked(
            "The judge of tables of answers (default: short, which needs no model); may be repeated.",
            metavar="JUDGE",
            completes="judges",
        ),
    ] = ()


YES_OR_NO: Mapping[str | None, bool | None] = {None: None, "yes": True, "no": False}  # as in Python


def checked_plot(plot: Path | None, size: str | None) -> Path | None:
    """Return where --plot shall be, if it shall; refuse before scoring what could not be drawn after it."""
    return None if plot is None else hooks.checked_plot(plot, size)


def reading_of(comments: str | None, compat: str | None = None) -> Reading:
    """Return how files are read, by what --comments says, and else by whose rules count."""
    from rageval.files.trec import Reading

    return Reading(comments or ("skip" if compat == "trec_eval" else "error"))


def _apply_limits(value: Any, limits: Limits) -> Any:
    """Return the value with limits in what names a source, be it by one of several words."""
    from rageval.files.opening import STDIN, is_remote, with_limits

    if isinstance(value, tuple):
        return tuple(_apply_limits(item, limits) for item in value)
    if not isinstance(value, str):
        return value
    is_named = value == STDIN or is_remote(value) or any(map(os.path.exists, [value, *value.split(",")]))
    return with_limits(value, limits) if is_named else value
