"""A measure, a model and a rubric of a package of somebody else's, installed as such packages are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "mine"
version = "1.0"

[project.entry-points]
"rageval.measures" = { half-found = "mine:half_found" }
"rageval.models" = { Mine = "mine:model" }
"rageval.rubrics" = { tone = "mine:TONE", politeness = "mine:POLITENESS" }

[tool.setuptools]
packages = ["mine"]

[tool.setuptools.package-data]
mine = ["tone.toml"]
"""
MODULE = '''\
"""Ours to rageval's test, theirs to rageval."""

from dataclasses import replace
from pathlib import Path

import rageval
from rageval.judges.rubric import rubric_named
from rageval.testing import ScriptedModel


@rageval.measure
def half_found(ranking, *, k=None, share: float = 0.5):
    """1 if at least this share of the nuggets is found."""
    return rageval.coverage.values([ranking])[0] >= share


def model(name, **options):
    return ScriptedModel(['{"label": "rude", "evidence": "", "reason": ""}'], f"mine:{name}", str(options))


TONE = Path(__file__).with_name("tone.toml")
POLITENESS = replace(rubric_named("crag"), name="politeness")
'''
RUBRIC = """\
unit = "answer"
kind = "label"
sees = ["answer"]

[labels]
polite = 1.0
rude = 0.0

[prompt]
system = "You judge the tone of an answer."
ask = "Which label?"
"""
Run = Callable[[str], str]
pytest.importorskip("setuptools")
pytest.importorskip("pip")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs code where the package is installed, and gives what it prints."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    write_package(source / "mine")
    (source / "pyproject.toml").write_text(PROJECT)
    install(source, target)
    here = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(target), here))}

    def run_code(code: str) -> str:
        command = [sys.executable, "-W", "error", "-c", code]
        process = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=target)
        assert process.returncode == 0, process.stderr
        return process.stdout.strip()

    return run_code


def write_package(folder: Path) -> None:
    folder.mkdir()
    (folder / "__init__.py").write_text(MODULE)
    (folder / "tone.toml").write_text(RUBRIC)


def install(source: Path, target: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, *options, str(source)], check=True, capture_output=True)


def test_a_measure_is_found_by_its_name(run: Run) -> None:
    printed = run(
        "import rageval\n"
        "run, qrels = {'q': {'a': 1.0}}, {'q': {'n': {'a': 1}, 'm': {'b': 1}, 'l': {'b': 1}}}\n"
        "for name in ('half_found', 'half-found(share=0.3)'):\n"
        "    scores = rageval.evaluate(name, run, qrels)\n"
        "    print(rageval.parse_measure(name), *(score.value for score in scores.values()))"
    )
    assert printed.splitlines() == ["half_found 0.0", "half_found(share=0.3) 1.0"]


def test_a_model_is_found_by_its_provider(run: Run) -> None:
    printed = run(
        "from rageval.judges.models import model_named\n"
        "model = model_named('mine:x@http://h', timeout=3)\n"
        "print(type(model).__name__, model.name, model.endpoint)"
    )
    assert printed == "ScriptedModel mine:x@http://h {'timeout': 3}"


def test_a_rubric_is_found_as_a_file_and_as_an_object(run: Run) -> None:
    printed = run(
        "from rageval.judges.rubric import rubric_named\n"
        "for name in ('tone', 'politeness'):\n"
        "    rubric = rubric_named(name)\n"
        "    print(rubric.name, *rubric.scale.names)"
    )
    assert printed.splitlines() == ["tone polite rude", "politeness perfect acceptable missing incorrect"]


def test_the_model_judges_by_the_rubric(run: Run) -> None:
    printed = run(
        "import asyncio\n"
        "from rageval.judges.models import model_named\n"
        "from rageval.judges.rubric import rubric_named\n"
        "rubric = rubric_named('tone')\n"
        "reply = asyncio.run(model_named('mine:x').ask(rubric.request({'answer': 'Go away.'})))\n"
        "print(rubric.read(reply.text)[0][0].grade)"
    )
    assert printed == "0.0"


def test_names_that_nearly_agree_are_suggested(run: Run) -> None:
    printed = run(
        "from rageval.errors import RagevalError\n"
        "from rageval.judges.models import model_named\n"
        "from rageval.judges.rubric import rubric_named\n"
        "import rageval\n"
        "asked = (model_named, 'mime:x'), (rubric_named, 'tome'), (rageval.parse_measure, 'half_fond')\n"
        "for ask, name in asked:\n"
        "    try: ask(name)\n"
        "    except RagevalError as error: print(error)"
    )
    for hint, line in zip(("mine", "tone", "half-found"), printed.splitlines(), strict=True):
        assert hint in line.partition("did you mean")[2]


def test_nothing_of_theirs_is_loaded_unasked(run: Run) -> None:
    printed = run(
        "import sys, rageval\n"
        "from rageval.judges.models import model_named\n"
        "from rageval.judges.rubric import rubric_named\n"
        "rubric_named('crag'); rageval.parse_measure('ndcg@10')\n"
        "print('mine' in sys.modules)"
    )
    assert printed == "False"


def test_rubrics_are_listed_and_printed_as_files(run: Run) -> None:
    listed = run("from rageval.cli import main\nmain(['rubrics'])")
    assert [line.split(maxsplit=1) for line in listed.splitlines()[-2:]] == [
        ["politeness", "from another package"],
        ["tone", "from another package"],
    ]
    assert run("from rageval.cli import main\nmain(['rubrics', 'tone'])") == RUBRIC.strip()
    printed_again = run(
        "import contextlib, io, mine\n"
        "from pathlib import Path\n"
        "from rageval.cli import main\n"
        "from rageval.judges.rubric import rubric_named\n"
        "with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):\n"
        "    main(['rubrics', 'politeness'])\n"
        "Path('printed.toml').write_text(printed.getvalue())\n"
        "print(rubric_named('printed.toml').file == mine.POLITENESS.file)"
    )
    assert printed_again == "True"
