"""
What partitions are promised beside the others of their services, where that is no sum.

The services of a plan are looked at whole, on partitions of all kinds, by the figures that the plan states. Each of
these is held against its profile or the interference model where its partition is verified, so what follows from them
is right where they are.
"""

import numpy as np

from ..metrics.plan_columns import UNKNOWN, Floats, PlanColumns
from ..model.problem import Problem
from .latency import BY_STATE, OnPartitions, promised_rps, promised_together


def promised_beside_others(problem: Problem, columns: PlanColumns) -> Floats | None:
    """Returns what each partition is promised beside the others of its service, shape (served,); None: it is a sum."""
    found = _in_turns(problem, columns)
    if found is None:
        return None
    rows, served, in_turns = found
    stated = np.array(columns.stated("promised_rps"), dtype=np.float64)[columns.record]  # None becomes nan
    promised = np.zeros(columns.workload.shape)
    promised[rows] = promised_together(problem.settings, served, columns.workload[rows], in_turns, stated[rows])
    return promised


def promised_in_turns(problem: Problem, columns: PlanColumns) -> Floats | None:
    """Returns what they are promised in weighted turns, shape (served,); None where they are promised a sum anyway."""
    found = _in_turns(problem, columns)
    if found is None:
        return None
    rows, _, in_turns = found
    promised = np.zeros(columns.workload.shape)
    promised[rows] = in_turns
    return promised


def _in_turns(problem: Problem, columns: PlanColumns) -> tuple[np.ndarray, OnPartitions, Floats] | None:
    """Returns the rows of known services, their figures, and what each is promised in turns; None: it is a sum."""
    settings = problem.settings
    if settings.latency != "percentile" or settings.dispatch not in BY_STATE:
        return None
    rows = np.flatnonzero(columns.workload != UNKNOWN)
    own = columns.workload[rows]
    asked = (
        np.array([workload.slo_ms for workload in problem.workloads]),
        np.array([workload.slo_quantile or settings.quantile for workload in problem.workloads]),
        np.array([workload.rate_rps * (1 + settings.headroom) for workload in problem.workloads]),
    )
    served = OnPartitions(
        columns.batch[rows].astype(np.float64),
        columns.processes[rows].astype(np.float64),
        columns.latency_ms[rows],
        columns.capacity_rps[rows],
        *(of_each[own] for of_each in asked),
    )
    return rows, served, promised_rps(settings, served)
