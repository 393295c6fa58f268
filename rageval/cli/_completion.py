"""Complete words of a command line in a shell: measures, rubrics, judges, datasets, commands, files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from click.shell_completion import CompletionItem

from rageval.measures import builtin
from rageval.measures.official import OFFICIAL
from rageval.plugins import plugin_names

_FILE = "file"


def complete(what: str, incomplete: str) -> Iterator[CompletionItem]:
    """Yield what a word of this sort may become; `what` is the name of a function below."""
    items: Iterator[CompletionItem] = globals()[what](incomplete)
    return items


def measures(incomplete: str) -> Iterator[CompletionItem]:
    """Yield the measures and named sets that the last name of a list may become."""
    typed = re.split(r"[,\s]", incomplete)[-1]
    before = incomplete.removesuffix(typed)
    summaries = {name: measure.summary for name, measure in builtin().items()}
    named = {f"official:{name}": " ".join(members) for name, members in OFFICIAL.items()}
    for name, summary in {**summaries, **named}.items():
        if name.startswith(typed.lower()):
            yield CompletionItem(before + name, help=summary)


def rubrics(incomplete: str) -> Iterator[CompletionItem]:
    """Yield the rubrics, and files."""
    from rageval.judges.rubric import rubric_names

    yield from _matching(incomplete, [*rubric_names(), *plugin_names("rubrics")])
    yield from files(incomplete)


def judges(incomplete: str) -> Iterator[CompletionItem]:
    """Yield the judges that need no model, and what the names of the others begin with."""
    from rageval.judges.offline import NAMES

    with_more = ("openai:", "anthropic:", "ollama:", "vllm:", "frozen:")  # a model, or a file, follows
    yield from _matching(incomplete, [*NAMES, *with_more, *plugin_names("models")])


def ids(incomplete: str) -> Iterator[CompletionItem]:
    """Yield the ids of datasets."""
    from rageval.datasets.catalogue import all_datasets

    yield from _matching(incomplete, [spec.id for _, spec in all_datasets()])


def files(incomplete: str) -> Iterator[CompletionItem]:
    """Let the shell complete files, where nothing else fits."""
    yield CompletionItem(incomplete, type=_FILE)


def files_and_ids(incomplete: str) -> Iterator[CompletionItem]:
    """Yield the ids of datasets once something is typed, and files."""
    if incomplete:
        yield from ids(incomplete)
    yield from files(incomplete)


def scored(incomplete: str) -> Iterator[CompletionItem]:
    """Yield what `score` takes: files, ids and measures."""
    if incomplete:
        yield from measures(incomplete)
        yield from ids(incomplete)
    yield from files(incomplete)


def _matching(incomplete: str, names: Iterable[str]) -> Iterator[CompletionItem]:
    yield from (CompletionItem(name) for name in names if name.startswith(incomplete))
