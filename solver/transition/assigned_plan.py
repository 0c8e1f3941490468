"""The new plan with the GPUs that a transition gives it: id, node and index of each, and where its instances stand."""

from collections.abc import Iterator, Sequence, Set
from itertools import count

from ..model.plan import Partition, Plan, PlannedGpu
from .room import start_of
from .tenancies import Tenancy, TenancyKind, tenancy
from .world import World


def assigned_plan(new: Plan, world: World, places: Sequence[int]) -> Plan:
    """
    Returns the new plan as it will run.

    A GPU that the old plan has keeps its id from there, so that the next transition recognises it.

    Parameters
    ----------
    world
        After the transition.
    places
        For each GPU of the new plan the real GPU that it became.
    """
    taken = {gpu.old_id for gpu in world.real}
    free = {gpu.gpu: _free_names(gpu.gpu, taken) for gpu in world.real}
    gpus = []
    for planned, g in zip(new.gpus, places, strict=True):
        real = world.real[g]
        name = real.old_id if real.old_id is not None else next(free[real.gpu])
        gpus.append(
            planned.model_copy(
                update={
                    "id": name,
                    "node": real.node,
                    "index": real.index,
                    "partitions": _placed_partitions(planned, world.present(g)),
                }
            )
        )
    return new.model_copy(update={"gpus": tuple(gpus)})


def _free_names(gpu: str, taken: Set[str | None]) -> Iterator[str]:
    return (name for number in count() if (name := f"{gpu}/{number}") not in taken)


def _placed_partitions(planned: PlannedGpu, present: Sequence[Tenancy]) -> tuple[Partition, ...]:
    if planned.sharing not in ("mig", "cores"):
        return planned.partitions
    starts: dict[TenancyKind, list[int]] = {}
    for one in present:
        starts.setdefault(one.kind, []).append(start_of(one))
    # Who stands where it should already keeps its start; the others share what is left.
    rest = []
    settled: dict[int, Partition] = {}
    for partition in planned.partitions:
        own = starts[tenancy(partition, planned.sharing).kind]
        if partition.start in own:
            own.remove(partition.start)
            settled[partition.start] = partition
        else:
            rest.append(partition)
    for partition in rest:
        start = starts[tenancy(partition, planned.sharing).kind].pop()
        settled[start] = partition.model_copy(update={"start": start})
    return tuple(settled[start] for start in sorted(settled))
