"""Problems as slice prices see them."""

import numpy as np

from sliceplan.solver.exact.dual.lagrangian_data import demands_of, supply_of
from sliceplan.solver.exact.mig.patterns import patterns_of
from sliceplan.solver.performance.resolve import resolve


def stated(problem, profiles):
    """Returns the demands and the supply of a problem."""
    resolved = resolve(problem, profiles)
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    return demands_of(resolved, sizes), supply_of(resolved, patterns, sizes)
