"""A report as a page: one file with its styles, scripts and numbers, which asks for nothing from outside.

The browser runs the two scripts whose hashes stand in the page's policy, and nothing else.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rageval.errors import InputError, MissingPackage
from rageval.report.tables import tables
from rageval.text import visible

if TYPE_CHECKING:
    import jinja2

EARLIER = "earlier result"  # what an input is called that was printed by a command
OPENING = '<script type="application/json" id="report">'
CLOSING = "</script>"
_CHARTS = "chart.js"
_SCRIPTS = ("basics.js", "table.js", "charts.js", "differences.js", "matrix.js", "page.js")
_STYLES = ("page.css", "parts.css")
_TEMPLATE = "page.html.jinja"
_OPTIONAL = dict.fromkeys(("comparison", "queries", "slices", "matrices", "judging", "spending", "topics"))
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def page(report: Mapping[str, Any], places: int = 4) -> str:
    """The page that shows this report."""
    environment = _environment(places)
    charts = asset(_CHARTS).rpartition("//# sourceMappingURL")[0].strip()
    scripts = [charts, "\n".join(['"use strict";', *map(asset, _SCRIPTS)])]
    style = "\n".join(map(asset, _STYLES))
    return environment.get_template(_TEMPLATE).render(
        report={**_OPTIONAL, **report},
        tables=tables(report),
        places=places,
        policy=policy(scripts, style),
        style=_trusted(style),
        scripts=[_trusted(script) for script in scripts],
        block=_trusted(OPENING + as_block(report) + CLOSING),
    )


def page_of_others(report: Mapping[str, Any], places: int = 4) -> str:
    """The page of a report that may come from a file: `InputError` if that lacks what a page shows."""
    from jinja2 import UndefinedError

    read = [each["name"] for each in report["provenance"]["inputs"] if each["role"] == EARLIER]
    try:
        return page(report, places)
    except (UndefinedError, AttributeError, KeyError, TypeError, ValueError) as error:
        if not read:
            raise
        raise InputError(
            f"{', '.join(read)}: holds only a part of what rageval printed, or something else in its place"
            f" ({error!s:.200}); print it again with --format json"
        ) from None


def as_block(report: Mapping[str, Any]) -> str:
    r"""The report as JSON in which nothing can end the block it stands in.

    >>> as_block({"title": "</script>"})
    '{"title":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(report, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def policy(scripts: list[str], style: str) -> str:
    """What the browser may do: run these scripts, use this style; load nothing, send nothing."""
    return "; ".join(
        [
            "default-src 'none'",
            "script-src " + " ".join(map(_hash, scripts)),
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


@cache
def asset(name: str) -> str:
    """A file that goes into the page."""
    return (files("rageval.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _environment(places: int) -> jinja2.Environment:
    """Templates that escape whatever is not known to be safe, and make hidden characters visible."""
    require_engine()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {"number": lambda value: _number(value, places), "p": _p}
    return environment


def _shown(value: Any) -> Any:
    """What a template prints: nothing for None, and every hidden character of a text."""
    if value is None:
        return ""
    return visible(value) if type(value) is str else value


def _trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1e}" if value < 0.001 else f"{value:.4f}"


def require_engine() -> None:
    """`MissingPackage` unless the template engine is installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise MissingPackage("jinja2", "rageval report", extra="report") from None
