"""ragas' measures: its own numbers for 60 records, a slow oracle over every completion, what is refused."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import ragas_values
import rageval
from fair_judge import data_in, saying
from llm_server import Asked, LlmServer, Saying
from rageval.errors import InputError
from rageval.measures import family
from rageval.measures.official import OFFICIAL
from test_bad_input import command

GOLDEN = Path(__file__).parents[1] / "golden/ragas/values.jsonl"
THEIRS = {  # rageval's measures, by ragas' metrics in the golden file
    "faithfulness": "ragas_faithfulness",
    "answer_correctness": "ragas_answer_correctness",
    "factual_correctness": "ragas_factual_correctness",
    "factual_precision": "ragas_factual_correctness(part=precision)",
    "factual_recall": "ragas_factual_correctness(part=recall)",
    "context_precision": "ragas_context_precision",
    "context_recall": "ragas_context_recall",
}
MEASURES = [*THEIRS.values()]
ROUNDED = ("factual_correctness", "factual_precision", "factual_recall")  # to two decimals
WITHOUT_CLAIMS = {"answer_correctness", *ROUNDED}  # metrics with a number where one side has no claims
Place = tuple[str, str, str]  # rubric, aspect, item
LABELS = {
    "ragas-support": ("not_supported", "supported"),
    "ragas-match": ("unmatched", "matched"),
    "ragas-context": ("not_useful", "useful"),
}


def rules(asked: Asked) -> Saying:
    """Reply to rageval's prompts by the rules that the golden file was made by."""
    data = data_in(asked)
    if "answer_claims" in data:
        own, gold = data["answer_claims"], data["gold_claims"]
        verdicts = [
            verdict(claim, " ".join(other["text"] for other in others), LABELS["ragas-match"])
            for claims, others in ((own, gold), (gold, own))
            for claim in claims
        ]
    elif "claims" in data:
        verdicts = [verdict(claim, data["text"], LABELS["ragas-support"]) for claim in data["claims"]]
    elif "passage" in data:
        claims = ragas_values.claims_of(data["gold"][0])
        quote = next(
            (data["passage"] for claim in claims if ragas_values.repeats(claim, data["passage"])), ""
        )
        reply = {"evidence": quote, "reason": "", "label": LABELS["ragas-context"][bool(quote)]}
        return saying(asked, json.dumps(reply))
    else:
        return saying(asked, json.dumps({"claims": ragas_values.claims_of(data["text"])}))
    return saying(asked, json.dumps({"verdicts": verdicts}))


def verdict(claim: dict[str, str], text: str, labels: tuple[str, str]) -> dict[str, str]:
    is_there = ragas_values.repeats(claim["text"], text)
    return {"id": claim["id"], "evidence": text if is_there else "", "label": labels[is_there]}


@pytest.fixture(scope="module", name="scores")
def _scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    """The values of each question, from the records to the numbers by the commands of the page."""
    folder = tmp_path_factory.mktemp("ragas")
    environment = {"OPENAI_API_KEY": "sk-" + "0" * 30, "RAGEVAL_STORE": str(folder / "store")}
    with pytest.MonkeyPatch.context() as patch, LlmServer(rules) as server:
        patch.chdir(folder)
        for name, value in environment.items():
            patch.setenv(name, value)
        fields = ("user_input", "response", "reference", "retrieved_contexts")
        lines = [json.dumps({field: row[field] for field in fields}) for row in records()]
        Path("data.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for line in commands_of_the_page():
            words = [word.replace("openai:MODEL", f"openai:m@{server.openai}") for word in line.split()[1:]]
            outcome = command(*words)
            assert outcome.code == 0, outcome.err
        assert command("import", "data.jsonl", "-o", "imported").code == 0  # which says the ids of questions
        lines = Path("imported/questions.jsonl").read_text(encoding="utf-8").splitlines()
        questions = {row["query_id"]: row["question"] for row in map(json.loads, lines)}
        values: dict[str, dict[str, float]] = {}
        table = rageval.evaluate_answers(MEASURES, ["support.jsonl", "match.jsonl", "context.jsonl"])
        for run in table.values():
            for name, score in run.items():
                values[name] = {questions[query]: value for query, value in score.by_query.items()}
    return values


def commands_of_the_page() -> list[str]:
    """The commands by which somebody changes over."""
    page = (Path(__file__).parents[2] / "docs/from-ragas.md").read_text(encoding="utf-8")
    block = page.partition("\n```\n")[2].partition("\n```\n")[0]
    return block.splitlines()


def needed(name: str) -> str:
    if name == "ragas_context_precision":
        return "context"
    return "match" if name == "ragas_answer_correctness" else "support"


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("metric", THEIRS)
def test_all_values_are_ragas_own(scores: dict[str, dict[str, float]], metric: str) -> None:
    ours = scores[THEIRS[metric]]
    equal = 0
    for row in records():
        theirs, value = row[metric], ours.get(row["user_input"], math.nan)
        has_claims = ragas_values.claims_of(row["response"]) and ragas_values.claims_of(row["reference"])
        if theirs is None or (metric in WITHOUT_CLAIMS and not has_claims):
            assert math.isnan(value), row  # a listed departure, or undefined there, too
            continue
        equal += 1
        if metric in ROUNDED:
            assert value == pytest.approx(theirs, abs=0.005 + 1e-9), row
        else:
            assert value == pytest.approx(theirs, abs=1e-9), row
    assert equal >= ragas_values.RECORDS - 2


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # of what ragas imports
def test_the_golden_values_are_what_ragas_says() -> None:
    pytest.importorskip("ragas")
    assert ragas_values.values() == records()


# --- An oracle


def slowly(labels: Mapping[Place, bool]) -> dict[str, Fraction | None]:
    """All values from the formulas, of verdicts none of which is missing; None where they are undefined."""

    def of(rubric: str, side: str, item: str) -> list[bool]:
        places = [place for place in labels if place[0] == rubric and place[1].startswith(side)]
        return [labels[place] for place in places if place[2] == item]

    def f1(rubric: str, part: str = "f1") -> Fraction | None:
        own, gold = of(rubric, "response", "gold"), of(rubric, "gold", "answer")
        if not own or not gold:
            return None
        tp, fn = own.count(True), gold.count(False)
        precision = Fraction(tp, len(own))
        recall = Fraction(tp, tp + fn) if tp + fn else Fraction(0)
        both = precision + recall
        return {"precision": precision, "recall": recall}.get(
            part, 2 * precision * recall / both if both else both
        )

    def mean(verdicts: list[bool]) -> Fraction | None:
        return Fraction(sum(verdicts), len(verdicts)) if verdicts else None

    contexts = [labels[place] for place in sorted(labels) if place[0] == "ragas-context"]
    sums = [Fraction(sum(contexts[: n + 1]), n + 1) for n, useful in enumerate(contexts) if useful]
    precision = sum(sums, Fraction(0)) / len(sums) if sums else Fraction(0)
    return {
        "ragas_faithfulness": mean(of("ragas-support", "response", "*")),
        "ragas_context_recall": mean(of("ragas-support", "gold", "*")),
        "ragas_context_precision": precision if contexts else None,
        "ragas_answer_correctness": f1("ragas-match"),
        **{
            name: f1("ragas-support", name.partition("part=")[2].rstrip(")") or "f1")
            for name in MEASURES
            if name.startswith("ragas_factual")
        },
    }


def drawn(rng: random.Random) -> dict[Place, bool]:
    own, gold, contexts = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 4)
    places: list[Place] = [("ragas-context", str(place), f"d{place}") for place in range(contexts)]
    for side, number, other in (("response", own, "gold"), ("gold", gold, "answer")):
        for claim in range(number):
            places += [("ragas-support", f"{side}:{claim}", item) for item in (other, "*")]
            places.append(("ragas-match", f"{side}:{claim}", other))
    return {place: rng.random() < 0.6 for place in places}


def values(labels: Mapping[Place, bool | None], on_missing: Any = "skip") -> dict[str, float]:
    rows: list[dict[str, Any]] = []
    for (rubric, aspect, item), is_so in labels.items():
        row = {"query_id": "q", "run_id": "r", "rubric": rubric, "aspect": aspect, "item_id": item}
        rows.append(row | ({"status": "error"} if is_so is None else {"label": LABELS[rubric][is_so]}))
    judged_by = {row["rubric"] for row in rows}
    names = [name for name in MEASURES if f"ragas-{needed(name)}" in judged_by]
    scores = rageval.evaluate_answers(names, rows, on_missing=on_missing)["r"]
    return {name: scores[name].value for name in names}


@pytest.mark.some(5)
@pytest.mark.parametrize("seed", range(40))
def test_the_bounds_are_the_ends_of_all_completions(seed: int) -> None:
    """Without a failed judgement they are one value, the oracle's, in any order of the rows."""
    rng = random.Random(seed)
    labels = drawn(rng)
    right = slowly(labels)
    shuffled = dict(rng.sample(list(labels.items()), len(labels)))
    assert {name: pytest.approx(float(value or 0)) for name, value in right.items()} == values(shuffled)
    failed = rng.sample(list(labels), 4)
    complete = [
        slowly({**labels, **dict(zip(failed, way, strict=True))})
        for way in product((False, True), repeat=len(failed))
    ]
    partial: dict[Place, bool | None] = labels | dict.fromkeys(failed)
    worst, best = values(partial, "worst"), values(partial, "best")
    for name in MEASURES:
        reached = [float(completion[name] or 0) for completion in complete]
        assert (worst[name], best[name]) == pytest.approx((min(reached), max(reached)), abs=1e-12), name


def test_a_claim_that_was_not_judged_beside_a_text_is_missing() -> None:
    labels: dict[Place, bool | None] = {
        ("ragas-support", "response:0", "*"): True,
        ("ragas-support", "response:0", "gold"): True,
        ("ragas-support", "response:1", "gold"): True,
        ("ragas-context", "0", "d0"): True,
        ("ragas-context", "2", "d2"): True,
    }
    ends = [values(labels, on_missing) for on_missing in ("worst", "skip", "best")]
    assert [end["ragas_faithfulness"] for end in ends] == [0.5, 1.0, 1.0]
    assert [end["ragas_context_precision"] for end in ends] == pytest.approx([5 / 6, 1.0, 1.0])


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (("ragas-support", "n1", "*"), "is about aspect 'n1' of item"),
        (("ragas-support", "response:0", "d1"), "expected a claim of the answer"),
        (("ragas-match", "response:0", "*"), "either beside"),
        (("ragas-context", "first", "d1"), "expected one context at each place"),
    ],
)
def test_a_judgement_of_something_else_is_refused(place: Place, message: str) -> None:
    with pytest.raises(InputError, match=message):
        values({place: True})


def test_two_contexts_at_one_place_are_refused() -> None:
    with pytest.raises(InputError, match="at place '0'; expected one context at each place"):
        values({("ragas-context", "0", "d1"): True, ("ragas-context", "0", "d2"): True})


def test_the_set_is_the_family() -> None:
    assert sorted(OFFICIAL["ragas"]) == sorted(family("ragas"))
