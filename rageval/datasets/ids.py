"""A word where a file is expected: the file of this name, or the data set of this id in its place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rageval.errors import InputError, MissingPackage
from rageval.files.opening import STDIN, Source, is_remote

if TYPE_CHECKING:
    from rageval.datasets.dataset import Dataset


def looks_like_id(word: str) -> bool:
    """Tell whether a word that names no file may be the id of a data set."""
    return "/" in word and not word.startswith(("/", ".")) and "@" not in word


def standing_for(source: Any, what: str) -> Source | Dataset:
    """Return the file of this name, or the data set of this id if there is none, which must hold `what`.

    What is neither a path nor an id (an open file, a data set) stays as it is.
    """
    if not isinstance(source, str | os.PathLike):
        return source  # type: ignore[no-any-return]
    word = str(source)
    if word == STDIN or is_remote(word) or not looks_like_id(word) or os.path.exists(word):
        return source
    return dataset_of(word, what)


def dataset_of(name: str, what: str) -> Dataset:
    """Return the data set of this id; `InputError` says that it is no file either, or holds no such thing."""
    from rageval.datasets.catalogue import UnknownDataset
    from rageval.datasets.dataset import load

    try:
        dataset = load(name)
    except MissingPackage:
        raise InputError(
            f"{name}: no such file; if it is an ir_datasets id: pip install 'rageval[datasets]'"
        ) from None
    except UnknownDataset as error:
        raise InputError(f"{name}: no such file, and {error.reason}") from None
    if what not in dataset.holds:
        raise dataset.lacks(what)
    return dataset
