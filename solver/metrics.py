"""
How well a plan uses what it pays for.

Internal slack (ParvaGPU, SC'24, eq. 3)
    1 - sum(SM_i A_i) / sum(SM_i): the part of the allocated SMs that is idle. SM_i: SMs of partition i. The
    paper measures the SM activity A_i; here it is estimated as the rate that the partition takes over
    the greatest throughput that any operating point of the model reaches on that MIG profile, whatever its
    latency. So a batch cut short by the SLO and a rate below the capacity both count as slack.
External fragmentation (ParvaGPU, eq. 4, which prints the utilisation; this is 1 minus it)
    1 - sum(SM_i) / (G S): the part of the SMs of the G used GPUs that no partition holds. S: SMs of the full-size
    MIG profile (98 on an A100, whose other 10 SMs MIG never uses).
Wasted slices
    Free compute or memory slices that no sequence of further instances could ever reach.

Where the catalogue does not know the SMs of a profile, compute slices stand in for them on that GPU type.
"""

from collections.abc import Iterable
from functools import cache

from .geometry import Layout, Placement, PlacementRules, most_addable, placement_rules, valid_layouts
from .model.catalogue import load_catalogue
from .model.hardware import MigGeometry
from .model.plan import GpuCut, Metrics, Plan, PlannedGpu
from .model.problem import Problem
from .model.profile import Profile
from .performance.prediction import peak_rps


def measure(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> Metrics | None:
    """Returns the metrics of a plan; None if it uses no GPU."""
    if not plan.gpus:
        return None
    by_key = {(profile.model, profile.gpu): profile for profile in profiles}
    model_of = {workload.name: workload.model for workload in problem.workloads}

    @cache
    def peak(model: str, gpu: str, mig_profile: str) -> float | None:
        profile = by_key.get((model, gpu))
        return None if profile is None else peak_rps(profile, mig_profile)

    allocated = active = total = 0.0
    for gpu in plan.gpus:
        mig = load_catalogue()[gpu.gpu].mig
        if mig is None:
            continue
        weights = _sm_weights(mig)
        total += weights[mig.full.name]
        for partition in gpu.partitions:
            if partition.mig_profile is None:
                continue
            weight = weights[partition.mig_profile]
            allocated += weight
            for served in partition.serves:
                reachable = peak(model_of[served.workload], gpu.gpu, partition.mig_profile)
                active += weight * min(1.0, served.rate_rps / (reachable or served.capacity_rps))
    cuts = tuple(_cut(gpu) for gpu in plan.gpus)
    return Metrics(
        internal_slack=1 - active / allocated if allocated else None,
        external_fragmentation=max(0.0, 1 - allocated / total) if total else None,
        wasted_compute_slices=sum(cut.wasted_compute_slices or 0 for cut in cuts),
        wasted_memory_slices=sum(cut.wasted_memory_slices or 0 for cut in cuts),
        gpus=cuts,
    )


def _sm_weights(mig: MigGeometry) -> dict[str, float]:
    """Returns the SMs of each profile, or its compute slices if one of them is unknown."""
    if any(profile.sm_count is None for profile in mig.profiles):
        return {profile.name: float(profile.compute_slices) for profile in mig.profiles}
    return {profile.name: float(profile.sm_count or 0) for profile in mig.profiles}


def _cut(gpu: PlannedGpu) -> GpuCut:
    mig = load_catalogue()[gpu.gpu].mig
    if mig is None or gpu.sharing != "mig":
        return GpuCut(
            id=gpu.id,
            free_compute_slices=None,
            free_memory_slices=None,
            wasted_compute_slices=None,
            wasted_memory_slices=None,
            addable={},
        )
    layout = tuple(sorted(Placement(part.start or 0, part.mig_profile) for part in gpu.partitions if part.mig_profile))
    free_compute, free_memory, wasted_compute, wasted_memory, addable = _room(placement_rules(mig), layout)
    return GpuCut(
        id=gpu.id,
        free_compute_slices=free_compute,
        free_memory_slices=free_memory,
        wasted_compute_slices=wasted_compute,
        wasted_memory_slices=wasted_memory,
        addable=dict(addable),
    )


@cache
def _room(rules: PlacementRules, layout: Layout) -> tuple[int, int, int, int, tuple[tuple[str, int], ...]]:
    """Returns free compute and memory slices, the wasted ones of each, and what could still be added."""
    compute, memory = _slices(rules, layout)
    present = set(layout)
    completions = [_slices(rules, other) for other in valid_layouts(rules) if present <= set(other)]
    most_compute = max((c for c, _ in completions), default=compute)
    most_memory = max((m for _, m in completions), default=memory)
    addable = tuple(
        (rule.name, count) for rule in rules.profiles if (count := most_addable(rules, layout, rule.name)) > 0
    )
    return (
        rules.compute_slices - compute,
        rules.placement_units - memory,
        rules.compute_slices - most_compute,
        rules.placement_units - most_memory,
        addable,
    )


def _slices(rules: PlacementRules, layout: Layout) -> tuple[int, int]:
    taken = [rules.by_name[placement.profile] for placement in layout]
    return sum(rule.compute_slices for rule in taken), sum(rule.memory_slices for rule in taken)
