"""The tree keeps its rooms, the arrows of its imports, its package list and its generated files."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache

import pytest
from problems.instances import ROOT

from sliceplan.solver import extensions
from sliceplan.solver.formats.schemas import RECORDS, schema_text

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

TOPS = ("agent", "app", "plans", "profiles", "solver")
"""The folders that are packages below `sliceplan`."""

# Who may import whom, by folder below solver/; "room.module": of that room this module only. The order is that of the
# arrows: a room knows rooms above it.
SOLVER = {
    "model": set(),
    "runtime": {"model.stop_reason"},
    "wording": {"model"},
    "performance": {"model", "wording.sharing_words"},
    "differences": {"model"},
    "metrics": {"model", "performance", "wording"},
    "formats": {"model", "performance"},
    "check": {"model", "performance", "wording.sharing_words", "metrics.caveats", "metrics.plan_columns"},
    "workers": {"model", "runtime"},
    "cores": {"model", "runtime"},
    "inss": {"model", "performance", "runtime", "formats"},
    "simulation": {"model", "performance", "runtime", "workers", "formats"},
    "allocation": {"model", "performance", "metrics"},
    "comparison": {"model", "allocation"},
    "exact": {"model", "performance", "runtime", "allocation.allocated"},
    "transition": {"model", "performance", "wording", "exact.backends"},
    "planners": {"model", "performance", "runtime", "allocation", "exact", "wording.sharing_words"},
    "analysis": {"model", "performance", "runtime", "allocation", "exact", "planners"},
    "api": {
        *("model", "performance", "runtime", "formats", "metrics", "allocation", "check", "comparison", "transition"),
        *("planners", "analysis", "simulation", "workers", "extensions"),
    },
    "following": {"model", "performance", "runtime", "formats", "simulation", "api"},
    "what_if": {"model", "performance", "runtime", "workers", "formats", "analysis", "api"},
    "commands": {
        *("model", "performance", "runtime", "workers", "formats", "wording", "check", "comparison", "transition"),
        *("analysis", "simulation", "api", "what_if", "extensions", "cores", "inss", "following"),
    },
}

# The same below solver/exact/. What proves, in the loose modules, is for all; the cross-check shares no model with any.
PROOF = {"cost_lattice", "met_rates", "proof"}
EXACT = {
    "backends": set(),
    "covers": set(),
    "cross_check": set(),
    "mps": set(),
    "surroundings": {"backends", "mps"},
    "mig": {"backends", "mps", *PROOF},
    "dealt_costs": {"backends", "covers", "mps"},
    "turns": {"backends", "dealt_costs", *PROOF},
    "dual": {"backends", "covers", "mig", "mps"},
    "primal": {"backends", "covers", "dual", "mps", *PROOF},
    "whole_gpus": {"backends", "covers", "dual", "primal", *PROOF},
    "fleet": {
        *("backends", "covers", "dealt_costs", "dual", "mig", "mps", "primal", "surroundings", "whole_gpus", *PROOF)
    },
    "shedding": {"backends", "covers", "dual", "fleet", "mig", "mps", *PROOF},
    "capacity": {"backends", "mig", "mps", *PROOF},
    "shared_capacity": {"backends", "capacity", "fleet", "mig", "mps", "surroundings"},
    "replanning": {"backends", "covers", "dual", "fleet", "mig", "mps", *PROOF},
}

# The same below agent/.
AGENT = {
    "model": set(),
    "files": set(),
    "deploy": set(),
    "system": {"model"},
    "trust": {"model", "files"},
    "services": {"model", "files", "system", "trust"},
    "devices": {"model", "files", "system", "services"},
    "transition": {"model", "files", "devices"},
    "showing": {"model", "devices", "transition"},
    "status": {"model", "system", "trust", "devices", "transition"},
    "setup": {"model", "files", "system", "trust", "services", "devices", "transition", "saying"},
    "commands": {"model", "devices", "transition", "showing", "status", "setup", "saying"},
}

# The same below app/: what is above Streamlit (screens, widgets) and what does not know it (tables, charts).
APP = {
    "store": set(),
    "profiles": set(),
    "jobs": {"profiles"},
    "charts": set(),
    "tables": {"store", "profiles"},
    "session": {"jobs", "profiles", "store", "tables"},
    "access": {"store", "profiles"},
    "report": {"charts", "tables"},
    "widgets": {"access", "jobs", "profiles", "session"},
    "screens": {"access", "charts", "jobs", "profiles", "report", "session", "store", "tables", "widgets"},
}

ROOMS = {"solver": SOLVER, "solver/exact": EXACT, "agent": AGENT, "app": APP}

LOOSE = {"solver": 5, "solver/exact": 6, "agent": 3, "app": 3, "app/screens": 0, "tests": 5}
"""How many modules may lie beside the rooms of a folder: one that is alone in its kind, as the command line is."""

NAMES_THE_AGENT = {"extensions.py", "starting.py"}
"""The modules of the solver that know modules of the agent by name: what it adds, and its command line."""


@cache
def imported(path):
    """Returns the absolute names of the project's modules that a file imports."""
    return tuple(_imported(path))


def _imported(path):
    package = ("sliceplan", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("sliceplan"))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module.startswith("sliceplan"):
                yield from (f"{module}.{alias.name}" for alias in node.names)


def rooms_of(folder):
    """Returns the names of the packages in a folder."""
    return {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}


@pytest.mark.parametrize(
    ("folder", "room"), [(folder, room) for folder, rooms in ROOMS.items() for room in rooms], ids=str
)
def test_imports_between_the_rooms_point_one_way(folder, room):
    home = f"sliceplan.{folder.replace('/', '.')}."
    allowed = {room, *ROOMS[folder][room]}
    for path in (ROOT / folder / room).rglob("*.py"):
        for name in imported(path):
            if name.startswith(home):
                inside = name.removeprefix(home)
                assert any(f"{inside}.".startswith(f"{one}.") for one in allowed), f"{path} imports {name}"


@pytest.mark.parametrize("folder", ROOMS)
def test_every_room_says_whom_it_knows(folder):
    assert set(ROOMS[folder]) == rooms_of(folder)


@pytest.mark.parametrize("folder", [folder for folder in ROOMS if folder != "app"])
def test_rooms_know_no_rooms_below_them(folder):
    """What a table allows has no circle, as each room is allowed only what stands before it."""
    seen = {path.stem for path in (ROOT / folder).glob("*.py")}
    for room, allowed in ROOMS[folder].items():
        assert {name.partition(".")[0] for name in allowed} <= seen, room
        seen.add(room)


@pytest.mark.parametrize(("folder", "most"), LOOSE.items())
def test_few_modules_lie_beside_the_rooms(folder, most):
    loose = sorted(path.name for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py")
    assert len(loose) <= most, loose


def test_every_package_says_what_it_is_for():
    inits = [path for top in TOPS for path in (ROOT / top).rglob("__init__.py")]
    silent = [str(path.relative_to(ROOT)) for path in inits if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_the_tests_of_a_room_are_in_the_folder_of_its_name():
    """Beside them: programs and wholes (attacks, docs, mutation, ...), and what tests share."""
    shared = {"oracles", "problems", "stand_ins", "support"}
    wholes = {"attacks", "benchmarks", "browser", "docs", "mutation", "published", "real_gpu"}
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("*/**/*.py")}
    assert folders <= rooms_of("solver") | {"agent", "app"} | shared | wholes
    for top in ("agent", "app", "exact"):
        rooms = rooms_of("solver/exact" if top == "exact" else top)
        assert {path.parent.name for path in (ROOT / "tests" / top).glob("*/*.py")} <= rooms


def test_the_solver_imports_neither_page_nor_agent():
    for path in (ROOT / "solver").rglob("*.py"):
        assert not [name for name in imported(path) if not name.startswith("sliceplan.solver")], path
        if str(path.relative_to(ROOT / "solver")) not in NAMES_THE_AGENT:
            assert "sliceplan.agent" not in path.read_text(), path


def test_what_the_agent_adds_is_there_by_the_names_that_the_solver_knows():
    assert extensions.node_scripts().__name__ == "node_scripts"
    assert extensions.signer().__name__ == "sign_with_key_of"


def test_the_agent_imports_nothing_of_the_solver_but_its_model():
    for path in (ROOT / "agent").rglob("*.py"):
        for name in imported(path):
            assert name.startswith(("sliceplan.agent", "sliceplan.solver.model")), f"{path} imports {name}"


@pytest.mark.parametrize("part", ["charts", "jobs", "report", "store", "tables"])
def test_what_streamlit_shows_does_not_know_it(part):
    for path in (ROOT / "app" / part).rglob("*.py"):
        assert "streamlit" not in path.read_text(), path


def test_no_screen_imports_another():
    for path in (ROOT / "app" / "screens").rglob("*.py"):
        own = ".".join(("sliceplan", *path.relative_to(ROOT).parts[:3]))
        for name in imported(path):
            assert not name.startswith("sliceplan.app.screens.") or name.startswith(f"{own}."), f"{path} imports {name}"


def test_what_screens_keep_has_a_name_and_a_type():
    """No other module knows the dictionary that the session keeps it in."""
    for path in (ROOT / "app").rglob("*.py"):
        if path.relative_to(ROOT / "app").as_posix() not in {f"session/{name}.py" for name in KEEP}:
            assert not re.search(r"\bchoices\b *[\[.]|\.choices\b", path.read_text()), path


def test_no_two_things_that_are_kept_have_one_name():
    kept = re.compile(r'Kept\[[^"\n]*(?:"[^"]*"[^"\n]*)*?\]\("([^"{]+)"\)')
    names = [name for path in (ROOT / "app").rglob("*.py") for name in kept.findall(path.read_text())]
    assert len(names) > 30
    assert len(names) == len(set(names))


KEEP = ("kept", "session", "snapshots")

WRITES = re.compile(r"app\.store\.(problems|plans|sweeps)\.(save|restore|archive|unarchive)_")


def test_only_what_asks_for_the_role_writes_to_the_store():
    for path in (ROOT / "app").rglob("*.py"):
        inside = path.relative_to(ROOT / "app").parts[0]
        if inside != "store" and path.name != "writing.py":
            assert not [name for name in imported(path) if WRITES.search(name)], path
            # A module of the store as a whole would be a way around.
            modules = ("problems", "plans", "sweeps", "tables", "transactions")
            assert not {f"sliceplan.app.store.{module}" for module in modules} & set(imported(path)), path


def test_only_the_command_line_imports_its_commands():
    commands = ROOT / "solver" / "commands"
    for path in (ROOT / "solver").rglob("*.py"):
        if path.name != "cli.py" and commands not in path.parents:
            assert not [name for name in imported(path) if name.startswith("sliceplan.solver.commands")], path


def test_every_package_is_listed_for_the_wheel():
    folders = {path.parent for top in TOPS for path in (ROOT / top).rglob("__init__.py")}
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
