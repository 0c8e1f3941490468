"""
Verification of what a plan could carry, where that is the objective of its problem.

The value is the sum of what its partitions carry, each checked with its partition, times what a request/s counts. With
weights solo that is 1 / (what one GPU carries of the service alone), a claim of the planner: of it is checked that no
MIG or whole GPU of the plan carries more of the service. That no plan has more than the limit is not checked; that it
is not below the value is (model/capacity_consistency.py).
"""

from collections.abc import Iterator, Mapping

import numpy as np

from ..metrics.plan_columns import UNKNOWN, PlanColumns
from ..model.lists import few
from ..model.numbering import different
from ..model.plan import Plan, PlanCapacity
from ..model.problem import Problem
from .violation import RELATIVE, Violation, close


def wrong_capacity(problem: Problem, plan: Plan, columns: PlanColumns) -> Iterator[Violation]:
    """Yields what is wrong with the capacity that a plan states; every plan of such a problem states one."""
    stated, settings = plan.capacity, problem.settings
    if (stated is not None) != (settings.objective == "capacity"):
        given = "null" if stated is None else "given"
        yield Violation("plan", f"capacity is {given}, but the problem's objective is {settings.objective}")
    if stated is None:
        return
    if stated.weights != settings.capacity_weights:
        asked = settings.capacity_weights
        yield Violation("plan", f"capacity.weights is {stated.weights}, but the problem's capacity_weights is {asked}")
    types = {entry.gpu for entry in problem.fleet}
    if stated.one_more and set(stated.one_more) != types:
        yield Violation(
            "plan", f"capacity.one_more is of {few(sorted(stated.one_more))}; expected {few(sorted(types))}, or nothing"
        )
    if stated.solo_rps is not None:
        yield from _wrong_solo(problem, stated.solo_rps, columns)
    if stated.value is not None:
        yield from _wrong_value(problem, stated, columns)


def _wrong_solo(problem: Problem, solo_rps: Mapping[str, float], columns: PlanColumns) -> Iterator[Violation]:
    names = [workload.name for workload in problem.workloads]
    wrong = sorted({*names} ^ {*solo_rps}) or [name for name, rps in solo_rps.items() if not rps > 0]
    if wrong:
        message = f"capacity.solo_rps is wrong for {few(wrong)}: expected each service, with a number above 0"
        yield Violation("plan", message)
        return
    known = columns.workload != UNKNOWN
    of_gpu = columns.gpu[columns.partition[known]]
    is_own = np.array([gpu.sharing != "mps" for gpu in columns.gpus], dtype=np.bool_)
    pair, _, at = different(of_gpu * len(names) + columns.workload[known])
    rps = np.bincount(at, weights=_carries(columns)[known], minlength=len(pair))
    gpu, workload = np.divmod(pair, max(len(names), 1))
    alone = np.array([solo_rps[name] for name in names])
    for i in np.flatnonzero(is_own[gpu] & (rps > alone[workload] * (1 + RELATIVE))).tolist():
        name = names[workload[i]]
        what = f"capacity.solo_rps is {solo_rps[name]:g} for {name}, of which it carries {rps[i]:g}"
        yield Violation(columns.gpus[gpu[i]].id, what)


def _wrong_value(problem: Problem, stated: PlanCapacity, columns: PlanColumns) -> Iterator[Violation]:
    known = columns.workload != UNKNOWN
    rps = np.bincount(
        columns.workload[known], weights=_carries(columns)[known], minlength=len(problem.workloads)
    ).tolist()
    names = [workload.name for workload in problem.workloads]
    solo = stated.solo_rps
    if solo is not None and any(not solo.get(name, 0.0) > 0 for name in names):
        return  # said with the weights
    counted = [own if solo is None else own / solo[name] for name, own in zip(names, rps, strict=True)]
    if stated.value is None or not close(stated.value, sum(counted)):
        yield Violation("plan", f"capacity.value is {stated.value}, but its partitions could carry {sum(counted):.6f}")


def _carries(columns: PlanColumns) -> np.ndarray:
    return np.array(columns.stated("carries_rps"), dtype=np.float64)[columns.record]
