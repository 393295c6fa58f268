"""What can be said of a short answer without a model, because it is a matter of form.

CRAG's first stage: an answer that equals the gold answer (or an alternative), but for case, quotes and the
like, is perfect; one that says "I don't know" is missing. Of all others a model or a person must say whether
they are right, unless words or numbers that are the same are enough.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from rageval.errors import UsageError
from rageval.records import Answer, Question, Sentence
from rageval.text import compatible

_JUDGE, _RUBRIC = "exact", "crag"
__all__ = ["Answer", "Question", "Sentence", "first_stage", "folded", "judge_exactly"]

_QUOTES = str.maketrans({**dict.fromkeys("‘’‚‛′ʼ`´＇", "'"), **dict.fromkeys("“”„‟″«»＂", '"')})
_EDGES = " \t\n.!\"'"
# What counts as an abstention: our list, of whole sentences, and CRAG's script, which looks for four words.
ABSTENTIONS = ("rageval", "crag")
_ASIDE = (
    r"(?:(?:(?:i'm |i am |we're )?(?:so |very )?sorry|i apologi[sz]e|apologies|unfortunately|regrettably"
    r"|i'm afraid|i am afraid|honestly|well|as an ai(?: language model)?|hmm),?(?: but| that)? ?){0,3}"
)
_NEGATED = r"(?:don't|do not|dont|didn't|did not|can't|cannot|can not|could not|couldn't)"
_UNABLE = rf"(?:{_NEGATED}|(?:am|'m|was) (?:not able|unable) to)"
_REALLY = r"(?:really |honestly |simply |just |actually |currently )?"
_KNOWING = rf"{_REALLY}(?:know|have|find|recall|see)"
_SAYING = r"(?:answer|find|determine|say|tell|provide|verify|confirm|give|help|locate|identify|respond)"
_TURN = r"but|however|although|though|think|believe|probably|likely|perhaps|maybe|doubt|guess"
_OF_WHAT = (
    r"the|that|this|these|your|any|anything|enough|sufficient|about|of|on|in|for|to|from|with|based|who|whose"
    r"|what|when|where|which|why|whether|if|how (?:many|much|old|long|often|far|tall|big|high)|you|it|at"
)
_APOLOGY = r"(?:,? (?:so |very )?(?:sorry|unfortunately|i'm afraid|i am afraid))?"
_TO_THE_END = rf"\b(?!.*(?:\b(?:{_TURN})\b|:)).*"
_REST = rf"(?:,? (?:{_OF_WHAT}){_TO_THE_END})?"
_SOURCE = (
    r"(?:the |these |those )?(?:provided |given |available |retrieved )?"
    r"(?:context|passages?|documents?|search results?|sources?|texts?|information)(?: provided| given)?"
)
_HOLDS_NOT = r"(?:does|do|did)(?:n't| not) (?:contain|include|provide|have|hold|give|specify|state)"
_NOTHING = r"(?:(?:the|an|any) answer|(?:any |enough |sufficient |relevant )+information)"
_NOT_FOUND = r"(?:(?:the )?answer (?:is|was|could|can)(?:n't| ?not)(?: be)?|not) found"
_ABSTENTION = re.compile(
    rf"{_ASIDE}(?:i {_REALLY}{_NEGATED} {_KNOWING}{_REST}|i ?{_UNABLE} {_SAYING}{_REST}"
    rf"|{_SOURCE} {_HOLDS_NOT} {_NOTHING}{_REST}|{_NOT_FOUND}{_REST}"
    rf"|(?:i have |i've )?no (?:idea|clue)|idk|i dunno|dunno|i(?:'m| am) not (?:sure|certain)|not sure"
    rf"|unknown|no answer|n/a|no (?:relevant )?information(?: (?:was )?(?:available|found|provided))?"
    rf"|there (?:is|was) (?:no|not enough|insufficient) (?:information|evidence|data|context){_REST}"
    rf"|(?:insufficient|not enough) (?:information|evidence|data|context){_REST}){_APOLOGY}"
)
_EXPLAINING = re.compile(  # behind an abstention: why there is no answer, or what to do about it
    rf"{_ASIDE}(?:(?:the |these |those |your |my |any )?(?:provided |given |available |retrieved |search )*"
    rf"(?:results?|documents?|passages?|context|sources?|information|references?|text|pages?)\b.*"
    rf"(?:n't|\bnot|\bno|\black|\bcannot){_TO_THE_END}"
    rf"|(?:please|could you|can you|would you|let me know|you (?:may|can|could|might))\b.*)"
)
_ASIDE_ALONE = re.compile(_ASIDE)
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_LONGEST_ABSTENTION = 600  # characters; who says more, answers
_WORD, _NO_WORD = re.compile(r"\w"), re.compile(r"\W")
ARTICLES = {"a", "an", "the"}
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_NUMERAL = re.compile(
    r"(?<![\w.,])(?P<sign>-)?(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?P<decimals>\.\d+)?"
    rf"(?:[ -](?P<scale>{'|'.join(_SCALES)})s?\b)?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(?<=\d)\s?[–—-]\s?(?=\d)")
_SMALL_DIGITS = re.compile("[¼-¾⅐-⅞²³¹⁰⁴-⁹₀-₉]+")  # 10² is not 102, nor 2½ 21/2
_MAX_DIGITS = 40  # digits; more are an id, compared as text


def folded(text: str) -> str:
    """Drop what does not matter: compatibility forms, case, curly quotes, blanks, a full stop.

    >>> folded("  “Les Invalides”. ")
    'les invalides'
    """
    text = compatible(text.translate(_QUOTES)).casefold()
    return " ".join(text.split()).strip(_EDGES)


def first_stage(answer: str, gold: str | Iterable[str], abstentions: str = "rageval") -> str | None:
    """Return `perfect`, `missing`, or None where the form does not decide.

    >>> [first_stage(answer, ["Paris"]) for answer in ("PARIS.", "I don’t know.", "Rome")]
    ['perfect', 'missing', None]
    >>> first_stage("It is an invalid question.", ["invalid question"]) is None
    True
    """
    given = folded(answer)
    if given and any(given == folded(text) for text in ([gold] if isinstance(gold, str) else gold)):
        return "perfect"
    return "missing" if abstains(answer, abstentions) else None


def abstains(answer: str, by: str = "rageval") -> bool:
    """Tell whether an answer says that it does not know, by our list or by that of CRAG's script.

    Ours: every sentence says so, or why. The script's: the words "i don't know" stand anywhere.

    >>> said = ("idk", "I don't know. The search results do not say.", "I don't know, but it may be Rome.")
    >>> [(abstains(text), abstains(text, "crag")) for text in said]
    [(True, False), (True, True), (False, True)]
    """
    if by == "crag":
        return "i don't know" in answer.strip().lower()
    if len(answer) > _LONGEST_ABSTENTION:
        return not folded(answer)
    sentences = [
        sentence for text in _SENTENCES.split(answer) if (sentence := folded(text.strip().rstrip(";,")))
    ]
    if not sentences:
        return True
    others = [text for text in sentences if not _ABSTENTION.fullmatch(text)]
    return len(others) < len(sentences) and all(
        _ASIDE_ALONE.fullmatch(text) or _EXPLAINING.fullmatch(text) for text in others
    )


def script_stage(answer: str, gold: str) -> str | None:
    """Return what CRAG's script says of an answer beside one gold answer without a model, None if nothing.

    >>> said = ("Paris", "Well, I don't know.", "an invalid question", "Rome")
    >>> [script_stage(text, "paris") for text in said]
    ['accurate', 'missing', 'incorrect', None]
    >>> script_stage("That is an invalid question.", "invalid question")
    'accurate'
    """
    given, right = answer.strip().lower(), gold.strip().lower()
    if abstains(given, "crag"):
        return "missing"
    if given == right:
        return "accurate"
    both = ("invalid" in given) + ("invalid" in right)
    return {0: None, 1: "incorrect", 2: "accurate"}[both]


def judge_exactly(
    answers: Iterable[Answer], questions: Iterable[Question], undecided: str = "skip"
) -> Iterator[Mapping[str, Any]]:
    """Judge answers by their form alone; `undecided` ones are left out, or called `incorrect`.

    >>> questions = [Question("q", "Capital of France?", ("Paris",))]
    >>> found = judge_exactly([Answer("q", "mine", (Sentence("paris"),))], questions)
    >>> next(found)["label"]
    'perfect'
    """
    if undecided not in ("skip", "incorrect"):
        raise UsageError(f"undecided={undecided!r}: expected skip or incorrect")
    gold = {question.query_id: question.gold for question in questions}
    for answer in answers:
        if answer.query_id not in gold:
            raise UsageError(f"query {answer.query_id!r}: no such question; expected one for each answer")
        label = first_stage(answer.text, gold[answer.query_id])
        if label is None and undecided == "skip":
            continue
        yield {
            "query_id": answer.query_id,
            "run_id": answer.run_id,
            "item_id": "answer",
            "aspect": "0",
            **({"repeat": answer.repeat} if answer.repeat else {}),
            "label": label or undecided,
            "status": "ok",
            "judge": _JUDGE,
            "rubric": _RUBRIC,
        }


def exact(answer: str, gold: Iterable[str]) -> bool:
    """Tell whether the answer is a gold answer, but for case, quotes, blanks and a full stop.

    >>> exact("paris.", ["Paris"]), exact("In Paris", ["Paris"]), exact("", [""])
    (True, False, False)
    """
    given = folded(answer)
    return bool(given) and any(given == folded(text) for text in gold)


def contains(answer: str, gold: Iterable[str]) -> bool:
    """Tell whether a gold answer stands in the answer as whole words; one that names everything passes, too.

    >>> contains("It is in Paris, I think.", ["paris"]), contains("A comparison", ["Paris"])
    (True, False)
    """
    given = folded(answer)
    golds = filter(None, map(folded, gold))
    return any(has_words(given, text) for text in golds)


def has_words(text: str, phrase: str) -> bool:
    """Whether the text stands there with no letter or digit right before or behind it."""
    start = text.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        if not (_WORD.match(text, start - 1) if start else None) and not _WORD.match(text, end):
            return True
        border = _NO_WORD.search(text, start)
        start = text.find(phrase, border.end()) if border else -1
    return False


def number(answer: str, gold: Iterable[str]) -> bool:
    """Tell whether the numbers of the answer are those of a gold answer.

    >>> number("About 1,500 people", ["1500"]), number("1400 or 1500", ["1500"]), number("none", ["none"])
    (True, False, False)
    """
    given = sorted(set(numbers_in(answer)))
    return bool(given) and any(given == sorted(set(numbers_in(text))) for text in gold)


def token_f1(answer: str, gold: Iterable[str]) -> float:
    """Return the F1 of the answer's words and those of the nearest gold answer, without articles, as SQuAD.

    >>> token_f1("the tall tower", ["Tower"]), token_f1("", ["x"])
    (0.6666666666666666, 0.0)
    """
    given, best = _count_words(answer), 0.0
    for gold_words in map(_count_words, gold):
        shared = (given & gold_words).total()
        if shared:
            best = max(best, 2 * shared / (given.total() + gold_words.total()))
    return best


def _count_words(text: str) -> Counter[str]:
    characters = (" " if unicodedata.category(c)[0] in "PS" else c for c in folded(text))
    return Counter(word for word in "".join(characters).split() if word not in ARTICLES)


def numbers_in(text: str) -> list[Decimal]:
    """Return the numbers written in digits, in order; a dash between two numbers is no minus.

    Digits right after a letter, a dot or a comma are skipped. Numbers of more than 40 digits, which are ids,
    are skipped, too.

    >>> [str(number) for number in numbers_in("1,000 of 3.5 million in 1998-2003, at -4 °C")]
    ['1000', '3500000', '1998', '2003', '-4']
    """
    text = compatible(_SMALL_DIGITS.sub(r" \g<0> ", text)).replace("−", "-")
    text = _RANGE.sub(" to ", text)
    numbers = []
    for match in _NUMERAL.finditer(text):
        if len(match["digits"]) <= _MAX_DIGITS:
            significand = (match["sign"] or "") + match["digits"].replace(",", "") + (match["decimals"] or "")
            exponent = _SCALES.get((match["scale"] or "").lower(), 0)
            # Exact, however long: no float comes between.
            numbers.append(Decimal(f"{Decimal(f'{significand}E{exponent}'):f}"))
    return numbers
