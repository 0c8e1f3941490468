"""
GPUs that serve everything, found in a moment and without a solver: for a search that ends before it has a plan.

Loading the solvers alone takes longer than a short time limit. What published heuristics build needs none of them: a
GPU type's instances as ParvaGPU places them, whole GPUs, and residents under MPS packed in a moment. Each type is tried
for all services alone, and then every service on the first type that serves it. Whether the GPUs hold under all rules
of the problem is not known here: whoever takes them verifies them first. Nothing is claimed of their cost.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ...allocation.allocated import AllocatedGpu, CutGpu, MpsGpu
from ...exact.fleet.kept_limits import keeps_limits
from ...exact.mps.packed_residents import packed_residents
from ...performance.fleet_types import FleetType
from ...performance.resolve import ResolvedProblem
from ..parvagpu import placed_by_parvagpu
from ..single_type import serve_all, sizes_by_compute, without_plain_size
from ..whole_gpu import placed_whole


def gpus_at_hand(resolved: ResolvedProblem) -> Sequence[AllocatedGpu]:
    """Returns the cheapest of the GPUs that are found so, within all counts; empty: none were found."""
    found = [gpus for gpus in _found(resolved) if keeps_limits(resolved, gpus)]
    return min(found, key=lambda gpus: _cost(resolved, gpus), default=())


def _found(resolved: ResolvedProblem) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs that serve everything: of one type each, then of the types that serve the services first."""
    on_gpus = [entry for entry in resolved.fleet if "cores" not in entry.sharing]
    for entry in on_gpus:
        yield from _on_type(resolved, entry)
    if len(on_gpus) > 1 and (joint := _by_first_type(resolved, on_gpus)):
        yield joint


def _on_type(resolved: ResolvedProblem, entry: FleetType) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs of one type that serve everything, for each way to share it."""
    for way in WAYS:
        if gpus := way(resolved, entry):
            yield gpus


def _by_first_type(resolved: ResolvedProblem, fleet: Sequence[FleetType]) -> list[AllocatedGpu]:
    """Returns GPUs on which every service is where it is served first, cheaper types first; empty: there are none."""
    left = list(range(len(resolved.required_rps)))
    gpus: list[AllocatedGpu] = []
    for entry in sorted(fleet, key=lambda one: one.price_per_hour):
        refused = {one.workload for one in serve_all(resolved, entry, entry.sharing)}
        rows = [w for w in left if resolved.problem.workloads[w].name not in refused]
        if not rows:
            continue
        own = resolved.restricted_to(rows)
        best = min(_on_type(own, entry), key=len, default=())
        if best:
            gpus += [_renumbered(gpu, rows) for gpu in best]
            left = [w for w in left if w not in set(rows)]
    return [] if left else gpus


def _renumbered(gpu: AllocatedGpu, rows: Sequence[int]) -> AllocatedGpu:
    """Returns a GPU of some services' problem with their numbers in the whole one."""
    if isinstance(gpu, MpsGpu):
        return replace(gpu, residents=tuple(replace(one, workload=rows[one.workload]) for one in gpu.residents))
    return gpu._replace(segments=tuple(one._replace(workload=rows[one.workload]) for one in gpu.segments))


def _cost(resolved: ResolvedProblem, gpus: Sequence[AllocatedGpu]) -> float:
    return sum(resolved.fleet_by_name[gpu.gpu].price_per_hour for gpu in gpus)


def _cut(resolved: ResolvedProblem, entry: FleetType) -> Sequence[AllocatedGpu]:
    if "mig" not in entry.sharing or without_plain_size(resolved, sizes_by_compute(resolved, entry)):
        return ()
    return placed_by_parvagpu(resolved, entry)


def _whole(resolved: ResolvedProblem, entry: FleetType) -> Sequence[AllocatedGpu]:
    if not entry.sharing & {"mig", "exclusive"}:
        return ()
    placed = placed_whole(resolved, entry)
    gpus = [one for one in placed if isinstance(one, CutGpu)]
    return gpus if len(gpus) == len(placed) else ()


def _shared(resolved: ResolvedProblem, entry: FleetType) -> Sequence[AllocatedGpu]:
    mps = resolved.mps.get(entry.gpu.name)
    return () if mps is None else packed_residents(resolved, mps) or ()


WAYS: tuple[Callable[[ResolvedProblem, FleetType], Sequence[AllocatedGpu]], ...] = (_cut, _whole, _shared)
"""The ways to serve everything on one type; empty: it does not serve everything so."""
