"""Small demands and supplies, and the linear program of which slice prices are the dual, over all covers listed."""

from itertools import product

import numpy as np
from scipy.optimize import linprog

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual.supply import Supply


def instance(seed):
    """Returns two or three workloads and GPU types of two sizes, at times with a count that binds."""
    draw = np.random.default_rng(seed)
    workloads, sizes = int(draw.integers(2, 5)), 3
    part = draw.uniform(0.2, 1.4, (workloads, sizes)).clip(max=1.0)
    demands = Demands(part, draw.integers(1, 3, workloads), np.full(workloads, NO_LIMIT))
    cuts = np.array([[2, 1, 0], [0, 0, 2], [1, 0, 1], [4, 0, 0]])[: int(draw.integers(2, 5))]
    cuts = np.vstack([cuts, np.eye(sizes, dtype=np.int64)])
    gpu_type = draw.integers(0, 2, len(cuts))
    gpu_type[-3:] = 1
    cost = np.where(gpu_type == 0, 0.8, 1.0)
    available = np.array([float(draw.integers(1, 3)) if draw.random() < 0.5 else np.inf, np.inf])
    return demands, Supply(cuts, gpu_type, cost, available)


def fractional_optimum(demands, supply):
    """Returns the least cost of a mixture of covers, cut from fractions of GPUs."""
    sizes, cuts = demands.part.shape[1], len(supply.cost)
    every = np.array(list(product(range(7), repeat=sizes)))
    covers = [
        every[(every.sum(axis=1) >= least) & (every @ part >= 1)]
        for part, least in zip(demands.part, demands.least, strict=True)
    ]
    owner = np.repeat(range(len(covers)), [len(own) for own in covers])
    needed = np.concatenate(covers).T
    room = np.hstack([needed, -supply.instances.T])
    limited = np.flatnonzero(np.isfinite(supply.available))
    counted = np.hstack([np.zeros((len(limited), len(owner))), supply.gpu_type[None, :] == limited[:, None]])
    chosen = np.hstack([owner == np.arange(len(covers))[:, None], np.zeros((len(covers), cuts))])
    answer = linprog(
        np.append(np.zeros(len(owner)), supply.cost),
        A_ub=np.vstack([room, counted]),
        b_ub=np.append(np.zeros(sizes), supply.available[limited]),
        A_eq=chosen,
        b_eq=np.ones(len(covers)),
    )
    return answer.fun
