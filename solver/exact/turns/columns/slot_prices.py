"""Prices of partitions that say much of what services need of their time: duals of the program of time_shares.py."""

from collections.abc import Sequence

import numpy as np
from ortools.math_opt.python import mathopt

from ....performance.interference.prediction import Floats
from .time_shares import Cut, MostReplicas


def slot_prices(shares: Floats, cuts: Sequence[Cut], replicas: MostReplicas) -> tuple[Floats, Floats]:
    """
    Returns prices of partitions and of replicas, USD per hour, shapes (slots,) and (service,).

    They are duals of the program of time_shares.py; 0 where it has none.
    """
    model = mathopt.Model(name="time shares")
    sizes = [model.add_linear_constraint(ub=0.0) for _ in shares]
    counted: list[mathopt.LinearConstraint | None] = []
    cost = mathopt.LinearSum([])
    for cut in cuts:
        gpus = model.add_variable(lb=0.0)
        cost += cut.usd * gpus
        for k, count in cut.counts.items():
            sizes[k].set_coefficient(gpus, -float(count))
    for w in range(shares.shape[1]):
        row = model.add_linear_constraint(lb=1.0)
        most = model.add_linear_constraint(ub=float(replicas.most[w])) if np.isfinite(replicas.most[w]) else None
        counted.append(most)
        for k in np.flatnonzero(np.isfinite(shares[:, w])).tolist():
            part = model.add_variable(lb=0.0)
            row.set_coefficient(part, 1.0)
            sizes[k].set_coefficient(part, float(shares[k, w]))
            if most is not None:
                most.set_coefficient(part, 1.0 / float(replicas.parts[k, w]))
    model.minimize(cost)
    result = mathopt.solve(model, mathopt.SolverType.GLOP)
    if not result.has_dual_feasible_solution():
        return np.zeros(len(shares)), np.zeros(shares.shape[1])
    duals = result.dual_values()
    of_replicas = [0.0 if row is None else -duals[row] for row in counted]
    return np.maximum([-duals[row] for row in sizes], 0.0), np.maximum(of_replicas, 0.0)
