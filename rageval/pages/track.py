"""Pages of a track: one that has the leaderboard, a topic, or a run. Static, escaped, without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from rageval.pages._parts import asset, policy
from rageval.pages.page import _environment, _trusted

_STYLES = ("page.css", "parts.css", "track.css")
_PLACES = 4


def track_page(kind: Literal["index", "topic", "run"], record: Mapping[str, Any]) -> str:
    """Return a page of this kind that shows the record; whatever is text in it is escaped."""
    found: str = _template().render(kind=kind, **record)
    return found


@cache
def _template() -> Any:
    """Return the template, compiled once for hundreds of pages."""
    style = "\n".join(map(asset, _STYLES))
    environment = _environment(_PLACES)
    environment.globals |= {"policy": policy([], style), "style": _trusted(style)}
    return environment.get_template("track.html.jinja")
