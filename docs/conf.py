"""How Sphinx makes the documentation site: `sphinx-build -W docs build/site`."""

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx_immaterial.mermaid_diagrams import MermaidDirective

from sliceplan.agent.cli import app as agent_commands
from sliceplan.solver.cli import app as commands
from sliceplan.solver.formats.schemas import schema_text

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

# Sphinx runs this file from anywhere, and `reference_pages` lies beside it: it is found from here on only.
from reference_pages.command_line import command_line  # noqa: E402 (found from the line above on)
from reference_pages.file_format import file_format  # noqa: E402 (the same)

project = "sliceplan"
release = version = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]["version"]
author = "the sliceplan authors"
copyright = author
language = "en"
highlight_language = "text"
smartquotes = False  # `--` is the beginning of an option, and nothing else

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_immaterial"]
exclude_patterns = ["reference_pages"]

# Markdown as repositories show it too: headings are link targets, ```mermaid is a picture, $...$ a formula.
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
# Prices are no formulas: from $1 to $2.
myst_dmath_allow_digits = False
myst_dmath_allow_space = False
myst_fence_as_directive = ["mermaid"]

# Docstrings have numpydoc's sections, types in the annotations, and code between single backticks.
napoleon_google_docstring = False
napoleon_use_rtype = False
default_role = "literal"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
add_module_names = False
object_description_options = [
    ("py:.*", {"include_fields_in_toc": False}),
    ("py:parameter", {"include_in_toc": False}),
]
maximum_signature_line_length = 80

html_theme = "sphinx_immaterial"
html_title = f"sliceplan {release}"
html_favicon = "../app/icon.svg"
html_logo = "../app/icon.svg"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    # The fonts of the reader's machine: nothing is fetched, neither when the site is made nor when it is read.
    "font": False,
    "features": ["navigation.sections", "navigation.top", "navigation.footer", "toc.follow", "content.code.copy"],
    "toc_title": "On this page",
    "palette": [
        {
            "media": "(prefers-color-scheme: light)",
            "scheme": "default",
            "primary": "teal",
            "accent": "teal",
            "toggle": {"icon": "material/weather-night", "name": "Dark"},
        },
        {
            "media": "(prefers-color-scheme: dark)",
            "scheme": "slate",
            "primary": "teal",
            "accent": "teal",
            "toggle": {"icon": "material/weather-sunny", "name": "Light"},
        },
    ],
}

GENERATED: dict[str, Callable[[], str]] = {
    "reference/command-line": lambda: command_line(commands),
    "reference/agent-command-line": lambda: command_line(agent_commands),
    "reference/problem-file": lambda: file_format(json.loads(schema_text("problem"))),
    "reference/plan-file": lambda: file_format(json.loads(schema_text("plan"))),
    "reference/profile-file": lambda: file_format(json.loads(schema_text("profile"))),
    "reference/transition-file": lambda: file_format(json.loads(schema_text("transition"))),
    "reference/simulation-file": lambda: file_format(json.loads(schema_text("simulation"))),
}
"""What follows the words of a page of the reference: from the program itself, so that it is never out of date."""


def _with_generated(_: Sphinx, page: str, source: list[str]) -> None:
    if page in GENERATED:
        source[0] += "\n" + GENERATED[page]()


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_directive("mermaid", MermaidDirective)
    app.connect("source-read", _with_generated)
