"""What verbs are handed over: in which forms, and, where a call fails for it, in which order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from rageval import hooks
from rageval.errors import InputError, RagevalError, UsageError
from rageval.files.objects import column_names, records_of_frame
from rageval.files.synonyms import field_of
from rageval.records import Answer, Question, is_frame
from rageval.scoring.sources import dataset_or_file


@contextmanager
def in_order(call: str, files: Mapping[str, Any] = MappingProxyType({}), **given: Any) -> Iterator[None]:
    """Turn an error into one that names the order of the arguments, where they stand in another.

    So is one that a file of another kind than its place takes has led to. Nothing is looked at before
    something fails. `call` is how the function is called; `given` are its arguments by name, and `files` what
    may be such a file.
    """
    try:
        yield
    except (AttributeError, RagevalError, TypeError) as error:
        if problem := hooks.misplaced_argument(given):
            raise UsageError(f"{call.partition('(')[0]}: {problem}; the order is {call}") from error
        wrong = hooks.misplaced_file(error, files) if isinstance(error, InputError) else None
        if wrong is not None:
            raise wrong from error
        raise


def as_source(source: Any, what: str) -> Any:
    """Return records and frames as a file, the id of a dataset as the dataset, anything else as it is."""
    if isinstance(source, str | os.PathLike):
        return dataset_or_file(source, what.replace("passages", "documents"))
    if source is None or hasattr(source, "read"):
        return source
    if not isinstance(source, Iterable) and not is_frame(source):
        return source
    items = items_of(source, what)
    # Records go the way of a file, with the same checks and messages.
    if any(isinstance(item, Mapping) for item in items):
        return hooks.records_in_memory(items, what)
    # Answers and questions, such as a log's, as what their lines hold.
    if items and all(isinstance(item, Answer | Question) for item in items):
        answers = hooks.write_answers((item for item in items if isinstance(item, Answer)), "plain")
        questions = hooks.write_questions(item for item in items if isinstance(item, Question))
        return hooks.records_in_memory(
            [hooks.first_record(line.encode()) for line in (*answers, *questions)], what
        )
    # Other records of ours, such as nuggets, are taken as they are.
    return [item if hasattr(item, "_fields") else as_source(item, what) for item in items]


def items_of(given: Any, what: str = "") -> list[Any]:
    """Return the records, files and other items of what is given: of frames the rows.

    Of {name: frame or records} they are the records of all, each of the system of that name.
    """
    if given is None:
        return []
    if is_frame(given):
        records = records_of_frame(given)
        # A gap (NaN) among answers is null: the system failed to give one.
        if what == "answers" and any("answer" in record for record in records):
            records = [{"answer": None} | record for record in records]
        return records
    if (
        isinstance(given, Mapping)
        and given
        and all(
            is_frame(rows) or (isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows))
            for rows in given.values()
        )
    ):
        return [
            {**record, "run_id": str(name)} for name, rows in given.items() for record in items_of(rows, what)
        ]
    if isinstance(given, str | os.PathLike | Mapping) or hasattr(given, "read"):
        return [given]
    items = list(given)
    if what == "answers":
        # Frames of which nothing says whose answers they hold would be taken for one system's.
        frames = [item for item in items if is_frame(item)]
        named = [any(field_of(str(column)) == "run_id" for column in column_names(frame)) for frame in frames]
        if len(frames) > 1 and not all(named):
            raise UsageError(
                f"answers: found {len(frames)} DataFrames, and nothing in them says of which system; expected"
                " {name: DataFrame}"
            )
    return [record for item in items for record in (items_of(item, what) if is_frame(item) else [item])]
