"""`rageval rubrics`: what judges can be asked, and what others ask."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal, TypeAlias

import click

from rageval import options as opt
from rageval.cli._options import Group, completing, takes_options
from rageval.cli._output import print_lines, say
from rageval.errors import UsageError
from rageval.files.writing import whole_file
from rageval.judges.foreign import Given, imported
from rageval.judges.rubric import rubric_names, rubric_text
from rageval.plugins import plugin_names
from rageval.table import columns
from rageval.text import visible

# What `--as` knows, in the order in which help says it; the rules are in rageval.judges.foreign.
_Source: TypeAlias = Literal[
    "crag-script",
    "nuggetizer",
    "umbrela",
    "umbrela-2025",
    "ragtifier",
    "support",
    "pairwise",
    "listwise",
    "ragdoll",
]


class _RubricCommands(Group):
    """Commands, and names of rubrics in their place."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what is no command for the name of a rubric to show."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the commands that begin so, and the rubrics."""
        show = self.commands["show"]
        return [*super().shell_complete(ctx, incomplete), *show.params[0].shell_complete(ctx, incomplete)]


@click.group(invoke_without_command=True, cls=_RubricCommands)
@click.pass_context
def rubrics(ctx: click.Context, /) -> None:
    """List the rubrics, print one, or import the prompt of another tool.

    Prints the rubric's file: save it, change it, and judge with it.

    \b
    rageval rubrics crag > mine.toml
    rageval judge mine.toml answers.jsonl --questions crag.jsonl --judge openai:MODEL
    rageval rubrics import qrel_zeroshot_bing.yaml --as umbrela -o umbrela.toml
    """
    if ctx.invoked_subcommand is None:
        # What a rubric is for stands in the first line of its file.
        rows = [[name, rubric_text(name).partition("\n")[0].removeprefix("# ")] for name in rubric_names()]
        rows += [[visible(name), "from another package"] for name in plugin_names("rubrics")]
        print_lines(columns(rows))


@rubrics.command("show")
@click.argument("name", shell_complete=completing("rubrics"))
def _show_rubric(name: str) -> None:
    """Print a rubric: its labels, its source and differences from it, its prompt."""
    print_lines([rubric_text(name).rstrip("\n")])


class Options(opt.Options):
    """The options of `rageval rubrics import`."""

    source: Annotated[
        _Source,
        opt.Option("The tool that the prompt is from.", ("--as",)),
    ]
    examples: Annotated[str | None, opt.asked("The examples in its prompt, as a text.", metavar="FILE")] = (
        None
    )
    tokenizer: Annotated[
        str | None,
        opt.Option("The tokenizer with which its script cuts answers (tokenizer.json).", metavar="FILE"),
    ] = None
    prompt: Annotated[str | None, opt.Option("Which prompt, if FILE has several.", metavar="NAME")] = None
    system: Annotated[str | None, opt.gated("The system message that its program sends.", metavar="TEXT")] = (
        None
    )
    output: Annotated[opt.Output | None, "File to write (default: print)."] = None


@rubrics.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@takes_options
def _import(files: tuple[str, ...], options: Options) -> None:
    """Make a rubric from a prompt FILE of another tool's repository.

    It asks and reads replies as that tool does. It has no fence around answers: its judgements are marked
    `unfenced`, with the number of successful attacks. An unreadable reply is missing, unless you ask for the
    tool's own grade with `rageval judge --compat`.

    \b
    rageval rubrics import prompts/templates.py local_evaluation.py --as crag-script -o crag-script.toml
    rageval rubrics import assigner_template.yaml --as nuggetizer -o assigner.toml
    """
    given = Given(files, options.examples, options.tokenizer, options.system, options.prompt)
    text = imported(options.source, given)
    if options.output is None:
        print_lines([text])
        return
    try:
        written = text.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise UsageError(f"{visible(text[error.start :][:20])}: not UTF-8; a rubric must be UTF-8") from None
    with whole_file(options.output) as stream:
        stream.write(written)
    tokenizer = options.tokenizer
    if tokenizer is not None and os.path.realpath(os.path.dirname(tokenizer)) != os.path.realpath(
        options.output.parent
    ):
        name, place = visible(os.path.basename(tokenizer)), visible(str(options.output))
        say(f"copy {name} into the folder of {place}: the rubric names this file")
