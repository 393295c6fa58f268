"""A page a command, from click: what one types, what it does, its options, how it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc

import click

from making.marks import fenced, plain, table, toctree
from rageval.cli import COMMANDS, GROUPS, main


def pages() -> dict[str, str]:
    """Every page's name and text."""
    context = click.Context(main, info_name="rageval")
    texts = {name: page(main.get_command(context, name), name, context) for name in COMMANDS}
    return {"index": index(), **texts}


def index() -> str:
    """The commands, and what they have in common."""
    parts = ["# Commands", help_text(main)]
    for title, commands in GROUPS.items():
        rows = [(f"[`rageval {name}`]({name}.md)", plain(summary)) for name, summary in commands.items()]
        parts += [f"## {title}", table(("command", "what it does"), rows)]
    parts += ["`rageval FILES… -m MEASURE` is short for `rageval score FILES… -m MEASURE`."]
    parts += ["## Exit codes", exit_codes(main.epilog or ""), toctree(COMMANDS, ":hidden:")]
    return "\n\n".join(parts) + "\n"


def page(command: click.Command, name: str, above: click.Context) -> str:
    """A command; below it those it consists of, if it is a group."""
    parts = list(described(command, name, above, "#"))
    if "Exit codes:" not in (command.help or ""):
        parts += ["## Exit codes", exit_codes(main.epilog or "")]
    return "\n\n".join(filter(None, parts)) + "\n"


def described(command: click.Command, name: str, above: click.Context, level: str) -> Iterator[str]:
    """Synopsis, help and options, and the same of subcommands one level down."""
    context = command.context_class(command, info_name=name, parent=above, **command.context_settings)
    yield f"{level} {context.command_path}"
    pieces = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    yield fenced(" ".join([context.command_path, "[OPTIONS]", *pieces]), "text")
    yield help_text(command)
    yield options(command, context)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                yield from described(found, below, context, level + "#")


def help_text(command: click.Command) -> str:
    r"""The help, whose paragraphs after \b stand as they are: they are examples."""
    paragraphs = cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        fenced(paragraph.removeprefix("\b\n"), "sh") if paragraph.startswith("\b") else words(paragraph)
        for paragraph in paragraphs
    )


def options(command: click.Command, context: click.Context) -> str:
    """A row an option."""
    found = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
    rows = [option(one, context) for one in found if "--help" not in one.opts]
    return table(("option", "meaning", "values"), rows) if rows else ""


def option(one: click.Option, context: click.Context) -> tuple[str, str, str]:
    """How it is written, what it means, and what it may be or is when nothing is said."""
    choices = one.type.choices if isinstance(one.type, click.Choice) else ()
    names = ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
    if not one.is_flag and not choices:
        names += f" {plain(one.metavar or one.type.name.upper())}".removesuffix(" RANGE")
    record = one.get_help_record(context)
    extra = re.search(r"\[((?:default|required|\d|x).*)\]$", record[1]) if record else None
    remarks = [", ".join(f"`{choice}`" for choice in choices)] if choices else []
    remarks += [plain(_range(extra[1]))] if extra else []
    return names, words(one.help or ""), "; ".join(remarks)


def words(text: str) -> str:
    """Help, with the options it speaks of as code."""
    return plain(re.sub(r"(?<![\w`-])--?[a-zA-Z][\w-]*", r"`\g<0>`", text))


def _range(text: str) -> str:
    """A range as one says it, and not as click writes it."""
    between = re.sub(r"(\S+)<=x<=(\S+)", r"\1 to \2", text)
    return re.sub(r"x>=(\S+)", r"from \1", between)


def exit_codes(text: str) -> str:
    """`Exit codes: 0 fine; 1 …` as a table."""
    rows = re.findall(r"(\d+) (.*?)(?:; ?|\.$)", text)
    return table(("exit code", ""), [(f"`{code}`", words(meaning)) for code, meaning in rows])
