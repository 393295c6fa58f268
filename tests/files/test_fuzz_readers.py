"""Readers under variants of the corpus; fuzzing that is led by coverage is `make fuzz-readers`."""

from __future__ import annotations

import pytest

from fuzz_readers import CORPUS, READERS, kept, mutated, tried


def test_every_reader_has_a_corpus() -> None:
    assert {path.name for path in CORPUS.iterdir() if path.is_dir()} == set(READERS)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_the_corpus_is_read_or_refused(reader: str) -> None:
    for content in kept(reader):
        tried(reader, content)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_variants_are_read_or_refused(reader: str) -> None:
    for content in mutated(reader, 300, seed=1):
        tried(reader, content)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_what_stands_in_the_corpus_is_mostly_readable(reader: str) -> None:
    """Or variants would only ever try the first lines of a reader."""
    if reader == "servers":  # what they say is read by their SDKs
        pytest.importorskip("openai")
        pytest.importorskip("anthropic")
    refused = 0
    for content in kept(reader):
        try:
            READERS[reader](content)
        except Exception:
            refused += 1
    assert refused < len(kept(reader))
