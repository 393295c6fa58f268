"""What people call the columns of a table of answers: one list, for every command and for Python.

Case, blanks, hyphens and underscores do not matter. Of several columns for one field the one that is called
as the field wins, then the first in the table; the others are kept as fields of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

SYNONYMS = {
    "query_id": ("id", "qid", "query_id", "question_id", "topic_id", "narrative_id", "test_id", "example_id"),
    "question": ("question", "query", "prompt", "input", "user_input", "topic"),
    "answer": (
        *("answer", "response", "output", "actual_output", "prediction", "completion", "generated_answer"),
    ),
    "gold": (
        *("gold", "reference", "ground_truth", "ground_truths", "expected", "expected_output"),
        *("expected_answer", "ideal", "target", "gold_answer"),
    ),
    "contexts": (
        *("contexts", "retrieved_contexts", "context", "documents", "passages", "retrieval_context"),
    ),
    "run_id": ("run_id", "system", "model", "run", "variant", "experiment"),
}
_APART = re.compile(r"[\s_\-]+")


def _folded_name(name: str) -> str:
    return _APART.sub("", name).casefold()


_FIELDS = {_folded_name(name): field for field, names in SYNONYMS.items() for name in names}


def field_of(name: str) -> str | None:
    """Return the field that a column of this name is taken for, if any.

    >>> field_of("User Input"), field_of("ground-truth"), field_of("latency")
    ('question', 'gold', None)
    """
    return _FIELDS.get(_folded_name(name))


class ColumnsRead(NamedTuple):
    """Which column each field is read from, and the others: kept as fields of the question."""

    fields: dict[str, str]
    others: tuple[str, ...]

    def with_systems(self, rows: Iterable[Mapping[str, Any]]) -> ColumnsRead:
        """Return the columns; of several that may name systems, the one that distinguishes systems does.

        >>> columns = columns_of(["question", "answer", "model", "run"])
        >>> rows = [{"model": "m", "run": name} for name in ("v1", "v2")]
        >>> columns.fields["run_id"], columns.with_systems(rows).fields["run_id"]
        ('model', 'run')
        """
        named = self.fields.get("run_id", "")
        fitting = [named, *(name for name in self.others if field_of(name) == "run_id")] if named else []
        if len(fitting) < 2:  # the rows, which are many, are not read for nothing
            return self
        systems: dict[str, set[str]] = {name: set() for name in fitting}
        for row in rows:
            for name in fitting:
                systems[name].add(str(row.get(name) or ""))
        chosen = next((name for name in fitting if len(systems[name] - {""}) > 1), named)
        if chosen == named:
            return self
        others = tuple(named if name == chosen else name for name in self.others)
        return ColumnsRead(self.fields | {"run_id": chosen}, others)

    def __str__(self) -> str:
        read = ", ".join(f"{field} = {column}" for field, column in self.fields.items())
        return read + (f"; kept as fields: {', '.join(self.others)}" if self.others else "")


def columns_of(names: Sequence[str], gold_alone: bool = False) -> ColumnsRead:
    """Return what the columns of a table are taken for; `gold_alone`, where a table has no system's answers.

    >>> print(columns_of(["id", "Question", "output", "response", "reference", "domain"]))
    query_id = id, question = Question, answer = output, gold = reference; kept as fields: response, domain
    >>> print(columns_of(["question", "answer"], gold_alone=True))
    question = question, gold = answer
    """
    taken: dict[str, str] = {}
    for field in SYNONYMS:
        fitting = [name for name in names if field_of(name) == field]
        own = [name for name in fitting if _folded_name(name) == _folded_name(field)]
        if fitting:
            taken[field] = (own or fitting)[0]
    if gold_alone and "answer" in taken:
        answer = taken.pop("answer")
        taken.setdefault("gold", answer)
    return ColumnsRead(taken, tuple(name for name in names if name not in taken.values()))


def are_rows(names: Sequence[str]) -> bool:
    """Tell whether a record of these keys is a row of answers, and none of another format's.

    With an id, a question and an answer may be a question of a dataset: a further column, or a name of
    people's own, tells.

    >>> [are_rows(names.split()) for names in ("question answer", "id input output", "id question answer")]
    [True, True, False]
    """
    fields = columns_of(names).fields
    if not {"question", "answer"} <= fields.keys():
        return False
    # Formats of tracks have passages and documents, too, as objects.
    has_contexts = fields.get("contexts", "") not in ("", "passages", "documents")
    return "query_id" not in fields or "gold" in fields or has_contexts or fields["answer"] != "answer"


def is_answered(names: Sequence[str]) -> bool:
    """Tell whether these are columns of a table of answers, or of right ones.

    >>> is_answered(["Question", "Expected Output"]), is_answered(["qid", "docid", "score"])
    (True, False)
    """
    fields = columns_of(names).fields.keys()
    return bool(fields & {"question", "query_id"}) and bool(fields & {"answer", "gold"})
