"""The pages of the documentation as text, and what is in them, for the tests of this folder."""

import re
import unicodedata
from pathlib import Path

from problems.instances import ROOT

SITE = ROOT / "docs"

AT_TOP = tuple(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))

PAGES = (*AT_TOP, *sorted(SITE.rglob("*.md")))

FENCED = re.compile(r"^(```+)(\S*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """Returns the blocks of code of one language."""
    return [text for _, found, text in FENCED.findall(page.read_text()) if found == language]


def prose(page: Path) -> str:
    """Returns a page without its blocks of code."""
    return FENCED.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """Returns the names of a page's headings in links."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {_slug(title) for title in titles}


def _slug(title: str) -> str:
    """Returns a heading as repositories and MyST name it in links."""
    plain = unicodedata.normalize("NFKC", re.sub(r"[`*]", "", title)).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
