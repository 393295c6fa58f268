"""Judging that stops when a claim is decided: what is asked, what is said, and what befalls the job."""

from __future__ import annotations

import json
import math
import random
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rageval
from rageval.cli import main
from rageval.comparison.until import JudgedRuns, judged_until, until_of
from rageval.errors import BudgetReached, UsageError
from rageval.judges import Settings, gathered, rubric_named
from rageval.judges.base import Reply, Request
from rageval.judges.store import Store
from rageval.measures.parsing import parse_measures

QUESTIONS = 100
RATES = {"ours": 0.85, "theirs": 0.45, "third": 0.4}


class Paid:
    """A judge who is right, counts what it was paid for, and may fail on some questions."""

    name, endpoint = "paid:m", "http://provider"

    def __init__(self, fails: Sequence[str] = ()) -> None:
        self.paid: Counter[str] = Counter()
        self.fails = fails
        self._lock = threading.Lock()

    async def ask(self, request: Request) -> Reply:
        with self._lock:
            self.paid[request.user.splitlines()[1]] += 1  # without the fence, which is drawn
        if any(f'"{query}"' in request.user for query in self.fails):
            return Reply("refused")
        said = request.user.split('"answer": "')[1].split('"')[0]
        label = "perfect" if "gold" in said else "incorrect"
        return Reply("ok", json.dumps({"evidence": said, "reason": "as told", "label": label}))


@pytest.fixture(scope="module")
def material() -> Any:
    return material_of(1)


def material_of(seed: int, number: int = QUESTIONS) -> Any:
    rng = random.Random(seed)
    questions = [{"query_id": f"q{at}", "question": f"q{at}", "answer": f"gold {at}"} for at in range(number)]
    answers = [
        {"query_id": f"q{at}", "run_id": run, "answer": f"gold {run}" if rng.random() < rate else "blue"}
        for at in range(number)
        for run, rate in RATES.items()
    ]
    return answers, questions


def job(
    material: Any,
    model: Paid,
    folder: Path,
    words: str = "ours>theirs",
    claim: Any = "kind",
    looks: str | None = None,
    alpha: float = 0.05,
    **options: Any,
) -> Any:
    answers, questions = material
    for name, rows in (("a.jsonl", answers), ("q.jsonl", questions)):
        if not (folder / name).exists():
            lines(folder / name, rows)
    known = gathered([str(folder / "a.jsonl")], str(folder / "q.jsonl"))
    until = until_of(words, parse_measures("crag_score"), claim, looks, alpha)
    how = Settings(**{"store": str(folder / "s.sqlite"), "canaries": 0, **options})
    return judged_until(until, [model], rubric_named("crag"), known, how)


def lines(path: Path, rows: Sequence[Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.some(7)
@pytest.mark.parametrize(
    ("words", "claim", "looks", "said"),
    [
        ("ours>theirs", "kind", None, "ours > theirs"),
        ("theirs>ours", "kind", None, "ours > theirs"),
        ("theirs > ours", "kind", "anytime", "ours > theirs"),
        ("ours>theirs", "set", None, "ours > theirs"),
        ("ours within 0.1 of theirs", "kind", None, "ours and theirs differ by more than 0.1"),
        ("best", "kind", None, "ours is the best of 3"),
        ("best", "set", None, "ours is the best of 3"),
    ],
)
def test_it_stops_when_it_is_decided(
    material: Any, tmp_path: Path, words: str, claim: str, looks: str | None, said: str
) -> None:
    model = Paid()
    rows, ledger, before = job(material, model, tmp_path, words, claim, looks)
    assert f": {said} (" in ledger.sentence()
    assert ("these 100 questions" if claim == "set" else "questions like these") in ledger.sentence()
    assert 10 <= ledger.judged < QUESTIONS
    assert sum(model.paid.values()) <= len(rows) == ledger.calls < ledger.calls_at_most
    assert set(model.paid.values()) == {1}
    assert not before
    # again, from the store alone, it ends where it ended
    again = Paid()
    assert job(material, again, tmp_path, words, claim, looks)[:2] == (rows, ledger)
    assert not again.paid


@pytest.mark.slow
def test_all_systems_of_a_question_are_judged_together_in_an_order_that_the_seed_draws(
    material: Any, tmp_path: Path
) -> None:
    rows, ledger, _ = job(material, Paid(), tmp_path)
    queries = [row["query_id"] for row in rows]
    assert queries[::2] == queries[1::2]
    assert {row["run_id"] for row in rows} == {"ours", "theirs"}
    assert queries[::2] != sorted(queries[::2])
    answers, questions = material
    (tmp_path / "turned").mkdir()
    assert job((answers[::-1], questions[::-1]), Paid(), tmp_path / "turned")[1] == ledger


def test_attacks_on_the_judge_count_once_a_job(material: Any, tmp_path: Path) -> None:
    rows, ledger, _ = job(material, Paid(), tmp_path, claim="set", canaries=2)
    assert ledger.judged > 10
    assert sum("canaries" in row for row in rows) == 1


def test_what_does_not_differ_is_judged_to_the_end_and_not_claimed(tmp_path: Path) -> None:
    answers, questions = material_of(1, 40)
    same = [{**answer, "answer": f"gold {answer['run_id']}"} for answer in answers]
    rows, ledger, _ = job((same, questions), Paid(), tmp_path)
    assert len(rows) == 80
    assert not ledger.is_decided
    assert "ours and theirs: undecided (after 40 of 40 questions" in ledger.sentence()
    _, ledger, _ = job((same, questions), Paid(), tmp_path, claim="set")
    assert "are equal" in ledger.sentence()
    assert "certain" in ledger.sentence()


@pytest.mark.slow
def test_attacks_are_paid_for_once_a_job(material: Any, tmp_path: Path) -> None:
    model = Paid()
    rows, ledger, _ = job(material, model, tmp_path, canaries=3)
    real = [f'"answer": "{answer["answer"]}"' for answer in material[0]]
    attacks = [asked for asked in model.paid if not any(each in asked for each in real)]
    assert len(attacks) == 3
    told = [row["query_id"] for row in rows if "canaries" in row]
    assert 0 < len(told) < len(rows)
    assert ledger.judged > ledger.plan.questions // 5


@pytest.mark.slow
def test_either_may_be_named_first(material: Any, tmp_path: Path) -> None:
    _, first, _ = job(material, Paid(), tmp_path)
    _, ledger, before = job(material, Paid(), tmp_path, "theirs>ours")
    assert (ledger, before) == (first, [])


@pytest.mark.slow
def test_another_claim_on_the_same_is_another_and_both_are_said(material: Any, tmp_path: Path) -> None:
    _, first, before = job(material, Paid(), tmp_path)
    assert before == []
    for number, change in enumerate(({"claim": "set"}, {"looks": "5"}, {"alpha": 0.01}), 1):
        _, ledger, before = job(material, Paid(), tmp_path, **change)
        assert ledger.plan.key != first.plan.key
        assert len(before) == number
        assert first.sentence() in before
    for name in ("a.jsonl", "q.jsonl"):
        (tmp_path / name).unlink()
    assert job(material_of(2, 50), Paid(), tmp_path)[2] == []  # other questions


def test_the_claim_is_in_the_store_before_the_first_call(material: Any, tmp_path: Path) -> None:
    seen: list[Any] = []

    class Curious(Paid):
        async def ask(self, request: Request) -> Reply:
            if not seen:
                with (
                    Store(str(tmp_path / "s.sqlite"), read_only=True) as store,
                    store.reading() as connection,
                ):
                    seen.extend(connection.execute("SELECT ledger FROM ledgers").fetchall())
            return await super().ask(request)

    _, ledger, _ = job(material, Curious(), tmp_path)
    (found,) = [json.loads(text) for (text,) in seen]
    assert found["key"] == ledger.plan.key
    assert found["stop"] is None
    assert found["systems"] == ["ours", "theirs"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "claim"), [("ours>theirs", "kind"), ("ours>theirs", "set"), ("best", "kind")]
)
def test_failures_delay_and_never_help(material: Any, tmp_path: Path, words: str, claim: str) -> None:
    _, whole, _ = job(material, Paid(), tmp_path, words, claim, "anytime" if words != "best" else None)
    for number in (3, 12):
        failing = Paid([f"q{at}" for at in range(0, 100, 100 // number)])
        folder = tmp_path / str(number)
        folder.mkdir()
        rows, ledger, _ = job(material, failing, folder, words, claim, "anytime" if words != "best" else None)
        assert ledger.judged >= whole.judged
        lost = {row["query_id"] for row in rows if row["status"] != "ok"}
        assert ledger.valueless == len(lost)
        if lost:
            assert f"{len(lost)} without a value" in ledger.sentence()


EVENTS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([None, "1/2", "2/2", "3/3"]), st.sampled_from([1, 4, 16])),
    max_size=5,
)


@pytest.mark.nightly
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EVENTS, st.sampled_from(["ours>theirs", "best"]), st.sampled_from(["kind", "set"]))
def test_however_often_it_is_stopped_it_ends_at_the_same_question_for_the_same_calls(
    tmp_path_factory: pytest.TempPathFactory, events: Any, words: str, claim: str
) -> None:
    """Each event is a job that may make so many calls, as a share or whole, so many at a time."""
    material = material_of(3)
    reference, folder = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("parts")
    whole, model = Paid(), Paid()
    expected = job(material, whole, reference, words, claim)
    for calls, shard, concurrency in events:
        try:
            found = job(
                material, model, folder, words, claim, max_calls=calls, shard=shard, concurrency=concurrency
            )
        except BudgetReached:
            continue
        assert found[:2] == expected[:2]
    assert job(material, model, folder, words, claim)[:2] == expected[:2]
    assert model.paid == whole.paid


@pytest.mark.slow
def test_shares_of_one_store_at_the_same_time_end_alike_and_pay_once(material: Any, tmp_path: Path) -> None:
    whole, model = Paid(), Paid()
    (tmp_path / "whole").mkdir()
    expected = job(material, whole, tmp_path / "whole")
    for name in ("a.jsonl", "q.jsonl"):
        (tmp_path / "whole" / name).rename(tmp_path / name)
    with Store(str(tmp_path / "s.sqlite")):
        pass
    found: dict[str, Any] = {}

    def share(name: str) -> None:
        found[name] = job(material, model, tmp_path, shard=name)

    threads = [threading.Thread(target=share, args=(name,)) for name in ("1/2", "2/2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [each[:2] for each in found.values()] == [expected[:2]] * 2
    assert model.paid == whole.paid


@pytest.mark.parametrize(
    ("words", "more", "said"),
    [
        ("ours>nobody", {}, "no system 'nobody'"),
        ("ours>ours", {}, "two systems"),
        ("ours", {}, "expected 'A>B'"),
        ("ours within x of theirs", {}, "expected 'A>B'"),
        ("ours within 9 of theirs", {}, "within=9"),
        ("best", {"looks": "5"}, "after every question"),
        ("ours>theirs", {"claim": "set", "looks": "5"}, "after every question"),
        ("ours>theirs", {"looks": "0"}, "from 1 to 20"),
        ("ours>theirs", {"looks": "often"}, "from 1 to 20"),
        ("ours>theirs", {"alpha": 1.0}, "between 0 and 1"),
        ("ours>theirs", {"alpha": math.nan}, "between 0 and 1"),
    ],
)
def test_what_cannot_be_decided_is_refused_before_anybody_is_asked(
    material: Any, tmp_path: Path, words: str, more: Any, said: str
) -> None:
    model = Paid()
    with pytest.raises(UsageError) as error:
        job(material, model, tmp_path, words, **more)
    assert said in str(error.value)
    assert not model.paid


def test_names_may_hold_the_sign(tmp_path: Path) -> None:
    answers, questions = material_of(1)
    named = [{**a, "run_id": {"ours": "a>b", "theirs": "c"}.get(a["run_id"], "d")} for a in answers]
    _, ledger, _ = job((named, questions), Paid(), tmp_path, "a>b>c")
    assert ledger.plan.systems == ("a>b", "c")


def test_measures_of_which_nothing_is_known_are_refused() -> None:
    for measure, said in (("win_rate(over=pool)", "plain mean"), ("length", "neither high nor low")):
        with pytest.raises(UsageError, match=said):
            until_of("a>b", parse_measures(measure))
    with pytest.raises(UsageError, match="one rageval measure"):
        until_of("a>b", parse_measures("crag_score accuracy"))
    with pytest.raises(UsageError, match="no greatest value"):
        until_of("a>b", parse_measures("nugget_density"))


def test_differences_are_as_large_as_the_measure_lets_them_be() -> None:
    spans = {
        name: until_of("a>b", parse_measures(name)).span
        for name in ("crag_score", "ndcg@10", "alpha_ndcg@10")
    }
    assert spans == {"crag_score": 2.0, "ndcg@10": 1.0, "alpha_ndcg@10": pytest.approx(1 / (1 - 1 / math.e))}


def run(*words: object, code: int = 0) -> Any:
    done = CliRunner().invoke(main, list(map(str, words)), prog_name="rageval")
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def files(material: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    answers, questions = material
    lines(tmp_path / "a.jsonl", answers)
    lines(tmp_path / "q.jsonl", questions)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "s.sqlite"))
    full = [
        {**a, "label": "perfect" if "gold" in a["answer"] else "incorrect", "rubric": "crag"} for a in answers
    ]
    lines(tmp_path / "full.jsonl", [{k: v for k, v in row.items() if k != "answer"} for row in full])
    return tmp_path


COMMAND = (
    "judge",
    "crag",
    "a.jsonl",
    "--questions",
    "q.jsonl",
    "--judge",
    "frozen:full.jsonl",
    "-m",
    "crag_score",
)


def test_every_door_repeats_the_claim_and_tests_nothing_else(files: Path) -> None:
    done = run(*COMMAND, "--until", "ours>theirs", "-o", "judged.jsonl")
    claim = done.stdout.strip()
    assert claim.startswith("crag_score, on questions like these, by this judge: ours > theirs (after ")
    assert "questions judged" in done.stderr
    shown = run("compare", "judged.jsonl", "-m", "crag_score", "--format", "json")
    found = json.loads(shown.stdout)
    (pair,) = found["pairs"]
    assert pair["verdict"] == "refused"
    assert claim in pair["why"]
    assert pair["p"] is pair["low"] is pair["high"] is None
    assert claim in shown.stderr
    assert claim in run("judged.jsonl", "-m", "crag_score").stderr
    (score, _) = json.loads(run("judged.jsonl", "-m", "crag_score", "--format", "json").stdout)["results"]
    assert "|stopped:at-a-claim|" in score["signature"]
    assert claim in run("report", "judged.jsonl", "-m", "crag_score", "-o", "r.html").stderr
    assert claim.replace(">", "&gt;") in (files / "r.html").read_text()
    rows = [json.loads(line) for line in (files / "judged.jsonl").read_text().splitlines()]
    # Human labels of questions that were not judged any more make their judgements missing.
    labelled = ("compare", "judged.jsonl", "-m", "crag_score", "--gold", "full.jsonl")
    run(*labelled, code=3)
    refused = run(*labelled, "--on-missing", "skip", code=2)
    assert "stop at a claim" in refused.output
    gate = ("gate", "judged.jsonl", "--system", "ours", "-m", "crag_score", "--save-baseline", "base.jsonl")
    assert "nothing is gated" in run(*gate, code=2).output
    assert not (files / "base.jsonl").exists()
    # without the line that has the ledger it is seen, too
    lines(files / "cut.jsonl", rows[1:])
    cut = run("compare", "cut.jsonl", "-m", "crag_score", "--on-missing", "skip", "--format", "json")
    assert json.loads(cut.stdout)["pairs"][0]["verdict"] == "refused"
    # and in Python
    with pytest.warns(UserWarning, match="stop at a claim"):
        scores = rageval.evaluate_answers("crag_score", rows)
    assert rageval.compare(scores).pairs[0].verdict == "refused"


@pytest.mark.slow
def test_the_arena_repeats_the_claim_and_gives_no_interval(tmp_path: Path) -> None:
    rows = []
    for at in range(40):
        for name, label in (
            (("ours", "loss"), ("theirs", "win")) if at % 3 else (("ours", "win"), ("theirs", "loss"))
        ):
            row = {"query_id": f"q{at}", "run_id": name, "aspect": "ours | theirs", "label": label}
            rows.append({**row, "rubric": "pairwise", "claim": "k"})
    rows[0]["ledger"] = {"said": "ours > theirs, all in all"}
    plain = [{**row, "claim": None, "ledger": None} for row in rows]
    for name, found in (("stopped", rows), ("plain", plain)):
        done = run("arena", lines(tmp_path / name, found), "--format", "json")
        ends = {row["low"] for row in json.loads(done.stdout)}
        assert ("ours > theirs, all in all" in done.stderr) == (name == "stopped")
        assert (ends == {None}) == (name == "stopped"), ends


def test_lines_on_stdout_and_the_claim_beside_them(files: Path) -> None:
    done = run(*COMMAND, "--until", "best", "--quiet")
    assert all(json.loads(line)["claim"] for line in done.stdout.splitlines())
    assert "ours is the best of 3" in done.stderr
    assert "questions judged" not in done.stderr


@pytest.mark.slow
def test_a_dry_run_says_what_each_rule_would_need(files: Path) -> None:
    done = run(*COMMAND, "--until", "ours>theirs", "--dry-run")
    table = done.stdout[done.stdout.index("Simulated") :]
    assert table.split()[table.split().index("0.2") :][1:3] == ["100%", "(decides"]
    assert not (files / "s.sqlite").exists()
    for name, docs in (("one", "a b"), ("two", "b a")):
        rows = [f"{query} Q0 {doc} 1 {-at} x\n" for query in "pqr" for at, doc in enumerate(docs.split())]
        Path(name).write_text("".join(rows))
    Path("qrels").write_text("p 0 a 1\nq 0 a 1\nelse 0 a 1\n")
    lines(files / "p.jsonl", [{"id": doc, "text": doc} for doc in "ab"])
    lines(files / "pq.jsonl", [{"query_id": query, "question": query} for query in "pqr"])
    words = ("judge", "relevance", "--run", "one", "--run", "two", "--questions", "pq.jsonl", "--passages")
    more = ("p.jsonl", "--judge", "exact", "-m", "rr@2", "--until", "one>two", "--dry-run", "--pilot")
    assert "as the pilot" in run(*words, *more, "qrels").stdout
    Path("qrels").write_text("p 0 a 1\n")
    done = run(*COMMAND, "--until", "best", "--dry-run", "--pilot", "full.jsonl")
    assert "as the pilot" in done.stdout
    assert "add --until" in run(*COMMAND, "--pilot", "full.jsonl", code=2).output


@pytest.mark.parametrize("more", [("--against", "crag-auto"), ("--disagreements", "d.jsonl")])
def test_options_that_want_all_are_refused(files: Path, more: tuple[str, str]) -> None:
    several = ("--judge", "exact") if "--disagreements" in more else ()
    assert "ends early" in run(*COMMAND, *several, "--until", "best", *more, code=2).output


def test_runs_are_judged_by_question_until_it_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "s.sqlite"))
    monkeypatch.chdir(tmp_path)
    rng = random.Random(4)
    queries = [f"q{at}" for at in range(60)]
    relevant = {(query, f"d{doc}") for query in queries for doc in rng.sample(range(20), 3)}
    judged = [
        {"query_id": query, "run_id": "documents", "item_id": f"d{doc}", "rubric": "relevance",
         "label": "perfectly_relevant" if (query, f"d{doc}") in relevant else "unrelated"}
        for query in queries for doc in range(20)
    ]  # fmt: skip
    lines(tmp_path / "all.jsonl", judged)
    for name, luck in (("good.trec", 0.6), ("bad.trec", 0.1)):
        rows = []
        for query in queries:
            docs = [f"d{doc}" for doc in range(20)]
            docs.sort(key=lambda doc: -(rng.random() + ((query, doc) in relevant) * luck))
            rows += [f"{query} Q0 {doc} {at} {-at} x" for at, doc in enumerate(docs[:10], 1)]
        (tmp_path / name).write_text("\n".join(rows) + "\n")
    lines(tmp_path / "q.jsonl", [{"query_id": query, "question": query} for query in queries])
    lines(tmp_path / "p.jsonl", [{"id": f"d{doc}", "text": f"text {doc}"} for doc in range(20)])
    command = ("judge", "relevance", "--run", "good.trec", "--run", "bad.trec", "--questions", "q.jsonl")
    more = ("--passages", "p.jsonl", "--judge", "frozen:all.jsonl", "-m", "ndcg@5", "--depth", "5")
    done = run(*command, *more, "--until", "good.trec>bad.trec", "-o", "judged.jsonl")
    assert "by this judge: good.trec > bad.trec (after " in done.stdout
    assert 0 < len((tmp_path / "judged.jsonl").read_text().splitlines()) < 60 * 10


def runs_of(folder: Path, seed: int, fails: float = 0.0) -> tuple[Any, dict[str, Any]]:
    """Three runs for 60 questions, and all judgements of their documents, some of which failed."""
    rng = random.Random(seed)
    labels = ["unrelated", "related", "relevant", "perfectly_relevant"]
    truth = {(f"q{q}", f"d{d}"): rng.choice([0, 0, 0, 1, 2, 3]) for q in range(60) for d in range(14)}
    pools: dict[str, Any] = {}
    for name, luck in (("good", 0.5), ("bad", 0.05), ("third", 0.0)):
        worth = {place: rng.random() + luck * grade for place, grade in truth.items()}
        for query in (f"q{q}" for q in range(60)):
            docs = sorted((f"d{d}" for d in range(14)), key=lambda doc: -worth[query, doc])
            pools.setdefault(name, {})[query] = docs[:8]
    judged = [
        {"query_id": query, "run_id": "documents", "item_id": doc, "rubric": "relevance"}
        | ({"status": "refused"} if rng.random() < fails else {"label": labels[grade]})
        for (query, doc), grade in truth.items()
    ]
    lines(folder / "all.jsonl", judged)
    lines(folder / "q.jsonl", [{"query_id": f"q{q}", "question": f"q{q}"} for q in range(60)])
    lines(folder / "p.jsonl", [{"id": f"d{d}", "text": f"text {d}"} for d in range(14)])
    return gathered([], str(folder / "q.jsonl"), None, str(folder / "p.jsonl"), list(truth)), pools


@pytest.mark.slow
@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("measure", "saves", "fails"),
    [("p@5", 0.2, 0), ("rr@5", 0.4, 0), ("recall@5", 0, 0), ("ndcg@5", 0, 0.02), ("success@3", 0.4, 0.02)],
)
def test_documents_that_cannot_turn_a_question_are_not_judged_and_nothing_else_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measure: str, saves: float, fails: float
) -> None:
    known, pools = runs_of(tmp_path, 5, fails)
    for words, claim in (("good>bad", "kind"), ("bad>third", "set"), ("best", "kind")):
        until = until_of(words, parse_measures(measure), "set" if claim == "set" else "kind")
        found = []
        for whole in (False, True):
            with monkeypatch.context() as patch:
                if whole:
                    patch.setattr(
                        JudgedRuns, "wanted", lambda self, rows, *of: self.pooled(*of) if rows is None else {}
                    )
                where = Settings(store=str(tmp_path / f"{whole}.sqlite"), canaries=0)
                judges = [f"frozen:{tmp_path / 'all.jsonl'}"]
                found.append(
                    judged_until(until, judges, rubric_named("relevance"), known, where, pools=pools)
                )
        (rows, saved, _), (all_rows, all_judged, _) = found
        assert len({(row["query_id"], row["item_id"]) for row in rows}) == len(rows) == saved.calls
        if not fails:
            assert (saved.judged, saved.left, saved.valueless) == (all_judged.judged, all_judged.left, 0)
            if saved.stop is not None and all_judged.stop is not None:
                assert saved.stop.word == all_judged.stop.word
                assert saved.stop.evidence == pytest.approx(all_judged.stop.evidence)
            assert saved.calls <= (1 - saves) * all_judged.calls
        else:  # what failed and could not have mattered is not missed
            assert saved.valueless <= all_judged.valueless
        for row in (rows[0], all_rows[0]):
            del row["ledger"]
        assert set(map(str, rows)) <= set(map(str, all_rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "words", "claim"),
    [("rr@5", "good>bad", "kind"), ("ndcg@5", "bad>good", "set"), ("success@2", "best", "kind")],
)
def test_who_judges_batch_by_batch_ends_where_a_judge_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measure: str, words: str, claim: str
) -> None:
    monkeypatch.chdir(tmp_path)
    known, pools = runs_of(tmp_path, 7)
    for name, docs in pools.items():
        rows = [f"{q} Q0 {d} {at} {-at} x\n" for q, found in docs.items() for at, d in enumerate(found, 1)]
        Path(name).write_text("".join(rows))
    grades = {"unrelated": 0, "related": 1, "relevant": 2, "perfectly_relevant": 3}
    truth = {
        (row["query_id"], row["item_id"]): grades[row["label"]]
        for row in map(json.loads, Path("all.jsonl").read_text().splitlines())
    }
    kind: Any = claim
    depth = int(measure[-1])
    cut = {run: {query: docs[:depth] for query, docs in ranked.items()} for run, ranked in pools.items()}
    until = until_of(words, parse_measures(measure), kind)
    where = Settings(store=str(tmp_path / "judge.sqlite"), canaries=0)
    rubric = rubric_named("relevance")
    _, expected, _ = judged_until(until, ["frozen:all.jsonl"], rubric, known, where, pools=cut)
    # the scale is known from the judgements: a query of no run has the highest grade
    Path("qrels").write_text("other 0 d 3\n")
    next_ = (
        "collection",
        "next",
        "good",
        "bad",
        "third",
        "--judged",
        "qrels",
        "-m",
        measure,
        "--store",
        "s.sqlite",
    )
    for _ in range(99):
        done = run(*next_, "--until", words, "--claim", claim, "-n", 40)
        listed = [json.loads(line) for line in done.stdout.splitlines()]
        if not listed:
            break
        assert "come before the next look" in done.stderr
        with Path("qrels").open("a") as file:
            for row in listed:
                place = row["query_id"], row["doc_id"]
                assert all(pools[name][place[0]][at - 1] == place[1] for name, at in row["from"].items())
                file.write(f"{place[0]} 0 {place[1]} {truth[place]}\n")
    said = done.stderr.splitlines()[0].removeprefix("rageval: ")
    assert said.startswith(expected.sentence().partition("by this judge")[0] + "by these judgements: ")
    assert f"(after {expected.judged} of 60 questions; {expected.calls} of " in said
    assert f"{expected.sentence().partition('judge: ')[2].partition(' (')[0]} (after" in said
    assert "nothing more has to be judged" in done.stderr
    # whoever compares by these judgements is told the claim, and no other
    shown = run("compare", "good", "bad", "qrels", "-m", measure, "--format", "json")
    (pair,) = json.loads(shown.stdout)["pairs"]
    assert pair["verdict"] == "refused"
    assert said in pair["why"]
    again = run(*next_, "--until", words, "--claim", claim, "--alpha", 0.01)
    assert f"an earlier claim on the same data: {said}" in again.stderr


def test_a_claim_of_documents_needs_a_depth_and_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "s.sqlite"))
    for name in "ab":
        Path(name).write_text("p Q0 d 1 1 x\nq Q0 d 1 1 x\n")
    Path("qrels").write_text("p 0 d 1\n")
    words = ("collection", "next", "a", "b", "--judged", "qrels")
    for more, said in (
        (("-m", "ap", "--until", "a>b"), "add --depth"),
        (("-m", "map_ia@5", "--until", "a>b"), "no bounds are known"),
        (("-m", "ap@5", "--until", "a>c"), "no system 'c'"),
        (("-m", "ap@5", "--until", "a>b", "--looks", "often"), "from 1 to 20"),
        (("-m", "ap@5", "--looks", "5"), "add --until"),
        (("-m", "ap@5", "--alpha", "0.1"), "add --until"),
    ):
        assert said in run(*words, *more, code=2).output
    assert not Path("s.sqlite").exists()
    # the same documents in the same order: no difference, and nobody is asked
    done = run(*words, "-m", "p@1", "--until", "a>b", "--claim", "set")
    assert "a and b are equal (after 2 of 2 questions; 1 of 2 documents; certain" in done.stderr
    assert done.stdout == ""


class Grading(Paid):
    """Grades documents, and counts what it was paid for."""

    def __init__(self, judged: Path) -> None:
        super().__init__()
        rows = map(json.loads, judged.read_text().splitlines())
        self.labels = {(row["query_id"], row["item_id"].replace("d", "text ")): row["label"] for row in rows}

    async def ask(self, request: Request) -> Reply:
        said = json.loads(request.user.splitlines()[1])
        place = said["question"], said["passage"]
        with self._lock:
            self.paid[" ".join(place)] += 1
        return Reply("ok", json.dumps({"evidence": place[1], "reason": "", "label": self.labels[place]}))


@pytest.mark.slow
def test_runs_that_are_stopped_and_shared_end_alike_having_judged_the_same_documents(tmp_path: Path) -> None:
    known, pools = runs_of(tmp_path, 3)
    until = until_of("good>bad", parse_measures("p@5"), "set")
    rubric = rubric_named("relevance")

    def judged(store: str, model: Paid, **options: Any) -> Any:
        where = Settings(store=str(tmp_path / store), canaries=0, **options)
        return judged_until(until, [model], rubric, known, where, pools=pools)[:2]

    whole, parts = Grading(tmp_path / "all.jsonl"), Grading(tmp_path / "all.jsonl")
    expected = judged("whole", whole)
    assert expected[1].is_decided
    for calls, shard in ((5, None), (30, "2/2"), (1, "1/2"), (60, "1/2"), (40, "2/2")):
        with pytest.raises(BudgetReached):
            judged("parts", parts, max_calls=calls, shard=shard)
    assert judged("parts", parts, shard="1/2") == expected
    assert judged("parts", parts) == expected
    assert parts.paid == whole.paid
    assert set(whole.paid.values()) == {1}
    assert whole.paid.total() == expected[1].calls < 0.6 * expected[1].calls_at_most


def test_runs_are_compared_by_one_grade_a_document(tmp_path: Path) -> None:
    known, pools = runs_of(tmp_path, 1)
    until = until_of("good>bad", parse_measures("p@5"))
    settings = Settings(store=str(tmp_path / "s"), canaries=0)
    judges = [f"frozen:{tmp_path / 'all.jsonl'}"] * 2
    with pytest.raises(UsageError, match="vote=median"):
        judged_until(until, judges, rubric_named("relevance"), known, settings, pools=pools)


def test_shares_need_a_store_that_all_of_them_use(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (*COMMAND, "--until", "ours>theirs", "--shard", "1/2", "-o", "j")
    assert f"all need this store ({files / 's.sqlite'})" in run(*words).stderr
    monkeypatch.delenv("RAGEVAL_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(files / "cache"))
    assert "use one store for all (--store FILE" in run(*words, code=2).output
    assert not (files / "cache").exists()


class Choosing(Paid):
    """Prefers the answer with gold, wherever it is shown."""

    async def ask(self, request: Request) -> Reply:
        said = json.loads(request.user.splitlines()[1])
        golden = ["gold" in said[name] for name in ("answer_a", "answer_b")]
        label = "tie" if golden[0] == golden[1] else "a" if golden[0] else "b"
        return Reply("ok", json.dumps({"evidence": "", "reason": "as told", "label": label}))


def test_pairs_and_nuggets_are_judged_until_it_is_decided(material: Any, tmp_path: Path) -> None:
    answers, questions = material
    store = str(tmp_path / "s.sqlite")
    found = rageval.judge(
        "pairwise", answers, Choosing(), "win_rate", questions=questions, until="theirs>ours", store=store,
        canaries=0,
    )  # fmt: skip
    assert "win_rate, on questions like these, by this judge: ours > theirs (after" in found.claim
    assert {row["run_id"] for row in found} == {"ours", "theirs"}
    assert len(found) < 4 * QUESTIONS
    vital = [{"text": "gold", "importance": "vital"}]
    nuggets = [{"qid": f"q{at}", "query": "", "nuggets": vital} for at in range(QUESTIONS)]
    found = rageval.judge(
        "nugget-assignment", answers, "lexical", "lexical_recall", questions=questions, nuggets=nuggets,
        until="ours>theirs", claim="set", store=store,
    )  # fmt: skip
    assert "on these 100 questions, by this judge: ours > theirs (after" in found.claim
    assert len(found) < 2 * QUESTIONS


def test_the_verb_stops_too(material: Any, tmp_path: Path) -> None:
    answers, questions = material
    found = rageval.judge(
        "crag",
        answers,
        Paid(),
        "crag_score",
        questions=questions,
        until="best",
        store=str(tmp_path / "s"),
        canaries=0,
    )
    assert "on questions like these" in found.claim
    assert len(found) < len(answers)
