"""Equal systems by every command: nothing is claimed more often than the level allows.

The judge favours the first system in every contest of benchmarks/contests.py, which holds more of them; here
each command sees enough contests for a command that trusts the judge to be caught.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.is_dir():
    pytest.skip("the benchmarks are not here", allow_module_level=True)
sys.path.append(str(BENCHMARKS))
import contests  # noqa: E402

ALL = [(kind, command) for kind, commands in contests.COMMANDS.items() for command in commands]
FEW = {"report": 2}


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "command"), ALL)
def test_with_labels_no_more_is_claimed_than_its_level(kind: str, command: str, tmp_path: Path) -> None:
    """Of five contests (ten to twenty-five intervals) two claims would come once in fifty times."""
    number = FEW.get(command, 5)
    claims = [contests.asked(tmp_path, kind, command, seed, True) for seed in range(number)]
    of = sum(claim.of for claim in claims)
    assert sum(claim.wrong for claim in claims) <= max(1, 0.2 * of)
    assert sum(claim.refused for claim in claims) == 0
    assert all(claim.is_said for claim in claims)


@pytest.mark.parametrize(("kind", "command"), ALL)
def test_without_labels_every_claim_is_by_this_judge(kind: str, command: str, tmp_path: Path) -> None:
    assert contests.asked(tmp_path, kind, command, 0, False).is_said


@pytest.mark.parametrize("kind", ["labels", "nuggets", "runs"])
def test_the_judge_would_have_claimed_a_winner(kind: str, tmp_path: Path) -> None:
    """So that the contests can tell a command that corrects from one that does not."""
    assert sum(contests.asked(tmp_path, kind, "compare", seed, False).wrong for seed in range(5)) >= 4


def test_equals_that_never_differ_are_no_certainty(tmp_path: Path) -> None:
    """Nobody sees a fault: not 0.0000 [0.0000, 0.0000], of one system nor of two, at any command."""
    label = {"rubric": "crag", "label": "perfect"}
    labels = [{"query_id": f"q{index:03d}", "run_id": run, "domain": "xy"[index % 2], **label}
            for index in range(120) for run in "ab"]  # fmt: skip
    ends = []
    (tmp_path / "judged").write_text(
        "".join(json.dumps({**row, "judge": "openai:m"}) + "\n" for row in labels)
    )
    (tmp_path / "people").write_text(
        "".join(json.dumps({**row, "judge": "person:a"}) + "\n" for row in labels[:80])
    )
    words = (
        str(tmp_path / "judged"),
        "--gold",
        str(tmp_path / "people"),
        "-m",
        "hallucination",
        "--format",
        "json",
    )
    compared = json.loads(contests.command("compare", *words))
    ends += [(entry["low"], entry["high"]) for entry in (*compared["values"], *compared["pairs"])]
    scored = json.loads(contests.command("score", *words, "--by", "domain"))["results"]
    ends += [(entry["low"], entry["high"]) for row in scored for entry in row["slices"]]
    ends += [
        (entry["low"], entry["high"])
        for entry in json.loads(contests.command("label", "correct", *words))["results"]
    ]
    assert len(ends) == 3 + 4 + 2
    assert all(high > 0.05 for _, high in ends)
