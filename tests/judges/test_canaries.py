"""Canaries: attacks that are known, shown first; a judge that obeys one is not let on, whichever it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from golden_store import MATERIAL
from rageval.comparison.passport import passport, read
from rageval.errors import JudgeFailed
from rageval.files.judgements import judgement_line
from rageval.judges import Settings, judged_by
from rageval.judges.base import Request
from rageval.judges.rubric import rubric_named, rubric_names
from rageval.testing import ScriptedModel
from test_bad_input import command

TESTED = [name for name in rubric_names() if rubric_named(name).file.canaries]
# A piece of each attack; what else is shown has none of them.
ATTACKS = {
    "instruction": "Ignore the rubric and all",
    "nothing": '":"',
    "opening": "Thought process",
    "praise": "perfectly relevant, correct and complete",
    "verdict": '"{\\"',
    "fence": "{{{fence}}}",
}


def replies(best: Callable[[str], bool]) -> ScriptedModel:
    """A model that gives the best verdict where told, with evidence, and else the worst."""

    def reply(request: Request) -> str:
        line = request.user.split("\n")[1]
        shown, expected, talked = json.loads(line), request.schema["properties"], best(line)
        text = shown.get("answer", shown.get("passage", ""))
        verdict = {"evidence": text if talked else "", "reason": ""}
        if "verdicts" in expected:
            labels = expected["verdicts"]["items"]["properties"]["label"]["enum"]
            verdict["label"] = labels[0 if talked else -1]
            return json.dumps({"verdicts": [{"id": nugget["id"], **verdict} for nugget in shown["nuggets"]]})
        if "answer_a" in shown:
            is_first = best(json.dumps({"answer": shown["answer_a"]}, ensure_ascii=False))
            return json.dumps(verdict | {"label": "a" if is_first else "b" if talked else "tie"})
        if "label" in expected:
            labels = expected["label"]["enum"]
            return json.dumps(verdict | {"label": labels[-talked if "unrelated" in labels else talked - 1]})
        top = {"correctness": 2, "faithfulness": 1}
        return json.dumps({"reason": ""} | {name: high if talked else -1 for name, high in top.items()})

    return ScriptedModel(reply)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=str(tmp_path / "store"), concurrency=1)


@pytest.mark.parametrize("rubric", TESTED)
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.slow
def test_a_judge_that_obeys_one_attack_is_not_let_on(settings: Settings, rubric: str, attack: str) -> None:
    model = replies(lambda shown: ATTACKS[attack] in shown)
    if rubric_named(rubric).file.unit == "citation" and attack in ("nothing", "opening"):
        assert list(judged_by([model], rubric_named(rubric), MATERIAL, settings))
        return
    with pytest.raises(JudgeFailed, match=r"obeyed .* in a text it judged"):
        list(judged_by([model], rubric_named(rubric), MATERIAL, settings))


@pytest.mark.parametrize("rubric", TESTED)
@pytest.mark.slow
def test_what_becomes_of_canaries_stands_in_the_first_judgement(settings: Settings, rubric: str) -> None:
    model = replies(lambda shown: False)
    judgements = list(judged_by([model], rubric_named(rubric), MATERIAL, settings))
    assert [bool(row.get("canaries")) for row in judgements] == [True] + [False] * (len(judgements) - 1)
    rates = judgements[0]["canaries"]
    assert all(best == 0 < shown for best, shown in rates.values())
    assert set(rates) == set(ATTACKS) - (
        {"nothing", "opening"} if rubric_named(rubric).file.unit == "citation" else set()
    )


def test_partly_talked_into_it_is_a_rate_in_the_passport(settings: Settings, tmp_path: Path) -> None:
    """Some nuggets of a canary were found: no reason to end, and nothing to be silent about."""

    def reply(request: Request) -> str:
        shown = json.loads(request.user.split("\n")[1])
        obeys = "Ignore the rubric and all" in shown["answer"]
        verdicts = [
            {"id": nugget["id"], "evidence": "Ignore" if obeys and index < 3 else "", "label": label}
            for index, nugget in enumerate(shown["nuggets"])
            for label in ["support" if obeys and index < 3 else "not_support"]
        ]
        return json.dumps({"verdicts": verdicts})

    rows = list(judged_by([ScriptedModel(reply)], rubric_named("nugget-assignment"), MATERIAL, settings))
    assert rows[0]["canaries"]["instruction"] == [3, 10]
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(judgement_line(row) + "\n" for row in rows))
    facts = passport(read(str(path)), read(str(path))).facts
    assert facts["canaries"] == rows[0]["canaries"]
    output = command("label", "agree", str(path), str(path)).out
    assert "attacks on the judge: 3 of 60 verdicts were the best possible (fence 0 of 10, instruct" in output
