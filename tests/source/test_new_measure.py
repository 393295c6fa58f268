"""One new measure is one function, and its row in the tables of tests: tried with RBP on a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from snippets import ROOT

pytestmark = pytest.mark.slow

RBP = '''

@measure(sees="relevant", peers={"ir_measures": "RBP"})
def rbp(ranking: Ranking, *, k: int | None = None, p: Alpha = 0.8, rel: Grade = 1) -> float:
    """Rank-biased precision: what a reader finds who goes on with chance p (Moffat and Zobel, TOIS 2008).

    Formula:
        rbp@k = (1 − p) · Σ_{relevant d_i, i≤k} p^(i−1)

    Range: 0 to 1.

    Parameters:
        p: the patience of the reader

    >>> import rageval
    >>> rageval.evaluate("rbp(p=0.5)", {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 1}})["rbp(p=0.5)"].value
    0.25
    """
    return (1 - p) * math.fsum(p ** (hit.rank - 1) for hit in ranking.hits(k, rel))
'''
ORACLE = """
def rbp_(q: Query, k: int | None) -> float:
    return sum(0.2 * 0.8**at for at, doc in enumerate(q.top(k)) if doc in q.relevant)


rbp_.__name__ = "rbp"
"""
# File, what stands there, what is put before it.
STEPS = [
    ("rageval/measures/_ranks.py", "Grade, measure\n", "Alpha, "),
    ("rageval/measures/__init__.py", "rr: _Ranks", "rbp: _Ranks\n"),
    ("tests/oracle.py", "NOVELTY = (", ORACLE.lstrip() + "\n\n"),
    ("tests/oracle.py", "ap, rr, p,", "rbp_, "),
    ("tests/measures/test_direction.py", '"recall",', '"rbp", '),
    ("tests/measures/test_direction.py", '"rel": (1, 2)}', '"p": (0.5, 0.9), '),
]
HOLDING = [
    *(
        *("tests/measures/test_laws.py", "tests/measures/test_oracle.py"),
        *("tests/measures/test_ties_and_bounds.py", "tests/testing/test_check_measure.py"),
        *("tests/docs/test_docstrings.py", "tests/docs/test_formulas.py"),
    ),
    *(
        "tests/measures/test_direction.py",
        "tests/source/test_public_names.py",
        "tests/measures/test_options.py",
    ),
]


@pytest.fixture(name="copy", scope="module")
def _copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("rageval", "tests", "examples", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)
    for name, place, put in STEPS:
        text = (folder / name).read_text(encoding="utf-8")
        assert place in text, f"{name}: {place!r} stands nowhere; mend this test and CONTRIBUTING"
        (folder / name).write_text(text.replace(place, put + place, 1), encoding="utf-8")
    with (folder / "rageval" / "measures" / "_ranks.py").open("a", encoding="utf-8") as file:
        file.write(RBP)
    return folder


def done_there(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.nightly
def test_all_that_is_asked_of_a_measure_is_asked_of_it(copy: Path) -> None:
    words = (
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "rbp or knows_every or stands_in_one or page or says_what_it_means or as_the_oracle_has_it",
        "-m",
        "",  # each case of it
    )
    done = done_there(copy, *words, *HOLDING)
    assert done.returncode == 0, done.stdout[-3000:]
    passed = int(done.stdout.split(" passed")[0].split()[-1])
    assert passed > 120


def test_its_row_is_missed_where_it_is_lacking(copy: Path) -> None:
    """Without its slow twin, or the way in which it is good, the suite fails."""
    for name, test in (("oracle", "test_oracle"), ("measures/test_direction", "test_direction")):
        path = copy / "tests" / f"{name}.py"
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole.replace("rbp_, ", "").replace('"rbp", ', ""), encoding="utf-8")
        chosen = ("-k", "knows_every or stands_in_one")
        done = done_there(
            copy,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "",
            *chosen,
            f"tests/measures/{test}.py",
        )
        path.write_text(whole, encoding="utf-8")
        assert done.returncode == 1, done.stdout[-2000:]


def test_it_can_be_asked_for_and_says_what_it_is(copy: Path) -> None:
    done = done_there(copy, "-m", "rageval", "measures", "rbp")
    assert done.stdout.startswith("rbp(p=0.8, rel=1)@k\n\nRank-biased precision")
    run = ("examples/data/run.trec", "examples/data/qrels.nugget", "-m", "rbp@10", "--ties", "expected")
    assert done_there(copy, "-m", "rageval", *run).stdout.startswith("rbp@10")
