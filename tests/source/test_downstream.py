"""A typed project of somebody's: what is right passes, each mistake is found, and no option is forgotten."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rageval import comparison, judges
from rageval import typing as public
from rageval.measures.base import About, Facts
from rageval.scoring.rules import COMPAT, rules_of
from rageval.subjects import ANSWERS, RUNS, SubjectKind
from snippets import ROOT, blocks

pytestmark = pytest.mark.slow

PROJECT = ROOT / "tests" / "downstream"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def found_by_mypy(folder: Path) -> list[tuple[str, int]]:
    words = [
        "--strict",
        "--no-error-summary",
        "--no-incremental",
        "--config-file",
        os.devnull,
        "--show-absolute-path",
        str(folder),
    ]
    done = mypy_or_other("mypy", words)
    # What is said of rageval itself depends on which packages with types are here; a user is not told it.
    lines = [line for line in done.splitlines() if line.startswith(str(folder)) and ": error:" in line]
    places = [line.split(":", 2) for line in lines]
    return [(Path(place[0]).name, int(place[1])) for place in places]


def found_by_basedpyright(folder: Path) -> list[tuple[str, int]]:
    level = {"typeCheckingMode": "standard", "include": ["."], "extraPaths": [str(ROOT)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(level))
    done = mypy_or_other("basedpyright", ["--outputjson", "-p", str(folder)])
    said = json.loads(done)["generalDiagnostics"]
    return [
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1)
        for each in said
        if each["severity"] == "error"
    ]


def mypy_or_other(checker: str, words: Sequence[str]) -> str:
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", checker, *words], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


CHECKERS = {"mypy": found_by_mypy, "basedpyright": found_by_basedpyright}


@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_accept_what_is_right_and_refuse_each_mistake(checker: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"needs {checker}")
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("right.py", "wrong.py"):
        (folder / name).write_text((PROJECT / name).read_text(encoding="utf-8"), encoding="utf-8")
    for number, block in enumerate(blocks("python", README)):
        (folder / f"readme_{number}.py").write_text(block, encoding="utf-8")
    lines = (PROJECT / "wrong.py").read_text(encoding="utf-8").splitlines()
    expected = {("wrong.py", at) for at, line in enumerate(lines, 1) if "# wrong: " in line}
    assert set(CHECKERS[checker](folder)) == expected


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (public.RunOptions, RUNS),
        (public.AnswerOptions, ANSWERS),
        (public.ComparisonOptions, comparison.Settings),
        (public.JudgeOptions, judges.Settings),
    ],
    ids=["runs", "answers", "comparisons", "judges"],
)
def test_type_checkers_know_every_option(options: Any, settings: Any) -> None:
    if isinstance(settings, SubjectKind):
        names, settings = list(settings.rules), lambda kind=settings, **given: rules_of(kind, given)
    else:
        names = [field.name for field in dataclasses.fields(settings)]
    assert sorted(options.__annotations__) == sorted(names)
    choices = {
        name: typing.get_args(typing.get_args(hint)[0] if type(None) in typing.get_args(hint) else hint)
        for name, hint in typing.get_type_hints(options).items()
        if "Literal" in str(hint)
    }
    for name, allowed in choices.items():
        required: Mapping[str, Any] = {"groups": {}} if name == "weights" else {}
        for value in allowed:
            settings(**{name: value}, **required)
        if settings is not judges.Settings:  # a vote is looked at when it is counted
            with pytest.raises(Exception, match="expected") as refused:
                settings(**{name: "nonsense"})
            assert all(str(value) in str(refused.value) for value in allowed if value != "expected")


def test_type_checkers_know_every_option_of_a_gate() -> None:
    own = public.GateOptions.__annotations__.keys() - public.RunOptions.__annotations__.keys()
    assert {*own, "margin"} == {field.name for field in dataclasses.fields(comparison.GateSettings)}


def test_type_checkers_know_every_tool_and_fact() -> None:
    hint = typing.get_type_hints(public.RunOptions)["compat"]
    assert set(typing.get_args(typing.get_args(hint)[0])) == set(COMPAT)
    assert list(Facts.__annotations__) == list(About.__annotations__)
