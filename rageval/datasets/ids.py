"""A word where a file is expected: the file of this name, or the dataset of this id in its place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rageval import hooks
from rageval.errors import InputError, MissingPackage, Place
from rageval.files.opening import STDIN, Source, is_remote, kept
from rageval.names import looks_like_id

if TYPE_CHECKING:
    from rageval.datasets.dataset import Dataset


def dataset_for_id(source: Any, what: str) -> Source | Dataset:
    """Return the file of this name, or the dataset of this id if there is none, which must hold `what`.

    What is neither a path nor an id (an open file, a dataset) stays as it is. `labels` are judgements of
    documents, or else of answers, which are returned as a file of them.
    """
    if not isinstance(source, str | os.PathLike):
        return source  # type: ignore[no-any-return]
    word = str(source)
    if word == STDIN or is_remote(word) or not looks_like_id(word) or os.path.exists(word):
        return source
    return labels_of(word) if what == LABELS else dataset_of(word, what)


LABELS = "labels"


def labels_of(name: str) -> Source | Dataset:
    """Return the dataset whose judgements of documents these are; of answers, a file of them."""
    dataset = dataset_of(name, "")
    if "qrels" in dataset.holds:
        return dataset
    if "judgements" not in dataset.holds:
        raise dataset.lacks("qrels")
    return kept(hooks.records_in_memory(dataset.judgements(), dataset.id))


def dataset_of(name: str, what: str) -> Dataset:
    """Return the dataset of this id; `InputError` says that it is not a file either, or holds no such thing.

    Any will do where `what` it must hold is not said.
    """
    from rageval.datasets.catalogue import UnknownDataset
    from rageval.datasets.dataset import load

    try:
        dataset = load(name)
    except MissingPackage:
        raise InputError(
            at=Place(name),
            problem="no such file",
            remedy="if it is an ir_datasets id: pip install 'rageval[datasets]'",
        ) from None
    except UnknownDataset as error:
        raise InputError(f"no such file, and {error.found}", at=Place(name), remedy=error.remedy) from None
    if what and what not in dataset.holds:
        raise dataset.lacks(what)
    return dataset
