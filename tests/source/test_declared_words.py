"""A word that an option takes is one that something knows: a change that is half done is told here."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from declared import require_same
from every_command import leaves
from rageval import errors, options
from rageval.checking import tracks
from rageval.checking.tracks import TRACKS, Track
from rageval.comparison.difference_tests import STUDENTIZED, TESTS
from rageval.files._records import RECORDS
from rageval.files.kinds import LINES
from rageval.hooks import Hook
from rageval.judges.models import providers
from rageval.judges.rubric import rubric_named, rubric_names
from rageval.logs.readers import TOOLS, _all
from rageval.logs.rows import LogReader
from rageval.measures import builtin, scales
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measure
from rageval.measures.scales import ALL, Scale, usual_measure
from rageval.scoring.rules import Rules
from rageval.scoring.runs import TIE_ORDERS
from rageval.subjects import ANSWERS, KINDS, kind_of_measure
from rageval.table import PRINTERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def words_of(option: Any) -> set[str]:
    """The words that an option takes."""
    return set(get_args(get_args(option)[0]))


def option_of(option: Any) -> options.Option:
    """What it is on a command line: its help, its names."""
    (declared,) = (note for note in get_args(option)[1:] if isinstance(note, options.Option))
    return declared


@pytest.mark.parametrize(
    ("option", "known", "where"),
    [
        # `expected` is the mean over all orders, and `error` refuses them.
        (options.Ties, [*TIE_ORDERS, "expected", "error"], "TIE_ORDERS (scoring/runs.py)"),
        # `auto` fits the test to the values: of graded ones it is the studentized.
        (options.Test, {"auto", *TESTS} - {STUDENTIZED}, "TESTS (comparison/difference_tests.py)"),
    ],
    ids=["ties", "tests"],
)
def test_each_word_of_an_option_has_what_does_it(option: Any, known: Collection[str], where: str) -> None:
    require_same(words_of(option), known, f"the words of {where}, in rageval/options.py")
    require_same(known, words_of(option), where)


def test_the_docstring_of_rules_has_each_rule_for_ties() -> None:
    (text,) = re.findall(r"^    ties\n(.*?)^    depth$", Rules.__doc__ or "", flags=re.MULTILINE | re.DOTALL)
    require_same(re.findall(r"`(\w+)`", text), words_of(options.Ties), "`ties` in the docstring of Rules")


# What the help of `--ties` says of each rule.
TIES_IN_HELP = {
    "trec": "(trec)",
    "docid_asc": "ascending",
    "rank": "rank column",
    "input": "file order",
    "expected": "(expected)",
    "error": "refuse",
}


def test_the_help_of_ties_has_each_rule() -> None:
    where = "TIES_IN_HELP of this file, with its words in the help of `Ties` (options.py)"
    require_same(TIES_IN_HELP, words_of(options.Ties), where)
    text = option_of(options.Ties).help
    described = {name for name, words in TIES_IN_HELP.items() if words in text}
    require_same(described, TIES_IN_HELP, "the help of `Ties`, in rageval/options.py")


@pytest.mark.parametrize("name", PRINTERS)
def test_a_format_of_tables_is_offered_and_documented(name: str) -> None:
    formats = {
        choice
        for command in leaves().values()
        for param in command.params
        if "--format" in param.opts
        for choice in param.type.choices
    }
    assert name in formats, f"{name}: no command offers this format"
    pages = [path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")]
    assert any(f"`{name}`" in page for page in pages), f"{name}: describe the format in docs/guide.md"


def test_an_exit_code_has_its_meaning_and_a_class_that_ends_with_it() -> None:
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = {kind.exit_code for kind in classes if issubclass(kind, errors.RagevalError)}
    # Commands end with these themselves: fine, a failed gate, one without a verdict, and a signal.
    own = {0, errors.FAULTS, errors.INCONCLUSIVE, errors.INTERRUPTED}
    require_same(map(str, errors.EXIT_CODES), map(str, raised | own), "EXIT_CODES, with its meaning")
    assert not raised & own, "a class of errors ends with a code that commands end with themselves"
    names = {kind.__name__ for kind in classes if kind.__module__ == errors.__name__}
    require_same(errors.__all__, {name for name in names if not name.startswith("_")}, "errors.__all__")


def test_every_class_of_errors_with_a_code_of_its_own_is_raised() -> None:
    """A code that nothing ends with is a promise that nothing keeps."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "rageval").rglob("*.py"))
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.RagevalError) and "exit_code" in vars(kind):
            used = re.search(rf"(?<!class )\b{kind.__name__}[(.]|\({kind.__name__}\):", source)
            assert used or kind is errors.RagevalError, f"{kind.__name__}: nothing raises it"


@pytest.mark.parametrize("track", TRACKS)
def test_a_track_has_a_sample_and_a_place_in_the_docs(track: str) -> None:
    is_documented = re.search(rf"`{track}`", (DOCS / "files.md").read_text(encoding="utf-8")) is not None
    assert is_documented, f"{track}: give it a row in docs/files.md"
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "checking").glob("test_*.py")]
    has_test = any(re.search(rf'"{track}"', text) for text in tests)
    assert has_test, f"{track}: give it a sample and a test in tests/checking/"


def test_every_track_that_is_declared_is_listed() -> None:
    declared = {track.name for track in vars(tracks).values() if isinstance(track, Track)}
    require_same(tracks._TRACKS, declared, "_TRACKS of rageval/checking/tracks.py")


# Grades of passages are judgements of documents, and those of a bank the importance of its nuggets.
OF_NO_ANSWER = ("passage", "bank")


@pytest.mark.parametrize("name", list(rubric_names()))
def test_what_a_rubric_grades_in_answers_can_be_scored(name: str) -> None:
    rubric = rubric_named(name)
    scored = {of_scale for scale in ALL for of_scale in scale.rubrics}
    if rubric.file.labels and rubric.file.unit not in OF_NO_ANSWER:
        assert rubric.judged_as in scored, f"{name}: add its scale to measures/scales.py"
        usual = usual_measure(name)
        is_there = not usual or kind_of_measure(parse_measure(usual)) is ANSWERS
        assert is_there, f"{name}: no measure of answers is called {usual}, which its scale names"


def test_every_scale_is_read_by_a_measure() -> None:
    """But what is graded in documents, which become judgements of these, and what is declared as private."""
    folder = ROOT / "rageval" / "measures"
    read = "\n".join(
        path.read_text(encoding="utf-8") for path in folder.glob("*.py") if path.stem != "scales"
    )
    of_documents = {name for name in rubric_names() if rubric_named(name).file.unit.startswith(OF_NO_ANSWER)}
    named = {name: value for name, value in vars(scales).items() if isinstance(value, Scale) and value in ALL}
    public = {
        name
        for name, scale in named.items()
        if not name.startswith("_") and not of_documents.issuperset(scale.rubrics)
    }
    is_read = {name for name in public if re.search(rf"\b{name}\b", read)}
    require_same(
        is_read, public, "the scales that measures read: declare a measure of it in rageval/measures/"
    )


@pytest.mark.parametrize("reader", list(_all()), ids=lambda reader: reader.tool)
def test_a_reader_of_logs_has_a_log(reader: Any) -> None:
    logs = ROOT / "tests" / "golden" / "logs"
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "logs").glob("*.py")]
    is_named = any(f'"{reader.tool}"' in text or f"/{reader.tool}" in text for text in tests)
    has_log = is_named or any(logs.glob(f"*{reader.tool}*"))
    assert has_log, f"{reader.tool}: add a log of the five questions as tests/golden/logs/{reader.tool}/"


NUMBERS = ("nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen")
NUMBERS += ("seventeen", "eighteen", "nineteen", "twenty")
CALLED = {
    "otel": "opentelemetry",
    "tau-bench": "τ-bench",
    "every-eval-ever": "every eval ever",
}  # tools that are not called by their key


def test_a_reader_of_logs_is_documented() -> None:
    rows = re.findall(r"^\| (.*?) \|", (DOCS / "import.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = {tool: CALLED.get(tool, tool) for tool in TOOLS}
    described = {tool for tool, name in named.items() if any(row.lower().startswith(name) for row in rows)}
    require_same(described, TOOLS, "the table of tools in docs/import.md")
    help_text = " ".join((leaves()["import"].help or "").split()).lower()
    offered = {tool for tool, name in named.items() if name in help_text}
    require_same(offered, TOOLS, "the help of rageval/cli/import_.py")
    counted = f"[logs of {NUMBERS[len(TOOLS) - 9]} tools]"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert counted in readme, f"README.md: change the number of tools to {counted}"


def test_a_dataset_has_its_citation_and_a_test() -> None:
    sources = {
        path.name: tomllib.loads(path.read_text(encoding="utf-8"))
        for path in (ROOT / "rageval" / "datasets" / "sources").glob("*.toml")
    }
    cited = {name for name, source in sources.items() if source.get("citation", "").strip().startswith("@")}
    require_same(cited, sources, "the datasets that have a `citation`, in BibTeX (rageval/datasets/sources/)")
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "datasets").glob("test_*.py")
    )
    tested = {
        name
        for name, source in sources.items()
        if any(f'"{dataset["id"]}' in tests for dataset in source.get("datasets", []))
    }
    require_same(tested, sources, "the datasets that a test of tests/datasets/ reads a sample of")


def test_a_kind_of_subject_takes_kinds_of_files_that_are_there() -> None:
    held = {kind.holds for kind in (*LINES, *RECORDS)}
    for kind in KINDS:
        for name in kind.takes.keys() - held:
            where = "files/_records.py or files/kinds.py"
            pytest.fail(f"{kind.noun}: no kind of file holds {name!r}; add one to {where}")
        require_same(kind.takes.values(), kind.roles, f"`takes` of {kind.noun}, in subjects.py")
        for name, hook in vars(kind).items():
            if isinstance(hook, Hook):
                assert callable(hook.load()), f"{kind.noun}: {name} is not there"


def declared_in(package: str) -> Iterator[tuple[str, str, Any]]:
    """The objects that the modules of a package make: module, name, object."""
    folder = ROOT / "rageval" / package.replace(".", "/")
    for path in sorted(folder.glob("*.py")):
        module = importlib.import_module(f"rageval.{package}.{path.stem}".removesuffix(".__init__"))
        for name, value in list(vars(module).items()):
            yield path.stem, name, value


def test_every_measure_that_is_declared_is_listed() -> None:
    made = {measure.name for _, _, measure in declared_in("measures") if isinstance(measure, Measure)}
    require_same(builtin(), made, "the list of rageval/measures/__init__.py")


def test_every_reader_of_logs_that_is_declared_is_listed() -> None:
    made = {reader.tool for _, _, reader in declared_in("logs") if isinstance(reader, LogReader)}
    require_same(TOOLS, made, "_READERS of rageval/logs/readers.py")


def test_every_provider_that_is_declared_is_listed() -> None:
    rows = {name: row for name, row in vars(providers).items() if isinstance(row, providers.Provider)}
    made = {row.name for name, row in rows.items() if not name.startswith("_")}
    require_same(providers.PROVIDERS, made, "PROVIDERS of rageval/judges/models/providers.py")
