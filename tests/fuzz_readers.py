"""Readers under fuzzing: whatever bytes they are given, they read them or refuse them in our words.

    python tests/fuzz_readers.py READER [atheris's options]       (make fuzz-readers: all, one after another)

Coverage leads the way (extra: fuzz). What was worth keeping is in `tests/corpus`, by reader; without atheris,
`mutated` makes variants of it, which is what the tests do.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
SIZE = 20_000  # bytes; longer inputs only take longer
PIECES = (
    *(b'{"', b'"}', b"[[", b"]]", b"\\ud800", b"\\u0000", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b"\x00", b"\r", b"\n\n", b"\xe2\x80\xa8", b" \t", b'"', b"'", b"\\", b",", b":", b"#", b"=", b'"""'),
    *(b"null", b"true", b"NaN", b"-0", b"1e400", b"-1", b"9" * 30, b"9" * 5000, b"0x1", b"1_0", b"[" * 300),
    *(b"{{{fence}}}", b"```", b"Q0"),
)


def _file(content: bytes) -> Any:
    stream = io.BytesIO(content)
    stream.name = "fuzzed"
    return stream


def _replies(content: bytes) -> None:
    import json

    from rageval.judges.verdicts import KINDS, Invalid, RubricScale, read_object

    parsed, _ = read_object(content.decode("utf-8", "surrogateescape"))
    json.dumps(parsed, ensure_ascii=False).encode()
    scale = RubricScale({"yes": 1.0, "no": 0.0}, {"grade": (0.0, 1.0)})
    for name, kind in KINDS.items():
        ids = ("d1", "", "n1") if name == "matrix" else ("n1", "n2")
        with suppress(Invalid):
            for verdict in kind.read(parsed, scale, ids):
                str(verdict).encode()


def _rubric(content: bytes) -> None:
    from rageval.judges.rubric import rubric_named

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "own.toml")
        path.write_bytes(content)
        rubric = rubric_named(str(path))
        rubric.request(dict.fromkeys(rubric.file.sees, "text"), ("d1", "", "n1")).fenced().user.encode()


def _server(content: bytes) -> None:
    """What a server says, as a success and as a refusal."""
    from rageval.judges.base import Fatal, Transient
    from rageval.judges.models import model_named
    from rageval.judges.models._remote import Response

    headers = {"retry-after": content[:50].decode("latin-1")}
    for status in (200, 400, 429):
        for name in ("openai:m@http://h", "anthropic:m@http://h"):
            model: Any = model_named(name)
            try:
                reply = model._reply(Response(status, headers, content))
            except (Fatal, Transient) as error:
                str(error).encode()
            else:
                str(reply).encode()


def _lists(module: str, name: str) -> Callable[[bytes], None]:
    def read(content: bytes) -> None:
        from importlib import import_module

        for record in getattr(import_module(f"rageval.{module}"), name)(_file(content)):
            str(record)

    return read


def _nuggets(content: bytes) -> None:
    from rageval.errors import InputError
    from rageval.files.nuggets import read_banks, read_nuggets, write_banks

    for nugget in read_nuggets(_file(content)):
        str(nugget.statement).encode()
    with suppress(InputError):
        list(write_banks(read_banks(_file(content))))


def _reports(content: bytes) -> None:
    """Read them as they are, turn them into other forms, and validate and repair them for each track."""
    from rageval.checking import validate
    from rageval.checking.repairs import repaired
    from rageval.checking.tracks import track_named
    from rageval.errors import InputError
    from rageval.files.answers import read_reports, write_reports

    for name in ("report", "ragtime25", "dragun25", "dragun25-questions", "biogen25-a", "biogen25-b"):
        bounds = track_named(name).bounds
        for line in content.split(b"\n") if bounds else ():
            once, _ = repaired(line, bounds)
            assert repaired(once, bounds) == (once, []), "a second repair finds something to do"
        with suppress(InputError):
            str(validate(_file(content), name))
    reports = list(read_reports(_file(content)))
    for form in (None, "report", "rag25", "rag26"):
        for report in reports:
            with suppress(InputError):
                list(write_reports([report], form, []))


def _leaderboard(content: bytes) -> None:
    """Read it, write it in each form, and read that: the same rows."""
    from rageval.errors import InputError, UsageError
    from rageval.files.scores import FORMS, read_leaderboard, write_leaderboard

    rows = read_leaderboard(_file(content))
    for form in FORMS:
        try:
            text = "\n".join(write_leaderboard(rows, form)).encode()
        except (InputError, UsageError):
            continue
        try:
            reread = read_leaderboard(_file(text), form)
        except InputError as error:
            raise AssertionError(f"cannot read what was written: {error}") from error
        assert str(reread) == str(rows), "other rows than were written"


def _run(content: bytes) -> None:
    from rageval.scoring.sources import read_run

    for _ in read_run(_file(content)):
        pass


def _qrels(content: bytes) -> None:
    from rageval.scoring.sources import read_qrels

    read_qrels(_file(content))


def _judgements(content: bytes) -> None:
    from rageval.errors import InputError, UsageError
    from rageval.scoring.answers import evaluate_answers, read_judgements

    measures = "crag_score citation_precision argue_f1 dragun_support document_recall sentence_share"
    table = read_judgements(_file(content))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what should be said of a table
        for name in measures.split():
            with suppress(UsageError, InputError):
                evaluate_answers(name, table, on_missing="worst")


_SOURCE = "Good evening. “If I were smart”, I’d go home.\r\nGood evening."  # which spans and chunks are of


def _met(spans: bytes, chunks: bytes) -> None:
    """Let spans meet chunks of one source, and write what they come to."""
    import json

    from rageval.files.spans import read_spans, write_spans
    from rageval.spans import project

    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        corpus.write_text(json.dumps({"id": "a", "text": _SOURCE}))
        projected = project(_file(spans), _file(chunks), corpus, overlap="any", stale="drop")
        "\n".join([*map(str, projected.remarks()), *write_spans(projected.projected.spans, {})]).encode()
    for line in write_spans(read_spans(_file(spans)).spans, {}):
        line.encode()


_SPANS = (
    b'{"query_id": "q", "nugget_id": "n", "doc_id": "a", "start": 33, "end": 45, "quote": "I\'d go home."}'
)
_CHUNKS = b'{"id": "c", "doc_id": "a", "start": 0, "end": 40}'


READERS: dict[str, Callable[[bytes], None]] = {
    "runs": _run,
    "qrels": _qrels,
    "leaderboards": _leaderboard,
    "answers": _lists("files.answers", "read_answers"),
    "reports": _reports,
    "questions": _lists("files.questions", "read_questions"),
    "nuggets": _nuggets,
    "passages": _lists("judges.material", "passages_in"),
    "judgements": _judgements,
    "spans": lambda content: _met(content, _CHUNKS),
    "chunks": lambda content: _met(_SPANS, content),
    "steps": _lists("files.steps", "read_steps"),
    "umbrela": _lists("files.retrieved", "read_umbrela"),
    "replies": _replies,
    "rubrics": _rubric,
    "servers": _server,
}


def tried(reader: str, content: bytes) -> None:
    """Read the bytes; a refusal is one line that any terminal can show, and anything else is a fault."""
    from rageval.errors import RagevalError
    from rageval.judges.verdicts import Invalid

    try:
        READERS[reader](content[:SIZE])
    except (RagevalError, Invalid) as error:
        error_text = str(error)
        error_text.encode()
        if isinstance(error, Invalid):
            return
        assert error_text, "a refusal without a word"
        assert "Traceback" not in error_text
        assert not any(ord(letter) < 32 and letter != "\n" for letter in error_text), (
            f"a control character: {error_text!r}"
        )


def kept(reader: str) -> list[bytes]:
    """The corpus."""
    return [path.read_bytes() for path in sorted((CORPUS / reader).iterdir())]


def mutated(reader: str, count: int, seed: int) -> Iterator[bytes]:
    """Variants of the corpus: pieces left out, doubled, changed, put in from elsewhere."""
    rng, corpus = random.Random(f"{seed}/{reader}"), kept(reader)
    for _ in range(count):
        content = bytearray(rng.choice(corpus))
        for _ in range(rng.randint(1, 4)):
            begin, end = sorted(rng.randint(0, len(content)) for _ in range(2))
            end = min(end, begin + rng.choice((1, 2, 8, 64)))
            other = rng.choice(corpus)
            start = rng.randint(0, len(other))
            taken, byte = other[start : start + 40], bytes([rng.randrange(256)])
            new: bytes = rng.choice((b"", byte, rng.choice(PIECES), bytes(content[begin:end]) * 2, taken))
            content[begin : end if rng.random() < 0.7 else begin] = new
        yield bytes(content)


def main(reader: str, options: list[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=["rageval"]):
        import rageval.files.answers
        import rageval.files.nuggets
        import rageval.files.questions
        import rageval.files.retrieved
        import rageval.judges.material
        import rageval.judges.models._anthropic
        import rageval.judges.models._openai
        import rageval.judges.rubric
        import rageval.scoring.answers
        import rageval.scoring.sources  # noqa: F401
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.argv[0],
            *options,
            folder,
            str(CORPUS / reader),
        ]  # finds go to the first
        atheris.Setup(words, partial(tried, reader))
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
