"""A run says at its end which tests were skipped, why, and how to run them."""

import ast
import os
import subprocess
import sys
from textwrap import wrap

import pytest
from problems.instances import ROOT

from support.needs import BROWSER, NEEDS, PUBLISHED, reason, skip_without, skipped_lines

TESTS = ROOT / "tests"


def test_skipped_tests_are_grouped_by_what_they_need_with_a_way_to_run_them():
    skipped = [
        ("tests/browser/test_a.py", reason(BROWSER)),
        *[(f"tests/published/test_{i}.py", reason(PUBLISHED, f"no {i}")) for i in range(3)],
        ("tests/commands/test_b.py", reason(PUBLISHED)),
        ("tests/test_c.py", "of another kind"),
    ]
    assert list(skipped_lines(skipped)) == [
        "4 needs published data: tests/published (3), tests/commands (1)",
        *wrap(PUBLISHED.how, 116, initial_indent="    ", subsequent_indent="    "),
        "1 needs chromium: tests/browser (1)",
        f"    {BROWSER.how}",
        "1 of another kind: tests (1)",
    ]
    many = [(f"tests/f{i}/test_a.py", reason(PUBLISHED)) for i in range(9)]
    assert next(skipped_lines(many)).endswith("tests/f3 (1) and 5 more")


def test_a_program_that_is_no_test_ends_with_what_it_needs(monkeypatch):
    """A benchmark run by hand; a skip of pytest's would be a traceback there."""
    monkeypatch.delenv("PYTEST_VERSION")
    with pytest.raises(SystemExit) as ended:
        skip_without(PUBLISHED, "no tables in F")
    assert ended.value.code == f"needs published data: no tables in F\n{PUBLISHED.how}"


def test_what_is_needed_is_told_apart():
    """No need's reason begins as another's."""
    names = [f"{reason(need)}" for need in NEEDS]
    assert not [
        (one, other) for one in names for other in names if one != other and f"{other}: ".startswith(f"{one}: ")
    ]


def test_every_skip_says_what_it_needs():
    """A skip with words of its own would end a run without a way to do better: it goes through support/needs.py."""
    direct = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in TESTS.rglob("*.py")
        if path.name != "needs.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("skip", "importorskip")
        if isinstance(node.value, ast.Name) and node.value.id == "pytest"
    ]
    assert direct == []


def test_a_run_without_the_published_data_ends_with_how_to_have_it(tmp_path):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [*command, "tests/commands/test_importing.py", "-k", "published_scenario or igniter_fits or gpulets_names"],
        cwd=ROOT,
        env={**os.environ, "SLICEPLAN_REFERENCE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tail = done.stdout[done.stdout.index("how to run them") :].splitlines()
    assert tail[1] == "3 needs published data: tests/commands (3)"
    assert "SLICEPLAN_REFERENCE=FOLDER pytest" in tail[2]
