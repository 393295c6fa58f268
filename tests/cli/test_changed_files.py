"""Later records of other types, odd names, odd bytes: no traceback, no hang, nothing written elsewhere.

`FUZZ_FILES` says how many files are changed (3,000 before a release), `FUZZ_SEED` with which seed. A case
that finds a fault goes to `tests/cli/changed/`, as {"line": words, "files": {name: text}}.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from apart import ended, of_line
from rageval.cli import COMMANDS
from snippets import ROOT
from test_odd_words import LINES, OUTPUTS, _odd  # noqa: F401
from test_outputs import _files, _server  # noqa: F401

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each case needs a process of its own, fast"),
]
RUNS = int(os.environ.get("FUZZ_FILES", "40"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
# Lines that leave the machine, ask a judge or serve a page have tests of their own.
NOT_HERE = {"label page serve", "datasets fetch", "datasets import"}
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7.5, 1e308, -0.0, 2**63, 2**200, "", "x", "\ud800", "\0", "\n\r\u2028"),
    *("../../etc/passwd", "a\tb", "NaN", [], {}, [[]], [None], {"": None}, "x" * 5000, ["x"] * 3),
    *({"a": {"a": {"a": 1}}}, "\u202e", "1e999", "-5", " ", "{{x}}", "=1+1", "[1,2", '{"a":'),
)
BYTES = (
    *(b"\xff", b"\0", b"\n", b'"', b"{", b"[", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"9" * 400, b"1e999", b"-"),
    *(b",", b"\t", b"\\u0000", b"\\ud800", b"NaN", b"[" * 3000, b'{"a":' * 3000, b"\r", b"q0 Q0 "),
)
NAMES = (
    b"\xff\xfe",
    b"a\nb",
    b"-m",
    b"--help",
    b"=cmd()",
    b"x" * 200,
    b"a b",
    b"%s{0}",
    "é💥".encode(),
    b"a,b",
)
KINDS = sorted(
    path
    for folder in ("examples/data", "tests/corpus", "tests/golden/trec")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and path.suffix not in (".py", ".pyc", ".md")
)
_LOGS = ROOT / "tests/golden/logs"
LOGS = {  # by names that differ, as several tools' files are called alike
    "-".join(path.relative_to(_LOGS).parts): path
    for path in sorted(_LOGS.rglob("*"))
    if path.is_file() and path.suffix != ".md"
}


def lines() -> dict[str, tuple[str, ...]]:
    """The lines to try: every command, and every log that can be imported."""
    found = {name: line for name, line in LINES.items() if name not in NOT_HERE and "--serve" not in line}
    for log in LOGS:
        found[f"import {log}"] = ("import", f"logs/{log}", "-o", "out/imported")
    return found


def other_value(value: Any, random: Random, depth: int = 0) -> Any:
    """A value with one part of another type, gone, or there several times."""
    if depth > 12 or not value or not isinstance(value, dict | list) or random.random() < 0.25:
        return random.choice(VALUES)
    if isinstance(value, list):
        at = random.randrange(len(value))
        return random.choice(
            [
                lambda: [*value[:at], *value[at + 1 :]],
                lambda: [*value, *[value[at]] * random.choice([1, 3, 50])],
                lambda: [*value[:at], random.choice(VALUES), *value[at:]],
                lambda: [*value[:at], other_value(value[at], random, depth + 1), *value[at + 1 :]],
            ]
        )()
    name = random.choice(list(value))
    changed = dict(value)
    how = random.random()
    if how < 0.1:
        del changed[name]
    elif how < 0.2:
        changed[random.choice(["__proto__", "id", "query_id", "x" * 2000, "", "\ud800"])] = value[name]
    else:
        changed[name] = other_value(value[name], random, depth + 1)
    return changed


def other_records(content: bytes, random: Random) -> bytes:
    """JSON, or JSON lines, of which a later record has other types."""
    try:
        return json.dumps(other_value(json.loads(content), random)).encode()
    except ValueError:
        pass
    found = content.splitlines(keepends=True)
    for at in random.sample(range(len(found)), min(len(found), random.choice([1, 1, 2, 4]))):
        try:
            found[at] = json.dumps(other_value(json.loads(found[at]), random)).encode() + b"\n"
        except ValueError:
            found[at] = other_bytes(found[at], random)
    return b"".join(found)


def other_bytes(content: bytes, random: Random) -> bytes:
    """Bytes of which some are others, gone, or stand there twice."""
    changed = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 4, 16])):
        at = random.randrange(len(changed) + 1)
        how = random.randrange(5)
        if how == 0:
            changed[at : at + 1] = bytes([random.randrange(256)])
        elif how == 1:
            del changed[at : at + random.choice([1, 1, 4, 100])]
        elif how == 2:
            changed[at:at] = random.choice(BYTES)
        elif how == 3:
            changed[at:at] = changed[at : at + 500]
        else:
            changed = changed[:at] if random.random() < 0.3 else changed
    return bytes(changed)


def other_encoding(content: bytes, random: Random) -> bytes:
    """Text in another encoding, or with other line ends."""
    text = content.decode("utf-8", "replace")
    coding = random.choice(["utf-16", "utf-8-sig", "latin-1", "cp1252", "utf-32"])
    return text.replace("\n", random.choice(["\n", "\r\n", "\r"])).encode(coding, "replace")


def other_columns(content: bytes, random: Random) -> bytes:
    """A table with another set of columns, or rows of other lengths."""
    rows = content.splitlines()
    if not rows:
        return content
    mark = next((mark for mark in (b"\t", b",", b" ") if mark in rows[0]), b" ")
    at = random.randrange(rows[0].count(mark) + 1)
    some = range(len(rows)) if random.random() < 0.5 else [random.randrange(len(rows))]
    for number in some:
        cells = rows[number].split(mark)
        cells[at : at + 1] = random.choice([[], cells[at : at + 1] * 2, [b"x"], [b""], [b"nan"], [b"1e400"]])
        rows[number] = mark.join(cells)
    return b"\n".join(rows) + b"\n"


def other_kind(content: bytes, random: Random) -> bytes:
    """A file of another kind in its place: a sample of some format."""
    return random.choice(KINDS).read_bytes()


CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(other_records, other_records, other_records, other_bytes, other_encoding, other_columns, other_kind),
)


def run(words: list[Any]) -> int:
    return of_line(list(map(os.fsdecode, words)))


def tree(folder: Path) -> set[str]:
    return {os.path.join(where, name) for where, _, names in os.walk(folder) for name in names}


@pytest.fixture(name="world")
def world_(_odd: None, tmp_path: Path) -> Path:  # noqa: F811
    """A folder with the files of all lines; what is in it before each case is put back from a copy."""
    (tmp_path / "logs").mkdir()
    for name, log in LOGS.items():
        shutil.copy(log, tmp_path / "logs" / name)
    return tmp_path


def files_in(words: tuple[str, ...]) -> list[int]:
    """The places of a line that name a file that is read, or a folder of files."""
    return [
        at
        for at, word in enumerate(words)
        if at and Path(word).exists() and words[at - 1] not in OUTPUTS and word not in COMMANDS
    ]


def changed_file(path: str, random: Random) -> Path:
    """A file to change: the one that is named, or one in the folder that is."""
    named = Path(path)
    if not named.is_dir():
        return named
    inside = sorted(each for each in named.rglob("*") if each.is_file())
    return random.choice(inside) if inside else named / "new"


def test_changed_files_are_told_what_is_wrong(world: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = lines()
    outside = tmp_path_factory.mktemp("outside")
    log = outside / "log"
    log.write_text("")
    kept = outside / "kept"
    shutil.copytree(world, kept, symlinks=True, ignore=shutil.ignore_patterns("odd", "out"))
    faults = []
    for case in range(RUNS):
        random = Random(f"{SEED} {case}")
        name = sorted(found)[case % len(found)] if case < len(found) else random.choice(sorted(found))
        places = files_in(found[name])
        if not places:
            continue
        words: list[Any] = list(found[name])
        at = random.choice(places)
        target = changed_file(words[at], random)
        content = target.read_bytes() if target.is_file() else b""
        change = random.choice(CHANGES)
        if random.random() < 0.15:
            other = os.path.join(os.fsencode(target.parent), random.choice(NAMES))
            Path(os.fsdecode(other)).write_bytes(content)
            if target == Path(words[at]):
                words[at] = other
        else:
            target.unlink(missing_ok=True)
            target.write_bytes(change(content, random))
        before = tree(outside)
        done = ended(partial(run, words), log)
        problem = done.wrong or ("writes elsewhere" if tree(outside) != before else "")
        if problem:
            faults.append(
                f"case {case} ({name}, {change.__name__} of {target}): {problem}: {words}"
                f"\n{done.output[-1500:]}"
            )
        _put_back(kept, world)
    assert not faults, f"{len(faults)} of {RUNS}:\n" + "\n".join(faults)


def _put_back(kept: Path, world: Path) -> None:
    for each in world.iterdir():
        if each.name in ("odd", "out"):
            continue
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    shutil.rmtree(world / "out", ignore_errors=True)
    (world / "out").mkdir()
    shutil.copytree(kept, world, symlinks=True, dirs_exist_ok=True)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests/cli/changed").glob("*.json")), ids=lambda path: str(path.stem)
)
def test_what_once_failed_is_told_what_is_wrong(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case = json.loads(path.read_text(encoding="utf-8"))
    for name, text in case["files"].items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8", errors="surrogatepass")
    done = ended(partial(run, case["line"]), tmp_path / "log")
    assert not done.wrong, done.output
    assert "no such file" not in done.output.lower()
