"""Services of which nothing is promised on the way: what their partitions carry together is no sum."""

from collections import Counter
from collections.abc import Iterable

from ..model.plan import Plan
from ..model.transition import TransitionStep


def changed_sets(old: Plan, new: Plan, steps: Iterable[TransitionStep]) -> tuple[str, ...]:
    """
    Returns the services of which partitions come or go, and several are promised for what they are together.

    Such a promise is one of all of them: with one away the others may carry less than their parts. A partition that is
    promised alone, or in weighted turns, carries that beside any others.
    """
    changed = {workload for step in steps for workload in step.capacity_rps or {}}
    together: set[str] = set()
    for plan in (old, new):
        if plan.promise is not None and not plan.promise.adds_up:
            of_service = Counter(
                served.workload for gpu in plan.gpus for one in gpu.partitions for served in one.serves
            )
            together |= {workload for workload, partitions in of_service.items() if partitions > 1}
    return tuple(sorted(changed & together))
