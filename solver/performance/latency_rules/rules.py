"""The rule of a problem, and what its workloads ask of it."""

from collections.abc import Iterator

import numpy as np

from ...model.errors import Finding
from ...model.lists import few
from ...model.problem import Problem, Settings
from ..interference.prediction import Floats
from .assembly import Assembly
from .execution import Execution, limit_ms
from .percentile import Percentile
from .rule import Asked, QueueRule
from .server_sets import is_by_set
from .worst_case import WorstCase


def rule_of(settings: Settings) -> Execution | QueueRule:
    """
    Returns the latency rule that a problem's settings state.

    With a router that knows every server's state it is the one of weighted turns, which is no more than what partitions
    carry together (server_sets.py).
    """
    if settings.latency == "execution":
        return Execution(settings.slo_fraction)
    if settings.latency == "worst_case":
        return WorstCase()
    if settings.latency == "assembly":
        return Assembly(shared=settings.process_queues == "shared")
    return percentile_in_turns(settings)


def percentile_in_turns(settings: Settings) -> Percentile:
    """Returns what partitions carry of a percentile as a sum: at random, or in turns, which better routers keep too."""
    return Percentile(by_turns=settings.dispatch != "random", shared=settings.process_queues == "shared")


def part_of_slo(latency: str, slo_fraction: float) -> float:
    """Returns the part of an SLO that a batch may take with a rule, by its name: beyond it no rate holds."""
    if latency == "assembly":
        return 1.0
    return slo_fraction if latency == "execution" else 1 / 2


def batch_may_take_ms(settings: Settings, slo_ms: float) -> float:
    """Returns how much of an SLO a batch may take."""
    return limit_ms(slo_ms, part_of_slo(settings.latency, settings.slo_fraction))


def not_planned(problem: Problem, source: str) -> list[Finding]:
    """Returns a finding for each part of the promise that no planner plans yet, with the reason and what works."""
    settings, found = problem.settings, []
    found += [
        Finding(
            source,
            "settings.dispatch",
            f"is {settings.dispatch!r}, with which what a service's partitions carry is no sum of what each carries; "
            f"it is not planned {what}: expected weighted_round_robin, whose plans hold with it too, or random",
        )
        for what in not_by_set(problem)
    ]
    if settings.turns != "none" and settings.latency not in ("execution", "percentile"):
        message = (
            f"is {settings.turns!r}, but what is promised is {settings.latency!r}, which is not planned for services "
            "that take turns; expected latency: execution or percentile, or turns: none"
        )
        found.append(Finding(source, "settings.turns", message))
    return found


def not_by_set(problem: Problem) -> Iterator[str]:
    """Yields where routers that know every partition's state are not planned, of what a problem with one asks for."""
    if not is_by_set(problem.settings):
        return
    shared = [entry.gpu for entry in problem.fleet if "mps" in entry.sharing]
    if shared and problem.settings.mps_rules == "igniter":
        yield f"on GPUs under MPS ({few(shared)}) by mps_rules: igniter, which say what a resident gets by itself"
    if problem.settings.turns != "none":
        yield "for services that take turns"
    if problem.settings.objective == "capacity" and problem.settings.capacity_weights == "solo":
        yield "for most capacity with capacity_weights: solo, as what a GPU carries alone is no sum either (equal is)"


def asked_by(problem: Problem, rate_rps: Floats) -> Asked:
    """Returns what the workloads of a problem ask at these rates, shape (workload,)."""
    return Asked(np.array([workload.slo_ms for workload in problem.workloads]), rate_rps, quantiles_of(problem))


def quantiles_of(problem: Problem) -> Floats:
    """Returns the part of each workload's requests that is to be in time, where a percentile is promised."""
    quantile = problem.settings.quantile
    return np.array([quantile if one.slo_quantile is None else one.slo_quantile for one in problem.workloads])
