"""A bundle may be made by anybody: whatever its files say, commands end with an exit code and a message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from boards import packed, unpacked
from changed_types import KINDS, changed, places
from test_bad_input import command

pytestmark = pytest.mark.slow

BUNDLES = Path(__file__).parents[1] / "golden" / "board-1"
NAMES = ("runs", "answers", "labeled", "track")
CODES = (0, 1, 2, 3)


Change = Callable[[dict[str, bytes]], None]


def changes(files: Mapping[str, bytes]) -> Iterator[tuple[str, Change]]:
    """What is changed, and how."""

    def of_manifest(path: tuple[Any, ...], to: str) -> Change:
        def change(files: dict[str, bytes]) -> None:
            files["manifest.json"] = changed(json.loads(files["manifest.json"]), path, to)

        return change

    def of_line(name: str, index: int, path: tuple[Any, ...], to: str) -> Change:
        def change(files: dict[str, bytes]) -> None:
            lines = files[name].splitlines()
            lines[index] = changed(json.loads(lines[index]), path, to)
            files[name] = b"".join(line + b"\n" for line in lines)
            # The manifest has the digest, so that the content is looked at.
            manifest = json.loads(files["manifest.json"])
            manifest["files"][name] = sha256(files[name]).hexdigest()
            files["manifest.json"] = json.dumps(manifest).encode()

        return change

    manifest = json.loads(files["manifest.json"])
    for path in places(manifest, 1):
        for kind, to in KINDS.items():
            yield f"manifest.json {path} {kind}", of_manifest(path, to)
    for name, content in files.items():
        if name.endswith(".jsonl"):
            lines = content.splitlines()
            for number in {0, len(lines) - 1} if lines else ():
                for path in places(json.loads(lines[number]), 1):
                    for kind, to in KINDS.items():
                        yield f"{name}:{number + 1} {path} {kind}", of_line(name, number, path, to)


def ends(name: str, step: int, first: int, folder: Path, publishes: bool) -> None:
    """Every so many of the changes end in a message."""
    original = unpacked(BUNDLES / f"{name}.tar.gz")
    every = list(changes(original))[first::step]
    assert every
    for what, change in every:
        files = dict(original)
        change(files)
        path = folder / "board.tar.gz"
        packed(path, files)
        words = ("board", "publish", str(path), "-o", str(folder / "site")) if publishes else ()
        try:
            result = command(*(words or ("board", "verify", str(path))))
        except Exception as error:
            raise AssertionError(f"{name}: {what}") from error
        assert result.code in CODES, what
        assert result.code == 0 or result.out or result.err, what


@pytest.mark.parametrize("name", NAMES)
def test_a_few_changes_end_in_a_message(name: str, tmp_path: Path) -> None:
    ends(name, 397, 13, tmp_path, publishes=False)


@pytest.mark.parametrize("publishes", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_some_changes_end_in_a_message(name: str, publishes: bool, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    ends(name, 31, 7 if publishes else 13, tmp_path, publishes)


@pytest.mark.nightly
@pytest.mark.parametrize("publishes", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_change_ends_in_a_message(name: str, publishes: bool, tmp_path: Path) -> None:
    ends(name, 1, 0, tmp_path, publishes)
