"""A bundle: everything that a leaderboard rests on, in one archive from which anybody can recompute it.

`manifest.json` says which file is what, with the SHA-256 of each. The same work gives the same bytes. Whoever
reads a bundle does not know who made it: it is read within limits, and names no file outside of itself.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from rageval.errors import InputError, Place
from rageval.files.answers import read_answers
from rageval.files.jsonl import as_line, read_records
from rageval.files.kinds import kind_of, wrong_kind
from rageval.files.whole import digest_of, opened_file, problem_of_name, read_whole
from rageval.files.writing import file_names, whole_file
from rageval.judges.rubric import Rubric, as_toml, rubric_named, rubric_names
from rageval.judges.store import secrets_in, without
from rageval.records import Answer
from rageval.text import compatible, visible, without_keys
from rageval.track.values import OnMissing, ScoringInputs, topic_records
from rageval.version import __version__

Mode = Literal["digests", "full"]
FORM = "rageval-board/1"
MANIFEST = "manifest.json"
TOPIC_IDS = "topic-ids.jsonl"
GIVEN_AWAY = ("topics", "passages")  # inputs that only a full bundle holds
_GZIP = b"\x1f\x8b"
_BUNDLE = "a bundle (board.tar.gz)"
_TEXTS = ("reason", "evidence", "detail")  # a judge's words in a judgement, besides its reply
_TOP = "board/"
_WHAT = "a bundle"
_BLOCK = 512  # bytes, of a tar
_MOST_FILES = 5_000  # several of each system
_MOST_BYTES = 4 * 2**30  # of all files together, unpacked
_MOST_SYSTEMS = 1_000  # every two of them are compared
_MOST_PLACES = 10_000  # of all systems by all measures
_LARGEST_MANIFEST = 64 * 2**20
_PIECE = 2**20


class SystemFile(msgspec.Struct, frozen=True):
    """A system, and the file of it; none where only judgements of it are known."""

    name: str
    file: str = ""


class JudgementsFile(msgspec.Struct, frozen=True):
    """A file of judgements, and that of the replies that they were read from, if the bundle gives these."""

    file: str
    replies: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a bundle; `docs/board.md` has a line for each field. Others are not read."""

    form: str = FORM
    bundle: Mode
    title: str
    rageval: str
    track: str
    measures: str
    intervals: str = ""
    on_missing: OnMissing = "error"
    systems: Annotated[list[SystemFile], msgspec.Meta(min_length=1)]
    answers: list[str] = []
    judgements: list[JudgementsFile] = []
    rubrics: dict[str, str] = {}
    qrels: str = ""
    nuggets: str = ""
    topics: str = ""
    passages: str = ""
    topic_ids: str = ""
    labels: list[str] = []
    labels_chosen: str = ""
    datasets: dict[str, str] = {}
    files: dict[str, str]
    withheld: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Board:
    """The contents of a bundle besides what the scores are computed from."""

    title: str
    track: str
    material: Mapping[str, Any]  # qrels, nuggets, topics, passages: files or data sets
    intervals: str = ""
    answers: Sequence[str | Path] = ()  # files of answers, where these are not the systems' own
    rubrics: Sequence[str] = ()
    contents: Mapping[str, bytes | Path] = field(default_factory=dict)  # more files, as they are


def given_away(inputs: ScoringInputs, board: Board, mode: Mode) -> Iterator[str]:
    """Yield what a full bundle discloses: it may be licensed or private."""
    if mode == "full":
        for what in GIVEN_AWAY:
            if isinstance(board.material.get(what), str | os.PathLike):
                shown = visible(str(board.material[what]))
                yield f"the bundle contains the {what} ({shown}); check that you may publish it"
        if inputs.judged:
            yield "the bundle contains the judges' replies, with their reasons and quotes"


def write_bundle(path: Path, inputs: ScoringInputs, board: Board, mode: Mode) -> str:
    """Write the archive; return its SHA-256."""
    contents: dict[str, bytes | Path] = dict(board.contents)
    fields: dict[str, Any] = {"withheld": {}, "datasets": {}}
    for what, source in board.material.items():
        if source is None:
            continue
        if not isinstance(source, str | os.PathLike):
            # Judgements of a data set know the set that they are of.
            fields["datasets"][what] = str(getattr(source, "dataset", source).id)
            continue
        # Some readers look at how a name ends.
        ends = (end for end in Path(source).suffixes[-2:] if end[1:].isalnum() and end.isascii())
        fields[what] = name = f"inputs/{what}{''.join(ends)}"
        if mode == "digests" and what in GIVEN_AWAY:
            fields["withheld"][name] = digest_of(source, _WHAT)
        else:
            contents[name] = Path(source)
    if inputs.topics is not None:
        fields["topic_ids"] = TOPIC_IDS
        contents[TOPIC_IDS] = _join_lines(map(as_line, topic_records(inputs)))
    # Folders stay folders, and no two files meet under one name.
    safe = file_names(part for system in inputs.systems for part in system.file.split("/") if part)
    files = []
    for system in inputs.systems:
        name = "/".join(["runs", *(safe[part] for part in system.file.split("/"))]) if system.file else ""
        if name:
            name = _unused_name(name, contents)
            contents[name] = Path(system.path)
        files.append(SystemFile(system.name, name))
    fields["systems"] = files
    fields["answers"] = [_add_file("answers", source, contents) for source in board.answers]
    fields["labels"] = [_add_file("labels", source, contents) for source in inputs.gold]
    fields["labels_chosen"] = inputs.gold_chosen
    if inputs.gold_chosen and os.path.isfile(inputs.gold_chosen):
        fields["labels_chosen"] = _add_file("labels", inputs.gold_chosen, contents)
    judged: list[JudgementsFile] = []
    rubrics_named: dict[str, None] = {}
    for source in inputs.judged:
        rows, replies = _split_replies(source, mode, rubrics_named)
        name = _unused_name(f"judgements/{_safe_name(Path(source).name)}", contents)
        contents[name] = rows
        replies_name = f"replies/{name.rpartition('/')[2]}" if replies and mode == "full" else ""
        if replies_name:
            contents[replies_name] = replies
        judged.append(JudgementsFile(name, replies_name))
    fields["judgements"] = judged
    fields["rubrics"] = _add_rubrics(rubrics_named, board.rubrics, contents)
    manifest = Manifest(
        bundle=mode,
        title=board.title,
        rageval=__version__,
        track=board.track,
        measures=inputs.measures,
        intervals=board.intervals,
        on_missing=inputs.on_missing,
        # Of all but the manifest itself.
        files={
            name: hashlib.sha256(content).hexdigest()
            if isinstance(content, bytes)
            else digest_of(content, _WHAT)
            for name, content in sorted(contents.items())
        },
        **fields,
    )
    _check_manifest(manifest, Place(visible(str(path))))
    text = json.dumps(msgspec.to_builtins(manifest), indent=1, ensure_ascii=False, sort_keys=True)
    contents[MANIFEST] = f"{text}\n".encode()
    return _write_archive(path, contents)


def _add_rubrics(
    rubrics_named: Mapping[str, None], named: Sequence[str], contents: dict[str, bytes | Path]
) -> dict[str, str]:
    """Put the rubrics beside by which judgements were made; return their files by what judgements say."""
    rubrics: dict[str, Rubric] = {}
    for name in (*named, *rubric_names()):
        rubric = rubric_named(name)
        rubrics.setdefault(f"{rubric.judged_as}@{rubric.version}", rubric)
    files = {}
    for rubric_name in rubrics_named:
        if rubric_name not in rubrics:  # of people, who say no version, or of a rubric that is not at hand
            continue
        rubric = rubrics[rubric_name]
        files[rubric_name] = name = _unused_name(f"rubrics/{_safe_name(rubric.name)}.toml", contents)
        contents[name] = f"{as_toml(rubric.file).rstrip()}\n".encode()
    return files


def _split_replies(source: str, mode: Mode, rubrics_named: dict[str, None]) -> tuple[bytes, bytes]:
    """Return the lines of judgements without replies, and the replies by their digests."""
    keys = secrets_in(os.environ)
    replies: dict[str, str] = {}
    rows = []
    for _, row in read_records(source, dict[str, Any], "judgements"):
        text = row.pop("raw", None)
        if isinstance(text, str):
            text = without_keys(without(text, keys))
            row["reply"] = sha256 = hashlib.sha256(text.encode()).hexdigest()
            line = {"key": row.get("key", ""), "sha256": sha256, "text": text}
            replies.setdefault(sha256, as_line(line))
        if mode == "digests":
            for name in _TEXTS:
                row.pop(name, None)
        if isinstance(row.get("rubric"), str):
            rubrics_named[row["rubric"]] = None
        rows.append(without_keys(without(as_line(row), keys)))
    return _join_lines(rows), _join_lines(replies.values())


def _join_lines(lines: Any) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _add_file(folder: str, source: str | Path, contents: dict[str, bytes | Path]) -> str:
    """Put a file beside; return its name. One that is there already stays under its name."""
    path = Path(source)
    for name, content in contents.items():
        if isinstance(content, Path) and content.resolve() == path.resolve():
            return name
    name = _unused_name(f"{folder}/{_safe_name(path.name)}", contents)
    contents[name] = path
    return name


def _safe_name(name: str) -> str:
    return file_names([name])[name]


def _unused_name(name: str, contents: Mapping[str, Any]) -> str:
    """Return the name, or one like it that is not taken."""
    stem, dot, suffix = name.partition(".")
    tried, number = name, 1
    while tried in contents:
        number += 1
        tried = f"{stem}-{number}{dot}{suffix}"
    return tried


class _Hashed:
    """A stream to write to, and the SHA-256 of what was written: what is no file cannot be read again."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.sha256 = stream, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        return int(self._stream.write(data))

    def flush(self) -> None:
        self._stream.flush()


def _write_archive(path: Path, contents: Mapping[str, bytes | Path]) -> str:
    keys = [key.encode() for key in secrets_in(os.environ)]
    with whole_file(path) as stream:
        hashed = _Hashed(stream)
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=hashed, mtime=0, compresslevel=6) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
        ):
            for name, source in sorted(contents.items()):
                data = source if isinstance(source, bytes) else source.read_bytes()
                if any(key in data for key in keys):
                    shown = visible(str(source) if isinstance(source, Path) else name)
                    raise InputError(
                        at=Place(shown),
                        problem="contains a key that is in one of your environment variables",
                        remedy="remove it before you publish",
                    )
                # Of no owner and no date, so that the same files give the same bytes.
                member = tarfile.TarInfo(_TOP + name)
                member.size, member.mode, member.mtime = len(data), 0o644, 0
                archive.addfile(member, io.BytesIO(data))
    return hashed.sha256.hexdigest()


# Reading one.


@dataclass(frozen=True)
class Bundle:
    """A bundle that was unpacked: its files by name, its manifest, and the SHA-256 of the archive."""

    manifest: Manifest
    paths: Mapping[str, Path]
    sha256: str

    def path(self, name: str) -> Path:
        """Return where a file of the manifest lies; no name leads out of the bundle."""
        if name not in self.paths:
            raise InputError(
                at=Place(MANIFEST, inside=visible(name)[:200]), problem="no such file in the bundle"
            )
        return self.paths[name]

    def read_answers(self) -> Iterator[Answer]:
        """Yield the answers of all systems, as far as the bundle has them."""
        if self.manifest.answers:
            for name in self.manifest.answers:
                yield from read_answers(str(self.path(name)))
            return
        for system in self.manifest.systems:
            for answer in read_answers(str(self.path(system.file))) if system.file else ():
                yield answer._replace(run_id=system.name)


@contextmanager
def opened_bundle(path: str | Path) -> Iterator[Bundle]:
    """Unpack a bundle for a while; `InputError` if it is none, or too large."""
    shown = visible(str(path))
    with tempfile.TemporaryDirectory(prefix="rageval-board-") as folder:
        with opened_file(path, _WHAT) as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            try:
                paths = _unpack(stream, Path(folder))
            except (OSError, EOFError, zlib.error, tarfile.HeaderError, ValueError) as error:
                _refuse_other_kind(str(path))
                stream.seek(0)
                is_packed = stream.read(len(_GZIP)) == _GZIP  # of which Python's own words would show bytes
                cause = visible(str(error))[:200] if is_packed else "it is not compressed by gzip"
                raise InputError(at=Place(shown), expected=_BUNDLE, cause=cause) from None
        if MANIFEST not in paths:
            raise InputError(
                at=Place(shown), problem=f"has no {MANIFEST}", expected="a bundle of rageval board bundle"
            )
        content = read_whole(paths[MANIFEST], "a manifest", _LARGEST_MANIFEST)
        try:
            manifest = msgspec.json.decode(content, type=Manifest)
        except (ValueError, RecursionError) as error:
            raise InputError(at=Place(shown, inside=MANIFEST), problem=visible(str(error))[:200]) from None
        if manifest.form != FORM:
            raise InputError(
                at=Place(shown, inside=MANIFEST),
                problem=f"has form {visible(manifest.form)[:40]}",
                expected=FORM,
            )
        _check_manifest(manifest, Place(shown, inside=MANIFEST))
        yield Bundle(manifest, paths, sha256)


def _check_manifest(manifest: Manifest, place: Place) -> None:
    """Raise `InputError` for a manifest whose leaderboard would take hours, or that names something twice."""
    systems, measures = len(manifest.systems), manifest.measures.count(",") + 1
    if systems > _MOST_SYSTEMS or systems * measures > _MOST_PLACES:
        raise InputError(
            at=place,
            problem=f"has {systems:,} systems and {measures:,} measures",
            expected=f"at most {_MOST_SYSTEMS:,} systems and {_MOST_PLACES:,} places",
        )
    # A file that is named often would be read as often, and a system that is there twice has no one value.
    for names in (
        [item.name for item in manifest.systems],
        [item.file for item in manifest.systems if item.file],
        [item.file for item in manifest.judgements],
        [item.replies for item in manifest.judgements if item.replies],
        manifest.answers,
        manifest.labels,
    ):
        name, often = Counter(names).most_common(1)[0] if names else ("", 1)
        if often > 1:
            raise InputError(
                at=place, problem=f"names {visible(name)[:200]} {often:,} times", expected="once"
            )


def _refuse_other_kind(path: str) -> None:
    """Raise an error that names the kind of a file, if it has one and is no archive."""
    try:
        kind = kind_of(path)
    except InputError:  # packed, and damaged
        return
    if kind is not None and kind.name != "tar":
        raise wrong_kind(path, kind, _BUNDLE) from None


def _unpack(stream: Any, folder: Path) -> dict[str, Path]:
    """Write the files of the archive to the folder; return where each lies.

    By hand: `tarfile` follows headers that can say anything. Folders in names are not made on the disk.
    """
    packed = gzip.GzipFile(fileobj=stream, mode="rb")
    paths: dict[str, Path] = {}
    taken: set[str] = set()  # in lower case: some disks take A and a for the same name
    alike: Counter[str] = Counter()  # ends of names
    left = _MOST_BYTES
    while block := packed.read(_BLOCK):
        if not block.strip(b"\0"):
            break
        member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        name = member.name.removeprefix(_TOP)
        if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise ValueError(f"{name!r} is not an ordinary file")
        if problem := problem_of_name(name):
            raise ValueError(f"{name!r}: {problem}")
        if name.casefold() in taken:
            raise ValueError(f"{name!r} is there twice")
        taken.add(name.casefold())
        # A header can state any number, also one below 0.
        if not 0 <= member.size <= left or len(paths) >= _MOST_FILES:
            raise ValueError(f"it has more than {_MOST_FILES:,} files or {_MOST_BYTES:,} bytes")
        # The names' ends are kept: some readers look at them. Equal ones lie in folders of their own.
        end = name.rpartition("/")[2]
        number = alike[compatible(end).casefold()]
        alike[compatible(end).casefold()] += 1
        paths[name] = place = folder / f"{number}" / end
        place.parent.mkdir(exist_ok=True)
        with place.open("xb") as out:
            left -= member.size
            rest = member.size
            while rest:
                piece = packed.read(min(rest, _PIECE))
                if not piece:
                    raise ValueError("it is cut off")
                out.write(piece)
                rest -= len(piece)
        packed.read(-member.size % _BLOCK)
    return paths
