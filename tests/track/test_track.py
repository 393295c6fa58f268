"""`rageval track`: from files to an archive; what is invalid is left out, what is done is not done again."""

from __future__ import annotations

import json
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fair_judge import fair
from llm_server import LlmServer
from rageval.building import read_pool
from rageval.comparison.leaderboards import standings
from rageval.errors import BudgetReached, InputError, MissingJudgements, UsageError
from rageval.files.plans import read_plan
from rageval.files.scores import read_leaderboard
from rageval.judges.panel import Settings
from rageval.scoring.evaluation import evaluate
from rageval.track import Organized, TrackPlan, leaderboard_of, organize
from rageval.track.stages import STAGES, _copied_lines
from test_bad_input import assert_refused, command

pytestmark = pytest.mark.slow

TOPICS = ("1", "2", "3", "4")
NUGGETS = [("vital", "leaves hold green chlorophyll"), ("okay", "frost comes 12 nights")]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))


def put_run(name: str, tag: str, good: int, folder: str = "runs") -> None:
    """A run that has the relevant document first for so many of the topics."""
    rows = []
    for index, topic in enumerate(TOPICS):
        first, second = ("rel", "non") if index < good else ("non", "rel")
        rows += [f"{topic} Q0 {first}{topic} 1 2 {tag}\n", f"{topic} Q0 {second}{topic} 2 1 {tag}\n"]
    Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
    Path(folder, name).write_text("".join(rows))


def put_answers(
    name: str, run: str, says: int, folder: str = "answers", topics: tuple[str, ...] = TOPICS
) -> None:
    """Answers that say the first so many of the nuggets."""
    lines = []
    for topic in topics:
        parts = [
            {"text": f"The {text}.", "citations": [index]} for index, (_, text) in enumerate(NUGGETS[:says])
        ]
        cited = [f"msmarco_v2.1_doc_00_{topic}#{index}_{index}" for index in range(len(parts))]
        other = [{"text": "Nothing else.", "citations": []}]
        metadata = {"team_id": "t", "run_id": run, "narrative_id": topic}
        lines.append(
            json.dumps({"metadata": metadata, "references": cited, "answer": [*parts, *other]}) + "\n"
        )
    Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
    Path(folder, name).write_text("".join(lines))


@pytest.fixture(name="runs")
def _runs() -> TrackPlan:
    for name, tag, good in (("a.run", "best", 4), ("team/b.run", "middle", 2), ("c.run", "worst", 0)):
        put_run(name, tag, good)
    Path("qrels").write_text("".join(f"{topic} 0 rel{topic} 1\n" for topic in TOPICS))
    Path("topics").write_text("".join(f"{topic}\tWhat is {topic}?\n" for topic in TOPICS))
    return TrackPlan(Path("runs"), Path("out"), "run", topics="topics", qrels="qrels", measures="rr,recall@1")


@pytest.fixture(name="answers")
def _answers() -> TrackPlan:
    for name, says in (("one", 1), ("two", 2), ("none", 0)):
        put_answers(f"{name}.jsonl", name, says)
    banks = [
        {"qid": topic, "query": "", "nuggets": [{"text": text, "importance": how} for how, text in NUGGETS]}
        for topic in TOPICS
    ]
    Path("nuggets").write_text("".join(json.dumps(bank) + "\n" for bank in banks))
    Path("topics").write_text("".join(f"{topic}\tWhat is <i>{topic}</i>?\n" for topic in TOPICS))
    return TrackPlan(
        Path("answers"),
        Path("out"),
        "rag25",
        topics="topics",
        nuggets="nuggets",
        rubrics=("nugget-assignment",),
        judges=("lexical",),
        measures="lexical_recall",
    )


def changed(plan: TrackPlan, **fields: Any) -> TrackPlan:
    import dataclasses

    return dataclasses.replace(plan, **fields)


def contents(path: Path) -> dict[str, bytes]:
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member)
            assert stream is not None
            assert (member.mtime, member.uid, member.mode) == (0, 0, 0o644)
            files[member.name.removeprefix("board/")] = stream.read()
    return files


class TestRuns:
    def test_a_run_of_other_topics_does_not_stop_the_others(self, runs: TrackPlan) -> None:
        Path("runs/odd.run").write_text("x1 Q0 d 1 1 odd\nx2 Q0 d 1 1 odd\n")
        outcome = organize(runs)
        assert [
            (submission.run, submission.valid)
            for submission in outcome.submissions
            if submission.file == "odd.run"
        ] == [("", False)]
        assert len(leaderboard_of(runs)) == 6
        unasked = changed(runs, topics=None, out=Path("unasked"))
        (odd,) = (submission for submission in organize(unasked).submissions if not submission.valid)
        assert odd.first == "none of its 2 topics, such as 'x1', is judged; expected topics such as '1'"
        assert leaderboard_of(unasked) == leaderboard_of(runs)

    def test_topics_that_a_run_lacks_are_said(self, runs: TrackPlan) -> None:
        for number in range(7):
            Path(f"runs/short{number}.run").write_text(f"{TOPICS[0]} Q0 rel{TOPICS[0]} 1 1 short{number}\n")
        messages: list[str] = []
        organize(runs, messages.append)
        assert messages[-2] == (
            "score: topics that a run lacks count as 0: short0 (3), short1 (3), short2 (3), short3 (3),"
            " short4 (3) and 2 more runs"
        )
        assert messages[-1].startswith("score: the same value on every topic: short0, short1,")

    def test_what_is_wrong_with_the_topics_is_no_fault_of_the_runs(self, runs: TrackPlan) -> None:
        Path("topics").write_text('{"qid": "1", "nuggets": []}\n')
        with pytest.raises(InputError, match=r"^topics:1: expected questions"):
            organize(runs)

    def test_from_files_to_an_archive(self, runs: TrackPlan) -> None:
        Path("runs/broken.run").write_text("1 Q0 d 1\n")
        Path("runs/.hidden").write_text("")
        outcome = organize(runs)
        assert outcome.done == list(STAGES)
        assert [
            (submission.file, submission.run, submission.valid) for submission in outcome.submissions
        ] == [
            ("a.run", "best", True),
            ("broken.run", "", False),
            ("c.run", "worst", True),
            ("team/b.run", "middle", True),
        ]
        rows = leaderboard_of(runs)
        assert [(row.run, row.value, row.rank) for row in rows[:3]] == [
            ("best", 1.0, 1),
            ("middle", 0.75, 2),
            ("worst", 0.5, 3),
        ]
        files = {"best": "a.run", "worst": "c.run", "middle": "team/b.run"}
        scores = [evaluate("rr,recall@1", f"runs/{file}", "qrels") for file in files.values()]
        named = [
            row._replace(run=next(run for run, file in files.items() if file.endswith(row.run)))
            for row in standings(scores)
        ]
        assert [row[:-2] for row in named] == [row[:-2] for row in rows]
        values = read_leaderboard("out/scores.jsonl")
        assert {row.value for row in values if row[:3] == ("middle", "3", "rr")} == {0.5}
        assert read_pool(Path("out/pool.jsonl"))["1"]["rel1"] == {"best": 1, "worst": 2, "middle": 1}

    def test_the_archive_has_the_same_bytes_wherever_it_is_made(
        self, runs: TrackPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organize(runs)
        organize(changed(runs, out=Path("elsewhere/deeper")))
        one, other = (Path(folder, "board.tar.gz").read_bytes() for folder in ("out", "elsewhere/deeper"))
        assert one == other
        files = contents(Path("out/board.tar.gz"))
        assert {"manifest.json", "CITATION.cff", "signatures.txt", "runs/team/b.run"} <= set(files)
        manifest = json.loads(files["manifest.json"])
        import hashlib

        assert manifest["files"] == {
            name: hashlib.sha256(content).hexdigest()
            for name, content in files.items()
            if name != "manifest.json"
        }
        assert files[manifest["qrels"]] == Path("qrels").read_bytes()
        assert manifest["withheld"] == {
            "inputs/topics": hashlib.sha256(Path("topics").read_bytes()).hexdigest()
        }
        assert files["runs/a.run"] == Path("runs/a.run").read_bytes()
        assert b"rr|rel:1" in files["signatures.txt"]
        assert not any(str(tmp_path).encode() in content for content in files.values())
        monkeypatch.chdir("/")
        organize(
            changed(
                runs,
                **{name: tmp_path / getattr(runs, name) for name in ("folder", "topics", "qrels")},
                out=tmp_path / "far",
            )
        )
        assert (tmp_path / "far/board.tar.gz").read_bytes() == one

    def test_documents_that_judges_judged(self, runs: TrackPlan) -> None:
        judgements = [
            {"query_id": topic, "run_id": "documents", "item_id": f"{kind}{topic}", "label": str(grade)}
            for topic in TOPICS
            for kind, grade in (("rel", 3), ("non", 0))
        ]
        judgements[1] |= {"status": "error"}  # a failed judgement is missing, never a grade
        del judgements[1]["label"]
        rows = [{"grade": int(row["label"]), **row} if "label" in row else row for row in judgements]
        Path("judged").write_text("".join(json.dumps({"judge": "m", **row}) + "\n" for row in rows))
        Path("corpus").write_text(
            "".join(json.dumps({"id": f"{k}{t}", "text": "x"}) + "\n" for k in ("rel", "non") for t in TOPICS)
        )
        plan = changed(
            runs, qrels=None, passages="corpus", rubrics=("relevance",), judges=("frozen:judged",), depth=1
        )
        with pytest.raises(MissingJudgements, match="1 judgements failed: run the command again"):
            organize(plan)
        outcome = organize(changed(plan, on_missing="skip"))
        assert outcome.kept == ["validate", "pool"]
        assert [row.run for row in leaderboard_of(plan)[:3]] == ["best", "middle", "worst"]

    def test_a_run_of_which_nothing_was_judged_has_no_rank(self, runs: TrackPlan) -> None:
        Path("runs/lone.run").write_text("4 Q0 rel4 1 1 lone\n")
        judgements = [
            {"query_id": topic, "run_id": "documents", "item_id": f"{kind}{topic}", "judge": "m"}
            | ({"status": "error"} if topic == "4" else {"label": str(grade), "grade": grade})
            for topic in TOPICS
            for kind, grade in (("rel", 3), ("non", 0))
        ]
        Path("judged").write_text("".join(json.dumps(row) + "\n" for row in judgements))
        texts = [{"id": f"{kind}{topic}", "text": "x"} for kind in ("rel", "non") for topic in TOPICS]
        Path("corpus").write_text("".join(json.dumps(row) + "\n" for row in texts))
        judged = {"passages": "corpus", "rubrics": ("relevance",), "judges": ("frozen:judged",)}
        plan = changed(runs, qrels=None, on_missing="skip", stage="score", **judged)
        lines: list[str] = []
        organize(plan, lines.append)
        assert [row.run for row in leaderboard_of(plan)[:3]] == ["best", "middle", "worst"]
        assert any(line.startswith("score: lone.run has no scores and no rank: ") for line in lines)


class TestAnswers:
    def test_judged_offline(self, answers: TrackPlan) -> None:
        messages: list[str] = []
        organize(answers, messages.append)
        assert [(row.run, row.value) for row in leaderboard_of(answers)] == [
            ("two", 1.0),
            ("one", 0.5),
            ("none", 0.0),
        ]
        assert messages[0] == "pool: 8 documents of 4 topics, cited by 3 runs"
        assert read_pool(Path("out/pool.jsonl"))["2"] == {
            "msmarco_v2.1_doc_00_2#0_0": {"one": 1, "two": 1},
            "msmarco_v2.1_doc_00_2#1_1": {"two": 2},
        }
        page = Path("out/pages/topic-2.html").read_text()
        assert "What is &lt;i&gt;2&lt;/i&gt;?" in page
        assert "leaves hold green chlorophyll" in page
        files = contents(Path("out/board.tar.gz"))
        assert files["inputs/nuggets"] == Path("nuggets").read_bytes()
        assert len(files["judgements/nugget-assignment.jsonl"].splitlines()) == 3 * 4 * 2

    def test_what_people_judged_and_what_is_missing(self, answers: TrackPlan) -> None:
        plan = changed(answers, rubrics=(), judges=(), measures="v_strict,a_strict")
        with pytest.raises(MissingJudgements, match="nothing is judged yet"):
            organize(plan)
        rows = [
            {
                "query_id": topic,
                "run_id": run,
                "aspect": str(number),
                "label": "support" if number < says else "not_support",
                "judge": "person:ann",
                "importance": NUGGETS[number][0],
            }
            for topic in TOPICS
            for run, says in (("one", 1), ("two", 2), ("none", 0))
            for number in range(2)
        ]
        rows[-1] |= {"status": "error"}
        del rows[-1]["label"]
        withdrawn = {
            "query_id": "1",
            "run_id": "withdrawn",
            "aspect": "0",
            "status": "error",
            "judge": "person:ann",
        }
        Path("people").write_text("".join(json.dumps(row) + "\n" for row in [withdrawn, *rows]))
        plan = changed(plan, judgements=("people",))
        with pytest.raises(MissingJudgements, match="none: 1 judgement"):
            organize(plan)
        organize(changed(plan, on_missing="worst"))
        values = {(row.measure, row.run): row.value for row in leaderboard_of(plan)}
        assert [values["nugget_recall", run] for run in ("two", "one", "none")] == [1, 0.5, 0]
        page = Path("out/pages/topic-4.html").read_text()
        assert page.count('<td class="mark">✓</td>') == 3
        assert page.count('<td class="mark">–</td>') == 2
        assert page.count('<td class="mark">?</td>') == 1

    def test_a_plan_of_labels_for_people(self, answers: TrackPlan) -> None:
        organize(changed(answers, label=3, stage="pool"))
        plan = read_plan("out/label.jsonl")
        assert len(plan.asked) == 3
        assert sum(query.judgements for query in plan.asked) == 3 * 3 * 2
        assert plan.systems == ("none", "one", "two")
        assert organize(changed(answers, label=3)).kept == ["validate", "pool"]
        organize(answers)  # without --label people still have their plan
        assert read_plan("out/label.jsonl") == plan
        with pytest.raises(UsageError, match="a plan must not change once labeling starts"):
            organize(changed(answers, label=2))
        assert read_plan("out/label.jsonl") == plan

    def test_reports_cite_and_have_limits_of_their_own(self, answers: TrackPlan) -> None:
        Path("reports").mkdir()
        for run, text in (("short", "Leaves."), ("long", "Leaves hold green chlorophyll.")):
            metadata = {"team_id": "t", "run_id": run, "topic_id": "1"}
            parts = [{"text": text, "citations": ["d1"]}]
            report = {"metadata": metadata, "responses": parts, "references": ["d1"]}
            Path("reports", run).write_text(json.dumps(report) + "\n")
        topic = {"topic_id": "1", "title": "Leaves", "problem_statement": "Why?", "limit": 10}
        Path("requests").write_text(json.dumps(topic) + "\n")
        plan = changed(answers, folder=Path("reports"), track="report", topics="requests", stage="pool")
        outcome = organize(plan)
        assert [
            (submission.run, submission.valid, submission.warnings) for submission in outcome.submissions
        ] == [
            ("long", True, 1),  # longer than the topic allows
            ("short", True, 0),
        ]
        assert read_pool(Path("out/pool.jsonl")) == {"1": {"d1": {"long": 1, "short": 1}}}

    def test_questions_are_validated_and_no_more(self, answers: TrackPlan) -> None:
        Path("asked").mkdir()
        rows = [f"msmarco_v2.1_doc_00_1\tteam\trun\t{rank}\tWho?\n" for rank in range(1, 11)]
        Path("asked/run").write_text("".join(rows))
        plan = changed(answers, folder=Path("asked"), track="dragun25-questions", topics=None)
        (submission,) = organize(changed(plan, stage="validate")).submissions
        assert (submission.run, submission.valid, submission.topics) == ("run", True, 1)
        with pytest.raises(UsageError, match="has questions, not answers; use --stage validate"):
            organize(plan)

    def test_a_model_is_asked_once_and_a_budget_goes_on(
        self, answers: TrackPlan, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with LlmServer(fair) as server:
            monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "0" * 30)
            monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
            little = Settings(store="store.sqlite", canaries=0, max_calls=5, concurrency=1)
            plan = changed(answers, judges=("openai:m",), measures="v_strict", settings=little)
            with pytest.raises(BudgetReached):
                organize(plan)
            asked = len(server.requests)
            assert asked == 5
            plan = changed(plan, settings=Settings(store="store.sqlite", canaries=0))
            outcome = organize(plan)
            assert outcome.kept == ["validate", "pool"]
            assert len(server.requests) == 3 * 4  # an answer a call, none of them twice
            organize(changed(plan, out=Path("elsewhere")))
            assert len(server.requests) == 3 * 4
            assert leaderboard_of(plan)[0].basis == "judge:openai:m"

    def test_one_file_one_run(self, answers: TrackPlan) -> None:
        lines = Path("answers/one.jsonl").read_text() + Path("answers/two.jsonl").read_text()
        Path("answers/both.jsonl").write_text(lines)
        outcome = organize(changed(answers, stage="validate"))
        assert [submission.valid for submission in outcome.submissions] == [False, True, True, True]


class TestAgain:
    def test_what_is_done_is_not_done_again(self, answers: TrackPlan) -> None:
        organize(answers)
        outcome = organize(answers)
        assert (outcome.done, outcome.kept) == ([], list(STAGES))

    @pytest.mark.parametrize(
        ("change", "redone"),
        [
            ({"measures": "lexical_recall,length"}, ["score", "pages", "archive"]),
            ({"title": "Another"}, ["pages", "archive"]),
            ({"depth": 5}, ["pool"]),
        ],
        ids=["measure", "title", "depth"],
    )
    def test_what_changed_is(self, answers: TrackPlan, change: dict[str, Any], redone: list[str]) -> None:
        organize(answers)
        assert organize(changed(answers, **change)).done == redone

    def test_other_nuggets_are_judged_anew(self, answers: TrackPlan) -> None:
        organize(answers)
        Path("nuggets").write_text(Path("nuggets").read_text().replace("frost", "ice"))
        assert organize(answers).done == ["judge", "score", "pages", "archive"]

    def test_a_file_that_was_touched_is_made_again(self, answers: TrackPlan) -> None:
        organize(answers)
        content = Path("out/leaderboard.tsv").read_bytes()
        Path("out/leaderboard.tsv").write_text("mine\n")
        Path("out/pages/topic-1.html").unlink()
        assert organize(answers).done == ["score", "pages"]
        assert Path("out/leaderboard.tsv").read_bytes() == content
        assert Path("out/pages/topic-1.html").exists()

    def test_standings_of_other_runs_are_refused(self, runs: TrackPlan) -> None:
        organize(runs)
        place, ledger = Path("out/leaderboard.jsonl"), Path("out/stages.json")
        before = place.read_text()
        after = before.replace("worst", "other")
        place.write_text(after)
        old, new = (sha256(text.encode()).hexdigest() for text in (before, after))
        ledger.write_text(ledger.read_text().replace(old, new))
        with pytest.raises(InputError, match=r"leaderboard\.jsonl: ranks the run 'other'"):
            organize(changed(runs, title="Another"))

    def test_a_run_that_is_withdrawn_leaves_no_page(self, answers: TrackPlan) -> None:
        organize(answers)
        assert Path("out/pages/run-none.html").exists()
        Path("answers/none.jsonl").unlink()
        organize(answers)
        assert not Path("out/pages/run-none.html").exists()
        files = contents(Path("out/board.tar.gz"))
        assert not any("none" in name for name in files)
        assert b'"none"' not in b"".join(files.values())

    def test_an_invalid_file_changes_no_score(self, answers: TrackPlan) -> None:
        organize(answers)
        Path("answers/broken.jsonl").write_text("{}\n")
        assert organize(answers).done == ["validate", "pages", "archive"]

    def test_an_archive_holds_no_stale_file(self, answers: TrackPlan) -> None:
        """A folder that was used twice and a new one give the same bytes."""
        organize(changed(answers, measures="length"))
        organize(answers)
        organize(changed(answers, out=Path("new")))
        assert Path("out/board.tar.gz").read_bytes() == Path("new/board.tar.gz").read_bytes()


class TestHostile:
    def test_names_that_would_lead_elsewhere_or_run(self, runs: TrackPlan) -> None:
        put_run("x.run", "../../<script>alert(1)</script>", 3)
        put_run("y.run", "script-alert-1-script-b60a51d3", 3)  # what the page of the other is called
        organize(runs)
        names = {path.name for path in Path("out/pages").iterdir()}
        assert len(names) == 1 + 4 + 5
        assert len({name.lower() for name in names}) == len(names)
        for path in Path("out/pages").iterdir():
            page = path.read_text()
            assert "<script" not in page
            assert "default-src &#39;none&#39;" in page
        assert "&lt;script&gt;alert(1)" in Path("out/pages/index.html").read_text()
        assert {path.name for path in Path().iterdir()} == {"out", "qrels", "runs", "topics"}

    @pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"[" * 100_000, b'{"a": 1}\n', b"\xff\xfe\n"])
    def test_files_that_are_anything_are_listed(self, answers: TrackPlan, content: bytes) -> None:
        Path("answers/odd").write_bytes(content)
        outcome = organize(changed(answers, stage="validate"))
        (odd,) = (submission for submission in outcome.submissions if not submission.valid)
        assert odd.file == "odd"
        assert odd.first

    def test_a_ledger_that_is_no_ledger_is_not_believed(self, answers: TrackPlan) -> None:
        organize(answers)
        for text in ("[]", "{", '{"score": 5}', '{"score": {"files": []}}'):
            Path("out/stages.json").write_text(text)
            assert organize(answers).done == list(STAGES)
        Path("precious").write_text("x")
        Path("out/stages.json").write_text(json.dumps({"pages": {"key": "", "files": {"../precious": "x"}}}))
        organize(answers)
        assert Path("precious").exists()

    def test_submissions_that_somebody_changed_are_told(self, answers: TrackPlan) -> None:
        organize(answers)
        path = Path("out/submissions.jsonl")
        for text in ('{"file": 5}', "[]", "", '{"file":'):
            before = sha256(path.read_bytes()).hexdigest()
            path.write_text(f"{text}\n")
            ledger = Path("out/stages.json").read_text()
            Path("out/stages.json").write_text(ledger.replace(before, sha256(path.read_bytes()).hexdigest()))
            with pytest.raises(InputError, match=r"out/submissions\.jsonl"):
                organize(answers)


class TestCommand:
    WORDS = (
        "track",
        "answers",
        "--track",
        "rag25",
        "--topics",
        "topics",
        "--nuggets",
        "nuggets",
        "-o",
        "out",
    )
    JUDGED = ("--rubric", "nugget-assignment", "--judge", "lexical", "-m", "lexical_recall")

    def test_the_table_and_the_leaderboard(self, answers: TrackPlan, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("answers/broken.jsonl").write_text("{}\n")
        monkeypatch.setenv("COLUMNS", "80")
        result = command(*self.WORDS, *self.JUDGED)
        assert result.code == 0
        printed = " ".join(result.out.split())
        assert "broken.jsonl no 0 " in printed
        assert "3 of 4 files are valid" in result.out
        assert "two 1.0000 " in printed
        assert "done: validate, pool, judge, score, pages, archive; in out" in result.out
        repeat = command(*self.WORDS, *self.JUDGED)
        assert "nothing to do; unchanged: validate, pool, judge, score, pages, archive" in repeat.out

    def test_exit_codes(self, answers: TrackPlan) -> None:
        assert command(*self.WORDS, "--stage", "validate").code == 0
        nothing = command(*self.WORDS, "-m", "v_strict")
        assert (nothing.code, "3 of 3 files are valid" in nothing.out) == (3, True)
        Path("answers/broken.jsonl").write_text("{}\n")
        strict = command(*self.WORDS, "--stage", "validate", "--strict")
        assert (strict.code, "\nbroken.jsonl " in strict.out) == (2, True)
        for path in Path("answers").iterdir():
            path.write_text("{}\n")
        lost = command(*self.WORDS, "--stage", "pool")
        assert (lost.code, lost.err) == (2, "rageval: answers: none of 4 files is valid\n")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--stage", "score"), "add -m MEASURES"),
            (("--rubric", "nugget-assignment", "-m", "v_strict"), "--rubric and --judge belong together"),
            (("-m", "ndcg@10"), "scores runs, which does not fit --track rag25"),
            (("-m", "v_strict", "--qrels", "topics"), "takes --judgements FILE"),
            (("-o", "answers/out", "--stage", "pool"), "must not be inside the folder of runs"),
            (("-o", ".", "--stage", "pool"), "must not be inside the folder of runs"),
            (("-o", "topics", "--stage", "pool"), "is a file, expected a folder"),
            (("-o", "other", "--stage", "pool"), "holds other files"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
    )
    def test_what_does_not_go_together(
        self, answers: TrackPlan, words: tuple[str, ...], message: str
    ) -> None:
        Path("other").mkdir()
        Path("other/mine").write_text("x")
        start = self.WORDS[: self.WORDS.index("-o")] if "-o" in words else self.WORDS
        assert_refused(command(*start, *words), message)
        assert Path("other/mine").read_text() == "x"

    def test_a_folder_without_runs(self, answers: TrackPlan) -> None:
        Path("empty").mkdir()
        for name, message in (("empty", "has no files"), ("nowhere", "no such folder")):
            with pytest.raises(InputError, match=message):
                organize(changed(answers, folder=Path(name)))


def test_a_track_that_nobody_knows(answers: TrackPlan) -> None:
    with pytest.raises(UsageError, match="track 'rag1999': expected one of"):
        organize(changed(answers, track="rag1999"))


def test_what_is_there_before_anything_was_done(runs: TrackPlan) -> None:
    assert Organized().valid == []
    with pytest.raises(UsageError, match="stage 'x': expected one of"):
        organize(changed(runs, stage="x"))


def test_a_topic_that_is_unjudged_for_all_runs_is_missing(answers: TrackPlan) -> None:
    organize(changed(answers, stage="judge"))
    rows = Path("out/judgements/nugget-assignment.jsonl").read_text().splitlines(keepends=True)
    Path("given").write_text("".join(row for row in rows if json.loads(row)["query_id"] != TOPICS[0]))
    plan = changed(answers, out=Path("fewer"), rubrics=(), judges=(), judgements=("given",))
    with pytest.raises(MissingJudgements):
        organize(plan)


def test_unjudged_topics_of_runs_are_counted(runs: TrackPlan) -> None:
    Path("qrels").write_text("".join(f"{topic} 0 rel{topic} 1\n" for topic in TOPICS[1:]))
    messages: list[str] = []
    organize(runs, messages.append)
    unjudged = f"1 of {len(TOPICS)} topics are unjudged"
    assert any(unjudged in line for line in messages)


@pytest.mark.parametrize("path", ["given", Path("given")])
def test_judgements_of_runs_that_are_left_out_are_counted(path: str | Path) -> None:
    lines = ['{"run_id": "a"}', '{"run_id": "b"}']
    Path("given").write_text("\n".join(lines))
    messages: list[str] = []
    assert list(_copied_lines(path, ["a"], messages.append)) == lines[:1]
    assert messages == ["judge: 1 lines of given are of runs that are not scored, and are left out"]
