"""Small leaderboards in bundles, and 50 ways to forge them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from rageval.judges.base import Request
from rageval.judges.material import gathered
from rageval.judges.panel import Settings, judged_by
from rageval.judges.rubric import rubric_named
from rageval.testing import ScriptedModel
from test_bad_input import command

Files = dict[str, bytes]
Forge = Callable[[Files, dict[str, Any]], None]
VALUES, JUDGED, CLAIMS, FILES = (
    "values from judgements",
    "judgements from replies",
    "claims from values",
    "files",
)
NUGGETS = ("one", "two", "three")


class Board:
    """A folder with two leaderboards: of runs, and of judged answers with labels by people."""

    def __init__(self) -> None:
        lines = {
            "one": [("1", "a", 2), ("1", "b", 1), ("2", "c", 2), ("2", "d", 1), ("3", "e", 1)],
            "two": [("1", "b", 2), ("1", "a", 1), ("2", "c", 2), ("3", "f", 2), ("3", "e", 1)],
        }
        for run, rows in lines.items():
            text = "".join(f"{query} Q0 {doc} 1 {score} {run}\n" for query, doc, score in rows)
            Path(f"{run}.run").write_text(text)
        Path("qrels").write_text("1 0 a 1\n2 0 c 1\n2 0 d 0\n3 0 e 2\n")
        Path("topics.tsv").write_text("".join(f"q{index}\tWhat is {index}?\n" for index in range(4)))
        _write("nuggets.jsonl", self._banks())
        answers = [
            {"query_id": f"q{index}", "run_id": run, "answer": f"{run} says {NUGGETS[index % 3]} of {index}."}
            for run in ("ours", "theirs")
            for index in range(4)
        ]
        _write("answers.jsonl", answers)
        material = gathered(["answers.jsonl"], "topics.tsv", "nuggets.jsonl")
        settings = Settings(store="store.sqlite", canaries=0)
        model = ScriptedModel(_reply_of_judge, name="openai:m")
        judged = list(judged_by([model], rubric_named("nugget-assignment"), material, settings))
        _write("judged.jsonl", judged)
        # People labeled 25 questions of both, and the judge erred in some.
        place = [(f"q{index}", run) for index in range(25) for run in ("ours", "theirs")]
        rows = [
            {"query_id": query, "run_id": run, "judge": "m", "rubric": "crag"}
            | {"label": "perfect" if (int(query[1:]) + (run == "ours")) % 3 else "incorrect"}
            for query, run in place
        ]
        _write("labeled.jsonl", rows)
        turned = {"perfect": "incorrect", "incorrect": "perfect"}
        people = [
            row | {"judge": "person:kim", "label": turned[row["label"]] if index % 5 == 0 else row["label"]}
            for index, row in enumerate(rows)
        ]
        _write("people.jsonl", people)

    def _banks(self) -> Iterator[dict[str, Any]]:
        for index in range(4):
            texts = [{"text": f"{text} of {index}", "importance": "vital"} for text in NUGGETS]
            yield {"qid": f"q{index}", "query": f"What is {index}?", "nuggets": texts}

    def words(self, kind: str, mode: str) -> list[str]:
        """The command that bundles one of them."""
        words = {
            "runs": ["one.run", "two.run", "qrels", "-m", "rr,ndcg@10"],
            "answers": [
                *("judged.jsonl", "--answers", "answers.jsonl", "--nuggets", "nuggets.jsonl"),
                *("--topics", "topics.tsv", "-m", "v_strict,a_strict"),
            ],
            "labeled": [
                *("labeled.jsonl", "--gold", "people.jsonl", "--gold-chosen", "uniform", "-m", "crag_score"),
            ],
        }[kind]
        return ["board", "bundle", *words, "--bundle", mode, "-o", f"{kind}.tar.gz"]

    def bundled(self, kind: str, mode: str = "full") -> Path:
        """Bundle one of them."""
        result = command(*self.words(kind, mode))
        assert result.code == 0, result.err
        return Path(f"{kind}.tar.gz").resolve()


def _reply_of_judge(request: Request) -> str:
    """Support for what stands in the answer, with a reason."""
    data = json.loads(request.user.split("\n")[1])
    labels = [
        ("support", data["answer"]) if nugget["text"].split()[0] in data["answer"] else ("not_support", "")
        for nugget in data["nuggets"]
    ]
    verdicts = [
        {"id": f"n{index}", "evidence": quote, "label": label}
        for index, (label, quote) in enumerate(labels, 1)
    ]
    return json.dumps({"verdicts": verdicts, "why": "because it says so"})


def _write(name: str, records: Any) -> None:
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))


def unpacked(path: Path) -> Files:
    """The files of a bundle."""
    return members(path.read_bytes())


def members(content: bytes) -> Files:
    """The files of an archive."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {
            member.name.removeprefix("board/"): archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive
        }


def packed(path: Path, files: Files) -> None:
    """Pack them again, as the package does."""
    path.write_bytes(archive_of(files))


def archive_of(files: Files) -> bytes:
    """An archive of files, as the package packs them."""
    stream = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6) as out,
        tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"board/{name}")
            member.size, member.mode, member.mtime = len(content), 0o644, 0
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def forged(path: Path, forge: Forge, to: Path, refit: bool = True) -> Path:
    """Forge a bundle, and refit its manifest."""
    files = unpacked(path)
    manifest = json.loads(files.pop("manifest.json"))
    before = dict(files)
    forge(files, manifest)
    assert files != before or manifest != json.loads(unpacked(path)["manifest.json"]), "nothing was forged"
    if refit:
        digests = {name: sha256(content).hexdigest() for name, content in files.items()}
        manifest["files"] = manifest["files"] | digests
    files["manifest.json"] = json.dumps(manifest).encode()
    packed(to, files)
    return to


def _row(name: str, number: int, **changed: Any) -> Forge:
    """Change a line of JSON."""

    def forge(files: Files, manifest: dict[str, Any]) -> None:
        lines = files[name].splitlines()
        row = json.loads(lines[number]) | changed
        lines[number] = json.dumps(row, separators=(",", ":")).encode()
        files[name] = b"\n".join(lines) + b"\n"

    return forge


def _text(name: str, old: str, new: str) -> Forge:
    """Change a word."""

    def forge(files: Files, manifest: dict[str, Any]) -> None:
        assert old.encode() in files[name], files[name][:500]
        files[name] = files[name].replace(old.encode(), new.encode(), 1)

    return forge


def _every(name: str, old: str, new: str) -> Forge:
    """Change a word wherever it stands."""

    def forge(files: Files, manifest: dict[str, Any]) -> None:
        files[name] = files[name].replace(old.encode(), new.encode())

    return forge


def _lines(name: str, change: Callable[[list[bytes]], list[bytes]]) -> Forge:
    """Change the list of lines."""

    def forge(files: Files, manifest: dict[str, Any]) -> None:
        files[name] = b"".join(line + b"\n" for line in change(files[name].splitlines()))

    return forge


def _reply(number: int, old: str, new: str, refit: bool) -> Forge:
    """Change a reply; with its digest in the judgement, too."""

    def forge(files: Files, manifest: dict[str, Any]) -> None:
        lines = files["replies/judged.jsonl"].splitlines()
        row = json.loads(lines[number])
        assert old in row["text"], row
        text = row["text"].replace(old, new, 1)
        digest = sha256(text.encode()).hexdigest()
        if refit:
            rows = files["judgements/judged.jsonl"]
            assert row["sha256"].encode() in rows
            files["judgements/judged.jsonl"] = rows.replace(row["sha256"].encode(), digest.encode())
        lines[number] = json.dumps(
            row | {"text": text, "sha256": digest if refit else row["sha256"]}
        ).encode()
        files["replies/judged.jsonl"] = b"\n".join(lines) + b"\n"

    return forge


def _with_manifest(**changed: Any) -> Forge:
    def forge(files: Files, manifest: dict[str, Any]) -> None:
        manifest |= changed

    return forge


def _without_file(name: str) -> Forge:
    def forge(files: Files, manifest: dict[str, Any]) -> None:
        del files[name], manifest["files"][name]

    return forge


def _swapped_names(files: Files, manifest: dict[str, Any]) -> None:
    one, two = (system["file"] for system in manifest["systems"])
    manifest["systems"][0]["file"], manifest["systems"][1]["file"] = two, one


def _swapped_files(files: Files, manifest: dict[str, Any]) -> None:
    files["runs/one.run"], files["runs/two.run"] = files["runs/two.run"], files["runs/one.run"]


def _other_qrels(files: Files, manifest: dict[str, Any]) -> None:
    manifest["qrels"] = "inputs/other"
    files["inputs/other"] = files["inputs/qrels"].replace(b"3 0 e 2", b"3 0 e 0")


_SCORES, _BOARD, _TABLE = "scores.jsonl", "leaderboard.jsonl", "leaderboard.tsv"
_ROWS, _RUBRIC = "judgements/judged.jsonl", "rubrics/nugget-assignment.toml"
# What is forged in which board, by the step that finds it at the latest.
FORGERIES: dict[str, tuple[str, str, Forge]] = {
    # A value of a topic, or a mean; one that is missing, or too many.
    "value: of a topic": ("runs", VALUES, _row(_SCORES, 0, value=0.75)),
    "value: of the last topic": ("runs", VALUES, _row(_SCORES, 2, value=0.999)),
    "value: by the last digit": ("answers", VALUES, _row(_SCORES, 0, value=0.33333333333333337)),
    "value: a mean": ("runs", VALUES, _row(_SCORES, 3, value=0.9)),
    "value: a mean of answers": ("answers", VALUES, _row(_SCORES, 4, value=0.9)),
    "value: undefined": ("answers", VALUES, _row(_SCORES, 1, value=None)),
    "value: of another system": ("runs", VALUES, _row(_SCORES, 0, run_id="two")),
    "value: by another measure": ("answers", VALUES, _row(_SCORES, 0, measure="a_strict")),
    "value: left out": ("runs", VALUES, _lines(_SCORES, lambda lines: lines[1:])),
    "value: twice": ("runs", VALUES, _lines(_SCORES, lambda lines: [*lines, lines[0]])),
    "value: in another order": ("answers", VALUES, _lines(_SCORES, lambda lines: lines[::-1])),
    "value: no JSON": ("runs", VALUES, _lines(_SCORES, lambda lines: [b"{", *lines[1:]])),
    # A row of judgements, or of qrels.
    "row: a label": ("answers", JUDGED, _row(_ROWS, 0, label="not_support", grade=0.0)),
    "row: a grade alone": ("answers", JUDGED, _row(_ROWS, 1, grade=1.0)),
    "row: a label alone": ("answers", JUDGED, _row(_ROWS, 1, label="support")),
    "row: a status": ("answers", VALUES, _row(_ROWS, 0, status="invalid")),
    "row: a label and its value": ("answers", VALUES, _row(_ROWS, 0, label="not_support", grade=0.0)),
    "row: an aspect": ("answers", VALUES, _row(_ROWS, 0, aspect="9")),
    "row: left out": ("answers", JUDGED, _lines(_ROWS, lambda lines: [*lines[:1], *lines[2:]])),
    "row: whose it is": ("answers", JUDGED, _row(_ROWS, 0, judge="openai:better@00000000")),
    "row: of qrels": ("runs", VALUES, _text("inputs/qrels", "1 0 a 1", "1 0 b 1")),
    "row: a grade of qrels": ("runs", VALUES, _text("inputs/qrels", "2 0 d 0", "2 0 d 3")),
    "row: no qrels": ("runs", VALUES, _text("inputs/qrels", "1 0 a 1", "1 0 a")),
    "row: a nugget's importance": ("answers", VALUES, _text("inputs/nuggets.jsonl", "vital", "okay")),
    "row: ids of topics": ("answers", VALUES, _lines("topic-ids.jsonl", lambda lines: lines[:0])),
    # A run, or an answer.
    "run: a score": ("runs", VALUES, _text("runs/one.run", "1 Q0 a 1 2 one", "1 Q0 a 1 0 one")),
    "run: a document": ("runs", VALUES, _text("runs/two.run", "3 Q0 f 1 2", "3 Q0 g 1 0")),
    "run: a topic less": ("runs", VALUES, _lines("runs/one.run", lambda lines: lines[2:])),
    "run: two names": ("runs", VALUES, _swapped_names),
    "run: two files": ("runs", VALUES, _swapped_files),
    "run: cut off": ("runs", VALUES, _text("runs/one.run", "3 Q0 e 1 1 one", "3 Q0")),
    # A label by people.
    "label: of one answer": ("labeled", CLAIMS, _row("labels/people.jsonl", 0, label="perfect")),
    "label: of the last": ("labeled", CLAIMS, _row("labels/people.jsonl", -1, label="missing")),
    "label: left out": ("labeled", CLAIMS, _lines("labels/people.jsonl", lambda lines: lines[3:])),
    "label: whose they are": ("labeled", CLAIMS, _every("labels/people.jsonl", "person:kim", "openai:big")),
    # A reply.
    "reply: a verdict": ("answers", JUDGED, _reply(0, '"support"', '"not_support"', refit=True)),
    "reply: without its digest": ("answers", JUDGED, _reply(0, '"support"', '"not_support"', refit=False)),
    "reply: a word": ("answers", JUDGED, _reply(1, "because", "as", refit=False)),
    "reply: no JSON": ("answers", JUDGED, _reply(0, '{"verdicts"', '"verdicts"', refit=True)),
    "reply: an id": ("answers", JUDGED, _reply(0, '"n1"', '"n7"', refit=True)),
    "reply: gone": ("answers", JUDGED, _without_file("replies/judged.jsonl")),
    # A word of the rubric.
    "rubric: a word": ("answers", JUDGED, _text(_RUBRIC, "whatever words", "the same words")),
    "rubric: a grade": ("answers", JUDGED, _text(_RUBRIC, "partial_support = 0.5", "partial_support = 1.0")),
    "rubric: no rubric": ("answers", JUDGED, _text(_RUBRIC, "kind = ", "sort = ")),
    # A claim.
    "claim: a rank": ("runs", CLAIMS, _row(_BOARD, 0, rank=2)),
    "claim: an interval": ("runs", CLAIMS, _row(_BOARD, 0, low=0.9)),
    "claim: in the table": ("answers", CLAIMS, _text(_TABLE, "\t1\t", "\t2\t")),
    # The manifest.
    "manifest: another measure": ("runs", VALUES, _with_manifest(measures="rr,ndcg@1")),
    "manifest: a file in place of another": ("runs", VALUES, _other_qrels),
    "manifest: a digest": ("runs", FILES, _with_manifest(files={"inputs/x": "0" * 64})),
}
