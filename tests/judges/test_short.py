"""The judge `short`: its features, its curve, what it says and where it refuses."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rageval
from rageval.cli import main
from rageval.errors import TooFewLabels, UsageError
from rageval.judges import gathered, rubric_named, short
from rageval.judges._exact import contains, folded, token_f1
from rageval.judges.offline import judge_offline, knows
from rageval.judges.rubric import rubric_names

ROOT = Path(__file__).parents[2]
CASES = [  # question, gold, answer, right
    ("Who wrote Hamlet?", ["William Shakespeare"], "Shakespeare", True),
    ("Who wrote Hamlet?", ["William Shakespeare"], "It was Christopher Marlowe.", False),
    ("When was it built?", ["1998"], "It was built in 1998.", True),
    ("When was it built?", ["1998"], "It was built in 1999.", False),
    ("When?", ["July 20, 1969"], "On July 21, 1969.", False),
    ("When?", ["July 20, 1969"], "20 July 1969", True),
    ("How many?", ["12 million"], "13 million", False),
    ("What does it cost?", ["50 euros"], "From 60 euros.", False),
    ("What did it sell for?", ["£50m"], "£50 million", True),
    ("Is it?", ["yes"], "No.", False),
    ("Which year did it end?", ["1945"], "It began in 1939 and ended in 1945.", True),
]
LIMITS = [  # wrong answers that are taken for right: what docs/short.md says
    ("Who wrote Hamlet?", ["William Shakespeare"], "William Blake"),
    ("What is the capital of France?", ["Paris"], "Lyon. Or maybe Paris."),
    ("What is the capital of France?", ["Paris"], "It isn't Paris, it's Lyon."),
]


@pytest.mark.parametrize(("question", "gold", "answer", "right"), CASES)
def test_plain_cases(question: str, gold: list[str], answer: str, right: bool) -> None:
    assert (short.packed().chance(answer, question, gold) >= 0.5) is right


@pytest.mark.parametrize(("question", "gold", "answer"), LIMITS)
def test_known_limits(question: str, gold: list[str], answer: str) -> None:
    assert short.packed().chance(answer, question, gold) >= 0.5


def slow_features(answer: str, question: str, golds: list[str]) -> dict[str, float]:
    """The features, one by one, of gold answers taken by themselves."""
    words, plain_answer = re.compile(r"\w+"), folded(answer)
    kept = list(dict.fromkeys(filter(None, map(folded, golds))))
    there, asked = set(words.findall(plain_answer)), set(words.findall(folded(question)))

    def plain(text: str) -> list[str]:
        return [word for word in words.findall(text) if word not in ("a", "an", "the")]

    def runs(text: str) -> set[str]:
        around = f" {text} "
        return {around[index : index + 3] for index in range(len(around) - 2)}

    def best(values: list[float]) -> float:
        return max(values, default=0.0)

    def share(part: set[str], whole: set[str], empty: float = 0.0) -> float:
        return len(part & whole) / len(whole) if whole else empty

    def numbers(text: str) -> set[str]:
        return set(re.findall(r"\d+", re.sub(r"(\d),(?=\d{3})", r"\1", text)))

    features = {
        "contains": best([float(contains(answer, [gold])) for gold in kept]),
        "gold_words": best([share(there, set(plain(gold))) for gold in kept]),
        "gold_characters": best(
            [1.0 if contains(answer, [gold]) else share(runs(plain_answer), runs(gold)) for gold in kept]
        ),
        "gold_numbers": best([share(numbers(plain_answer), numbers(gold), 0.5) for gold in kept]),
        "has_numbers": float(any(map(numbers, kept))),
        "length": math.log(1 + len(words.findall(plain_answer))),
        "gold_length": math.log(1 + sum(len(words.findall(gold)) for gold in kept) / max(1, len(kept))),
        "gold_in_question": best([share(asked, set(plain(gold))) for gold in kept]),
        "several_golds": float(len(kept) > 1),
    }
    features["contains_and_numbers"] = features["contains"] * features["has_numbers"]
    features["characters_and_numbers"] = features["gold_characters"] * features["has_numbers"]
    return features


TEXTS = st.lists(
    st.sampled_from(
        [
            *("Paris", "the", "Tower", "of", "1,998", "12", "3.5", "İstanbul", "is", "ﬁne", "a", "?", "—"),
            "don't know",
        ]
    ),
    max_size=8,
).map(" ".join)


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3))
def test_features_are_what_they_say(answer: str, question: str, golds: list[str]) -> None:
    numbers = short.features(answer, question, golds)
    features = dict(zip(short.FEATURES, numbers, strict=False))
    for name, value in slow_features(answer, question, golds).items():
        assert features[name] == pytest.approx(value, abs=1e-12), name
    assert len(numbers) == len(short.FEATURES) + 1


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=4))
def test_the_order_of_gold_answers_does_not_matter(answer: str, question: str, golds: list[str]) -> None:
    one, other = (short.features(answer, question, order) for order in (golds, golds[::-1]))
    assert one == pytest.approx(other, abs=1e-12)
    assert 0 <= short.packed().chance(answer, question, golds) <= 1


def test_f1_is_that_of_the_judge_of_this_name_but_for_marks() -> None:
    for answer, gold in (("the tall tower", "Tower"), ("Paris", "Paris"), ("x", "y"), ("a b b", "b c")):
        f1 = short.features(answer, "", (gold,))[short.FEATURES.index("token_f1")]
        assert f1 == pytest.approx(token_f1(answer, [gold]))


def test_the_chance_is_the_formula() -> None:
    curve = short.Curve(0.3, (1.0, -2.0), (0.5, 1.0), (2.0, 4.0))
    line = 0.3 + 1.0 * (3 - 0.5) / 2 - 2.0 * (5 - 1.0) / 4
    assert curve.of([3.0, 5.0, 0.0]) == pytest.approx(1 / (1 + math.exp(-line)), rel=1e-12)
    assert curve.of([3.0, 5.0, 1.0]) == min(short.OTHER_NUMBERS, curve.of([3.0, 5.0, 0.0]))
    assert [short.Curve(far, (), (), ()).of([0.0]) for far in (-1e4, 1e4)] == [0, 1]


def test_other_numbers_cap_the_chance_and_leave_doubt() -> None:
    chance = short.packed().chance("On July 21, 1969.", "When?", ["July 20, 1969"])
    assert chance == short.OTHER_NUMBERS
    for answer in ("July 1969", "20.7.1969", "In July", "On July 20, 1969, at 21:17"):
        assert short.packed().chance(answer, "When?", ["July 20, 1969"]) != short.OTHER_NUMBERS


def test_the_file_of_the_package() -> None:
    fitted_set, kept_back = short.record().measured
    assert fitted_set["error"] <= 0.04
    assert fitted_set["kappa"] >= 0.75
    assert fitted_set["bias"] <= 0.03
    assert kept_back["error"] <= 0.1
    for measured in (fitted_set, kept_back):
        assert measured["systems"][0] < measured["error"] < measured["systems"][1]
        assert measured["calibration"] <= 0.03
        assert measured["wrong_winners"] == 0
    assert f"was wrong on {BOTH_SETS} of 100" in str(short.error_remark())


# --- The figures of both sets stand together.

MEASURED = short.record().measured
BOTH_SETS = " and ".join(f"{100 * measured['error']:.1f}" for measured in MEASURED)
PAGE = (ROOT / "docs/short.md").read_text(encoding="utf-8")


def decimal(number: float, digits: int) -> str:
    """A number as pages have it, without the 0 in front of the point."""
    return f"{number:.{digits}f}".removeprefix("0")


def figures(measured: Mapping[str, Any]) -> dict[str, str]:
    """What the page says of a set, by the row of its table."""
    least, most = (decimal(share, 2) for share in measured["kept"])
    return {
        "wrong, of 100 answers": f"{100 * measured['error']:.1f}",
        "by system": " to ".join(f"{100 * error:.1f}" for error in measured["systems"]),
        "distance from the diagonal": decimal(measured["calibration"], 3),
        "wrong winners, of 10 pairs": str(measured["wrong_winners"]),
        "differences outside its interval, of 10": str(measured["outside"]),
        "agreement, perfect second judge on 5, 10, 20 %": ", ".join(
            decimal(agreement, 3) for agreement in measured["second"]
        ),
        "worth of 100 labels, random": str(measured["worth"][0]),
        "worth of 100 labels, by doubt": str(measured["worth"][1]),
        "verdicts kept by 300 labels, at most 5 % wrong": least if least == most else f"{least} to {most}",
    }


def test_the_page_has_the_figures_of_both_sets() -> None:
    columns = [figures(measured) for measured in MEASURED]
    for row in columns[0]:
        assert f"| {row} | {' | '.join(column[row] for column in columns)} |" in PAGE
    for measured in MEASURED:
        assert measured["set"] in PAGE
        assert f"{measured['answers']:,}" in PAGE


@pytest.mark.parametrize(
    "section", re.split(r"(?m)^(?=##+ )", PAGE), ids=lambda text: text.partition("\n")[0]
)
def test_no_section_of_the_page_has_the_figure_of_one_set_alone(section: str) -> None:
    columns = [figures(measured) for measured in MEASURED]
    for row in columns[0]:
        for column, other_column in permutations(columns):
            figure, other = column[row], other_column[row]
            # A figure of one digit may be any number; the table has it.
            stands = len(figure) > 1 and re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", section)
            assert not stands or other in section, f"{row}: {figure} without {other}"


@pytest.mark.parametrize(
    "folder", ["README.md", "CHANGELOG.md", "docs", "rageval", "tests/golden/outputs", "examples"]
)
def test_no_place_says_the_error_on_one_set_alone(folder: str) -> None:
    root = ROOT / folder
    kinds = {".md", ".py", ".toml", ".txt", ".html", ".json"}
    paths = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.suffix in kinds)
    for path in paths:
        # Lines are broken anywhere, and pages break numbers of a link.
        text = " ".join(path.read_text(encoding="utf-8").split())
        for measured in MEASURED:
            figure = rf"(?<![\d.]){100 * measured['error']:.1f}"
            for match in re.finditer(rf"{figure} (?:of|out of|in) 100|{figure} ?%", text):
                before = text[max(0, match.start() - 40) : match.end()]
                assert BOTH_SETS in before, f"{path}: {before!r} is of one set: {BOTH_SETS}"


def worlds(number: int, seed: int = 1) -> tuple[list[tuple[float, ...]], list[str]]:
    """Answers of five systems to questions: rows of features, and whose they are."""
    draw = random.Random(seed)
    rows, groups = [], []
    for index in range(number):
        gold = f"word{index % 7} name{index}"
        answer = draw.choice(
            [gold, f"It is {gold}.", f"name{index}", "something else", f"word{index % 7} other"]
        )
        rows.append(short.features(answer, "What is it?", (gold,)))
        groups.append(f"q{index // 3}")
    return rows, groups


def test_a_fit_has_no_slope_left() -> None:
    rows, _ = worlds(120)
    right = [row[0] > 0 or index % 5 == 0 for index, row in enumerate(rows)]
    penalty = 2.0
    curve = short.fit(rows, right, penalty)

    def loss(intercept: float, weights: list[float]) -> float:
        tried = short.Curve(intercept, tuple(weights), curve.means, curve.deviations)
        likelihood = (
            math.log(tried.of((*row[:-1], 0.0)) if is_right else 1 - tried.of((*row[:-1], 0.0)))
            for row, is_right in zip(rows, right, strict=True)
        )
        return -math.fsum(likelihood) + penalty / 2 * math.fsum(weight**2 for weight in weights)

    best = loss(curve.intercept, list(curve.weights))
    for index in range(len(curve.weights)):
        for step in (-0.01, 0.01):
            moved = [weight + step * (index == place) for place, weight in enumerate(curve.weights)]
            assert loss(curve.intercept, moved) > best - 1e-9
    assert loss(curve.intercept + 0.01, list(curve.weights)) > best
    assert loss(curve.intercept - 0.01, list(curve.weights)) > best


def test_a_firm_prior_is_kept() -> None:
    rows, _ = worlds(60)
    curve = short.fit(rows, [row[0] == 0 for row in rows], 1e9, short.packed())
    assert curve.weights == pytest.approx(short.packed().weights, abs=1e-4)


@pytest.mark.slow
def test_labels_that_say_otherwise_change_the_curve_and_those_that_agree_do_not() -> None:
    rows, groups = worlds(150)
    agreeing = [short.packed().of(row) >= 0.5 for row in rows]
    # People here call only what repeats the gold answer in full right.
    strict = [row[short.FEATURES.index("token_f1")] == 1 for row in rows]
    changed = short.cross_fit(rows, strict, groups)
    assert changed.loss_after < changed.loss_before
    assert changed.after < changed.before
    assert changed.curve.name != short.packed().name
    kept = short.cross_fit(rows, agreeing, groups)
    assert kept.before == 0
    assert ("the packed curve is kept" in str(kept)) == (kept.curve == short.packed())


def test_random_labels_do_not_pretend_to_teach() -> None:
    """What cross-validation says is of labels that were kept back, the choice of the penalty included."""
    rows, groups = worlds(120)
    draw = random.Random(5)
    right = [draw.random() < 0.5 for _ in rows]
    assert short.cross_fit(rows, right, groups).after > 0.35


def test_folds_keep_a_question_together() -> None:
    groups = [f"q{number // 4}" for number in range(60)]
    folds = short._folds(groups)
    assert sorted(place for fold in folds for place in fold) == list(range(60))
    assert all(
        len({number for number, fold in enumerate(folds) for p in fold if groups[p] == q}) == 1
        for q in set(groups)
    )


@pytest.mark.parametrize("right", [[True] * 29, [True] * 40])
def test_few_labels_or_one_kind_are_refused(right: list[bool]) -> None:
    rows, groups = worlds(len(right))
    with pytest.raises(TooFewLabels, match="of both kinds"):
        short.cross_fit(rows, right, groups)


# --- as a judge

ASKED = [{"query_id": "q1", "question": "What is the capital of France?", "answer": ["Paris"]}]


def test_an_answer_that_failed_has_no_chance() -> None:
    answers = [{"query_id": "q1", "run_id": "s", "answer": None, "error": "timeout"}]
    with pytest.warns(UserWarning, match="1 failed"), pytest.warns(UserWarning, match="was wrong on"):
        (row,) = rageval.judge("crag", answers, questions=ASKED)
    assert row["status"] == "error"
    assert not {"p", "label", "grade"} & row.keys()


def test_every_other_rubric_is_refused() -> None:
    refused = [name for name in rubric_names() if not knows(rubric_named(name))]
    assert {"nugget-support", "citation-support", "relevance"} & set(refused)
    answers = [{"query_id": "q1", "run_id": "s", "answer": "Paris"}]
    material = gathered([_lines(answers)], _lines(ASKED))
    for name in refused:
        with pytest.raises(UsageError, match="words alone cannot decide"):
            list(judge_offline("short", rubric_named(name), material))


def _lines(records: list[dict]) -> object:
    from rageval.files.jsonl import in_memory

    return in_memory(records, "records")


def written(folder: Path, question: str = "What is the capital of France?") -> tuple[str, str]:
    answers, questions = folder / "a.jsonl", folder / "q.jsonl"
    answers.write_text(json.dumps({"query_id": "q1", "run_id": "s", "answer": "Paris"}) + "\n")
    questions.write_text(json.dumps({"query_id": "q1", "question": question, "answer": ["Paris"]}) + "\n")
    return str(answers), str(questions)


def test_it_judges_where_no_judge_is_named_and_right_answers_are_there(tmp_path: Path) -> None:
    answers, questions = written(tmp_path)
    result = CliRunner().invoke(main, ["judge", "crag", answers, "--questions", questions])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["judge"] == short.packed().name
    assert "no judge named" in result.stderr
    assert str(short.error_remark()) in result.stderr
    result = CliRunner().invoke(main, ["judge", "nugget-support", answers, "--questions", questions])
    assert result.exit_code == 2
    assert "no judge named; use a model" in result.stderr


def test_another_language_has_no_error_rate(tmp_path: Path) -> None:
    answers, questions = written(tmp_path, "Wie heißt die Hauptstadt von Frankreich?")
    result = CliRunner().invoke(
        main, ["judge", "crag", answers, "--questions", questions, "--judge", "short"]
    )
    assert "1 of 1 question does not look English" in result.stderr
    assert "was wrong on" not in result.stderr


def test_a_long_answer_is_said_to_be_one() -> None:
    answers = [{"query_id": "q1", "run_id": "s", "answer": "Paris " * 300}]
    with pytest.warns(UserWarning, match="longer than any"), pytest.warns(UserWarning, match="was wrong on"):
        rageval.judge("crag", answers, "short", questions=ASKED)


def test_a_fit_is_said_and_named(tmp_path: Path) -> None:
    asked = [
        {"query_id": f"q{number}", "question": "What is it?", "answer": [f"word name{number}"]}
        for number in range(60)
    ]
    answers = [
        {
            "query_id": f"q{number}",
            "run_id": "s",
            "answer": f"word name{number}" if number % 2 else f"name{number}",
        }
        for number in range(60)
    ]
    labels = [
        {
            "query_id": answer["query_id"],
            "run_id": answer["run_id"],
            "label": "perfect" if number % 2 else "incorrect",
            "judge": "person:kim",
            "rubric": "crag",
        }
        for number, answer in enumerate(answers)
    ]
    with pytest.warns(UserWarning, match="cross-validated on 60 labels"):
        judged = rageval.judge("crag", answers, "short", questions=asked, fit=labels)
    assert {row["judge"] for row in judged} != {short.packed().name}
    assert [row["label"] for row in judged[:2]] == ["incorrect", "perfect"]
    with pytest.raises(UsageError, match="not among the judges"):
        rageval.judge("crag", answers, "contains", questions=asked, fit=labels)
