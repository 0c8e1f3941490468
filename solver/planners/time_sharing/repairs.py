"""What gpu-lets does to the gpu-lets of a GPU so that they keep their SLOs beside each other (its source)."""

from collections.abc import Sequence
from math import trunc

from .schedule import Schedule
from .shares import Gpulet

TOLERATED = 1.05
"""Part of an SLO that a residual gpu-let may take before anything is done."""


def adjusted(schedule: Schedule, lets: Sequence[Gpulet], charge: int | None) -> bool:
    """
    Lowers batches until the gpu-lets of a GPU keep their SLOs; False: one cannot, and those before it stay lowered.

    Parameters
    ----------
    charge
        The newcomer, to whom throughput that is lost is charged, to be allocated once more; None: to nobody.
    """
    return all(
        _saturated(schedule, let, charge) if let.occupancy == 1 else _residual(schedule, let)
        for let in lets
        if let.tasks
    )


def _saturated(schedule: Schedule, let: Gpulet, charge: int | None) -> bool:
    (task,) = let.tasks
    if task.batch == 0:  # lowered to nothing for a newcomer who was refused then; the source divides by zero here
        return False
    slo_ms, before = schedule.services.slo_ms[task.service], 1000 * task.batch / let.cycle_ms
    time_ms = schedule.beside_ms(task.service, task.batch, let)
    if 2 * time_ms < slo_ms:
        carries = 1000 * task.batch / time_ms
    else:
        while task.batch > 0 and 2 * schedule.beside_ms(task.service, task.batch, let) > slo_ms:
            task.batch -= 1
        if task.batch == 0:
            return False
        let.cycle_ms = schedule.beside_ms(task.service, task.batch, let)
        carries = 1000 * task.batch / let.cycle_ms
    if charge is not None:
        lost = trunc(max(0.0, before - carries))
        schedule.extra_rps[charge] = schedule.extra_rps.get(charge, 0) + lost
    return True


def _residual(schedule: Schedule, let: Gpulet) -> bool:
    def taken_ms() -> float:
        return sum(schedule.beside_ms(task.service, task.batch, let) for task in let.tasks)

    slo_ms = schedule.services.slo_ms
    taken = taken_ms()
    if all(taken + let.cycle_ms <= TOLERATED * slo_ms[task.service] for task in let.tasks):
        return True
    cycles = []
    for task in let.tasks:
        cycle, at_first = let.cycle_ms, task.batch
        while slo_ms[task.service] < taken_ms() + cycle:
            task.batch -= 1
            if task.batch == 0:
                return False
            cycle = (cycle if schedule.defects.compounds else let.cycle_ms) * task.batch / at_first
        cycles.append(cycle)
    let.cycle_ms = min(cycles)
    let.occupancy = taken_ms() / let.cycle_ms
    return True
