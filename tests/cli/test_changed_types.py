"""One field of a JSON that is read has another type: no traceback, at most 10 s and 200 MB more than before.

Every JSON that a command reads is changed: files of users, what earlier commands left behind (ledgers,
stores, sites, manifests), what is in bundles, and what servers of models reply. `FUZZ_TYPES` says how many
fields are changed (5,000 before a release), `FUZZ_SEED` with which seed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

import rageval.judges.panel
from apart import ended, of_line
from changed_types import KINDS, Field, fields_of, refit_folder, with_another
from fair_judge import fair
from llm_server import Asked, LlmServer, Saying, openai_error, usual
from rageval.judges.asking import Patience
from snippets import ROOT
from test_bad_input import command
from test_changed_files import LOGS, files_in, lines
from test_odd_words import _odd  # noqa: F401
from test_outputs import _files, _server  # noqa: F401
from test_validate import record

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each case needs a process of its own, fast"),
]
RUNS = int(os.environ.get("FUZZ_TYPES", "40"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
PARTS = 2  # as there are processes
BOARDS = ROOT / "tests/golden/board-1"
CRAG = ("judge", "crag-auto", "asked-answers", "--questions", "asked-questions", "--canaries", "0", "--quiet")
IMPORTED = ("import", "answers", "--map", "question=query_id,answer=answer", "--tool", "records")
TRACK = ("track", "runs", "--track", "run", "--topics", "topics", "--qrels", "qrels", "-m", "recall@5")
ANSWERED = (
    *("track", "answered", "--track", "rag25", "--topics", "topics", "--nuggets", "nuggets"),
    *("--rubric", "nugget-assignment", "--judge", "lexical", "-m", "lexical_recall"),
)
TABLED = ("track", "tabled", "--track", "answers", "--topics", "asked.csv", "--judge", "short")
COLLECTION = (
    *("collection", "build", "questions.jsonl", "--corpus", "corpus.jsonl", "--nuggets", "nuggets"),
    *("--run", "runs/one", "--judge", "openai:m", "--quiet"),
)
BATCH = ("--batch", "--poll-every", "0.01")
# Lines that find what they wrote before, in a folder each.
AGAIN: dict[str, tuple[str, ...]] = {
    "done/track": (*TRACK, "-o", "done/track"),
    "done/answered": (*ANSWERED, "-o", "done/answered"),
    "done/tabled": (*TABLED, "-o", "done/tabled"),
    "done/site": ("board", "publish", "boards/answers.tar.gz", "-o", "done/site"),
    "done/imported": (*IMPORTED, "-o", "done/imported"),
    "done/collection": (*COLLECTION, "-o", "done/collection"),
}
STORES: dict[str, tuple[str, ...]] = {
    "store export": ("store", "export", "--store", "filled.sqlite"),
    "store show": ("store", "show", "--store", "filled.sqlite", "a"),
    "store stats": ("store", "stats", "--store", "filled.sqlite"),
    "store merge": ("store", "merge", "filled.sqlite", "-o", "out/all.sqlite"),
    "store import": ("store", "import", "exported", "--store", "out/other.sqlite"),
    "store judge": (*CRAG, "--judge", "openai:m", "--store", "filled.sqlite"),
    "store batch": (
        *CRAG,
        "--judge",
        "openai:m",
        "--store",
        "filled.sqlite",
        "--batch",
        "--poll-every",
        "0.01",
    ),
}
SERVERS: dict[str, tuple[str, ...]] = {
    "openai": ("--judge", "openai:m"),
    "decisions": ("--judge", "openai-decisions:m"),
    "anthropic": ("--judge", "anthropic:m"),
    "openai batch": ("--judge", "openai:m", *BATCH),
    "anthropic batch": ("--judge", "anthropic:m", *BATCH),
}
ERRORS: dict[str, object] = {
    "openai": openai_error("no", type="invalid", param="temperature", code="unsupported_value"),
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "no"}, "request_id": "r"},
    "detail": {"detail": [{"loc": ["body", "temperature"], "msg": "not allowed", "type": "x"}]},
    "metadata": {
        "error": {
            "message": "no",
            "code": 403,
            "metadata": {"reasons": ["x"]},
            "details": {"error_code": "y"},
        }
    },
    "plain": {"message": "no", "detail": "why"},
}
STATES = (("status",), ("processing_status",))
STATUSES = (200, 400, 401, 403, 404, 413, 422, 429, 500, 503)


class Case(NamedTuple):
    """What is changed, and who reads it."""

    name: str
    words: tuple[str, ...]
    source: str  # a file; of a server, the path of a request and its status
    field: Field
    folder: str = ""  # in which digests of the file are


def reply(asked: Asked) -> Saying:
    """What a server says that is in order."""
    return usual(asked) if asked.path.endswith("decisions") else fair(asked)


def prepare(server: LlmServer) -> None:
    """Write what only commands write."""
    shutil.copytree(BOARDS, "boards")
    answers = [
        {"query_id": f"q{at}", "run_id": "ours", "answer": f"Fact {at} of records."} for at in range(3)
    ]
    Path("asked-answers").write_text("".join(json.dumps(each) + "\n" for each in answers))
    first = Path("questions.jsonl").read_text().splitlines(keepends=True)[:3]
    Path("asked-questions").write_text("".join(first))
    Path("answered").mkdir()
    for run in ("one", "two"):
        texts = {"q0": "one", "q1": "two"}
        handed_in = [
            record("rag25", 1, metadata={"run_id": run, "narrative_id": topic, "narrative": text})
            for topic, text in texts.items()
        ]
        Path("answered", run).write_text("".join(json.dumps(each) + "\n" for each in handed_in))
    Path("done").mkdir()
    for words in AGAIN.values():
        done = command(*words)
        assert done.code in (0, 3), (words, done)
    server.default = fair
    for more in ((), (*BATCH, "--refresh")):
        done = command(*CRAG, "--judge", "openai:m", "--store", "filled.sqlite", *more)
        assert done.code == 0, done
    exported = command("store", "export", "--store", "filled.sqlite", "-o", "exported")
    assert exported.code == 0, exported


def cases_of_files() -> list[Case]:
    """Every field of every JSON in a file that a line reads."""
    cases = []
    known: dict[Path, list[Field]] = {}

    def add(name: str, words: tuple[str, ...], files: list[Path], folder: str = "") -> None:
        for path in files:
            if path not in known:
                known[path] = fields_of(path.read_bytes())
            cases.extend(Case(name, words, str(path), field, folder) for field in known[path])

    def below(path: Path) -> list[Path]:
        return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]

    for name, words in lines().items():
        add(name, words, [path for at in files_in(words) for path in below(Path(words[at]))])
    for folder, words in AGAIN.items():
        add(f"again {folder}", words, below(Path(folder)), folder)
    for name, words in STORES.items():
        add(name, words, [Path(word) for word in words if word in ("filled.sqlite", "exported")])
    for path in sorted(Path("boards").iterdir()):
        add(f"verify {path.name}", ("board", "verify", str(path)), [path])
        add(f"publish {path.name}", ("board", "publish", str(path), "-o", "out/site"), [path])
    return cases


def route(asked: Asked) -> str:
    """The request without ids."""
    return f"{asked.method} " + re.sub(r"(batch|msgbatch|file)[_-]\w+", "ID", asked.path.partition("?")[0])


def cases_of_servers() -> list[Case]:
    """Every field of every JSON that a server of models sends."""
    cases = []
    for name, words in SERVERS.items():
        sent: dict[str, bytes] = {}

        class Heard(LlmServer):
            def answer(self, asked: Asked) -> Saying:
                saying = super().answer(asked)
                sent.setdefault(route(asked), saying.content)  # noqa: B023
                return saying

        with Heard(reply) as server:
            done = command(*CRAG, *_at(words, server), "--store", "out/heard.sqlite")
        Path("out/heard.sqlite").unlink(missing_ok=True)
        assert done.code in (0, 3), (name, done)
        for asked, content in sent.items():
            cases += [Case(name, words, f"200 {asked}", field) for field in fields_of(content)]
            for kind, body in ERRORS.items():
                fields = fields_of(json.dumps(body).encode())
                for status in STATUSES:
                    cases += [Case(f"{name} {kind}", words, f"{status} {asked}", field) for field in fields]
    return cases


def _at(words: tuple[str, ...], server: LlmServer) -> list[str]:
    return [
        f"{word}@{server.anthropic if 'anthropic' in word else server.openai}"
        if word.endswith(":m")
        else word
        for word in words
    ]


def answer_changed(case: Case, kind: str) -> int:
    """Run a line beside a server that sends a changed body."""
    status, _, wanted = case.source.partition(" ")
    error = case.name.rpartition(" ")[2]

    class Changed(LlmServer):
        def answer(self, asked: Asked) -> Saying:
            saying = super().answer(asked)
            if route(asked) != wanted:
                return saying
            body = json.dumps(ERRORS[error]).encode() if error in ERRORS else saying.content
            with suppress(LookupError, TypeError, ValueError):  # the body is another one this time
                body = with_another(body, case.field, KINDS[kind])
            return Saying(int(status), body, saying.headers)

    with Changed(reply) as server:
        return of_line([*CRAG, *_at(case.words, server), "--store", "out/heard.sqlite"])


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """When each file was written, and its size."""
    found = {}
    for where, folders, names in os.walk(folder):
        if where == str(folder):
            folders[:] = [name for name in folders if name != "odd"]
        for name in names:
            path = os.path.join(where, name)
            found[os.path.relpath(path, folder)] = state_of(path)
    return found


def state_of(path: str | Path) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_mtime_ns, status.st_size


def put_back(kept: Path, folder: Path, was: dict[str, tuple[int, int]]) -> None:
    """Undo what a case did to the files."""
    now = state(folder)
    for name in now.keys() - was.keys():
        (folder / name).unlink()
    for name, status in was.items():
        if now.get(name) != status:
            shutil.copy2(kept / name, folder / name, follow_symlinks=False)
            was[name] = state_of(folder / name)


@pytest.mark.parametrize("part", range(PARTS))
def test_changed_types_are_told_what_is_wrong(
    part: int,
    _odd: None,  # noqa: F811, PT019
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    server: LlmServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("jinja2")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-" + "0" * 30)
    Path("logs").mkdir()
    for name, original in LOGS.items():
        shutil.copy(original, Path("logs", name))
    prepare(server)
    monkeypatch.setattr(
        rageval.judges.panel,
        "DEFAULT_PATIENCE",
        Patience(tries=2, deadline=5.0, total=2.0, away=0.3, first_pause=0.01, longest_pause=0.02),
    )
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in [*cases_of_files(), *cases_of_servers()]:
        # All errors of a server are alike, and fewer than its replies.
        source = case.source if case.name in SERVERS or not case.source[:3].isdigit() else ""
        groups.setdefault((case.name, source), []).append(case)
    folder = tmp_path_factory.mktemp("outside")
    kept, log = folder / "kept", folder / "log"
    shutil.copytree(tmp_path, kept, symlinks=True, ignore=shutil.ignore_patterns("odd", "out"))
    was = state(tmp_path)
    faults: list[str] = []
    codes: Counter[int] = Counter()
    most, longest = 0, 0.0
    for number in range(part, RUNS, PARTS):
        random = Random(f"{SEED} {number}")
        # Every file of every line alike, however many fields it has.
        group = sorted(groups)[(number * 7919 + SEED * 104729) % len(groups)]
        case = random.choice(groups[group])
        kind = random.choice(sorted(KINDS))
        if case.field.path[-1:] in STATES and case.name.endswith(" batch") and KINDS[kind].startswith('"'):
            kind = "null"  # a state that nobody knows is waited for, as it may be a new one
        if case.source[:3].isdigit():
            done = ended(partial(answer_changed, case, kind), log)
        else:
            target = Path(case.source)
            before = target.read_bytes()
            after = with_another(before, case.field, KINDS[kind])
            target.write_bytes(after)
            if case.folder:
                refit_folder(Path(case.folder), target, before, after)
            done = ended(partial(of_line, list(case.words)), log)
        codes[done.code] += 1
        most, longest = max(most, done.memory), max(longest, done.seconds)
        if done.wrong:
            faults.append(f"case {number} ({case}, {kind}): {done.wrong}\n{done.output[-1500:]}")
            print(faults[-1], flush=True)
        put_back(kept, tmp_path, was)
    number = sum(codes.values())
    print(f"{number:,} changes of {len(groups):,} files: {dict(codes)}, {most:,} bytes, {longest:.1f} s")
    assert not faults, f"{len(faults)} of {RUNS}:\n" + "\n".join(faults)
