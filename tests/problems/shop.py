"""The demo and the mixed example as they first were, promising execution alone: small, with figures that tests know."""

from functools import cache

from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import read_problem

from .instances import ROOT

FILES = ROOT / "tests" / "formats" / "version_1"

SHOP, SHOP_PLAN = FILES / "demo.yaml", FILES / "demo.plan.json"
"""Eight services on A100s cut by MIG, and their plan of 3 GPUs."""

MIXED, MIXED_PLAN = FILES / "mixed.yaml", FILES / "mixed.plan.json"
"""Ten services on A100s cut by MIG and V100s and T4s shared by MPS, and their plan."""


@cache
def shop():
    """Returns the problem of `SHOP`."""
    return read_problem(SHOP)


@cache
def shop_plan():
    """Returns its plan."""
    return read_plan(SHOP_PLAN)


@cache
def mixed():
    """Returns the problem of `MIXED`."""
    return read_problem(MIXED)


@cache
def mixed_plan():
    """Returns its plan."""
    return read_plan(MIXED_PLAN)
