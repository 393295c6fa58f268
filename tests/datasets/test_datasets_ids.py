"""Ids: registered with ir_datasets, of other packages, typed on the command line; files imported; safety."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import datasets_samples as samples
from datasets_server import Server, serving
from rageval.cli import main
from rageval.datasets import catalogue, home, import_files, load, register
from rageval.errors import InputError, UsageError
from rageval.records import Answer, Nugget, Qrel, Question, Sentence

FRESHSTACK = "freshstack/langchain/oct-2024"
CRAG = "crag/task-1-2/dev-v4"
NO_IDS = [
    "freshstack/../oct-2024",
    "freshstack/a/b/oct-2024",
    "freshstack/godot/oct-2024/../../x",
    "crag",
    "",
]
NO_IDS += [
    "freshstack/godot",
    "freshstack/godot/oct-1924",
    "freshstack/{topic}/oct-2024",
    "freshstack/a\nb/oct-2024",
]
SCORED = "['examples/data/run.trec', 'examples/data/qrels.nugget', '-m', 'rr']"
COMMAND = "from rageval.cli import main\ntry: main({})\nexcept SystemExit: pass"


@pytest.fixture(name="server", autouse=True)
def _server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAGEVAL_ALLOW_HTTP", "1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], prog_name="rageval")


def refused(result: Result, *expected: str) -> None:
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    for text in expected:
        assert text in result.stderr


@pytest.fixture(name="questions")
def _questions(tmp_path: Path) -> Path:
    path = tmp_path / "test-00000-of-00001.parquet"
    path.write_bytes(samples.parquet(samples.FRESHSTACK_QUERIES))
    return path


@pytest.fixture(name="run_file")
def _run_file(tmp_path: Path) -> Path:
    """A run that finds what is relevant to the first question only."""
    path = tmp_path / "run.trec"
    rows = [f"76000000 Q0 repo/chains.py_{number}_368 {number} {9 - number} mine\n" for number in range(3)]
    path.write_text("".join(rows), encoding="utf-8")
    return path


class TestCatalogue:
    def test_a_file_that_lacks_a_key_is_named(self) -> None:
        with pytest.raises(InputError, match=r"datasets/sources/toy.toml: lacks 'citation'"):
            catalogue.read_benchmark(
                b'name = "toy"\ntitle = "Toy"\nhomepage = "https://x"\nlicence = "none"\n', "toy.toml"
            )

    def test_every_data_set_is_fit_to_be_fetched(self) -> None:
        """Addresses are https, hashes are hashes, ids and file names plain, roles those of readers."""
        from rageval.datasets.dataset import reader_of

        ids = [spec.id for _, spec in catalogue.all_datasets()]
        assert len(ids) == len(set(ids)) > 0
        for benchmark, spec in catalogue.all_datasets():
            assert benchmark.citation.strip().startswith("@")
            assert benchmark.licence
            assert spec.files
            home.folder_of(spec.folder)
            reader = reader_of(benchmark)
            for what in set(spec.holds) - {"answers"}:
                assert reader.role.get(what, what) in spec.roles, (spec.id, what)
            for source in spec.files:
                assert all(url.startswith("https://") for url in source.urls if url)
                # what has no address known to us says so, and is imported
                assert bool(source.url) != bool(source.repo) or (spec.note and not source.url)
                assert source.sha256 is None or re.fullmatch("[0-9a-f]{64}", source.sha256)
                if source.url:
                    catalogue.plain(source.name, source.name)

    def test_only_crag_has_terms(self) -> None:
        assert [benchmark.name for benchmark in catalogue.benchmarks() if benchmark.terms] == ["crag"]

    @pytest.mark.parametrize("dataset", NO_IDS)
    def test_what_is_no_id_of_ours(self, dataset: str) -> None:
        assert catalogue.find(dataset) is None

    @pytest.mark.parametrize("name", ["..", ".", "", "a/../b", "/etc", "a//b", ".hidden", "a\\b", "a b", "ü"])
    def test_no_folder_outside_of_home(self, name: str) -> None:
        with pytest.raises(InputError, match="expected names of letters"):
            home.folder_of(name)


class TestRegistered:
    def test_again_and_again(self, server: Server) -> None:
        ir_datasets = pytest.importorskip("ir_datasets")

        samples.put_freshstack(server)
        ids = register()
        patterns = len(ir_datasets.registry._patterns)
        assert register() == ids
        assert len(ir_datasets.registry._patterns) == patterns
        dataset = ir_datasets.load(FRESHSTACK)
        first = next(iter(dataset.queries_iter()))
        assert (first.query_id, first.answer) == ("76000000", "Use pin(0).")
        assert first.default_text() == first.text
        assert [doc.doc_id for doc in dataset.docs_iter()[1:3]] == [
            "repo/chains.py_1_368",
            "repo/chains.py_2_368",
        ]
        assert dataset.docs_iter()[2].doc_id == "repo/chains.py_2_368"
        assert dataset.docs_store().get("repo/chains.py_2_368").text == "def chains_2():\n\treturn 2"
        assert dataset.docs_count() == 45
        assert dataset.docs.lookup("repo/chains.py_2_368").doc_id == "repo/chains.py_2_368"
        assert dataset.queries.lookup("76000003").query_id == "76000003"
        assert dataset.queries_count() == 5

    def test_no_nugget_is_lost(self, server: Server) -> None:
        ir_datasets = pytest.importorskip("ir_datasets")

        samples.put_freshstack(server)
        register()
        dataset = ir_datasets.load(FRESHSTACK)
        assert [tuple(qrel) for qrel in dataset.qrels_iter()] == [
            tuple(qrel) for qrel in load(FRESHSTACK).qrels()
        ]
        assert len(dataset.qrels) == 27
        assert dataset.qrels_dict()["76000001"]["repo/vectors.py_1_368"] == 1

    def test_a_dict_has_the_highest_grade_of_a_document(self, tmp_path: Path) -> None:
        ir_datasets = pytest.importorskip("ir_datasets")

        grades = [
            {"relevant_corpus_ids": ["d"]},
            {"relevant_corpus_ids": [], "non_relevant_corpus_ids": ["d"]},
        ]
        nuggets = [{"_id": str(index), "text": "t", **grade} for index, grade in enumerate(grades)]
        path = tmp_path / "questions.jsonl"
        path.write_bytes(samples.jsonl([samples.FRESHSTACK_QUERIES[0] | {"nuggets": nuggets}]))
        import_files("freshstack/yolo/oct-2024", [path], role="questions")
        register()
        assert ir_datasets.load("freshstack/yolo/oct-2024").qrels_dict() == {"76000000": {"d": 1}}

    def test_a_later_snapshot_is_made_when_it_is_asked_for(self, server: Server) -> None:
        ir_datasets = pytest.importorskip("ir_datasets")

        samples.put_freshstack(server, "godot", "dec-2031")
        register()
        assert len(list(ir_datasets.load("freshstack/godot/dec-2031").queries_iter())) == 5
        with pytest.raises(KeyError):
            ir_datasets.load("freshstack/godot/yesterday")

    def test_no_annotation_is_a_string(self) -> None:
        """ir_datasets' exporters write empty rows of records whose annotations are."""
        from rageval.datasets import _records

        kinds = [
            kind for kind in vars(_records).values() if isinstance(kind, type) and hasattr(kind, "_fields")
        ]
        assert len(kinds) == 7
        assert not [kind for kind in kinds for note in kind.__annotations__.values() if isinstance(note, str)]


class Diverse:
    """What another package offers."""

    def __init__(self, dataset: str) -> None:
        if not dataset.endswith("/one"):
            raise KeyError(dataset)

    def questions(self) -> list[Question]:
        return [Question("q", "what?", ("this",))]

    def qrels(self) -> list[Qrel]:
        return [Qrel("q", "d", 1, "n1"), Qrel("q", "e", 1, "n2")]


class TestOthers:
    @pytest.fixture(autouse=True)
    def _installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "rageval.datasets.dataset.plugin",
            lambda group, name: Diverse if (group, name) == ("datasets", "my_bench") else None,
        )

    def test_a_data_set_of_another_package(self, run_file: Path) -> None:
        dataset = load("my-bench/one")
        assert dataset.holds == ("questions", "qrels")
        assert list(dataset.qrels())[1].iteration == "n2"
        with pytest.raises(InputError, match="this dataset has no nuggets; it has questions, qrels"):
            dataset.nuggets()
        with pytest.raises(InputError, match="my-bench/two"):
            load("my-bench/two")
        run_file.write_text("q Q0 d 1 1 t\n", encoding="utf-8")
        assert run(run_file, "my-bench/one", "-m", "coverage").stdout.split()[-1] == "0.5000"

    def test_subtopics_of_ir_datasets_are_nuggets(
        self, run_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ir_datasets = pytest.importorskip("ir_datasets")
        from ir_datasets.datasets.clueweb09 import TrecWebTrackQuery
        from ir_datasets.formats import BaseQrels, BaseQueries, TrecSubQrel, TrecSubtopic

        class Topics(BaseQueries):
            def queries_cls(self) -> type:
                return TrecWebTrackQuery

            def queries_iter(self) -> list[TrecWebTrackQuery]:
                subtopics = tuple(TrecSubtopic(str(number), f"part {number}", "inf") for number in (1, 2))
                return [TrecWebTrackQuery("201", "rain", "Why?", "faceted", subtopics)]

        class Judged(BaseQrels):
            def qrels_cls(self) -> type:
                return TrecSubQrel

            def qrels_iter(self) -> list[TrecSubQrel]:
                return [TrecSubQrel("201", "d", 1, "1"), TrecSubQrel("201", "e", 1, "2")]

        registered = {"some/diversity": ir_datasets.Dataset(Topics(), Judged())}
        monkeypatch.setattr(ir_datasets, "load", lambda name: registered[name])
        dataset = load("some/diversity")
        assert list(dataset.nuggets())[1] == Nugget("201", "2", "part 2")
        assert next(iter(dataset.questions())).query_id == "201"
        exported = run("datasets", "export", "some/diversity", "qrels").stdout
        assert exported == "201 1 d 1\n201 2 e 1\n"
        run_file.write_text("201 Q0 d 1 1 t\n", encoding="utf-8")
        assert run(run_file, "some/diversity", "-m", "strec").stdout.split()[-1] == "0.5000"

    def test_an_unknown_id(self, run_file: Path) -> None:
        pytest.importorskip("ir_datasets")  # else it is not asked
        refused(
            run(run_file, "freshstack/langchian/oct2024", "-m", "rr"), "did you mean freshstack/langchain"
        )
        refused(
            run("datasets", "show", "no/where"),
            "no/where: ir_datasets knows no such id; see: rageval datasets",
        )
        refused(run("datasets", "fetch", "no/where"), "no/where: rageval has no such dataset")


PAGE = Path(__file__).parents[2] / "docs/datasets.md"
ROWS = [
    {"id": "q", "question": "what?", "answer": "that", "domain": "music", "documents": ["d", "e"]},
    {"id": "r", "question": "who?", "answer": "she", "domain": "movie", "documents": ["d"]},
]


def plugin_of_the_page(folder: Path) -> str:
    """Install the page's plug-in, as pip leaves it, with a file of data; return the folder."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Datasets from other packages")
    info = folder / "my_package-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    ((entry,), (module,)) = (re.findall(rf"```{kind}\n(.+?)```", section, re.S) for kind in ("toml", "py"))
    group, line = entry.replace('"', "").split("\n", 1)
    (info / "entry_points.txt").write_text(group.replace("project.entry-points.", "") + f"\n{line}")
    (folder / "my_package.py").write_text(module)
    (folder / "data").mkdir()
    (folder / "data/one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(folder)


@pytest.mark.slow
def test_a_package_that_is_installed(tmp_path: Path, run_file: Path) -> None:
    """Its entry point is found by the command, and by ir_datasets once ours are registered."""
    site = plugin_of_the_page(tmp_path / "site")
    run_file.write_text("q Q0 d 1 1 t\n", encoding="utf-8")
    code = (
        "import sys, ir_datasets, rageval.datasets\n"
        "from rageval.cli import main\n"
        "rageval.datasets.register()\n"
        "print(*[qrel.iteration for qrel in ir_datasets.load('my-bench/one').qrels_iter()])\n"
        "try: ir_datasets.load('my-bench/two')\n"
        "except KeyError: print('none')\n"
        "main(sys.argv[1:])"
    )
    environment = os.environ | {"PYTHONPATH": site}
    words = [sys.executable, "-c", code, str(run_file), "my-bench/one", "-m", "recall"]
    result = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (result.returncode, result.stdout.split()) == (
        0,
        ["0", "0", "0", "none", "recall", "all", "0.2500"],
    ), result


GOOD: dict[str, list[object]] = {
    "questions": [Question("q", "What?", ("that",)), {"query_id": "r", "text": "Who?"}],
    "documents": [{"doc_id": "d", "text": "It is."}],
    "qrels": [Qrel("q", "d", 1), {"query_id": "q", "doc_id": "e", "relevance": 0.5, "iteration": "n"}],
    "nuggets": [Nugget("q", "n", "It is."), {"query_id": "q", "nugget_id": "m", "text": "It was."}],
    "judgements": [{"query_id": "q", "run_id": "r", "rubric": "crag", "label": "perfect"}],
    "responses": [Answer("q", "r", (Sentence("It is."),))],
}
BAD: list[tuple[str, object, str]] = [
    ("questions", 7, r"expected a rageval.records.Question or a dict with its fields \(query_id, text, …\)"),
    ("questions", {"query_id": "q"}, "expected a field text, found none"),
    ("questions", {"query_id": "q", "text": None}, "expected another value of text"),
    ("questions", {"query_id": "q", "question": "What?"}, "found 'question'"),
    ("questions", Question("q", "What?", (1,)), r"expected another value of gold\[0\]"),  # type: ignore[arg-type]
    ("questions", {"query_id": 7, "text": "What?"}, "expected another value of query_id"),
    ("questions", {"query_id": " ", "text": "What?"}, "as query_id"),
    ("qrels", Qrel("q", "d", float("nan")), "expected a finite number as relevance, found nan"),
    ("qrels", {"query_id": "q", "doc_id": "d", "relevance": "1"}, "expected another value of relevance"),
    ("qrels", None, "found an object of NoneType"),
    ("nuggets", {"query_id": "q", "nugget_id": "n", "text": ["x"]}, "expected another value of text"),
    ("documents", {"doc_id": "d"}, "expected a field text, found none"),
    ("judgements", ("q", "r"), "expected a dict, found tuple"),
    ("responses", {"query_id": "q", "run_id": "r"}, "expected a field sentences, found none"),
]


@pytest.fixture
def plugged_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make `my-bench/one` what a plug-in yields."""

    def plug(**content: object) -> None:
        methods = {what: (lambda self, items=items: items) for what, items in content.items()}
        bench = type("Bench", (), methods)
        monkeypatch.setattr(
            "rageval.datasets.dataset.plugin", lambda group, name: (lambda _: bench()) if group else None
        )

    return plug


def test_records_and_dicts_of_a_plugin_are_alike(plugged_in: Callable[..., None]) -> None:
    plugged_in(**GOOD)
    dataset = load("my-bench/one")
    assert dataset.holds == tuple(GOOD)
    assert list(dataset.questions()) == [Question("q", "What?", ("that",)), Question("r", "Who?")]
    assert list(dataset.qrels()) == [Qrel("q", "d", 1), Qrel("q", "e", 0.5, "n")]
    assert [nugget.nugget_id for nugget in dataset.nuggets()] == ["n", "m"]
    assert [document.text for document in dataset.documents()] == ["It is."]
    assert (list(dataset.judgements()), list(dataset.responses())) == (GOOD["judgements"], GOOD["responses"])


@pytest.mark.parametrize(("what", "record", "says"), BAD)
def test_a_record_of_a_plugin_is_refused_with_its_place(
    plugged_in: Callable[..., None], what: str, record: object, says: str
) -> None:
    plugged_in(**{what: [*GOOD[what], record]})
    place = rf"the plug-in of my-bench/one:{len(GOOD[what]) + 1}: {what}"
    with pytest.raises(InputError, match=rf"{place}: .*{says}"):
        list(getattr(load("my-bench/one"), what)())


def test_what_is_no_sequence_of_records_is_refused(plugged_in: Callable[..., None]) -> None:
    plugged_in(questions=None)
    with pytest.raises(InputError, match="my-bench/one: questions: expected records, one after the other"):
        list(load("my-bench/one").questions())


@pytest.mark.parametrize(
    "words",
    [
        *("RUN my-bench/one -m recall", "compare RUN RUN my-bench/one -m recall"),
        "gate RUN my-bench/one --baseline RUN -m recall --margin 0.1",
        *("report RUN my-bench/one -m recall -o r.html", "datasets export my-bench/one qrels"),
        *("datasets export my-bench/one queries", "datasets check my-bench/one"),
        "score JUDGED -m crag_score --by domain --questions my-bench/one",
        "judge crag ANSWERS --judge contains --questions my-bench/one -o j.jsonl",
        "judge nugget-assignment ANSWERS --judge lexical --nuggets my-bench/one -o j.jsonl",
        "track RUNS --track run --qrels my-bench/one -m recall -o out",
    ],
)
def test_no_command_ends_in_a_traceback_over_a_plugin(
    plugged_in: Callable[..., None], run_file: Path, tmp_path: Path, words: str
) -> None:
    run_file.write_text("q Q0 d 1 1 t\n", encoding="utf-8")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/one.run").write_text("q Q0 d 1 1 t\n", encoding="utf-8")
    judged, answers = tmp_path / "judged.jsonl", tmp_path / "answers.jsonl"
    judged.write_text('{"query_id": "q", "run_id": "r", "rubric": "crag", "label": "perfect"}\n')
    answers.write_text('{"query_id": "q", "run_id": "r", "question": "What?", "answer": "It is."}\n')
    plugged_in(**{what: [*records, 7] for what, records in GOOD.items()})
    places = {"RUNS": tmp_path / "runs", "RUN": run_file, "JUDGED": judged, "ANSWERS": answers}
    result = run(*(str(places.get(word, word)) for word in words.split()))
    assert result.exit_code == 2, result.output
    assert "the plug-in of my-bench/one:" in result.stderr


class TestCommand:
    def test_the_list(self, questions: Path) -> None:
        def rows() -> list[str]:
            result = run("datasets")
            assert result.exit_code == 0
            return [line for line in result.stdout.splitlines() if line.startswith(f"{FRESHSTACK} ")]

        (row,) = rows()
        assert row.split()[-1] == "no"
        assert "CC BY-SA 4.0" in row
        import_files(FRESHSTACK, [questions])
        (row,) = rows()
        assert row.split()[-1] == "no"  # its documents are not there
        corpus = questions.with_name("train-00000-of-00001.parquet")
        corpus.write_bytes(samples.parquet(samples.FRESHSTACK_DOCS))
        import_files(FRESHSTACK, [corpus])
        (row,) = rows()
        assert row.split()[-1] == "yes"

    def test_show(self) -> None:
        page = run("datasets", "show", "crag/task-3/dev-v4/split-0").stdout
        for text in ("CC BY-NC 4.0", "part4", "sha256", "yang2024crag", "7.7 GB", "NonCommercial"):
            assert text in page

    def test_fetch_and_score(self, server: Server, run_file: Path) -> None:
        """What a user of FreshStack types, and nothing else."""
        samples.put_freshstack(server)
        result = run(run_file, FRESHSTACK, "-m", "alpha_ndcg@10,coverage@20,recall@50")
        assert result.exit_code == 0, result.stderr
        values = dict(re.findall(r"(\S+)\s+all\s+(\S+)", result.stdout))
        assert values["coverage@20"] == "0.2000"
        assert values["recall@50"] == "0.1000"
        fetched = run("datasets", "fetch", FRESHSTACK)
        assert (fetched.exit_code, fetched.stdout.split()[0]) == (0, f"{FRESHSTACK}:")

    def test_terms_on_the_command_line(self) -> None:
        result = run("datasets", "fetch", CRAG)
        refused(result, "NonCommercial", f"rageval datasets fetch {CRAG} --accept-license")
        assert not home._home().exists()

    def test_check(self, questions: Path, server: Server) -> None:
        samples.put_freshstack(server)
        result = run("datasets", "check", FRESHSTACK)
        assert result.exit_code == 1
        rows = [line.split("  ") for line in result.stdout.splitlines()]
        counts = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
        assert counts["questions"] == ["203", "5", "differs"]
        assert counts["relevant per nugget"] == ["5.7", "2.00", "differs"]
        assert counts["judgements"] == ["27"]

    def test_http_must_be_allowed(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        samples.put_freshstack(server)
        monkeypatch.delenv("RAGEVAL_ALLOW_HTTP")
        refused(run("datasets", "fetch", FRESHSTACK), "expected https; --allow-http")
        assert run("datasets", "fetch", FRESHSTACK, "--allow-http").exit_code == 0

    def test_leaderboard(self, server: Server, run_file: Path, tmp_path: Path) -> None:
        """One entry a topic; five together have an average."""
        files = []
        for topic in ("langchain", "yolo", "laravel", "angular", "godot"):
            samples.put_freshstack(server, topic)
            result = run(
                run_file,
                f"freshstack/{topic}/oct-2024",
                "-m",
                "official:freshstack",
                "--format",
                "freshstack-leaderboard",
            )
            assert result.exit_code == 0, result.stderr
            (entry,) = json.loads(result.stdout)["leaderboardData"]
            assert entry["info"]["name"] == "run.trec"
            assert entry["datasets"][topic]["coverage_20"] == 0.2
            files.append(tmp_path / f"{topic}.json")
            files[-1].write_text(result.stdout, encoding="utf-8")
        merged = run("datasets", "leaderboard", *files)
        (entry,) = json.loads(merged.stdout)["leaderboardData"]
        assert list(entry["datasets"]) == ["langchain", "yolo", "laravel", "angular", "godot", "average"]
        assert entry["datasets"]["average"]["recall_50"] == pytest.approx(0.1)
        assert "average" not in run("datasets", "leaderboard", *files[:4]).stdout
        refused(
            run("datasets", "leaderboard", files[0], files[0]), "a second entry of 'run.trec' for langchain"
        )
        expected = (
            "{leaderboardData: [{info: {name}, datasets: {topic: {alpha_ndcg_10, coverage_20, recall_50}}}]}"
        )
        refused(run("datasets", "leaderboard", run_file), f"expected {expected}")
        files[0].write_text('"\\ud800"')
        refused(run("datasets", "leaderboard", files[0]), f"expected {expected}")

    def test_a_leaderboard_needs_its_measures_and_a_topic(
        self, server: Server, run_file: Path, tmp_path: Path
    ) -> None:
        samples.put_freshstack(server)
        style = ("--format", "freshstack-leaderboard")
        refused(run(run_file, FRESHSTACK, "-m", "rr", *style), "expected -m official:freshstack, found no")
        qrels = tmp_path / "qrels"
        qrels.write_text("76000000 n repo/chains.py_0_368 1\n", encoding="utf-8")
        refused(
            run(run_file, qrels, "-m", "official:freshstack", *style), "expected an id such as freshstack/"
        )


class TestImport:
    @pytest.mark.parametrize("form", ["jsonl", "array"])
    def test_json_of_another_name(self, tmp_path: Path, form: str) -> None:
        path = tmp_path / "mine.json"
        rows = samples.FRESHSTACK_QUERIES
        path.write_bytes(samples.jsonl(rows) if form == "jsonl" else json.dumps(rows).encode())
        refused(
            run("datasets", "import", FRESHSTACK, path), "which part of", "--as questions or --as documents"
        )
        result = run("datasets", "import", FRESHSTACK, path, "--as", "questions")
        assert result.exit_code == 0, result.stderr
        assert len(list(load(FRESHSTACK).qrels())) == 27

    def test_a_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "hub" / "langchain"
        folder.mkdir(parents=True)
        (folder / "test-00000-of-00001.parquet").write_bytes(samples.parquet(samples.FRESHSTACK_QUERIES))
        for number in range(2):
            docs = samples.FRESHSTACK_DOCS[number::2]
            (folder / f"train-0000{number}-of-00002.parquet").write_bytes(samples.parquet(docs))
        assert {role: len(files) for role, files in import_files(FRESHSTACK, [folder.parent]).items()} == {
            "questions": 1,
            "documents": 2,
        }
        assert len(list(load(FRESHSTACK).documents())) == 45
        with pytest.raises(InputError, match="expected test-"):
            import_files(FRESHSTACK, [tmp_path])

    def test_other_documents_are_other_documents_by_id(self, tmp_path: Path) -> None:
        path = tmp_path / "docs.jsonl"
        for text in ("first", "second"):
            path.write_bytes(samples.jsonl([{"_id": "d", "text": text}]))
            import_files(FRESHSTACK, [path], role="documents")
            assert load(FRESHSTACK).document_store().get("d").text == text
        assert len(list(home.folder_of(FRESHSTACK).glob("*.sqlite"))) == 1

    def test_crag_that_was_unpacked(self, tmp_path: Path) -> None:
        """Another name, so no hash is known; it is read through instead."""
        path = tmp_path / "crag.jsonl"
        path.write_bytes(samples.jsonl(samples.CRAG))
        import_files(CRAG, [path])
        assert len(list(load(f"{CRAG}/split-0").questions())) == 3

    def test_a_wrong_hash_keeps_what_was_there(self, tmp_path: Path) -> None:
        good = tmp_path / "crag.jsonl"
        good.write_bytes(samples.jsonl(samples.CRAG))
        import_files(CRAG, [good])
        bad = tmp_path / "crag_task_1_and_2_dev_v4.jsonl.bz2"
        bad.write_bytes(samples.crag_bz2())
        with pytest.raises(InputError) as raised:
            import_files(CRAG, [bad])
        assert len(re.findall(r"\b[0-9a-f]{64}\b", str(raised.value))) == 2
        assert len(list(load(CRAG).questions())) == 5
        assert {path.name for path in home.folder_of(CRAG).iterdir()} == {
            "files.json",
            "crag.jsonl",
            ".lock",
        }

    def test_what_cannot_be_read_is_not_taken(self, questions: Path, tmp_path: Path) -> None:
        import_files(FRESHSTACK, [questions])
        bad = tmp_path / "bad.jsonl"
        bad.write_bytes(samples.jsonl(samples.FRESHSTACK_QUERIES) + b'{"query_id": 3}\n')
        with pytest.raises(InputError, match=r"bad\.jsonl:6: expected FreshStack questions"):
            import_files(FRESHSTACK, [bad], role="questions")
        assert len(list(load(FRESHSTACK).questions())) == 5

    def test_parts_belong_together(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        names = [f"crag_task_3_dev_v5.tar.bz2.part{number}" for number in range(4)]
        parts = samples.in_parts(samples.tar_bz2({"c.jsonl": samples.jsonl(samples.CRAG)}), 4)
        with serving() as server:
            catalog = samples.at_loopback(server, dict(zip(names, parts, strict=True)))
        monkeypatch.setattr(catalogue, "benchmarks", lambda: catalog)
        for name, part in zip(names, parts, strict=True):
            (tmp_path / name).write_bytes(part)
        with pytest.raises(
            InputError, match=r"expected 4 files, found 1; missing: crag_task_3_dev_v5\.tar\.bz2\.part0"
        ):
            import_files("crag/task-3/dev-v5", [tmp_path / names[2]])
        import_files("crag/task-3/dev-v5", [tmp_path / name for name in reversed(names)])
        assert len(list(load("crag/task-3/dev-v5").questions())) == 5

    def test_what_is_not_there_or_not_plain(self, tmp_path: Path) -> None:
        refused(run("datasets", "import", FRESHSTACK, tmp_path / "nowhere"), "no such file")
        path = tmp_path / "a b.jsonl"
        path.write_bytes(samples.jsonl(samples.FRESHSTACK_QUERIES))
        refused(run("datasets", "import", FRESHSTACK, path, "--as", "questions"), "expected names of letters")
        with pytest.raises(
            UsageError, match="--as qrels: freshstack/langchain/oct-2024 has questions, documents"
        ):
            import_files(FRESHSTACK, [path], role="qrels")


def test_a_manifest_that_names_other_places_is_refused(tmp_path: Path, questions: Path) -> None:
    import_files(FRESHSTACK, [questions])
    manifest = home.folder_of(FRESHSTACK) / home._MANIFEST
    manifest.write_text('{"questions": [{"name": "../../../etc/passwd", "size": 1, "sha256": "0"}]}')
    with pytest.raises(InputError, match="expected names of letters"):
        list(load(FRESHSTACK).questions())
    manifest.write_text("{")
    with pytest.raises(InputError, match="remove it and fetch again"):
        list(load(FRESHSTACK).questions())


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "code", ["import rageval.datasets", COMMAND.format("['datasets']"), COMMAND.format(SCORED)]
)
def test_nothing_is_imported_that_is_not_used(code: str) -> None:
    script = f"import sys\n{code}\nprint('loaded', *sys.modules)"
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root
    )
    loaded = result.stdout.rpartition("loaded ")[2].split()
    assert not {"ir_datasets", "pyarrow", "requests", "pandas"} & set(loaded)
    if code.startswith("import rageval.datasets"):
        assert [name for name in loaded if name.startswith("rageval.datasets")] == ["rageval.datasets"]
    if "examples" in code:
        assert not [name for name in loaded if name.startswith("rageval.datasets")]
