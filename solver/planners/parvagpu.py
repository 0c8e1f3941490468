"""
ParvaGPU (SC'24): segment configuration, relocation and allocation optimisation.

Segment configurator (sec. IV-B, algorithm 1). For each workload the optimal triplet of each instance size is its
operating point of greatest throughput. The size with the greatest throughput per slice serves as often as the
rate asks for in full; the smallest size that covers the rest serves the rest.

Segment relocation (sec. IV-C1). Segments by size, largest first, workloads in their order; each goes to the GPU
that is left with the fewest free slices (best fit, as in the published source; the paper says first fit).
No GPU gets a second 3g, because 3g is only put into slot 4.

Allocation optimisation (sec. IV-C2, algorithm 2). From the last GPU on, GPUs with at most 4 slices in use are
broken up: their segments become segments of sizes 2 and 1, which go where there is room.

Differences from the published source, on purpose: whether segments fit is decided by whether their
multiset has a legal layout, not by start slots alone (the published maps overlap); the throughput of a freed
segment is its own; a segment whose workload can use neither size 2 nor size 1 stays where it was instead of
being lost. The latency test is `latency <= slo_fraction x SLO` (source: strictly below 0.45 SLO, SLOs cut to
whole milliseconds).
"""

from math import ceil, floor

from ..assembly import CutGpu, Segment
from ..geometry import PlacementRules, placement_rules, roomiest_layout
from ..model.plan import Plan
from ..performance.resolve import FleetType, ResolvedProblem, with_max_processes
from .single_type import cheapest_single_type, sizes_by_compute

BREAK_UP_AT_MOST = 4
"""Slices in use up to which a GPU is broken up (sec. IV-C2: "heuristically set to 4")."""


class Parvagpu:
    """
    ParvaGPU, with or without its allocation optimisation.

    max_processes
        Most processes in an instance; None: as many as the problem allows.
    """

    def __init__(self, name: str, source: str, *, optimise: bool = True, max_processes: int | None = None) -> None:
        self.name = name
        self.source = source
        self._optimise = optimise
        self._max_processes = max_processes

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:  # noqa: ARG002 - takes milliseconds
        if self._max_processes is not None:
            resolved = with_max_processes(resolved, self._max_processes)
        return cheapest_single_type(resolved, self.name, self._place)

    def _place(self, resolved: ResolvedProblem, entry: FleetType) -> list[CutGpu]:
        sizes = sizes_by_compute(resolved, entry)
        allocation = _Allocation(resolved, entry, sizes)
        segments = [s for w in range(len(resolved.required_rps)) for s in _demand_matching(resolved, sizes, w)]
        allocation.relocate(segments)
        if self._optimise:
            allocation.optimise()
        return [CutGpu(entry.gpu.name, tuple(segments)) for segments in allocation.gpus]


def _demand_matching(resolved: ResolvedProblem, sizes: dict[int, int], w: int) -> list[Segment]:
    """Returns the segments of one workload (algorithm 1, DEMANDMATCHING)."""
    rate = float(resolved.required_rps[w])
    throughput = {slices: float(resolved.capacity_rps[w, k]) for slices, k in sizes.items()}
    throughput = {slices: rps for slices, rps in throughput.items() if rps > 0}
    optimal = max(throughput, key=lambda slices: (throughput[slices] / slices, -slices))
    full = floor(rate / throughput[optimal])
    if full * throughput[optimal] >= rate:
        full -= 1
    rest = rate - full * throughput[optimal]
    last = min(slices for slices, rps in throughput.items() if rps >= rest)
    return [Segment(sizes[slices], w) for slices in [optimal] * full + [last]]


class _Allocation:
    """The deployment map while it is built: a list of segments for each GPU."""

    def __init__(self, resolved: ResolvedProblem, entry: FleetType, sizes: dict[int, int]) -> None:
        self._resolved = resolved
        self._sizes = sizes
        self._slices = {k: slices for slices, k in sizes.items()}
        self._all_slices = entry.geometry.compute_slices
        self._rules: PlacementRules = placement_rules(
            entry.geometry, [profile.name for profile in entry.geometry.profiles if profile.kind == "base"]
        )
        self.gpus: list[list[Segment]] = []

    def relocate(self, segments: list[Segment]) -> None:
        """Places segments, largest first, each on the GPU that is left with the fewest free slices."""
        for segment in sorted(segments, key=lambda segment: -self._slices[segment.size]):
            candidates = [g for g, on in enumerate(self.gpus) if self._has_room(on, segment)]
            if candidates:
                fullest = max(candidates, key=lambda g: (self._used(self.gpus[g]), -g))
                self.gpus[fullest].append(segment)
            else:
                self.gpus.append([segment])

    def optimise(self) -> None:
        """Breaks up GPUs that are little used, last first (algorithm 2, ALLOCATIONOPTIMIZATION)."""
        owed_rps: dict[int, float] = {}
        for g in reversed(range(len(self.gpus))):
            if not 0 < self._used(self.gpus[g]) <= BREAK_UP_AT_MOST:
                continue
            movable = [segment for segment in self.gpus[g] if self._small_sizes(segment.workload)]
            self.gpus[g] = [segment for segment in self.gpus[g] if segment not in movable]
            for segment in movable:
                freed = float(self._resolved.capacity_rps[segment.workload, segment.size])
                owed_rps[segment.workload] = owed_rps.get(segment.workload, 0.0) + freed
            self.relocate([s for w in owed_rps for s in self._small_segments(w, owed_rps)])

    def _small_segments(self, w: int, owed_rps: dict[int, float]) -> list[Segment]:
        """Returns segments of sizes 2 and 1 for the rate owed; what they carry beyond it is credited."""
        throughput = self._small_sizes(w)
        one, two = throughput.get(1, 0.0), throughput.get(2, 0.0)
        if owed_rps[w] <= 0:
            return []
        if one == 0:
            twos, ones = ceil(owed_rps[w] / two), 0
        elif two / 2 > one:
            twos = floor(owed_rps[w] / two)
            ones = ceil((owed_rps[w] - twos * two) / one)
        else:
            twos, ones = 0, ceil(owed_rps[w] / one)
        owed_rps[w] -= twos * two + ones * one
        return [Segment(self._sizes[2], w)] * twos + [Segment(self._sizes[1], w)] * ones

    def _small_sizes(self, w: int) -> dict[int, float]:
        rps = {
            slices: float(self._resolved.capacity_rps[w, self._sizes[slices]])
            for slices in (1, 2)
            if slices in self._sizes
        }
        return {slices: value for slices, value in rps.items() if value > 0}

    def _has_room(self, on: list[Segment], segment: Segment) -> bool:
        if self._used(on) + self._slices[segment.size] > self._all_slices:
            return False
        if self._slices[segment.size] == 3 and any(self._slices[other.size] == 3 for other in on):
            return False
        names = sorted(self._resolved.sizes[s.size].mig.name for s in [*on, segment])
        return roomiest_layout(self._rules, tuple(names)) is not None

    def _used(self, on: list[Segment]) -> int:
        return sum(self._slices[segment.size] for segment in on)


PLANNERS = (
    Parvagpu("parvagpu", "ParvaGPU (SC'24), sec. IV"),
    Parvagpu("parvagpu-single", "ParvaGPU (SC'24), sec. V: without MPS, one process an instance", max_processes=1),
    Parvagpu("parvagpu-unoptimized", "ParvaGPU (SC'24), sec. V: without allocation optimisation", optimise=False),
)
