"""
GSLICE's online rule in gpu-lets' port (`self_tuning.cpp`): every service tunes its own share and batch by the period.

Of a service with share u (in percent, more than 100 on several GPUs), batch b, rate R and SLO S, the latency l and the
throughput h of a period say, with D_l = 100 (S - l) / S and D_h = 100 (h - R) / R in whole percent, truncated:

    both within [0, 5)      all stays
    either below 0          u grows by max(|D_l|, |D_h|) points
    else                    u shrinks by as much
    in the last two cases   b becomes trunc(b + max((S - l) / S, -1) b), 1 to 32

Then all shares are reconciled: max-min fair in the 100 points of each GPU, rounded up to sizes that were measured.
No wait for a batch counts against S, and nobody knows of neighbours, as with guided self-tuning.

What a period shows comes from the tables instead of a GPU that runs. A server never ends, and where the source begins
is not known: here a share of 30 %, as in iGniter's port, but a batch of 8, since a batch of 1 never grows by this rule
(what is added to it is truncated); PERIODS periods; and the last state in which no service missed anything by this
measure, for steps are long and leave such a state again.
"""

from collections.abc import Sequence
from math import inf, trunc

from .services import LARGEST, Services
from .shares import Gpulet, Placement, Task

START_PERCENT, START_BATCH = 30, 8

BAND_PERCENT = 5

PERIODS = 60

MOST_STEP = 100
"""Points by which a share changes at most, a GPU's worth; the source states no limit."""


def tuned_online(services: Services, gpus: int) -> Placement | None:
    """Returns the shares and batches of the last good period on so many GPUs; None: there was none."""
    wanted = [START_PERCENT if rate > 0 else 0 for rate in services.rate_rps]
    batches = [START_BATCH] * len(wanted)
    best: Placement | None = None
    for _ in range(PERIODS):
        sizes = [_sizes(services.shares, given) for given in fair(wanted, 100.0 * gpus)]
        shown = [_shown(services, i, own, batches[i]) for i, own in enumerate(sizes)]
        if all(late >= 0 and short >= 0 for late, short in shown):
            best = _placed(services, sizes, batches, gpus) or best
        for i, (late, short) in enumerate(shown):
            if services.rate_rps[i] <= 0 or (0 <= trunc(late) < BAND_PERCENT and 0 <= trunc(short) < BAND_PERCENT):
                continue
            step = min(max(abs(trunc(late)), abs(trunc(short))), MOST_STEP)
            more = wanted[i] + (step if late < 0 or short < 0 else -step)
            wanted[i] = min(max(more, 1), 100 * gpus)
            batches[i] = min(max(trunc(batches[i] * (1 + max(late / 100, -1))), 1), LARGEST)
    return best


def fair(wanted: Sequence[float], room: float) -> list[float]:
    """Returns the max-min fair parts of a room: who wants least gets it, and what is left is shared by the others."""
    given = [0.0] * len(wanted)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for position, one in enumerate(order):
        given[one] = min(wanted[one], room / (len(order) - position))
        room -= given[one]
    return given


def _sizes(shares: Sequence[float], percent: float) -> list[float]:
    """Returns whole GPUs and the smallest share for the rest."""
    whole, rest = divmod(percent, 100)
    return [100] * int(whole) + ([next(one for one in shares if one >= rest)] if rest else [])


def _shown(services: Services, service: int, sizes: Sequence[float], batch: int) -> tuple[float, float]:
    """Returns by how many percent latency and throughput are better than asked for."""
    rate = services.rate_rps[service]
    if rate <= 0:
        return 0.0, 0.0
    times = [services.latency_ms[service][size][batch] for size in sizes]
    slo_ms, latest = services.slo_ms[service], max(times, default=inf)
    late = 100 * (slo_ms - latest) / slo_ms if latest < inf else -inf
    carried = sum(1000 * batch / time for time in times)
    return max(late, -MOST_STEP), 100 * (carried - rate) / rate


def _placed(
    services: Services, sizes: Sequence[Sequence[float]], batches: Sequence[int], gpus: int
) -> Placement | None:
    """Returns the shares on GPUs, the largest first, each where it leaves least; None: they need more GPUs."""
    placed: Placement = [[] for _ in range(gpus)]
    free, room = [100.0] * gpus, [services.room_mib] * gpus
    for size, service in sorted(((size, i) for i, own in enumerate(sizes) for size in own), reverse=True):
        needs = services.needs_mib(service)
        hosts = [one for one in range(gpus) if free[one] >= size and room[one] >= needs]
        if not hosts:
            return None
        host = min(hosts, key=free.__getitem__)
        free[host] -= size
        room[host] -= needs
        placed[host].append(_let(services, host, size, service, batches[service], sizes[service]))
    return placed


def _let(services: Services, gpu: int, size: float, service: int, batch: int, sizes: Sequence[float]) -> Gpulet:
    """Returns a share with its part of the service's rate, as its throughput is of all."""
    times = services.latency_ms[service]
    part = (1 / times[size][batch]) / sum(1 / times[one][batch] for one in sizes)
    rate = services.rate_rps[service] * part
    cycle_ms = 1000 * batch / rate
    let = Gpulet(gpu, size)
    let.put(Task(service, batch, rate), cycle_ms, times[size][batch] / cycle_ms)
    return let
