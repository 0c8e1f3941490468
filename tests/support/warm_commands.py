"""
What command lines import and read before they do anything, done once in the process that is forked for each of them.

Imported there first of all. Nothing here starts a thread, which a fork would leave behind.
"""

import gc
import importlib
import pkgutil

from problems.instances import ROOT

from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue, load_cpus

PACKAGES = (
    "sliceplan.agent.commands",
    "sliceplan.solver.analysis",
    "sliceplan.solver.api",
    "sliceplan.solver.check",
    "sliceplan.solver.commands",
    "sliceplan.solver.exact",
    "sliceplan.solver.metrics",
    "sliceplan.solver.planners",
    "sliceplan.solver.what_if",
    "sliceplan.solver.wording",
)

for name in PACKAGES:
    for found in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
        importlib.import_module(found.name)
# What is read is kept, and reading it builds the records' validators.
shipped_profiles()
example_problems()
read_plan(ROOT / "plans" / "demo.plan.json")
assert [*load_catalogue().values(), *load_cpus().values()]
# The collector looks at none of this again, and so leaves the pages to all children together.
gc.collect()
gc.freeze()
