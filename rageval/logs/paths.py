"""Where the fields of an answer stand in somebody's log: paths, and what is done with what is found there.

`question=vars.question,contexts=response.metadata.retrieved[].text`: a path is names parted by dots,
`["any.name"]`, `[]` for each item of a list and `[N]` for one, counted from 0, or from the end (`[-1]`).
Behind a bar stands what reads a text that holds more: `|json`, `|literal` (a list as Python writes it),
`|split("; ")`; behind these a path may go on.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from rageval.errors import InputError, Place, UsageError
from rageval.names import suggestion
from rageval.text import visible

FIELDS = (
    *("query_id", "question", "answer", "gold", "contexts", "context_ids", "context_scores", "run_id"),
    *("repeat", "trace_id", "conversation_id", "turn", "cost", "seconds", "input_tokens", "output_tokens"),
)
_PREFIXES = ("fact:", "grade:")
_FILTERS = ("json", "literal", "split")
_NAME = re.compile(r"[^.\[\]|,=\"\s]+")
# A step: [3], [] or ["any name"], or a name, which behind others has a dot before it.
_STEP = re.compile(
    r"\[(?:(?P<number>-?\d{1,9})|(?P<text>\"(?:[^\"\\]|\\.)*\"))?\]|\.?(?P<name>[^.\[\]|,=\"\s]+)"
)
_FILTER = re.compile(r"(?P<name>[a-z]+)(?:\((?P<text>\"(?:[^\"\\]|\\.)*\")\))?")
_EACH = None  # the step to every item


class Filter(NamedTuple):
    """What reads a text that holds more, and the path on from there."""

    name: str
    argument: str
    steps: tuple[str | int | None, ...] = ()


class Path(NamedTuple):
    """A place in a record: names, numbers, None for every item of a list; and the filters behind it."""

    text: str
    steps: tuple[str | int | None, ...]
    filters: tuple[Filter, ...] = ()

    @property
    def is_many(self) -> bool:
        """Whether it leads to a list of values."""
        return _EACH in self.steps or any(
            _EACH in path_filter.steps or path_filter.name == "split" for path_filter in self.filters
        )


def mapping_of(words: str | Mapping[str, str] | Iterable[str] | None) -> dict[str, Path]:
    """Return the paths of the fields that are named.

    >>> mapping_of('question=input["a.b"],contexts=docs[].text|json[].t')["contexts"].filters
    (Filter(name='json', argument='', steps=(None, 't')),)
    """
    if words is None:
        return {}
    if isinstance(words, Mapping):
        return {_field(name): path_of(str(text)) for name, text in words.items()}
    paths: dict[str, Path] = {}
    for text in [words] if isinstance(words, str) else words:
        # Commas part it, but for those within quotes.
        parts = (match[0].strip() for match in re.finditer(r'(?:"(?:[^"\\]|\\.)*"|[^,"]|")+', text))
        for part in filter(None, parts):
            name, equals, path = part.partition("=")
            if not equals:
                raise UsageError(f"--map {visible(part)!r:.80}: expected FIELD=PATH, such as question=vars.q")
            field = _field(name.strip())
            if field in paths:
                raise UsageError(f"--map {field}: is given twice; expected one path")
            paths[field] = path_of(path.strip())
    return paths


def _field(name: str) -> str:
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
    if name not in FIELDS and (prefix is None or name == prefix):
        names = [*FIELDS, *(f"{prefix}NAME" for prefix in _PREFIXES)]
        raise UsageError(
            f"--map {visible(name)!r:.80}: no such field; expected one of {', '.join(names)}"
            + suggestion(name, FIELDS)
        )
    return name


def path_of(text: str) -> Path:
    """Return a path; `UsageError` with the place where it stops being one."""
    pieces = re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^|"])+|"', text)
    if not text.strip() or "|".join(pieces) != text:
        raise _no_path(text, text)
    first, *rest = pieces
    filters = []
    for piece in map(str.strip, rest):
        match = _FILTER.match(piece)
        name, argument = (match["name"], match["text"]) if match else (piece, None)
        # `split` alone takes a text, and cannot do without.
        if name not in _FILTERS or match is None or (name == "split") != (argument is not None):
            raise UsageError(
                f'{visible(text)!r:.120}: expected after the bar one of json, literal, split("…"), found'
                f" {visible(piece)!r:.60}" + suggestion(name, _FILTERS)
            )
        mark = _quoted(argument, text) if argument else ""
        filters.append(Filter(name, mark, _steps(piece[match.end() :], text)))
    return Path(text, _steps(first.strip(), text), tuple(filters))


def _steps(piece: str, whole: str) -> tuple[str | int | None, ...]:
    steps: list[str | int | None] = []
    place = 0
    while place < len(piece):
        match = _STEP.match(piece, place)
        # Only at the beginning may a name stand without a dot: a["b"]c is no path.
        if match is None or (match["name"] and place and piece[place] != "."):
            raise _no_path(whole, piece[place:])
        if match["name"]:
            steps.append(match["name"])
        elif match["text"]:
            steps.append(_quoted(match["text"], whole))
        else:
            steps.append(int(match["number"]) if match["number"] else _EACH)
        place = match.end()
    return tuple(steps)


def _quoted(text: str, whole: str) -> str:
    try:
        return msgspec.json.decode(text, type=str)
    except (ValueError, RecursionError):
        raise _no_path(whole, text) from None


def _no_path(whole: str, rest: str) -> UsageError:
    return UsageError(
        f'{visible(whole)!r:.120}: expected a path such as response.docs[].text or a["b.c"][0]|json, found'
        f" {visible(rest)!r:.60}"
    )


def value_at_path(record: Any, path: Path, where: Place) -> Any:
    """Return what stands at a path: one value, a list where it leads to many; None where nothing does."""
    value = _follow_steps(record, path.steps, where)
    for path_filter in path.filters:
        value = _follow_steps(_apply_filter(value, path_filter, where), path_filter.steps, where)
    return value


def _follow_steps(value: Any, steps: Sequence[str | int | None], where: Place) -> Any:
    for number, step in enumerate(steps):
        if step is _EACH:
            if value is None:
                return None
            if not isinstance(value, list):
                raise InputError(at=where, expected="a list for []", found=_shown_value(value))
            # The steps behind the brackets are taken from each item.
            return [_follow_steps(item, steps[number + 1 :], where) for item in value]
        if isinstance(step, int):
            is_there = isinstance(value, list) and -len(value) <= step < len(value)
            value = value[step] if is_there else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return None
    return value


def _apply_filter(value: Any, how: Filter, where: Place) -> Any:
    # A step before led to many texts, and each of them holds more.
    if isinstance(value, list) and how.name != "split":
        return [_apply_filter(item, how, where) for item in value]
    if value is None or (not isinstance(value, str) and how.name != "split"):
        return value  # was read already
    if isinstance(value, str) and not value.strip():
        return None  # an empty cell of a table
    if not isinstance(value, str):
        raise InputError(at=where, expected="a text to split", found=_shown_value(value))
    if how.name == "split":
        return [part for part in value.split(how.argument) if part.strip()]
    return parsed_json(value, where) if how.name == "json" else literal(value, where)


def parsed_json(text: str, where: Place) -> Any:
    """Return the JSON that a text holds."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            at=where, expected=f"JSON in a text ({error!s:.80})", found=_shown_value(text)
        ) from None


# What a list of texts and numbers looks like as Python writes it; nothing else is understood, nothing run.
_TOKEN = re.compile(
    r"""\s*(?: (?P<mark>[\[\](){},:]) | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<word>None|True|False|nan)\b
    | (?P<number>-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?) )\s*""",
    re.DOTALL | re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(
    r"\\(?:(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4})|(.))", re.DOTALL
)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": ""}
_DEEPEST = 20
# A metric that failed is nan, which says as little as None.
_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False, "nan": None}


def literal(text: str, where: Place) -> Any:
    r"""Return a list of texts and numbers, or of objects, that is written as Python writes it.

    >>> literal("['it\\'s', \"a\\nb\", 1.5, None]", "here"), literal("[{'text': 'a'}]", "here")
    (["it's", 'a\nb', 1.5, None], [{'text': 'a'}])
    """
    stack: list[tuple[str, list[Any]]] = [("", [])]
    place, may_have = 0, True  # a value may stand here
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            break
        mark = token["mark"] or ""
        bracket, items = stack[-1]
        # In an object names and values take turns, with a colon behind each name.
        is_named = bracket == "{" and len(items) % 2 == 1
        if (mark in ("[", "(", "{", "") and not may_have) or (mark in (",", ":") and may_have):
            break
        if (mark == ":") != is_named and mark in (",", ":"):
            break
        place = token.end()
        if mark in ("[", "(", "{"):
            if bracket == "{" and not is_named:
                break  # no name of a field
            stack.append((mark, []))
            may_have = True
            if len(stack) > _DEEPEST:
                break
        elif mark in ("]", ")", "}"):
            if bracket == "" or (mark == "}") != (bracket == "{") or is_named:
                break
            stack.pop()
            stack[-1][1].append(dict(zip(items[::2], items[1::2], strict=True)) if mark == "}" else items)
            may_have = False
        elif mark:
            may_have = True
        else:
            if token["word"]:
                value = _WORDS[token["word"]]
            elif token["number"]:
                is_whole = not re.search("[.eE]", token["number"])
                # `int` refuses a number of more than some thousand digits with an error of its own.
                value = int(token["number"][:400]) if is_whole else float(token["number"])
            else:
                value = _ESCAPE.sub(lambda match: _unescape(match, where), token["text"][1:-1])
            if bracket == "{" and not is_named and not isinstance(value, str):
                break
            items.append(value)
            may_have = False
    else:
        # No break, so the text ends where a token does; one value and no open bracket make it a literal.
        if len(stack) == 1 and len(stack[0][1]) == 1:
            return stack[0][1][0]
    raise InputError(
        at=where,
        expected="a list of quoted texts as Python writes it",
        found=f"at character {place + 1} {_shown_value(text[place : place + 60])}",
    )


def list_in(text: str) -> str:
    """Return what reads a text as the list that is written in it: as JSON, or as Python does; else nothing.

    >>> list_in('["a", "b"]'), list_in("['a', 'b']"), list_in('[{"text": "a"}]'), list_in("[1] is cited.")
    ('|json[]', '|literal[]', '|json[].text', '')
    """
    if not text.strip().startswith("["):
        return ""
    for way, read in (("|json[]", parsed_json), ("|literal[]", literal)):
        try:
            items = read(text.strip(), Place("the text"))
        except InputError:
            continue
        if items and isinstance(items, list) and all(isinstance(item, str) for item in items):
            return way
        if items and isinstance(items, list) and all(isinstance(item, dict) for item in items):
            return next((f"{way}.{name}" for name in LIKELY["contexts"] if name in items[0]), "")
    return ""


def _unescape(match: re.Match[str], where: Place) -> str:
    if match[1]:
        return chr(int(match[1][1:], 16))
    if match[2] not in _PLAIN:
        raise InputError(at=where, expected="a text as Python writes it", found=f"{match[0]!r} in it")
    return _PLAIN[match[2]]


def _shown_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return visible(repr(text[:80]) if isinstance(value, str) else text[:80])


_KINDS: dict[type, str] = {str: "text", bool: "yes or no", int: "number", float: "number"}


class FieldLook:
    """How a field looks over all records: how many have it, of what kind, and one of its values."""

    def __init__(self, path: str) -> None:
        """Begin with nothing."""
        self.path = path
        self.records: set[int] = set()
        self.kinds: dict[str, None] = {}
        self.example = ""
        self._shares: set[str] = set()  # texts that are numbers from 0 to 1
        self._others = 0

    @property
    def is_share(self) -> bool:
        """Whether it is a column of a table that holds numbers from 0 to 1 alone, as metrics are."""
        return len(self._shares) > 1 and not self._others

    def take(self, value: Any, number: int) -> None:
        """Look at the value of a record."""
        self.records.add(number)
        self.kinds[_KINDS.get(type(value), "object")] = None
        self.example = self.example or (value if isinstance(value, str) else json.dumps(value, default=str))
        if isinstance(value, str) and _SHARE.fullmatch(value.strip()):
            self._shares.add(value.strip())
        elif value not in ("", "nan", "NaN"):
            self._others += 1


_MOST_RECORDS, _MOST_FIELDS, _DEEP = 200, 400, 8
_SIMPLE = re.compile(r"[A-Za-z_][\w-]*")
_SHARE = re.compile(r"[01]|[01]?\.\d+|1\.0*", re.ASCII)
_PLAIN_WORDS = re.compile(r"[\w\[\].,=:-]+", re.ASCII)  # which every shell takes as they are


def fields_of(records: Iterable[Any]) -> tuple[dict[str, FieldLook], int]:
    """Return the paths that records have, with what stands there, and how many records were looked at."""
    fields: dict[str, FieldLook] = {}
    number = 0
    for number, record in enumerate(records, 1):
        _survey(record, "", number, fields, 0)
        if number == _MOST_RECORDS:
            break
    return fields, number


def _survey(value: Any, path: str, number: int, fields: dict[str, FieldLook], depth: int) -> None:
    if isinstance(value, dict) and depth < _DEEP:
        for name, inner in value.items():
            if not name:
                continue  # a column without a name, such as the numbers of rows
            step = name if _SIMPLE.fullmatch(name) else f"[{json.dumps(name, ensure_ascii=False)}]"
            between = "." if path and not step.startswith("[") else ""
            _survey(inner, f"{path}{between}{step}", number, fields, depth + 1)
    elif isinstance(value, list) and depth < _DEEP:
        for inner in value[:20]:  # enough to see what the others are like
            _survey(inner, f"{path}[]", number, fields, depth + 1)
    elif value is not None and path and (path in fields or len(fields) < _MOST_FIELDS):
        fields.setdefault(path, FieldLook(path)).take(value, number)


_CONVERSATIONS = frozenset({"conversation_id", "session_id", "thread_id", "chat_id", "dialogue_id"})
LIKELY: dict[str, tuple[str, ...]] = {
    "question": ("question", "query", "user_input", "input", "prompt"),
    "answer": (
        "answer",
        "output",
        "response",
        "completion",
        "actual_output",
        "generated_answer",
        "prediction",
    ),
    "gold": (
        *("gold", "reference", "expected_output", "expected_answer", "ground_truth", "target", "expected"),
        *("gold_answer", "reference_answer", "correct_answer"),
    ),
    "query_id": ("query_id", "question_id", "qid"),
    "contexts": ("text", "page_content", "content", "passage", "contexts", "context", "retrieved_contexts"),
    "context_ids": ("id", "doc_id", "docid", "chunk_id"),
}


# What amounts of an answer are called; a unit in the name counts, as `ms` is no number of seconds.
AMOUNT_COLUMNS: dict[str, str] = {
    **dict.fromkeys(("cost", "cost_usd", "total_cost", "price", "usd"), "cost"),
    **dict.fromkeys(("seconds", "latency_s", "latency_seconds", "duration_s", "elapsed_s"), "seconds"),
    **dict.fromkeys(("input_tokens", "prompt_tokens"), "input_tokens"),
    **dict.fromkeys(("output_tokens", "completion_tokens"), "output_tokens"),
}


# What a name says that is none of those: `expected_answer`, `Bot Answer`. The right answer first, so that
# what is left to call an answer is the system's.
_HINTS: dict[str, frozenset[str]] = {
    "question": frozenset(("question", "query", "prompt")),
    "gold": frozenset(("gold", "golden", "reference", "expected", "truth", "target", "correct", "ideal")),
    "answer": frozenset(("answer", "response", "output", "completion", "prediction", "generated", "reply")),
    "contexts": frozenset(("contexts", "context", "passages", "retrieved", "chunks", "documents", "docs")),
}
_OF_SYSTEMS = _HINTS["answer"] - {"answer"}
_NO_HINT = frozenset(("id", "ids", "type", "score", "scores", "count", "number", "time"))


def suggested(fields: Mapping[str, FieldLook]) -> str:
    """Return a `--map` that the names of fields suggest; nothing without a question and an answer."""
    paths = _suggested_paths(fields)
    for name in () if paths else dict.fromkeys(path.partition("[]")[0] for path in fields if "[]" in path):
        # The records may be conversations, and their fields those of turns.
        start = f"{name}[]."
        within = {path.removeprefix(start): seen for path, seen in fields.items() if path.startswith(start)}
        paths = {field: f"{start}{path}" for field, path in _suggested_paths(within).items()}
        if paths.keys() >= {"question", "answer"}:
            for path in fields:
                if _last(path) in _CONVERSATIONS and "[]" not in path:
                    paths["conversation_id"] = path
            break
        paths = {}
    words = ",".join(f"{field}={path}" for field, path in paths.items())
    return (
        (f"--map {words}" if _PLAIN_WORDS.fullmatch(words) else f"--map {shlex.quote(words)}")
        if words
        else ""
    )


def _suggested_paths(fields: Mapping[str, FieldLook]) -> dict[str, str]:
    paths_of: dict[str, str] = {}
    for field, names in LIKELY.items():
        for name in names:
            if best := _best_field(fields, paths_of, field, {path for path in fields if _last(path) == name}):
                paths_of[field] = best
                break
    # Beside `prediction`, `answer` is the right one.
    of_systems = {path for path in fields if _hints_at(path, _OF_SYSTEMS)}
    other = _best_field(fields, paths_of, "answer", of_systems) if "gold" not in paths_of else ""
    if other and _last(paths_of.get("answer", "")) == "answer":
        paths_of |= {"gold": paths_of["answer"], "answer": other}
    for field, hints in _HINTS.items():
        if field not in paths_of:
            best = _best_field(fields, paths_of, field, {path for path in fields if _hints_at(path, hints)})
            paths_of |= {field: best} if best else {}
    if "contexts" not in paths_of:
        paths_of.pop("context_ids", None)
    if not paths_of.keys() & {"question", "answer"}:
        return {}
    paths = {}
    for field in filter(paths_of.__contains__, LIKELY):
        seen, way = fields[paths_of[field]], ""
        if field == "contexts" and "[]" not in paths_of[field]:
            # What reads passages that stand in one text, as far as its example shows it.
            marks = (mark for mark in ("||", "|") if mark in seen.example)
            way = list_in(seen.example) or next((f'|split("{mark}")' for mark in marks), "")
        elif field == "gold" and "[]" not in paths_of[field]:
            way = list_in(seen.example)
        paths[field] = f"{paths_of[field]}{way}"
    # What an answer cost is no grade, of which more would be better.
    for path in fields:
        amount = AMOUNT_COLUMNS.get(_last(path), "")
        if amount and amount not in paths and "[]" not in path:
            paths[amount] = path
    taken = {*paths_of.values(), *paths.values()}
    is_amount = re.compile(r"cost|price|usd|token|latency|second|duration|time|elapsed|_ms$")
    shares = (
        path
        for path, seen in fields.items()
        if seen.is_share and path not in taken and not is_amount.search(_last(path))
    )
    return paths | {f"grade:{path}": path for path in shares}


def _best_field(
    fields: Mapping[str, FieldLook], taken: Mapping[str, str], field: str, paths: set[str]
) -> str:
    """Return the path that most records have, of several the shortest; none if none can be the field."""
    is_many = field.startswith("context")
    fit = [
        path
        for path, seen in fields.items()
        if path in paths
        and "text" in seen.kinds
        and not seen.is_share
        and path not in taken.values()
        # Passages are many, or a cell that is called so; one of each of the others is wanted.
        and ("[]" in path or (field == "contexts" and _hints_at(path, _HINTS["contexts"]))) == is_many
    ]
    return max(fit, key=lambda path: (len(fields[path].records), -len(path)), default="")


def _hints_at(path: str, hints: frozenset[str]) -> bool:
    # `expectedAnswer` is two words, as `expected_answer` is.
    words = set(re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", _last_as_is(path)).lower()))
    return bool(words & hints) and not words & _NO_HINT


def _last(path: str) -> str:
    return re.sub(r"[\s-]+", "_", _last_as_is(path).strip().lower())


def _last_as_is(path: str) -> str:
    names = [step for step in _steps(path, path) if isinstance(step, str)]
    return names[-1] if names else ""
