"""An error of input is a value with parts: where, what was found, what was expected, what to do.

Every place in the package that makes one passes the parts; every reader that refuses a damaged file names the
file, and says what belongs there or what to do.
"""

from __future__ import annotations

import ast
import copy
import pickle
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import rageval.datasets.catalogue
import rageval.files.judgements
import rageval.files.kinds
import rageval.files.opening
import rageval.files.scores  # noqa: F401
from fuzz_readers import PIECES, READERS, SIZE, mutated
from rageval import logs
from rageval.errors import InputError, NothingJudged, Place, RagevalError
from rageval.judges.verdicts import Invalid
from snippets import ROOT
from sources import nodes


def kinds_of(kind: type[InputError]) -> Iterator[type[InputError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds_of(below)


# `Unfit` is raised where only a record is known, and carries an error of input.
KINDS = {kind.__name__ for kind in kinds_of(InputError)} | {"Unfit"}
PARTS = {"problem", "at", "expected", "found", "cause", "remedy"}
OWN = {"UnknownDataset"}  # takes the name of a dataset, and passes parts itself


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    for path in sorted((ROOT / "rageval").rglob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in KINDS - OWN:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", name, node


def sentence(node: ast.expr) -> str:
    """The text of an expression, with `{}` for each value in it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return sentence(node.left) + sentence(node.right)
    return "{}"


def problems_of(call: ast.Call, name: str) -> Iterator[str]:
    """What is baked into a sentence that is a part by itself."""
    parts = {str(keyword.arg): sentence(keyword.value) for keyword in call.keywords}
    if call.args:
        parts["problem"] = sentence(call.args[0])
    if len(call.args) > 1 or not parts.keys() <= PARTS:
        yield f"takes {sorted(parts)}"
    if name != "Unfit" and re.match(r"\{\}(:\{\}|:\d+)?: ", parts.get("problem", "")):
        yield "its place is in the problem"
    if re.search(r"(^|[,;:] )expected ", parts.get("problem", "")):
        yield "what was expected is in the problem"
    if re.search(r"[,;:] found ", parts.get("expected", "")):
        yield "what was found is in what was expected"
    if any("expected " in parts.get(part, "") for part in ("expected", "found", "remedy")):
        yield "what was expected is in another part"


@pytest.mark.slow
def test_every_error_of_input_is_made_of_parts() -> None:
    wrong = [
        f"{place}: {name}: {problem}" for place, name, call in calls() for problem in problems_of(call, name)
    ]
    assert wrong == []
    assert sum(1 for _ in calls()) > 400


@pytest.mark.slow
def test_no_error_of_input_is_put_into_the_sentence_of_another() -> None:
    """`located` gives it a place; a sentence that quotes it would hide its parts."""
    wrong = []
    for path in sorted((ROOT / "rageval").rglob("*.py")):
        for node in nodes(path):
            if not isinstance(node, ast.ExceptHandler) or not isinstance(node.type, ast.Name):
                continue
            if node.type.id in KINDS and node.name:
                for call in (call for call in ast.walk(node) if isinstance(call, ast.Call)):
                    if getattr(call.func, "id", "") in KINDS and any(
                        isinstance(part, ast.Name) and part.id == node.name
                        for argument in (*call.args, *(keyword.value for keyword in call.keywords))
                        for part in _whole_values(argument)
                    ):
                        wrong.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    assert wrong == []


def _whole_values(node: ast.expr) -> Iterator[ast.expr]:
    """The values that a text is made of."""
    if isinstance(node, ast.JoinedStr):
        yield from (part.value for part in node.values if isinstance(part, ast.FormattedValue))
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "str":
        yield from node.args
    else:
        yield node


READERS_OF_FILES = sorted(READERS.keys() - {"replies", "servers"})  # those read no files
# What is wrong with these may lie in no line: two files that do not fit, a column that nobody can tell.
WITHOUT_LINES = {"chunks", "leaderboards", "rubrics", "spans"}


def require_parts(error: InputError, name: str, has_lines: bool) -> None:
    assert pickle.loads(pickle.dumps(error)).problems[0].__dict__ == error.problems[0].__dict__
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "\n".join(map(str, error.problems))
    for problem in error.problems:
        for other in (pickle.loads(pickle.dumps(problem)), copy.copy(problem)):
            assert (type(other), str(other), other.__dict__) == (
                type(problem),
                str(problem),
                problem.__dict__,
            )
        if problem.found.startswith("… and "):  # the others are counted
            continue
        assert problem.at is not None, problem
        assert problem.at.name == name, problem
        assert not has_lines or problem.at.line, problem
        assert problem.expected or problem.remedy, problem
        assert str(problem).startswith(f"{problem.at}: "), problem
        assert problem.reason in str(problem)
        assert all(part in problem.reason for part in (problem.found, problem.expected, problem.remedy))


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS_OF_FILES)
def test_a_damaged_file_is_refused_with_parts(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    refused = 0
    for content in mutated(reader, 40, seed=7):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                READERS[reader](content[:SIZE])
        except InputError as error:
            refused += 1
            name = "fuzzed" if reader != "rubrics" else error.problems[0].at.name  # type: ignore[union-attr]
            assert reader != "rubrics" or name.endswith("own.toml")
            require_parts(error, name, reader not in WITHOUT_LINES)
        except (RagevalError, Invalid):
            continue
    assert refused


LOGS = sorted(path for path in (ROOT / "tests/golden/logs").rglob("*.*") if path.suffix != ".md")


@pytest.mark.slow
@pytest.mark.parametrize("path", LOGS, ids=lambda path: "-".join(path.parts[-2:]))
def test_a_damaged_log_is_refused_with_parts(path: Path, tmp_path: Path) -> None:
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
    rng, whole = random.Random(str(path.name)), path.read_bytes()
    spoilt = tmp_path / f"spoilt{path.suffix}"
    for _ in range(12):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            begin = rng.randint(0, len(content))
            content[begin : begin + rng.choice((0, 2, 40, 400))] = rng.choice(PIECES)
        spoilt.write_bytes(content)
        try:
            logs.read(str(spoilt))
        except InputError as error:
            require_parts(error, str(spoilt), has_lines=False)
        except RagevalError:
            continue


def test_a_zip_whose_directory_points_before_the_file_is_refused(tmp_path: Path) -> None:
    content = (ROOT / "tests/golden/logs/inspect/log.eval").read_bytes()
    directory = content.rindex(b"PK\5\6")
    begin = int.from_bytes(content[directory + 16 : directory + 20], "little")
    path = tmp_path / "log.eval"
    later = (begin + len(content)).to_bytes(4, "little")
    path.write_bytes(content[: directory + 16] + later + content[directory + 20 :])
    with pytest.raises(InputError) as caught:
        logs.read(str(path))
    require_parts(caught.value, str(path), has_lines=False)


def test_the_text_is_made_of_the_parts() -> None:
    place = Place("run.trec", 7)
    for parts, text in (
        (
            {"expected": "6 columns", "found": "5", "remedy": "add the tag"},
            "expected 6 columns, found 5; add the tag",
        ),
        ({"problem": "is empty", "expected": "6 columns"}, "is empty; expected 6 columns"),
        ({"expected": "a rubric", "cause": "invalid key"}, "expected a rubric; invalid key"),
        ({"problem": "are these one collection?", "remedy": "look"}, "are these one collection? look"),
        ({"found": "5"}, "found 5"),
        ({"problem": "is empty"}, "is empty"),
    ):
        error = InputError(at=place, **parts)
        assert (str(error), error.reason, error.at) == (f"run.trec:7: {text}", text, place)
        assert error.found == parts.get("problem", parts.get("found", parts.get("cause", "")))
        assert str(InputError(**parts)) == text
        assert error.problems == (error,)


def test_several_problems_are_one_error() -> None:
    problems = [InputError("is odd", at=Place("a", 1), remedy="go"), InputError("is odder", at=Place("b", 2))]
    for kind in (InputError, NothingJudged):
        error = pickle.loads(pickle.dumps(kind.joined(problems)))
        assert (type(error), str(error), error.at) == (kind, "a:1: is odd; go\nb:2: is odder", Place("a", 1))
        assert [(str(problem), problem.at, problem.remedy) for problem in error.problems] == [
            (str(problem), problem.at, problem.remedy) for problem in problems
        ]
        assert (error.found, error.remedy) == ("is odd", "go")
        moved = error.located(Place("zip"))
        assert str(moved) == "zip: a:1: is odd; go\nzip: b:2: is odder"
    assert InputError.joined(problems[:1]) is problems[0]


def test_a_place_is_put_inside_of_another() -> None:
    error = InputError("is no text", at=Place("log.json", inside="output"))
    assert str(error.located(Place("a.zip"))) == "a.zip: log.json: output: is no text"
    assert error.reason == "output: is no text"
    assert str(error.shifted(Place("b", 3))) == "b:3: is no text"
    assert str(error.shifted(None)) == "is no text"
    assert str(error) == "log.json: output: is no text", "the error itself stays as it was"
