"""Best fit of pieces into empty gpu-lets (gpu-lets' source: `bestFit`, `checkFit`, `allocateFit`)."""

from collections.abc import Collection, Sequence
from functools import partial
from math import trunc

from .repairs import adjusted
from .schedule import Piece, Schedule
from .shares import Gpulet, Task

FAR = 200.0
"""A surplus beyond every other."""


def best_fit(schedule: Schedule, piece: Piece, excluded: Collection[Gpulet] = ()) -> Gpulet | None:
    """Returns the empty gpu-let that a piece fits into: a whole GPU or the least surplus, the last of them."""
    least, found = FAR, None
    for lets in schedule.gpus:
        for let in lets:
            if let.tasks or let.share < piece.share or let in excluded or not _fits(schedule, piece, let):
                continue
            if let.share == 100 and schedule.cuts:
                least, found = 0.0, let
            if least >= let.share - piece.share:
                least, found = let.share - piece.share, let
    return found


def _fits(schedule: Schedule, piece: Piece, let: Gpulet) -> bool:
    """Whether a piece keeps its SLO on a gpu-let, and its neighbours theirs as far as the source looks."""
    services = schedule.services
    if not schedule.has_room(piece.service, let):
        return False
    time_ms = schedule.beside_ms(piece.service, piece.batch, let)
    if let.share == 100 and schedule.cuts and not schedule.defects.whole_slo:
        time_ms = services.latency_ms[piece.service][piece.share][piece.batch]
    if time_ms + piece.cycle_ms > services.slo_ms[piece.service]:
        return False
    if let.share == 100:
        return True
    newcomer = (piece.service, piece.batch, let.share)
    for other in schedule.gpus[let.gpu]:
        for task in other.tasks:
            if schedule.defects.neighbour_test:
                time_ms = services.of_overhead_ms(task.service, task.batch) + 2 * other.cycle_ms
            else:
                time_ms = services.beside_ms(task.service, task.batch, other.share, [newcomer]) + other.cycle_ms
            if time_ms > services.slo_ms[task.service]:
                return False
    return True


def all_fit(schedule: Schedule, pieces: Sequence[Piece]) -> bool:
    """Whether all pieces find a place at once; a whole GPU may take two of them, any other gpu-let one."""
    remainder: dict[Gpulet, float] = {}
    excluded: set[Gpulet] = set()
    for piece in pieces:
        let = best_fit(schedule, piece, excluded)
        while let is not None and remainder.get(let, let.share) < piece.share:
            excluded.add(let)
            let = best_fit(schedule, piece, excluded)
        if let is None:
            return False
        is_new_gpu = schedule.cuts and let.share == 100 and let not in remainder
        remainder[let] = 100 - piece.share if is_new_gpu else 0.0
        if remainder[let] == 0:
            excluded.add(let)
    return True


def allocate_fit(schedule: Schedule, service: int, pieces: Sequence[Piece]) -> bool:
    """Puts the pieces of a service where they fit; False: some do not, and those before them stay."""
    for number, piece in enumerate(pieces):
        let = best_fit(schedule, piece)
        if let is None:
            return False
        if let.share > piece.share and (let.share < 100 or not schedule.cuts):
            changed = _on_the_larger(schedule, piece, let, number)
            if changed is None:
                return False
            piece = changed
        schedule.cut(let, piece.share)
        restore = schedule.restored(let.gpu)
        let.put(Task(service, piece.batch, piece.rate_rps), piece.cycle_ms, piece.occupancy)
        if schedule.interferes and not adjusted(schedule, schedule.gpus[let.gpu], charge=service):
            if not schedule.defects.lowered:
                restore()
            return False
        schedule.left_rps[service] = trunc(schedule.left_rps[service] - piece.carries_rps)
    return not schedule.is_left(service)


def _on_the_larger(schedule: Schedule, piece: Piece, let: Gpulet, number: int) -> Piece | None:
    """Returns a piece with the batch of the larger gpu-let that it gets; None: none is in time there."""
    services, service = schedule.services, piece.service
    number = number if schedule.defects.index else let.gpu
    lets = schedule.gpus[number] if number < len(schedule.gpus) else []
    others = [(t.service, t.batch, one.share) for one in lets if one is not let for t in one.tasks]
    latency = partial(_latency, schedule, service, let.share, others)
    rate = piece.rate_rps
    if piece.occupancy != 1:
        batch, rate = schedule.residual(service, rate, latency)
        cycle = max(1000 * batch / rate, latency(batch))
    else:
        batch = schedule.largest(lambda b: 2 * latency(b) <= services.slo_ms[service])
        cycle = latency(batch)
    if batch == 0:
        return None
    occupancy = latency(batch) / cycle if piece.occupancy != 1 else 1.0
    return Piece(service, let.share, batch, cycle, rate, 1000 * batch / cycle, occupancy)


def _latency(
    schedule: Schedule, service: int, share: float, others: Sequence[tuple[int, int, float]], batch: int
) -> float:
    return schedule.services.beside_ms(service, batch, share, others)
