"""Folders of output: what is another command's or a person's stays, what is left of earlier output goes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from test_bad_input import command

WITH = ("--map", "question=question,answer=answer,contexts=contexts|json[]")
WITHOUT = ("--map", "question=question,answer=answer")


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("v1", "v2"):
        with Path(f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["question", "answer", "contexts"])
            writer.writerow(["Who?", f"{name}.", json.dumps([f"A passage of {name}."])])


def names(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def imported(table: str, *words: str, folder: str = "out") -> tuple[int, str]:
    outcome = command("import", table, *words, "-o", folder)
    return outcome.code, outcome.err


def test_a_later_import_leaves_nothing_of_an_earlier_one() -> None:
    assert imported("v1.csv", *WITH)[0] == 0
    assert names("out") == {"answers.jsonl", "questions.jsonl", "run.trec", "passages.jsonl", "manifest.json"}
    assert imported("v2.csv", *WITHOUT)[0] == 0
    assert names("out") == {"answers.jsonl", "questions.jsonl", "manifest.json"}
    assert list(json.loads(Path("out/manifest.json").read_text())["files"]) == [
        "answers.jsonl",
        "questions.jsonl",
    ]


def test_a_folder_with_other_files_is_refused_and_with_overwrite_they_stay() -> None:
    Path("answers.jsonl").write_text("mine")
    code, output = imported("v1.csv", *WITH, folder=".")
    assert code == 2
    assert ".: holds other files, such as answers.jsonl; expected a new folder" in output
    assert "--overwrite" in output
    assert Path("answers.jsonl").read_text() == "mine"
    Path("notes.txt").write_text("mine, too")
    assert imported("v1.csv", *WITH, "--overwrite", folder=".")[0] == 0
    assert Path("answers.jsonl").read_text() != "mine"
    assert Path("notes.txt").read_text() == "mine, too"
    assert Path("run.trec").exists()
    assert imported("v2.csv", *WITHOUT, "--overwrite", folder=".")[0] == 0
    assert not Path("run.trec").exists()
    assert names(".") >= {"v1.csv", "v2.csv", "notes.txt"}


def test_what_somebody_changed_since_is_theirs() -> None:
    assert imported("v1.csv", *WITH)[0] == 0
    Path("out/run.trec").write_text("q Q0 d 1 1 mine\n")
    code, output = imported("v2.csv", *WITHOUT)
    assert code == 2
    assert "such as run.trec" in output
    assert imported("v2.csv", *WITHOUT, "--overwrite")[0] == 0
    assert Path("out/run.trec").read_text() == "q Q0 d 1 1 mine\n"


@pytest.mark.parametrize("name", ["../v1.csv", "sub/v1.csv", "", ".", "link", "x\0y", "folder"])
def test_a_manifest_cannot_name_what_is_removed_elsewhere(name: str) -> None:
    from rageval.files.folders import unchanged
    from rageval.files.whole import digest_of

    for folder in (Path("out"), Path("out/sub"), Path("out/folder")):
        folder.mkdir(exist_ok=True)
    Path("out/sub/v1.csv").write_bytes(Path("v1.csv").read_bytes())
    Path("out/link").symlink_to("../v1.csv")
    digest = digest_of("v1.csv", "a table")
    assert unchanged(Path("out"), {name: digest}) == []
    assert unchanged(Path("out"), [name]) == []
    Path("out/manifest.json").write_text(json.dumps({"imported_by": "rageval", "files": {name: digest}}))
    assert imported("v2.csv", *WITHOUT, "--overwrite")[0] == 0
    assert Path("v1.csv").exists()
    assert Path("out/sub/v1.csv").exists()


@pytest.mark.parametrize("text", ["[]", "{", "null", '{"imported_by": 1, "files": 3}', '{"files": {}}'])
def test_a_manifest_of_anything_else_owns_nothing(text: str) -> None:
    Path("out").mkdir()
    Path("out/manifest.json").write_text(text)
    Path("out/kept").write_text("")
    code, output = imported("v1.csv", *WITHOUT)
    assert code == 2
    assert "holds other files" in output


def test_an_input_is_not_removed() -> None:
    assert imported("v1.csv", *WITH)[0] == 0
    before = Path("out/run.trec").read_bytes()
    code, output = imported("out/answers.jsonl", *WITHOUT, "--overwrite")
    assert code == 2
    assert "is also an input" in output
    assert Path("out/run.trec").read_bytes() == before
