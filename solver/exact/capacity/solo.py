"""What one GPU carries of each workload alone, by which requests/s of different workloads compare; needs no solver."""

import numpy as np

from ...model.problem import Weights
from ...performance.alone import alone_on
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..mig.patterns import counts_of, patterns_of


def solo_capacity(resolved: ResolvedProblem) -> Floats:
    """
    Returns the most requests/s that one GPU carries of each workload alone, of the best type; shape (workload,).

    Under MPS that is as its only resident.
    """
    most = np.zeros(len(resolved.required_rps))
    for entry in resolved.fleet:
        for pattern in patterns_of(resolved, entry) if entry.available else ():
            most = np.maximum(most, resolved.capacity_rps @ counts_of(resolved, pattern))
        if entry.available and entry.gpu.name in resolved.mps:
            most = np.maximum(most, alone_on(resolved.mps[entry.gpu.name], resolved.limit_ms).greatest_rps)
    return most


def weights_of(weights: Weights, solo_rps: Floats) -> Floats:
    """Returns what a request/s of each workload counts, shape (workload,); `solo_rps`: above 0."""
    return np.ones(len(solo_rps)) if weights == "equal" else 1 / solo_rps
