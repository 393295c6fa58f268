"""The kinds of reply a rubric may ask for: the schema that is sent, and the reading of what comes back.

Every kind gives verdicts: what is said of one aspect, ready to become a judgement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rageval.judges.replies import Invalid, by_id, label_of, list_of, number_of, text_of

Ids = tuple[str, ...]
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one aspect (or item) of the task; `id` is "" where there is only one."""

    id: str = ""
    label: str | None = None
    grade: float | None = None
    evidence: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """What a rubric lets a judge say: labels with their grades, or numbers in a range by name."""

    labels: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]
    most: int = 30  # texts in a list

    @property
    def names(self) -> Ids:
        """The labels, in the rubric's order."""
        return tuple(self.labels)


@dataclass(frozen=True, slots=True)
class Kind:
    """How a reply is asked for and read; `ids` are those of the nuggets, documents or answers shown."""

    name: str
    schema: Callable[[Scale, Ids], Schema]
    read: Callable[[dict[str, Any], Scale, Ids], list[Verdict]]


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT: Schema = {"type": "string"}


def _one_of(names: Ids) -> Schema:
    return {"type": "string", "enum": list(names)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _label_schema(scale: Scale, ids: Ids) -> Schema:
    return _object({"evidence": _TEXT, "reason": _TEXT, "label": _one_of(scale.names)})


def _read_label(reply: dict[str, Any], scale: Scale, ids: Ids) -> list[Verdict]:
    return [_verdict(reply, scale)]


def _labels_schema(scale: Scale, ids: Ids) -> Schema:
    verdict = _object({"id": _one_of(ids), "evidence": _TEXT, "label": _one_of(scale.names)})
    return _object({"verdicts": _list(verdict)})


def _read_labels(reply: dict[str, Any], scale: Scale, ids: Ids) -> list[Verdict]:
    found = by_id(list_of(reply, "verdicts"), ids, "item")
    return [_verdict(item, scale, name) for name, item in found.items()]


def _verdict(item: dict[str, Any], scale: Scale, name: str = "") -> Verdict:
    label = label_of(item, "label", scale.names)
    return Verdict(name, label, scale.labels[label], text_of(item, "evidence"), text_of(item, "reason"))


def _grades_schema(scale: Scale, ids: Ids) -> Schema:
    return _object({"reason": _TEXT, **{name: {"type": "number"} for name in scale.ranges}})


def _read_grades(reply: dict[str, Any], scale: Scale, ids: Ids) -> list[Verdict]:
    reason = text_of(reply, "reason")
    return [
        Verdict(name, None, number_of(reply, name, low, high), None, reason)
        for name, (low, high) in scale.ranges.items()
    ]


def _matrix_schema(scale: Scale, ids: Ids) -> Schema:
    documents, nuggets = _parted(ids)
    row = _object({"id": _one_of(documents), "supports": _list(_one_of(nuggets))})
    return _object({"documents": _list(row)})


def _read_matrix(reply: dict[str, Any], scale: Scale, ids: Ids) -> list[Verdict]:
    """A verdict a document and nugget, its id being both, parted by a tab."""
    documents, nuggets = _parted(ids)
    yes, no = scale.names[:2]
    verdicts = []
    for document, row in by_id(list_of(reply, "documents"), documents, "document").items():
        supported = list_of(row, "supports")
        strange = [name for name in supported if name not in nuggets]
        if strange or len(set(supported)) < len(supported):
            raise Invalid(f"{document}: expected ids of nuggets, each once, found {supported!r:.80}")
        for nugget in nuggets:
            label = yes if nugget in supported else no
            verdicts.append(Verdict(f"{document}\t{nugget}", label, scale.labels[label]))
    return verdicts


def _parted(ids: Ids) -> tuple[Ids, Ids]:
    """Ids of documents and of nuggets, which stand behind an empty one."""
    border = ids.index("")
    return ids[:border], ids[border + 1 :]


def _texts(name: str, key: str) -> Kind:
    """A list of different texts under this key."""

    def schema(scale: Scale, ids: Ids) -> Schema:
        return _object({key: _list(_TEXT)})

    def read(reply: dict[str, Any], scale: Scale, ids: Ids) -> list[Verdict]:
        texts = list_of(reply, key)
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise Invalid(f"{key}: expected a list of texts, found {texts!r:.80}")
        if len({text.strip().casefold() for text in texts}) < len(texts):
            raise Invalid(f"{key}: a text stands twice")
        if len(texts) > scale.most:
            raise Invalid(f"{key}: expected at most {scale.most}, found {len(texts)}")
        return [Verdict(text.strip()) for text in texts]

    return Kind(name, schema, read)


def _text_schema(scale: Scale, ids: Ids) -> Schema:
    return _object({"text": _TEXT})


def _read_text(reply: dict[str, Any], scale: Scale, ids: Ids) -> list[Verdict]:
    text = text_of(reply, "text")
    if text is None or not text.strip():
        raise Invalid(f"text: expected a text, found {reply.get('text')!r:.80}")
    return [Verdict(text.strip())]


def _permutation_schema(scale: Scale, ids: Ids) -> Schema:
    return _object({"ranking": _list(_one_of(ids))})


def _read_permutation(reply: dict[str, Any], scale: Scale, ids: Ids) -> list[Verdict]:
    ranking = list_of(reply, "ranking")
    if sorted(map(str, ranking)) != sorted(ids):
        raise Invalid(f"ranking: expected each of {', '.join(ids)} once, found {ranking!r:.80}")
    return [Verdict(name, None, float(place)) for place, name in enumerate(ranking, 1)]


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("label", _label_schema, _read_label),
        Kind("labels", _labels_schema, _read_labels),
        Kind("grades", _grades_schema, _read_grades),
        Kind("matrix", _matrix_schema, _read_matrix),
        _texts("texts", "nuggets"),
        _texts("queries", "queries"),
        Kind("text", _text_schema, _read_text),
        Kind("permutation", _permutation_schema, _read_permutation),
    )
}
