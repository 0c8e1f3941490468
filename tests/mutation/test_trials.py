"""A run on a small tree: its tests are followed, and each mutant is tried against those that carry it out."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutation import trials
from mutation.place import Place, can_be_alone
from mutation.report import change_of, read_harmless, report
from mutation.trials import Result, read_results
from problems.instances import ROOT

pytestmark = pytest.mark.skipif(not can_be_alone(), reason="this machine gives no process namespaces (unshare --pid)")

MODULE = '''"""A module."""


def least(a, b):
    if a < 0:
        raise ValueError
    while a < b:
        a += 3
    return a


def unused():
    print(1)


START = 0
if START < 0:
    raise RuntimeError
'''

TESTS = """import subprocess, sys

from sliceplan.solver.small import least


def test_it_counts_up():
    code = "from sliceplan.solver.small import least; print(least(1, 5))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "7\\\\n"


def test_it_fails_anyway():
    assert least(1, 2) == 0
"""


@pytest.fixture
def tree(tmp_path):
    """A tree of one module and two tests, the second of which fails; only a process of the first runs the module."""
    root = tmp_path / "root"
    for name, text in {
        "solver/small.py": MODULE,
        "tests/test_small.py": TESTS.replace("\\\\", "\\"),
        "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
        ".gitignore": "ignored\n__pycache__\n",
        "ignored": "",
    }.items():
        (root / name).parent.mkdir(exist_ok=True, parents=True)
        (root / name).write_text(text)
    for package in ("solver", "agent"):
        (root / package).mkdir(exist_ok=True)
        (root / package / "__init__.py").touch()
    shutil.copytree(ROOT / "tests" / "mutation", root / "tests" / "mutation", ignore=shutil.ignore_patterns("test_*"))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def test_a_run_tells_what_the_tests_see_and_goes_on_where_it_was_left(tree, tmp_path, monkeypatch, capsys):
    from mutation import __main__ as command

    place = Place((tmp_path / "run").resolve())
    place.make(tree)
    assert not (place.tree / "ignored").exists()
    assert place.imports_from_here()
    monkeypatch.setattr(trials, "SPARE_S", 2.0)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(trials, "SLOWER", 1.0)
    words = [
        "mutation",
        str(place.folder),
        "solver/small.py",
        "--count",
        "100",
        "--tests",
        "tests/test_small.py",
    ]
    monkeypatch.setattr(sys, "argv", words)
    command.main()
    text = capsys.readouterr().out
    found = {change_of(result)[1:]: result.outcome for result in read_results(place.folder / "results.jsonl")}
    # It is ended for its time; its test sees no output.
    assert found[("a += 3",), ("pass",)] in ("took too long", "killed")
    assert found[("a += 3",), ("a += 4",)] == "killed"
    assert found[("if a < 0:",), ("if a <= 0:",)] == "survived"
    # With that the file of the tests cannot be imported.
    assert found[("if START < 0:",), ("if START <= 0:",)] == "killed"
    assert found[("raise ValueError",), ("pass",)] == "not executed"
    assert found[("print(1)",), ("pass",)] == "not executed"
    assert "| `solver/small.py` | " in text
    assert "Hole: no test carries this out.\n```diff\n--- a/solver/small.py" in text
    before = (place.folder / "results.jsonl").read_text()
    command.main()
    assert capsys.readouterr().out == text
    assert (place.folder / "results.jsonl").read_text() == before
    assert (place.tree / "solver/small.py").read_text() == MODULE == (tree / "solver/small.py").read_text()


def test_processes_of_a_trial_end_with_it_and_see_no_others(tree, tmp_path):
    place = Place(tmp_path / "run")
    place.make(tree)
    (place.tree / "tests" / "test_alone.py").write_text(
        "import os, subprocess\n\n"
        "def test_alone():\n"
        "    assert len([name for name in os.listdir('/proc') if name.isdigit()]) == 2\n"
        f"    subprocess.Popen(['sleep', '{4321}'], start_new_session=True)\n"
    )
    done = place.pytest(["-q", "tests/test_alone.py"])
    assert done.code == 0, done.output
    lines = [path / "cmdline" for path in Path("/proc").iterdir() if path.name.isdigit()]
    assert not any(b"sleep\04321\0" in line.read_bytes() for line in lines if line.exists())


def test_a_report_counts_what_is_harmless_apart_from_holes(tmp_path):
    patch = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n     a\n-    b = 1\n+    b = 2\n"
    results = [
        Result("1", "x.py", 2, "constant", "survived", "", 3, 0, 1.0, patch),
        Result("2", "x.py", 9, "constant", "survived", "", 3, 2, 1.0, patch.replace("b", "c")),
        Result("3", "x.py", 5, "constant", "killed", "t", 3, 0, 1.0, patch.replace("b", "d")),
        Result("4", "x.py", 5, "constant", "took too long", "", 3, 0, 1.0, patch.replace("b", "e")),
    ]
    known = tmp_path / "harmless.yaml"
    known.write_text("- {file: x.py, before: b = 1, after: b = 2, reason: nobody asks}\n")
    lines = list(report({"x": results}, read_harmless(known)))
    assert "| `x` | 4 | 2 (1 by their time) | 2 | 1 | 1 |" in lines
    assert "Harmless: nobody asks" in lines
    assert "Hole: 3 tests pass all the same, and 2 more were left out." in lines


def test_every_change_that_is_called_harmless_has_its_reason():
    for (file, gone, come), reason in read_harmless().items():
        assert (ROOT / file).is_file()
        assert gone != come
        assert len(reason) > 20
