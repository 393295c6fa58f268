"""Two logs of a tool are one command from a verdict, by what the tool itself says of the answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import rageval
from commands import run_command
from rageval.logs.rows import PERSON
from test_readers import FILES, LOGS, read


def _aspects(name: str) -> set[str]:
    judgements = read(name).judgements
    return {judgement["aspect"] for judgement in judgements if not judgement["judge"].startswith(PERSON)}


# Logs of tools that judge no answers; told here, as to read them all takes long and needs packages.
UNJUDGED = {
    *(
        "autorag/nodes.parquet",
        "browsecomp-plus/runs.jsonl",
        "deepeval/dataset.json",
        "deepeval/dataset.jsonl",
    ),
    *(
        "ikat/topics.json",
        "langfuse/observations.json",
        "langsmith/runs.jsonl",
        "messages/trajectories.jsonl",
    ),
    *("mt-rag/responses.jsonl", "open-rag-eval/results.csv", "ragas/dataset.jsonl"),
}
JUDGED = [name for name in FILES if not name.startswith(("spoilt", "otel")) and name not in UNJUDGED]


@pytest.mark.slow
def test_the_others_judge_no_answers() -> None:
    pytest.importorskip("pyarrow")
    assert {name for name in UNJUDGED if _aspects(name)} == set()


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", JUDGED)
def test_two_logs_have_a_verdict_at_once(name: str, tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    assert _aspects(name)
    paths = [tmp_path / f"{version}{Path(name).suffix}" for version in ("v1", "v2")]
    for path in paths:
        shutil.copy(LOGS / name, path)
    result = run_command("compare", *paths, "--format", "json")
    assert result.exit_code == 0, result.output
    comparison = json.loads(result.stdout)
    named = {measure.removeprefix("grade(aspect=").removesuffix(")") for measure in comparison["measures"]}
    assert named <= _aspects(name) or named == {"crag_score"}
    # They say the same; what a log lacks of some answers keeps even that from being claimed.
    assert {pair["ruling"] for pair in comparison["pairs"]} <= {"identical", "refused"}
    assert "--judge judges the answers again" in result.stderr
    assert rageval.compare(paths).as_dict() == comparison
    gated = run_command("gate", paths[1], "--baseline", paths[0], "--margin", "0.1")
    assert gated.exit_code in (0, 3), gated.output
    assert gated.exit_code == 3 or gated.stdout.startswith("ship: v2 against v1")
