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

from heapq import heapify, heappush
from math import ceil, floor

from ..allocation.allocated import CutGpu, Segment
from ..model.geometry import PlacementRules, placement_rules, roomiest_layout
from ..model.plan import Plan
from ..model.problem import Sharing
from ..performance.fleet_types import FleetType
from ..performance.resolve import ResolvedProblem
from .planner import Planner
from .single_type import Placed, cheapest_single_type, sizes_by_compute, without_plain_size

BREAK_UP_AT_MOST = 4
"""Slices in use up to which a GPU is broken up (sec. IV-C2: "heuristically set to 4")."""


class Parvagpu(Planner):
    """
    ParvaGPU, with or without its allocation optimisation.

    max_processes
        Most processes in an instance; None: as many as the problem allows.
    """

    own_rule = True

    def __init__(self, name: str, source: str, *, optimise: bool = True, max_processes: int | None = None) -> None:
        self.name = name
        self.sharing: tuple[Sharing, ...] = ("mig",)
        self.source = source
        self._optimise = optimise
        self._max_processes = max_processes

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        if self._max_processes is not None:
            resolved = resolved.with_max_processes(self._max_processes)
        return cheapest_single_type(resolved, self.name, self._place, self.sharing)

    def _place(self, resolved: ResolvedProblem, entry: FleetType) -> Placed:
        unserved = without_plain_size(resolved, sizes_by_compute(resolved, entry))
        return unserved or placed_by_parvagpu(resolved, entry, optimise=self._optimise)


def placed_by_parvagpu(resolved: ResolvedProblem, entry: FleetType, *, optimise: bool = True) -> list[CutGpu]:
    """Returns cut GPUs of one type that serve all workloads; each must be able to use some partition of it."""
    sizes = sizes_by_compute(resolved, entry)
    allocation = _Allocation(resolved, entry, sizes)
    segments = [s for w in range(len(resolved.required_rps)) for s in _demand_matching(resolved, sizes, w)]
    allocation.relocate(segments)
    if optimise:
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
    # By rounding, the rest may be a little more than what one of them carries.
    rest = min(rate - full * throughput[optimal], throughput[optimal])
    last = min(slices for slices, rps in throughput.items() if rps >= rest)
    return [Segment(sizes[slices], w) for slices in [optimal] * full + [last]]


class _Allocation:
    """
    The deployment map while it is built: a list of segments for each GPU.

    GPUs with equal contents are interchangeable but for their number, and there are few different contents, so best
    fit looks at the first GPU of each content and not at every GPU.
    """

    def __init__(self, resolved: ResolvedProblem, entry: FleetType, sizes: dict[int, int]) -> None:
        self._resolved = resolved
        self._sizes = sizes
        self._slices = {k: slices for slices, k in sizes.items()}
        self._rules: PlacementRules = placement_rules(
            entry.geometry, [profile.name for profile in entry.geometry.profiles if profile.kind == "base"]
        )
        self.gpus: list[list[Segment]] = []
        self._by_content: dict[tuple[int, ...], list[int]] = {}
        """Sizes on a GPU, sorted -> heap of the GPUs with that content."""

    def relocate(self, segments: list[Segment]) -> None:
        """Places segments, largest first, each on the GPU that is left with the fewest free slices."""
        for segment in sorted(segments, key=lambda segment: -self._slices[segment.size]):
            contents = [content for content in self._by_content if self._has_room(content, segment.size)]
            if contents:
                fullest = max(contents, key=lambda content: (self._used(content), -self._by_content[content][0]))
                g = self._by_content[fullest][0]
                self._change(g, [*self.gpus[g], segment])
            else:
                self.gpus.append([])
                heappush(self._by_content.setdefault((), []), len(self.gpus) - 1)
                self._change(len(self.gpus) - 1, [segment])

    def optimise(self) -> None:
        """Breaks up GPUs that are little used, last first (algorithm 2, ALLOCATIONOPTIMIZATION)."""
        owed_rps: dict[int, float] = {}
        for g in reversed(range(len(self.gpus))):
            if not 0 < self._used(_content(self.gpus[g])) <= BREAK_UP_AT_MOST:
                continue
            movable = [segment for segment in self.gpus[g] if self._small_sizes(segment.workload)]
            self._change(g, [segment for segment in self.gpus[g] if segment not in movable])
            for segment in movable:
                freed = float(self._resolved.capacity_rps[segment.workload, segment.size])
                owed_rps[segment.workload] = owed_rps.get(segment.workload, 0.0) + freed
            moved = dict.fromkeys(segment.workload for segment in movable)
            self.relocate([s for w in moved for s in self._small_segments(w, owed_rps)])

    def _change(self, g: int, segments: list[Segment]) -> None:
        """Gives a GPU other segments, and keeps the GPUs of each content in order."""
        old = self._by_content[_content(self.gpus[g])]
        old.remove(g)
        heapify(old)
        if not old:
            del self._by_content[_content(self.gpus[g])]
        self.gpus[g] = segments
        heappush(self._by_content.setdefault(_content(segments), []), g)

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
        return [Segment(self._sizes[slices], w) for slices, number in ((2, twos), (1, ones)) for _ in range(number)]

    def _small_sizes(self, w: int) -> dict[int, float]:
        sizes = {slices: self._sizes[slices] for slices in (1, 2) if slices in self._sizes}
        throughput = {slices: float(self._resolved.capacity_rps[w, k]) for slices, k in sizes.items()}
        return {slices: rps for slices, rps in throughput.items() if rps > 0}

    def _has_room(self, content: tuple[int, ...], size: int) -> bool:
        if self._slices[size] == 3 and any(self._slices[other] == 3 for other in content):
            return False
        names = sorted(self._resolved.sizes[k].name for k in (*content, size))
        return roomiest_layout(self._rules, tuple(names)) is not None

    def _used(self, content: tuple[int, ...]) -> int:
        return sum(self._slices[size] for size in content)


def _content(segments: list[Segment]) -> tuple[int, ...]:
    """Returns the sizes on a GPU, sorted."""
    return tuple(sorted(segment.size for segment in segments))


PLANNERS = (
    Parvagpu("parvagpu", "ParvaGPU (SC'24), sec. IV"),
    Parvagpu("parvagpu-single", "ParvaGPU (SC'24), sec. V: without MPS, one process an instance", max_processes=1),
    Parvagpu("parvagpu-unoptimized", "ParvaGPU (SC'24), sec. V: without allocation optimisation", optimise=False),
)
