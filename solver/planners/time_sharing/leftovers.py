"""A service's second attempt on whatever is empty, merging its residues, and turns beside others (gpu-lets' source)."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from math import trunc

from .repairs import adjusted
from .schedule import MOST_TASKS, Piece, Schedule
from .services import LARGEST
from .shares import Gpulet, Task

Pieces = Callable[[Schedule, int, float], list[Piece] | None]
"""Of a service and a rate; None: some of it fits no batch."""


def readjust(schedule: Schedule, service: int, pieces: Pieces) -> None:
    """Puts a service on all empty gpu-lets, largest first: saturated ones, then one for the rest."""
    schedule.left_rps[service] += schedule.extra_rps.get(service, 0)
    schedule.extra_rps[service] = 0
    empty = sorted(schedule.empty(), key=lambda let: -let.share)
    while schedule.is_left(service) and empty:
        let = empty[0]
        batch = _opened(schedule, service, let, pieces)
        if batch is None:
            return
        time_ms = schedule.beside_ms(service, batch, let)
        if 1000 * batch / time_ms > schedule.left_rps[service]:
            break
        _put(schedule, let, Task(service, batch, schedule.left_rps[service]), time_ms, 1.0)
        empty.pop(0)
    while schedule.left_rps[service] > schedule.defects.remainder_rps and empty:
        let = empty.pop(0)
        if _opened(schedule, service, let, pieces) is None:
            return
        latency = partial(_beside, schedule, service, let)
        batch, rate = schedule.residual(service, schedule.left_rps[service], latency)
        schedule.left_rps[service] = rate
        if batch == 0:
            return
        cycle = 1000 * batch / rate
        if latency(batch) <= cycle or schedule.defects.overload:
            _put(schedule, let, Task(service, batch, rate), cycle, latency(batch) / cycle)


def _opened(schedule: Schedule, service: int, let: Gpulet, pieces: Pieces) -> int | None:
    """Returns a saturated batch for a gpu-let, which is cut first if it is a whole GPU; None: no piece fits a batch."""
    if let.share == 100 and schedule.cuts:
        wanted = pieces(schedule, service, schedule.left_rps[service])
        if not wanted:
            return None
        schedule.cut(let, wanted[0].share)
        return wanted[0].batch
    slo_ms = schedule.services.slo_ms[service]
    return schedule.largest(lambda b: 2 * schedule.beside_ms(service, b, let) <= slo_ms) or 1


def _put(schedule: Schedule, let: Gpulet, task: Task, cycle_ms: float, occupancy: float) -> None:
    """Puts a service on a gpu-let, and takes it off again if the neighbours cannot bear it."""
    restore = schedule.restored(let.gpu)
    let.put(task, cycle_ms, occupancy)
    charge = None if schedule.defects.uncharged else task.service
    if schedule.interferes and not adjusted(schedule, schedule.gpus[let.gpu], charge):
        let.clear()
        if not schedule.defects.lowered:
            restore()
        return
    schedule.left_rps[task.service] = trunc(schedule.left_rps[task.service] - 1000 * task.batch / let.cycle_ms)


def merge(schedule: Schedule, service: int) -> bool:
    """Puts the residues of a service that it has alone together on one gpu-let; whether all of it is allocated then."""
    residues = [
        let
        for lets in schedule.gpus
        for let in lets
        if let.occupancy < 1 and len(let.tasks) == 1 and let.serves(service)
    ]
    enough = schedule.left_rps[service] <= schedule.defects.remainder_rps
    if not residues:
        return enough
    rate = schedule.left_rps[service] + sum(let.carries_rps(service) for let in residues)
    throughput, share = min((schedule.saturated[service][let.share][1], let.share) for let in residues)
    if (len(residues) == 1 and rate < schedule.defects.remainder_rps) or throughput < rate:
        return enough
    restored = [schedule.restored(gpu) for gpu in {let.gpu for let in residues}]
    for let in residues:
        let.clear()
    if not _gather(schedule, service, share, rate) and not schedule.defects.lost_residue:
        for restore in restored:
            restore()
        return enough
    if schedule.left_rps[service] > schedule.defects.remainder_rps:
        return False
    if schedule.cuts:
        schedule.gpus[:] = [
            lets if any(let.tasks for let in lets) else [Gpulet(number, 100)]
            for number, lets in enumerate(schedule.gpus)
        ]
    return True


def _gather(schedule: Schedule, service: int, share: float, rate_rps: float) -> bool:
    """Puts a rate on the first empty gpu-let of a share; whether there is one. As published, else it is lost."""
    for let in schedule.empty():
        if let.share != share:
            continue
        latency = partial(_beside, schedule, service, let)
        batch, rate = schedule.residual(service, rate_rps, latency)
        if batch > 0:
            cycle = 1000 * batch / rate
            let.put(Task(service, batch, rate), cycle, latency(batch) / cycle)
            schedule.left_rps[service] = max(0, trunc(rate_rps - 1000 * batch / cycle))
            return True
    return False


def take_turns(schedule: Schedule, service: int) -> bool:
    """Gives a service turns on gpu-lets with time to spare, the fullest first; whether all of it is allocated then."""
    open_lets = [let for lets in schedule.gpus for let in lets if let.occupancy < 1 and len(let.tasks) < MOST_TASKS]
    open_lets.sort(key=lambda let: -let.occupancy)
    while schedule.is_left(service):
        if not any(_joins(schedule, service, let) for let in open_lets):
            return False
    return True


def _joins(schedule: Schedule, service: int, let: Gpulet) -> bool:
    """Gives a service a turn on a gpu-let if all there stay in time; as published, with the largest batch or none."""
    if let.serves(service) or let.occupancy >= 1 or len(let.tasks) >= MOST_TASKS:
        return False
    if not schedule.has_room(service, let):
        return False
    rate, tried = schedule.left_rps[service], _shared_batches(schedule, service, let, schedule.left_rps[service])
    for batch, cycle in islice(tried, 1) if schedule.defects.one_batch else tried:
        if cycle <= let.cycle_ms and _has_turn(schedule, service, let, batch, cycle):
            schedule.left_rps[service] = max(0, trunc(rate - 1000 * batch / cycle))
            return True
    return False


def _has_turn(schedule: Schedule, service: int, let: Gpulet, batch: int, cycle: int) -> bool:
    """Gives a service a turn of a batch in a cycle if all there stay in time."""
    batches = [min(max(1, trunc(cycle * task.rate_rps / 1000)), LARGEST) for task in let.tasks]
    taken = schedule.beside_ms(service, batch, let) + sum(
        schedule.beside_ms(task.service, own, let) for task, own in zip(let.tasks, batches, strict=True)
    )
    slo_ms = schedule.services.slo_ms
    if taken > cycle or any(taken + cycle > slo_ms[one] for one in (service, *(t.service for t in let.tasks))):
        return False
    for task, own in zip(let.tasks, batches, strict=True):
        task.batch = own
    let.tasks.append(Task(service, batch, schedule.left_rps[service]))
    let.cycle_ms, let.occupancy = cycle, taken / cycle
    return True


def _shared_batches(schedule: Schedule, service: int, let: Gpulet, rate_rps: float) -> Iterator[tuple[int, int]]:
    """Yields batches that the time left of a cycle holds, largest first, and their cycles in whole ms."""
    for batch in range(min(trunc(let.cycle_ms * rate_rps / 1000), LARGEST), 0, -1):
        cycle, time_ms = trunc(1000 * batch / rate_rps), schedule.beside_ms(service, batch, let)
        in_time = cycle + time_ms < schedule.services.slo_ms[service]
        if cycle > 0 and in_time and time_ms / cycle < 1 - let.occupancy:
            yield batch, cycle


def _beside(schedule: Schedule, service: int, let: Gpulet, batch: int) -> float:
    return schedule.beside_ms(service, batch, let)
