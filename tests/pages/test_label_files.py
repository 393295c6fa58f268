"""The file of labels while it is served: who may have it, where its page is, what a kill leaves behind."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval.pages.labels
from labeling import NAMES
from rageval.cli import main
from rageval.errors import InputError, OutputError, UsageError
from rageval.files.plans import LabelPlan
from rageval.pages.labels import LabelFile, LabelServer

# The port follows from plan and annotator: tests at the same time need one each.
WHO = f"kim-{os.getpid()}"
ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there are no such permissions, or links")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "kim.jsonl"


def label(plan: LabelPlan, query: int = 0, run: int = 0, **more: Any) -> dict[str, Any]:
    about = {"query_id": f"q{query:04d}", "run_id": NAMES[run], "item_id": "answer", "aspect": "0"}
    who = {"annotator": WHO, "judge": f"person:{WHO}", "rubric": plan.rubric, "plan": plan.sha}
    return {**about, **who, "status": "ok", "label": "perfect", "grade": 1, **more}


def labels_in(place: Path) -> list[tuple[str, str]]:
    rows = map(json.loads, place.read_text(encoding="utf-8").splitlines())
    return [(row["query_id"], row["run_id"]) for row in rows]


def test_the_address_of_labels_stays(plan: LabelPlan, place: Path) -> None:
    """A page that is open finds its program again: at the same port, with the same secret."""
    with LabelFile(place, plan, WHO) as labels, LabelServer(labels) as server:
        first = server.address
    assert int(first.split(":")[2].split("/")[0]) in range(20_000, 32_000)
    with LabelFile(place, plan, WHO) as labels, LabelServer(labels) as server:
        assert server.address == first
    with LabelFile(place, plan, WHO) as labels, LabelServer(labels, 0) as server:
        moved = server.address
        assert moved != first
    with LabelFile(place, plan, WHO) as labels, LabelServer(labels) as server:
        assert server.address == moved  # of the last time
    with LabelFile(place.with_name("lee.jsonl"), plan, "lee") as others:
        assert others.port != int(first.split(":")[2].split("/")[0])  # both label at one computer
        assert others.token not in (first, moved)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff" * 9999,
        b'{"plan":"0","annotator":"WHO","port":1,"token":"a"}',
        b'{"plan":"SHA","annotator":"WHO","port":99999,"token":"' + b"a" * 32 + b'"}',
        b'{"plan":"SHA","annotator":"WHO","port":30000,"token":"short"}',
        b'{"plan":"SHA","annotator":"lee","port":30000,"token":"' + b"a" * 32 + b'"}',
    ],
)
def test_an_address_that_is_spoilt_or_of_others_is_made_anew(
    plan: LabelPlan, place: Path, content: bytes
) -> None:
    Path(f"{place}.address").write_bytes(
        content.replace(b"SHA", plan.sha.encode()).replace(b"WHO", WHO.encode())
    )
    with LabelFile(place, plan, WHO) as labels:
        labels.keep_port(labels.port)
        assert len(labels.token) >= 32
        assert labels.token != "a" * 32
        assert labels.port in range(20_000, 32_000)
        token = labels.token
    with LabelFile(place, plan, WHO) as labels:
        assert labels.token == token


@ON_POSIX
def test_nobody_else_can_read_the_secret(plan: LabelPlan, place: Path) -> None:
    address = Path(f"{place}.address")
    umask = os.umask(0)
    try:
        for _ in range(2):
            with LabelFile(place, plan, WHO) as labels:
                assert stat.S_IMODE(address.stat().st_mode) == 0o600
                labels.keep_port(labels.port)
            address.chmod(0o666)
    finally:
        os.umask(umask)
    address.unlink()
    (place.parent / "victim").write_text("mine")
    address.symlink_to(place.parent / "victim")
    with pytest.raises(OutputError, match=r"kim\.jsonl\.address: the address of the page cannot be saved"):
        LabelFile(place, plan, WHO)
    assert (place.parent / "victim").read_text() == "mine"
    address.unlink()
    os.mkfifo(address)
    with pytest.raises(OutputError, match="is not an ordinary file"):
        LabelFile(place, plan, WHO)


@ON_POSIX
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_an_address_by_somebody_else_is_refused(plan: LabelPlan, place: Path) -> None:
    Path(f"{place}.address").write_text("")
    os.chown(f"{place}.address", 12345, 12345)
    with pytest.raises(OutputError, match="belongs to another user"):
        LabelFile(place, plan, WHO)


def test_labels_are_served_once(plan: LabelPlan, place: Path, asked: Path) -> None:
    same = place.parent / "same" / ".." / "kim.jsonl"
    (place.parent / "same").mkdir()
    with LabelFile(place, plan, WHO) as labels:
        with pytest.raises(UsageError, match="are already being served; use the open page"):
            LabelFile(same, plan, WHO)
        words = ["label", "page", str(asked), "--annotator", WHO, "--serve", str(place)]
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, "are already being served" in result.stderr) == (2, True)
        labels.change([label(plan)], [])
    with LabelFile(same, plan, WHO) as labels:
        assert len(labels) == 1
    with pytest.raises(OutputError, match="is stopping"):  # a request that came too late
        labels.change([label(plan)], [])


def test_a_port_that_is_taken_is_named_with_the_way_out(plan: LabelPlan, place: Path) -> None:
    with (
        LabelFile(place, plan, WHO) as labels,
        LabelServer(labels) as server,
        LabelFile(place.with_name("other.jsonl"), plan, WHO) as others,
    ):
        assert others.port == server.server_port
        with pytest.raises(OutputError, match=rf"port {others.port} .* another rageval label page .* --port"):
            LabelServer(others)
        with LabelServer(others, 0) as second:
            assert second.server_port != server.server_port


def test_where_there_are_no_locks_it_is_said(
    plan: LabelPlan, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: Any, **__: Any) -> bool:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(rageval.pages.labels, "lock", none)
    with LabelFile(place, plan, WHO) as labels:
        assert [*map(str, labels.remarks)] == [
            f"{place}: cannot be locked on this disk; do not serve it twice"
        ]


@pytest.mark.parametrize("cut", [1, 7, 40, 200, -2, -1])
def test_a_last_line_that_was_cut_off_is_removed_and_said(plan: LabelPlan, place: Path, cut: int) -> None:
    with LabelFile(place, plan, WHO) as labels:
        labels.change([label(plan), label(plan, 1), label(plan, 2)], [])
    whole = place.read_bytes()
    *complete, last = whole.splitlines(keepends=True)
    place.write_bytes(b"".join(complete) + last[:cut])
    with LabelFile(place, plan, WHO) as labels:
        if cut == -1:  # only the end of the line lacks
            assert (len(labels), labels.remarks) == (3, [])
        else:
            assert len(labels) == 2
            assert [*map(str, labels.remarks)] == [
                f"{place}: the last line was cut off and is removed; the 2 labels before it are complete"
            ]
            assert place.read_bytes() == b"".join(complete)
        labels.change([label(plan, 2)], [])
    assert place.read_bytes() == whole


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"label": None, "grade": None}, "expected one of acceptable, .*, found nothing"),
        ({"label": None, "grade": 7.5}, "expected one of acceptable, .*, found 7.5"),
        ({"grade": "high"}, "expected a label as the page sends it; Expected `float | null`"),
        ({"grade": 0}, "expected 'perfect' with grade 1, found 0"),
        ({"status": "refused"}, "status 'refused' with a grade"),
        ({"importance": "vital"}, "expected importance as in the plan"),
        ({"repeat": "2"}, "Object contains unknown field `repeat`"),
    ],
)
def test_a_file_with_a_label_that_score_does_not_read_is_refused_by_its_line(
    plan: LabelPlan, place: Path, odd: dict[str, Any], message: str
) -> None:
    rows = [label(plan), label(plan, 1), {**label(plan, 2), **odd}]
    rows[-1] = {key: value for key, value in rows[-1].items() if value is not None}
    place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=rf"kim\.jsonl:3: .*{message}"):
        LabelFile(place, plan, WHO)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("notes of mine", "expected a label"),
        ('{"query_id": "q', "expected a label"),
        ('{"annotator":"kim"}\n{"annotator":"k', "kim.jsonl:1: expected a label as the page sends it"),
        ("TWICE", "kim.jsonl:2: a second label of the same item"),
    ],
)
def test_a_file_of_something_else_is_left_alone(
    plan: LabelPlan, place: Path, content: str, message: str
) -> None:
    place.write_text(content.replace("TWICE", f"{json.dumps(label(plan))}\n" * 2))
    before = place.read_bytes()
    with pytest.raises(InputError, match=message):
        LabelFile(place, plan, WHO)
    assert place.read_bytes() == before
    assert list(place.parent.iterdir()) == [place]
    place.unlink()
    with LabelFile(place, plan, WHO):  # nobody holds it
        pass


def test_what_a_killed_writer_left_is_removed_and_nothing_else(plan: LabelPlan, place: Path) -> None:
    left = place.with_name(f".kim.jsonl.{'0a' * 8}.part")
    others = [
        place.with_name(name) for name in (f".kim.jsonl.{'x' * 16}.part", f".lee.jsonl.{'0' * 16}.part")
    ]
    for path in (left, *others):
        path.write_text("{")
    with LabelFile(place, plan, WHO):
        assert not left.exists()
        assert all(path.exists() for path in others)


def test_places_where_no_labels_can_be_kept_are_refused_at_once(
    plan: LabelPlan, place: Path, asked: Path
) -> None:
    for where, code in (("-", 2), (str(place.parent / "none" / "kim.jsonl"), 2), (str(place.parent), 2)):
        result = CliRunner().invoke(main, ["label", "page", str(asked), "--serve", where])
        assert result.exit_code == code, where
        assert "Traceback" not in result.output
    result = CliRunner().invoke(
        main, ["label", "page", str(asked), "--annotator", " ", "--serve", str(place)]
    )
    assert (result.exit_code, "expected a name" in result.stderr) == (2, True)
    assert list(place.parent.iterdir()) == []


def test_a_label_in_place_of_another_takes_its_place(plan: LabelPlan, place: Path) -> None:
    with LabelFile(place, plan, WHO) as labels:
        for number in range(3):
            for given in ("perfect", "missing"):
                labels.change([label(plan, number, label=given, grade=1 if given == "perfect" else 0)], [])
        assert len(labels_in(place)) == 3
        assert {row["label"] for row in map(json.loads, place.read_text().splitlines())} == {"missing"}
        labels.change([], [label(plan, 1)])
    assert labels_in(place) == [("q0000", NAMES[0]), ("q0002", NAMES[0])]
