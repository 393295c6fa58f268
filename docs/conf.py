"""The site: `sphinx-build -W docs site`. Nothing is fetched, neither by the build nor by the pages."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# This copy of rageval, `making`, the helper that runs snippets, and what other tools do differently.
sys.path[:0] = [str(ROOT), str(ROOT / "docs"), str(ROOT / "tests"), str(ROOT / "tests/peers")]

from rageval.version import __version__  # noqa: E402

project = "rageval"
author = "The rageval authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "making"]
napoleon_google_docstring = False  # a measure's page has a form of its own
exclude_patterns = ["measures.md"]  # for people who read the repository; the site has a page a measure
default_role = "code"  # docstrings write `names` as Markdown does
smartquotes = False  # would make one dash of the two in --options
nitpicky = True
nitpick_ignore_regex = [
    ("py:(class|exc)", r".*"),
    ("py:obj", r"typing\.Literal.*"),
]  # types in signatures, of which few have a place on the page

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

myst_heading_anchors = 3

html_theme = "furo"
html_title = f"rageval {version}"
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_logo = html_favicon = "assets/logo.svg"
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {"color-brand-primary": "#0b6e75", "color-brand-content": "#0b6e75"},
    "dark_css_variables": {"color-brand-primary": "#4fc3c7", "color-brand-content": "#4fc3c7"},
}
copybutton_exclude = ".linenos, .gp, .go"  # a session is copied without prompts and output
