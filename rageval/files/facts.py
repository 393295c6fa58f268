"""What is known of queries besides their text: fields of questions or judgements, tables of two columns."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rageval.errors import InputError
from rageval.files.jsonl import read_records
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source, chunks, name_of, quoted, refuse_bom
from rageval.text import problem_of_id, visible

_IDS = ("query_id", "qid", "interaction_id", "topic_id", "narrative_id", "id")


def read_facts(
    source: Source, fields: tuple[str, ...], limits: Limits = DEFAULT
) -> dict[str, dict[str, str]]:
    """{query: {field: value}} of JSON lines of any kind, or of a data set; only these fields are read."""
    if callable(content := getattr(source, "questions", None)):
        return {
            question.query_id: {name: value for name, value in question.facts if name in fields}
            for question in content()
        }
    wanted = [name for name in fields if name not in _IDS]
    facts: dict[str, dict[str, str]] = {}
    for line, record in read_records(source, dict[str, msgspec.Raw], "a record {query_id, …}", limits):
        try:
            values = {name: msgspec.json.decode(record[name]) for name in (*_IDS, *wanted) if name in record}
        except (msgspec.DecodeError, RecursionError) as error:  # a number too large, say
            raise InputError(
                f"{name_of(source)}:{line}: expected text or a number as a field: {error}"
            ) from None
        query = next((values[name] for name in _IDS if values.get(name) is not None), None)
        if query is None:
            raise InputError(
                f"{name_of(source)}:{line}: expected one of the keys {', '.join(_IDS)}, found none"
            )
        if (problem := problem_of_id(str(query))) is not None:
            raise InputError(f"{name_of(source)}:{line}: expected {problem}")
        known = facts.setdefault(str(query), {})
        for field in wanted:
            value = values.get(field)
            if value is not None and known.setdefault(field, str(value)) != str(value):
                raise InputError(
                    f"{name_of(source)}:{line}: {field} of query {visible(str(query))} is"
                    f" {visible(str(value))!r}, and {visible(known[field])!r} before; expected one value"
                )
    return facts


def fields_of(source: Source, limits: Limits = DEFAULT) -> list[str]:
    """The fields of the first record, for saying which there are."""
    if callable(content := getattr(source, "questions", None)):
        first = next(iter(content()), None)
        return [name for name, _ in first.facts] if first is not None else []
    for _, record in read_records(source, dict[str, msgspec.Raw], "a JSON object", limits):
        return [name for name in record if name not in _IDS]
    return []


def read_pairs(source: Source, columns: str, limits: Limits = DEFAULT) -> Iterator[tuple[int, str, str]]:
    """(line, first, second) of a table of two columns, parted by a tab or by blanks."""
    name = name_of(source)
    line = 0
    for text in chunks(source, limits):
        text = text.removeprefix(b"\xef\xbb\xbf") if not line else text
        refuse_bom(text, name, line + 1)
        for content in text.splitlines():
            line += 1
            try:
                shown = content.decode()
            except UnicodeDecodeError:
                raise InputError(f"{name}:{line}: expected UTF-8, found {quoted(content)}") from None
            words = shown.split("\t") if "\t" in shown else shown.split()
            if not words:
                continue
            if len(words) != 2:
                raise InputError(
                    f"{name}:{line}: expected 2 columns ({columns}), found {len(words)}: {quoted(content)}"
                )
            yield line, words[0].strip(), words[1].strip()


def read_groups(source: Source, limits: Limits = DEFAULT) -> dict[str, str]:
    """{query: group} of lines `query_id group`."""
    groups: dict[str, str] = {}
    for line, query, group in read_pairs(source, "query_id group", limits):
        if groups.setdefault(query, group) != group:
            raise InputError(
                f"{name_of(source)}:{line}: query {visible(query)} has a group already:"
                f" {visible(groups[query])}"
            )
    return groups


def read_weights(source: Source, limits: Limits = DEFAULT) -> dict[str, float]:
    """{group: weight} of lines `group weight`."""
    weights: dict[str, float] = {}
    for line, group, text in read_pairs(source, "group weight", limits):
        try:
            weight = float(text)
        except ValueError:
            weight = float("nan")
        if not 0 <= weight <= 1:
            raise InputError(
                f"{name_of(source)}:{line}: expected a weight from 0 to 1, found {visible(text)!r}"
            )
        if group in weights:
            raise InputError(f"{name_of(source)}:{line}: {visible(group)} has a weight already")
        weights[group] = weight
    return weights
