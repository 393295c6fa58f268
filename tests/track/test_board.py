"""A leaderboard that anybody can recompute: what a bundle holds, 50 forgeries, and what it may not do."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import os
import tarfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from boards import FORGERIES, Board, forged, packed, unpacked
from rageval.errors import UsageError
from rageval.judges.reread import calls_of, can_reread, reread
from rageval.judges.rubric import rubric_named
from rageval.subjects import RUNS
from rageval.track.values import ScoringInputs, values_of
from rageval.track.verification import verify
from rageval.version import __version__
from test_bad_input import command

GOLDEN = Path(__file__).parents[1] / "golden" / "store-0.1" / "judged.json"
EARLIER = Path(__file__).parents[1] / "golden" / "board-1"  # bundles of 0.2.0, one of them of a track


@pytest.fixture(name="board")
def board_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Board:
    monkeypatch.chdir(tmp_path)
    return Board()


def states(path: Path, **options: Any) -> dict[str, str]:
    return {step.name: step.state for step in verify(path, **options).steps}


@pytest.mark.slow
def test_a_bundle_recomputes(boards: Mapping[str, Path]) -> None:
    for name, path in boards.items():
        report = verify(path)
        assert report.exit_code == 0, (name, list(report.sentences()))
    extents = {name: str(verify(path).steps[1].extent) for name, path in boards.items()}
    nothing = "no judgement has a reply"
    assert extents == {"runs": nothing, "answers": "24 judgements", "labeled": nothing}


@pytest.mark.parametrize("name", ["runs", "answers", "labeled", "track"])
def test_earlier_bundles_are_read(name: str) -> None:
    report = verify(EARLIER / f"{name}.tar.gz")
    differences = [str(difference) for step in report.steps for difference in step.differences]
    # Signatures name the version, and a later one has another.
    assert all("signature" in difference for difference in differences), differences
    assert {step.state for step in report.steps[:3]} == {"same"}
    assert report.exit_code == (0 if __version__ == "0.2.0" else 1)


@pytest.mark.some(10)
@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_found(boards: Mapping[str, Path], name: str, tmp_path: Path) -> None:
    board, step, forge = FORGERIES[name]
    path = forged(boards[board], forge, tmp_path / "forged.tar.gz")
    report = verify(path)
    assert report.exit_code == 1
    assert step in [checked.name for checked in report.steps if checked.state == "differs"], list(
        report.sentences()
    )


def test_there_are_fifty_of_all_kinds() -> None:
    assert len(FORGERIES) == 50
    kinds = {name.partition(":")[0] for name in FORGERIES}
    assert kinds == {"value", "row", "run", "label", "reply", "rubric", "claim", "manifest"}


def test_which_row_differs_is_said(boards: Mapping[str, Path], tmp_path: Path) -> None:
    board, _, forge = FORGERIES["value: of a topic"]
    (line,) = [
        line for line in verify(forged(boards[board], forge, tmp_path / "b")).sentences() if "scores" in line
    ]
    assert line == (
        "values from judgements: scores.jsonl: line 1 (rr, one.run, 1): value 0.75, recomputed 1.0"
    )


def test_another_bundle_than_the_one_on_the_page(boards: Mapping[str, Path]) -> None:
    digest = sha256(boards["runs"].read_bytes()).hexdigest()
    assert verify(boards["runs"], expected=digest).exit_code == 0
    assert states(boards["runs"], expected="0" * 64)["files"] == "differs"


def test_without_replies_judgements_are_believed(board: Board, tmp_path: Path) -> None:
    path = board.bundled("answers", "digests")
    report = verify(path)
    assert report.exit_code == 3
    assert [step.state for step in report.steps] == ["same", "missing", "same", "same"]
    files = unpacked(path)
    assert not any(name.startswith(("replies/", "inputs/topics")) for name in files)
    assert b"because it says so" not in b"".join(files.values())
    # The publisher's own judgements hold the replies.
    Path("withheld").mkdir()
    Path("withheld/judged.jsonl").write_bytes(Path("judged.jsonl").read_bytes())
    assert verify(path, inputs="withheld").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, 3),
        ({"rubric": "nugget-assignment"}, 3),
        ({"decided_by": "openai:m"}, 3),
        ({"decided_by": "first-stage"}, 0),
        # Values say who judged, so that these differ, too.
        ({"rubric": "nugget-assignment", "judge": "openai:m"}, 1),
        ({"judge": "person:kim"}, 1),
        ({"judge": "median:openai:m@87e440af"}, 1),
    ],
    ids=str,
)
def test_what_a_model_said_needs_its_reply(
    boards: Mapping[str, Path], changed: dict[str, str], code: int, tmp_path: Path
) -> None:
    def forge(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        rows = [json.loads(line) for line in files["judgements/judged.jsonl"].splitlines()]
        del rows[0]["reply"]
        rows[:3] = [row | changed for row in rows[:3]]
        files["judgements/judged.jsonl"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    report = verify(forged(boards["answers"], forge, tmp_path / "forged.tar.gz"))
    assert report.exit_code == code, list(report.sentences())
    who = changed.get("decided_by") or changed.get("judge") or ""
    # Who is believed has a name on the page.
    assert (f"judgements without a reply, by {who} (3)" in map(str, report.believed)) == (code != 3)


@pytest.mark.slow
def test_the_same_work_gives_the_same_bytes(board: Board) -> None:
    one = board.bundled("answers", "full").read_bytes()
    for path in Path().iterdir():
        os.utime(path, (1, 1))
    assert board.bundled("answers", "full").read_bytes() == one


@pytest.mark.slow
def test_keys_are_in_no_bundle(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    key, other = "sk-sentinel-0123456789", "other-secret-0123456789"
    monkeypatch.setenv("MY_API_KEY", other)
    rows = [json.loads(line) for line in Path("judged.jsonl").read_text().splitlines()]
    for row in rows:
        row["reason"] = f"{key} {other}"
        if "raw" in row:
            row["raw"] = row["raw"].replace("because", f"{key} {other}")
    Path("judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = board.bundled("answers", "full")
    content = b"".join(unpacked(path).values())
    assert key.encode() not in content
    assert other.encode() not in content
    assert verify(path).exit_code == 0
    Path("one.run").write_text(Path("one.run").read_text() + f"4 Q0 {other} 2 0.5 one\n")
    result = command(*board.words("runs", "full"))
    assert (result.code, "contains a key that is in one of your environment variables" in result.err) == (
        2,
        True,
    )


def test_a_full_bundle_lists_first_what_it_gives_away(board: Board) -> None:
    result = command(*board.words("answers", "full"))
    first, second, *_ = result.err.splitlines()
    assert first == "rageval: the bundle contains the topics (topics.tsv); check that you may publish it"
    assert "contains the judges' replies" in second


def test_every_rubric_is_read_again() -> None:
    golden = json.loads(GOLDEN.read_text())
    count = 0
    for name, rows in golden.items():
        rubric = rubric_named(name)
        rows = [row | ({"reply": row["raw"]} if "raw" in row else {}) for row in rows if "status" in row]
        for call in calls_of(rows):
            if "raw" in call[0] and can_reread(rubric, call):
                count += 1
                assert list(reread(rubric, call, call[0]["raw"])) == [], name
    assert count == 43


def members(*of: tuple[str, bytes, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, kind, content in of:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(content), "/etc/passwd" * (kind != b"0")
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(out.getvalue())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected a bundle"),
        (b"no archive", "expected a bundle"),
        (gzip.compress(b"x" * 2000), "expected a bundle"),
        (members(("board/../x", b"0", b"")), "cannot lead out of its folder"),
        (members(("/etc/x", b"0", b"")), "cannot be absolute"),
        (members(("board/.env", b"0", b"")), "cannot begin with a dot"),
        (members(("board/x.py", b"0", b"")), "cannot be code"),
        (members(("board/x", b"2", b"")), "is not an ordinary file"),
        (members(("board/x", b"x", b"")), "is not an ordinary file"),
        (members(("board/x", b"0", b""), ("board/X", b"0", b"")), "is there twice"),
        (members(("board/x", b"0", b"0" * 4096))[:-40], "expected a bundle"),
        (members(("board/x", b"0", b"")), "has no manifest.json"),
        (members(("board/manifest.json", b"0", b"{}")), "manifest.json"),
        (members(("board/manifest.json", b"0", b"[" * 100_000)), "manifest.json"),
    ],
    ids=lambda value: (
        "" if isinstance(value, bytes) else value
    ),  # bytes of an archive name the second they were made
)
def test_what_is_no_bundle(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "b.tar.gz").write_bytes(content)
    result = command("board", "verify", str(tmp_path / "b.tar.gz"))
    assert result.code == 2
    assert message in result.err


@pytest.mark.parametrize("size", [-1, -513, -(2**60), 2**33, 2**80])
def test_a_size_that_a_header_states(size: int, tmp_path: Path) -> None:
    member = tarfile.TarInfo("board/x")
    member.size = size
    header = member.tobuf(tarfile.GNU_FORMAT)
    assert tarfile.TarInfo.frombuf(header, "utf-8", "strict").size == size
    (tmp_path / "b").write_bytes(gzip.compress(header + b"0" * 4096))
    result = command("board", "verify", str(tmp_path / "b"))
    assert (result.code, "more than 5,000 files or" in result.err) == (2, True)


def _named_twice(manifest: dict[str, Any]) -> None:
    manifest["systems"] = [{"name": str(number), "file": "runs/one.run"} for number in range(900)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_named_twice, "names runs/one.run 900 times; expected once"),
        (lambda manifest: manifest["systems"].append(manifest["systems"][0]), "names one.run 2 times"),
        (
            lambda manifest: manifest.update(systems=[{"name": str(number)} for number in range(1001)]),
            "1,001 systems",
        ),
        (lambda manifest: manifest.update(measures=",".join(["rr"] * 5001)), "10,000 places"),
        (lambda manifest: manifest.update(systems=[]), "length >= 1"),
        (lambda manifest: manifest.update(on_missing="other"), "Invalid enum value"),
    ],
)
def test_what_takes_too_long_is_refused(
    boards: Mapping[str, Path], change: Any, message: str, tmp_path: Path
) -> None:
    path = forged(boards["runs"], lambda files, manifest: change(manifest), tmp_path / "b")
    result = command("board", "verify", str(path))
    assert (result.code, message in result.err) == (2, True), result


def test_what_a_manifest_states_of_intervals(boards: Mapping[str, Path], tmp_path: Path) -> None:
    def forge(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest["intervals"] = "99% from 10,000,000 resamples"

    assert states(forged(boards["runs"], forge, tmp_path / "b"))["claims from values"] == "differs"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["runs", "answers", "labeled"])
def test_no_order_of_files_changes_a_byte(board: Board, kind: str) -> None:
    words = board.words(kind, "full")
    if kind == "runs":
        # Of one name in two folders, too.
        for folder, run in (("x", "one"), ("y", "two")):
            Path(folder).mkdir()
            Path(folder, "same.run").write_text(Path(f"{run}.run").read_text().replace("2", "3"))
        files = ["one.run", "two.run", "x/same.run", "y/same.run", "qrels"]
        rest = words[2 + 3 :]
    else:
        lines = Path(words[2]).read_text().splitlines(keepends=True)
        half = len(lines) // 2
        for name, part in (("p1.jsonl", lines[:half]), ("p2.jsonl", lines[half:])):
            Path(name).write_text("".join(part))
        files, rest = ["p1.jsonl", "p2.jsonl"], words[3:]
    bundles = set()
    for order in (files, files[::-1]):
        result = command(*words[:2], *order, *rest)
        assert result.code == 0, result.err
        bundles.add(Path(f"{kind}.tar.gz").read_bytes())
    assert len(bundles) == 1
    assert verify(f"{kind}.tar.gz").exit_code == 0


def test_a_bundle_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rageval.track.bundle._MOST_BYTES", 5000)
    (tmp_path / "b").write_bytes(members(("board/x", b"0", b"0" * 5001)))
    assert "more than" in command("board", "verify", str(tmp_path / "b")).err


@pytest.mark.some(6)
@pytest.mark.parametrize("name", ["/etc/passwd", "../qrels", "inputs/none"])
@pytest.mark.parametrize("field", ["qrels", "topic_ids", "labels", "systems"])
def test_the_manifest_names_nothing_outside(
    boards: Mapping[str, Path], field: str, name: str, tmp_path: Path
) -> None:
    kinds: dict[str, Any] = {"labels": [name], "systems": [{"name": "one", "file": name}]}

    def forge(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest[field] = kinds.get(field, name)

    result = command("board", "verify", str(forged(boards["runs"], forge, tmp_path / "b")))
    assert result.code == 1
    assert "no such file in the bundle" in result.out


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ["/etc/passwd", "../people.jsonl", "none"])
def test_how_labels_were_chosen_is_in_the_bundle(
    boards: Mapping[str, Path], name: str, tmp_path: Path
) -> None:
    def forge(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest["labels_chosen"] = name

    result = command("board", "verify", str(forged(boards["labeled"], forge, tmp_path / "b")))
    assert (result.code, "no such file in the bundle" in result.out) == (1, True)


def test_a_data_set_is_no_file(boards: Mapping[str, Path], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1 0 d 1\n")

    def forge(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest |= {"qrels": "", "datasets": {"qrels": str(tmp_path / "secret")}}

    report = verify(forged(boards["runs"], forge, tmp_path / "b"))
    assert report.exit_code == 3
    assert [step.state for step in report.steps[2:]] == ["missing", "missing"]


def test_the_page_of_documentation_has_every_field(boards: Mapping[str, Path]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "board.md").read_text(encoding="utf-8")
    for name in json.loads(unpacked(boards["runs"])["manifest.json"]):
        assert f"`{name}`" in page


def test_packing_is_as_it_was(boards: Mapping[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "b"
    packed(path, unpacked(boards["runs"]))
    assert path.read_bytes() == boards["runs"].read_bytes()


def test_a_kind_without_standings_has_no_leaderboard() -> None:
    kind = dataclasses.replace(RUNS, standings=None)
    with pytest.raises(UsageError, match="a leaderboard of runs is not available"):
        values_of(ScoringInputs("recall@5", kind, ()), print)
