"""
PARIS (DAC'22, arXiv 2202.13481): how many MIG instances of each size a server of one model gets.

The algorithm (reconstructed: only the abstract could be read; steps and numbers are recalled). Queries come with a
batch size of their own, b with probability p(b). For each instance size k, from small to large:
  (A) its knee B_k is the smallest batch that keeps it busy: KNEE of the greatest utilisation. Size k serves the
      batches above the knees of all smaller sizes up to its own; the largest serves all larger batches too.
  (B) its need is sum p(b) / thr_k(b) over the batches that it serves, thr_k(b) in queries/s.
  (C) of G slices it gets G need_k / sum_j j need_j instances; rounding gives the slices left to the largest
      remainders.
Its second half, ELSA, sends each query to an instance; that is no planning.

Adapted, because PARIS shares out a server that is there and holds one model, and does not ask how large it must be:
- Every workload is a server of its own, of the fewest slices G with which the instances carry its rate.
  All workloads' instances are then packed onto GPUs together: first fit, largest first.
- Our rates are of requests, which the server itself batches. So p(b) only decides which sizes a workload gets: p(b)
  is log-normal and cut off at MOST_BATCH, as recalled of the paper's evaluation. What an instance carries is its
  best operating point within the SLO, as for every other planner.
- Utilisation was not measured; throughput stands in for it: the knee is the smallest batch with KNEE of the
  greatest throughput among the batches within the latency limit. thr_k(b) is that of one process, with latencies
  interpolated between measured batches.
- Sizes that do not serve a workload within its SLO are left out for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from math import floor

import numpy as np

from ..allocation.allocated import CutGpu, Segment
from ..model.geometry import placement_rules, roomiest_layout
from ..model.plan import Plan
from ..model.problem import Sharing
from ..performance.fleet_types import FleetType
from ..performance.interference.prediction import Floats, Ints
from ..performance.latency_rules.execution import within
from ..performance.operating_points import OperatingPoints
from ..performance.resolve import ResolvedProblem, usable_points
from .planner import Planner
from .single_type import Placed, cheapest_single_type, sizes_by_compute, without_plain_size

KNEE = 0.8
"""Part of the greatest utilisation from which on an instance counts as busy."""

MOST_BATCH = 32
"""Largest batch size of a query."""

MEDIAN_BATCH, BATCH_SIGMA = 8.0, 0.9
"""Of the log-normal batch sizes; the median is ours."""


class Paris(Planner):
    """PARIS' shares of instance sizes, as many as each workload's rate needs, packed first-fit."""

    name = "paris"
    sharing: tuple[Sharing, ...] = ("mig",)
    own_rule = True
    source = "PARIS (DAC'22), partition sizes by batch-size distribution; a server for each service, packed first-fit"

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return cheapest_single_type(resolved, self.name, _place, self.sharing)


@dataclass(frozen=True)
class BatchLatency:
    """What one workload's queries take on one instance size, by their batch size."""

    batch: Ints
    """Measured batch sizes, rising."""
    latency_ms: Floats

    def queries_per_s(self, batch: Ints) -> Floats:
        """Returns the throughput of one process in queries of these batch sizes; beyond the largest it falls as 1/b."""
        beyond = np.maximum(batch / self.batch[-1], 1.0)
        return np.asarray(1000.0 / (np.interp(batch, self.batch, self.latency_ms) * beyond), dtype=float)

    def knee(self, limit_ms: float) -> int:
        """Returns the smallest batch that keeps the instance busy, of those within the limit; 0: none is."""
        fast = within(self.latency_ms, limit_ms)
        if not fast.any():
            return 0
        rate = np.where(fast, self.batch / self.latency_ms, 0.0)
        return int(self.batch[np.argmax(rate >= KNEE * rate.max())])


def batch_probabilities() -> Floats:
    """Returns p(b) for b = 1 to MOST_BATCH."""
    batch = np.arange(1, MOST_BATCH + 1)
    density = np.exp(-(np.log(batch / MEDIAN_BATCH) ** 2) / (2 * BATCH_SIGMA**2)) / batch
    return np.asarray(density / density.sum(), dtype=float)


def segments_by_knee(knees: Mapping[int, int]) -> dict[int, Ints]:
    """Returns the batch sizes that each instance size serves, by compute slices (step A); sizes without any are out."""
    sizes = sorted(knees)
    served: dict[int, Ints] = {}
    largest = 0
    for k in sizes:
        last = MOST_BATCH if k == sizes[-1] else min(knees[k], MOST_BATCH)
        if last > largest:
            served[k] = np.arange(largest + 1, last + 1)
            largest = last
    return served


def instances_of(need: Mapping[int, float], slices: int) -> dict[int, int]:
    """Returns the instances of each size that a server of so many slices gets (step C)."""
    total = sum(k * part for k, part in need.items())
    quota = {k: slices * part / total for k, part in need.items()}
    instances = {k: floor(part + 1e-9) for k, part in quota.items()}
    left = slices - sum(k * number for k, number in instances.items())
    for k in sorted(quota, key=lambda k: (instances[k] - quota[k], k)):
        if k <= left:
            instances[k] += 1
            left -= k
    return instances


def server_for(need: Mapping[int, float], capacity_rps: Mapping[int, float], rate_rps: float) -> dict[int, int]:
    """Returns the instances of the smallest server that carries a rate."""
    # A size gets less than one instance more than its share, so fewer slices than this cannot do.
    total = sum(k * part for k, part in need.items())
    per_slice = sum(part * capacity_rps[k] for k, part in need.items()) / total
    first = floor((rate_rps - sum(capacity_rps[k] for k in need)) / per_slice)
    servers = (instances_of(need, slices) for slices in count(max(first, 1)))
    enough = rate_rps * (1 - 1e-9)
    return next(server for server in servers if sum(n * capacity_rps[k] for k, n in server.items()) >= enough)


def _place(resolved: ResolvedProblem, entry: FleetType) -> Placed:
    sizes = sizes_by_compute(resolved, entry)
    if unserved := without_plain_size(resolved, sizes):
        return unserved
    segments: list[Segment] = []
    for w in range(len(resolved.required_rps)):
        capacity_rps = {k: float(rps) for k, size in sizes.items() if (rps := resolved.capacity_rps[w, size]) > 0}
        need = _need(resolved, w, {k: sizes[k] for k in capacity_rps})
        server = server_for(need, capacity_rps, float(resolved.required_rps[w]))
        segments += [Segment(sizes[k], w) for k, number in server.items() for _ in range(number)]
    return _packed(resolved, entry, segments)


def _need(resolved: ResolvedProblem, w: int, sizes: Mapping[int, int]) -> dict[int, float]:
    """Returns the need of each instance size (step B)."""
    limit_ms = float(resolved.limit_ms[w])
    latency: dict[int, BatchLatency] = {}
    for k, size in sizes.items():
        points = usable_points(
            int(resolved.processes[w, size]), resolved.problem.workloads[w], resolved.sizes[size], resolved.points
        )
        if points is not None:
            latency[k] = _alone(points)
    probability = batch_probabilities()
    served = segments_by_knee({k: one.knee(limit_ms) for k, one in latency.items()})
    return {k: float(np.sum(probability[b - 1] / latency[k].queries_per_s(b))) for k, b in served.items()}


def _alone(points: OperatingPoints) -> BatchLatency:
    """Returns the latency of each batch with the fewest processes that were measured: one, as a rule."""
    order = np.lexsort((points.latency_ms, points.processes, points.batch))
    batch, first = np.unique(points.batch[order], return_index=True)
    return BatchLatency(batch, points.latency_ms[order][first])


def _packed(resolved: ResolvedProblem, entry: FleetType, segments: list[Segment]) -> list[CutGpu]:
    """Returns the segments on GPUs: largest first, each on the first GPU with room."""
    rules = placement_rules(entry.geometry, [one.name for one in entry.geometry.profiles if one.kind == "base"])
    known: dict[tuple[str, ...], bool] = {}

    def fit(names: tuple[str, ...]) -> bool:
        if names not in known:
            known[names] = roomiest_layout(rules, tuple(sorted(names))) is not None
        return known[names]

    gpus: list[list[Segment]] = []
    names: list[tuple[str, ...]] = []
    g, size = 0, -1
    for segment in sorted(segments, key=lambda one: (-resolved.sizes[one.size].profile.compute_slices, one.workload)):
        if segment.size != size:
            g, size = 0, segment.size
        # A GPU without room for one instance of a size has none for the next either.
        name = resolved.sizes[size].name
        while g < len(gpus) and not fit((*names[g], name)):
            g += 1
        if g == len(gpus):
            gpus.append([])
            names.append(())
        gpus[g].append(segment)
        names[g] = (*names[g], name)
    return [CutGpu(entry.gpu.name, tuple(contents)) for contents in gpus]


PLANNERS = (Paris(),)
