"""Who made a judgement: a person, a model, a rule on texts, a vote of several, or one judge after another.

Files name a judge by one text, the `str` of its value, and `parse_judge` reads it:

    openai:gpt-4o@3f2a91bc                a model, and the digest of the prompt that it was asked
    openai:gpt-4o@3f2a91bc+unfenced       the same, with a mark of how it was asked
    person:ann                            a person
    majority:a+b,tiebreak:c               a vote
    mixed:person:ann+person:bob           several, of whom each judged a part
    short,10%:openai:m                    a judge that hands on its least certain tenth to another
    short,rest[people]:openai:m           a judge that hands on all that it is not certain enough of, as shown
                                          by labels of those in brackets

Names may hold anything. A sign that would be read as part of this grammar is written as in addresses (`%2B`
for `+`), and only there, so that a name such as `Smith, J. (R+D)` is written as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

# A judge whose name begins with one of these is a person, as far as the file says.
_PERSON_PREFIXES = ("person", "people", "human", "annotator", "assessor")
# Judges that compare texts without a model: a right answer in other words is wrong to them.
TEXT_JUDGES = ("short", "exact", "contains", "number")

PanelKind: TypeAlias = Literal["majority", "median", "mixed"]
_PANEL_KINDS: tuple[PanelKind, ...] = ("majority", "median", "mixed")
_PANEL_PREFIXES = tuple(f"{kind}:" for kind in _PANEL_KINDS)
_TIEBREAK = ",tiebreak:"
_PROMPT = re.compile(r"(?P<name>.*)@(?P<digest>[0-9a-f]{4,})(?P<marks>(?:\+[^+]+)*)", re.DOTALL)
_HANDED_ON = re.compile(r",(?:(?P<share>\d+(?:\.\d+)?(?:e-\d+)?)%|rest(?:\[(?P<labelers>[^\[\]]*)\])?):")
# Earlier votes did not write the `+` of a mark as `%2B`; no judge is called like this.
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")
_UNFENCED = "unfenced"
_UNFENCED_MARK = f"+{_UNFENCED}"


@dataclass(frozen=True)
class Judge:
    """One judge: its name, the digest of the prompt that it was asked, and marks of how it was asked.

    >>> judge = Judge("openai:gpt-4o", "3f2a91bc", ("unfenced",))
    >>> print(judge, judge.is_person, judge.is_unfenced)
    openai:gpt-4o@3f2a91bc+unfenced False True
    >>> print(Judge("R+D"), Judge("person:ann").is_person)
    R+D True
    """

    name: str = ""
    prompt_digest: str = ""
    marks: tuple[str, ...] = ()

    @property
    def voices(self) -> tuple[Judge, ...]:
        """Those whose own word it is."""
        return (self,)

    @property
    def is_person(self) -> bool:
        """Whether this is a person, or several."""
        return re.split("[:@]", self.name, maxsplit=1)[0].lower() in _PERSON_PREFIXES

    @property
    def is_text_rule(self) -> bool:
        """Whether it compares texts, without a model."""
        return self.name in TEXT_JUDGES

    @property
    def is_unchecked(self) -> bool:
        """Whether all, or most, was said by judges that compare texts, and that nobody checked."""
        return self.is_text_rule

    @property
    def is_unfenced(self) -> bool:
        """Whether the prompt had no delimiters around the judged text."""
        return _UNFENCED in self.marks

    @property
    def was_prompted(self) -> bool:
        """Whether the name has the digest of a prompt."""
        return bool(self.prompt_digest)

    @property
    def without_prompt(self) -> Judge:
        """The same judge, by whatever prompt it was asked."""
        return Judge(self.name, marks=self.marks)

    @property
    def title(self) -> str:
        """The name as a reader knows it: without the digest of the prompt, nothing escaped."""
        return "+".join([self.name, *self.marks])

    def __str__(self) -> str:
        name = _escape(self.name, "," if _HANDED_ON.search(self.name) else "")
        if name.startswith(_PANEL_PREFIXES):
            name = name.replace(":", "%3A", 1)
        if self.prompt_digest:
            marks = (f"+{_escape(mark, '+@,')}" for mark in self.marks)
            return "".join([name, "@", self.prompt_digest, *marks])
        if _PROMPT.fullmatch(name):
            name = name.replace("@", "%40")
        if name.endswith(_UNFENCED_MARK):
            name = f"{name.removesuffix(_UNFENCED_MARK)}%2B{_UNFENCED}"
        return "+".join([name, *self.marks])


@dataclass(frozen=True)
class Panel:
    """Several judges: a vote of all, in which one may break ties, or a part judged by each (`mixed`).

    >>> print(Panel("majority", (Judge("a"), Judge("b")), Judge("c")))
    majority:a+b,tiebreak:c
    """

    kind: PanelKind
    members: tuple[AnyJudge, ...]
    tiebreak: AnyJudge | None = None

    @property
    def voices(self) -> tuple[Judge, ...]:
        """Those whose own word it is."""
        of_ties = () if self.tiebreak is None else self.tiebreak.voices
        return (*(voice for member in self.members for voice in member.voices), *of_ties)

    @property
    def is_person(self) -> bool:
        """Whether all are persons."""
        return all(voice.is_person for voice in self.voices)

    @property
    def is_text_rule(self) -> bool:
        """Whether all compare texts."""
        return all(voice.is_text_rule for voice in self.voices)

    @property
    def is_unchecked(self) -> bool:
        """Whether all compare texts, and nobody checked it."""
        members = self.members if self.tiebreak is None else (*self.members, self.tiebreak)
        return all(member.is_unchecked for member in members)

    @property
    def is_unfenced(self) -> bool:
        """Whether the prompt of one had no delimiters around the judged text."""
        return any(voice.is_unfenced for voice in self.voices)

    @property
    def was_prompted(self) -> bool:
        """Whether the name of one has the digest of a prompt."""
        return any(voice.was_prompted for voice in self.voices)

    @property
    def without_prompt(self) -> Panel:
        """The same judges, by whatever prompts they were asked."""
        members = tuple(member.without_prompt for member in self.members)
        return Panel(self.kind, members, None if self.tiebreak is None else self.tiebreak.without_prompt)

    @property
    def title(self) -> str:
        """All as a reader knows them."""
        members = "+".join(member.title for member in self.members)
        return f"{self.kind}:{members}" + (
            "" if self.tiebreak is None else f"{_TIEBREAK}{self.tiebreak.title}"
        )

    def __str__(self) -> str:
        members = "+".join(map(_member_text, self.members))
        of_ties = "" if self.tiebreak is None else f"{_TIEBREAK}{_member_text(self.tiebreak)}"
        return f"{self.kind}:{members}{of_ties}"


@dataclass(frozen=True)
class Cascade:
    """A judge that hands on to another what it is least certain of: a `share` in percent, or all the rest.

    `labelers` are those whose labels showed how much may be kept.

    >>> print(Cascade(Judge("short"), Judge("openai:m"), "10"))
    short,10%:openai:m
    >>> print(Cascade(Judge("short"), Judge("openai:m"), labelers=Judge("people")))
    short,rest[people]:openai:m
    """

    first: AnyJudge
    then: AnyJudge
    share: str | None = None  # in percent, as it is written
    labelers: AnyJudge | None = None

    @property
    def voices(self) -> tuple[Judge, ...]:
        """Those whose own word it is."""
        return (*self.first.voices, *self.then.voices)

    @property
    def is_person(self) -> bool:
        """Whether both are persons."""
        return self.first.is_person and self.then.is_person

    @property
    def is_text_rule(self) -> bool:
        """Whether both compare texts."""
        return self.first.is_text_rule and self.then.is_text_rule

    @property
    def is_unchecked(self) -> bool:
        """Whether most was said by judges that compare texts, and that nobody checked.

        What is kept was checked if labels of people showed a bound for it; then the next judge counts.
        """
        was_checked = self.labelers is not None and self.labelers.is_person
        return self.then.is_unchecked if was_checked else self.first.is_unchecked

    @property
    def is_unfenced(self) -> bool:
        """Whether a prompt of one of them had no delimiters around the judged text."""
        return self.first.is_unfenced or self.then.is_unfenced

    @property
    def was_prompted(self) -> bool:
        """Whether the name of one has the digest of a prompt."""
        return self.first.was_prompted or self.then.was_prompted

    @property
    def without_prompt(self) -> Cascade:
        """The same judges, by whatever prompts they were asked."""
        labelers = None if self.labelers is None else self.labelers.without_prompt
        return Cascade(self.first.without_prompt, self.then.without_prompt, self.share, labelers)

    @property
    def title(self) -> str:
        """Both as a reader knows them."""
        part = "the rest" if self.share is None else f"{self.share} %"
        return f"{self.first.title}, {part} by {self.then.title}"

    def __str__(self) -> str:
        part = "rest" if self.share is None else f"{self.share}%"
        if self.share is None and self.labelers is not None:
            part += f"[{_escape(str(self.labelers), ',[]')}]"
        first = str(self.first)
        return f"{_escape(first, ',' if _HANDED_ON.search(first) else '')},{part}:{self.then}"


AnyJudge: TypeAlias = Judge | Panel | Cascade


@lru_cache(maxsize=4096)  # a file has few judges and many lines
def parse_judge(text: str) -> AnyJudge:
    """Return the judge that a file names; of any judge, `parse_judge(str(judge)) == judge`.

    >>> parse_judge("openai:m@3f2a91bc+unfenced")
    Judge(name='openai:m', prompt_digest='3f2a91bc', marks=('unfenced',))
    >>> [voice.name for voice in parse_judge("short,10%:majority:a+b,tiebreak:c").voices]
    ['short', 'a', 'b', 'c']
    >>> parse_judge("Smith, J.")
    Judge(name='Smith, J.', prompt_digest='', marks=())
    """
    handed_on = _HANDED_ON.search(text)
    if handed_on is not None:
        first = parse_judge(_unescape(text[: handed_on.start()]))
        named = handed_on["labelers"]
        labelers = None if named is None else parse_judge(_unescape(named))
        return Cascade(first, parse_judge(text[handed_on.end() :]), handed_on["share"], labelers)
    for kind in _PANEL_KINDS:
        if text.startswith(f"{kind}:"):
            members, comma, tiebreak = text.removeprefix(f"{kind}:").partition(_TIEBREAK)
            return Panel(
                kind, tuple(_members_in(members)), parse_judge(_unescape(tiebreak)) if comma else None
            )
    prompt = _PROMPT.fullmatch(text)
    if prompt is None:
        # A judge by whatever prompt keeps this mark.
        name = text.removesuffix(_UNFENCED_MARK)
        return Judge(_unescape(name), marks=() if name == text else (_UNFENCED,))
    marks = tuple(_unescape(mark) for mark in prompt["marks"].split("+")[1:])
    return Judge(_unescape(prompt["name"]), prompt["digest"], marks)


def join_judges(judges: Sequence[AnyJudge]) -> str:
    """Return the text that names all of these judges, by whatever prompts; `split_judges` reads it.

    >>> join_judges([parse_judge("short,10%:openai:m")]), join_judges([Judge("a"), Judge("R+D")])
    ('short,10%:openai:m', 'a+R%2BD')
    """
    if len(judges) == 1:
        (judge,) = judges
        if isinstance(judge, Judge):
            return "+".join([str(replace(judge, marks=())).replace("+", "%2B"), *judge.marks])
        return str(judge)
    text = "+".join(map(_member_text, judges))
    # What begins as a vote would be read as one vote of all.
    return text.replace(":", "%3A", 1) if text.startswith(_PANEL_PREFIXES) else text


def split_judges(text: str) -> tuple[AnyJudge, ...]:
    """Return the judges that a text names.

    >>> split_judges("openai:m+unfenced"), len(split_judges("a+R%2BD")), len(split_judges("majority:a+b"))
    ((Judge(name='openai:m', prompt_digest='', marks=('unfenced',)),), 2, 1)
    """
    judge = parse_judge(text)
    if not isinstance(judge, Judge):
        return (judge,)
    # Each of several is escaped once more.
    members = tuple(_members_in(text))
    return members if len(members) > 1 else (judge,)


def _members_in(text: str) -> Iterator[AnyJudge]:
    """Yield the members of a panel; a mark that stands by itself is of the member before it."""
    members: list[str] = []
    for member in text.split("+"):
        if member == _UNFENCED and members:
            members[-1] += f"%2B{member}"
        else:
            members.append(member)
    return (parse_judge(_unescape(member)) for member in members)


def _member_text(member: AnyJudge) -> str:
    text = _escape(str(member), "+,")
    # A member of this name would be read as a mark of the one before.
    return f"%{ord(text[0]):X}{text[1:]}" if text == _UNFENCED else text


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)


def _escape(text: str, signs: str) -> str:
    """Return a text with these signs as `%XX`, and with each `%` that would be read as one of them."""
    text = re.sub("%(?=[0-9A-Fa-f]{2})", "%25", text)
    return "".join(f"%{ord(sign):02X}" if sign in signs else sign for sign in text)
