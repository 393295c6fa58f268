"""What the site makes of the code, as a Sphinx extension; and the examples, which must be true.

Each measure, command and Python object has a page, in the folders `measures`, `commands` and `api`. Elsewhere
`<!-- made: NAME -->` stands for a part that is made, and `{formula}` fences a formula.
"""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

from making import api, checks, commands, formulas, measures, papers, programs

FOLDERS = {"measures": measures.pages, "commands": commands.pages, "api": api.pages}
PARTS = {
    "objects": api.index,
    "software": papers.software,
    "papers": papers.everything,
    "programs": programs.everything,
}
LAZY = ("rageval.building", "rageval.comparison", "rageval.datasets", "rageval.judges")


class Untrue(SphinxError):
    """An example does not do what the page says."""

    category = "An example is not true"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("run_examples", True, "")
    app.connect("builder-inited", check)
    app.connect("builder-inited", write)
    app.connect("builder-inited", load)
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", mark_code)
    app.connect("html-page-context", open_own_branch, priority=400)  # the theme draws at 500
    app.add_directive("formula", formulas.Formula)
    return {"parallel_read_safe": True}


def check(app: Sphinx) -> None:
    """Nothing is built as long as an example is wrong."""
    if app.config.run_examples and (mistakes := checks.mistakes(Path(app.srcdir))):
        raise Untrue("\n\n".join(mistakes))


def write(app: Sphinx) -> None:
    """Write the pages that changed, so that only these are read again, and none that should be gone."""
    for name, pages in FOLDERS.items():
        folder = Path(app.srcdir) / name
        texts = pages()
        if folder.is_dir() and {path.stem for path in folder.iterdir()} - texts.keys():
            shutil.rmtree(folder)
        folder.mkdir(exist_ok=True)
        for page, text in texts.items():
            path = folder / f"{page}.md"
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def load(app: Sphinx) -> None:
    """Names that are imported when they are first used have no page before."""
    for module in map(import_module, LAZY):
        for name in module.__all__:
            getattr(module, name)


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put what is made where a page asks for it."""
    source[0] = re.sub(r"<!-- made: (\w+) -->", lambda found: PARTS[found[1]](), source[0])


def open_own_branch(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Open only this page's branch in the sidebar: the theme's whole tree takes two thirds of a build."""
    if whole := context.get("toctree"):
        context["toctree"] = lambda **how: whole(**how | {"collapse": True})


def mark_code(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Indented paragraphs of a docstring are code, as in Markdown."""
    text = "\n".join(lines)
    lines[:] = re.sub(r"(?<=\S\n\n)(?= {4}\w)", ".. code-block:: python\n\n", text).split("\n")
