"""Retriever or generator: six shares that add to 1, what-ifs, and bounds that hold every completion."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.comparison import diagnose
from rageval.errors import InputError, MissingJudgements, UsageError

Rows = list[dict[str, Any]]
Qrels = dict[str, dict[str, dict[str, int]]]
Run = dict[str, dict[str, float]]
LABELS = ("not_support", "support")


def judgement(query: str, nugget: str, label: str | None, **more: object) -> dict[str, Any]:
    row = {"query_id": query, "run_id": "ours", "aspect": nugget, "rubric": "nugget-assignment", **more}
    return {**row, "label": label} if label is not None else {**row, "status": "error"}


def ranked(*docs: str) -> dict[str, float]:
    return {doc: float(-index) for index, doc in enumerate(docs)}


# Each nugget of `q` is of another kind: (in the answer, what supports it).
BY_HAND = {
    "used": ("support", {"top": 1}),
    "lost_by_generator": ("not_support", {"top": 2, "below": 1}),
    "from_memory": ("support", {"below": 1}),
    "cut": ("partial_support", {"below": 1, "far": 1}),
    "missed": ("not_support", {"far": 1}),
    "gap": ("not_support", {"far": 0}),
}


def by_hand() -> tuple[Rows, Run, Qrels]:
    judged = [judgement("q", kind, label) for kind, (label, _) in BY_HAND.items()]
    docs = ("top", "below", "far")
    qrels = {"q": {kind: {doc: of.get(doc, 0) for doc in docs} for kind, (_, of) in BY_HAND.items()}}
    return judged, {"q": ranked("top", "below")}, qrels


def drawn(
    rng: random.Random, queries: int, unjudged: float = 0.0, failed: float = 0.0
) -> tuple[Rows, Run, Qrels]:
    docs = [f"d{index}" for index in range(5)]
    judged: Rows = []
    run: Run = {}
    qrels: Qrels = {}
    says_importance = rng.random() < 0.5
    for query in map(str, range(queries)):
        run[query] = ranked(*rng.sample(docs, rng.randint(0, 5)))
        seen = [doc for doc in docs if rng.random() >= unjudged] or docs[:1]
        for nugget in map(str, range(rng.randint(1, 4))):
            label = None if rng.random() < failed else rng.choice([*LABELS, "partial_support"])
            more = {"importance": rng.choice(["vital", "okay"])} if says_importance else {}
            judged.append(judgement(query, nugget, label, **more))
            qrels.setdefault(query, {})[nugget] = {doc: int(rng.random() < 0.3) for doc in seen}
    return judged, run, qrels


@pytest.mark.slow
def test_shares_add_to_1_and_recall_is_what_the_measure_says() -> None:
    rng = random.Random(1)
    for _ in range(1000):
        judged, run, qrels = drawn(rng, rng.randint(1, 4), unjudged=0.2)
        losses = diagnose(judged, run, qrels, depth=rng.randint(1, 5), resamples=2)
        assert abs(math.fsum(share.value for share in losses.shares.values()) - 1) <= 1e-12
        c = losses.in_passages
        u = losses.shares["used"].value / c if c else 0.0
        r = losses.shares["from_memory"].value / (1 - c) if c < 1 else 0.0
        assert abs(losses.recall - (c * u + (1 - c) * r)) <= 1e-12
        importance = "weighted" if "importance" in judged[0] else "all"
        name = f"nugget_recall(importance={importance})"
        measured = rageval.evaluate_answers(name, judged)["ours"].scores[0].value
        assert abs(losses.recall - measured) <= 1e-12
        for share in losses.shares.values():
            assert share.least - 1e-12 <= share.value <= share.most + 1e-12


def completions(judged: Rows, run: Run, qrels: Qrels) -> Any:
    """Every way to judge what failed, and the unjudged documents that were retrieved."""
    lost = [index for index, row in enumerate(judged) if "label" not in row]
    holes = [
        (query, nugget, doc)
        for query, nuggets in qrels.items()
        for doc in run[query]
        if not any(doc in docs for docs in nuggets.values())
        for nugget in nuggets
    ]
    if len(lost) + len(holes) > 9:
        return None
    return (
        (
            [relabeled(row, labels.get(index)) for index, row in enumerate(judged)],
            {q: {n: {**ds, **more.get((q, n), {})} for n, ds in ns.items()} for q, ns in qrels.items()},
        )
        for choice in product((0, 1), repeat=len(lost) + len(holes))
        for labels in [dict(zip(lost, choice, strict=False))]
        for more in [grouped(zip(holes, choice[len(lost) :], strict=True))]
    )


def relabeled(row: dict[str, Any], choice: int | None) -> dict[str, Any]:
    if choice is None:
        return row
    return {key: value for key, value in row.items() if key != "status"} | {"label": LABELS[choice]}


def grouped(pairs: Any) -> dict[tuple[str, str], dict[str, int]]:
    groups: dict[tuple[str, str], dict[str, int]] = {}
    for (query, nugget, doc), grade in pairs:
        groups.setdefault((query, nugget), {})[doc] = grade
    return groups


@pytest.mark.slow
def test_bounds_hold_every_completion_and_are_reached() -> None:
    rng, tried = random.Random(2), 0
    while tried < 12:
        judged, run, qrels = drawn(rng, 2, unjudged=0.3, failed=0.2)
        every = completions(judged, run, qrels)
        if every is None:
            continue
        losses = diagnose(judged, run, qrels, depth=2, on_missing="worst", resamples=2)
        others = [diagnose(*case[:1], run, *case[1:], depth=2, resamples=2) for case in every]
        tried += len(others) > 1
        for kind, share in losses.shares.items():
            values = [other.shares[kind].value for other in others]
            assert share.least == pytest.approx(min(values), abs=1e-12)
            assert share.most == pytest.approx(max(values), abs=1e-12)


def test_a_failed_judgement_is_missing_and_never_a_grade() -> None:
    judged, run, qrels = by_hand()
    judged[0] = judgement("q", "used", None)
    with pytest.raises(
        MissingJudgements, match=r"1 judgements of nuggets in answers are missing \(1 error\)"
    ):
        diagnose(judged, run, qrels, depth=1)
    shares = {
        way: diagnose(judged, run, qrels, depth=1, on_missing=way).shares for way in ("skip", "worst", "best")
    }
    assert [shares[way]["used"].value for way in shares] == [0.0, 0.0, 1 / 6]
    assert [shares[way]["lost_by_generator"].value for way in shares] == [1 / 5, 2 / 6, 1 / 6]
    for share in shares.values():
        assert (share["used"].least, share["used"].most) == (0.0, 1 / 6)
    del judged[0]  # one that is not there at all is as one that failed
    with pytest.raises(MissingJudgements, match="1 absent"):
        diagnose(judged, run, qrels, depth=1)


def many() -> tuple[Rows, Run, Qrels]:
    """Return 25 questions: of 40 nuggets in the passages 30 are used, of 60 others 6 are in answers."""
    judged, qrels = [], {}
    for number in range(100):
        query, nugget = str(number % 25), str(number)
        there = number < 40
        has = number < 30 if there else number >= 94
        judged.append(judgement(query, nugget, LABELS[has]))
        qrels.setdefault(query, {})[nugget] = {"a": int(there), "b": 1}
    return judged, {str(query): ranked("a") for query in range(25)}, qrels


def test_what_a_perfect_part_would_add() -> None:
    losses = diagnose(*many(), depth=1)
    assert Counter(losses.counts) == Counter(used=30, lost_by_generator=10, from_memory=6, missed=54)
    retriever, generator = losses.what_if["retriever"], losses.what_if["generator"]
    assert retriever is not None
    assert generator is not None
    assert retriever.value == pytest.approx(0.6 * (0.75 - 0.1))
    assert generator.value == pytest.approx(0.4 * (1 - 0.75))
    for gain in (retriever, generator):
        assert 0 < gain.low < gain.value < gain.high
    assert losses.what_if == diagnose(*many(), depth=1).what_if
    wider = diagnose(*many(), depth=1, level=0.999).what_if["generator"]
    assert wider is not None
    assert wider.high > generator.high
    judged, run, qrels = many()
    few = diagnose(
        [row for row in judged if int(row["aspect"]) >= 21],
        run,
        {query: {n: docs for n, docs in nuggets.items() if int(n) >= 21} for query, nuggets in qrels.items()},
    )
    assert few.counts["used"] + few.counts["lost_by_generator"] == 19
    assert few.what_if == {"retriever": None, "generator": None}


def test_of_one_question_there_is_no_interval() -> None:
    judged = [judgement("q", str(index), LABELS[index % 2]) for index in range(20)]
    losses = diagnose(judged, {"q": ranked("a")}, {"q": {str(index): {"a": 1} for index in range(20)}})
    assert losses.as_dict()["what_if"]["generator"] == {"value": 0.5, "low": None, "high": None}
    assert losses.what_if["retriever"] is None


def test_refusals_are_parted_by_the_evidence_in_the_passages() -> None:
    judged, run, qrels = many()
    rng = random.Random(4)
    for query in range(25):
        label = rng.choice(["missing", "perfect", "incorrect"])
        judged.append({"query_id": str(query), "run_id": "ours", "label": label, "rubric": "crag"})
        judged[-1]["answerable"] = query % 5 > 0
    run |= {str(query): ranked("x") for query in range(0, 25, 2)}
    abstention = diagnose(judged, run, qrels, depth=1).abstention
    rows = [row for row in judged if row["rubric"] == "crag" and row["answerable"]]
    refused = {int(row["query_id"]) for row in rows if row["label"] == "missing"}
    assert abstention["refused_with_evidence"] == pytest.approx(sum(query % 2 for query in refused) / 20)
    both = abstention["refused_with_evidence"] + abstention["refused_without_evidence"]
    assert both == pytest.approx(abstention["over_refusal"])
    measured = rageval.evaluate_answers("answer_rate, grounded_refusal, false_answer_rate", judged)["ours"]
    for score in measured.scores:
        assert abstention[score.measure.name] == score.value


def test_what_cannot_be_diagnosed_is_refused() -> None:
    judged, run, qrels = by_hand()
    with pytest.raises(InputError, match="no nugget in common"):
        diagnose(judged, run, {"q": {"0": {"top": 1}}})
    with pytest.raises(InputError, match="no question in common"):
        diagnose(judged, run, {"Q": qrels["q"]})
    with pytest.raises(UsageError, match="several systems were judged: ours, theirs; choose one: --system"):
        diagnose([*judged, {**judged[0], "run_id": "theirs"}], run, qrels)
    with pytest.raises(UsageError, match="2 judges said"):
        diagnose([*judged, {**judged[0], "judge": "other"}], run, qrels)
    with pytest.raises(InputError, match="no judgement says which nuggets"):
        diagnose([{"query_id": "q", "run_id": "ours", "label": "perfect", "rubric": "crag"}], run, qrels)
    with pytest.raises(UsageError, match="depth=0"):
        diagnose(judged, run, qrels, depth=0)


def command(folder: Path, *more: str) -> Result:
    judged, run, qrels = many()
    lines = [f"{q} Q0 {d} 1 {s!r} r" for q, docs in run.items() for d, s in docs.items()]
    (folder / "run").write_text("\n".join(lines))
    rows = [f"{q} {n} {d} {g}" for q, ns in qrels.items() for n, ds in ns.items() for d, g in ds.items()]
    (folder / "qrels").write_text("\n".join(rows))
    (folder / "judged").write_text("\n".join(map(json.dumps, judged)))
    bank = {q: [{"text": f"fact {n} <b>", "nugget_id": n} for n in ns] for q, ns in qrels.items()}
    lines = [json.dumps({"qid": q, "query": "", "nuggets": nuggets}) for q, nuggets in bank.items()]
    (folder / "nuggets").write_text("\n".join(lines))
    about = [{"query_id": q, "question": "?", "kind": "even" if int(q) % 2 == 0 else "odd"} for q in qrels]
    (folder / "questions").write_text("\n".join(map(json.dumps, about)))
    given = ("--run", str(folder / "run"), "--qrels", str(folder / "qrels"), *more)
    return CliRunner().invoke(main, ["diagnose", str(folder / "judged"), *given])


def test_the_command_prints_the_same(tmp_path: Path) -> None:
    options = (
        "--nuggets",
        str(tmp_path / "nuggets"),
        "--questions",
        str(tmp_path / "questions"),
        "--by",
        "kind",
    )
    result = command(tmp_path, "--depth", "1", "--format", "json", *options)
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    losses = diagnose(*many(), depth=1, seed=20130)
    for name in ("shares", "counts", "what_if", "in_answers", "signature", "questions"):
        assert printed[name] == json.loads(json.dumps(losses.as_dict()))[name]
    assert printed["by"]["kind"]["even"]["questions"] == 13
    texts = {lost["text"] for loss in printed["worst"] for lost in loss["lost"]}
    assert len(printed["worst"]) == 10
    assert all(text.startswith("fact ") for text in texts)
    table = command(tmp_path, "--depth", "1", *options, "--format", "table").stdout
    assert "the retriever" in table
    assert "0.3900" in table
    assert "generator: fact 30 <b>; missed: fact 55 <b>; missed: fact 80 <b>" in table
    assert "| lost by generator | 0.1000" in command(tmp_path, "--format", "md").stdout
    (tmp_path / "spans").write_text('{"query_id": "0", "nugget_id": "0"}')
    files = (tmp_path / "judged", "--run", tmp_path / "run", "--qrels", tmp_path / "spans")
    result = CliRunner().invoke(main, ["diagnose", *map(str, files)])
    assert (result.exit_code, "add --chunks FILE and --sources DIR" in result.stderr) == (2, True)


class TestRightAnswers:
    """Without judgements of documents the right answer is the one nugget of its question."""

    # label of the answer, the passages that it was made from, what became of the right answer
    CASES = (
        ("perfect", ("It is <b>Oslo</b>.", "Bergen."), "used"),
        ("acceptable", ("Oslo", "x"), "used"),
        ("incorrect", ("x", "In OSLO."), "lost_by_generator"),
        ("missing", ("x", "Oslo is it."), "lost_by_generator"),
        ("accurate", ("Oslofjord.", "x"), "from_memory"),
        ("incorrect", ("Oslofjord.",), "gap"),
        ("incorrect", (), "gap"),
    )

    def files(self, gold: str = "Oslo") -> dict[str, Any]:
        rows = [
            {"query_id": f"q{index}", "run_id": "ours", "label": label, "rubric": "crag", "judge": "contains"}
            for index, (label, _, _) in enumerate(self.CASES)
        ]
        passages = {
            f"d{index}-{number}": text
            for index, (_, texts, _) in enumerate(self.CASES)
            for number, text in enumerate(texts)
        }
        run = {
            f"q{index}": ranked(*(doc for doc in passages if doc.startswith(f"d{index}-")))
            for index, (_, texts, _) in enumerate(self.CASES)
            if texts
        }
        questions = [
            {"query_id": f"q{index}", "question": "Where?", "answer": gold}
            for index in range(len(self.CASES))
        ]
        texts = [{"id": doc, "text": text} for doc, text in passages.items()]
        return {"judgements": rows, "run": run, "questions": questions, "passages": texts}

    def test_a_passage_without_a_text_is_unknown_and_a_failed_judgement_is_missing(self) -> None:
        given = self.files()
        given["passages"] = [passage for passage in given["passages"] if passage["id"] != "d5-0"]
        given["judgements"][5] |= {"label": "perfect"}
        losses = diagnose(**given)
        assert losses.shares["used"].most > losses.shares["used"].value
        assert any("1 of the passages of 1 question is unjudged" in str(remark) for remark in losses.remarks)
        given["judgements"][0] = {**given["judgements"][0], "status": "error"}
        del given["judgements"][0]["label"]
        with pytest.raises(MissingJudgements):
            diagnose(**given)

    def test_right_answers_that_words_do_not_show_are_left_out(self) -> None:
        with pytest.raises(InputError, match="none of its questions has a right answer"):
            diagnose(**self.files(gold="Yes."))
        given = self.files()
        given["questions"][1]["answer"] = "no"
        assert any(
            "1 of 7 questions have no right answer" in str(remark) for remark in diagnose(**given).remarks
        )

    def test_what_is_lacking_is_said(self, tmp_path: Path) -> None:
        given = self.files()
        with pytest.raises(UsageError, match=r"--questions\).*--passages\)"):
            diagnose(given["judgements"], given["run"], questions=given["questions"])
        nuggets = [judgement("q0", "n", "support")]
        with pytest.raises(UsageError, match=r"diagnose without --qrels: .* holds no judgements of CRAG"):
            diagnose(nuggets, given["run"], questions=given["questions"], passages=given["passages"])
        run = tmp_path / "run"
        run.write_text("q0 Q0 d0-0 1 1.0 t\n", encoding="utf-8")
        judged = tmp_path / "judged.jsonl"
        judged.write_text("\n".join(map(json.dumps, given["judgements"])), encoding="utf-8")
        for option in ("--nuggets", "--sources"):
            words = ["diagnose", str(judged), "--run", str(run), option, str(tmp_path)]
            result = CliRunner().invoke(main, words)
            assert (result.exit_code, option in result.stderr) == (2, True), result.output


def test_a_run_with_another_tag_than_the_answers_is_said(tmp_path: Path) -> None:
    judged, run, qrels = by_hand()
    for tag in ("ours", "theirs"):
        file = tmp_path / f"{tag}.trec"
        lines = [f"q Q0 {doc} {index} {9 - index} {tag}\n" for index, doc in enumerate(run["q"])]
        file.write_text("".join(lines), encoding="utf-8")
        remarks = diagnose(judged, file, qrels, depth=1).remarks
        mismatches = [remark for remark in map(str, remarks) if "tagged" in remark]
        assert mismatches == [
            "the run is tagged 'theirs', but the answers are from 'ours': check that ours used this run"
        ] * (tag == "theirs")
    # In memory a run says nothing.
    assert not any("tagged" in remark for remark in map(str, diagnose(judged, run, qrels, depth=1).remarks))
