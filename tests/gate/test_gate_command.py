"""`rageval gate` from files: baselines are written and read, exit codes, policy, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from rageval.cli import main
from rageval.judges.base import Request
from rageval.testing import ScriptedModel

LABELS = ("perfect", "acceptable", "missing", "incorrect")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of 40 queries of which `good` and `twin` find what is judged, and `bad` nothing in 15."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    Path("qrels").write_text("".join(f"q{q} n{d} d{d} 1\n" for q in range(40) for d in range(3)))
    for name, losing in {"good": 0, "twin": 0, "bad": 15}.items():
        lines = [
            f"q{q} Q0 {'x' if q < losing and d < 3 else 'd'}{d} {d + 1} {9 - d} {name}\n"
            for q in range(40)
            for d in ((0, 1, 3) if q % 2 else (0, 3))
        ]
        Path(name).write_text("".join(lines))
    Path("questions").write_text(
        "".join(
            json.dumps({"query_id": f"q{q}", "question": "?", "domain": "ab"[q % 2]}) + "\n"
            for q in range(40)
        )
    )
    return tmp_path


def gate(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["gate", *words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


RUN = ("qrels", "-m", "recall@5")


def saved(name: str = "good", *words: str) -> None:
    gate(name, *RUN, "--save-baseline", "base.jsonl", *words)


def test_a_baseline_is_a_header_and_a_sorted_line_a_question() -> None:
    saved("good", "--by", "domain", "--questions", "questions")
    header, *lines = [json.loads(line) for line in Path("base.jsonl").read_text().splitlines()]
    assert header["measures"]["recall@5"].startswith("recall@5|rel:1|")
    assert header["questions"] == len(lines) == 40
    assert [line["query_id"] for line in lines] == sorted(line["query_id"] for line in lines)
    assert lines[1] == {
        "facts": {"domain": "b"},
        "query_id": "q1",
        "same": lines[1]["same"],
        "values": {"recall@5": pytest.approx(2 / 3)},
    }
    before = Path("base.jsonl").read_text()
    shuffled = Path("good").read_text().splitlines(keepends=True)
    Random(1).shuffle(shuffled)
    Path("good").write_text("".join(shuffled))
    Path("qrels").write_text("".join(reversed(Path("qrels").read_text().splitlines(keepends=True))))
    saved("good", "--by", "domain", "--questions", "questions")
    assert Path("base.jsonl").read_text() == before


def test_ship_block_and_inconclusive_are_exit_codes() -> None:
    saved()
    options = ("--baseline", "base.jsonl", "--margin", "0.03")
    assert gate("twin", *RUN, *options).stdout.startswith("ship: twin against baseline of 20")
    assert "block" in gate("bad", *RUN, *options, code=1).stdout
    Path("qrels").write_text(Path("qrels").read_text())
    one = Path("good").read_text().replace("q1 Q0 d0 ", "q1 Q0 x0 ").replace("q2 Q0 d0 ", "q2 Q0 x0 ")
    Path("odd").write_text(one)
    gate("odd", *RUN, *options, code=5)
    result = gate("odd", *RUN, *options, "--inconclusive", "pass")
    assert "but passed" in result.stderr


def test_nothing_there_is_an_error_unless_it_is_the_first_run() -> None:
    result = gate("good", *RUN, "--baseline", "none.jsonl", "--margin", "0.1", code=2)
    assert "none.jsonl: no such file; write it with --save-baseline" in result.stderr
    result = gate("good", *RUN, "--baseline", "none.jsonl", "--first-run", "pass", "--md", "out.md")
    assert "nothing was gated" in result.stderr
    assert "nothing was gated" in Path("out.md").read_text()
    assert not Path("none.jsonl").exists()
    assert (
        "--baseline (a table of answers, or the file that --save-baseline wrote) is required"
        in gate("good", *RUN, code=2).stderr
    )
    saved()
    assert (
        "--margin (the largest loss you accept) is required"
        in gate("good", *RUN, "--baseline", "base.jsonl", code=2).stderr
    )


def test_other_judgements_rules_and_half_the_questions_are_errors() -> None:
    saved()
    options = ("--baseline", "base.jsonl", "--margin", "0.03")
    result = gate("good", *RUN, "--depth", "2", *options, code=2)
    assert "scored by other rules: recall@5|rel:1" in result.stderr
    assert "has no values of coverage@5" in gate("good", "qrels", "-m", "coverage@5", *options, code=2).stderr
    kept = [line for line in Path("good").read_text().splitlines(keepends=True) if int(line[1:3]) < 30]
    Path("part").write_text("".join(kept))
    result = gate("part", *RUN, *options, "--junit", "out.xml", "--json", "out.json", code=2)
    assert "30 of the baseline's 40 questions are in both; expected 90%; nothing was gated" in result.stderr
    assert 'errors="1"' in Path("out.xml").read_text()
    assert "nothing was gated" in json.loads(Path("out.json").read_text())["error"]
    Path("qrels").write_text(Path("qrels").read_text() + "q0 n9 d9 1\n")
    assert "scored with other judgements" in gate("good", *RUN, *options, code=2).stderr
    Path("alien").write_text("".join(f"q{q} Q0 z 1 1 r\n" for q in range(40)))
    assert "no document of alien is judged" in gate("alien", *RUN, *options, code=2).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ('{"query_id":"q"}\n', ":1: expected a baseline"),
        ('{"baseline":2,"measures":{},"questions":0}\n', "of form 2; expected 1"),
        (
            '{"baseline":1,"measures":{"a":"a"},"questions":2}\n{"query_id":"q","values":{"a":1}}\n',
            "holds 1 q",
        ),
        (
            '{"baseline":1,"measures":{"a":"a"},"questions":1}\n{"query_id":"q","values":{"b":1}}\n',
            ":2: expected v",
        ),
        (
            '{"baseline":1,"measures":{"a":"a"},"questions":2}\n' + '{"query_id":"q","values":{"a":1}}\n' * 2,
            ":3: question q is in line 2, too",
        ),
        (
            '{"baseline":1,"measures":{"a":"a"},"questions":1}\n{"query_id":"q","values":{"a":"1"}}\n',
            ":2: expected",
        ),
        (
            '{"baseline":1,"measures":{"a":"a"},"questions":1}\n{"query_id":"q","values":{"a":1e999}}\n',
            ":2: ",
        ),
        ('{"baseline":1,"measures":{"a":"a"},"questions":1}\n<<<<<<< HEAD\n', ":2: "),
        ("[" * 100_000, ":1: "),
    ],
)
def test_a_baseline_that_is_none_is_refused_with_its_line(text: str, message: str) -> None:
    Path("base.jsonl").write_text(text)
    result = gate("good", *RUN, "--baseline", "base.jsonl", "--margin", "0.1", code=2)
    assert result.stderr.startswith("rageval: base.jsonl:")
    assert message in result.stderr


def test_the_policy_says_what_is_not_typed_and_where_it_is_from(here: Path) -> None:
    Path("rageval.toml").write_text(
        '[gate]\nmeasures = ["recall@5"]\nmargin = 0.03\nbaseline = "base.jsonl"\n'
    )
    gate("good", "qrels", "--save-baseline", "base.jsonl")
    assert gate("twin", "qrels").stdout.startswith("ship")
    gate("twin", "qrels", "--margin", "0.0001")
    shown = gate("--show-policy", "--margin", "0.5").stdout
    assert f"policy: {here / 'rageval.toml'}" in shown
    assert "margin = 0.5  (typed)" in shown
    assert "baseline = base.jsonl  (rageval.toml)" in shown
    assert "measure = recall@5  (rageval.toml)" in shown
    assert "block = worse  (default)" in shown
    for text, message in (
        ("[gate]\nmargins = 1\n", "rageval.toml: [gate]: unknown key 'margins'; did you mean margin"),
        ('[gate]\nmargin = "wide"\n', "[gate]: margin: 'wide': expected a number from 0, or a percentage"),
        ("[gate]\nbaseline = true\n", "[gate]: baseline: expected text or a number, found True"),
        ("[gate]\njudged-only = 1\n", "[gate]: judged-only: expected true or false, found 1"),
        ('[gate]\nsave-baseline = "x"\n', "[gate]: save-baseline writes a file, which"),
        ('[gate]\nmeasures = "a"\nmeasure = "b"\n', "set twice, under two names"),
    ):
        Path("rageval.toml").write_text(text)
        assert message in gate("twin", "qrels", code=2).stderr
    CliRunner().invoke(main, ["twin", "qrels", "-m", "recall@5"], catch_exceptions=False)  # score reads none


def judged(name: str, labels: list[str], **more: str) -> str:
    rows = [
        {"query_id": f"q{index}", "run_id": name, "aspect": "crag", "judge": "j", "rubric": "crag", **more}
        | ({"label": label} if label else {"status": "error"})
        for index, label in enumerate(labels)
    ]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


@pytest.mark.slow
def test_judged_answers_are_gated_missing_ones_are_never_a_grade() -> None:
    labels = [LABELS[index % 4] for index in range(120)]
    base = judged("base", labels)
    gate(base, "-m", "crag_score", "--save-baseline", "base.jsonl")
    options = ("-m", "crag_score", "--baseline", "base.jsonl", "--margin", "0.05")
    assert "judge error not included" in gate(judged("same", labels), *options).stderr
    gate(judged("worse", ["incorrect"] * 40 + labels[40:]), *options, code=1)
    result = gate(judged("two", ["", "", *labels[2:]]), *options, code=5)
    assert "missing in 2 questions, which could change it" in result.stderr
    result = gate("two", *options[:-1], "0.1")
    assert "judgements are missing in 2 questions; verdicts hold for any values" in result.stderr
    result = gate(judged("three", ["", "", "", *labels[3:]]), *options, code=3)
    assert "missing in 3 of 120 questions" in result.stderr
    result = gate(judged("other", labels, judge="k"), *options, code=2)
    assert "judged by j by crag, the candidate by k by crag" in result.stderr
    gate("other", *options, "--judge-changed", "allow", code=5)
    Path("both").write_text(Path("same").read_text() + Path("worse").read_text())
    assert "found same, worse; choose one with --system RUN_ID" in gate("both", *options, code=2).stderr
    gate("both", *options, "--system", "worse", code=1)
    result = gate(
        judged("many", ["", "", "", *labels[3:]]), "-m", "crag_score", "--save-baseline", "x", code=3
    )
    assert "before this becomes a baseline" in result.stderr
    assert not Path("x").exists()


def test_repeats_average_within_the_question_which_stays_the_unit() -> None:
    rows = [
        {
            "query_id": f"q{index}",
            "run_id": "r",
            "aspect": "crag",
            "label": LABELS[(index + time) % 4],
            "repeat": str(time),
        }
        for index in range(40)
        for time in range(3)
    ]
    Path("three").write_text("".join(json.dumps(row) + "\n" for row in rows))
    gate("three", "-m", "crag_score", "--save-baseline", "base.jsonl")
    line = json.loads(Path("base.jsonl").read_text().splitlines()[1])
    assert line["repeats"] == 3
    assert line["values"]["crag_score"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert "  40  " in gate("three", "-m", "crag_score", "--baseline", "base.jsonl", "--margin", "0.1").stdout


def test_floors_and_slices_of_the_command_line() -> None:
    saved()
    options = ("--baseline", "base.jsonl", "--margin", "0.03")
    result = gate("twin", *RUN, *options, "--fail-under", "recall@5=0.9", code=1)
    assert "below 0.9 (--fail-under)" in result.stderr
    result = gate(
        "bad", *RUN, *options, "--by", "domain", "--questions", "questions", "--json", "out.json", code=1
    )
    report = json.loads(Path("out.json").read_text())
    assert [(row["field"], row["name"], row["questions"]) for row in report["decisions"]] == [
        ("", "", 40),
        ("domain", "a", 20),
        ("domain", "b", 20),
    ]
    assert report["verdict"] == "block"
    assert report["counts"]["compared"] == 40
    result = gate("bad", *RUN, *options, "--cluster", "domain", "--questions", "questions", code=5)
    assert "gate|" in result.stdout
    assert "|units:domain|" in result.stdout


def test_holes_that_differ_are_held_against_what_they_may_be() -> None:
    Path("qrels").write_text(Path("qrels").read_text() + "".join(f"q{q} n0 d9 0\n" for q in range(40)))
    saved()
    header = json.loads(Path("base.jsonl").read_text().splitlines()[0])
    assert header["unjudged"] == 0.4  # d3 is not judged
    options = ("--baseline", "base.jsonl", "--margin", "0.03")
    assert header["bounds"]["recall@5"] == [pytest.approx(0.5), pytest.approx(0.625)]
    assert "no document is judged in 38% of the questions" in gate("bad", *RUN, *options, code=5).stderr
    lines = Path("good").read_text()
    for query in range(1, 24, 2):
        lines = lines.replace(f"q{query} Q0 d0 ", f"q{query} Q0 x0 ")
    Path("holey").write_text(lines)
    result = gate("holey", *RUN, *options, code=5)  # whatever x0 is: it might be what is wanted
    assert "52% of the top is unjudged, and 40% of the baseline's" in result.stderr
    gate("bad", *RUN, *options, "--judged-only", code=2)


@pytest.mark.slow
def test_people_correct_both_sides_and_a_baseline_must_know_them() -> None:
    random = Random(3)
    labels = {name: [random.choice(LABELS) for _ in range(100)] for name in ("base", "now")}
    for name, text in labels.items():
        judged(name, text)
        judged(f"people-{name}", text[:60], judge="person:ann")
        rows = Path(f"people-{name}").read_text().replace(f'"run_id": "people-{name}"', f'"run_id": "{name}"')
        Path(f"people-{name}").write_text(rows)
    people = Path("people-base").read_text() + Path("people-now").read_text()
    Path("people").write_text(people)
    how = ("-m", "crag_score", "--gold", "people", "--gold-chosen", "uniform")
    gate("base", "-m", "crag_score", "--save-baseline", "plain.jsonl")
    options = ("--margin", "0.05", "--baseline")
    assert "has no human labels" in gate("now", *how, *options, "plain.jsonl", code=2).stderr
    gate("base", *how, "--save-baseline", "base.jsonl")
    result = CliRunner().invoke(main, ["gate", "now", *how, *options, "base.jsonl", "--json", "out.json"])
    (decision,) = json.loads(Path("out.json").read_text())["decisions"]
    Path("all").write_text(Path("now").read_text() + Path("base").read_text())
    words = ["compare", "all", *how, "--baseline", "base", "--level", "0.9", "--format", "json"]
    pair = json.loads(CliRunner().invoke(main, words).stdout)["pairs"][0]
    assert [decision[name] for name in ("difference", "low", "high")] == [
        pytest.approx(pair[name], abs=1e-12) for name in ("difference", "low", "high")
    ]
    assert "judge error not included" not in result.stderr
    # Labels of each system's answers may lie in files of their own; of two of one name they tell nothing.
    gate(
        "base", *how[:2], "--gold", "people-base", "--gold-chosen", "uniform", "--save-baseline", "own.jsonl"
    )
    gold_options = (
        "--gold",
        "people-now",
        "--gold-chosen",
        "uniform",
        *options,
        "own.jsonl",
        "--json",
        "own.json",
    )
    CliRunner().invoke(main, ["gate", "now", *how[:2], *gold_options])
    assert json.loads(Path("own.json").read_text())["decisions"] == [decision]
    Path("again").write_text(Path("now").read_text().replace('"run_id": "now"', '"run_id": "base"'))
    result = gate("again", *how[:2], "--gold", "people-base", *options, "own.jsonl", code=2)
    assert "both called base" in result.stderr


def test_who_can_be_asked_again_about_what_did_not_change() -> None:
    labels = [LABELS[index % 4] for index in range(100)]
    gate(judged("now", labels, aspect="0"), "-m", "crag_score", "--save-baseline", "base.jsonl")
    rows = [
        {"query_id": f"q{index}", "run_id": "now", "answer": "x", "question": "?"} for index in range(100)
    ]
    Path("answers").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("-m", "crag_score", "--baseline", "base.jsonl", "--margin", "0.1")
    judge_options = ("--answers", "answers", "--rubric", "crag", "--questions", "answers")
    result = gate("now", *options, "--aa", "40", *judge_options, "--judge", "frozen:now", code=2)
    assert "a file's judgements never change" in result.stderr
    assert "add --judge" in gate("now", *options, "--aa", "5", *judge_options, code=2).stderr
    saved()
    result = gate("good", *RUN, "--baseline", "base.jsonl", "--margin", "0.1", "--aa", "5", code=2)
    assert "--aa applies to judged answers" in result.stderr


def moody_judge(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """A model that says of an answer what it said before, but of every fifth."""

    def reply(request: Request) -> str:
        match = re.search(r"answer number (\d+)", request.user)
        number = int(match[1]) if match else 3
        label = LABELS[3] if number % 5 == 0 else LABELS[number % 4]
        return json.dumps(
            {"evidence": f"answer number {number}" if label in LABELS[:2] else "", "label": label}
        )

    model = ScriptedModel(reply, "mine:m")
    monkeypatch.setattr("rageval.judges.panel.model_named", lambda spec, **options: model)
    return model


OPTIONS = ("-m", "crag_score", "--baseline", "base.jsonl", "--margin", "0.1")
AGAIN = ("--answers", "answers", "--questions", "answers", "--store", "store")


def judged_by_a_model() -> None:
    """A hundred judged answers, and the baseline that is made of them."""
    labels = [LABELS[index % 4] for index in range(100)]
    gate(judged("now", labels, judge="mine:m@1234abcd"), "-m", "crag_score", "--save-baseline", "base.jsonl")
    rows = [
        {"query_id": f"q{index}", "run_id": "now", "answer": f"answer number {index}", "question": "?"}
        for index in range(100)
    ]
    Path("answers").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.slow
def test_repetitions_are_stored_and_a_budget_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by_a_model()
    model = moody_judge(monkeypatch)
    words = ("now", *OPTIONS, "--aa", "100", *AGAIN, "--judge", "mine:m", "--rubric", "crag")
    result = gate(*words, "--max-calls", "46", "--json", "out.json", code=4)
    assert "the limit of 46 calls is reached" in result.stderr
    assert json.loads(Path("out.json").read_text())["verdict"] is None
    assert model.calls == 46
    result = gate(*words)  # six canaries, and a hundred answers
    assert model.calls == 106
    assert "A/A: crag_score: 15 of 100 unchanged answers got another verdict (15%)" in result.stderr
    assert gate(*words, "--max-calls", "0").stderr == result.stderr
    assert model.calls == 106
    command = ("judge", "crag", "answers", "--questions", "answers", "--judge", "mine:m", "--store", "store")
    result = CliRunner().invoke(main, [*command, "-o", "judged"])
    assert result.exit_code == 0, result.stderr
    assert model.calls == 206  # the first time is another than the second; canaries are shared


def test_repetitions_cost_no_more_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by_a_model()
    model = moody_judge(monkeypatch)
    words = ("now", *OPTIONS, "--aa", "100", *AGAIN, "--judge", "mine:m", "--rubric", "crag")
    assert "no price" in gate(*words, "--max-cost", "1", code=2).stderr
    gate(*words, "--max-cost", "0.1", "--price", "100", code=4)
    assert model.calls < 50


def test_a_judge_is_asked_again_only_if_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by_a_model()
    model = moody_judge(monkeypatch)
    result = gate("now", *OPTIONS, "--aa", "5", *AGAIN, "--rubric", "crag", code=2)
    assert "use --judge mine:m --rubric crag" in result.stderr
    result = gate("now", *OPTIONS, "--aa", "5", *AGAIN, "--rubric", "crag", "--judge", "mine:other", code=2)
    assert "the candidate was judged by mine:m@1234abcd" in result.stderr
    assert not model.calls
    Path("rageval.toml").write_text('[gate]\njudge = "mine:m"\n')
    gate("now", *OPTIONS, "--aa", "5", *AGAIN, "--rubric", "crag")
    assert model.calls == 11


def test_a_gate_accepts_the_judge_that_is_named() -> None:
    judged_by_a_model()
    gate("now", *OPTIONS, "--judge", "mine:m")
    gate("now", *OPTIONS, "--judge", "mine:m@1234abcd")
    gate("now", *OPTIONS, "--judge", "mine:m@http://127.0.0.1:8000/v1")
    result = gate("now", *OPTIONS, "--judge", "mine:other", code=2)
    assert "--judge mine:other: the candidate was judged by mine:m@1234abcd" in result.stderr
    Path("rageval.toml").write_text('[gate]\njudge = "mine:other"\n')
    gate("now", *OPTIONS, code=2)
    gate("now", *OPTIONS, "--judge", "mine:m")


def test_an_option_that_would_change_nothing_is_told_in_the_reports() -> None:
    saved()
    options = ("--baseline", "base.jsonl", "--margin", "0.1", "--json", "out.json")
    result = gate("good", *RUN, *options, "--slice-margin", "0.2", code=2)
    assert "--by" in result.stderr
    assert "--by" in json.loads(Path("out.json").read_text())["error"]


def test_the_json_of_an_error_has_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").write_text("q1 Q0 d1 1 high r\nq1 Q0 d2 2\n")
    Path("qrels").write_text("q1 0 d1 1\n")
    Path("base").write_text("{}\n")
    gate("run", "qrels", "-m", "rr", "--baseline", "base", "--margin", "0.1", "--json", "out.json", code=2)
    report = json.loads(Path("out.json").read_text())
    assert report["error"] == "\n".join(problem["text"] for problem in report["problems"])
    assert all(problem["file"] and problem["line"] and problem["expected"] for problem in report["problems"])
