"""
Algorithm 1 of gpu-lets' preprint, literally (arXiv 2109.01611, sec. 4.3); the artefact does otherwise (elastic.py).

    for each service, by rate, descending; while some of its rate is left:
        p := min(share at the knee of its throughput, least share that carries what is left)
        the smallest free share of at least p, a whole GPU being cut, on which some batch keeps the SLO
        if what is left can take turns on a share that is in use: there, and the cut is undone; else here

The paper leaves open what these words mean; an independent prototype of the same words gives the same counts
(tests/planners/time_sharing):

- a batch keeps the SLO if it is executed twice within it, beside its neighbours: lines 27 and 28 ask
  L(b) + intf <= SLO, which leaves no time to collect a batch. Where neighbours slow it, a smaller one is taken;
- the knee is where the curvature through three neighbouring measured shares is greatest, both axes up to 1;
- turns need a round of d = the sum of their executions, in which each service's batch is what comes in a time of d or
  more, and d + l <= SLO for all;
- services that can take turns need no free share.
"""

from collections.abc import Sequence
from functools import cache
from math import ceil, dist

from .schedule import MOST_TASKS, Schedule
from .services import LARGEST, Services
from .shares import Gpulet, Placement, Task

ROUNDED = 1e-9
"""Part of a rate, or of a request, that rounding may leave."""


def algorithm_one(services: Services, gpus: int) -> Placement | None:
    """Returns shares on so many GPUs; None: the algorithm says that the rates cannot be scheduled."""
    lets = [[Gpulet(number, 100)] for number in range(gpus)]
    schedule = Schedule(services, lets, tuple(services.shares), cuts=True)
    knees = cache(lambda service: _knee(services, service))
    for service in sorted(range(len(services.names)), key=lambda one: -services.rate_rps[one]):
        left = services.rate_rps[service]
        while left > ROUNDED * services.rate_rps[service]:
            got = _allocated(schedule, service, left, min(knees(service), _least_share(services, service, left)))
            if got is None:
                return None
            left -= got
    return schedule.gpus


def _allocated(schedule: Schedule, service: int, left: float, least: float) -> float | None:
    """Gives a service a share, or turns on one; returns the rate that is served there, None: there is no place."""
    for free in sorted(schedule.empty(), key=lambda let: let.share):
        if free.share < least or not schedule.has_room(service, free):
            continue
        whole = free.share == 100
        schedule.cut(free, least)
        if batch := _largest_in_time(schedule, service, free):
            latency = schedule.beside_ms(service, batch, free)
            got = min(left, 1000 * batch / latency)
            if _takes_turns(schedule, service, got):
                _uncut(schedule, free, whole)
            else:
                free.put(Task(service, batch, got), latency, 1.0)
            return got
        _uncut(schedule, free, whole)
    return left if _takes_turns(schedule, service, left) else None


def _uncut(schedule: Schedule, let: Gpulet, was_whole: bool) -> None:
    """Makes a GPU whole again that was cut for nothing."""
    if was_whole and let.share < 100:
        schedule.gpus[let.gpu].pop()
        let.share = 100


def _takes_turns(schedule: Schedule, service: int, rate_rps: float) -> bool:
    """Has a service take turns on the first share in use where all keep their SLOs; returns whether there is one."""
    for let in (one for lets in schedule.gpus for one in lets if one.tasks):
        if len(let.tasks) == MOST_TASKS or let.serves(service) or not schedule.has_room(service, let):
            continue
        rates = [(task.service, task.rate_rps) for task in let.tasks] + [(service, rate_rps)]
        found = _round(schedule, let, rates)
        if found is not None:
            let.cycle_ms, batches = found
            let.tasks = [Task(one, batch, rate) for (one, rate), batch in zip(rates, batches, strict=True)]
            let.occupancy = 1.0
            return True
    return False


def _round(schedule: Schedule, let: Gpulet, rates: Sequence[tuple[int, float]]) -> tuple[float, list[int]] | None:
    """Returns the longest round in which services with rates take turns in time, and their batches; None: none."""
    ends = sorted({1000 * number / rate for _, rate in rates for number in range(1, LARGEST + 1)}, reverse=True)
    for end in ends:  # within which all batches are of one size
        batches = [max(1, ceil(end * rate / 1000 - ROUNDED)) for _, rate in rates]
        if max(batches) > LARGEST:
            continue
        times = [schedule.beside_ms(one, batch, let) for (one, _), batch in zip(rates, batches, strict=True)]
        cycle = sum(times)
        slos = [schedule.services.slo_ms[one] for one, _ in rates]
        if cycle <= end * (1 + ROUNDED) and all(cycle + time <= slo for time, slo in zip(times, slos, strict=True)):
            return cycle, batches
    return None


def _largest_in_time(schedule: Schedule, service: int, let: Gpulet) -> int:
    """Returns the largest batch that two executions beside the neighbours keep within the SLO; 0: none."""
    slo_ms = schedule.services.slo_ms[service]
    return max((b for b in range(1, LARGEST + 1) if 2 * schedule.beside_ms(service, b, let) <= slo_ms), default=0)


def _throughput(services: Services, service: int, share: float) -> float:
    """Returns what the largest batch of which two keep within the SLO carries on a share; 0: none is quick enough."""
    latency, slo_ms = services.latency_ms[service][share], services.slo_ms[service]
    batch = max((b for b in range(1, LARGEST + 1) if 2 * latency[b] <= slo_ms), default=0)
    return 1000 * batch / latency[batch] if batch else 0.0


def _least_share(services: Services, service: int, rate_rps: float) -> float:
    """Returns the least share that carries a rate; 100: none does."""
    enough = (share for share in services.shares if _throughput(services, service, share) >= rate_rps * (1 - ROUNDED))
    return next(enough, 100)


def _knee(services: Services, service: int) -> float:
    """Returns the share at which throughput over shares is bent most; 100: there are no three to tell."""
    carried = [_throughput(services, service, share) for share in services.shares]
    most = max(carried)
    points = [(share / 100, rps / most if most else 0.0) for share, rps in zip(services.shares, carried, strict=True)]
    between = [i for i in range(1, len(points) - 1) if carried[i] > 0]
    return services.shares[max(between, key=lambda i: _curvature(*points[i - 1 : i + 2]))] if between else 100


Point = tuple[float, float]


def _curvature(one: Point, two: Point, three: Point) -> float:
    """Returns the curvature of the circle through three points (Menger's)."""
    twice_area = abs((two[0] - one[0]) * (three[1] - one[1]) - (three[0] - one[0]) * (two[1] - one[1]))
    return 2 * twice_area / (dist(one, two) * dist(two, three) * dist(one, three))
