"""Models that need no network: what they say by formula, and where they have no answer."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rageval.errors import InputError, MissingJudgements, UsageError
from rageval.judges.base import OK, REFUSED, Fatal, Reply, Request, Transient
from rageval.judges.models import model_named
from rageval.judges.offline import FrozenJudgements, _lexical_evidence, _stem
from rageval.testing import ScriptedModel

REQUEST = Request("Judge.", "The Eiffel tower.", {"type": "object"})
Write = Callable[..., FrozenJudgements]


# Frozen judgements.


@pytest.fixture
def frozen(tmp_path: Path) -> Write:
    def write(*records: Any, **options: Any) -> FrozenJudgements:
        path = tmp_path / "judged.jsonl"
        lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return FrozenJudgements(path, **options)

    return write


def judged(**fields: Any) -> dict[str, Any]:
    """A judgement of one nugget."""
    usual = {"query_id": "q", "run_id": "mine", "aspect": "n1", "rubric": "crag", "label": "support"}
    return {**usual, **fields}


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (("Q", "mine", "answer", "n1", "crag"), "the query_id 'Q' is not there"),
        (("q", "yours", "answer", "n1", "crag"), "the run_id 'yours' is not there"),
        (("q", "mine", "s1", "n1", "crag"), "the item_id 's1' is not there"),
        (("q", "mine", "answer", "n2", "crag"), "the aspect 'n2' is not there"),
        (("q", "mine", "answer", "n1", "liverag"), "for the rubric 'crag' only"),
        (("q\x1b[2J", "mine", "answer", "n1", "crag"), "x1b[2J' is not there"),
    ],
)
def test_a_miss_raises_and_says_what_is_missing(frozen: Write, key: Any, reason: str) -> None:
    with pytest.raises(MissingJudgements) as caught:
        frozen(judged()).find(*key)
    assert reason in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_two_judges_need_a_name(frozen: Write) -> None:
    both = judged(judge="a"), judged(judge="b", label="none")
    with pytest.raises(InputError, match=r"judged\.jsonl:2: judged by 'a' and 'b'; name the one"):
        frozen(*both)
    assert frozen(*both, judge="b").find("q", "mine", "answer", "n1", "crag")["label"] == "none"
    with pytest.raises(InputError, match="no judgement by the judge 'c'"):
        frozen(*both, judge="c")


def test_the_same_twice_is_one_judgement(frozen: Write) -> None:
    assert len(frozen(judged(), judged(reason="Said later."))) == 1
    with pytest.raises(InputError, match=r":2: judged before, with another verdict"):
        frozen(judged(), judged(label="none"))


@pytest.mark.parametrize(
    "record",
    [
        {"run_id": "mine"},
        judged(query_id=None),
        judged(query_id=True),
        judged(aspect=["n1"]),
        judged(run_id={}),
        judged(rubric=[1]),
        "[]",
        "7",
        "{",
        "nonsense \x1b[2J",
    ],
)
def test_lines_that_are_no_judgement(frozen: Write, record: Any) -> None:
    with pytest.raises(InputError) as caught:
        frozen(judged(), record)
    assert "judged.jsonl:2" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_no_judgements_no_judge(frozen: Write, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        frozen()
    with pytest.raises(InputError):
        model_named(f"frozen:{tmp_path / 'nowhere.jsonl'}")


def test_a_file_of_judgements_cannot_be_asked(frozen: Write) -> None:
    with pytest.raises(Fatal, match="has judgements, not replies of a model"):
        asyncio.run(frozen(judged()).ask(REQUEST))


# The scripted model.


def ask_model(model: ScriptedModel, request: Request = REQUEST) -> Reply:
    return asyncio.run(model.ask(request))


def test_a_list_is_said_in_its_order_and_no_further() -> None:
    model = ScriptedModel(["one", Reply(REFUSED, detail="no"), Transient("busy"), "last"])
    assert ask_model(model) == Reply(OK, "one", served="scripted")
    assert ask_model(model).status == REFUSED
    with pytest.raises(Transient, match="busy"):
        ask_model(model)
    assert ask_model(model).text == "last"
    with pytest.raises(UsageError, match="asked 5 times, expected 4 at most"):
        ask_model(model)
    assert (model.calls, model.requests) == (5, [REQUEST] * 5)


def test_a_dict_is_searched_for_what_the_request_says() -> None:
    model = ScriptedModel({"Eiffel": "tower", "Judge": "system"}, name="fake", endpoint="here")
    assert (ask_model(model).text, ask_model(model).served) == ("tower", "fake")
    assert ask_model(model, Request("Judge.", "", {})).text == "system"
    with pytest.raises(UsageError, match="no reply to 'Big Ben'"):
        ask_model(model, Request("", "Big Ben", {}))


@pytest.mark.parametrize("name", ["scripted", "scripted:x", "lexical", "Lexical:x"])
def test_what_is_no_spec_of_a_model(name: str) -> None:
    with pytest.raises(UsageError, match=r"is made in Python|is not a model"):
        model_named(name)


@pytest.mark.slow
def test_no_sdk_is_loaded_before_a_model_is_asked_for() -> None:
    for sdk in ("openai", "anthropic"):
        pytest.importorskip(sdk)
    code = (
        "import sys, rageval.judges.models as models, rageval.testing\n"
        "from rageval.judges.models import _openai, _anthropic\n"
        "models.model_named('openai:m'), models.model_named('anthropic:m')\n"
        "print(*sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in result.stdout.split()}
    assert not loaded & {"openai", "anthropic", "httpx", "httpx2", "pydantic"}


# Numbers.


# Short gold answers.


# The lexical proxy.


def _lexical_support(nugget: str, text: str) -> float:
    return _lexical_evidence(nugget, text)[0]


def test_scripts_without_blanks() -> None:
    assert _lexical_support("東京", "東京は大きい。京都は古い。") == 1.0
    assert _lexical_support("大阪", "東京は小さい。") == 0.0


@pytest.mark.parametrize(
    ("words", "common"),
    [
        ("tower towers tower's", "tower"),
        ("plan plans planned planning", "plan"),
        ("class classes", "class"),
        ("gas", "gas"),
    ],
)
def test_stems(words: str, common: str) -> None:
    assert {_stem(word.removesuffix("'s")) for word in words.split()} == {common}


# Whatever the text.
