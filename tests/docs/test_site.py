"""
The documentation site: it builds without a warning, has all that the program says of itself, and needs no network.

CI builds it before the tests; what is built here is what has changed since.
"""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec

import pytest
from problems.instances import ROOT
from pydantic import BaseModel
from support.needs import SPHINX, skip_without
from typer.testing import CliRunner

from sliceplan.agent.cli import app as sliceplan_agent
from sliceplan.solver import api
from sliceplan.solver.cli import app as sliceplan
from sliceplan.solver.formats.schemas import RECORDS

BUILT = ROOT / "build" / "site"


@pytest.fixture(scope="module")
def site():
    """The folder of the built site."""
    if find_spec("sphinx_immaterial") is None:
        skip_without(SPHINX)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(BUILT)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return BUILT


class Page(HTMLParser):
    """What a page loads, the names in it that links lead to, and the text below each of its headings."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.loads, self.ids, self.sections, self._heading = [], set(), {}, None
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if re.fullmatch("h[1-6]", tag) and "id" in given:
            self._heading = given["id"]
            self.sections[self._heading] = ""
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next", "search", "index", "author"):
            self.loads.append(given.get("href"))
        self.loads += [value for name, value in attrs if name in ("src", "srcset", "data", "poster")]

    def handle_data(self, data):
        if self._heading is not None:
            self.sections[self._heading] += data


def is_elsewhere(address):
    return address is not None and re.match(r"(https?:)?//", address.strip()) is not None


def test_no_page_and_no_style_loads_anything_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    for path in pages:
        assert not [one for one in Page(path).loads if is_elsewhere(one)], path
    for path in site.rglob("*.css"):
        loaded = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", path.read_text())
        assert not [one for pair in loaded for one in pair if is_elsewhere(one)], path


def test_prices_are_no_formulas(site):
    """Two dollars in a line were a formula, with what stands between them in italics."""
    with_formulas = {path.stem for path in site.rglob("*.html") if 'class="math ' in path.read_text()}
    assert with_formulas == {"formulations", "simulation"}


def said_by_help(commands, *words):
    """What `--help` prints, wide enough that nothing is broken."""
    done = CliRunner().invoke(commands, [*words, "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize(
    ("commands", "program", "page"),
    [(sliceplan, "sliceplan", "command-line"), (sliceplan_agent, "sliceplan-agent", "agent-command-line")],
)
def test_the_reference_has_every_command_with_every_option(site, commands, program, page):
    sections = Page(site / "reference" / f"{page}.html").sections
    names = re.findall(r"^│ ([a-z][a-z-]+) ", said_by_help(commands).partition("Commands")[2], re.MULTILINE)
    assert len(names) > 5
    for name in names:
        options = set(re.findall(r"^│ [* ]*(--[a-z-]+)", said_by_help(commands, name), re.MULTILINE))
        assert options, name
        section = sections[f"{program}-{name}"]
        assert not [option for option in options if option not in section], name


@pytest.mark.parametrize("kind", RECORDS)
def test_the_reference_has_every_field_of_every_record(site, kind):
    sections = Page(site / "reference" / f"{kind}-file.html").sections
    waiting: list[type[BaseModel]] = [RECORDS[kind]]
    seen = set(waiting)
    while waiting:
        record = waiting.pop()
        section = sections[record.__name__.lower()]
        for name, field in record.model_fields.items():
            assert name in section, f"{record.__name__}.{name}"
            assert " ".join((field.description or "").replace("`", "").split()) in " ".join(section.split())
            inner = set(records_in(field.annotation)) - seen
            seen |= inner
            waiting += inner
    assert len(seen) > 4


def records_in(annotation):
    """Yields the records that a field's type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from records_in(part)


def test_the_reference_has_all_that_the_front_door_offers(site):
    page = Page(site / "reference" / "python.html")
    assert {"solve", "compare", "price", "headroom", "shed"} <= set(api.__all__)
    assert not [name for name in api.__all__ if f"{api.__name__}.{name}" not in page.ids]


@pytest.mark.browser
def test_the_site_is_read_from_disk_without_a_network(site, browser):
    """Pictures are drawn and the search finds, with nothing asked of any server."""
    asked, errors = [], []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / "architecture.html").as_uri())
    page.locator(".mermaid-diagram").first.scroll_into_view_if_needed()
    page.locator("div.mermaid").first.wait_for()
    page.goto((site / "explanation" / "formulations.html").as_uri())
    page.locator("mjx-container").first.wait_for(state="attached")
    page.get_by_role("textbox", name="Search").first.click()
    page.keyboard.type("spare")
    page.locator(".md-search-result__item").first.wait_for()
    page.close()
    assert asked
    assert not [address for address in asked if not address.startswith(("file:", "data:", "blob:"))]
    assert not errors
