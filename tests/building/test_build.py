"""`rageval collection build` from the command line to a server: twelve questions, 300 documents."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import ir_measures
import pytest

import rageval
from building_samples import KEPT, WITHOUT_A_NUGGET, WITHOUT_DOCUMENT, by_rule, corpus, write_samples
from llm_server import Asked, LlmServer, Saying, openai_reply
from rageval.building.collection import _FILES, SETTINGS, Index, _read_manifest, changed
from rageval.building.pools import run_lines
from rageval.files.questions import read_questions
from test_bad_input import RAGEVAL, Outcome, assert_refused, command

pytestmark = pytest.mark.slow

FILES_AND_MANIFEST = (*_FILES, "manifest.json", "steps/support.jsonl", "steps/nuggets.jsonl")
JUDGE = ("--judge", "openai:m", "--quiet")
BUILD = ("collection", "build", "questions.jsonl", "--corpus", "corpus.jsonl", *JUDGE)
WRITING = 3 * 12  # nuggets, sub-questions, closed-book answers
SUPPORT = 34  # calls for the pool of 12 questions, 20 documents each
REPORT = """12 questions
 -2 no relevant document (16.7 %)
 -3 an unsupported nugget (25.0 %)
  7 kept (58.3 %)
written to c; it took 70 calls, 7,000 tokens in, 1,400 out, price unknown
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "0" * 30)
    write_samples(tmp_path)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    with LlmServer(by_rule) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        yield server


def read_topics(path: str) -> dict[str, str]:
    return {question.query_id: question.text for question in read_questions(path)}


def lines(path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def content(folder: str) -> dict[str, bytes]:
    return {name: (Path(folder) / name).read_bytes() for name in FILES_AND_MANIFEST}


def built(*words: str) -> Outcome:
    return command(*BUILD, "-o", "c", *words)


def test_from_questions_to_a_collection_on_which_two_retrievers_are_compared(server: LlmServer) -> None:
    outcome = built()
    assert (outcome.code, outcome.out, outcome.err) == (0, REPORT, "")
    assert len(server.requests) == WRITING + SUPPORT
    queries = read_topics("c/queries.tsv")
    assert list(queries) == KEPT
    assert {str(line["query_id"]): line["verdict"] for line in lines("c/dropped.jsonl")} == {
        **{f"q{7 + index}": "an unsupported nugget" for index in range(len(WITHOUT_A_NUGGET))},
        **{f"q{10 + index}": "no relevant document" for index in range(len(WITHOUT_DOCUMENT))},
    }
    index = Index((str(doc["_id"]), str(doc["text"])) for doc in corpus())
    gold = {line["query_id"]: line["answer"][0] for line in lines("c/questions.jsonl")}  # type: ignore[index]
    half = {query: (text, gold[query])[index % 2] for index, (query, text) in enumerate(queries.items())}
    for name, texts in (("half", half), ("oracle", gold)):
        Path(f"{name}.trec").write_text("\n".join(run_lines(index.run(texts, name))) + "\n")
    scored = command("half.trec", "oracle.trec", "c/qrels.nugget", "-m", "coverage@20,alpha_ndcg@10")
    assert scored.code == 0
    values = {(row[0], row[1].strip()): float(row[3]) for row in map(str.split, _rows(scored.out))}
    assert values["oracle.trec", "coverage@20"] == 1.0  # all pooled documents are judged, all nuggets found
    assert 0.0 < values["half.trec", "coverage@20"] < 1.0
    runs = ("half.trec", "oracle.trec", "c/qrels.nugget", "-m", "coverage@20")
    compared = command("compare", *runs, "--format", "json")
    assert compared.code == 0
    (difference,) = json.loads(compared.out)["pairs"]
    assert difference["difference"] == pytest.approx(1.0 - values["half.trec", "coverage@20"], abs=1e-4)
    reported = command("report", *runs, "--nuggets", "c/nuggets.jsonl", "-o", "report.html")
    assert (reported.code, "wrote report.html" in reported.err) == (0, True)
    page = Path("report.html").read_text(encoding="utf-8")
    assert all(query in page for query in KEPT)
    assert not any(f'"{query}"' in page for query in (*WITHOUT_A_NUGGET, *WITHOUT_DOCUMENT))
    assert str(lines("c/nuggets.jsonl")[0]["nuggets"][0]["text"]) in page  # type: ignore[index]


def _rows(out: str) -> list[str]:
    return [" ".join(part.strip() for part in line.split("\t")) for line in out.splitlines()]


def test_every_artefact_is_read_by_others(server: LlmServer) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    built()
    qrels = list(ir_measures.read_trec_qrels("c/qrels.nugget"))
    ours = list(rageval.read_qrels("c/qrels.nugget"))
    assert {(q.query_id, q.doc_id, q.relevance, q.iteration) for q in qrels} == {tuple(q) for q in ours}
    run = list(ir_measures.read_trec_run("c/steps/fused/nuggets.trec"))
    measure = ir_measures.parse_measure("alpha_nDCG@10")
    theirs = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    assert theirs == pytest.approx(
        rageval.evaluate("alpha_ndcg@10", "c/steps/fused/nuggets.trec", "c/qrels.nugget")[
            "alpha_ndcg@10"
        ].value
    )
    local = ir_datasets.util.LocalDownload
    dataset = ir_datasets.Dataset(
        ir_datasets.formats.TsvQueries(local(Path("c/queries.tsv"))),
        ir_datasets.formats.TrecQrels(local(Path("c/qrels.nugget")), {0: "no support", 1: "support"}),
    )
    assert {query.query_id: query.text for query in dataset.queries_iter()} == read_topics("c/queries.tsv")
    assert len(list(dataset.qrels_iter())) == len(qrels)
    assert rageval.evaluate("coverage@20", "c/steps/fused/nuggets.trec", dataset)["coverage@20"].value == 1.0
    manifest = _read_manifest(Path("c/manifest.json"))
    assert changed(Path("c/manifest.json")) == []
    assert command("doctor", "c").out == "nothing suspicious in 4 files\n"
    assert set(manifest.inputs) == {"questions.jsonl", "corpus.jsonl"}
    assert {name: step["calls"] for name, step in manifest.steps.items()} == {
        **dict.fromkeys(("nuggetize", "sub-questions", "closed-book"), 12),
        "support": SUPPORT,
    }
    assert "which nuggets of information" in manifest.steps["support"]["rubric"]["prompt"]["system"]
    assert manifest.steps["support"]["tokens"] == {"input": 100 * SUPPORT, "output": 20 * SUPPORT}
    Path("c/qrels.nugget").write_text("q0 0 d 1\n")
    assert changed(Path("c/manifest.json")) == ["qrels.nugget"]
    assert "qrels.nugget has changed since" in command("doctor", "c").out


def test_stopped_at_each_stage_and_gone_on(server: LlmServer) -> None:
    assert command(*BUILD, "-o", "whole", "--store", "another.sqlite").code == 0
    calls = len(server.requests)
    goes = 0
    while (outcome := built("--max-calls", "9")).code == 4:
        assert "the limit of 9 calls is reached" in outcome.err
        goes += 1
    assert (outcome.code, outcome.out) == (0, REPORT)
    assert goes == (WRITING + SUPPORT - 1) // 9
    assert len(server.requests) == 2 * calls  # as many as in one go
    assert content("c") == content("whole")
    assert built("--max-calls", "0").code == 0  # nothing is left to ask
    assert content("c") == content("whole")


@pytest.mark.nightly  # any step at which a job is killed: tests/judges/test_faults.py
def test_killed_while_it_asks_it_goes_on(server: LlmServer) -> None:
    assert command(*BUILD, "-o", "whole", "--store", "another.sqlite").code == 0
    calls = len(server.requests)
    server.default = lambda asked: replace(by_rule(asked), delay=0.03)
    with subprocess.Popen([*RAGEVAL, *BUILD, "-o", "c"], stdout=subprocess.DEVNULL) as process:
        while len(server.requests) < calls + WRITING + 20:
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
    time.sleep(0.1)  # until the server has seen the last of it
    assert not Path("c/manifest.json").exists()
    server.default = by_rule
    asked = len(server.requests)
    assert built().out == REPORT
    assert content("c") == content("whole")
    assert len(server.requests) - asked <= SUPPORT - 20 + 16  # what was left, and what was in flight


def test_step_by_step_it_is_the_same_collection(server: LlmServer) -> None:
    built()
    calls = len(server.requests)
    common = ("--questions", "questions.jsonl", "--nuggets", "n.jsonl")
    assert command("collection", "nuggetize", "questions.jsonl", *JUDGE, "-o", "n.jsonl").code == 0
    words = ("collection", "variants", "questions.jsonl", "--nuggets", "n.jsonl", *JUDGE, "-o", "topics")
    assert command(*words).code == 0
    index = Index((str(doc["_id"]), str(doc["text"])) for doc in corpus())
    for setting in SETTINGS:
        assert (
            Path(f"topics/{setting}.tsv").read_bytes() == Path(f"c/steps/topics/{setting}.tsv").read_bytes()
        )
        run = index.run(read_topics(f"topics/{setting}.tsv"), setting)
        Path(f"{setting}.bm25").write_text("\n".join(run_lines(run)) + "\n")
        assert command("collection", "fuse", f"{setting}.bm25", "-o", setting).code == 0
    assert command("collection", "pool", *SETTINGS, "-o", "pool.jsonl").code == 0
    assert Path("pool.jsonl").read_bytes() == Path("c/pool.jsonl").read_bytes()
    words = ("collection", "support", "pool.jsonl", *common, "--corpus", "corpus.jsonl", *JUDGE)
    assert command(*words, "-o", "support.jsonl").code == 0
    assert command("collection", "filter", "support.jsonl", *common, "-o", "steps").out == "".join(
        REPORT.splitlines(keepends=True)[:-1]
    )
    for name in _FILES:
        assert name == "pool.jsonl" or (Path("steps") / name).read_bytes() == (Path("c") / name).read_bytes()
    assert len(server.requests) == calls  # all of it was in the store


def test_a_failed_judgement_is_missing_and_its_question_undecided(server: LlmServer) -> None:
    def refusing(asked: Asked) -> Saying:
        is_support, about = "which documents contain" in str(asked.body), "harbor keep" in str(asked.body)
        return Saying(body=openai_reply(None, refusal="no")) if is_support and about else by_rule(asked)

    server.default = refusing
    outcome = built()
    assert outcome.code == 3
    assert "judgements failed and are missing" in outcome.err
    assert " -1 undecided (8.3 %)" in outcome.out
    assert " -2 an unsupported nugget (16.7 %)" in outcome.out
    assert {line["query_id"]: line["verdict"] for line in lines("c/dropped.jsonl")}["q7"] == "undecided"
    statuses = {line["status"] for line in lines("c/steps/support.jsonl") if line["query_id"] == "q7"}
    assert statuses == {"refused"}
    server.default = by_rule
    assert built("--refresh").out == REPORT


def test_nuggets_that_failed_leave_the_question_out(server: LlmServer) -> None:
    server.default = lambda asked: (
        Saying(body=openai_reply(None, refusal="no"))
        if "grading notes" in str(asked.body) and "anvil" in str(asked.body)
        else by_rule(asked)
    )
    outcome = built()
    assert outcome.code == 3
    assert "nuggetize: nothing for query q0: refused" in outcome.err
    assert " -1 no nuggets (8.3 %)" in outcome.out
    assert "q0" not in read_topics("c/queries.tsv")


@pytest.mark.parametrize(("rule", "stay"), [("strict", 7), ("documents", 10), ("none", 12)])
def test_a_filter_keeps_some_of_the_questions(server: LlmServer, rule: str, stay: int) -> None:
    assert built("--filter", rule).code == 0
    assert len(read_topics("c/queries.tsv")) == stay
    assert _read_manifest(Path("c/manifest.json")).thresholds["filter"] == rule


def test_runs_nuggets_and_judgements_of_ones_own(server: LlmServer) -> None:
    built()
    calls = len(server.requests)
    for name in ("answer", "nuggets"):
        Path(f"{name}.trec").write_bytes(Path(f"c/steps/fused/{name}.trec").read_bytes())
    words = (
        *("collection", "build", "questions.jsonl", "--corpus", "corpus.jsonl", "--nuggets"),
        "c/steps/nuggets.jsonl",
    )
    runs = ("--run", "answer=answer.trec", "--run", "answer=nuggets.trec", "--method", "rrf")
    outcome = command(*words, *runs, "--judge", "frozen:c/steps/support.jsonl", "-o", "d")
    assert (outcome.code, outcome.err) == (0, "")
    assert len(server.requests) == calls
    sources = {name for line in lines("d/pool.jsonl") for name in line["from"]}  # type: ignore[attr-defined]
    assert sources == {"answer"}
    assert _read_manifest(Path("d/manifest.json")).thresholds["fusion"] == "rrf"
    other = command(*words, "--run", "answer.trec", "--run", "other=answer.trec", *JUDGE, "-o", "e")
    assert other.code == 0
    assert {path.name for path in Path("e/steps/fused").iterdir()} == {"question.trec", "other.trec"}


def test_several_judges_vote_on_support(server: LlmServer) -> None:
    def contrary(asked: Asked) -> Saying:
        if asked.body["model"] == "m" or "which documents contain" not in str(asked.body):
            return by_rule(asked)
        output = json.loads(by_rule(asked).body["choices"][0]["message"]["content"])
        nothing = {"documents": [{"id": row["id"], "supports": []} for row in output["documents"]]}
        return Saying(body=openai_reply(json.dumps(nothing)))

    server.default = contrary
    judges = [word for name in ("m", "n", "o") for word in ("--support-judge", f"openai:{name}")]
    assert built(*judges).code == 0
    assert read_topics_or_none("c/queries.tsv") == {}  # two of three see no support anywhere
    assert _read_manifest(Path("c/manifest.json")).steps["support"]["models"] == [
        "openai:m",
        "openai:n",
        "openai:o",
    ]


def read_topics_or_none(path: str) -> dict[str, str]:
    return read_topics(path) if Path(path).read_text() else {}


def test_a_dry_run_shows_depth_and_breadth_against_cost_and_asks_nobody(server: LlmServer) -> None:
    outcome = command(*BUILD, "-o", "c", "--dry-run")
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert (outcome.code, server.requests, Path("c").exists()) == (0, [], False)
    assert rows[0] == ["depth", "documents", "a query", "calls", "tokens in", "openai:m"]
    table = {row[0]: row[1:] for row in rows[1:6]}
    assert list(table) == ["5", "10", "20*", "50", "100"]
    assert table["20*"][-1] == "unknown"
    documents = [int(row[0].replace(",", "")) for row in table.values()]
    assert documents == sorted(documents)
    assert ["question", "240", "54", "240"] in rows
    assert "in 36 calls: sub-questions, closed-book, nuggets" in outcome.out
    built()
    settings = [f"c/steps/fused/{setting}.trec" for setting in SETTINGS]
    words = (
        *("--questions", "questions.jsonl", "--nuggets", "c/steps/nuggets.jsonl", "--corpus"),
        "corpus.jsonl",
    )
    outcome = command("collection", "pool", *settings, "--dry-run", *words, "--judge", "openai:gpt-4o-mini")
    row = next(line.split("\t") for line in outcome.out.splitlines() if line.startswith("20*"))
    pool = lines("c/pool.jsonl")
    assert row[1:4] == [str(len(pool)), f"{len(pool) / 12:.1f}", str(SUPPORT)]
    sent = sum(
        len(message["content"])
        for asked in server.requests
        if "which documents contain" in str(asked.body)
        for message in asked.body["messages"]
    )
    assert int(row[4].replace(",", "")) == pytest.approx(sent / 4, rel=0.05)
    assert "USD" in row[5]
    assert (
        command("collection", "pool", *settings, "--dry-run").out.splitlines()[0]
        == "depth\tdocuments\ta query\tcalls"
    )


def test_what_a_new_run_would_leave_unjudged(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    built()
    run = "".join(f"q0 Q0 docs/d{number}.md {number} {500 - number} new\n" for number in range(300))
    Path("new.trec").write_text(run + "q11 Q0 docs/d0.md 1 1 new\n")
    judged = {row.doc_id for row in rageval.read_qrels("c/qrels.nugget") if row.query_id == "q0"}
    for against in ("c", "c/qrels.nugget"):
        outcome = command("collection", "check", "new.trec", "--against", against, "-o", "more.jsonl")
        rows = {line.split("\t")[0]: line.split("\t")[1:] for line in outcome.out.splitlines()}
        left = [number for number in range(100) if f"docs/d{number}.md" not in judged]
        assert rows["100"] == [str(len(left)), "100", f"{len(left)}.0 %", "1", str(-(-len(left) // 20))]
        top = [f"docs/d{number}.md" for number in left if number < 20]
        assert [line["doc_id"] for line in lines("more.jsonl")] == top
        assert f"most at depth 20: q0 ({len(top)})" in outcome.out
    words = ("--questions", "questions.jsonl", "--nuggets", "c/nuggets.jsonl", "--corpus", "corpus.jsonl")
    assert command("collection", "support", "more.jsonl", *words, *JUDGE, "-o", "more").code == 0
    assert len(lines("more")) == 3 * len(top)
    pooled = command("collection", "check", "new.trec", "new.trec", "--against", "c/pool.jsonl")
    assert "new.trec\t100" in pooled.out
    assert_refused(command("collection", "check", "new.trec"), "no collection")
    Path("other.trec").write_text("Q0 Q0 docs/d0.md 1 1 r\n")
    refused = command("collection", "check", "other.trec", "--against", "c")
    assert_refused(refused, "no query in common", "'Q0' would be 'q0'")
    monkeypatch.chdir("c")
    assert (
        command("collection", "check", "steps/fused/question.trec").out.splitlines()[1]
        == "5\t0\t35\t0.0 %\t0\t0"
    )


def test_what_cannot_be_built_is_refused(server: LlmServer) -> None:
    words = ("collection", "build", "questions.jsonl", "--corpus", "corpus.jsonl", "-o", "c")
    assert_refused(command(*words), "nuggetize: no judge given")
    assert_refused(command(*words, "--judge", "lexical"), "cannot write nuggets")
    assert_refused(command(*BUILD, "-o", "."), "questions.jsonl: is also an input")
    Path("bare.jsonl").write_text('{"query_id": "q0", "question": "Why?"}\n')
    assert_refused(command("collection", "build", "bare.jsonl", *BUILD[3:], "-o", "c"), "have no answers")
    assert_refused(command("collection", "nuggetize", "bare.jsonl", *JUDGE), "have no answers")
    Path("run").write_text("q0 Q0 nowhere 1 1 r\n")
    assert_refused(built("--run", "run"), "1 of 1 pooled documents were not found, such as 'nowhere'")
    assert_refused(built("--run", "run", "--run", "run"), "named twice")
    Path("run").write_text("q99 Q0 docs/d0.md 1 1 r\n")
    assert_refused(command("collection", "fuse", "run", "-o", "run"), "run: is also an input")
    assert_refused(built("--run", "run"), "no documents are pooled for questions with nuggets")
    Path("corpus.jsonl").write_text('{"_id": "d", "text": "a"}\n' * 2)
    assert_refused(built(), "holds document 'd' twice")
    for line in ("{}", '{"query_id": "q", "doc_id": "d"}\n' * 2):
        Path("pool").write_text(line)
        assert_refused(command("collection", "check", "run", "--against", "pool"), "pool:")
    assert_refused(command("collection", "audit"), "expected the folder of a collection")
