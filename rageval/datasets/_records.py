"""Documents and queries as ir_datasets hands them out.

Its exporters look at the types of the fields, which must not be strings: no postponed annotations here.
"""

from typing import NamedTuple, Tuple  # noqa: UP035


class Document(NamedTuple):
    """A passage or chunk of a collection."""

    doc_id: str
    text: str
    title: str = ""

    def default_text(self) -> str:
        """Title and text."""
        return f"{self.title} {self.text}".strip()


class WebPage(NamedTuple):
    """A page that a search engine found for a question; `text` is HTML."""

    doc_id: str
    text: str
    title: str = ""
    url: str = ""
    snippet: str = ""
    last_modified: str = ""

    def default_text(self) -> str:
        """Title, snippet and page."""
        return " ".join(filter(None, (self.title, self.snippet, self.text)))


class NuggetQrel(NamedTuple):
    """How well a document supports a nugget, which is the `iteration`."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str


class TopicQuery(NamedTuple):
    """What is asked."""

    query_id: str
    text: str

    def default_text(self) -> str:
        """Return the question."""
        return self.text


class StackOverflowQuery(NamedTuple):
    """A question of Stack Overflow, title and body, and its accepted answer."""

    query_id: str
    text: str
    answer: str

    def default_text(self) -> str:
        """Return the question."""
        return self.text


class CragQuery(NamedTuple):
    """A question of CRAG, the answers that are right, and its categories."""

    query_id: str
    text: str
    answer: str
    alternatives: Tuple[str, ...]  # noqa: UP006
    domain: str
    question_type: str
    static_or_dynamic: str
    popularity: str
    split: str
    query_time: str

    def default_text(self) -> str:
        """Return the question."""
        return self.text


class LiveRagQuery(NamedTuple):
    """A question of LiveRAG, its answer, the session it was asked in, and how hard it is (high: hard)."""

    query_id: str
    text: str
    answer: str
    session: str
    difficulty: str

    def default_text(self) -> str:
        """Return the question."""
        return self.text
