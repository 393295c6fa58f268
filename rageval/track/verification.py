"""A bundle, recomputed: digests, judgements from replies, values from judgements, claims from values.

Each step is done by what made the bundle: the rubric's parser, the scoring, the comparison.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import msgspec

from rageval import hooks
from rageval.comparison.leaderboards import intervals_of_standings, standings
from rageval.core.basis import DrawKind
from rageval.core.judge import Judge, Panel, parse_judge
from rageval.core.remark import Remark, Scope
from rageval.core.turn import CONVERSATION
from rageval.errors import (
    EXIT_CODES,
    FAULTS,
    InputError,
    MissingJudgements,
    MissingPackage,
    Place,
    RagevalError,
)
from rageval.files.jsonl import read_decoded, read_records
from rageval.files.whole import digest_of, read_whole
from rageval.judges.reread import calls_of, can_reread, reread
from rageval.judges.rubric import Rubric, rubric_named
from rageval.judges.verdicts import FIRST_STAGE
from rageval.judges.votes import GRADED
from rageval.scoring.gold import UNIFORM
from rageval.subjects import ANSWERS, RUNS
from rageval.table import Table
from rageval.text import visible, without_keys
from rageval.track.bundle import MANIFEST, Bundle, opened_bundle
from rageval.track.values import (
    STANDINGS,
    TABLE,
    VALUES,
    ScoringInputs,
    System,
    leaderboard_files,
    value_lines,
    values_of,
)
from rageval.version import __version__

State = Literal["same", "differs", "missing"]
_SHOWN = 10  # differences of a step
_CLOSE = 1e-9  # linear algebra of another machine may move the last digits of an interval by less
_INTERVALS = ("low", "high")
_LARGEST = 2**28  # bytes of a file of values or places
_REPLIES = "judgements from replies"
_CONTENT = ("qrels", "nuggets")  # inputs that may be of a data set


@dataclass
class RecomputedStep:
    """A step: its result, how much was recomputed, and what differs or is missing."""

    name: str
    state: State = "same"
    extent: Remark | None = None
    differences: list[Remark] = field(default_factory=list)

    def differ(self, difference: Remark) -> None:
        """Note a difference."""
        self.state = "differs"
        self.differences.append(difference)

    def lack(self, missing: Remark) -> None:
        """Note that something is missing, unless something differs."""
        self.state = "missing" if self.state == "same" else self.state
        self.differences.append(missing)


@dataclass
class Verified:
    """The result of all steps, and what was not verified."""

    title: str
    sha256: str
    steps: list[RecomputedStep]
    believed: list[Remark]
    remarks: list[Remark] = field(default_factory=list)

    @property
    def is_recomputed(self) -> bool:
        """Whether all that a page shows follows: replies may be missing, and nothing else."""
        return all(
            step.state == "same" or (step.name == _REPLIES and step.state == "missing") for step in self.steps
        )

    @property
    def exit_code(self) -> int:
        """0 if everything is the same, 1 if something differs, 3 if something is missing."""
        states = {step.state for step in self.steps}
        if "differs" in states:
            return FAULTS
        return MissingJudgements.exit_code if states != {"same"} else 0

    def table(self) -> Table:
        """Return a row a step."""
        table: Table = hooks.display_of_verification(self).table()
        return table

    def sentences(self) -> list[str]:
        """Return what differs, what is missing, and what was not verified."""
        sentences: list[str] = hooks.display_of_verification(self).sentences()
        return sentences

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program or a page."""
        steps = [
            {
                "step": step.name,
                "result": step.state,
                "of": "" if step.extent is None else str(step.extent),
                "differences": list(map(str, step.differences[:_SHOWN])),
                "more": max(0, len(step.differences) - _SHOWN),
            }
            for step in self.steps
        ]
        return {
            "title": self.title,
            "sha256": self.sha256,
            "steps": steps,
            "believed": list(map(str, self.believed)),
            "remarks": [remark.as_record() for remark in self.remarks],
            "exit": self.exit_code,
            "means": EXIT_CODES[self.exit_code],
        }


def verify(path: str | Path, inputs: str | Path | None = None, expected: str = "") -> Verified:
    """Recompute a leaderboard from its bundle.

    Parameters
    ----------
    path
        The bundle.
    inputs
        A folder with files that the bundle withholds; they are found by their digests.
    expected
        The expected SHA-256 of the bundle, as shown on its page.

    Returns
    -------
    Verified
        The steps, and what was not verified.
    """
    with opened_bundle(path) as bundle:
        return verified(bundle, inputs, expected)


def verified(bundle: Bundle, inputs: str | Path | None = None, expected: str = "") -> Verified:
    """Recompute a leaderboard from its unpacked bundle."""
    return _Verification(bundle, inputs, expected).done()


class _JudgementRow(msgspec.Struct):
    """What the fields of a judgement may be that are looked at here."""

    query_id: str | int | None = None
    run_id: str | int | None = None
    item_id: str | int | None = None
    aspect: str | int | None = None
    label: str | None = None
    grade: float | None = None
    status: str | None = None
    judge: str | None = None
    decided_by: str | None = None
    rubric: str | None = None
    reply: str | None = None
    judged_sha: str | None = None
    shown: list[str | int] | None = None
    repeat: str | int | None = None


_of_its_types = msgspec.json.Decoder(_JudgementRow).decode


def _decode_judgement(line: bytes) -> dict[str, Any]:
    _of_its_types(line)
    return msgspec.json.decode(line, type=dict[str, Any])


class _Verification:
    """The steps of one bundle."""

    def __init__(self, bundle: Bundle, inputs: str | Path | None, expected: str) -> None:
        self.bundle, self.manifest = bundle, bundle.manifest
        self.inputs = None if inputs is None else _Inputs(Path(inputs))
        self.expected = expected.strip().lower()
        self.believed: list[Remark] = []

    def done(self) -> Verified:
        manifest = self.manifest
        steps = [self._compare_digests(), self._reread_judgements()]
        values, results = self._recompute_values()
        steps += [values, self._recompute_standings(values, results)]
        remarks = []
        if manifest.rageval != __version__:
            versions = {"bundle": manifest.rageval, "here": __version__}
            remarks.append(Remark("other_version", facts=versions))
        self.believed.append(
            Remark("title_and_rules", facts={"title": manifest.title, "track": manifest.track})
        )
        if manifest.labels:
            self.believed.append(
                Remark(
                    "labels_of_bundle",
                    facts={"labels": tuple(manifest.labels), "chosen": manifest.labels_chosen},
                )
            )
        return Verified(manifest.title, self.bundle.sha256, steps, self.believed, remarks)

    def _compare_digests(self) -> RecomputedStep:
        step, bundle, manifest = RecomputedStep("files"), self.bundle, self.manifest
        if self.expected and self.expected != bundle.sha256:
            step.differ(Remark("other_bundle", facts={"sha256": bundle.sha256, "expected": self.expected}))
        for name, sha256 in manifest.files.items():
            if name not in bundle.paths:
                step.differ(Remark("not_in_bundle", Scope(file=name)))
            elif digest_of(bundle.paths[name], "a file of a bundle") != sha256:
                step.differ(Remark("not_as_in_manifest", Scope(file=name), {"manifest": MANIFEST}))
        for name in bundle.paths:
            if name != MANIFEST and name not in manifest.files:
                step.differ(Remark("not_in_manifest", Scope(file=name), {"manifest": MANIFEST}))
        has_digest = bool(self.expected)
        step.extent = Remark(
            "digests_checked", facts={"number": len(manifest.files), "has_digest": has_digest}
        )
        if not self.expected:
            self.believed.append(Remark("bundle_without_digest"))
        for name in manifest.withheld:
            if self.inputs is None or manifest.withheld[name] not in self.inputs.by_digest:
                self.believed.append(Remark("withheld_and_unneeded", Scope(file=name)))
        return step

    def _reread_judgements(self) -> RecomputedStep:
        """Read the replies again, by the rubric's parser."""
        step = RecomputedStep(_REPLIES)
        rubrics: dict[str, Rubric | None] = {}
        reread_count = without = 0
        unasked: Counter[str] = Counter()
        for judged in self.manifest.judgements:
            try:
                at_hand = {} if self.inputs is None else self.inputs.replies
                replies = _replies_in(self.bundle.path(judged.replies)) if judged.replies else at_hand
                lines = read_decoded(self._path_text(judged.file), _decode_judgement, "judgements")
                rows = [row for _, row in lines]
            except InputError as error:
                step.differ(Remark("not_recomputed", facts={"reason": self._without_folder(str(error))}))
                continue
            for call in calls_of(rows):
                sha256 = call[0].get("reply")
                if sha256 is None:
                    for row in call:
                        if self._should_have_reply(row):
                            without += 1
                        else:
                            unasked[str(row.get("decided_by") or row.get("judge") or "")] += 1
                    continue
                text = replies.get(str(sha256))
                if text is None and judged.replies:
                    step.differ(Remark("no_such_reply", Scope(file=judged.file), {"sha256": str(sha256)}))
                    continue
                if text is None:
                    without += len(call)
                    continue
                rubric_name = str(call[0].get("rubric"))
                if rubric_name not in rubrics:
                    rubrics[rubric_name] = self._rubric_of_bundle(rubric_name, step)
                rubric = rubrics[rubric_name]
                if rubric is None or not can_reread(rubric, call):
                    without += len(call)
                    continue
                reread_count += len(call)
                judge = parse_judge(str(call[0].get("judge")))
                expected = rubric.judge_called(judge.name if isinstance(judge, Judge) else "")
                if judge != expected:
                    step.differ(
                        Remark(
                            "judge_not_of_rubric",
                            Scope(file=judged.file),
                            {"judge": str(judge), "expected": str(expected)},
                        )
                    )
                for difference in reread(rubric, call, text):
                    step.differ(replace(difference, about=Scope(file=judged.file)))
        step.extent = Remark(
            "judgements_read_again",
            facts={"number": reread_count, "has_replies": bool(reread_count or without)},
        )
        if without:
            step.lack(Remark("replies_not_in_bundle", facts={"number": without}))
        if reread_count:
            self.believed.append(Remark("replies_of_judge"))
        if unasked:
            judges = tuple(unasked.most_common(_SHOWN))
            self.believed.append(
                Remark("judgements_without_reply", facts={"judges": judges, "number": len(unasked)})
            )
        return step

    def _should_have_reply(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a model was asked: a digest of its prompt stands in its name, or in the rubric's.

        A vote is of several replies and holds none. What has no such digest may be anybody's: it is believed.
        """
        decider = str(row.get("decided_by") or row.get("judge") or "")
        judge = parse_judge(decider)
        is_asked = judge.was_prompted or str(row.get("rubric")) in self.manifest.rubrics
        is_vote = isinstance(judge, Panel)
        is_known = decider == FIRST_STAGE or is_vote or judge.is_person or judge.is_text_rule
        return is_asked and not is_known and row.get("status", "ok") in GRADED

    def _path_text(self, name: str) -> str:
        return str(self.bundle.path(name))

    def _rubric_of_bundle(self, rubric_name: str, step: RecomputedStep) -> Rubric | None:
        name = self.manifest.rubrics.get(rubric_name)
        if name is None:
            step.lack(Remark("rubric_not_in_bundle", facts={"rubric": rubric_name}))
            return None
        try:
            rubric = rubric_named(self._path_text(name))
        except RagevalError as error:
            step.differ(Remark("rubric_not_readable", Scope(file=name), {"reason": str(error)}))
            return None
        # Its name is that of the file; what counts is what it says.
        own = rubric_name.partition("@")[2]
        if rubric.version != own:
            step.differ(
                Remark("other_rubric", Scope(file=name), {"version": rubric.version, "rubric": rubric_name})
            )
            return None
        return rubric

    def _recompute_values(self) -> tuple[RecomputedStep, Any]:
        """Score again, and compare with the values that were published."""
        step, path = RecomputedStep("values from judgements"), self.bundle.paths.get(VALUES)
        if path is None:
            step.differ(Remark("not_in_bundle", Scope(file=VALUES)))
            return step, None
        lacking = tuple(
            (what, self.manifest.datasets[what])
            for what in _CONTENT
            if what in self.manifest.datasets and self._load_dataset(what) is None
        )
        if lacking:
            step.lack(Remark("datasets_not_here", facts={"datasets": lacking}))
            return step, None
        try:
            results = values_of(self._scoring_inputs(), lambda remark: None)
        except MissingPackage as error:
            step.lack(Remark("not_recomputed", facts={"reason": str(error)}))
            return step, None
        except RagevalError as error:
            step.differ(Remark("cannot_be_recomputed", facts={"reason": self._without_folder(str(error))}))
            return step, None
        published = _read_published(path).splitlines()
        keys = ("measure", "run_id", "topic_id")
        for difference in _line_differences(published, list(value_lines(results)), keys):
            step.differ(replace(difference, about=Scope(file=VALUES)))
        counts = {"number": len(published), "runs": len(results)}
        step.extent = Remark("values_recomputed", facts=counts)
        return step, results

    def _without_folder(self, text: str) -> str:
        for name, path in self.bundle.paths.items():
            text = text.replace(str(path), name)
        return visible(text)[:300]

    def _load_dataset(self, what: str) -> Any:
        """Return a data set of the catalogue; None if it cannot be had."""
        name = self.manifest.datasets[what]
        # The name of a file is no id, whoever wrote the manifest.
        if os.path.exists(name) or not re.fullmatch(r"\w[\w-]*([.:/]\w[\w-]*)*", name):
            return None
        try:
            return hooks.dataset_or_file(name, what)
        except (RagevalError, ImportError, OSError):
            return None

    def _scoring_inputs(self) -> ScoringInputs:
        manifest, path = self.manifest, self._path_text
        sources = {what: path(named) if (named := getattr(manifest, what)) else None for what in _CONTENT}
        sources |= {what: self._load_dataset(what) for what in _CONTENT if what in manifest.datasets}
        topics, conversations = None, dict[str, str]()
        if manifest.topic_ids:
            ids = [row for _, row in read_records(path(manifest.topic_ids), dict[str, Any], "ids of topics")]
            topics = [str(row.get("query_id")) for row in ids]
            conversations = {
                str(row["query_id"]): str(row[CONVERSATION]) for row in ids if CONVERSATION in row
            }
        chosen = manifest.labels_chosen
        kind = RUNS if manifest.track == "run" else ANSWERS
        return ScoringInputs(
            manifest.measures,
            kind,
            [
                System(system.name, system.file, path(system.file) if system.file else "")
                for system in manifest.systems
            ],
            judged=[path(file.file) for file in manifest.judgements],
            answers=() if kind is RUNS else self.bundle.read_answers(),
            topics=topics,
            conversations=conversations,
            gold=[path(name) for name in manifest.labels],
            gold_chosen=chosen if chosen in ("", UNIFORM) else path(chosen),
            on_missing=manifest.on_missing,
            **sources,
        )

    def _recompute_standings(self, values: RecomputedStep, results: Any) -> RecomputedStep:
        """Compute the intervals of values and of ranks again, by bootstrap."""
        step = RecomputedStep("claims from values")
        paths = {name: self.bundle.paths.get(name) for name in (STANDINGS, TABLE)}
        for name, path in paths.items():
            if path is None:
                step.differ(Remark("not_in_bundle", Scope(file=name)))
        if values.state != "same" or step.differences:
            step.lack(Remark("no_values_to_recompute"))
            return step
        rows = standings(results)
        files = leaderboard_files(results, rows)
        how = intervals_of_standings(rows)
        if self.manifest.intervals not in ("", how):
            step.differ(
                Remark(
                    "other_intervals",
                    Scope(file=MANIFEST),
                    {"published": self.manifest.intervals, "recomputed": how},
                )
            )
        published = _read_published(paths[STANDINGS]).splitlines()
        close: list[str] = []
        for difference in _line_differences(published, list(files[STANDINGS]), ("measure", "run"), close):
            step.differ(replace(difference, about=Scope(file=STANDINGS)))
        table = _read_published(paths[TABLE]).decode("utf-8", "replace").splitlines()
        for number, (one, other) in enumerate(zip_longest(table, files[TABLE]), 1):
            if one != other:
                step.differ(
                    Remark(
                        "other_row",
                        Scope(file=f"{TABLE}:{number}"),
                        {"published": str(one), "recomputed": str(other)},
                    )
                )
        step.extent = Remark("places_recomputed", facts={"number": len(published), "rounded": len(close)})
        return step


def _read_published(path: Path | None) -> bytes:
    return b"" if path is None else read_whole(path, "a leaderboard", _LARGEST)


def _line_differences(
    published: Sequence[bytes], recomputed: Sequence[str], keys: Sequence[str], close: list[str] | None = None
) -> Iterator[Remark]:
    """Yield how lines differ; ends of intervals that are alike are kept in `close`."""
    for number, (line, other) in enumerate(zip_longest(published, recomputed), 1):
        # Earlier versions did not write how labels were drawn. A line says so where nobody stated it: without
        # that a place would lose its condition.
        old = None if other is None else re.sub(rf'"drawn":"(?!{DrawKind.UNSTATED}")[a-z]*",', "", other)
        if line is not None and other is not None and line in (other.encode(), str(old).encode()):
            continue
        try:
            one = {} if line is None else json.loads(line)
            two = {} if other is None else json.loads(other)
            fields = [name for name in sorted({*one, *two}) if one.get(name, "") != two.get(name, "")]
        except (ValueError, TypeError, AttributeError, RecursionError):
            yield Remark("line_not_json", facts={"number": number, "expected": str(other)[:120]})
            continue
        if line is None or other is None:
            yield Remark("line_not_in_both", facts={"number": number, "is_published": line is not None})
            continue
        close_fields = [
            name
            for name in fields
            if close is not None and name in _INTERVALS and _is_close(one.get(name), two.get(name))
        ]
        if close is not None:
            close += close_fields
        if left := [name for name in fields if name not in close_fields]:
            place = tuple(str(two.get(key)) for key in keys)
            changes = tuple((name, f"{one.get(name)!s:.60}", f"{two.get(name)!s:.60}") for name in left)
            yield Remark("line_differs", facts={"number": number, "place": place, "changes": changes})
        elif not fields:
            yield Remark("line_of_another_format", facts={"number": number})


def _is_close(one: Any, other: Any) -> bool:
    is_number = isinstance(one, float) and isinstance(other, float)
    return is_number and math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)


def _replies_in(path: Path) -> dict[str, str]:
    """Return replies by what their digests are now, from lines of replies or of judgements."""
    replies = {}
    for _, row in read_records(str(path), dict[str, Any], "replies"):
        text = row.get("text", row.get("raw"))
        if isinstance(text, str):
            text = without_keys(text)
            replies[hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()] = text
    return replies


class _Inputs:
    """Files of the reader's own that a bundle may lack."""

    def __init__(self, folder: Path) -> None:
        if not os.path.isdir(folder):
            raise InputError(
                at=Place(visible(str(folder))), problem="no such folder", expected="one of withheld files"
            )
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        self.by_digest = {digest_of(path, "an input"): path for path in files}
        self.replies: dict[str, str] = {}
        for path in files:
            if path.suffix == ".jsonl":
                try:
                    self.replies |= _replies_in(path)
                except InputError:
                    continue  # of other lines
