"""Labels of people: the page on which they label, the file of their labels, and the server between them."""

from __future__ import annotations

import hmac
import io
import json
import os
import random
import re
import secrets
import stat
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import IO, Any, Literal

import msgspec

from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, OutputError, Place, UsageError
from rageval.files.jsonl import as_line, pair_aspect, read_records
from rageval.files.judgements import JudgementTable, form_of_judgements, judgement_line
from rageval.files.plans import Ask, AskedQuery, LabelPlan
from rageval.files.writing import lock, remove_parts, whole_file
from rageval.measures.scales import ALL
from rageval.pages._parts import as_block, asset, policy
from rageval.scoring.assessments import on
from rageval.text import problem_of_id, visible
from rageval.version import __version__

# The page on which a person labels what a plan asks: one file that asks for nothing from outside.
#
# It is blind: no name of a system and no verdict of a judge can be read in it. Where a label belongs is
# sealed, and opened when labels are exported; the seal keeps names from the eye, and hides nothing from who
# wants to know. Everybody gets the queries in the order of the plan, as only its beginning is a random
# draw. Within a query the order is the annotator's own: each system comes first equally often, and in pairs
# is A as often.

_SCRIPTS = ("texts.js", "annotate.js")
_STYLES = ("page.css", "annotate.css")
_TEMPLATE = "annotate.html"
_SIDES = {"answer_a": "answer_b", "answer_b": "answer_a"}
_STEPS = 5  # of a range that has no whole numbers
_MOST_STEPS = 9  # as many as there are digits to press
_SALTS = 2**32
_LONGEST_NAME = 60
_Record = dict[str, Any]


def page_to_label(plan: LabelPlan, annotator: str, served: bool = False) -> str:
    """Return the page on which this person labels; `served` by a program that saves each label."""
    script = "\n".join(['"use strict";', *map(asset, _SCRIPTS)])
    style = "\n".join(map(asset, _STYLES))
    more = ("connect-src 'self'",) if served else ()
    parts = {
        "policy": policy([script], style, *more),
        "style": style,
        "data": as_block({**_to_label(plan, annotator), "served": served}),
        "script": script,
    }
    # Each part is put in once, so that nothing in a text can be taken for the place of another.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], asset(_TEMPLATE))


def _to_label(plan: LabelPlan, annotator: str) -> _Record:
    """Return what the page holds: what is asked in which order, and what may be said."""
    if problem_of_id(annotator) or len(annotator) > _LONGEST_NAME or not annotator.isprintable():
        name = visible(annotator)[:80]
        raise UsageError(f"--annotator {name!r}: expected a name of 1 to {_LONGEST_NAME} letters")
    if not all(ask.context is not None for query in plan.asked for ask in query.asks):
        raise InputError(
            problem="the plan has no texts to label",
            remedy="make it with the judged files: rageval label plan … --answers FILE (--questions,"
            " --nuggets, --passages)",
        )
    # The same person gets the same order each time, another person another one.
    rng = random.Random(f"{plan.sha}/{annotator}")
    contexts: dict[str, int] = {}
    asks = list(_asks_in_order(plan, rng, contexts))
    # In place of each place stands its sealed form, all of the same length: the length of one would tell the
    # system by the length of its name.
    texts = [json.dumps(ask.pop("place"), ensure_ascii=False).encode() for ask in asks]
    longest = max(map(len, texts), default=0)
    for ask, text in zip(asks, texts, strict=True):
        salt = rng.randrange(_SALTS)
        ask |= {"salt": salt, "sealed": b64encode(_mask(text.ljust(longest), salt)).decode()}
    # Tells labels that were given in this order from those of a page made anew.
    order = sha256(as_line(asks).encode()).hexdigest()[:16]
    return {
        "plan": plan.sha,
        "extends": plan.extends,
        "annotator": annotator,
        "order": order,
        "version": __version__,
        "rubric": plan.rubric,
        "kind": plan.kind,
        # Lines that were broken for their length alone are put together again; a line that begins with a
        # label and a colon stays one.
        "instructions": re.sub(r"(?<=[^\n]{80})\n(?=\S)(?![\w-]+:)", " ", plan.instructions),
        "names": plan.names,
        "labels": sorted(plan.labels.items(), key=lambda pair: -pair[1]),
        "ranges": {name: _steps(*ends, plan.whole) for name, ends in plan.ranges.items()},
        "queries": len(plan.asked),
        "contexts": [json.loads(text) for text in contexts],
        "asks": asks,
    }


def _asks_in_order(plan: LabelPlan, rng: random.Random, contexts: dict[str, int]) -> Iterator[_Record]:
    """Yield what is asked, in this annotator's order; `contexts` takes in the texts as they appear."""
    # Each system comes first equally often: whoever is seen first sets the standard.
    firsts = _balanced(len(plan.systems), len(plan.asked), rng)
    flips = _balanced(2, sum(len(query.asks) for query in plan.asked), rng)
    if plan.battles:
        # Drawn in balanced orders, which stay balanced only if all are turned, or none.
        flips = [rng.randrange(2)] * len(flips)
    for number, (query, first) in enumerate(zip(plan.asked, firsts, strict=True), 1):
        for ask in _asks_of_query(query, plan.systems, first, rng):
            context = query.contexts[ask.context or 0]
            place: _Record = {"query_id": query.query_id, "item_id": ask.item_id}
            if ask.pair is not None:
                # Half of the pairs are shown the other way round, as judges prefer a side, too.
                shown = ask.pair[::-1] if flips.pop() else ask.pair
                if shown != ask.pair:
                    context = {_SIDES.get(name, name): text for name, text in context.items()}
                place |= {"aspect": pair_aspect(*shown), "shown": shown}
                place |= {"battles": plan.battles} if plan.battles else {}
            else:
                also = {name: getattr(ask, name) for name in ("importance", "weight", "sentences")}
                details = {name: value for name, value in also.items() if value is not None}
                place |= {"run_id": ask.run_id, "aspect": ask.aspect, **details}
            # Each text is in the page once, however many things are asked of it.
            index = contexts.setdefault(json.dumps(context, sort_keys=True), len(contexts))
            yield {"context": index, "text": ask.text, "query": number, "place": place}


def _asks_of_query(
    query: AskedQuery, systems: Sequence[str], first: int, rng: random.Random
) -> Iterator[Ask]:
    """Yield what is asked of a query, one answer (or document) after the other, that system's first."""
    groups: dict[tuple[str, str], list[Ask]] = {}
    # Documents are of no system: each is a group of its own.
    has_documents = not {ask.run_id for ask in query.asks} & set(systems)
    for ask in query.asks:
        groups.setdefault((ask.run_id, ask.item_id if has_documents else ""), []).append(ask)
    order = list(groups)
    rng.shuffle(order)
    # A stable sort: the chosen system goes to the front, the others stay shuffled.
    order.sort(key=lambda group: group[0] != systems[first])
    for group in order:
        yield from groups[group]


def _balanced(kinds: int, number: int, rng: random.Random) -> list[int]:
    """Return so many numbers below `kinds`, each as often as the others, in random order."""
    numbers = [index % kinds for index in range(number)]
    rng.shuffle(numbers)
    return numbers


def _steps(low: float, high: float, whole: bool = False) -> list[float]:
    """Return the numbers of a range that can be chosen, the best first: the whole ones, or five.

    >>> _steps(-1.0, 2.0), _steps(0.0, 1.0)
    ([2.0, 1.0, 0.0, -1.0], [1.0, 0.75, 0.5, 0.25, 0.0])
    """
    number = int(high - low) + 1
    if low.is_integer() and high.is_integer() and (number > 2 or whole) and number <= _MOST_STEPS:
        return [high - step for step in range(number)]
    return [high - (high - low) * step / (_STEPS - 1) for step in range(_STEPS)]


def _mask(text: bytes, salt: int) -> bytes:
    """Return the bytes mixed with those of mulberry32, as annotate.js does; twice gives them again.

    >>> _mask(_mask(b"ours", 7), 7)
    b'ours'
    """
    mixed, state, mask = bytearray(), salt, _SALTS - 1
    for start in range(0, len(text), 4):
        state = (state + 0x6D2B79F5) & mask
        word = ((state ^ state >> 15) * (state | 1)) & mask
        word ^= (word + ((word ^ word >> 7) * (word | 61) & mask)) & mask
        word ^= word >> 14
        mixed += bytes(byte ^ word >> 8 * index & 255 for index, byte in enumerate(text[start : start + 4]))
    return bytes(mixed)


def places_of(plan: LabelPlan) -> Mapping[tuple[str, str, str, str], Ask]:
    """Return what is asked at each place: query, run, item and aspect, of a pair in either order."""
    asks = {}
    for query in plan.asked:
        for ask in query.asks:
            if ask.pair is None:
                asks[query.query_id, ask.run_id, ask.item_id, ask.aspect] = ask
                continue
            for shown in (ask.pair, ask.pair[::-1]):
                for run in shown:
                    # A pair is judged with either of the two as the subject.
                    asks[query.query_id, run, ask.item_id, pair_aspect(*shown)] = ask
    return asks


# The labels of one annotator in a file, while the page is served: what may be saved, and where the page is.
#
# Every label is read as `rageval score` reads it before it is saved. The file is always whole. Beside it
# lies a file with the address of the page, which is the lock, too: a page that is open finds its program
# again.

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
    battles: str | None = None
    note: str | None = None
    detail: str | None = None

    @property
    def place(self) -> _Place:
        """What is labeled."""
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
    """The labels of one annotator, by what is labeled; `change` rewrites all of them.

    Until `close`, no other process serves these labels.
    """

    def __init__(self, path: Path, plan: LabelPlan, annotator: str) -> None:
        """Continue with what the file holds; raise `InputError` if these are labels of something else."""
        self.path, self.plan, self.annotator = path, plan, annotator
        self.remarks: list[Remark] = []  # what should be said of the file
        self._asks = places_of(plan)
        self._labels: dict[_Place, Label] = {}
        self._lock = Lock()
        target = Path(os.path.realpath(path))  # the file itself, whatever link leads to it
        # The file is written anew at each label: refused is what cannot be written again and again.
        if str(path) == "-" or (target.exists() and not target.is_file()):
            raise UsageError(
                f"--serve {visible(str(path))}: is not an ordinary file; give a file for the labels"
            )
        if target.exists() and not os.access(target, os.R_OK | os.W_OK):
            raise OutputError(f"{visible(str(path))}: cannot be read and written; labels could not be saved")
        self._address_path = target.with_name(f"{target.name}.address")
        self._address_file = self._lock_address_file()
        try:
            self._address = self._read_address()
            remove_parts(target)
            # Before it is read: a change while we read is then seen when the first label is saved.
            self._stamp = _stamp(path)
            if self._stamp is not None and self._stamp[1]:
                self._read_labels()
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
        if not self._address_file.closed and not os.fstat(self._address_file.fileno()).st_size:
            with suppress(OSError):  # there never was a page
                self._address_path.unlink()
        self._address_file.close()

    # --- the address ------------------------------------------------------------------------------------

    @property
    def token(self) -> str:
        """The secret in the address of the page."""
        return self._address.token

    @property
    def port(self) -> int:
        """The port of the page: the last one used, at first one derived from the plan."""
        return self._address.port

    def keep_port(self, port: int) -> None:
        """Remember where the page is, for the next time."""
        self._address.port = port
        content = msgspec.json.encode(self._address) + b"\n"
        self._address_file.seek(0)
        # Not written again as it is: a kill in between would cost the address, and open pages their program.
        if self._address_file.read(_LONGEST_ADDRESS) != content:
            self._address_file.seek(0)
            self._address_file.truncate()
            self._address_file.write(content)
            self._address_file.flush()
            os.fsync(self._address_file.fileno())

    def _lock_address_file(self) -> IO[bytes]:
        """Open and lock the file of the address, which nobody else may read."""
        place = self._address_path
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        if hasattr(os, "O_NOFOLLOW"):
            flags |= os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            address_file = open(os.open(place, flags, 0o600), "r+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise OutputError(
                f"{visible(str(place))}: the address of the page cannot be saved beside the labels:"
                f" {error.strerror or error}"
            ) from None
        try:
            # Refused is a file of somebody else, who would know the secret; others' permissions are taken.
            status = os.fstat(address_file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OutputError(
                    f"{visible(str(place))}: is not an ordinary file; remove it, so that the page's address"
                    " can be saved"
                )
            if sys.platform != "win32":
                if status.st_uid != os.geteuid():
                    raise OutputError(
                        f"{visible(str(place))}: belongs to another user, who could send labels; remove it"
                    )
                os.fchmod(address_file.fileno(), 0o600)
            if not lock(address_file.fileno(), wait=False):
                raise UsageError(
                    f"{visible(str(self.path))}: these labels are already being served; use the open page,"
                    " or stop the other rageval label page first"
                )
        except (UsageError, OutputError):
            address_file.close()
            raise
        except OSError:  # no locks on this disk, or in this system
            self.remarks.append(Remark("labels_not_locked", Scope(file=str(self.path))))
        # Whoever had the lock may have removed the file before we got it.
        if not os.path.exists(place) or not os.path.samestat(os.fstat(address_file.fileno()), os.stat(place)):
            address_file.close()
            return self._lock_address_file()
        return address_file

    def _read_address(self) -> _Address:
        """Return the address of the last time, or a new one."""
        self._address_file.seek(0)
        try:
            address = msgspec.json.decode(self._address_file.read(_LONGEST_ADDRESS), type=_Address)
        except ValueError:  # the first time, or it was killed while it wrote this
            address = None
        if (
            address is not None
            and (address.plan in self.plan.known and address.annotator == self.annotator)
            and (0 < address.port < 2**16 and _TOKEN.fullmatch(address.token))
        ):
            address.plan = self.plan.sha
            return address
        # Of the annotator, too: two people may label one plan at one computer.
        digest = sha256(f"{self.plan.sha}/{self.annotator}".encode()).digest()
        port = _PORTS[int.from_bytes(digest[:8]) % len(_PORTS)]
        return _Address(self.plan.sha, self.annotator, port, secrets.token_urlsafe(_TOKEN_BYTES))

    # --- the labels -------------------------------------------------------------------------------------

    def _read_labels(self) -> None:
        content = self.path.read_bytes()
        name = visible(str(self.path))
        end = content.rfind(b"\n") + 1
        # What a kill or a full disk cut off begins as a label does; anything else is another kind of file.
        last = content[end:]
        is_cut = last != b"" and last[: len(_START)] == _START[: len(last)]
        if is_cut:
            with suppress(ValueError, RecursionError):
                msgspec.json.decode(last)
                is_cut = False  # a whole label, which only lacks the end of its line
        source = io.BytesIO(content[:end] if is_cut else content)
        source.name = str(self.path)  # for messages
        lines: list[int] = []
        if not is_cut or end:
            for line, record in read_records(source, dict[str, Any], "a label"):
                label = self._check_label(record, Place(name, line))
                if label.place in self._labels:
                    raise InputError(
                        at=Place(name, line),
                        problem="a second label of the same item",
                        remedy="remove one of the two",
                    )
                self._labels[label.place] = label
                lines.append(line)
        # Read at once, which is much faster; only if something is odd line by line, to name it.
        if self._labels and (problem := _unread(*self._labels.values())):
            for line, label in zip(lines, self._labels.values(), strict=True):
                if singly := _unread(label):
                    raise singly.shifted(Place(name, line))
            raise problem.shifted(Place(name))
        if is_cut:
            self._write_labels(self._labels)
            facts = {"number": len(self._labels)}
            self.remarks.append(Remark("last_label_cut", Scope(file=str(self.path)), facts))

    def _check_label(self, record: Any, place: Place | None = None) -> Label:
        """Return a label of this plan, by this annotator, on its scale."""
        if not isinstance(record, dict):
            raise InputError(at=place, expected="a label", found=type(record).__name__)
        try:
            label = msgspec.convert(record, Label)
        except msgspec.ValidationError as error:
            raise InputError(
                at=place, expected="a label as the page sends it", cause=visible(str(error))
            ) from None
        problem = self._problem(label)
        if problem is not None:
            raise problem.shifted(place)
        return label

    def _problem(self, label: Label) -> InputError | None:
        """Return why it is no label that this page gives, None if it is one."""
        ask = self._asks.get(label.place)
        # `known` are also the plans that this one extends, whose labels go on counting.
        if ask is None or label.plan not in self.plan.known:
            return InputError(expected="a label of this plan")
        if label.annotator != self.annotator or label.judge != f"person:{self.annotator}":
            return InputError(expected=f"a label of {visible(self.annotator)}")
        # Labels of one file are read on one scale.
        if label.rubric.partition("@")[0] != self.plan.rubric.partition("@")[0]:
            return InputError(
                expected=f"the rubric {visible(self.plan.rubric)}", found=f"{visible(label.rubric)!r:.80}"
            )
        for name in ("importance", "weight", "sentences"):
            if getattr(label, name) != getattr(ask, name):
                return InputError(expected=f"{name} as in the plan", found=f"{getattr(label, name)!r:.80}")
        shown = [str(run) for run in label.shown or ()]
        if (label.shown is not None) != (ask.pair is not None) or (
            label.shown is not None and (len(shown) != 2 or pair_aspect(*shown) != label.aspect)
        ):
            return InputError(
                expected="in `shown` the systems in the order in which their answers were shown"
            )
        if label.status != "ok":
            return None
        # From here on: whether the label or grade can be chosen on the page.
        value = label.grade if label.label is None else label.label
        given = "nothing" if value is None else f"{value!r:.80}"
        if self.plan.kind == "grades":
            low, high = self.plan.ranges.get(ask.text, (0.0, 0.0))
            if label.label is not None or label.grade is None or not low <= label.grade <= high:
                return InputError(expected=f"a number from {low:g} to {high:g} as grade", found=given)
            return None
        worth = _OUTCOMES if self.plan.kind == "pair" else self.plan.labels
        if label.label is None and label.grade in worth.values():
            return None
        if label.label not in worth:
            return InputError(expected=f"one of {', '.join(sorted(worth))}", found=given)
        if label.grade is not None and label.grade != worth[label.label]:
            return InputError(
                expected=f"{label.label!r} with grade {worth[label.label]:g}", found=f"{label.grade:g}"
            )
        return None

    def change(self, labels: Iterable[Any], cleared: Iterable[Any]) -> None:
        """Save these labels, remove those, and rewrite the file, completely or not at all.

        InputError says what is wrong with a label, `OutputError` why nothing can be saved now.
        """
        given = {label.place: label for label in map(self._check_label, labels)}
        if problem := next(filter(None, map(_unread, given.values())), None):
            raise problem
        cleared_places: set[_Place] = set()
        for cleared_place in cleared:
            if not isinstance(cleared_place, dict):
                raise InputError(
                    expected=f"a place {{{', '.join(_KEYS)}}}", found=type(cleared_place).__name__
                )
            query, run, item, aspect = (str(cleared_place.get(key)) for key in _KEYS)
            cleared_places.add((query, run, item, aspect))
        with self._lock:
            if self._address_file.closed:
                raise OutputError("rageval label page is stopping")
            # Two programs, or an editor: the later would write over the labels of the other.
            if _stamp(self.path) != self._stamp:
                raise OutputError(
                    # Shown in the page, where the names of folders could name systems.
                    f"{visible(self.path.name)} was changed by another program; stop rageval label page and"
                    " start it again"
                )
            self._write_labels(
                {place: label for place, label in self._labels.items() if place not in cleared_places} | given
            )

    def _write_labels(self, labels: dict[_Place, Label]) -> None:
        """Write the file; when this returns, the disk has it."""
        with whole_file(self.path) as stream:
            for label in sorted(labels.values(), key=lambda label: (label.order or 0, str(label.run_id))):
                stream.write(label.line)
        self._labels, self._stamp = labels, _stamp(self.path)

    def text(self) -> bytes:
        """Return the data that the page loads when it opens."""
        with self._lock:
            return b"".join(label.line for label in self._labels.values())


def _unread(*labels: Label) -> InputError | None:
    """Return why `rageval score` does not read a grade in each label that has one, None if it does."""
    try:
        lines = b"".join(label.line for label in labels)
        table = JudgementTable("labels")
        table.add_file(io.BytesIO(lines))
        if form_of_judgements(io.BytesIO(lines)) != "judgements" or len(table) != len(labels):
            return InputError(expected="labels", found="another kind of record")
        table.finish()
        rubrics = table.rubrics()
        scales = [on(table, scale) for scale in ALL if not rubrics.isdisjoint(scale.rubrics)]
    except InputError as error:
        return error.problems[0].shifted(None)
    except ValueError as error:  # half a character, which no file can hold
        return InputError(expected="text that UTF-8 can hold", cause=visible(str(error)))
    for row in range(len(table)):
        grade = next((scale.worth(row) for scale in scales if scale.holds(row)), table.grade_in(row))
        if table.statement_of(row).is_graded and grade != grade:
            return InputError(
                "status 'ok' without a grade",
                expected="a label or a grade",
                remedy="choose one, and save again",
            )
    return None


def _stamp(path: Path) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    return None


# The page of labels, served on this computer by a program that saves each label in a file as it is given.
#
# Only who knows the token in the address is answered, only under the name of this computer, and only the page
# itself may send labels. Whatever is sent, the server goes on.

_HOST = "127.0.0.1"
_LONGEST = 2**20  # bytes of a request
_SAVED = b"saved"  # what the page waits for: another program at this port may say OK to anything
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class LabelServer(ThreadingHTTPServer):
    """Serves the page of a plan on this computer, under a secret address."""

    daemon_threads = True
    # Elsewhere two may listen at one port, and the other one would get the labels.
    allow_reuse_address = sys.platform != "win32"
    allow_reuse_port = False

    def __init__(self, labels: LabelFile, port: int | None = None) -> None:
        """Listen at once, at the port of these labels if none is said; answer when `serve_forever` runs."""
        self.labels = labels
        self.page = page_to_label(labels.plan, labels.annotator, served=True).encode()
        self.token = labels.token
        port = labels.port if port is None else port
        try:
            # This computer only, never a network: labels have an author, and no password.
            super().__init__((_HOST, port), _LabelHandler)
        except OSError as error:
            raise OutputError(
                f"cannot listen on port {port} ({error.strerror or error}). If another rageval label page"
                " serves the same plan for the same annotator, stop it. If another program uses the port,"
                " stop that, or choose another port with --port. A page open at the old port does not find"
                " the new one: export its labels, and import them there"
            ) from None
        labels.keep_port(self.server_port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Continue: a client that left is no error, and other errors must not end the labeling."""
        error = sys.exception()
        if not isinstance(error, OSError):
            say = visible(f"{type(error).__name__}: {error}")
            print(f"rageval: a request failed, the labels are unchanged: {say}", file=sys.stderr)

    @property
    def origin(self) -> str:
        """What the browser calls where the page is from."""
        return f"http://{_HOST}:{self.server_port}"

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"{self.origin}/{self.token}/"


class _LabelHandler(BaseHTTPRequestHandler):
    """Answers one request: the page, the labels so far, or labels to be saved."""

    server: LabelServer
    server_version, sys_version = "rageval", ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        match self._requested_path():
            case "":
                self._send_reply(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")
            case "labels":
                self._send_reply(HTTPStatus.OK, self.server.labels.text())
            case _:
                self._send_refusal(HTTPStatus.NOT_FOUND, "nothing here")

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        # A page of somebody else, open in the same browser, can send requests, but not under our origin.
        if self._requested_path() != "labels" or self.headers.get("Origin") != self.server.origin:
            self._send_refusal(HTTPStatus.NOT_FOUND, "nothing here")
            return
        # `isdigit` also holds of digits of other scripts, and `int` of endless ones takes endless time.
        if not size.isascii() or not size.isdigit() or len(size) > 9 or int(size) > _LONGEST:
            self._send_refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {_LONGEST:,} bytes")
            return
        body = self.rfile.read(int(size))
        try:
            message = msgspec.json.decode(body)
            if not isinstance(message, dict):
                raise InputError(expected="JSON {labels: […], cleared: […]}", found=type(message).__name__)
            labels, cleared = (message.get(key, []) for key in ("labels", "cleared"))
            if not isinstance(labels, list) or not isinstance(cleared, list):
                raise InputError(expected="lists of labels and of cleared places")
            self.server.labels.change(labels, cleared)
        except InputError as error:  # sent again, it would be refused again
            self._send_refusal(HTTPStatus.BAD_REQUEST, str(error))
        except OutputError as error:  # changed by others, a full disk: the page keeps the label
            self._send_refusal(HTTPStatus.CONFLICT, str(error))
        except (ValueError, RecursionError) as error:
            self._send_refusal(
                HTTPStatus.BAD_REQUEST, f"expected JSON {{labels: […], cleared: […]}}; {error}"
            )
        except OSError as error:
            self._send_refusal(HTTPStatus.CONFLICT, f"{error.strerror or error}")
        else:
            self._send_reply(HTTPStatus.OK, _SAVED)

    def _requested_path(self) -> str | None:
        """Return what is asked for, None for whoever must not know that there is anything."""
        host = self.headers.get("Host", "")
        token, slash, rest = self.path.removeprefix("/").partition("/")
        # In the same time however much is right, so that the token cannot be guessed letter by letter.
        is_token = hmac.compare_digest(token.encode(), self.server.token.encode())
        # The host is checked against names that resolve to this computer (DNS rebinding).
        return rest if is_token and slash and f"http://{host}" == self.server.origin else None

    def _send_refusal(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what was sent may not have been read
        self._send_reply(status, visible(why).encode())

    def _send_reply(self, status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: addresses hold the token."""
