"""Cutting a text before it is shown, as some sources do: to so many words, or tokens of their tokenizer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rageval.errors import InputError, MissingPackage
from rageval.judges._rubric_file import Trim

_WORD = re.compile(r"\S+")


def trimmed(trim: Trim | None, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data with what the rule cuts cut.

    >>> dict(trimmed(Trim("answer", words=2), {"answer": "one  two three"}))
    {'answer': 'one  two'}
    """
    if trim is None or not isinstance(data.get(trim.field), str):
        return data
    text = data[trim.field]
    return {**data, trim.field: (_words(text, trim) if trim.words else _tokens(text, trim)).strip()}


def _words(text: str, trim: Trim) -> str:
    places = [match.end() for _, match in zip(range(trim.words or 0), _WORD.finditer(text), strict=False)]
    return text[: places[-1]] if places else ""


def _tokens(text: str, trim: Trim) -> str:
    """Return the text of the first tokens; a beginning that a tokenizer adds to every text is not counted."""
    tokenizer = _tokenizer(str(trim.tokenizer))
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return str(tokenizer.decode(ids[: trim.tokens]))


@cache
def _tokenizer(path: str) -> Any:
    if find_spec("tokenizers") is None:
        raise MissingPackage("tokenizers", f"cutting by the tokenizer {path}")
    try:
        return import_module("tokenizers").Tokenizer.from_file(path)
    except Exception as error:  # of a library in another language, which says no kind
        raise InputError(f"{path}: cannot be read as a tokenizer (tokenizer.json): {error}") from None
