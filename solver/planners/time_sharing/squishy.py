"""
Squishy bin packing (Nexus, SOSP 2019, sec. 6.1), on bins that are whole GPUs or equal shares of them.

    saturate   B = the largest batch with 2 l(B) <= SLO, T = 1000 B / l(B): floor(rate / T) bins of its own, cycle l(B)
    residue    rate r is left: b = the largest with l(b) + 1000 b / r <= SLO, cycle 1000 b / r, occupancy l(b) / cycle
    merge      by falling occupancy each residue joins the open bin that becomes fullest, or opens one; the joint cycle
               d is the shorter one, batches ceil(d r / 1000), and all latencies together at most d

The paper leaves open: a service too slow to wait for a batch (2 l(1) > SLO) has no bins of its own; one without a
residual batch goes with b = 1 and the cycle SLO - l(1), if that is no less than l(1), else no plan is found; where l(b)
is more than its cycle it saturates a bin, if it can have bins of its own. The published GPU counts of gpu-lets' paper
are of a port that is not public.
"""

from dataclasses import dataclass
from math import ceil, floor

from .services import LARGEST, Services
from .shares import Gpulet, Placement, Task

ROUNDED = 1e-9


@dataclass
class _Residue:
    service: int
    rate_rps: float
    cycle_ms: float
    occupancy: float


def squishy_bins(services: Services, share: float) -> list[Gpulet] | None:
    """Returns as many bins of a share as are needed, numbered as GPUs; None: some service fits into none."""
    bins: list[Gpulet] = []
    residues = []
    for service, rate in enumerate(services.rate_rps):
        if rate <= 0:
            continue
        split = _split(services, share, service, rate)
        if split is None:
            return None
        own, residue = split
        bins += own
        residues += [residue] if residue else []
    for open_bin in _merged(services, share, residues):
        bins.append(open_bin)
    for number, one in enumerate(bins):
        one.gpu = number
    return bins


def on_gpus(bins: list[Gpulet], share: float) -> Placement:
    """Returns bins of equal shares on as few GPUs as hold them, in their order."""
    each = round(100 // share)
    gpus = [bins[i : i + each] for i in range(0, len(bins), each)]
    for number, lets in enumerate(gpus):
        for let in lets:
            let.gpu = number
    return gpus


def _split(services: Services, share: float, service: int, rate: float) -> tuple[list[Gpulet], _Residue | None] | None:
    """Returns the bins that a service saturates, and what is left of it; None: it fits into no bin."""
    latency, slo_ms = services.latency_ms[service][share], services.slo_ms[service]
    most = max((b for b in range(1, LARGEST + 1) if 2 * latency[b] <= slo_ms), default=0)
    own: list[Gpulet] = []
    left = rate
    if most:
        throughput = 1000 * most / latency[most]
        for _ in range(floor(rate / throughput)):
            own.append(Gpulet(0, share))
            own[-1].put(Task(service, most, throughput), latency[most], 1.0)
        left = rate - len(own) * throughput
    if left <= ROUNDED * rate:
        return own, None
    batch = max((b for b in range(1, LARGEST + 1) if latency[b] + 1000 * b / left <= slo_ms), default=0)
    cycle = 1000 * batch / left if batch else slo_ms - latency[1]
    if not batch and cycle < latency[1]:
        return None
    batch = batch or 1
    if latency[batch] > cycle:
        if not most:
            return None
        batch, cycle = most, latency[most]
    return own, _Residue(service, left, cycle, latency[batch] / cycle)


@dataclass
class _Bin:
    cycle_ms: float
    members: list[_Residue]
    occupancy: float
    batches: list[int]


def _merged(services: Services, share: float, residues: list[_Residue]) -> list[Gpulet]:
    open_bins: list[_Bin] = []
    for residue in sorted(residues, key=lambda one: -one.occupancy):
        joined = [(i, bin_) for i, one in enumerate(open_bins) if (bin_ := _joined(services, share, one, residue))]
        if joined:
            fullest, best = max(joined, key=lambda pair: (round(pair[1].occupancy, 12), -pair[0]))
            open_bins[fullest] = best
        else:
            open_bins.append(_alone(residue))
    found = []
    for one in open_bins:
        let = Gpulet(0, share, cycle_ms=one.cycle_ms, occupancy=one.occupancy)
        let.tasks = [Task(m.service, b, m.rate_rps) for m, b in zip(one.members, one.batches, strict=True)]
        found.append(let)
    return found


def _alone(residue: _Residue) -> _Bin:
    batch = _batch(residue.rate_rps, residue.cycle_ms)
    return _Bin(residue.cycle_ms, [residue], residue.occupancy, [min(batch, LARGEST)])


def _joined(services: Services, share: float, one: _Bin, residue: _Residue) -> _Bin | None:
    """Returns the bin with a residue more; None: it does not fit."""
    cycle = min(one.cycle_ms, residue.cycle_ms)
    members = [*one.members, residue]
    batches = [_batch(member.rate_rps, cycle) for member in members]
    if max(batches) > LARGEST or sum(services.needs_mib(m.service) for m in members) > services.room_mib:
        return None
    taken = sum(services.latency_ms[m.service][share][b] for m, b in zip(members, batches, strict=True))
    return _Bin(cycle, members, taken / cycle, batches) if taken <= cycle * (1 + 1e-12) else None


def _batch(rate_rps: float, cycle_ms: float) -> int:
    """Returns how many requests come in a cycle, at most; rounding adds none."""
    return max(1, ceil(cycle_ms * rate_rps / 1000 - ROUNDED))
