"""Problems as the modules of whole GPUs get them."""

import numpy as np

from sliceplan.solver.exact.cost_lattice import cost_lattice
from sliceplan.solver.exact.dual.lagrangian_data import demands_of, supply_of
from sliceplan.solver.exact.mig.patterns import patterns_of
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable


def stated(problem, profiles):
    """Returns supply, demands and cost steps of a problem that may have a plan; None: some service cannot be served."""
    resolved = resolve(problem, profiles)
    if unservable(resolved):
        return None
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    return supply_of(resolved, patterns, sizes), demands_of(resolved, sizes), cost_lattice(resolved)
