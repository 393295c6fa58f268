"""What the places of commands and Python functions take, by the names of options and parameters.

It is asked where a call failed: a file of a kind that its place does not take is named, with what takes it.
Nothing is looked at before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from rageval.errors import RagevalError
from rageval.files.answers import FORMS
from rageval.files.jsonl import RecordForm
from rageval.files.kinds import WrongKind, kind_of, start_of_file, wrong_kind
from rageval.files.questions import QUESTION_FORMS
from rageval.files.start import (
    ANSWERS,
    EITHER,
    JUDGED_ANSWERS,
    JUDGED_DOCUMENTS,
    NUGGETS,
    QUESTIONS,
    ROWS,
    RUNS,
    Kind,
)
from rageval.files.trec import PLAIN, Reading


class FilePlace(NamedTuple):
    """What a place takes: in words, what kinds of files hold, more kinds by name, and files of these forms.

    Some files are of two kinds: answers that hold their questions, and questions that hold answers.
    """

    noun: str
    holds: tuple[str, ...]
    names: tuple[str, ...] = ()
    forms: tuple[RecordForm[Any], ...] = ()

    def takes(self, kind: Kind, record: Mapping[str, Any] = MappingProxyType({})) -> bool:
        """Return whether files of this kind, with this first record, may stand here."""
        is_form = bool(record) and any(form.fits(dict(record)) for form in self.forms)
        return is_form or kind.fits_place(self.holds) or kind.name in self.names


_RUN = FilePlace("a run", (RUNS,))
_QRELS = FilePlace("judgements of documents", (JUDGED_DOCUMENTS,))
_QUESTIONS = FilePlace("questions", (QUESTIONS, ROWS), ("candidates", "table"), tuple(QUESTION_FORMS))
_JUDGED = FilePlace("judged answers", (JUDGED_ANSWERS, ANSWERS))
_JUDGED_OR_QRELS = FilePlace("judgements", (JUDGED_ANSWERS, JUDGED_DOCUMENTS, EITHER))
_BANKS = ("assignments", "table")
_NUGGETS = FilePlace("nuggets or rubrics", (NUGGETS,), _BANKS)
_ANSWERS = FilePlace("answers", (ANSWERS, ROWS), ("table",), tuple(FORMS.values()))
_TEXTS = FilePlace("passages {id, text}", (), ("corpus", "candidates"))
PLACES: Mapping[str, FilePlace] = {
    "run": _RUN,
    "runs": _RUN,
    "qrels": _QRELS,
    "questions": _QUESTIONS,
    "topics": _QUESTIONS,
    "nuggets": _NUGGETS,
    "intent_weights": FilePlace(
        "nuggets, or lines 'topic nugget weight'", (NUGGETS,), ("assignments", "table")
    ),
    "answers": _ANSWERS,
    "passages": _TEXTS,
    "corpus": _TEXTS,
    "gold": _JUDGED_OR_QRELS,
    "evidence": _JUDGED,
    "judgements": FilePlace("judgements", (JUDGED_ANSWERS,)),
    "judged": _JUDGED,
    "claims": FilePlace("claims", (), ("claims",)),
    "chunks": FilePlace("chunks of sources", (), ("chunks", "corpus")),
    "spans": FilePlace("spans of sources", (), ("spans",)),
    "plan": FilePlace("a labeling plan", (), ("plan",)),
    "pooled": FilePlace("a pool of documents", (), ("pool",)),
    "fit": _JUDGED,
    "pilot": _JUDGED,
    "quotes": _JUDGED,
    "against": FilePlace("judgements of documents, a pool, or a collection", (JUDGED_DOCUMENTS,), ("pool",)),
    "labels": _JUDGED_OR_QRELS,
    "labeled": FilePlace("lines of rageval collection audit", (), ("judgements",)),
    "sources": FilePlace("sources {id, text}, or a folder of them", (), ("corpus",)),
    "teams": FilePlace("lines of a file, a tab and a name", (), ("topics",)),
    "leaderboards": FilePlace("leaderboards", (), ("qrels", "topics", "table")),
    "gold_chosen": FilePlace("uniform, a labeling plan, or lines 'query_id chance'", (), ("plan", "topics")),
    "cluster": FilePlace("lines 'query_id group'", (), ("topics",)),
    "group_by": FilePlace("lines 'query_id group'", (), ("topics",)),
    "weights": FilePlace("lines 'group weight'", (), ("topics",)),
}


# Commands whose questions and answers may be tables, always; others take some only where they score one.
_OF_TABLES = {"judge", "plan", "track", "validate"}


def misplaced_file(
    error: RagevalError, given: Mapping[str, Any], reading: Reading = PLAIN, command: str | None = None
) -> WrongKind | None:
    """Return the error for the first file that its place does not take; None unless that says more.

    `error` is what was raised, `given` are the files by option or parameter, and `command` takes them.
    """
    if isinstance(error, WrongKind):
        return None
    of_words = (_kind_of(path, reading, _ANSWERS) for path in _paths(given.get("words")))
    is_of_tables = command is None or command in _OF_TABLES
    is_of_tables = is_of_tables or any(kind is not None and kind.holds == ROWS for kind in of_words)
    for name, value in given.items():
        place = PLACES.get(name)
        if place is None:
            continue
        for path in _paths(value):
            kind = _kind_of(path, reading, place)
            is_taken = kind is None or place.takes(kind, start_of_file(path, reading).record)
            # Tables of questions with right answers are read wherever questions are.
            is_read = kind is None or kind.holds != ROWS or is_of_tables or place is _QUESTIONS
            if kind is not None and not (is_taken and is_read):
                return wrong_kind(path, kind, place.noun)
    return None


def _kind_of(path: Any, reading: Reading, place: FilePlace) -> Kind | None:
    try:
        return kind_of(path, reading, place.holds)
    except (OSError, RagevalError):
        return None  # what is wrong with it has been raised already


def _paths(value: Any) -> Iterator[Any]:
    """Yield the files that are named: a path, or each of several."""
    if isinstance(value, str | os.PathLike):
        path = os.fspath(value)
        # The runs of a pool are named SETTING=FILE.
        path = path if os.path.exists(path) else path.partition("=")[2]
        if os.path.isfile(path):
            yield path
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            if isinstance(item, str | os.PathLike | tuple):  # several files of one option, too
                yield from _paths(item)
