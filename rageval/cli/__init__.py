"""The command line: one file a command, imported when it is called."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from keyword import iskeyword
from types import FrameType
from typing import Any, NoReturn

import click

from rageval import hooks
from rageval.cli._options import Group, help_all_option, nearest_command, wants_all
from rageval.errors import EXIT_CODES, INTERRUPTED, WRONG, MeasureError, RagevalError, UsageError
from rageval.text import visible
from rageval.version import __version__

# Linear algebra threads cost start-up and bring nothing here; must be said before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# All commands, as `--help-all` and the pages list them; `--help` lists those of the first part.
GROUPS = {
    "Used first": {
        "score": "Score runs against judgements (the default command).",
        "compare": "Compare runs, with confidence intervals and tests.",
        "report": "Write an HTML report: runs, queries, slices, judges.",
        "gate": "Compare a candidate with a baseline: ship, block or inconclusive.",
        "judge": "Judge answers or documents with a model, a file or a text matcher.",
        "import": "Split another tool's log into answers, questions and judgements.",
        "label": "Collect human labels, and compare judges with them.",
        "doctor": "Check files for problems, and list the measures they affect.",
        "track": "Run a track: validate, pool, judge, score, publish.",
        "demo": "Write small example files, and print commands to try.",
    },
    "Groups": {
        "spans": "Keep judgements when you change the chunking.",
        "board": "Bundle, recompute or publish a leaderboard.",
        "collection": "Build, check and extend a test collection.",
        "store": "Inspect, copy and merge the store of judge replies.",
    },
    "Look-ups": {
        "datasets": "List datasets; show, fetch, import, export or check one.",
        "measures": "List measures, or show one.",
        "rubrics": "List rubrics, or print one.",
        "skill": "Instruct coding agents.",
    },
    "More": {
        "init": "Write a rageval.toml for the files in this folder.",
        "arena": "Rank systems by pairwise or listwise judgements.",
        "diagnose": "Tell retrieval losses from generation losses.",
        "validate": "Check a file against a track's rules, and repair it.",
        "reproduce": "Recompute a published table, beside the published values.",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
_FIRST, *_OTHERS = GROUPS
_DEFAULT_COMMAND = "score"
_OPTIONS = ("--help", "-h", "--help-all", "--version")  # what stands before any command
# First words that are no commands, though other tools or a person may expect them, and what is typed instead.
_ELSEWHERE = {
    "evaluate": "rageval score",
    "eval": "rageval score",
    "help": "rageval --help",
    "version": "rageval --version",
    "label-plan": "rageval label plan",
    "annotate": "rageval label page",
    "correct": "rageval label correct",
    "agree": "rageval label agree",
    "anchor": "rageval spans anchor",
    "project": "rageval spans project",
    "build": "rageval collection build, or a step of it such as rageval collection fuse",
    "pool": "rageval collection check",
    "replies": "rageval store",
}


class _Commands(Group):
    """Finds commands by name without importing the others; without a name it is `score`."""

    def file_of(self, name: str) -> str:
        """Return the file of a command, which is called as its function is."""
        return name + "_" * iskeyword(name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the options where everything is asked for, and the commands."""
        if wants_all(ctx):
            super().format_options(ctx, formatter)
        else:
            self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the commands that are used first, or all of them with those that they consist of."""
        if not wants_all(ctx):
            with formatter.section("Most used commands"):
                formatter.write_dl(list(GROUPS[_FIRST].items()))
            return
        for title, commands in GROUPS.items():
            rows = []
            for name, summary in commands.items():
                rows.append((name, summary))
                command = self.get_command(ctx, name)
                if isinstance(command, Group):
                    rows += [(f"{name} {part}", what) for part, what in command.summaries()]
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the exit codes, or what else there is."""
        if wants_all(ctx):
            super().format_epilog(ctx, formatter)
            return
        others = "; ".join(f"{title.lower()}: {' '.join(GROUPS[title])}" for title in _OTHERS)
        text = click.wrap_text(f"{others[0].upper()}{others[1:]}.", formatter.width)
        formatter.write(f"\n{text}\nrageval --help-all: every command, the options, the exit codes.\n")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before words that begin with none."""
        if args and args[0] not in COMMANDS and args[0] not in _OPTIONS:
            hint = "" if ctx.resilient_parsing else _suggest_command(args[0])
            if hint:
                raise UsageError(f"{args[0]}: not a command, file or measure{hint}")
            args = [_DEFAULT_COMMAND, *args]
        elif not ctx.resilient_parsing and len(args) > 1 and all(map(os.path.isfile, args[:2])):
            # Whoever has a file of a command's name may have meant it.
            _say(f"{args[0]}: read as the command; for the file of this name, type ./{args[0]}")
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the commands that begin so, and what the default command takes."""
        items = super().shell_complete(ctx, incomplete)
        return items if incomplete.startswith("-") else [*items, *hooks.complete_word("scored", incomplete)]

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run, and leave with the documented exit code: no traceback for anything a user can cause."""
        kwargs["standalone_mode"] = False
        try:
            with _interrupt_on_signals(), _print_warnings():
                code = super().main(*args, **kwargs)
        except RagevalError as error:
            _say(error.command_text())
            code = error.exit_code
        except click.ClickException as error:
            error.show()
            code = WRONG
        except (click.Abort, KeyboardInterrupt):
            _say("interrupted")
            code = INTERRUPTED
        except BrokenPipeError:
            # Whoever read the output has left, which is no fault. Python would write the rest and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except (OSError, MemoryError) as error:
            _say(str(_system_error(error)))
            code = WRONG
        sys.exit(code if isinstance(code, int) else 0)


def _system_error(error: OSError | MemoryError) -> UsageError:
    """Return what the system refused: a disk that is full, a folder that is gone, a read that failed.

    >>> print(_system_error(OSError(28, "No space left")))
    the system refused to read or write: No space left
    >>> print(_system_error(OSError(5, "I/O error", "a.trec")))
    a.trec: I/O error
    """
    if isinstance(error, MemoryError):
        return UsageError("out of memory; pass fewer or smaller files, or raise the limit of memory")
    reason = error.strerror or str(error)
    if error.filename is None:
        return UsageError(f"the system refused to read or write: {reason}")
    return UsageError(f"{os.fsdecode(error.filename)}: {reason}")


def _suggest_command(word: str) -> str:
    """Return a hint at the command that the first word was meant as; measures and files are none."""
    if os.path.exists(word):
        return ""
    if word.lower() in _ELSEWHERE:
        return f"; say {_ELSEWHERE[word.lower()]}"
    if not word.isalpha():
        return ""
    from rageval.measures.parsing import spelled

    try:
        spelled(word)
    except MeasureError:
        return nearest_command(word, COMMANDS)
    return ""


def _say(message: str) -> None:
    for line in message.split("\n"):
        click.echo(f"rageval: {visible(line)}", err=True)


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Within, let what would be a warning in Python be a line like any other that is said."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def say(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, UserWarning):
                _say(str(message))
            else:
                shown(message, category, *place, **more)

        warnings.showwarning = say
        yield


def _print_version(ctx: click.Context, param: click.Parameter, is_requested: bool) -> None:
    if is_requested:
        from rageval.kernel import in_use

        click.echo(f"rageval {__version__} ({in_use})")
        ctx.exit()


@click.command(
    cls=_Commands,
    in_files=COMMANDS,
    params=[help_all_option("Show all commands, options and exit codes, and exit.")],
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version, and whether the compiled part is used.",
)
def main() -> None:
    """Evaluate retrieval and RAG.

    \b
    rageval run.trec qrels.nugget -m alpha_ndcg@10
    rageval a.run b.run qrels -m coverage@20,recall@50
    rageval compare judged.jsonl -m crag_score
    """


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # not all systems have all


@contextmanager
def _interrupt_on_signals() -> Iterator[None]:
    """Within, let the first signal be a `KeyboardInterrupt` and the second end the process.

    SIGTERM and SIGHUP mean what Ctrl-C means: what is half written is taken away, calls under way may land,
    claims are given back. After the second signal nothing is tidied up; stores and results are whole all the
    same.

    A signal that whoever started the process had ignored (nohup, a job in the background) stays ignored, and
    processes forked from this one end at their first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner, was_interrupted = os.getpid(), False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal was_interrupted
        if was_interrupted or os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        was_interrupted = True
        raise KeyboardInterrupt

    before = {}
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
