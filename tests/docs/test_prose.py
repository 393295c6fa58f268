"""The check of the language finds what it should, and what people read passes it."""

from __future__ import annotations

from pathlib import Path

import pytest

import prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The data sets of a track.", "data sets"),
        ("A quote stands nowhere.", "stands nowhere"),
        ("Runs that people labeled.", "people labeled"),
        ("Use `data set` as a name.", None),
        ("See [the page](labeling.md).", None),
        ("rooms: the parameter", None),
        ("A dataset, labeled by its author.", None),
    ],
)
def test_phrases_are_found_in_prose_alone(text: str, expected: str | None) -> None:
    assert next((phrase for phrase, _ in prose.banned(text)), None) == expected


def test_blocks_and_tables_are_no_prose(tmp_path: Path) -> None:
    page = (
        "# A title\n\nOne line\nand another.\n\n```sh\ndata set\n```\n\n"
        "| a data set |\n\n* an item\n* one more\n"
    )
    assert [(text.kind, text.line, text.text) for text in prose.paragraphs(tmp_path, page)] == [
        ("titles", 1, "# A title"),
        ("docs", 3, "One line and another."),
        ("docs", 12, "an item"),
        ("docs", 13, "one more"),
    ]


def test_messages_help_and_public_docstrings_are_read(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        'def shown(count):\n    """Show it."""\n'
        '    raise InputError(f"{count} data sets" + " are missing")\n\n'
        "def _own():\n"
        '    """Data sets."""\n    option(help="The data sets.")\n    other("data sets here")\n',
        "utf-8",
    )
    assert [(text.kind, text.text) for text in prose.literals(module)] == [
        ("docstrings", "Show it."),
        ("messages", "X data sets are missing"),
        ("help", "The data sets."),
    ]


def test_the_lengths_of_sentences_are_counted() -> None:
    texts = [prose.Text("docs", Path(), 1, "One two three. Four five six seven `a b`? Short one.")]
    assert prose.lengths(texts)[:2] == (2, 4)
