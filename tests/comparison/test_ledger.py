"""A ledger of claims: what was compared on the same questions counts, over commands, kills and merges."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from rageval.cli import main
from rageval.comparison.ledger import Made, counted
from rageval.errors import InputError
from rageval.files.ledger import Claim, ClaimLedger, add_to_ledger, read_ledger
from rageval.statistics.significance import holm
from snippets import ROOT


def claim(system: int, p: float = 0.5, questions: str = "q", **more: Any) -> Claim:
    return Claim(
        questions=questions, number=200, systems=("base", f"s{system}"), measure="m", test="t", p=p, **more
    )


def now(ledger: Path, *claims: Claim) -> Any:
    """What a command says of claims that it made just now, once they stand in the ledger."""
    made = [Made(each, "a", "b", each.p) for each in claims]
    found = counted(read_ledger(ledger), made)
    assert found is not None
    add_to_ledger(ledger, found.new)
    return found


def test_thirty_commands_two_at_once_a_kill_and_a_merge(tmp_path: Path) -> None:
    ledger, branch = tmp_path / "claims.jsonl", tmp_path / "branch.jsonl"
    rng = random.Random(3)
    p = [rng.random() for _ in range(30)]
    for at in range(10):
        assert now(ledger, claim(at, p[at])).comparisons == at + 1
    branch.write_bytes(ledger.read_bytes())
    for at in range(10, 20):
        now(ledger, claim(at, p[at]))
    # A kill in the middle of a line: that line is lost, and the next command counts on.
    ledger.write_bytes(ledger.read_bytes()[:-40])
    assert now(ledger, claim(20, p[20])).comparisons == 20
    assert read_ledger(ledger).unreadable == 1
    # Two at once have read the same, and both add to it.
    made = [[Made(claim(at, p[at]), "a", "b", p[at])] for at in (21, 21, 22)]
    before = read_ledger(ledger)
    for each in made:
        found = counted(before, each)
        assert found is not None
        assert found.comparisons == 21
        add_to_ledger(ledger, found.new)
    assert now(ledger, claim(23, p[23])).comparisons == 23
    # The branch has its own, and some of the same; what is merged is all lines, with marks of a conflict.
    for at in (19, *range(23, 30)):
        now(branch, claim(at, p[at]))
    lines = [*ledger.read_text().splitlines(), "<<<<<<< HEAD", *branch.read_text().splitlines(), "======="]
    rng.shuffle(lines)
    ledger.write_text("\n".join(["", lines[0], *lines]))
    last = now(ledger, claim(5, p[5]))
    assert last.comparisons == 30
    assert not last.new
    # What is said is Holm's p over all of them.
    whole = holm(np.array(p))
    assert last.adjusted == [pytest.approx(max(whole[5], p[5]))]


def test_of_the_same_comparison_the_larger_p_counts(tmp_path: Path) -> None:
    ledger = tmp_path / "claims.jsonl"
    now(ledger, claim(1, 0.2))
    other_seed = now(ledger, claim(1, 0.01))
    assert (other_seed.comparisons, other_seed.adjusted, list(other_seed.new)) == (1, [0.2], [])
    turned = replace(claim(1, 0.2), systems=("s1", "base"))
    assert now(ledger, turned).comparisons == 1
    assert now(ledger, claim(1, questions="others")).comparisons == 1


HOSTILE = {
    "another file": (b"q1 Q0 d1 1 0.5 x\n", "holds no claims"),
    "a number": (b"17\n", "holds no claims"),
    "deep": (b"[" * 100_000, "holds no claims"),
    "no UTF-8": (b"\xff\xfe\n", "holds no claims"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_ledger_is_not_added_to(name: str, tmp_path: Path) -> None:
    content, why = HOSTILE[name]
    ledger = tmp_path / "x"
    ledger.write_bytes(content)
    with pytest.raises(InputError, match=why):
        read_ledger(ledger)


def test_hostile_lines_are_only_data(tmp_path: Path) -> None:
    ledger = tmp_path / "x"
    now(ledger, claim(1))
    good = json.loads(ledger.read_text())
    odd: list[dict[str, Any]] = [
        {"p": -1},
        {"p": 1e999},
        {"p": "0"},
        {"number": 0},
        {"systems": ["a"]},
        {"measure": "m" * 2000},
        {"questions": ["q"]},
    ]
    rows = [good, *(good | each for each in odd), good | {"unknown": {"x": 1}}]
    ledger.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_ledger(ledger)
    assert (len(found.claims), found.unreadable) == (2, len(odd))
    # The first line that a kill tore is no other file.
    ledger.write_text('{"claim":1,"da')
    assert read_ledger(ledger) == ClaimLedger([], 1)


def test_nothing_tested_is_no_claim() -> None:
    assert counted(ClaimLedger(), []) is None


@pytest.fixture(name="files")
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    for run in "abc":
        rows = (f"q{q} Q0 d{d} 1 {rng.random()} {run}\n" for q in range(20) for d in range(5))
        Path(f"{run}.run").write_text("".join(rows))
    Path("qrels").write_text("".join(f"q{q} 0 d{q % 5} 1\n" for q in range(20)))
    return tmp_path


def done(*words: str) -> Result:
    return CliRunner().invoke(main, words, prog_name="rageval")


QUICK = ("qrels", "-m", "rr", "--draws", "100", "--resamples", "100")


@pytest.mark.slow
def test_commands_share_a_ledger_and_nothing_else_depends_on_it(files: Path) -> None:
    ledger = ("--ledger", "claims.jsonl")
    plain, noted = (done("compare", "a.run", "b.run", *QUICK, *more) for more in ((), ledger))
    assert (plain.stdout, plain.exit_code) == (noted.stdout, noted.exit_code)
    assert "comparison 1 on these 20 questions; adjusted over them p = " in noted.stderr
    again = done("compare", "a.run", "b.run", *QUICK, *ledger)
    assert "counted before, as one of 1 comparisons" in again.stderr
    three = done(
        "compare", "a.run", "b.run", "c.run", *QUICK, *ledger, "--baseline", "a.run", "--format", "json"
    )
    told = json.loads(three.stdout)["claims"]
    assert (told["comparisons"], told["new"], told["questions"], len(told["pairs"])) == (2, 1, 20, 2)
    page = done("report", "b.run", "c.run", *QUICK, *ledger, "-o", "page.html")
    assert "comparison 3 on these 20 questions" in page.stderr
    assert page.exit_code == 0
    base = ("gate", "a.run", "qrels", "-m", "rr")
    assert done(*base, "--save-baseline", "base").exit_code == 0
    held = ("gate", "b.run", "qrels", "-m", "rr", "--baseline", "base", "--margin", ".1")
    plain, noted = (done(*held, *more) for more in ((), (*ledger, "--json", "gate.json")))
    assert (plain.stdout, plain.exit_code) == (noted.stdout, noted.exit_code)
    assert json.loads(Path("gate.json").read_text())["claims"]["comparisons"] == 4
    assert len(read_ledger("claims.jsonl").claims) == 4
    # The same values under other names are the same comparison.
    Path("x.run").write_bytes(Path("a.run").read_bytes())
    assert "counted before" in done("compare", "x.run", "b.run", *QUICK, *ledger).stderr


def test_a_file_that_is_no_ledger_is_refused_before_anything_is_scored(files: Path) -> None:
    before = Path("c.run").read_bytes()
    refused = done("compare", "a.run", "b.run", *QUICK, "--ledger", "c.run")
    assert refused.exit_code == 2
    assert "holds no claims" in refused.stderr
    assert Path("c.run").read_bytes() == before
    assert done("compare", "a.run", "b.run", *QUICK, "--ledger", "a.run").exit_code == 2  # is read from


@pytest.mark.slow
def test_processes_at_once_lose_no_line(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom rageval.files.ledger import Claim, add_to_ledger\n"
        "for at in range(50): add_to_ledger(sys.argv[1], [Claim(questions='q', number=2,"
        " systems=('a', sys.argv[2] + str(at)), measure='m', test='t', p=0.5)])"
    )
    ledger = tmp_path / "claims.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", code, str(ledger), name]) for name in ("one", "other")]
    assert [writer.wait() for writer in writers] == [0, 0]
    found = read_ledger(ledger)
    assert len({each.what for each in found.claims}) == 100
    assert not found.unreadable


@pytest.mark.nightly
def test_the_best_of_thirty_equal_variants_is_seldom_better_once_it_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    significance = importlib.import_module("significance")
    rows = list(significance.ledgers(60))
    assert max(float(row[2]) for row in rows) > 0.15  # alone
    assert max(float(row[3]) for row in rows) <= 0.08
