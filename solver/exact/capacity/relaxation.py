"""The program of most_requests.py without whole numbers, and without least replicas: its solution and its prices."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..mig.patterns import counts_of, patterns_of

LARGEST = 1e9
"""Prices beyond this part of what is counted come from a program without a solution."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A solution in parts of partitions, with its prices; both within the tolerances of a solver."""

    partitions: Floats
    """Shape (workload, size)."""
    price: Floats
    """Shape (size,), weighted requests/s: what a partition is worth."""
    rate_price: Floats
    """Shape (workload,): by how much a request/s that is asked for lowers what can be counted."""


def relaxation(resolved: ResolvedProblem, weights: Floats) -> Relaxation | None:
    """Returns the best solution in parts; None: there is none, or its prices are without measure."""
    capacity, required = resolved.capacity_rps, resolved.required_rps
    unit = float((weights[:, None] * capacity).max(initial=0.0)) or 1.0
    w, k = np.nonzero(capacity)
    cuts = [
        (g, counts_of(resolved, pattern))
        for g, entry in enumerate(resolved.fleet)
        for pattern in patterns_of(resolved, entry)
    ]
    n, (services, sizes) = len(w), capacity.shape
    column, none = np.arange(n), np.zeros((services, len(cuts)))
    of_type = np.zeros((len(resolved.fleet), len(cuts)))
    of_type[[g for g, _ in cuts], np.arange(len(cuts))] = 1
    most = np.array([one.max_replicas or np.inf for one in resolved.problem.workloads])
    bounded = np.flatnonzero(np.isfinite(most))
    replicas = sparse.csr_array((np.ones(n), (w, column)), shape=(services, n))[bounded]
    rates = sparse.csr_array((-capacity[w, k] / required[w], (w, column)), shape=(services, n))
    taken = sparse.csr_array((np.ones(n), (k, column)), shape=(sizes, n))
    supplied = -np.array([cut for _, cut in cuts], dtype=np.float64).reshape(len(cuts), sizes).T
    rows: Any = sparse.vstack(  # the stubs know dense ones only
        [
            sparse.hstack([rates, sparse.csr_array(none)]),
            sparse.hstack([taken, sparse.csr_array(supplied)]),
            sparse.hstack([sparse.csr_array((len(of_type), n)), sparse.csr_array(of_type)]),
            sparse.hstack([replicas, sparse.csr_array(none[bounded])]),
        ],
        format="csr",
    )
    available = [float(entry.available or 0) for entry in resolved.fleet]
    limits = np.concatenate([-np.ones(services), np.zeros(sizes), available, most[bounded]])
    counted = np.concatenate([-weights[w] * capacity[w, k] / unit, np.zeros(len(cuts))])
    answer = linprog(counted, A_ub=rows, b_ub=limits, method="highs-ds")
    if answer.x is None:
        return None
    dual: Floats = np.maximum(-np.asarray(answer.ineqlin.marginals) * unit, 0.0)
    if not np.all(dual <= LARGEST * unit):
        return None
    partitions = np.zeros(capacity.shape)
    partitions[w, k] = answer.x[:n]
    return Relaxation(partitions, dual[services : services + sizes], dual[:services] / required)
