"""The rule of a problem, and what its workloads ask of it."""

import numpy as np

from ...model.problem import Problem, Settings
from ..interference.prediction import Floats
from .execution import Execution
from .rule import Asked, LatencyRule


def rule_of(settings: Settings) -> LatencyRule:
    """Returns the latency rule that a problem's settings state."""
    return Execution(settings.slo_fraction)


def asked_by(problem: Problem, rate_rps: Floats) -> Asked:
    """Returns what the workloads of a problem ask at these rates, shape (workload,)."""
    return Asked(np.array([workload.slo_ms for workload in problem.workloads]), rate_rps)
