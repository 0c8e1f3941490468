"""Services of which nothing is promised on the way: what their partitions carry together is no sum."""

from collections import Counter
from collections.abc import Iterable

from ..model.plan import Plan
from ..model.transition import TransitionStep


def changed_sets(old: Plan, new: Plan, steps: Iterable[TransitionStep]) -> tuple[str, ...]:
    """
    Returns the services of which partitions come or go where several are promised for what they are together.

    Such a promise is one of all of them: with one away, or one more beside them, the others may carry less than their
    parts. So is named whoever has more than one partition at any moment, also who goes from a single one to another:
    both receive requests until the old one is drained. In weighted turns each carries its part beside any others.
    """
    if all(plan.promise is None or plan.promise.adds_up for plan in (old, new)):
        return ()
    changes = [workload for step in steps for workload in step.capacity_rps or {}]
    coming = [workload for step in steps for workload, rps in (step.capacity_rps or {}).items() if rps > 0]
    present = [served.workload for gpu in old.gpus for one in gpu.partitions for served in one.serves]
    at_once = Counter(present) + Counter(coming)
    return tuple(sorted(workload for workload in set(changes) if at_once[workload] > 1))
