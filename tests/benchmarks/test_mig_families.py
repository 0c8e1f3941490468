"""The fractional plan over all undecided covers costs what the prices prove, and the benchmark of the tail runs."""

import subprocess
import sys

import numpy as np
import pytest
from problems.instances import ROOT
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from sliceplan.solver.exact.covers.undecided_classes import undecided_classes
from sliceplan.solver.exact.dual.lagrangian_data import demands_of, supply_of
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.mig.patterns import patterns_of
from sliceplan.solver.exact.primal.master_program import master_program
from sliceplan.solver.performance.resolve import resolve

sys.path.insert(0, str(ROOT / "tests" / "benchmarks"))

from mig_families import FAMILIES


def relaxed(near, supply):
    """Returns the least cost of a fractional plan of the covers, the others as they are decided."""
    decided = near.decided.copy()
    decided[near.classes.member] = 0
    program = master_program(near.classes, supply, decided.sum(axis=0))
    rows = csr_array((program.rows.value, (program.rows.row, program.rows.column)), shape=program.rows.shape)
    answer = milp(
        np.concatenate([supply.cost, np.zeros(len(near.classes.counts))]),
        bounds=Bounds(0, program.most),
        constraints=LinearConstraint(rows, program.lower, program.upper),
    )
    return answer.fun


@pytest.mark.parametrize("family", ["one model", "few kinds"])
def test_no_cover_is_left_out_that_the_fractional_plan_needs(family):
    """With 16 covers a class and 1,000 classes it cost 15.3 and 0.04 GPUs more than proven, so no program could fit."""
    problem, profiles = FAMILIES[family](3000, 0)
    resolved = resolve(problem, profiles)
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    supply, demands = supply_of(resolved, patterns, sizes), demands_of(resolved, sizes)
    priced = best_prices(demands, supply, start=None, enough=np.inf, deadline=np.inf)
    near = undecided_classes(priced.covers, priced.price, np.zeros(0, dtype=np.int64))
    assert relaxed(near, supply) == pytest.approx(priced.bound, rel=1e-6)


@pytest.mark.parametrize("measured", [[], ["--solve"]], ids=["decide", "solve"])
def test_the_benchmark_of_the_tail_prints_a_row_for_each_family(measured):
    script = ROOT / "tests" / "benchmarks" / "mig_tail.py"
    options = ["--size", "10", "--draws", "1", "--family", "pool", "--family", "own tables", *measured]
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=True)
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in done.stdout.splitlines()[2:]]
    assert rows == [["pool", "10", "1 of 1"], ["own tables", "10", "1 of 1"], ["all", "10", "2 of 2"]]
