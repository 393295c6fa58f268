"""The page on which a person labels what a plan asks: one file that asks for nothing from outside.

It is blind: no name of a system and no verdict of a judge can be read in it. Where a label belongs is sealed,
and opened when labels are exported; the seal keeps names from the eye, and hides nothing from who wants to
know. Everybody gets the queries in the order of the plan, as only its beginning is a random draw. Within a
query the order is the annotator's own: each system comes first equally often, and in pairs is A as often.
"""

from __future__ import annotations

import json
import random
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from rageval.errors import InputError, UsageError
from rageval.files.jsonl import as_line
from rageval.files.plans import Ask, AskedQuery, LabelPlan
from rageval.judges.material import pair_aspect
from rageval.pages._parts import as_block, asset, policy
from rageval.text import problem_of_id, visible
from rageval.version import __version__

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
            "the plan holds no texts to label; expected one made with the files that were judged: rageval"
            " label-plan … --answers FILE (--questions, --nuggets, --passages)"
        )
    # The same person gets the same order each time, another person another one.
    rng = random.Random(f"{plan.sha}/{annotator}")
    contexts: dict[str, int] = {}
    asks = list(_in_order(plan, rng, contexts))
    _seal(asks, rng)
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
        "instructions": _reflowed(plan.instructions),
        "names": plan.names,
        "labels": sorted(plan.labels.items(), key=lambda pair: -pair[1]),
        "ranges": {name: _steps(*ends, plan.whole) for name, ends in plan.ranges.items()},
        "queries": len(plan.asked),
        "contexts": [json.loads(text) for text in contexts],
        "asks": asks,
    }


def _in_order(plan: LabelPlan, rng: random.Random, contexts: dict[str, int]) -> Iterator[_Record]:
    """Yield what is asked, in this annotator's order; `contexts` takes in the texts as they appear."""
    # Each system comes first equally often: whoever is seen first sets the standard.
    firsts = _balanced(len(plan.systems), len(plan.asked), rng)
    flips = _balanced(2, sum(len(query.asks) for query in plan.asked), rng)
    for number, (query, first) in enumerate(zip(plan.asked, firsts, strict=True), 1):
        for ask in _within(query, plan.systems, first, rng):
            context = query.contexts[ask.context or 0]
            place: _Record = {"query_id": query.query_id, "item_id": ask.item_id}
            if ask.pair is not None:
                # Half of the pairs are shown the other way round, as judges prefer a side, too.
                shown = ask.pair[::-1] if flips.pop() else ask.pair
                if shown != ask.pair:
                    context = {_SIDES.get(name, name): text for name, text in context.items()}
                place |= {"aspect": pair_aspect(*shown), "shown": shown}
            else:
                also = {name: getattr(ask, name) for name in ("importance", "weight", "sentences")}
                known = {name: value for name, value in also.items() if value is not None}
                place |= {"run_id": ask.run_id, "aspect": ask.aspect, **known}
            # Each text is in the page once, however many things are asked of it.
            at = contexts.setdefault(json.dumps(context, sort_keys=True), len(contexts))
            yield {"context": at, "text": ask.text, "query": number, "place": place}


def _within(query: AskedQuery, systems: Sequence[str], first: int, rng: random.Random) -> Iterator[Ask]:
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


def _reflowed(text: str) -> str:
    """Return the text with lines that were broken for their length alone put together again.

    >>> _reflowed("It is so" + " so" * 30 + "\\nlong.\\nright: yes.")[-20:]
    'so long.\\nright: yes.'
    """
    return re.sub(r"(?<=[^\n]{80})\n(?=\S)(?![\w-]+:)", " ", text)


def _balanced(kinds: int, number: int, rng: random.Random) -> list[int]:
    """Return so many numbers below `kinds`, each as often as the others, in random order."""
    found = [at % kinds for at in range(number)]
    rng.shuffle(found)
    return found


def _steps(low: float, high: float, whole: bool = False) -> list[float]:
    """Return the numbers of a range that can be chosen, the best first: the whole ones, or five.

    >>> _steps(-1.0, 2.0), _steps(0.0, 1.0)
    ([2.0, 1.0, 0.0, -1.0], [1.0, 0.75, 0.5, 0.25, 0.0])
    """
    number = int(high - low) + 1
    if low.is_integer() and high.is_integer() and (number > 2 or whole) and number <= _MOST_STEPS:
        return [high - step for step in range(number)]
    return [high - (high - low) * step / (_STEPS - 1) for step in range(_STEPS)]


def _seal(asks: Sequence[_Record], rng: random.Random) -> None:
    """Put in place of each place its sealed form, all of the same length."""
    texts = [json.dumps(ask.pop("place"), ensure_ascii=False).encode() for ask in asks]
    # The length of a sealed place would tell the system by the length of its name.
    longest = max(map(len, texts), default=0)
    for ask, text in zip(asks, texts, strict=True):
        salt = rng.randrange(_SALTS)
        ask |= {"salt": salt, "sealed": b64encode(_mixed(text.ljust(longest), salt)).decode()}


def _mixed(text: bytes, salt: int) -> bytes:
    """Return the bytes mixed with those of mulberry32, as annotate.js does; twice gives them again.

    >>> _mixed(_mixed(b"ours", 7), 7)
    b'ours'
    """
    found, state, mask = bytearray(), salt, _SALTS - 1
    for start in range(0, len(text), 4):
        state = (state + 0x6D2B79F5) & mask
        word = ((state ^ state >> 15) * (state | 1)) & mask
        word ^= (word + ((word ^ word >> 7) * (word | 61) & mask)) & mask
        word ^= word >> 14
        found += bytes(byte ^ word >> 8 * at & 255 for at, byte in enumerate(text[start : start + 4]))
    return bytes(found)


def places_of(plan: LabelPlan) -> Mapping[tuple[str, str, str, str], Ask]:
    """Return what is asked at each place: query, run, item and aspect, of a pair in either order."""
    found = {}
    for query in plan.asked:
        for ask in query.asks:
            if ask.pair is None:
                found[query.query_id, ask.run_id, ask.item_id, ask.aspect] = ask
                continue
            for shown in (ask.pair, ask.pair[::-1]):
                for run in shown:
                    # A pair is judged with either of the two as the subject.
                    found[query.query_id, run, ask.item_id, pair_aspect(*shown)] = ask
    return found
