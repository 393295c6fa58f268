"""A rubric's file: what it may say, how it is read, and what is refused, with the line it stands in."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import msgspec

from rageval.errors import InputError, MissingPackage
from rageval.files.whole import NamedInFile, beside, opened_file, read_beside
from rageval.judges._exact import ABSTENTIONS
from rageval.judges._parsers import JSON, PARSERS, READS, SCHEMA, require_quick
from rageval.judges._prompts import ITEMS, WAYS, names_in, template_of
from rageval.judges._verdicts import KINDS

UNITS = (
    *("answer", "nuggets", "bank", "documents", "question", "passages", "passage", "citation"),
    *("pair", "against-gold", "list", "claims", "claim", "citations", "passage-nuggets"),
    *("uncited", "expected"),
)
_CANARIES = ("answer", "nuggets", "against-gold", "passage", "citation")  # units that hold what speaks
_MOST = {"window": 10_000, "max_tokens": 1_000_000, "most": 10_000, "kept": 10_000, "tries": 1_000}
_LARGEST = 10**6
_LARGEST_FILE = 64 * 2**20  # bytes of examples
_RUBRIC_NAME = re.compile(r"[A-Za-z0-9_-]+")
FIRST_STAGES = ("crag", "crag-script")
OF_RUBRIC = {"most": "most", "examples": "examples"}  # fields that are no data
_UNSET = "unset"
LIMITS = ("max_tokens", "max_completion_tokens")
_SAMPLING = ("top_p", "frequency_penalty", "presence_penalty", "seed", *LIMITS)


class Prompt(msgspec.Struct, forbid_unknown_fields=True):
    """The prompt: `system`, and `ask`, which stands behind the data, or a `template` with fields in it.

    `steps` are templates that are asked before, whose replies are the fields `step1`, `step2`, …; `item` is
    the template of one item of a list.
    """

    system: str = ""
    ask: str = ""
    template: str = ""
    item: str = ""
    steps: list[str] = []


class Trim(msgspec.Struct, forbid_unknown_fields=True):
    """A text that is cut before it is shown: to so many words, or tokens of the tokenizer in a file."""

    field: str
    words: int | None = None
    tokens: int | None = None
    tokenizer: str | None = None
    sha256: str | None = None


class Examples(msgspec.Struct, forbid_unknown_fields=True, rename={"how": "as"}):
    """In-context examples out of a file of the user's: in the `prompt` as text, or as `turns`."""

    how: Literal["prompt", "turns"] = "prompt"
    file: str | None = None
    text: str = ""
    turns: list[dict[str, Any]] = []


class RubricFile(msgspec.Struct, forbid_unknown_fields=True):
    """A rubric file."""

    unit: str
    kind: str
    sees: list[str]
    prompt: Prompt
    follows: str = ""
    departs: str | list[str] = ""
    labels: dict[str, float] = {}
    ranges: dict[str, tuple[float, float]] = {}
    first_stage: str | None = None
    evidence_from: str | None = None
    evidence_for: list[str] = []
    canaries: bool = False
    judged_as: str | None = None
    family: list[str] = []  # rubrics that are asked of one answer together, by one judge
    window: int = 10
    max_tokens: int = 1024
    most: int = 30
    kept: int = 20
    whole: bool = False
    unquoted: Literal["refused", "empty", "kept"] = "refused"
    unfenced: bool = False
    reads: str = SCHEMA
    values: dict[str, str] = {}
    tags: list[str] = []
    patterns: list[str] = []
    fields: dict[str, str] = {}
    examples: Examples | None = None
    trim: Trim | None = None
    temperature: float | Literal["unset"] = 0.0
    again: float | None = None
    sampling: dict[str, int | float] = {}
    tries: int = 3
    each: str | None = None
    compat: str | None = None
    unreadable: str | None = None
    lenient: bool = False
    abstentions: str = ABSTENTIONS[0]

    @property
    def departures(self) -> list[str]:
        """Where it departs from what it follows, each by itself."""
        return [self.departs] if isinstance(self.departs, str) and self.departs else [*self.departs]

    @property
    def room(self) -> int:
        """How many tokens a reply may have, whatever its source calls the limit."""
        return next((int(self.sampling[name]) for name in LIMITS if name in self.sampling), self.max_tokens)

    @property
    def heat(self) -> float | None:
        """The temperature, None where the source sends none."""
        return None if self.temperature == _UNSET else float(self.temperature)


_FIRST = (  # of the first version, in every digest
    *("unit", "kind", "sees", "prompt", "follows", "departs", "labels", "ranges", "first_stage"),
    *("evidence_from", "evidence_for", "canaries", "judged_as", "window", "max_tokens", "most", "kept"),
)


def content_of(file: RubricFile) -> dict[str, Any]:
    """Return what a digest is made of: what later versions brought only where it says something."""
    said = msgspec.to_builtins(file)
    said["departs"] = "; ".join(file.departures)
    usual = msgspec.to_builtins(RubricFile("", "", [], Prompt()))
    told = {name: value for name, value in said.items() if name in _FIRST or value != usual[name]}
    first = ("system", "ask")
    told["prompt"] = {name: value for name, value in said["prompt"].items() if name in first or value}
    for part in ("examples", "trim"):
        if told.get(part):  # what is in a file counts, not where it lies
            told[part] = {name: told[part][name] for name in told[part] if name not in ("file", "tokenizer")}
    return told


def rubric_file_of(text: str, source: str) -> RubricFile:
    """Read the text of a rubric file; `InputError` with its line for what it may not say."""
    try:
        found = msgspec.convert(tomllib.loads(text), RubricFile)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+)", str(error))
        where = f":{line[1]}" if line else ""
        raise InputError(f"{source}{where}: expected a rubric as TOML: {error}") from None
    except (ValueError, RecursionError) as error:  # of numbers, too
        where = _where(source, text, _key_of(str(error)))
        raise InputError(f"{where}: expected a rubric (unit, kind, sees, labels, prompt): {error}") from None
    _read_named(found, source, text)
    require_sane(found, source, text)
    return found


def _read_named(file: RubricFile, source: str, text: str) -> None:
    """Read the examples that a rubric file names, and find its tokenizer: in its own folder, or below."""
    if file.examples is not None and file.examples.file is not None:
        named = NamedInFile(file.examples.file, source, _where(source, text, "examples"))
        file.examples = examples_in(file.examples.how, str(named), read_beside(named, _LARGEST_FILE))
    if file.trim is not None and file.trim.tokenizer is not None:
        named = NamedInFile(file.trim.tokenizer, source, _where(source, text, "tokenizer"))
        file.trim.tokenizer = os.fspath(beside(named))


def examples_in(how: Literal["prompt", "turns"], name: str, content: bytes) -> Examples:
    """Return the examples that a file holds."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: cannot be read as examples: {error}") from None
    if how == "prompt":
        return Examples("prompt", name, text)
    return Examples("turns", name, turns=list(_turns_in(text, name)))


def _turns_in(text: str, file: str) -> Iterator[dict[str, Any]]:
    """Examples, one a line: what is shown, under the names that the rubric sees, and the `reply`."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}:{number}: expected an example as one JSON object: {error}") from None
        if not isinstance(found, dict) or "reply" not in found:
            raise InputError(
                f"{file}:{number}: expected an example {{question, …, reply}}, found {line[:80]!r}"
            )
        yield found


def _key_of(message: str) -> str:
    """Return the key that a complaint of msgspec's is about."""
    found = re.search(r"`\$\.?([\w.-]*)|field `([^`]*)`", message)
    path = (found[1] or found[2] or "") if found else ""
    unknown = re.search(r"unknown field `([^`]*)`", message)
    return unknown[1] if unknown else path.rpartition(".")[2]


def _where(source: str, text: str, key: str) -> str:
    """Return the source with the line in which the key stands, if it does."""
    pattern = re.compile(rf"\s*(?:\[+)?[\"']?{re.escape(key)}[\"']?\s*(?:=|\])") if key else None
    for number, line in enumerate(text.splitlines(), 1):
        # TOML's reader tells no lines, so the key is looked for; a message without a line is right as well.
        if pattern is not None and pattern.match(line):
            return f"{source}:{number}"
    return source


def require_sane(found: RubricFile, source: str, text: str) -> None:
    """`InputError` for a rubric that no job could use, before anything was asked with it."""
    for key, problem in _problems(found):
        raise InputError(f"{_where(source, text, key)}: {problem}")


def require_numbers(found: RubricFile, source: str) -> None:
    """`InputError` for numbers that no job could use, of a rubric that makes its requests itself."""
    for _, problem in _of_numbers(found):
        raise InputError(f"{source}: {problem}")


def _problems(found: RubricFile) -> Iterator[tuple[str, str]]:
    """Yield what is wrong, with the key it stands under."""
    known = (("kind", KINDS), ("unit", UNITS), ("reads", READS))
    for key, names in known:
        value = getattr(found, key)
        if value not in names:
            yield key, f"{key} = {value!r}, expected one of {', '.join(names)}"
            return
    if found.kind in ("label", "labels", "matrix") and len(found.labels) < 2:
        yield "labels", "expected at least two labels with their grades"
    if [label for label in found.evidence_for if label not in found.labels] or (
        found.evidence_from or "answer"
    ) not in (*found.sees, "answer"):
        yield "evidence_for", "expected evidence_for some of the labels, evidence_from what it sees"
    if found.canaries and found.unit not in _CANARIES:
        yield "canaries", f"canaries are for the units {', '.join(_CANARIES)}, not {found.unit}"
    if found.kind == "grades" and not found.ranges:
        yield "ranges", "expected ranges, such as correctness = [-1.0, 2.0]"
    yield from _of_numbers(found)
    yield from _of_prompt(found)
    yield from _of_reading(found)
    yield from _of_rules(found)


def _of_numbers(found: RubricFile) -> Iterator[tuple[str, str]]:
    for field, most in _MOST.items():
        number = getattr(found, field)
        # True is an int to isinstance.
        if type(number) is not int or not 1 <= number <= most:
            yield field, f"{field} = {number}, expected a whole number from 1 to {most:,}"
    for label, grade in found.labels.items():
        # Written so that NaN is refused, too.
        if not abs(grade) <= _LARGEST:
            yield label, f"labels: {label!r} = {grade}, expected a grade from -{_LARGEST:,} to {_LARGEST:,}"
    for name, (low, high) in found.ranges.items():
        if not -_LARGEST <= low < high <= _LARGEST:
            yield (
                name,
                f"ranges: {name!r} = [{low}, {high}], expected two numbers from -{_LARGEST:,} to"
                f" {_LARGEST:,}, the lower one first",
            )
    for name, number in (("temperature", found.heat), ("again", found.again)):
        if number is not None and not 0 <= number <= 2:
            yield name, f"{name} = {number}, expected a number from 0 to 2"
    for name, number in found.sampling.items():
        if name not in _SAMPLING or (name in LIMITS and not found.unfenced):
            yield (
                name,
                f"sampling: {name}: expected one of {', '.join(_SAMPLING[:4])}; max_tokens stands outside",
            )
        if name in LIMITS and not (type(number) is int and 1 <= number <= _MOST["max_tokens"]):
            yield name, f"sampling: {name} = {number}, expected a whole number from 1"
        if not abs(number) <= _LARGEST:
            yield name, f"sampling: {name} = {number}, expected a number up to {_LARGEST:,}"


def _of_prompt(found: RubricFile) -> Iterator[tuple[str, str]]:
    prompt = found.prompt
    if prompt.ask and prompt.template:
        yield "template", "expected either ask, which stands behind the data, or a template with fields"
        return
    if found.unfenced and not prompt.template:
        yield "unfenced", "only a template can be unfenced: what stands before ask always has a fence"
    if found.unfenced and "{{fence}}" in prompt.system + prompt.template:
        yield "prompt", "an unfenced prompt cannot speak of {{fence}}"
    for key, texts in (("template", [prompt.template]), ("item", [prompt.item]), ("steps", prompt.steps)):
        for number, text in enumerate(texts):
            yield from _of_template(found, key, text, number)
    for name, told in found.fields.items():
        what, _, way = told.partition(":")
        if what not in (*found.sees, *OF_RUBRIC) or way not in ("", ITEMS, *WAYS):
            ways = ", ".join((*WAYS, ITEMS))
            yield (
                name,
                f"fields: {name} = {told!r}, expected something it sees ({', '.join(found.sees)}) or"
                f" {' or '.join(OF_RUBRIC)}, and how it is written: {ways}",
            )
        if way == ITEMS and not prompt.item:
            yield name, "expected the template of one item (item = …) in [prompt]"


def _of_template(found: RubricFile, key: str, text: str, number: int) -> Iterator[tuple[str, str]]:
    try:
        names = names_in(template_of(text))
    except ValueError as error:
        yield key, f"{key}: {error}"
        return
    steps = [f"step{at + 1}" for at in range(number if key == "steps" else len(found.prompt.steps))]
    # A step may quote the replies of the steps before it, not its own.
    known = ["rank", "text", "candidate"] if key == "item" else [*found.fields, *found.sees, *steps]
    strange = [name for name in names if name not in known and name != "examples"]
    if strange:
        yield key, f"{key}: {{{strange[0]}}} is no field; expected one of {', '.join(known)}"


def _of_reading(found: RubricFile) -> Iterator[tuple[str, str]]:
    parser = PARSERS.get(found.reads)
    if parser is not None and found.kind not in parser.kinds:
        yield "reads", f"reads = {found.reads!r} is for {' and '.join(parser.kinds)}, not for {found.kind}"
    if found.evidence_from and found.reads not in (SCHEMA, JSON):
        yield "evidence_from", f"what is read as {found.reads} holds no evidence"
    if (found.reads == "pattern") != bool(found.patterns):
        yield "patterns", 'patterns and reads = "pattern" belong together'
    for pattern in found.patterns:
        try:
            # A pattern that can take exponential time would hang on a reply that somebody chose.
            require_quick(pattern)
        except ValueError as error:
            yield "patterns", f"patterns: {pattern[:80]!r}: {error}"
    if found.tags and (found.reads != "tagged" or len(found.tags) != 2):
        yield "tags", 'expected two tags, as in ["[[", "]]"], of reads = "tagged"'
    for value, label in found.values.items():
        if label not in found.labels:
            yield value, f"values: {value} = {label!r}, expected one of the labels {', '.join(found.labels)}"


def _of_rules(found: RubricFile) -> Iterator[tuple[str, str]]:
    if found.first_stage is not None and found.first_stage not in FIRST_STAGES:
        yield "first_stage", f"first_stage = {found.first_stage!r}, expected {' or '.join(FIRST_STAGES)}"
    # A name with a dot would be taken for a file, and a file in Python is run.
    for name in found.family:
        if not _RUBRIC_NAME.fullmatch(name):
            yield "family", f"family: {name[:80]!r}: expected the name of a built-in rubric"
    if found.abstentions not in ABSTENTIONS:
        yield "abstentions", f"abstentions = {found.abstentions!r}, expected {' or '.join(ABSTENTIONS)}"
    if found.each not in (None, "gold") or (found.each and (found.unit, found.kind) != ("answer", "label")):
        yield "each", 'each = "gold" asks of an answer, for a label, beside each gold answer by itself'
    if found.unreadable is not None and (found.unreadable not in found.labels or not found.compat):
        yield "unreadable", "unreadable: expected one of the labels, and the compat that asks for it"
    trim = found.trim
    if trim is None:
        return
    lengths = [number for number in (trim.words, trim.tokens) if number is not None]
    if len(lengths) != 1 or not 1 <= lengths[0] <= _LARGEST or trim.field not in found.sees:
        yield "trim", "trim: expected a field that it sees, and either words or tokens, from 1"
    if (trim.tokens is None) != (trim.tokenizer is None):
        yield "trim", "trim: tokens need the tokenizer that counts them: tokenizer = FILE"
    # Another tokenizer cuts elsewhere, and judgements of both would bear one name.
    elif trim.tokenizer is not None and trim.sha256 != sha256_of(trim.tokenizer):
        yield "tokenizer", f"trim: {trim.tokenizer} is not the file it was (expected sha256 = {trim.sha256})"


def sha256_of(path: str) -> str:
    """Return the digest of a file; `InputError` if it cannot be read."""
    with opened_file(path, "a tokenizer") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def as_toml(file: RubricFile, heading: Iterable[str] = ()) -> str:
    """Write a rubric as its file, where there is none: long texts as they are read, the usual left out."""
    usual = msgspec.to_builtins(RubricFile("", "", [], Prompt()))
    said = {
        name: value
        for name, value in msgspec.to_builtins(file).items()
        if value is not None and (value != usual[name] or name in ("unit", "kind", "sees"))
    }
    tables = {name: value for name, value in said.items() if isinstance(value, dict)}
    lines = [*(f"# {line}" for line in heading)]
    lines += [f"{name} = {_toml(value)}" for name, value in said.items() if name not in tables]
    for table, values in tables.items():
        told = {key: value for key, value in values.items() if value not in (None, "", [])}
        lines += ["", f"[{table}]", *(f"{_toml_key(key)} = {_toml(value)}" for key, value in told.items())]
    return "\n".join(lines)


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _toml(value: Any) -> str:
    """Return a value as TOML writes it; a text of several lines as such, if it would be read as it is."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml_key(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    # Literal texts of TOML know no escapes: what they cannot hold is written with quotes.
    if "\n" in value and "'''" not in value and not _UNPRINTED.search(value) and not value.endswith("'"):
        return f"'''\n{value}'''"
    return _quoted(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


_WORD = re.compile(r"\S+")


def trimmed(trim: Trim | None, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data with what the rule cuts cut.

    >>> dict(trimmed(Trim("answer", words=2), {"answer": "one  two three"}))
    {'answer': 'one  two'}
    """
    if trim is None or not isinstance(data.get(trim.field), str):
        return data
    text = data[trim.field]
    return {**data, trim.field: (_words(text, trim) if trim.words else _tokens(text, trim)).strip()}


def _words(text: str, trim: Trim) -> str:
    places = [match.end() for _, match in zip(range(trim.words or 0), _WORD.finditer(text), strict=False)]
    return text[: places[-1]] if places else ""


def _tokens(text: str, trim: Trim) -> str:
    """Return the text of the first tokens; a beginning that a tokenizer adds to every text is not counted."""
    tokenizer = _tokenizer(str(trim.tokenizer))
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return str(tokenizer.decode(ids[: trim.tokens]))


@cache
def _tokenizer(path: str) -> Any:
    if find_spec("tokenizers") is None:
        raise MissingPackage("tokenizers", f"cutting by the tokenizer {path}")
    try:
        return import_module("tokenizers").Tokenizer.from_file(path)
    except Exception as error:  # of a library in another language, which says no kind
        raise InputError(f"{path}: cannot be read as a tokenizer (tokenizer.json): {error}") from None
