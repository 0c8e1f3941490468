"""Replay, what goes on: whatever is not stopped on the way serves in the new plan as it did in the old one."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ..model.plan import Partition, Plan
from ..model.transition import Transition
from .replay_lifetimes import Lifetime

_Spot = tuple[object, ...]
"""Place, cores and services of what runs."""


def wrong_contents(
    old: Plan, assigned: Plan, transition: Transition, lifetimes: Mapping[str, Sequence[Lifetime]]
) -> Iterator[str]:
    """Batches, processes and rounds of what runs from the beginning to the end are those of the new plan, too."""
    was, becomes = ({gpu.id: gpu for gpu in plan.gpus} for plan in (old, assigned))
    for gpu in transition.gpus:
        before, after = was.get(gpu.old_id or ""), becomes.get(gpu.assigned_id or "")
        if before is None or after is None:
            continue
        first, last = _contents(before.partitions), _contents(after.partitions)
        for (begins, ends), times in _going_on(lifetimes.get(gpu.name, ())).items():
            # Of shares that are alike in place and services nobody says which is stopped: enough of them are the same.
            if (first[begins] & last[ends]).total() < times:
                yield f"{gpu.name}: {ends[2]} is not stopped and was {dict(first[begins])}, to be {dict(last[ends])}"


def _going_on(lifetimes: Sequence[Lifetime]) -> Counter[tuple[_Spot, _Spot]]:
    """Returns where what runs all the while begins and ends; what moves to other cores runs on."""
    follows = {one.begin: one for one in lifetimes if one.begin is not None and not one.is_instance}
    found: Counter[tuple[_Spot, _Spot]] = Counter()
    for one in lifetimes:
        if one.is_instance or one.begin is not None:
            continue
        last = one
        while last.end is not None and last.end in follows:
            last = follows[last.end]
        if last.end is None:
            found[_spot(one), _spot(last)] += 1
    return found


def _spot(one: Lifetime) -> _Spot:
    return one.place, one.cores, one.workloads


def _contents(partitions: Sequence[Partition]) -> defaultdict[_Spot, Counter[object]]:
    """Returns with which batches, processes and rounds partitions serve, by place, cores and services."""
    found: defaultdict[_Spot, Counter[object]] = defaultdict(Counter)
    for one in partitions:
        place = (one.mig_profile, one.start, one.sm_percent)
        serves = tuple(sorted((served.workload, served.batch, served.processes) for served in one.serves))
        found[place, one.cores, tuple(workload for workload, _, _ in serves)][serves, _turns_of(one)] += 1
    return found


def _turns_of(partition: Partition) -> tuple[object, ...]:
    """Returns how long a round is, and in which order turns are kept where they are."""
    if partition.duty_cycle_ms is None or partition.turns == "any":
        return partition.duty_cycle_ms, partition.turns
    return partition.duty_cycle_ms, tuple(served.workload for served in partition.serves)
