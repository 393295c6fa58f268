"""The labels of one annotator in a file, while the page is served: what may be saved, and where the page is.

Every label is read as `rageval score` reads it before it is saved. The file is always whole. Beside it lies a
file with the address of the page, which is the lock, too: a page that is open finds its program again.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import IO, Any, Literal

import msgspec

from rageval.errors import InputError, OutputError, UsageError
from rageval.files.jsonl import read_records
from rageval.files.judgements import JudgementTable, judgement_line, kind_of
from rageval.files.plans import LabelPlan
from rageval.files.writing import lock, remove_parts, whole_file
from rageval.measures.scales import ALL
from rageval.pages.annotation import places_of
from rageval.scoring.assessing import on
from rageval.text import visible

_KEYS = ("query_id", "run_id", "item_id", "aspect")
_START = b'{"annotator":'  # of a line: keys are sorted
_OUTCOMES = {"win": 1.0, "tie": 0.5, "loss": 0.0}
# As many as nobody guesses: other users of this computer can reach the port, too.
_TOKEN_BYTES = 24
_TOKEN = re.compile(r"[\w-]{32,64}", re.ASCII)
# Below the ports that systems give to programs that ask for any, so that those never take it.
_PORTS = range(20_000, 32_000)
_LONGEST_ADDRESS = 4096  # bytes of the file
_Place = tuple[str, str, str, str]
_Id = str | int


class Label(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A judgement as the page sends it; nothing else is saved."""

    query_id: _Id
    run_id: _Id
    item_id: _Id
    aspect: _Id
    annotator: str
    judge: str
    plan: str
    rubric: str
    status: Literal["ok", "refused"]
    label: str | None = None
    grade: float | None = None
    order: int | None = None
    seconds: float | None = None
    version: str | None = None
    importance: str | None = None
    weight: float | None = None
    sentences: int | None = None
    shown: list[_Id] | None = None
    note: str | None = None
    detail: str | None = None

    @property
    def place(self) -> _Place:
        """What it is about."""
        return str(self.query_id), str(self.run_id), str(self.item_id), str(self.aspect)

    @property
    def line(self) -> bytes:
        """The label as a line of the file."""
        return judgement_line(msgspec.to_builtins(self)).encode() + b"\n"


class _Address(msgspec.Struct):
    """Where the page of a plan and an annotator is, as long as these labels are served."""

    plan: str
    annotator: str
    port: int
    token: str


class LabelFile:
    """The labels of one annotator, by what they are about; `change` writes all of them anew.

    Until `close` nobody else serves these labels.
    """

    def __init__(self, path: Path, plan: LabelPlan, annotator: str) -> None:
        """Go on with what the file holds; `InputError` if these are labels of something else."""
        self.path, self.plan, self.annotator = path, plan, annotator
        self.remarks: list[str] = []  # what should be said of the file
        self._asks = places_of(plan)
        self._labels: dict[_Place, Label] = {}
        self._lock = Lock()
        target = _writable(path)
        self._address_path = target.with_name(f"{target.name}.address")
        self._held = self._locked()
        try:
            self._address = self._known_address()
            remove_parts(target)
            # Before it is read: a change while we read is then seen when the first label is saved.
            self._stamp = _stamp(path)
            if self._stamp is not None and self._stamp[1]:
                self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> LabelFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._lock:  # what is being written is written to its end
            return len(self._labels)

    def close(self) -> None:
        """Let others serve these labels."""
        if not self._held.closed and not os.fstat(self._held.fileno()).st_size:
            with suppress(OSError):  # there never was a page
                self._address_path.unlink()
        self._held.close()

    # --- the address ------------------------------------------------------------------------------------

    @property
    def token(self) -> str:
        """The secret in the address of the page."""
        return self._address.token

    @property
    def port(self) -> int:
        """The port of the page: the one of the last time, at first one that follows from the plan."""
        return self._address.port

    def keep_port(self, port: int) -> None:
        """Remember where the page is, for the next time."""
        self._address.port = port
        content = msgspec.json.encode(self._address) + b"\n"
        self._held.seek(0)
        # Not written again as it is: a kill in between would cost the address, and open pages their program.
        if self._held.read(_LONGEST_ADDRESS) != content:
            self._held.seek(0)
            self._held.truncate()
            self._held.write(content)
            self._held.flush()
            os.fsync(self._held.fileno())

    def _locked(self) -> IO[bytes]:
        """Open and lock the file of the address, which nobody else may read."""
        place = self._address_path
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        if hasattr(os, "O_NOFOLLOW"):
            flags |= os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            held = open(os.open(place, flags, 0o600), "r+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise OutputError(
                f"{visible(str(place))}: the address of the page cannot be kept beside the labels:"
                f" {error.strerror or error}"
            ) from None
        try:
            self._refuse_others(held)
            if not lock(held.fileno(), wait=False):
                raise UsageError(
                    f"{visible(str(self.path))}: these labels are being served already; use the page that"
                    " is open, or end the other rageval annotate first"
                )
        except (UsageError, OutputError):
            held.close()
            raise
        except OSError:  # no locks on this disk, or in this system
            self.remarks.append(
                f"{visible(str(self.path))}: cannot be locked on this disk; do not serve it twice"
            )
        # Whoever had the lock may have removed the file before we got it.
        if not os.path.exists(place) or not os.path.samestat(os.fstat(held.fileno()), os.stat(place)):
            held.close()
            return self._locked()
        return held

    def _refuse_others(self, held: IO[bytes]) -> None:
        """Refuse a file of somebody else, who would know the secret; take others' permissions away."""
        found, place = os.fstat(held.fileno()), visible(str(self._address_path))
        if not stat.S_ISREG(found.st_mode):
            raise OutputError(f"{place}: is no ordinary file, expected the address of the page; remove it")
        if sys.platform != "win32":
            if found.st_uid != os.geteuid():
                raise OutputError(f"{place}: belongs to another user, who could send labels; remove it")
            os.fchmod(held.fileno(), 0o600)

    def _known_address(self) -> _Address:
        """Return the address of the last time, or a new one."""
        self._held.seek(0)
        try:
            found = msgspec.json.decode(self._held.read(_LONGEST_ADDRESS), type=_Address)
        except ValueError:  # the first time, or it was killed while it wrote this
            found = None
        if (
            found is not None
            and (found.plan in self.plan.known and found.annotator == self.annotator)
            and (0 < found.port < 2**16 and _TOKEN.fullmatch(found.token))
        ):
            found.plan = self.plan.sha
            return found
        # Of the annotator, too: two people may label one plan at one computer.
        digest = sha256(f"{self.plan.sha}/{self.annotator}".encode()).digest()
        port = _PORTS[int.from_bytes(digest[:8]) % len(_PORTS)]
        return _Address(self.plan.sha, self.annotator, port, secrets.token_urlsafe(_TOKEN_BYTES))

    # --- the labels -------------------------------------------------------------------------------------

    def _read(self) -> None:
        content = self.path.read_bytes()
        name = visible(str(self.path))
        end = content.rfind(b"\n") + 1
        # What a kill or a full disk cut off begins as a label does; anything else is another kind of file.
        last = content[end:]
        is_cut = last != b"" and last[: len(_START)] == _START[: len(last)] and not _is_json(last)
        source = io.BytesIO(content[:end] if is_cut else content)
        source.name = str(self.path)  # for messages
        lines: list[int] = []
        if not is_cut or end:
            for line, record in read_records(source, dict[str, Any], "a label"):
                label = self._checked(record, f"{name}:{line}: ")
                if label.place in self._labels:
                    raise InputError(
                        f"{name}:{line}: a second label of the same thing; remove one of the two"
                    )
                self._labels[label.place] = label
                lines.append(line)
        # Read at once, which is much faster; only if something is odd line by line, to name it.
        if self._labels and (problem := _unread(*self._labels.values())):
            for line, label in zip(lines, self._labels.values(), strict=True):
                if singly := _unread(label):
                    raise InputError(f"{name}:{line}: {singly}")
            raise InputError(f"{name}: {problem}")
        if is_cut:
            self._write(self._labels)
            self.remarks.append(
                f"{name}: the last line was cut off and is removed; the {len(self._labels):,} labels before"
                " it are whole"
            )

    def _checked(self, record: Any, where: str = "") -> Label:
        """Return a label of this plan, by this annotator, on its scale."""
        if not isinstance(record, dict):
            raise InputError(f"{where}expected a label, found {type(record).__name__}")
        try:
            label = msgspec.convert(record, Label)
        except msgspec.ValidationError as error:
            raise InputError(f"{where}expected a label as the page sends it; {visible(str(error))}") from None
        problem = self._problem(label)
        if problem is not None:
            raise InputError(f"{where}{problem}")
        return label

    def _problem(self, label: Label) -> str | None:
        """Return why it is no label that this page gives, None if it is one."""
        ask = self._asks.get(label.place)
        # `known` are also the plans that this one extends, whose labels go on counting.
        if ask is None or label.plan not in self.plan.known:
            return "expected a label of this plan"
        if label.annotator != self.annotator or label.judge != f"person:{self.annotator}":
            return f"expected a label of {visible(self.annotator)}"
        # Labels of one file are read on one scale.
        if label.rubric.partition("@")[0] != self.plan.rubric.partition("@")[0]:
            return f"expected the rubric {visible(self.plan.rubric)}, found {visible(label.rubric)!r:.80}"
        for name in ("importance", "weight", "sentences"):
            if getattr(label, name) != getattr(ask, name):
                return f"expected {name} as in the plan, found {getattr(label, name)!r:.80}"
        if (label.shown is not None) != (ask.pair is not None) or (
            ask.pair is not None and label.shown is not None and _aspect(label.shown) != label.aspect
        ):
            return "expected as shown the systems in the order in which their answers were shown"
        return self._odd(label, ask.text) if label.status == "ok" else None

    def _odd(self, label: Label, aspect: str) -> str | None:
        """Return why the label or grade is none that can be chosen, None if it is one."""
        if self.plan.kind == "grades":
            low, high = self.plan.ranges.get(aspect, (0.0, 0.0))
            if label.label is not None or label.grade is None or not low <= label.grade <= high:
                found = label.grade if label.label is None else label.label
                return f"expected a number from {low:g} to {high:g} as grade, found {_shown(found)}"
            return None
        worth = _OUTCOMES if self.plan.kind == "pair" else self.plan.labels
        if label.label is None and label.grade in worth.values():
            return None
        if label.label not in worth:
            found = label.grade if label.label is None else label.label
            return f"expected one of {', '.join(sorted(worth))}, found {_shown(found)}"
        if label.grade is not None and label.grade != worth[label.label]:
            return f"expected {label.label!r} with grade {worth[label.label]:g}, found {label.grade:g}"
        return None

    def change(self, labels: Iterable[Any], cleared: Iterable[Any]) -> None:
        """Save these labels, take those away, and write the file; it is whole, or as it was before.

        InputError says what is wrong with a label, `OutputError` why nothing can be saved just now.
        """
        given = {label.place: label for label in map(self._checked, labels)}
        if problem := next(filter(None, map(_unread, given.values())), None):
            raise InputError(problem)
        gone = {_place_of(each) for each in cleared}
        with self._lock:
            if self._held.closed:
                raise OutputError("rageval annotate is ending")
            # Two programs, or an editor: the later would write over the labels of the other.
            if _stamp(self.path) != self._stamp:
                raise OutputError(
                    # Shown in the page, where the names of folders could name systems.
                    f"{visible(self.path.name)} was changed by another program since it was read; end rageval"
                    " annotate and start it again"
                )
            self._write({place: label for place, label in self._labels.items() if place not in gone} | given)

    def _write(self, labels: dict[_Place, Label]) -> None:
        """Write the file; when this returns, the disk has it."""
        with whole_file(self.path) as stream:
            for label in sorted(labels.values(), key=lambda label: (label.order or 0, str(label.run_id))):
                stream.write(label.line)
        self._labels, self._stamp = labels, _stamp(self.path)

    def text(self) -> bytes:
        """Return what the page takes in when it is opened."""
        with self._lock:
            return b"".join(label.line for label in self._labels.values())


def _unread(*labels: Label) -> str | None:
    """Return why `rageval score` does not read a grade in each label that has one, None if it does."""
    try:
        lines = b"".join(label.line for label in labels)
        table = JudgementTable("labels")
        table.add_file(io.BytesIO(lines))
        if kind_of(io.BytesIO(lines)) != "judgements" or len(table) != len(labels):
            return "expected labels, found another kind of record"
        table.finish()
        rubrics = table.rubrics()
        scales = [on(table, scale) for scale in ALL if not rubrics.isdisjoint(scale.rubrics)]
    except InputError as error:
        return str(error).removeprefix("<stream>:1: ")
    except ValueError as error:  # half a character, which no file can hold
        return f"expected text that UTF-8 can hold; {visible(str(error))}"
    for row in range(len(table)):
        grade = next((scale.worth(row) for scale in scales if scale.holds(row)), table.grade_in(row))
        if table.said_in(row).is_graded and grade != grade:
            return "status 'ok' without a grade, expected a label or a grade"
    return None


def _aspect(shown: Iterable[_Id]) -> str | None:
    from rageval.judges.material import pair_aspect

    names = [str(run) for run in shown]
    return pair_aspect(*names) if len(names) == 2 else None


def _place_of(record: Any) -> _Place:
    if not isinstance(record, dict):
        raise InputError(f"expected a place {{{', '.join(_KEYS)}}}, found {type(record).__name__}")
    query, run, item, aspect = (str(record.get(key)) for key in _KEYS)
    return query, run, item, aspect


def _shown(value: object) -> str:
    return "nothing" if value is None else f"{value!r:.80}"


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _writable(path: Path) -> Path:
    """Return the file itself, whatever link leads to it; refuse what cannot be written again and again."""
    target = Path(os.path.realpath(path))
    if str(path) == "-" or (target.exists() and not target.is_file()):
        raise UsageError(f"--serve {visible(str(path))}: is no ordinary file, expected one to keep labels in")
    if target.exists() and not os.access(target, os.R_OK | os.W_OK):
        raise OutputError(f"{visible(str(path))}: cannot be read and written; labels could not be saved")
    return target


def _stamp(path: Path) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        found = os.stat(path)
        return found.st_mtime_ns, found.st_size
    return None
