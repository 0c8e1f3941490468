"""What the pages name exists: files, folders, headings; and the README stays what a newcomer reads in five minutes."""

import re
import tomllib

import pytest
from problems.instances import ROOT
from support.doc_pages import PAGES, anchors, blocks, prose
from test_structure import SOLVER

LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")

GENERATED = {"problem-file.md", "plan-file.md", "profile-file.md", "transition-file.md"}
"""Pages with headings from the program; Sphinx checks links to these."""

TOPS = ("agent", "app", "docs", "plans", "profiles", "solver", "tests")

NAMED = re.compile(rf"`((?:{'|'.join(TOPS)})(?:/[\w.\-]+)*/?)`")


def label(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_lead_to_files_and_headings_that_exist(page):
    for target in LINK.findall(prose(page)):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{label(page)}: {target}"
        if heading and file.suffix == ".md" and file.name not in GENERATED:
            assert heading in anchors(file), f"{label(page)}: {target}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=label)
def test_files_and_folders_that_are_named_exist(page):
    """Of a file that a change would add (NAME) the folder exists."""
    for named in NAMED.findall(prose(page)):
        path = named.partition("NAME")[0].rstrip("/") if "NAME" in named else named
        assert (ROOT / path).exists(), f"{label(page)} names {named}"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_modules_that_are_named_exist(page):
    for named in set(re.findall(r"\bsliceplan(?:\.[a-z_]+)+\b", page.read_text())):
        path = ROOT.joinpath(*named.split(".")[1:])
        within = (path, path.with_suffix(".py"), path.parent, path.parent.with_suffix(".py"))
        assert any(one.exists() and one != ROOT for one in within), f"{label(page)} names {named}"


CHANGES = (
    "A planner",
    "A GPU board",
    "An export",
    "A latency rule",
    "An interference model",
    "An objective",
    "A chart",
    "A screen",
    "An import",
    "A journal step",
)


def test_each_of_the_ten_changes_names_the_files_to_touch():
    text = (ROOT / "docs" / "architecture.md").read_text().partition("\n## Ten changes\n")[2]
    sections = dict(section.split("\n", 1) for section in text.split("\n### ")[1:])
    assert tuple(sections) == CHANGES
    for title, section in sections.items():
        to_touch = section.strip().split("\n\n")[0]
        paths = NAMED.findall(to_touch)
        assert len(paths) >= 3, title
        assert any(path.startswith("tests/") for path in paths) or title in ("A latency rule", "An objective"), title


def test_the_architecture_names_every_room():
    """Every package of the solver, and every folder at the top, has its words there."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = [path.parent for path in (ROOT / "solver").glob("*/__init__.py")]
    for room in rooms:
        assert f"`solver/{room.name}`" in text, room
    for top in ("agent", "app", "plans", "profiles", "tests"):
        assert f"`{top}`" in text, top


def test_the_picture_of_the_rooms_has_the_arrows_of_the_imports():
    """Each arrow is one that tests/test_structure.py allows: a room of the solver knows the other."""
    picture = blocks(ROOT / "docs" / "architecture.md", "mermaid")[0]
    rooms = dict(re.findall(r"(\w+)\[\"([\w/]+?)/?<br>", picture))
    arrows = re.findall(r"^ *(\w+)(?:\[.*?\])? --> (\w+)", picture, re.MULTILINE)
    assert len(arrows) > 12
    for one, other in arrows:
        if rooms[one].startswith("solver/") and rooms[other].startswith("solver/"):
            known = SOLVER[rooms[one].removeprefix("solver/")]
            assert rooms[other].removeprefix("solver/") in known, f"{rooms[one]} --> {rooms[other]}"
        else:
            assert (ROOT / rooms[one]).is_dir(), rooms[one]
            assert (ROOT / rooms[other]).is_dir(), rooms[other]


def test_the_readme_is_short_and_its_example_is_a_shipped_problem():
    readme = ROOT / "README.md"
    assert len(readme.read_text().splitlines()) <= 200
    shipped = {line.rstrip() for line in (ROOT / "plans" / "mixed.yaml").read_text().splitlines()}
    (example,) = blocks(readme, "yaml")
    lines = [line.partition("  #")[0].rstrip() for line in example.splitlines()]
    assert len(lines) > 5
    assert not set(lines) - shipped - {"…"}


def test_the_changelog_begins_with_the_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    # Above it there may be what is not released yet.
    first = re.search(r"^## (?!Unreleased$)(\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first[1] == version
