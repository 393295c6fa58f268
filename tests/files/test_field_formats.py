"""The files of other tools where a run, passages, questions or judgements go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rageval.cli import main
from rageval.datasets import dataset
from rageval.datasets.dataset import Dataset
from rageval.errors import InputError
from rageval.judges.material import passages_in
from rageval.records import Qrel

RUN = {"q1": {"a": 2.5, "b": 1.0}, "q2": {"c": 3.0, "a": 2.0}}
TREC = "".join(
    f"{q} Q0 {d} {rank} {s} t\n" for q, docs in RUN.items() for rank, (d, s) in enumerate(docs.items(), 1)
)
QRELS = "q1 0 b 1\nq2 0 c 2\n"


def candidates(scored: bool = True, numbered: bool = False) -> list[dict[str, Any]]:
    docs = {"a": {"title": "Title", "segment": "Of a."}, "b": {"contents": "Of b."}, "c": "Of c."}
    return [
        {
            "query": {"qid": rank if numbered else query, "text": f"who is {query}?"},
            "candidates": [
                {"docid": doc, "doc": docs[doc]} | ({"score": score} if scored else {})
                for doc, score in documents.items()
            ],
        }
        for rank, (query, documents) in enumerate(RUN.items(), 1)
    ]


def jsonl(records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


# The same run in every form.
RUNS = {
    "trec": TREC,
    "a dict": json.dumps(RUN),
    "a dict over many lines": json.dumps(RUN, indent=2),
    "a dict a line": jsonl({query: docs} for query, docs in RUN.items()),
    "candidates": jsonl(candidates()),
    "candidates without scores": jsonl(candidates(scored=False)),
}


def run(*words: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], input=stdin, prog_name="rageval")


def wrote(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(name="qrels")
def _qrels(tmp_path: Path) -> Path:
    return wrote(tmp_path / "qrels", QRELS)


@pytest.mark.parametrize("form", RUNS)
class TestRuns:
    def test_it_is_compared_with_others(self, form: str, qrels: Path, tmp_path: Path) -> None:
        path, other = wrote(tmp_path / "run", RUNS[form]), wrote(tmp_path / "other", TREC)
        assert "identical" in run("compare", path, other, qrels, "-m", "rr").stdout


class TestWholeNumbers:
    """{query: {doc: 1}} may be a run or judgements."""

    def test_what_else_is_there_decides(self, qrels: Path, tmp_path: Path) -> None:
        grades = wrote(tmp_path / "grades.json", json.dumps({"q1": {"b": 1}, "q2": {"c": 2}}))
        ranks = wrote(tmp_path / "ranks.json", json.dumps({"q1": {"a": 2, "b": 1}, "q2": {"c": 2, "a": 1}}))
        lines = wrote(tmp_path / "run", TREC)
        for words in ((ranks, qrels), (qrels, ranks), (lines, grades), (grades, lines)):
            assert run(*words, "-m", "rr").stdout.split()[-1] == "0.7500"
        refused = run(ranks, grades, "-m", "rr")
        assert refused.exit_code == 2
        assert "may be scores or grades" in refused.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"q1": {"a": 1.5}}\n{"q1": {"b": 1.5}}\n', ":2: query 'q1' is in line 1, too"),
        ('{"q1": {"a": 1.5, "a": 2.5}}', ":1: the key 'a' appears twice"),
        ('{\n"q1": {"a": 1.5},\n"q1": {"b": 2.5}}', ":1: the key 'q1' appears twice"),
        ('{"q1": {"a ": 1.5}}', ":1: expected an id without blanks around it"),
        ('{"q1": {"a": 1.5}, "q2": {"a": "x"}}\n', "expected"),
        ('{"query": {"qid": "q"}, "candidates": [{"docid": "a", "score": 1}, {"docid": "b"}]}', "for none"),
        (
            '{"query": {"qid": "q"}, "candidates": [{"docid": "a"}, {"docid": "a"}]}',
            ":1: document a is ranked twice",
        ),
        ('{"query": {"qid": "q"}, "candidates": [{"docid": "a"}]}\n' * 2, "a second line for query q"),
        ('{"query": {"qid": "q"}, "candidates": [{"score": 1}]}', "docid"),
    ],
)
def test_what_is_wrong_with_json_is_said(text: str, expected: str, qrels: Path, tmp_path: Path) -> None:
    result = run(wrote(tmp_path / "run.json", text), qrels, "-m", "rr")
    assert result.exit_code == 2
    assert expected in result.stderr
    assert "Traceback" not in result.stderr


class TestCandidates:
    def test_a_judge_takes_all_three(self, tmp_path: Path) -> None:
        path = wrote(tmp_path / "c.jsonl", jsonl(candidates()))
        words = ["judge", "relevance", "--run", path, "--passages", path, "--questions", path, "--dry-run"]
        result = run(*words, "--judge", "openai:m@http://127.0.0.1:9/v1")
        assert result.exit_code == 0, result.stderr
        assert "4 calls" in result.stdout
        assert "Of a." in result.stdout

    def test_texts_that_differ_or_are_not_there(self, tmp_path: Path) -> None:
        lines = candidates()
        lines[1]["candidates"][1]["doc"] = "Another."
        with pytest.raises(InputError, match=":2: document 'a' has a different text than before"):
            dict(passages_in(wrote(tmp_path / "c.jsonl", jsonl(lines))))
        del lines[1]["candidates"][1]["doc"]
        with pytest.raises(InputError, match=":2: expected a text of candidate 'a'"):
            dict(passages_in(wrote(tmp_path / "d.jsonl", jsonl(lines))))


class TestAgree:
    def agreed(self, *words: object) -> dict[str, Any]:
        result = run("label", "agree", *words, "--format", "json")
        assert result.exit_code == 0, result.stderr
        agreement: dict[str, Any] = json.loads(result.stdout)
        return agreement

    GRADES = (("q1", "a", 0), ("q1", "b", 1), ("q2", "c", 2), ("q2", "d", 2))

    def forms(self, folder: Path) -> dict[str, Path]:
        umbrela = [{"qid": q, "docid": d, "judgment": g} for q, d, g in self.GRADES]
        own = [
            {"query_id": q, "run_id": "documents", "item_id": d, "aspect": "0", "grade": g}
            for q, d, g in self.GRADES
        ]
        return {
            "qrels": wrote(folder / "a", "".join(f"{q} 0 {d} {g}\n" for q, d, g in self.GRADES)),
            "UMBRELA's qrels": wrote(folder / "b", "".join(f"{q} Q0 {d} {g}\n" for q, d, g in self.GRADES)),
            "NIST's": wrote(
                folder / "c",
                "".join(f"{q} {index % 2 + 1} {d} {g}\n" for index, (q, d, g) in enumerate(self.GRADES)),
            ),
            "UMBRELA's JSON": wrote(folder / "d", jsonl(umbrela)),
            "a dict": wrote(folder / "e", json.dumps({"q1": {"a": 0, "b": 1}, "q2": {"c": 2, "d": 2}})),
            "rageval's": wrote(folder / "f", jsonl(own)),
        }

    @pytest.mark.slow
    def test_every_form_agrees_with_every_other(self, tmp_path: Path) -> None:
        forms = self.forms(tmp_path)
        for judged in forms.values():
            for gold in forms.values():
                agreement = self.agreed(judged, gold)
                assert (agreement["compared"], agreement["only_judged"], agreement["only_gold"]) == (4, 0, 0)
                assert agreement["coefficients"]["agreement"]["value"] == 1.0

    def test_nuggets_of_qrels_are_aspects(self, tmp_path: Path) -> None:
        rows = "q1 n1 a 1\nq1 n2 a 0\nq1 n1 b 1\n"
        path = wrote(tmp_path / "n", rows)
        own = [
            {"query_id": "q1", "run_id": "documents", "item_id": "a", "aspect": n, "label": label}
            for n, label in (("n1", "support"), ("n2", "support"))
        ]
        agreement = self.agreed(wrote(tmp_path / "o", jsonl(own)), path)
        assert (agreement["compared"], agreement["only_gold"]) == (2, 1)
        assert agreement["coefficients"]["agreement"]["value"] == 0.5

    def test_assignments_of_the_nuggetizer(self, tmp_path: Path) -> None:
        def assigned(*labels: str) -> list[dict[str, Any]]:
            pairs = enumerate(labels)
            nuggets = [
                {"text": f"n{index}", "importance": "vital", "assignment": label} for index, label in pairs
            ]
            return [{"qid": "q", "run_id": "r", "nuggets": nuggets}]

        one = wrote(tmp_path / "one", jsonl(assigned("support", "not_support", "failed")))
        two = wrote(tmp_path / "two", jsonl(assigned("support", "support", "support")))
        agreement = self.agreed(one, two)
        assert (agreement["compared"], agreement["failed"]) == (2, 1)
        assert agreement["coefficients"]["agreement"]["value"] == 0.5
        assert self.agreed(one, two, "-m", "v_strict")["ranked_by"] == "v_strict"

    def test_the_judgements_of_a_data_set(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = [Qrel(q, d, g) for q, d, g in self.GRADES]
        datasets = {"my/bench": Dataset("my/bench", ("qrels",), lambda _: iter(rows))}
        monkeypatch.setattr(dataset, "load", datasets.__getitem__)
        assert self.agreed(self.forms(tmp_path)["UMBRELA's JSON"], "my/bench")["compared"] == 4
        judged = wrote(tmp_path / "j", jsonl([{"query_id": "q1", "run_id": "r", "label": "perfect"}]))
        result = run("label", "correct", judged, "--gold", "my/bench", "-m", "crag_score")
        assert result.exit_code == 2
        assert "Traceback" not in result.stderr
