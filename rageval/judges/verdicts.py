"""From a model's reply to verdicts: what is said of one aspect, ready to become a judgement.

Each kind of reply that a rubric may ask for has its schema and its reading. A reply is strict JSON, with
three repairs that change no meaning, nothing guessed: one that holds exactly one object is read; a code fence
around it, a comma too many and Python's way of writing it are repaired and said to be. Prose, two objects,
unknown labels, a list of the wrong length, a missing or repeated id, a number off the scale: invalid, with a
message that a second try can show the model.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isqrt
from typing import Any

from rageval.text import replace_surrogates

LONGEST = 200_000  # characters of a reply
_DEEPEST = 50  # lists and objects within one another

# All of these go over a text once: a string that does not end goes on to the end of the text.
_FENCE = re.compile(r"```[A-Za-z]*\s*")
_STRING_OR_LAST_COMMA = re.compile(r'("(?:[^"\\]++|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)
_PYTHON = re.compile(
    r"""(?P<mark>[{}\[\]:]) | (?P<comma>,)(?P<last>\s*+(?=[}\]]))? | (?P<word>True|False|None)\b
    | (?P<string>'(?:[^'\\\n]++|\\.)*+' | "(?:[^"\\\n]++|\\.)*+")
    | (?P<number>[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?)""",
    re.DOTALL | re.VERBOSE | re.ASCII,
)
_BLANKS = re.compile(r"\s*+")
_ESCAPE = re.compile(
    r"\\(?:(?P<code>[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<one>.))", re.DOTALL
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_MEANT = {"\n": "", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_Ids = tuple[str, ...]
_Schema = dict[str, Any]


class Invalid(ValueError):
    """The reply is not what was asked for."""


def read_object(text: str) -> tuple[dict[str, Any], bool]:
    """Return (the one object of the reply, whether it had to be repaired).

    >>> read_object('{"label": "perfect"}')
    ({'label': 'perfect'}, False)
    >>> read_object("```json\\n{'label': 'perfect',}\\n```")
    ({'label': 'perfect'}, True)
    """
    text = text.strip()
    if len(text) > LONGEST:
        raise Invalid(f"the reply is {len(text):,} characters long, expected at most {LONGEST:,}")
    record = _parse_strictly(text)
    if record is not None:
        return record, False
    # Models put JSON into a fence of Markdown, against all instructions.
    first, _, rest = text.partition("\n")
    inner = rest.removesuffix("```").rstrip(" \t\r\f\v")
    if rest.endswith("```") and inner.endswith("\n") and _FENCE.fullmatch(first):
        text = inner.strip()
    # From what is right to what is often meant; a repair that changes what is said is none. Commas before a
    # closing bracket are taken out, those inside strings stay.
    without_last_commas = _STRING_OR_LAST_COMMA.sub(lambda match: match[1] or "", text)
    for read, attempt in (
        (_parse_strictly, text),
        (_parse_strictly, without_last_commas),
        (_as_python, text),
    ):
        record = read(attempt)
        if record is not None:
            return record, True
    raise Invalid(f"expected one JSON object and nothing else, found {text[:80]!r}")


def _parse_strictly(text: str) -> dict[str, Any] | None:
    try:
        # Python takes NaN and repeated keys without a word, neither of which a verdict may hold.
        value = json.loads(text, object_pairs_hook=_refuse_repeated_keys, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, Invalid):
            raise
        return None
    return _repair_value(value) if isinstance(value, dict) else None


def _repair_value(value: Any, depth: int = 1) -> Any:
    """Return the value in texts that any file can hold, its nesting within bounds."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if not isinstance(value, dict | list):
        return value
    # A reply comes from outside: its nesting must not exhaust the stack of whoever reads it later.
    if depth > _DEEPEST:
        raise Invalid(f"expected an object that is nested {_DEEPEST} deep at most")
    if isinstance(value, list):
        return [_repair_value(item, depth + 1) for item in value]
    return _refuse_repeated_keys(
        [(replace_surrogates(key), _repair_value(item, depth + 1)) for key, item in value.items()]
    )


class _NoPython(Exception):
    """Something that no literal of lists, texts and numbers holds."""


def _as_python(text: str) -> dict[str, Any] | None:
    """Return the object as Python writes it: its quotes and words, the rest as in JSON."""
    pieces = []  # of JSON that says the same
    position = _end_of_match(_BLANKS, text, 0)
    while position < len(text):
        match = _PYTHON.match(text, position)
        if match is None:
            return None
        kind, piece = match.lastgroup, match[0]
        if kind == "string":
            # Read by a grammar of our own and never by `eval`, as the text comes from outside.
            try:
                pieces.append(json.dumps(_ESCAPE.sub(_unescape, piece[1:-1])))
            except _NoPython:
                return None
        elif kind == "number":
            # Python may leave out digits beside the point: `.5` and `1.` are no numbers to JSON.
            number = piece.removeprefix("+")
            has_bare_point = re.search(r"(?<!\d)\.|\.(?!\d)", number)
            pieces.append(repr(float(number)) if has_bare_point else number)
        elif kind != "last":
            pieces.append(_WORDS.get(piece, piece))
        position = _end_of_match(_BLANKS, text, match.end())
    return _parse_strictly("".join(pieces))


def _end_of_match(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _unescape(escape: re.Match[str]) -> str:
    """Return what a backslash and what follows it mean in a text of Python."""
    code, one = escape["code"], escape["one"]
    if code is None:
        if one in "xuUN":  # not as it has to be, or by name
            raise _NoPython
        return _MEANT.get(one, one if one in "\\'\"" else f"\\{one}")
    number = int(code, 8) if code[0] not in "xuU" else int(code[1:], 16)
    if number > 0x10FFFF:
        raise _NoPython
    return chr(number)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    # A judge that gives a label twice may mean either.
    if len(record) < len(pairs):
        raise Invalid("a key stands twice in the object")
    return record


def _no_constant(name: str) -> Any:
    raise Invalid(f"expected a number, found {name}")


def _text_of(record: dict[str, Any], key: str) -> str | None:
    """Return a text that may be left out."""
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise Invalid(f"{key}: expected text, found {value!r:.80}")
    return value


def _list_of(record: dict[str, Any], key: str) -> list[Any]:
    """Return a list."""
    value = record.get(key)
    if not isinstance(value, list):
        raise Invalid(f"{key}: expected a list, found {value!r:.80}")
    return value


def _by_id(items: list[Any], ids: tuple[str, ...], what: str) -> dict[str, dict[str, Any]]:
    """Return the objects of a list by their `id`: each of the expected ids once, and no other."""
    by_id: dict[str, dict[str, Any]] = {}
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            raise Invalid(f"expected an object with an id for each {what}, found {item!r:.80}")
        if item["id"] in by_id:
            raise Invalid(f"{what} {item['id']!r:.80} stands twice")
        by_id[item["id"]] = item
    # A list that is one short is no list: nobody knows whether the others are in their right places.
    lost = [name for name in ids if name not in by_id]
    strange = [name for name in by_id if name not in ids]
    if lost or strange:
        raise Invalid(
            f"expected each of the {len(ids)} {what}s once; missing: {', '.join(lost) or 'none'};"
            f" unknown: {', '.join(strange)[:80] or 'none'}"
        )
    return {name: by_id[name] for name in ids}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one aspect (or item) of the task; `id` is "" if there is only one."""

    id: str = ""
    label: str | None = None
    grade: float | None = None
    evidence: str | None = None
    reason: str | None = None
    unquoted: bool = False  # kept without the quote that it should have


FIRST_STAGE = "first-stage"  # stands for a judge where the form of an answer decides
_SIDES = {"a": ("win", 1.0), "b": ("loss", 0.0), "tie": ("tie", 0.5)}
_OTHER = {"a": "b", "b": "a", "tie": "tie"}


def side_of(verdict: Verdict, run: str, shown: Sequence[str]) -> tuple[str | None, float | None]:
    """Return label and grade as they are of a run; `shown` are the systems of a pair as they were shown."""
    if shown and verdict.label in _SIDES:
        # `a` is who was shown first; each system's row says what it means for that system.
        return _SIDES[verdict.label if run == shown[0] else _OTHER[verdict.label]]
    return verdict.label, verdict.grade


@dataclass(frozen=True, slots=True)
class RubricScale:
    """What a rubric lets a judge say: labels with their grades, or numbers in a range by name."""

    labels: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]
    most: int = 30  # texts in a list
    whole: bool = False  # numbers are levels, with none between them
    values: Mapping[str, str] = field(default_factory=dict)  # labels by what is said for them

    @property
    def names(self) -> _Ids:
        """The labels, in the rubric's order, or what is said for them."""
        return tuple(self.values or self.labels)


@dataclass(frozen=True, slots=True)
class ReplyKind:
    """How a reply is asked for and read; `ids` are those of the nuggets, documents or answers shown."""

    name: str
    schema: Callable[[RubricScale, _Ids], _Schema]
    read: Callable[[dict[str, Any], RubricScale, _Ids], list[Verdict]]


def _object(properties: _Schema) -> _Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        # Providers that enforce schemas ask for it, and for all properties to be required.
        "additionalProperties": False,
    }


_TEXT: _Schema = {"type": "string"}
_Read = Callable[[dict[str, Any], RubricScale, _Ids], list[Verdict]]
KINDS: dict[str, ReplyKind] = {}


def _reply_kind(name: str, schema: Callable[[RubricScale, _Ids], _Schema]) -> Callable[[_Read], _Read]:
    """Let the function below read replies of this kind, which are asked for by the schema."""

    def declared(read: _Read) -> _Read:
        KINDS[name] = ReplyKind(name, schema, read)
        return read

    return declared


def _one_of(names: _Ids) -> _Schema:
    return {"type": "string", "enum": list(names)}


def _list(items: _Schema) -> _Schema:
    return {"type": "array", "items": items}


@_reply_kind(
    "label",
    lambda scale, ids: _object({"evidence": _TEXT, "reason": _TEXT, "label": _one_of(scale.names)}),
)
def _read_label(reply: dict[str, Any], scale: RubricScale, ids: _Ids) -> list[Verdict]:
    return [_label_verdict(reply, scale)]


@_reply_kind(
    "labels",
    lambda scale, ids: _object(
        {"verdicts": _list(_object({"id": _one_of(ids), "evidence": _TEXT, "label": _one_of(scale.names)}))}
    ),
)
def _read_labels(reply: dict[str, Any], scale: RubricScale, ids: _Ids) -> list[Verdict]:
    items = _by_id(_list_of(reply, "verdicts"), ids, "item")
    return [_label_verdict(item, scale, name) for name, item in items.items()]


def _label_verdict(item: dict[str, Any], scale: RubricScale, name: str = "") -> Verdict:
    value = item.get("label")
    # Only case and blanks are forgiven.
    word = value.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(value, str) else None
    if word is None or word not in scale.names:
        raise Invalid(f"label: expected one of {', '.join(scale.names)}, found {value!r:.80}")
    label = scale.values.get(word, word)
    return Verdict(name, label, scale.labels[label], _text_of(item, "evidence"), _text_of(item, "reason"))


@_reply_kind(
    "grades",
    lambda scale, ids: _object(
        {"reason": _TEXT, **{name: {"type": "integer" if scale.whole else "number"} for name in scale.ranges}}
    ),
)
def _read_grades(reply: dict[str, Any], scale: RubricScale, ids: _Ids) -> list[Verdict]:
    reason = _text_of(reply, "reason")
    verdicts = []
    for name, (low, high) in scale.ranges.items():
        value = reply.get(name)
        # A number is never clipped, never rounded, and never read out of text. True is an int in Python; NaN
        # fails both comparisons.
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not low <= value <= high
            or (scale.whole and not float(value).is_integer())
        ):
            kind = "a whole number" if scale.whole else "a number"
            raise Invalid(f"{name}: expected {kind} from {low:g} to {high:g}, found {value!r:.80}")
        verdicts.append(Verdict(name, None, float(value), None, reason))
    return verdicts


def _matrix_schema(scale: RubricScale, ids: _Ids) -> _Schema:
    documents, nuggets = _split_ids(ids)
    row = _object({"id": _one_of(documents), "supports": _list(_one_of(nuggets))})
    return _object({"documents": _list(row)})


@_reply_kind("matrix", _matrix_schema)
def _read_matrix(reply: dict[str, Any], scale: RubricScale, ids: _Ids) -> list[Verdict]:
    """Return a verdict a document and nugget, its id being both, parted by a tab."""
    documents, nuggets = _split_ids(ids)
    # The rubric's first label is support, its second the lack of it.
    yes, no, *_ = scale.labels
    verdicts = []
    for document, row in _by_id(_list_of(reply, "documents"), documents, "document").items():
        supported = _list_of(row, "supports")
        strange = [name for name in supported if name not in nuggets]
        if strange or len(set(supported)) < len(supported):
            raise Invalid(f"{document}: expected ids of nuggets, each once, found {supported!r:.80}")
        for nugget in nuggets:
            label = yes if nugget in supported else no
            verdicts.append(Verdict(f"{document}\t{nugget}", label, scale.labels[label]))
    return verdicts


def _split_ids(ids: _Ids) -> tuple[_Ids, _Ids]:
    """Ids of documents and of nuggets, which stand behind an empty one."""
    # Put there by whoever made the task.
    border = ids.index("")
    return ids[:border], ids[border + 1 :]


def _declare_texts(name: str, key: str) -> None:
    """Declare the kind of reply that is a list of different texts under this key."""

    @_reply_kind(name, lambda scale, ids: _object({key: _list(_TEXT)}))
    def read(reply: dict[str, Any], scale: RubricScale, ids: _Ids) -> list[Verdict]:
        texts = _list_of(reply, key)
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise Invalid(f"{key}: expected a list of texts, found {texts!r:.80}")
        # Case and blanks make no second nugget.
        if len({text.strip().casefold() for text in texts}) < len(texts):
            raise Invalid(f"{key}: a text stands twice")
        if len(texts) > scale.most:
            raise Invalid(f"{key}: expected at most {scale.most}, found {len(texts)}")
        return [Verdict(text.strip()) for text in texts]


_declare_texts("texts", "nuggets")
_declare_texts("queries", "queries")
_declare_texts("claims", "claims")


@_reply_kind("text", lambda scale, ids: _object({"text": _TEXT}))
def _read_text(reply: dict[str, Any], scale: RubricScale, ids: _Ids) -> list[Verdict]:
    text = _text_of(reply, "text")
    if text is None or not text.strip():
        raise Invalid(f"text: expected a text, found {reply.get('text')!r:.80}")
    return [Verdict(text.strip())]


@_reply_kind("permutation", lambda scale, ids: _object({"ranking": _list(_one_of(ids))}))
def _read_permutation(reply: dict[str, Any], scale: RubricScale, ids: _Ids) -> list[Verdict]:
    ranking = _list_of(reply, "ranking")
    if sorted(map(str, ranking)) != sorted(ids):
        raise Invalid(f"ranking: expected each of {', '.join(ids)} once, found {ranking!r:.80}")
    return [Verdict(name, None, float(place)) for place, name in enumerate(ranking, 1)]


# --- How the sources of imported prompts read what a model replied, warts and all.
#
# Each says what the source's own program would have understood; what that program could not read is `Invalid`
# here, whatever grade the source makes of it. All of them go over a reply once: what a model says is hostile,
# too, and no pattern here can be made to go back over it again and again.

_LONGEST_LIST = 50_000  # characters of a list as Python writes it
_LONGEST_SEARCHED = 10_000  # characters that a pattern of the user's is looked for in
_MOST_CHOICES = 64  # ways through such a pattern
_MOST_STEPS = 10**9  # of a search, about half a second
_FEW = 8  # times that something in a pattern may be repeated and still be tried again


@dataclass(frozen=True, slots=True)
class ReplyRules:
    """What a parser is to know: the scale, what the words of a reply mean on it, and where they stand.

    With `lenient` the source's rules hold also where they drop or replace what a reply lacks.
    """

    scale: RubricScale
    values: Mapping[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ("", "")
    patterns: Sequence[str] = ()
    is_list: bool = False
    unreadable: str | None = None
    lenient: bool = False

    def verdict(self, word: str, name: str = "", reason: str | None = None) -> Verdict:
        """Make a verdict of one word; `Invalid` if it is none that the rubric knows."""
        label = self.values.get(word, word)
        if label not in self.scale.labels:
            names = ", ".join(self.values or self.scale.labels)
            raise Invalid(f"expected one of {names}, found {word[:80]!r}")
        return Verdict(name, label, self.scale.labels[label], None, reason)


@dataclass(frozen=True, slots=True)
class Parser:
    """A way of reading, and the kinds of reply it is for."""

    read: Callable[[str, ReplyRules, _Ids], list[Verdict]]
    kinds: tuple[str, ...]


# What UMBRELA looks for before a digit from 0 to 3: of the first that is there its last place decides.
# A sign between them may be any of : ; < = (which is what a range from : to = in its source comes to).
_SIGN = r"\s*+[:;<=]?\s*+"
_PHRASES = (
    *(f'"o"{_SIGN}', f"'o'{_SIGN}", f"o{_SIGN}"),
    *(f'"{name}"{_SIGN}' for name in ("overall_score", "overall", "overall score", "final score")),
    *(f"final score{_SIGN}", "final score is "),
    *(f'"{name}"{_SIGN}' for name in ("final_score", "score", "o_score")),
    *("output score is ", "score is ", r"score of\s++", r"score:\s*+", r"[a-z]\s++is\s++(?=[0-3]\s)"),
    *(f"relevance category{_SIGN}", "relevance category is ", "it falls into the category "),
    *(r"category\s*+", "relevance category for this passage would be ", "the relevance category would be "),
    "",  # any such digit
)


@cache
def _phrases(most: int) -> list[re.Pattern[str]]:
    digits = f"[0-{most}]"
    return [re.compile(f"{p.replace('[0-3]', digits)}({digits})", re.IGNORECASE) for p in _PHRASES]


def _score_line(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the last number behind the first known phrase."""
    text = text.strip().lower()
    most = len(reading.scale.labels) - 1
    for pattern in _phrases(most):
        match = _last(pattern.finditer(text))
        if match is not None:
            return [reading.verdict(match[1])]
    raise Invalid(f"expected a score from 0 to {most}")


def _last(matches: Iterator[re.Match[str]]) -> re.Match[str] | None:
    return next(iter(deque(matches, maxlen=1)), None)


_SCORE = re.compile(r'"score"\s*+:\s*+(\d+)')
_EXPLANATION = re.compile(r'"explanation"\s*+:\s*+"(.+)"')


def _last_object(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the score in the last pair of braces, as CRAG's script finds it: no JSON is needed."""
    *closed, _ = text.split("}")
    last = next((piece.partition("{")[2] for piece in reversed(closed) if "{" in piece), "")
    match = _SCORE.search(last)
    if match is None or len(match[1]) > _FEW:
        raise Invalid('expected {"score": 0 or 1}')
    why = _EXPLANATION.search(last)
    return [reading.verdict(str(int(match[1])), reason=why[1] if why else None)]


def _python_list(text: str, most: int | None = None, lenient: bool = False) -> list[Any]:
    """Read the list that the nuggetizer understands, code fences taken off wherever they stand."""
    text = text.replace("```python", "").replace("```", "").strip()
    if len(text) > _LONGEST_LIST:
        raise Invalid(f"the reply is {len(text):,} characters long, expected at most {_LONGEST_LIST:,}")
    try:
        literal = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise Invalid(f"expected a list as Python writes it, found {text[:80]!r}") from error
    if lenient and isinstance(
        literal, str | dict
    ):  # its letters, or its keys, as the nuggetizer goes over it
        literal = list(literal)
    items: Sequence[Any] = literal[:most] if isinstance(literal, list | tuple) else [None]
    if not all(isinstance(item, str) for item in items):
        raise Invalid(f"expected a list of texts, found {text[:80]!r}")
    return [replace_surrogates(item) for item in items]


def _json_list(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read labels in the order in which items were shown, or texts."""
    if reading.is_list:
        return [Verdict(item) for item in _python_list(text, reading.scale.most)]
    if reading.lenient:  # what is too much is dropped, and so is what has no label
        pairs = zip(ids, _python_list(text, len(ids), lenient=True), strict=False)
        verdicts = []
        for name, item in pairs:
            label = item.lower()
            try:
                verdicts.append(reading.verdict(label, name))
            except Invalid:
                verdicts.append(reading.verdict(reading.unreadable or label, name))
        return verdicts
    labels = _python_list(text)
    if len(labels) != len(ids):
        raise Invalid(f"expected {len(ids)} labels, found {len(labels)}")
    return [reading.verdict(label.lower(), name) for name, label in zip(ids, labels, strict=True)]


def _tagged(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the first of the values, in the rubric's order, that stands in the reply between its tags."""
    opening, closing = reading.tags
    folded = " ".join(text.split()).casefold()
    for value in reading.values or reading.scale.labels:
        for inner in (value, f" {value} "):
            if f"{opening}{inner}{closing}".casefold() in folded:
                return [reading.verdict(value)]
    choices = ", ".join(f"{opening}{value}{closing}" for value in reading.values or reading.scale.labels)
    raise Invalid(f"expected one of {choices}")


def _contained(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the first of the values, in the rubric's order, that stands anywhere in the reply."""
    folded = text.lower()
    for value in reading.values or reading.scale.labels:
        if value.lower() in folded:
            return [reading.verdict(value)]
    raise Invalid(f"expected one of {', '.join(reading.values or reading.scale.labels)}")


def _alone(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read a value between its tags that is all of the reply."""
    opening, closing = reading.tags
    for value in reading.values or reading.scale.labels:
        if text.strip() == f"{opening}{value}{closing}":
            return [reading.verdict(value)]
    choices = ", ".join(f"{opening}{value}{closing}" for value in reading.values or reading.scale.labels)
    raise Invalid(f"expected one of {choices}, and nothing else")


def _ranking(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the numbers of the answers, best first, as RankLLM finds them; digits of any kind."""
    text = text.rpartition("</think>")[2]
    if len(text) > LONGEST:
        raise Invalid(f"the reply is {len(text):,} characters long, expected at most {LONGEST:,}")
    digits = (unicodedata.digit(letter, None) for letter in text)
    numbers = "".join(" " if digit is None else str(digit) for digit in digits).split()
    places = [int(number) - 1 for number in numbers if len(number) <= _FEW]
    if reading.lenient:
        places = [index for index in dict.fromkeys(places) if index in range(len(ids))]
        places += [index for index in range(len(ids)) if index not in places]
    elif len(numbers) != len(places) or sorted(places) != list(range(len(ids))):
        raise Invalid(f"expected each number from 1 to {len(ids)} once, found {' '.join(numbers)[:80]!r}")
    return [Verdict(ids[index], None, float(place)) for place, index in enumerate(places, 1)]


def _by_pattern(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read what stands in the first group of the first pattern that is found, at its last place."""
    # From each place a pattern may go through the rest of the text in each of its ways.
    longest = min(_LONGEST_SEARCHED, isqrt(_MOST_STEPS // sum(map(_cached_path_count, reading.patterns))))
    if len(text) > longest:
        raise Invalid(f"the reply is {len(text):,} characters long, expected at most {longest:,}")
    for pattern in reading.patterns:
        match = _last(re.finditer(pattern, text))
        if match is not None:
            return [reading.verdict((match[1] or "").strip())]
    raise Invalid("none of the rubric's patterns is in the reply")


PARSERS: dict[str, Parser] = {
    "score-line": Parser(_score_line, ("label",)),
    "last-object": Parser(_last_object, ("label",)),
    "json-list": Parser(
        _json_list,
        (
            "labels",
            "texts",
        ),
    ),
    "tagged": Parser(_tagged, ("label",)),
    "contained": Parser(_contained, ("label",)),
    "alone": Parser(_alone, ("label",)),
    "ranking": Parser(_ranking, ("permutation",)),
    "pattern": Parser(_by_pattern, ("label",)),
}


SCHEMA, JSON = "schema", "json"  # what every kind of reply can be read as
READS = (SCHEMA, JSON, *PARSERS)


def require_quick(pattern: str) -> None:
    """`ValueError` for a pattern that a reply could keep busy, or that holds nothing to read.

    A time limit would make what a reply says depend on the machine, so it is the work that is bounded: what
    is repeated without end gives nothing back (`*+`, `++`), nothing is repeated within it, and there are few
    ways to go through the rest.
    """
    if len(pattern) > 500:
        raise ValueError("expected at most 500 characters")
    try:
        compiled = re.compile(pattern)
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"no regular expression: {error}") from None
    if compiled.groups != 1:
        raise ValueError(f"expected one group, which is what is read, found {compiled.groups}")
    if _count_paths(parsed) > _MOST_CHOICES:
        raise ValueError(f"more than {_MOST_CHOICES} ways to go through it; expected fewer alternatives")


@cache
def _cached_path_count(pattern: str) -> int:
    return _count_paths(re._parser.parse(pattern))  # type: ignore[attr-defined]


def _count_paths(parsed: Any) -> int:
    """How many ways there are to go through a part of a pattern; `ValueError` for what has no bound."""
    ways = 1
    for operation, argument in parsed:
        name = str(operation)
        if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY", "AT"):
            continue
        if name == "SUBPATTERN":
            ways *= _count_paths(argument[3])
        elif name == "BRANCH":
            ways *= sum(map(_count_paths, argument[1]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, repeated = argument
            within = _count_paths(repeated)
            is_single = len(repeated) == 1 and str(repeated[0][0]) in ("LITERAL", "NOT_LITERAL", "IN", "ANY")
            if name == "POSSESSIVE_REPEAT" and is_single:
                continue
            if most > _FEW:
                raise ValueError(
                    "what is repeated often has to be one character and to give nothing back: write *+ or ++"
                    " for it"
                )
            ways *= int((most - least + 1) * within ** min(int(most), _FEW))
        else:
            raise ValueError(f"{name.lower().replace('_', ' ')} is not allowed here")
        if ways > _MOST_CHOICES:
            return ways
    return ways
