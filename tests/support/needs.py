"""
What some tests need that a machine can lack: why it is not there, and how to run the tests that were skipped for it.

Every skip goes through here, so that the end of a run can tell what to do about each (conftest.py).
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from textwrap import wrap

import pytest


@dataclass(frozen=True)
class Need:
    """Something that tests need."""

    name: str
    """What it is; begins the reason of every skip for want of it."""
    how: str
    """How to run these tests, and why they are not run without."""


PUBLISHED = Need(
    "published data",
    "It belongs to the papers and is no part of the repository. SLICEPLAN_REFERENCE=FOLDER pytest: FOLDER has "
    "parvagpu/ (prof_data and SLO of the SC'24 artifact), igniter/ (v100_profile.jsonl, v100_gpulet_profile.jsonl), "
    "veltair/ (layer times and shapes), glet/ and gpulet_a100/ (gpu-lets' profiles), inss/ and gpus.json.",
)
BROWSER = Need("chromium", "apt-get install chromium, or `sh .ci/test`, which installs it and runs everything.")
POSTGRESQL = Need("PostgreSQL", "apt-get install postgresql, or `sh .ci/test`.")
SYSTEMD = Need("systemd-analyze", "apt-get install systemd.")
OPENSSL = Need("openssl", "apt-get install openssl.")
ROOT_USER = Need("root", "Only root can give files away: run pytest as root, as in a container.")
NO_GPU = Need("a machine without a GPU", "They are about what the agent says where there is none.")
TWO_CASES = Need(
    "a file system that tells upper from lower case", "They are about files whose names differ in it alone."
)
AXE = Need("axe", "pip install axe-playwright-python, which `sh .ci/test` does.")
DISTRIBUTED = Need("distributed", "pip install 'sliceplan[cluster]'.")
SPHINX = Need("Sphinx", "pip install 'sliceplan[docs]'.")

CGROUPS = Need(
    "systemd and cgroup v2 with the cpuset controller, as root",
    "Run pytest as root on a machine that systemd has booted, not in a container.",
)

NEEDS = (
    PUBLISHED,
    BROWSER,
    POSTGRESQL,
    SYSTEMD,
    OPENSSL,
    ROOT_USER,
    NO_GPU,
    TWO_CASES,
    AXE,
    DISTRIBUTED,
    SPHINX,
    CGROUPS,
)

MOST_PLACES = 4
"""Folders and files that are named for one need."""


def reason(need: Need, detail: str = "") -> str:
    """Returns the reason of a skip."""
    return f"needs {need.name}{f': {detail}' if detail else ''}"


def skip_without(need: Need, detail: str = "", *, module: bool = False) -> None:
    """Skips the test, or the whole module, and ends a benchmark run by hand; `detail` says what is missing where."""
    if "PYTEST_VERSION" not in os.environ:  # which pytest sets while it runs
        raise SystemExit(f"{reason(need, detail)}\n{need.how}")
    pytest.skip(reason(need, detail), allow_module_level=module)


def skipped_lines(skipped: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields what to print of skipped tests, each given by its file and the reason: by need, the most tests first."""
    found: dict[tuple[str, str], list[str]] = {}
    for file, why in skipped:
        need = next((one for one in NEEDS if why == reason(one) or why.startswith(f"{reason(one)}: ")), None)
        found.setdefault((reason(need), need.how) if need else (why, ""), []).append(file)
    for (why, how), files in sorted(found.items(), key=lambda group: -len(group[1])):
        yield f"{len(files)} {why}: {_places(files)}"
        yield from wrap(how, 116, initial_indent="    ", subsequent_indent="    ")


def _places(files: list[str]) -> str:
    """Returns the folders with how many of the tests each has, the first of them."""
    folders: dict[str, int] = {}
    for file in files:
        folder = str(PurePath(file).parent)
        folders[folder] = folders.get(folder, 0) + 1
    shown = [f"{folder} ({count})" for folder, count in sorted(folders.items(), key=lambda one: -one[1])]
    more = f" and {len(shown) - MOST_PLACES} more" if len(shown) > MOST_PLACES else ""
    return ", ".join(shown[:MOST_PLACES]) + more
