"""
gpu-lets' elastic partitioning: the order of services, what is tried for each, and the variants of the artefact.

    for each service by rate x SLO, ascending: best fit of its pieces; else all that is empty; else its residues
    merged; else turns beside others. With interference, services with less than 85 % of their rate are tried once
    more. Without, nothing is looked at in the end.

`timesharing` is the same with whole GPUs alone; `self-tuning` cuts the smallest share that carries what is left and
lets nobody take turns; `ideal` tries every division of every GPU beforehand and takes the first that works, which is
no optimum: it may miss what elastic partitioning finds.
"""

from collections.abc import Sequence
from itertools import product

from .fitting import all_fit, allocate_fit
from .leftovers import Pieces, merge, readjust, take_turns
from .pieces import elastic_pieces, greedy_pieces
from .schedule import PUBLISHED, Defects, Schedule
from .services import Services
from .shares import Gpulet, Placement

DIVISIONS = ((50, 50), (60, 40), (80, 20), (100,))
"""How `ideal` divides a GPU, in its order."""


def elastic(services: Services, gpus: int, defects: Defects = PUBLISHED) -> Placement | None:
    """Returns shares on so many GPUs; None: the scheduler says that the rates cannot be scheduled."""
    return _scheduled(_whole(services, gpus, services.shares, defects))


def timesharing(services: Services, gpus: int, defects: Defects = PUBLISHED) -> Placement | None:
    """Returns turns on whole GPUs (configuration "Part": 0); None: not schedulable."""
    return _scheduled(_whole(services, gpus, (100,), defects))


def self_tuning(services: Services, gpus: int, defects: Defects = PUBLISHED) -> Placement | None:
    """Returns guided self-tuning's shares; None: not schedulable. It knows no interference."""
    schedule = _whole(services, gpus, services.shares, defects)
    schedule.shares_turns = False
    return _scheduled(schedule, greedy_pieces)


def ideal(services: Services, gpus: int, defects: Defects = PUBLISHED) -> Placement | None:
    """Returns the first division of all GPUs with which the scheduler succeeds; None: with none of 4^gpus."""
    saturated = None
    allowed = [one for one in DIVISIONS if all(share in services.shares for share in one)]
    for divisions in product(allowed, repeat=gpus):
        lets = [[Gpulet(number, share) for share in own] for number, own in enumerate(divisions)]
        schedule = Schedule(services, lets, services.shares, cuts=False, defects=defects)
        if saturated is not None:
            schedule.saturated = saturated
        saturated = schedule.saturated
        if (found := _scheduled(schedule)) is not None:
            return found
    return None


def _whole(services: Services, gpus: int, shares: Sequence[float], defects: Defects) -> Schedule:
    lets = [[Gpulet(number, 100)] for number in range(gpus)]
    return Schedule(services, lets, tuple(shares), cuts=len(shares) > 1, defects=defects)


def _scheduled(schedule: Schedule, pieces: Pieces = elastic_pieces) -> Placement | None:
    services = schedule.services
    schedule.left_rps = list(services.rate_rps)
    wanted = [one for one, rate in enumerate(services.rate_rps) if rate > 0]
    wanted.sort(key=lambda one: (services.rate_rps[one] * services.slo_ms[one], -one))
    if not all(_added(schedule, one, pieces) for one in wanted):
        return None
    if schedule.interferes:
        for one in wanted:
            if _is_short(schedule, one) and not (_taken_out(schedule, one, pieces) and not _is_short(schedule, one)):
                return None
    return schedule.gpus


def _added(schedule: Schedule, service: int, pieces: Pieces) -> bool:
    wanted = pieces(schedule, service, schedule.left_rps[service])
    if wanted is None:
        return False
    if all_fit(schedule, wanted) and allocate_fit(schedule, service, wanted):
        return True
    readjust(schedule, service, pieces)
    return merge(schedule, service) or (schedule.shares_turns and take_turns(schedule, service))


def _is_short(schedule: Schedule, service: int) -> bool:
    return schedule.carried_rps(service) < schedule.defects.enough * schedule.services.rate_rps[service]


def _taken_out(schedule: Schedule, service: int, pieces: Pieces) -> bool:
    """Takes a service off all gpu-lets and adds it once more; whether that succeeds."""
    for lets in schedule.gpus:
        for let in lets:
            if let.serves(service):
                let.tasks = [task for task in let.tasks if task.service != service]
                if not let.tasks:
                    let.clear()
                else:
                    taken = sum(schedule.beside_ms(task.service, task.batch, let) for task in let.tasks)
                    let.occupancy = taken / let.cycle_ms
    schedule.left_rps[service] = schedule.services.rate_rps[service]
    schedule.extra_rps[service] = 0
    return _added(schedule, service, pieces)
