"""What verbs are handed over: in which forms, and, where a call fails for it, in which order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rageval.errors import RagevalError, UsageError
from rageval.records import Answer, Question
from rageval.scoring.sources import dataset_or_file


@contextmanager
def in_order(call: str, **given: Any) -> Iterator[None]:
    """Turn an error into one that names the order of the arguments, where they stand in another.

    Nothing is looked at before something fails. `call` is how the function is called; `given` are its
    arguments by name.
    """
    try:
        yield
    except (AttributeError, RagevalError, TypeError) as error:
        from rageval.scoring._roles import misplaced

        if said := misplaced(given):
            raise UsageError(f"{call.partition('(')[0]}: {said}; the order is {call}") from error
        raise


def as_source(source: Any, what: str) -> Any:
    """Return records and frames as a file, the id of a data set as the data set, anything else as it is."""
    from rageval.files.jsonl import in_memory

    if isinstance(source, str | os.PathLike):
        return dataset_or_file(source, what.replace("passages", "documents"))
    # A DataFrame of pandas', told without importing pandas.
    if hasattr(source, "columns"):
        from rageval.files.objects import records_of_frame

        records = records_of_frame(source)
        # A gap (NaN) among answers is null: the system failed to give one.
        if what == "answers" and any("answer" in record for record in records):
            records = [{"answer": None} | record for record in records]
        return in_memory(records, what)
    if source is None or not isinstance(source, Iterable) or hasattr(source, "read"):
        return source
    found = [source] if isinstance(source, Mapping) else list(source)
    # Records go the way of a file, with the same checks and messages.
    if any(isinstance(item, Mapping) for item in found):
        return in_memory(found, what)
    # Answers and questions, such as a log's, as what their lines hold.
    if found and all(isinstance(item, Answer | Question) for item in found):
        import json

        from rageval.files.answers import write_answers
        from rageval.files.questions import write_questions

        answers = write_answers((each for each in found if isinstance(each, Answer)), "plain")
        questions = write_questions(each for each in found if isinstance(each, Question))
        return in_memory([json.loads(line) for line in (*answers, *questions)], what)
    # Other records of ours, such as nuggets, are taken as they are.
    return [item if hasattr(item, "_fields") else as_source(item, what) for item in found]
