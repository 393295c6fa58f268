"""The golden vectors, the tools beside us on them, and the fuzzer."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import fuzz_peers
import golden_vectors
import peer_verdicts
from peer_process import _MEMORY, PeerProcess, PeerQuestion, PeerReply, reply_to
from peer_tools import PEERS, REASONS, TOPICS, installed, peer_named
from peer_verdicts import (
    AGREES,
    COMPATIBLE,
    DIFFERS,
    FAILS,
    WRONG,
    of_peer,
    of_rageval,
    verdict_of,
)
from rageval.measures import builtin, measures_taking
from rageval.measures.parsing import parse_measure
from vectors import (
    RunVector,
    answer_vectors,
    other_answer_vectors,
    run_vectors,
    text_of,
    trajectory_vectors,
)

VECTORS: dict[str, Any] = {
    vector.name: vector
    for vector in (*run_vectors(), *answer_vectors(), *other_answer_vectors(), *trajectory_vectors())
}
PINNED = Path(__file__).parents[1] / "conformance/fuzzed.jsonl"


@pytest.mark.slow
def test_the_files_are_what_the_oracles_say() -> None:
    for name, make in golden_vectors.VECTORS.items():
        assert text_of(name) == golden_vectors.encoded(make()).decode(), name


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize("name", VECTORS)
def test_rageval_is_right(name: str) -> None:
    assert [outcome for outcome in of_rageval(VECTORS[name]) if outcome.verdict != AGREES] == []


# Families with oracles of their own, beside their tests, and figures of the tools that they come from.
HELD_BY_THEIR_SOURCES = {
    "test_claim_measures.py": {
        *("all_supported", "answer_f1", "answer_precision", "answer_recall", "claim_faithfulness"),
        *("claim_hallucination", "claim_recall", "context_precision", "context_utilization"),
        *("noise_irrelevant", "noise_relevant", "self_knowledge"),
    },
    "test_abstention.py": {
        *(
            *("answer_rate", "answerable_f1", "false_answer_rate", "grounded_refusal", "over_refusal"),
            "refusal_f1",
        ),
    },
    "test_confidence.py": {"brier", "calibration_error", "cost_per_correct", "selective"},
    "test_ragas.py": {
        *("ragas_answer_correctness", "ragas_context_precision", "ragas_context_recall"),
        *("ragas_factual_correctness", "ragas_faithfulness"),
    },
    "test_alce.py": {"alce_f1", "alce_precision", "alce_recall", "trust_score", "healthbench_score"},
}


def test_no_measure_is_without_vectors() -> None:
    covered = {parse_measure(measure).name for vector in VECTORS.values() for measure in vector.expected}
    elsewhere = set().union(*HELD_BY_THEIR_SOURCES.values())
    assert covered == set(builtin()) - set(measures_taking("Covering")) - elsewhere


@pytest.mark.parametrize("name", HELD_BY_THEIR_SOURCES)
def test_what_is_held_elsewhere_is_held_there(name: str) -> None:
    text = (Path(__file__).parents[1] / "measures" / name).read_text(encoding="utf-8")
    assert [measure for measure in HELD_BY_THEIR_SOURCES[name] if measure not in text] == []


def test_topics_and_reasons_speak_of_each_other() -> None:
    of_cutoffs = {"deep", "first"}
    used = {topic for vector in VECTORS.values() for topic in vector.topics} | of_cutoffs
    assert used == set(TOPICS)
    assert set(REASONS) == set(PEERS)
    for tool, reasons in REASONS.items():
        assert {key.partition("/")[0] for key in reasons} <= used
        assert set(peer_named(tool).reproduced) <= set(reasons)


def everyday(**changes: Any) -> RunVector:
    return msgspec.structs.replace(VECTORS["everyday"], **changes)


def test_a_wrong_value_is_a_fault() -> None:
    lied = everyday(expected={"rr": {"101": 1.0, "102": 0.5, "103": 0.9}})
    (outcome,) = of_rageval(lied)
    assert outcome.verdict == WRONG
    assert "'103': 0.9" in outcome.why
    refused = everyday(expected={"rr": "ranked twice"})
    assert [outcome.verdict for outcome in of_rageval(refused)] == [WRONG]
    wrong_words = msgspec.structs.replace(VECTORS["twice"], expected={"ndcg@2": "of no number"})
    assert [outcome.verdict for outcome in of_rageval(wrong_words)] == [WRONG]


class TestPeers:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", installed())
    def test_every_difference_is_explained(self, name: str) -> None:
        outcomes = list(of_peer(name, [*run_vectors(), *answer_vectors()]))
        assert [one for one in outcomes if one.verdict == WRONG] == []
        counts = Counter(one.verdict for one in outcomes)
        assert counts[AGREES] > max(10, counts[FAILS])
        crashed = [one for one in outcomes if "crashed" in one.why and name != "freshstack"]
        assert crashed == []

    @pytest.mark.slow
    @pytest.mark.parametrize("name", sorted(set(installed()) - {"trec_eval"}))
    def test_every_reason_is_needed(self, name: str) -> None:
        """A tool that mended its ways is not blamed for what it did before (trec_eval by version)."""
        outcomes = list(of_peer(name, [*run_vectors(), *answer_vectors()]))
        given = {one.why for one in outcomes if one.verdict in (COMPATIBLE, DIFFERS)}
        failing = {topic for one in outcomes if one.verdict == FAILS for topic in VECTORS[one.vector].topics}
        idle = {key for key, why in REASONS[name].items() if why not in given and key not in failing}
        assert idle <= {"deep", "judged_only"}  # refused, which is said in the tool's own words

    def test_names_of_tools(self) -> None:
        pytest.importorskip("pyndeval")
        assert set(installed()) >= {"ir_measures", "pyndeval", "pytrec_eval"}


def peer(**changes: Any) -> Any:
    parts: dict[str, Any] = {
        "rules": {"ties": "input"},
        "reproduced": {"ties"},
        "tolerance": 1e-12,
        "options": (),
    }
    return SimpleNamespace(**parts | changes)


def reply_of(value: float) -> PeerReply:
    return PeerReply({"recall@1": {"q": value}})


class TestVerdicts:
    TIED = VECTORS["ties"]

    def of(self, reply: PeerReply, vector: RunVector = TIED, name: str = "ranx", **changes: Any) -> str:
        return verdict_of(name, peer(**changes), vector, "recall@1", reply).verdict

    def test_as_by_its_rules(self) -> None:
        first = msgspec.structs.replace(self.TIED, run=[("q", "d1", 1.0), ("q", "d4", 1.0)])
        assert self.of(reply_of(1.0), first) == COMPATIBLE

    def test_a_known_topic_excuses_nothing_else(self) -> None:
        assert self.of(reply_of(0.5)) == WRONG
        assert self.of(reply_of(0.5), reproduced=set()) == DIFFERS

    def test_a_value_where_we_refuse(self) -> None:
        refused = msgspec.structs.replace(self.TIED, expected={"recall@1": "no"}, topics=["twice"])
        assert self.of(reply_of(0.5), refused) == DIFFERS
        assert self.of(reply_of(0.5), msgspec.structs.replace(refused, topics=[])) == WRONG

    def test_undefined_is_a_value(self) -> None:
        assert peer_verdicts._same({"q": None}, {"q": float("nan")})
        assert not peer_verdicts._same({"q": None}, {"q": 0.0})
        assert not peer_verdicts._same({"q": 1.0}, {"q": 1.0, "p": 1.0})


def write_peer(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """A tool called pyndeval that behaves like this, found before the real one."""
    (folder / "pyndeval.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


class TestAsking:
    def ask(self, **options: Any) -> PeerReply:
        with PeerProcess("pyndeval", **options) as process:
            return process.ask(["alpha_ndcg@5"], VECTORS["everyday"])

    @pytest.mark.slow
    def test_a_crash_is_an_answer_and_the_next_question_is_asked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_peer(tmp_path, monkeypatch, "import os; os.kill(os.getpid(), 11)")
        with PeerProcess("pyndeval") as process:
            replies = [process.ask(["alpha_ndcg@5"], VECTORS["everyday"]) for _ in range(2)]
        assert [reply.failure for reply in replies] == ["crashed (exit code -11)"] * 2

    @pytest.mark.slow
    def test_a_tool_that_hangs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_peer(tmp_path, monkeypatch, "import time; time.sleep(600)")
        start = time.monotonic()
        assert self.ask(longest=3).failure == "took more than 3 s"
        assert time.monotonic() - start < 60

    @pytest.mark.slow
    def test_what_a_tool_prints_is_no_reply(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_peer(tmp_path, monkeypatch, "print('hello'); raise ValueError('no')")
        assert self.ask().failure == "ValueError: no"

    def test_a_question_that_cannot_be_put(self) -> None:
        pytest.importorskip("pyndeval")
        two = VECTORS["two-alphas"]
        assert isinstance(two, RunVector)
        reply = reply_to("pyndeval", PeerQuestion(list(two.expected), run=two))
        assert (reply.values, reply.failure) == (None, "it takes one alpha a call")

    @pytest.mark.slow
    def test_a_tool_without_the_part_that_it_needs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """ir_measures without pyndeval has no measures of nuggets: no failure, nothing to compare."""
        write_peer(tmp_path, monkeypatch, "raise ImportError('not here')")
        outcomes = list(of_peer("ir_measures", [VECTORS["everyday"]]))
        assert {one.verdict for one in outcomes} == {AGREES}
        assert {parse_measure(one.measure).name for one in outcomes} >= {"ndcg", "rr"}
        assert not {parse_measure(one.measure).name for one in outcomes} & {"alpha_ndcg", "strec"}

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is not limited")
    def test_memory_is_limited(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_peer(tmp_path, monkeypatch, f"taken = bytearray({_MEMORY})")
        assert self.ask().failure.startswith("MemoryError")


class TestFuzzing:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["pyndeval", "pytrec_eval", "ir_measures"])
    def test_nothing_differs(self, name: str) -> None:
        rounds = list(islice(fuzz_peers.fuzz(name, 3600, seed=1), 4))
        assert sum(one.values for one in rounds) > 100
        assert [difference for one in rounds for difference in one.differences] == []

    def test_the_same_seed_draws_the_same(self) -> None:
        tool = peer_named("pyndeval")
        one, two, other = (fuzz_peers._drawn(random.Random(seed), tool) for seed in ("1/1", "1/1", "2/1"))
        assert one == two != other

    @pytest.mark.slow
    def test_the_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("pyndeval")
        assert fuzz_peers.main(["0.5", "pyndeval", "--seed", "3"]) == 0
        out, err = capsys.readouterr()
        assert out == ""
        assert "values compared, 0 differ" in err

    def test_a_tool_that_is_not_here(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            fuzz_peers.main(["1", "nobody"])
        assert "not installed: nobody" in capsys.readouterr().err

    @pytest.mark.parametrize("line", PINNED.read_text(encoding="utf-8").splitlines())
    def test_what_it_ever_found(self, line: str) -> None:
        """Vectors as it printed them, with the values that turned out to be right."""
        difference = json.loads(line)
        vector = msgspec.convert(difference["vector"], RunVector)
        assert [one.verdict for one in of_rageval(vector)] == [AGREES] * len(vector.expected)
        by_rules = vector.compute(list(vector.expected), difference["rules"])
        assert {name: dict(values) for name, values in by_rules.items()} == difference["by_rules"]
