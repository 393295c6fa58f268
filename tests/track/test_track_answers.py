"""`rageval track --track answers`: tables of answers, and labels by people that correct the leaderboard."""

from __future__ import annotations

import csv
import io
import json
import random
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rageval.checking import validate
from rageval.errors import InputError, MissingJudgements, UsageError
from rageval.files.plans import read_plan
from rageval.track import TrackPlan, leaderboard_of, organize
from rageval.track.stages import STAGES
from test_bad_input import assert_refused, command

QUESTIONS, SYSTEMS, LABELS = 150, 12, 60
NAMES = [f"s{number:02}" for number in range(SYSTEMS)]


class Sample(NamedTuple):
    """A folder with tables, questions and labels, and what people would say of every answer."""

    folder: Path
    truth: dict[str, float]

    @property
    def plan(self) -> TrackPlan:
        return TrackPlan(
            self.folder / "tables",
            self.folder / "out",
            "answers",
            topics=str(self.folder / "questions.csv"),
            judges=("short",),
            gold=(str(self.folder / "labels.jsonl"),),
            gold_chosen="uniform",
        )


def table(path: Path, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table in the form that the file's ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([head, *rows])
        return
    records = [dict(zip(head, row, strict=True)) for row in rows]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(json.dumps(records) if path.suffix == ".json" else lines)


@pytest.fixture(scope="module", name="sample")
def _sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Twelve systems, each a little better than the last; `short` misses right answers in other words."""
    folder, draw = tmp_path_factory.mktemp("sample"), random.Random(7)
    asked = [
        (f"q{index:03}", f"What is the number of item {index}?", str(1000 + index))
        for index in range(QUESTIONS)
    ]
    table(folder / "questions.csv", ("id", "question", "gold"), asked)
    labeled = set(draw.sample(range(QUESTIONS), LABELS))
    truth, labels = {}, []
    for index, name in enumerate(NAMES):
        rows, values = [], []
        for number, (query, question, gold) in enumerate(asked):
            is_right = draw.random() < 0.35 + 0.05 * index
            number_given = (
                (gold if draw.random() < 0.9 else "as many as you say") if is_right else str(5000 + number)
            )
            rows.append((query, question, f"It is {number_given}."))
            values.append(1 if is_right else -1)
            if number in labeled:
                label = "perfect" if is_right else "incorrect"
                place = {"query_id": query, "run_id": name, "rubric": "crag"}
                labels.append(place | {"label": label, "judge": "person:ann"})
        truth[name] = sum(values) / QUESTIONS
        ending = ("csv", "tsv", "jsonl", "json")[index % 4]
        table(folder / "tables" / f"{name}.{ending}", ("id", "question", "answer"), rows)
    (folder / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    organize(Sample(folder, truth).plan)
    return Sample(folder, truth)


@pytest.fixture(name="small")
def _small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrackPlan:
    monkeypatch.chdir(tmp_path)
    table(Path("questions.csv"), ("id", "question", "gold"), THREE)
    put("one.csv", "Ann", "Oslo", "1905")
    put("two.csv", "Bob", "Oslo", "1906")
    return TrackPlan(Path("tables"), Path("out"), "answers", topics="questions.csv", judges=("short",))


THREE = (("1", "Who?", "Ann"), ("2", "Where?", "Oslo"), ("3", "When?", "1905"))


def put(name: str, *answers: str, system: str = "") -> None:
    """A table that answers the first so many of the three questions."""
    head = ("system", "question", "answer")[not system :]
    rows = [
        (system, question, answer)[not system :]
        for (_, question, _), answer in zip(THREE, answers, strict=False)
    ]
    table(Path("tables", name), head, rows)


def changed(plan: TrackPlan, **fields: Any) -> TrackPlan:
    from dataclasses import replace

    return replace(plan, **fields)


def first_errors(plan: TrackPlan) -> dict[str, str]:
    outcome = organize(changed(plan, stage="validate"))
    return {submission.file: submission.first for submission in outcome.submissions if not submission.valid}


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        streams = {member.name.removeprefix("board/"): archive.extractfile(member) for member in archive}
        return {name: stream.read() for name, stream in streams.items() if stream is not None}


@pytest.mark.slow
class TestByLabels:
    def test_intervals_hold_the_truth(self, sample: Sample) -> None:
        rows = leaderboard_of(sample.plan)
        assert [row.run for row in rows[:2]] == ["s11", "s10"]
        for row in rows:
            truth = sample.truth[row.run]
            rank = 1 + sum(value > truth for value in sample.truth.values())
            assert row.rank_low is not None
            assert row.rank_high is not None
            assert row.low <= truth <= row.high
            assert row.rank_low <= rank <= row.rank_high
            assert row.judged is not None
            assert row.judged < truth  # what `short` misses is right
        widths = [row.rank_high - row.rank_low for row in rows if row.rank_low and row.rank_high]
        assert max(widths) < SYSTEMS - 1  # and they say something

    def test_values_are_those_of_compare(self, sample: Sample) -> None:
        folder = sample.folder
        files = sorted(map(str, (folder / "tables").iterdir()))
        words = ("--questions", folder / "questions.csv", "--gold", folder / "labels.jsonl")
        result = command("compare", *files, *map(str, words), "--gold-chosen", "uniform", "--format", "json")
        values = {row["run"]: row for row in json.loads(result.out)["values"]}
        for row in leaderboard_of(sample.plan):
            other = values[row.run]
            assert (row.value, row.low, row.high) == (other["value"], other["low"], other["high"])
            assert (row.judged, row.labels) == (other["judged"], other["labels"])
            assert (row.basis, row.corrected_from) == ("people", "judge:short")

    def test_everything_says_so(self, sample: Sample) -> None:
        out = sample.folder / "out"
        basis = "by human labels, corrected from short"
        page = (out / "pages" / "index.html").read_text()
        assert basis in page
        assert f"{LABELS} labels" in page
        assert "bootstrapped" not in page.split("How it was made")[0]
        assert (
            (out / "leaderboard.tsv")
            .read_text()
            .startswith("measure\trank\tfrom\tto\trun\tvalue\tlow\thigh\tqueries\tjudged\tlabels\n")
        )
        words = _words(sample)
        result = command(*words)
        assert f"\n{basis}\nnothing to do; unchanged: {', '.join(STAGES)}" in result.out
        assert result.err == "rageval: judged by short: rubric crag, measure crag_score\n"

    def test_the_archive_holds_the_labels_and_no_hidden_answer(self, sample: Sample) -> None:
        files = contents(sample.folder / "out" / "board.tar.gz")
        assert files["labels/gold-1.jsonl"] == (sample.folder / "labels.jsonl").read_bytes()
        assert len(files["answers.jsonl"].splitlines()) == QUESTIONS * SYSTEMS
        assert "questions.jsonl" not in files  # their right answers are the organizer's to publish
        assert json.loads(files["manifest.json"])["labels_chosen"] == "uniform"
        assert {f"runs/{path.name}" for path in (sample.folder / "tables").iterdir()} < files.keys()

    def test_other_labels_are_scored_anew_and_nobody_judges_again(self, sample: Sample) -> None:
        lines = (sample.folder / "labels.jsonl").read_text().splitlines(keepends=True)
        fewer = sample.folder / "fewer.jsonl"
        fewer.write_text("".join(line for line in lines if '"s00"' not in line))
        messages: list[str] = []
        plan = changed(sample.plan, gold=(str(fewer),))
        assert organize(plan, messages.append).done == ["score", "pages", "archive"]
        (row,) = (row for row in leaderboard_of(plan) if row.run == "s00")
        assert (row.value != row.value, row.rank, row.labels) == (True, None, 0)
        why = "s00: crag_score: no corrected mean: labels for 0 of it (≥ 20 needed)"
        assert f"score: {why}" in messages
        assert "labels for 0 of it" in (sample.folder / "out/pages/index.html").read_text()
        # A run that nobody labeled may have any rank, and push any other down.
        assert max(row.rank_high or 0 for row in leaderboard_of(plan)) == SYSTEMS
        organize(sample.plan)

    def test_a_plan_that_the_track_drew(self, sample: Sample) -> None:
        out = sample.folder / "planned"
        plan = changed(sample.plan, out=out, gold=(), gold_chosen="", label=30)
        organize(changed(plan, stage="pool"))
        drawn = read_plan(str(out / "label.jsonl"))
        assert sorted({run for ask in drawn.asked for run in drawn.systems}) == NAMES
        lines = []
        queries = [ask.query_id for ask in drawn.asked]
        for line in (sample.folder / "out/judgements/crag.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["query_id"] in queries:
                record |= {"judge": "person:bob", "plan": drawn.sha}
                lines.append(
                    {key: record[key] for key in ("query_id", "run_id", "label", "judge", "rubric", "plan")}
                )
        lines.sort(key=lambda line: queries.index(line["query_id"]))
        labels = sample.folder / "planned.jsonl"
        labels.write_text("".join(json.dumps(line) + "\n" for line in lines))
        organize(changed(plan, gold=(str(labels),), gold_chosen=str(out / "label.jsonl")))
        assert {row.labels for row in leaderboard_of(plan)} == {30}
        assert all(abs(row.value - (row.judged or 0)) < 1e-9 for row in leaderboard_of(plan))
        assert "label.jsonl" in contents(out / "board.tar.gz")

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"gold": ()}, "add --gold FILE"),
            ({"track": "run", "measures": "rr", "judges": ()}, "corrects judged answers"),
            ({"judges": ()}, "add --judge JUDGE"),
            ({"gold_chosen": "nowhere"}, "no such file"),
        ],
        ids=["no labels", "runs", "no judge", "no plan"],
    )
    def test_what_does_not_go_together(self, sample: Sample, fields: dict[str, Any], message: str) -> None:
        with pytest.raises((UsageError, InputError), match=message):
            organize(changed(sample.plan, **fields))

    def test_labels_that_correct_nothing_are_refused_before_anybody_judges(self, sample: Sample) -> None:
        few = sample.folder / "few.jsonl"
        lines = (sample.folder / "labels.jsonl").read_text().splitlines(keepends=True)
        few.write_text("".join(lines[:19]))
        plan = changed(sample.plan, gold=(str(few),), out=sample.folder / "none")
        with pytest.raises(InputError, match="labels of at most 19 questions a run, 20 are needed"):
            organize(plan)
        few.write_text('{"query_id": "1", "run_id": "mine", "answer": "Answers are no labels."}\n')
        with pytest.raises(InputError, match="labels of at most 0 questions a run"):
            organize(plan)
        assert not plan.out.exists()


def _words(sample: Sample) -> tuple[str, ...]:
    plan = sample.plan
    return (
        *("track", str(plan.folder), "--track", "answers", "--judge", "short", "--topics", str(plan.topics)),
        *("--gold", plan.gold[0], "--gold-chosen", "uniform", "-o", str(plan.out)),
    )


class TestTables:
    @pytest.mark.slow
    def test_twice_does_nothing_and_a_changed_table_is_judged_anew(self, small: TrackPlan) -> None:
        assert organize(small).done == list(STAGES)
        assert organize(small).done == []
        put("two.csv", "Ann", "Oslo", "1906")
        assert organize(small).done == list(STAGES)
        assert [row.run for row in leaderboard_of(small)] == ["one", "two"]
        # Other questions with the same tables: what they were joined to is another.
        table(Path("questions.csv"), ("id", "question", "gold"), [("x", *THREE[0][1:]), *THREE[1:]])
        assert organize(small).done == list(STAGES)
        assert {row["query_id"] for row in lines_of("out/answers.jsonl")} == {"x", "2", "3"}

    @pytest.mark.slow
    def test_what_is_broken_is_listed_and_left_out(self, small: TrackPlan) -> None:
        Path("tables/noise").write_bytes(b"\0\xff" * 50)
        Path("tables/notes.txt").write_text("hand in by Friday\n")
        Path("tables/ranks").write_text("1 Q0 d1 1 2.0 a\n")
        table(Path("tables/reply.csv"), ("question", "reply"), [("Who?", "Ann")])
        table(Path("tables/empty.csv"), ("question", "answer"), [])
        table(
            Path("tables/both.csv"),
            ("model", "prompt", "response"),
            [("a", "Who?", "Ann"), ("b", "Who?", "Bob")],
        )
        table(Path("tables/why.csv"), ("question", "answer"), [("Who?", "Ann"), ("Why?", "So")])
        table(Path("tables/again.csv"), ("question", "answer"), [("Who?", "Ann"), ("Who?", "Bob")])
        table(Path("tables/other.csv"), ("id", "question", "answer"), [("1", "Why?", "Ann")])
        errors = first_errors(small)
        assert errors.keys() == {
            *("noise", "notes.txt", "ranks", "reply.csv", "empty.csv", "both.csv", "why.csv", "again.csv"),
            "other.csv",
        }
        assert "expected answers, or a table of them" in errors["ranks"]
        assert "none is called as a question and as an answer" in errors["reply.csv"]
        assert errors["both.csv"] == "expected the answers of one system, found 2: a, b"
        assert errors["why.csv"] == "answers 1 question that the topics do not have: Why?"
        assert errors["again.csv"] == "answers 1 question more than once: 1"
        assert errors["other.csv"] == errors["why.csv"]  # its id is that of another question
        organize(small)
        assert {row.run for row in leaderboard_of(small)} == {"one", "two"}
        with pytest.raises(InputError, match="9 of 11 files are not valid"):
            organize(changed(small, strict=True))

    @pytest.mark.slow
    def test_a_question_without_an_answer_is_one_that_failed(self, small: TrackPlan) -> None:
        put("two.csv", "Ann", "Oslo")
        messages: list[str] = []
        with pytest.raises(MissingJudgements, match=r"1 judgements failed \(1 answers are not there\)"):
            organize(small, messages.append)
        assert "validate: questions that a run does not answer count as failed: two (1)" in messages
        (warning,) = lines_of("out/findings.jsonl")
        assert warning["message"] == "no answer to 1 of 3 questions, which count as failed: 3"
        organize(changed(small, on_missing="worst"))
        values = {row.run: row.value for row in leaderboard_of(small)}
        assert values == {"one": 1, "two": pytest.approx(1 / 3)}

    @pytest.mark.slow
    def test_systems_of_one_name_are_called_after_their_files(self, small: TrackPlan) -> None:
        put("a/table.csv", "Ann", "Oslo", "1905")
        put("b/table.csv", "Ann", "Oslo", "1905")
        put("named.csv", "Ann", "Oslo", "1905", system="Best")
        put("also.csv", "Ann", "Oslo", "1905", system="best")
        runs = {
            submission.file: submission.run for submission in organize(changed(small, stage="validate")).valid
        }
        assert runs["a/table.csv"] == "a/table"
        assert runs["b/table.csv"] == "b/table"
        assert (runs["named.csv"], runs["also.csv"]) == ("named", "also")
        put("also.tsv", "Ann", "Oslo", "1905")
        runs = {
            submission.file: submission.run for submission in organize(changed(small, stage="validate")).valid
        }
        assert (runs["also.csv"], runs["also.tsv"]) == ("also.csv", "also")

    @pytest.mark.slow
    def test_teams(self, small: TrackPlan) -> None:
        Path("teams").write_text("two.csv\tTeam B\n")
        plan = changed(small, teams=Path("teams"))
        organize(plan)
        assert [row.run for row in leaderboard_of(plan)] == ["one", "Team B"]

    @pytest.mark.slow
    def test_plain_answers_and_parquet_beside_tables(self, small: TrackPlan) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        columns = {"question": [row[1] for row in THREE], "answer": ["Ann", "Bergen", "1905"]}
        parquet.write_table(pyarrow.table(columns), "tables/three.parquet")
        answers = [{"query_id": query, "run_id": "four", "answer": None} for query, *_ in THREE]
        answers[0]["answer"] = "Ann"
        Path("tables/four.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
        organize(changed(small, on_missing="worst"))
        values = {row.run: row.value for row in leaderboard_of(small)}
        assert values["three"] == pytest.approx(1 / 3)
        assert values["four"] == pytest.approx(-1 / 3)

    @pytest.mark.slow
    def test_right_answers_beside_the_answers(self, small: TrackPlan) -> None:
        plan = changed(small, topics=None)
        with pytest.raises(InputError, match=r"no right answers.*--topics FILE or to the tables"):
            organize(plan)
        rows = [(question, gold, gold) for _, question, gold in THREE]
        table(Path("tables/one.csv"), ("question", "answer", "gold"), rows)
        organize(plan)
        assert {row.run: row.value for row in leaderboard_of(plan)} == {
            "one": 1,
            "two": pytest.approx(-1 / 3),
        }
        assert "questions.jsonl" in contents(Path("out/board.tar.gz"))
        wrong = [(question, gold, "no") for _, question, gold in THREE]
        table(Path("tables/two.csv"), ("question", "answer", "gold"), wrong)
        with pytest.raises(InputError, match="the right answers to this question differ from those in"):
            organize(plan)
        Path("tables/two.csv").unlink()
        Path("tables/two.jsonl").write_text('{"query_id": "9", "run_id": "two", "answer": "Ann"}\n')
        with pytest.raises(
            InputError, match=r"two.jsonl: no table has the question of '9'; add --topics FILE"
        ):
            organize(plan)

    @pytest.mark.slow
    def test_another_rubric_and_measure(self, small: TrackPlan) -> None:
        messages: list[str] = []
        organize(changed(small, rubrics=("crag",), measures="accuracy"), messages.append)
        assert not any("rubric" in line for line in messages)
        assert {row.measure for row in leaderboard_of(small)} == {"crag_share"}


def lines_of(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


class TestValidate:
    def test_a_table_that_is_fine_and_one_that_is_not(self, small: TrackPlan) -> None:
        result = command("validate", "tables/one.csv", "--track", "answers", "--topics", "questions.csv")
        assert (result.code, result.out) == (0, "tables/one.csv: 3 answers, fine\n")
        put("two.csv", "Ann")
        result = command("validate", "tables/two.csv", "--track", "answers", "--topics", "questions.csv")
        assert result.code == 0
        assert "two.csv:1: warning: no answer to 2 of 3 questions, which count as failed: 2, 3" in result.out
        assert_refused(
            command("validate", "questions.csv", "--track", "answers"), "as an answer of a system are"
        )
        assert_refused(
            command("validate", "tables/one.csv", "--track", "answers", "--fix", "x"), "a table of answers"
        )

    def test_answers_of_no_track_are_told_the_way(self) -> None:
        plain = io.BytesIO(b'{"query_id": "1", "run_id": "a", "answer": "Ann"}\n')
        (finding, *_) = validate(plain, "rag25")
        assert finding.message.endswith("found plain answers; validate them with --track answers")
        plain.seek(0)
        assert len(validate(plain, "answers")) == 0
