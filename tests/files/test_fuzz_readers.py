"""Readers under variants of the corpus; fuzzing that is led by coverage is `make fuzz-readers`."""

from __future__ import annotations

import pytest

from fuzz_readers import READERS, kept, mutated, tried

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("reader", READERS)
def test_the_corpus_is_read_or_refused(reader: str) -> None:
    for content in kept(reader):
        tried(reader, content)


@pytest.mark.parametrize("reader", READERS)
def test_variants_are_read_or_refused(reader: str) -> None:
    for content in mutated(reader, 300, seed=1):
        tried(reader, content)
