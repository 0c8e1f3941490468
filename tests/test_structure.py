"""The tree keeps the arrows of its imports, its package list and its generated files."""

import ast
import re
import subprocess
import sys
import tomllib

import pytest
from instances import ROOT

from sliceplan.solver.formats.schemas import RECORDS, schema_text

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# Who may import whom, by folder or module below solver/.
ALLOWED = {
    "model": {"model"},
    "performance": {"model", "performance"},
    "formats": {"model", "performance", "geometry", "formats"},
    "check": {"model", "performance", "caveats", "digest", "plan_columns", "check"},
    "plan_columns": {"model"},
    "caveats": {"model"},
    "differences": {"model", "differences"},
    "metrics": {"model", "performance", "geometry", "plan_columns"},
    "waste": {"model", "metrics", "plan_columns"},
    "geometry": {"model"},
    "exact": {"model", "performance", "geometry", "deadline", "decided", "exact", "progress"},
    "capacity": {"model", "performance", "decided", "exact", "planners", "incumbent", "progress"},
    "pricing": {"model", "performance", "exact"},
    "planners": {
        "model",
        "performance",
        "geometry",
        "assembly",
        "decided",
        "exact",
        "incumbent",
        "planners",
        "progress",
    },
    "workers": {"incumbent", "progress", "workers"},
    "sweeps": {"api", "digest", "incumbent", "model", "performance", "pricing", "progress", "sweeps", "workers"},
    "decided": {"performance"},
    "deadline": set(),
    "incumbent": {"deadline"},
    "progress": set(),
    "replan": {"model", "performance", "assembly", "decided", "exact", "incumbent"},
    "transition": {"model", "performance", "geometry", "transition"},
    "transition_text": {"model"},
    "transition_risks": {"model", "transition", "transition_text"},
}


# The same below agent/; what is not listed (command line, configuration) may import all of these.
AGENT = {
    "model": {"model"},
    "durable_files": {"model"},
    "ownership": {"model"},
    "guarded_folder": {"durable_files", "ownership"},
    "processes": {"model"},
    "trust": {"model", "durable_files", "guarded_folder", "ownership", "trust"},
    "services": {"model", "guarded_folder", "processes", "trust", "services"},
    "devices": {"model", "durable_files", "processes", "services", "devices"},
    "transition": {"model", "durable_files", "guarded_folder", "ownership", "devices", "transition"},
    "showing": {"model", "devices", "transition", "showing"},
}


# The same below app/: what is above Streamlit (screens, parts) and what does not know it (tables, charts).
APP = {
    "store": {"store"},
    "jobs": {"jobs"},
    "tables": {"store", "tables"},
    "charts": {"charts"},
    "session": {"jobs", "store", "tables", "session"},
    "access": {"access", "store"},
    "report": {"charts", "report"},
    "parts": {"access", "charts", "jobs", "parts", "report", "session", "store", "tables"},
}


def imported(path):
    """Yields the absolute names of the project's modules that a file imports."""
    package = ("sliceplan", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("sliceplan"))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module.startswith("sliceplan"):
                yield from (f"{module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_within_the_solver_point_one_way(part):
    folder = ROOT / "solver" / part
    files = folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    for path in files:
        for name in imported(path):
            parts = name.split(".")
            assert parts[1] == "solver", f"{path} imports {name}"
            assert parts[2] in ALLOWED[part], f"{path} imports {name}"


def test_the_agent_imports_nothing_of_the_solver_but_its_model():
    for path in (ROOT / "agent").rglob("*.py"):
        for name in imported(path):
            assert name.startswith(("sliceplan.agent", "sliceplan.solver.model")), f"{path} imports {name}"


@pytest.mark.parametrize("part", AGENT)
def test_imports_within_the_agent_point_one_way(part):
    folder = ROOT / "agent" / part
    files = folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    for path in files:
        for name in imported(path):
            parts = name.split(".")
            assert parts[1] != "agent" or parts[2] in AGENT[part], f"{path} imports {name}"


@pytest.mark.parametrize("part", APP)
def test_imports_within_the_page_point_one_way(part):
    for path in (ROOT / "app" / part).rglob("*.py"):
        for name in imported(path):
            parts = name.split(".")
            assert parts[1] != "app" or parts[2] in APP[part], f"{path} imports {name}"


@pytest.mark.parametrize("part", ["charts", "jobs", "report", "store", "tables"])
def test_what_streamlit_shows_does_not_know_it(part):
    for path in (ROOT / "app" / part).rglob("*.py"):
        assert "streamlit" not in path.read_text(), path


WRITES = re.compile(r"app\.store\.(problems|plans|sweeps)\.(save|restore|archive|unarchive)_")


def test_only_what_asks_for_the_role_writes_to_the_store():
    for path in (ROOT / "app").rglob("*.py"):
        inside = path.relative_to(ROOT / "app").parts[0]
        if inside != "store" and path.name != "writing.py":
            assert not [name for name in imported(path) if WRITES.search(name)], path
            # A module of the store as a whole would be a way around.
            modules = ("problems", "plans", "sweeps", "tables", "transactions")
            assert not {f"sliceplan.app.store.{module}" for module in modules} & set(imported(path)), path


def test_no_part_of_the_solver_imports_the_page():
    for path in (ROOT / "solver").rglob("*.py"):
        assert not [name for name in imported(path) if name.startswith("sliceplan.app")], path


def test_only_the_command_line_imports_its_commands():
    commands = ROOT / "solver" / "commands"
    for path in (ROOT / "solver").rglob("*.py"):
        if path.name != "cli.py" and commands not in path.parents:
            assert not [name for name in imported(path) if name.startswith("sliceplan.solver.commands")], path


def test_every_package_is_listed_for_the_wheel():
    folders = {
        path.parent
        for top in ("agent", "app", "plans", "profiles", "solver")
        for path in (ROOT / top).rglob("__init__.py")
    }
    names = {".".join(("sliceplan", *folder.relative_to(ROOT).parts)) for folder in folders}
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == names


@pytest.mark.parametrize("kind", RECORDS)
def test_shipped_schema_is_the_one_that_the_records_give(kind):
    shipped = ROOT / "solver" / "model" / "schema" / f"{kind}.schema.json"
    assert shipped.read_text() == schema_text(kind), f"run: sliceplan schema {kind} > {shipped.relative_to(ROOT)}"


def test_the_lock_file_names_no_host():
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    assert "--hash=sha256:" in lock


def test_the_readme_and_ci_run_the_same_test_command():
    assert "sh .ci/test" in (ROOT / "README.md").read_text()
    assert "exec sh .ci/test" in (ROOT / ".ci" / "run").read_text()


def test_the_command_line_starts_without_loading_solvers():
    heavy = ("ortools", "numpy", "pulp", "rich.table")
    code = f"import sys, sliceplan.solver.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
