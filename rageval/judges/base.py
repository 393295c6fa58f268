"""What a judge is made of: a request, the reply of a model, and the model itself, which is one method.

A judge is a rubric (what is asked, how the reply is read) and a model (who is asked). Rubrics know nothing of
models, models nothing of rubrics; a request is all that passes between them.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any, Protocol, TypedDict, Unpack

from rageval.errors import UsageError
from rageval.records import PassageParts
from rageval.text import replace_surrogates, visible

# --- Prompts as parts: what we say, where a fence stands, what others wrote; templates that make such parts.
#
# Nothing is ever searched and replaced in text that holds data. A prompt has two forms: as it is sent, and as
# stores and keys know it, which says `{{fence}}` where a call has random digits.

# What may be sent with a request besides the temperature, by a rubric or in the name of a model.
SAMPLING = ("top_p", "frequency_penalty", "presence_penalty", "seed")
FENCE = "{{fence}}"  # stands in stored requests where a call has its random fence
_FENCE_BYTES = 16
# What JSON leaves as it is, but some reader takes for the end of a line, hides, or turns around.
_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_TWO_BRACES = re.compile(r"\{(?=\{)")


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of a fence in a request: the same fence for the same number."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """Parts that stores and keys know by another text, in which no fence can be mistaken."""

    parts: tuple[str | Mark, ...]
    stored: str


Part = str | Mark | Shown
Parts = tuple[Part, ...]


class Fences:
    """The fences of one call, drawn when the whole request is known, so that they do not occur in it."""

    def __init__(self, prompts: Iterable[Parts], first: str | None = None) -> None:
        self._text = "\n".join(
            piece for prompt in prompts for piece in _flat(prompt) if isinstance(piece, str)
        )
        self._drawn = {} if first is None else {0: first}

    def sent(self, prompt: Parts) -> str:
        """Return the prompt as it is sent."""
        pieces = [*_flat(prompt)]
        for mark in pieces:
            # Drawn until it is one that stands nowhere in what is sent.
            while isinstance(mark, Mark) and mark.number not in self._drawn:
                fence = secrets.token_hex(_FENCE_BYTES)
                if fence not in self._text and fence not in self._drawn.values():
                    self._drawn[mark.number] = fence
        return "".join(piece if isinstance(piece, str) else self._drawn[piece.number] for piece in pieces)


def stored(prompt: Parts) -> str:
    """Return the prompt as stores and keys know it."""
    return "".join(
        part.stored if isinstance(part, Shown) else part if isinstance(part, str) else FENCE
        for part in prompt
    )


def by_author(text: str) -> Parts:
    """Read the words of a rubric's author, who may speak of the fence."""
    first, *others = text.split(FENCE)
    return (first, *(part for other in others for part in (Mark(), other)))


def as_data(data: object) -> Shown:
    """Write data as one line of JSON that shows all it holds and can end neither its string nor its line.

    Parameters
    ----------
    data
        What JSON can hold.

    Returns
    -------
    Shown
        A part of a prompt.

    Examples
    --------
    >>> as_data({"answer": 'say "{{fence}}"\\u2028'}).parts
    ('{"answer": "say \\\\"{{fence}}\\\\"\\\\u2028"}',)
    """
    text = json.dumps(data, ensure_ascii=False)
    sent = _UNSEEN.sub(lambda match: json.dumps(match.group())[1:-1], text)
    stored_text = text.replace("{{", "\\u007b{")  # as requests are stored since the first version
    if FENCE in stored_text:  # which forgets the third of three braces
        stored_text = _TWO_BRACES.sub(r"\\u007b", text)
    return Shown((sent,), stored_text)


def as_note(words: Sequence[str | Mark | Shown], stored_text: str) -> Shown:
    """Make parts to add to a prompt; stores know them by this text unless a fence could be read in it."""
    parts = tuple(_flat(words))
    if FENCE in stored_text:
        stored_text = stored(tuple(words))
    return Shown(parts, stored_text)


def _flat(prompt: Iterable[Part]) -> Iterable[str | Mark]:
    for part in prompt:
        if isinstance(part, Shown):
            yield from part.parts
        else:
            yield part


# --- Templates: an author's words with named fields. A template is taken apart once, when the rubric is
# read; a value is a part beside its parts, and never text in which anything is looked for, so that no value
# can become a field, whatever braces it holds. Where a rubric is fenced a value is shown as data, between
# two lines of digits of its own; where it says that it is `unfenced`, as in others' prompts, it stands
# there as it is.


# What may be seen of passages besides all of them.
PARTS = tuple(f"{what}.{part}" for what in ("passage", "passages") for part in PassageParts._fields)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value goes, by its name in the template."""

    name: str


Template = tuple[str | Slot, ...]


def template_of(text: str) -> Template:
    """Take a template apart; `ValueError` with the reason if it is none.

    >>> template_of("Say {{x}} of {query}.")
    ('Say {x} of ', Slot(name='query'), '.')
    """
    parts: list[str | Slot] = []
    for literal, name, form, conversion in Formatter().parse(text):
        # A doubled brace parts texts; those beside one another become one.
        if literal and parts and isinstance(parts[-1], str):
            parts[-1] += literal
        elif literal:
            parts.append(literal)
        if name is None:
            continue
        if form or conversion or not (name.isidentifier() or name in PARTS):
            raise ValueError(f"expected fields as in {{name}}, found {{{name}}}; a brace itself is doubled")
        parts.append(Slot(name))
    return tuple(parts)


def names_in(template: Template) -> list[str]:
    """List the fields, each once."""
    return list(dict.fromkeys(part.name for part in template if isinstance(part, Slot)))


def plain_prompt(template: Template, values: Mapping[str, Parts]) -> Parts:
    """Put the values where their fields stand, as they are."""
    return tuple(
        piece for part in template for piece in ((part,) if isinstance(part, str) else values[part.name])
    )


def fenced_prompt(template: Template, values: Mapping[str, Any], own: Mapping[str, Parts]) -> Parts:
    """Put the values where their fields stand, as data, each between two lines of digits of its own.

    What is the author's `own` stands there as it is.
    """
    prompt: list[Part] = []
    marks = iter(_marks(template, own))
    for part in template:
        if isinstance(part, str):
            prompt.append(part)
        elif part.name in own:
            prompt += own[part.name]
        else:
            mark = next(marks)
            prompt += ["\n", mark, "\n", as_data(values[part.name]), "\n", mark, "\n"]
    return tuple(prompt)


def _marks(template: Template, own: Collection[str]) -> list[Mark]:
    """Return a fence for each place where data stand, also of the same field."""
    places = [part for part in template if isinstance(part, Slot) and part.name not in own]
    return [Mark(number) for number in range(len(places))]


def describe_fences(template: Template, own: Collection[str], rest: str) -> Parts:
    """Say between which lines data stand."""
    parts: list[Part] = ["Between the two lines "]
    for number, mark in enumerate(_marks(template, own)):
        parts += [", and between the two lines "] * bool(number) + [mark]
    return (*parts, rest)


def texts_of(value: Any) -> list[str]:
    """Return the texts of a list that may hold them with their ids."""
    items = value if isinstance(value, list | tuple) else [value]
    return [str(item["text"] if isinstance(item, dict) else item) for item in items]


def unbracketed(text: str) -> str:
    """Write numbers in brackets in parentheses, as RankLLM does: in brackets stand its own.

    >>> unbracketed("as [3] says")
    'as (3) says'
    """
    return _NUMBER_IN_BRACKETS.sub(r"(\1)", text)


_NUMBER_IN_BRACKETS = re.compile(r"\[(\d+)\]")


# How a value is written where a field stands; the way of each is its source's.
WAYS: dict[str, Callable[[Any], Parts]] = {
    "text": lambda value: ("\n\n".join(texts_of(value)),),
    "lines": lambda value: ("\n".join(texts_of(value)),),
    "numbered": lambda value: (
        "\n".join(f"[{number}] {text}" for number, text in enumerate(texts_of(value), 1)),
    ),
    "first": lambda value: ((texts_of(value) or [""])[0],),
    "python": lambda value: (repr(texts_of(value)),),
    "json": lambda value: (json.dumps(value, ensure_ascii=False),),
    "count": lambda value: (str(len(texts_of(value))),),
    "unbracketed": lambda value: (unbracketed("\n\n".join(texts_of(value))),),
}
# How a list is written each of whose items has a template: as it is, or as RankLLM shows it.
ITEM_WAYS = ("items", "words")
_WORDS_AT_ONCE = 300 * 20  # that RankLLM shows of a window of 20 items


def items_of(value: Any, way: str) -> list[dict[str, Parts]]:
    """Return the fields of the template of an item, for each: `rank` counts from 1, `text` is the item.

    As `words` an item is what RankLLM makes of it: words with a blank between them, of all items together no
    more than a window of theirs may have, and no number in brackets.
    """
    texts = texts_of(value)
    if way == "words":
        most = int(_WORDS_AT_ONCE / max(len(texts), 1))
        texts = [unbracketed(" ".join(text.split()[:most])) for text in texts]
    return [
        {"rank": (str(rank),), "text": (text,), "candidate": (text,)} for rank, text in enumerate(texts, 1)
    ]


def item_prompt(template: Template, items: Iterable[Mapping[str, Parts]]) -> Parts:
    """Write each item by its own template."""
    return tuple(piece for item in items for piece in plain_prompt(template, item))


# --- Requests, replies and models.

# Compact text without anything that a database or a terminal could stumble over.
as_json = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode

# What may become of a judgement; only the first two carry a grade.
OK, REPAIRED = "ok", "repaired"
REFUSED, TRUNCATED, FILTERED, INVALID, ERROR = "refused", "truncated", "filtered", "invalid", "error"
SCHEMA_FORM, JSON_FORM, TEXT_FORM = "schema", "json", "text"  # how a reply is asked for
ENGINE_FACTS = ("engine", "version", "dtype", "parallelism")  # batches of others' requests change with each


class _Asking(TypedDict, total=False):
    """The further fields of a `Request`."""

    name: str
    max_tokens: int
    temperature: float | None
    sample: int
    sampling: Mapping[str, float]
    form: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    `schema` is the JSON schema of the reply and `name` what the schema is called; `temperature` is sent where
    the model takes it; `sample` tells repeated askings of the same question apart. A request with data in it
    is made `of` parts; `system` and `user` are then the texts as stores and keys know them.

    `turns` are (user, assistant) texts between the two, as in-context examples are shown; `sampling` is what
    else is sent as it stands (`top_p`, …, its own `max_tokens`); `form` is how a reply is asked for: by the
    `schema`, as any `json` object, or as `text` in whatever form the prompt asks for.
    """

    system: str
    user: str
    schema: Mapping[str, Any]
    name: str = "verdict"
    max_tokens: int = 1024
    temperature: float | None = 0.0
    sample: int = 0
    turns: tuple[tuple[str, str], ...] = ()
    sampling: Mapping[str, float] = field(default_factory=dict)
    form: str = SCHEMA_FORM
    prompts: tuple[Parts, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Mapping):
            raise UsageError(
                f"schema={self.schema!r:.80}: expected the JSON schema of a reply, as in {{'type': 'object'}}"
            )

    @classmethod
    def of(
        cls,
        system: Parts,
        user: Parts,
        schema: Mapping[str, Any],
        turns: Sequence[tuple[Parts, Parts]] = (),
        **more: Unpack[_Asking],
    ) -> Request:
        """Return a request whose texts are made of parts, so that no data can name or forge a fence.

        >>> from rageval.judges.base import Mark, as_data
        >>> shown = (Mark(), "\\n", as_data({"answer": "{{fence}}"}), "\\n", Mark())
        >>> print(Request.of(("Data stand between two lines ", Mark()), shown, {}).fenced("----").user)
        ----
        {"answer": "{{fence}}"}
        ----
        """
        stored_turns = tuple((stored(asked), stored(answered)) for asked, answered in turns)
        prompts = (system, user, *(prompt for turn in turns for prompt in turn))
        return cls(stored(system), stored(user), schema, **more, turns=stored_turns, prompts=prompts)

    def with_more(self, *parts: Part) -> Request:
        """Return the request with more behind its user text."""
        system, user, *turns = self.prompts or ((text,) for text in self._prompt_texts)
        return replace(self, user=self.user + stored(parts), prompts=(system, (*user, *parts), *turns))

    def fenced(self, fence: str | None = None) -> Request:
        """Return the request as it is sent: with random fences around what others wrote."""
        if self.prompts is None and FENCE not in self.system:
            return self
        if self.prompts is None or self._prompt_texts != tuple(map(stored, self.prompts)):
            raise UsageError("a request with a fence is made of parts: Request.of(…) and with_more(…)")
        fences = Fences(self.prompts, fence)
        system, user, *turns = map(fences.sent, self.prompts)
        pairs = tuple(zip(turns[::2], turns[1::2], strict=True))
        return replace(self, system=system, user=user, turns=pairs, prompts=None)

    @property
    def has_fence(self) -> bool:
        """Whether what others wrote stands in it between two lines of digits."""
        return self.prompts is not None and any(isinstance(part, Mark) for part in self.prompts[1])

    @property
    def _prompt_texts(self) -> tuple[str, ...]:
        return (self.system, self.user, *(text for turn in self.turns for text in turn))

    def key(self, model: str, endpoint: str) -> str:
        """Return what a stored reply is found by: everything that can change the answer, and nothing else.

        >>> one = Request("Judge.", "Is it so?", {"type": "object"})
        >>> one.key("openai:m", "https://api") == one.key("openai:m", "https://api")
        True
        >>> one.key("openai:m", "https://api") == replace(one, sample=1).key("openai:m", "https://api")
        False
        """
        content = {
            "endpoint": endpoint,
            "max_tokens": self.max_tokens,
            "model": model,
            "name": self.name,
            "sample": self.sample,
            "schema": self.schema,
            "system": self.system,
            "temperature": self.temperature,
            "user": self.user,
        }
        later = {"form": self.form, "sampling": dict(self.sampling), "turns": self.turns}
        content |= {name: value for name, value in later.items() if value and value != SCHEMA_FORM}
        return hashlib.sha256(as_json(content).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens a call cost; `cached` are those of `input` that were read from the provider's cache."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a model: text for the rubric to read, or why there is none.

    `status` is ok, refused, truncated, filtered or error. `served` is the model that answered, `sent` what
    was sent besides the messages and `dropped` what the model does not take. `engine` is what computed it,
    where that is known (`ENGINE_FACTS`): the same model gives other replies on another engine.
    """

    status: str
    text: str = ""
    detail: str = ""
    usage: Usage = field(default_factory=Usage)
    served: str = ""
    request_id: str = ""
    latency: float = 0.0
    sent: Mapping[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    engine: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Mend what no file could hold, whoever said it: a model, a plug-in, a store."""
        for name in ("text", "detail", "served", "request_id"):
            if not (text := getattr(self, name)).isascii():  # few are not, and a frozen field is set slowly
                object.__setattr__(self, name, replace_surrogates(text))


class Model(Protocol):
    """A model. An adapter has this one method; `name` is `provider:model`.

    `endpoint` is its address; a model that has none may leave it out.
    """

    name: str
    endpoint: str

    async def ask(self, request: Request) -> Reply:
        """Return the reply; raise `Transient` if asking again may help, `Fatal` if nothing will."""
        ...


def checked_model(given: Any, called: str) -> Model:
    """Return a model, which need not state an `endpoint`; refuse what cannot be asked, by what it is called.

    >>> checked_model(object(), "mine:x")
    Traceback (most recent call last):
    rageval.errors.UsageError: the judge mine:x: expected a `name` and a method `ask(request)`, found object
    """
    if not isinstance(getattr(given, "name", None), str) or not callable(getattr(given, "ask", None)):
        raise UsageError(
            f"the judge {visible(called)}: expected a `name` and a method `ask(request)`, found"
            f" {type(given).__name__}"
        )
    if not hasattr(given, "endpoint"):
        try:
            given.endpoint = ""
        except AttributeError:
            raise UsageError(
                f"the judge {visible(called)}: {type(given).__name__} has no `endpoint`, and takes none; add"
                ' endpoint = ""'
            ) from None
    checked: Model = given
    return checked


WORKING, ENDED = "working", "ended"


class BatchModel(Model, Protocol):
    """A model that also takes many requests at once, and answers them within a day for less money."""

    batch_limit: int  # how many requests one batch may hold

    async def submit(self, requests: Sequence[tuple[str, Request]]) -> str:
        """Hand over a batch, each request under the key its reply is stored by; the batch's id.

        `Transient` if it was not accepted, `Lost` if nobody knows: it is then not handed over again, unless
        the model can look for it (`FindsBatches`).
        """
        ...

    async def state(self, batch: str) -> str:
        """`WORKING` or `ENDED`, however it ended: what has no result then is to be asked again."""
        ...

    def results(self, batch: str) -> AsyncIterator[tuple[str, Reply]]:
        """Return the replies with their keys, in any order; what failed or expired has status `ERROR`."""
        ...


class FindsBatches(Protocol):
    """A `BatchModel` that can look for a batch whose id never came back; `submit` takes the intent, too."""

    def intent(self) -> str:
        """Return a name for a batch that is about to be handed over: no other batch has it."""
        ...

    async def find(
        self, intent: str, keys: Sequence[str], since: str, known_ids: Collection[str]
    ) -> str | None:
        """Return the id of the batch with these keys, accepted since then and not among the known ones.

        None if there is none; `Unclear` if that cannot be said.
        """
        ...

    async def abandon(self, intent: str) -> None:
        """Leave nothing behind of a batch that was not accepted."""
        ...


class Transient(Exception):  # not an error of the user's: the scheduler handles it
    """Overloaded, throttled, unreachable: try again, after this many seconds if the server gives a time."""

    def __init__(self, message: str, retry_after: float | None = None, throttled: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.throttled = throttled


class Lost(Transient):
    """Lost on the way: nobody knows what it cost or became of it, and it says nothing of the model."""


class Unreachable(Transient):
    """Nobody is there: no connection could be made, so nothing was sent and nothing has to be paid."""


class Unclear(Exception):
    """Whether a batch was accepted cannot be said: not yet (`later`), or not by this provider."""

    def __init__(self, message: str, later: bool) -> None:
        super().__init__(message)
        self.later = later


class Fatal(Exception):
    """No key, no such model, no credit left: every further call would fail in the same way."""
