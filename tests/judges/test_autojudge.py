"""A rubric as a judge of TREC's Auto-Judge kit, of whose objects these are the parts that it uses."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import rageval
from rageval.autojudge import RubricJudge

TEXTS = {"ours": "Green chlorophyll breaks down in autumn.", "theirs": "Trees are tall."}
NUGGETS = {"chlorophyll breaks down": "vital", "carotenoids become visible": "okay"}


@dataclass
class Model:
    """What is dumped as the kit's models are."""

    def model_dump(self, mode: str, exclude_none: bool) -> dict[str, Any]:
        assert (mode, exclude_none) == ("json", True)
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass
class Report(Model):
    """An answer, whose sentences stand under two names; ids, too."""

    metadata: dict[str, Any]
    responses: list[dict[str, Any]]
    answer: list[dict[str, Any]] | None = None
    references: list[str] = field(default_factory=list)
    is_ragtime: bool = True

    def __post_init__(self) -> None:
        self.answer = self.responses


@dataclass
class Request(Model):
    """A topic."""

    request_id: str
    title: str
    background: str | None = None
    topic_id: str | None = None

    def __post_init__(self) -> None:
        self.topic_id = self.request_id


@dataclass
class Bank(Model):
    """Claims about one topic, in the kit's form."""

    query_id: str
    title_query: str
    claim_bank: dict[str, Any]


@dataclass
class Banks:
    """Banks by topic."""

    banks: dict[str, Bank]


@dataclass
class Config:
    """A configuration."""

    model: str = "small"
    base_url: str | None = None


@dataclass(frozen=True)
class Spec:
    """A measure's, or a leaderboard's."""

    name: Any
    all_topic_id: str = ""


@dataclass(frozen=True)
class Entry:
    """A row."""

    run_id: str
    topic_id: str
    values: dict[str, float]


@dataclass(frozen=True)
class Board:
    """A leaderboard."""

    measures: tuple[str, ...]
    spec: Spec
    entries: tuple[Entry, ...]
    all_topic_id: str


@pytest.fixture(autouse=True)
def kit(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("autojudge_base")
    module.Leaderboard, module.LeaderboardEntry = Board, Entry
    module.LeaderboardSpec = module.MeasureSpec = Spec
    module.NuggetBanks = Banks
    monkeypatch.setitem(sys.modules, "autojudge_base", module)


def reports() -> list[Report]:
    return [
        Report(
            {"team_id": "t", "run_id": run, "topic_id": topic, "narrative_id": topic},
            [{"text": text if topic == "1" else "Nothing.", "citations": ["d1"]}],
            references=["d1"],
        )
        for run, text in TEXTS.items()
        for topic in ("1", "2", "9")  # nobody asked the last
    ]


def banks() -> Banks:
    claims = {
        str(number): {"claim": claim, "query_id": "", "claim_id": str(number), "importance": importance}
        for number, (claim, importance) in enumerate(NUGGETS.items())
    }
    return Banks(
        {
            topic: Bank(topic, "Why?", {key: claim | {"query_id": topic} for key, claim in claims.items()})
            for topic in ("1", "2")
        }
    )


TOPICS = [Request("1", "Why do leaves fall?", "In autumn."), Request("2", "Why are they green?")]


def judged(**settings: Any) -> Board:
    defaults = {"rubric": "nugget-assignment", "judges": "lexical", "quiet": True}
    board: Board = RubricJudge().judge(
        reports(), TOPICS, Config(), banks(), outdir=".", filebase="x", **defaults | settings
    )
    return board


def test_the_leaderboard_has_what_rageval_computes(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    board = judged(measures="lexical_recall,length", store=store)
    assert board.measures == ("lexical_recall", "length")
    assert (board.all_topic_id, board.spec.all_topic_id) == ("all", "all")
    values = {(entry.run_id, entry.topic_id): entry.values for entry in board.entries}
    assert values.keys() == {(run, topic) for run in TEXTS for topic in ("1", "2", "all")}
    plain = [
        {"query_id": topic, "run_id": run, "answer": text if topic == "1" else "Nothing."}
        for run, text in TEXTS.items()
        for topic in ("1", "2")
    ]
    nuggets = [
        {"query": "?", "qid": topic,
         "nuggets": [{"text": text, "importance": importance} for text, importance in NUGGETS.items()]}
        for topic in ("1", "2")
    ]  # fmt: skip
    questions = [{"query_id": "1", "question": "?"}, {"query_id": "2", "question": "?"}]
    result = rageval.judge(
        "nugget-assignment", plain, "lexical", "lexical_recall,length", questions=questions, nuggets=nuggets,
        store=store, quiet=True,
    )  # fmt: skip
    for run, scores in result.scores.items():
        for score in scores.values():
            name = str(score.measure)
            assert values[run, "all"][name] == score.value
            assert {topic: values[run, topic][name] for topic in ("1", "2")} == dict(score.by_query)
    assert values["ours", "1"]["lexical_recall"] > values["theirs", "1"]["lexical_recall"]


def test_what_is_undefined_has_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"query_id": topic, "run_id": "ours", "aspect": "0", "label": "support", "importance": importance}
        for topic, importance in (("1", "vital"), ("2", "okay"))
    ]
    scores = rageval.evaluate_answers("v_strict,a_strict", rows)
    monkeypatch.setattr("rageval.autojudge.judge_answers", lambda *_, **__: SimpleNamespace(scores=scores))
    vital, every = map(str, scores["ours"])
    assert {entry.topic_id: entry.values for entry in judged().entries} == {
        "1": {vital: 1.0, every: 1.0}, "2": {every: 1.0}, "all": {vital: 1.0, every: 1.0},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("address", "asked"),
    [(None, "openai:small"), ("http://127.0.0.1:9/v1", "openai:small@http://127.0.0.1:9/v1")],
)
def test_the_kits_model_is_asked(monkeypatch: pytest.MonkeyPatch, address: str | None, asked: str) -> None:
    asks: list[Any] = []

    def judge(rubric: str, answers: Any, judges: Any, measures: Any, **options: Any) -> Any:
        asks.append((judges, measures, options.keys()))
        raise KeyError

    monkeypatch.setattr("rageval.autojudge.judge_answers", judge)
    with pytest.raises(KeyError):
        RubricJudge().judge(
            reports(), TOPICS, Config(base_url=address), rubric="nugget-assignment", store="s"
        )
    assert asks == [(asked, "nugget_recall", {"questions", "nuggets", "store"})]


def test_a_wrong_setting_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(rageval.errors.UsageError, match="unknown option 'max_csot'; did you mean max_cost"):
        judged(max_csot=1)
    with pytest.raises(rageval.errors.UsageError, match="no measure scores the rubric 'pairwise' by itself"):
        judged(rubric="pairwise")
    assert RubricJudge().nugget_banks_type is Banks
    monkeypatch.setitem(sys.modules, "autojudge_base", None)
    with pytest.raises(rageval.errors.MissingPackage, match="pip install 'autojudge-base'"):
        judged()
