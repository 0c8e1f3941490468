"""Verification of what a plan says that batches and shares chosen anew under MPS gain (settings.bda)."""

from collections.abc import Iterable, Iterator, Mapping

from ..model.plan import Plan, PlannedGpu
from ..model.problem import Problem
from .latency import execution_may_take_ms
from .violation import RELATIVE, Violation, close


def wrong_adjustment(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """
    Yields what is wrong with it; every plan of such a problem with shares under MPS states it.

    The shares themselves are checked as any others are. What the planner had left is not in the plan: it is no more.
    """
    stated, shared = plan.batch_adjustment, [gpu for gpu in plan.gpus if gpu.sharing == "mps"]
    if (stated is not None) != (problem.settings.bda and bool(shared)):
        given = "null" if stated is None else "given"
        asked = f"settings.bda is {str(problem.settings.bda).lower()}, with {len(shared)} GPUs under MPS"
        yield Violation("plan", f"batch_adjustment is {given}, but {asked}")
    if stated is None:
        return
    solo = None if plan.capacity is None else plan.capacity.solo_rps
    names = {one.workload for gpu in shared for partition in gpu.partitions for one in partition.serves}
    if solo is not None and any(not solo.get(name, 0.0) > 0 for name in names):
        return  # said with the weights
    carried = sum(_in_time(problem, shared, solo))
    if not close(stated.after, carried):
        yield Violation(
            "plan", f"batch_adjustment.after is {stated.after}, but its shares could carry {carried:.6f} in time"
        )
    if stated.before > stated.after * (1 + RELATIVE):
        message = f"is {stated.before:.6f}, above the {stated.after:.6f} after: nothing is chosen that carries less"
        yield Violation("plan", f"batch_adjustment.before {message}")
    shares = sum(len(gpu.partitions) for gpu in shared)
    if stated.changed > shares:
        yield Violation("plan", f"batch_adjustment.changed is {stated.changed}; there are {shares} shares under MPS")
    if not stated.changed and not close(stated.before, stated.after):
        message = f"changed is 0, but before is {stated.before:.6f} and after {stated.after:.6f}"
        yield Violation("plan", f"batch_adjustment.{message}")


def _in_time(problem: Problem, gpus: Iterable[PlannedGpu], solo_rps: Mapping[str, float] | None) -> Iterator[float]:
    """Yields what each share could carry within its SLO, as a request/s counts; nothing of who is late."""
    slo_ms = {workload.name: workload.slo_ms for workload in problem.workloads}
    by_execution = problem.settings.latency == "execution"
    for served in (one for gpu in gpus for partition in gpu.partitions for one in partition.serves):
        limit_ms = execution_may_take_ms(problem.settings, slo_ms.get(served.workload, 0.0))
        if not by_execution or served.latency_ms <= limit_ms * (1 + RELATIVE):
            yield served.carries_rps if solo_rps is None else served.carries_rps / solo_rps[served.workload]
