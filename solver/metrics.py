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

On a GPU under MPS, or used whole, S is all its SMs; a share of r percent holds r percent of them, and the greatest
throughput is that of the model alone at that share. Where the catalogue does not know the SMs of a MIG profile, its
part of the compute slices stands in for them.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from .geometry import Layout, Placement, PlacementRules, most_addable, placement_rules, valid_layouts
from .model.catalogue import load_catalogue
from .model.plan import GpuCut, Metrics, Plan, PlannedGpu
from .model.problem import Problem
from .model.profile import Profile, merged
from .performance.interference.igniter import IgniterModel
from .performance.prediction import peak_at_share_rps, peak_rps

CUTS = TypeAdapter(tuple[GpuCut, ...])


def measure(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> Metrics | None:
    """Returns the metrics of a plan; None if it uses no GPU."""
    if not plan.gpus:
        return None
    by_key = merged(profiles)
    model_of = {workload.name: workload.model for workload in problem.workloads}

    @cache
    def peak(model: str, gpu: str, mig_profile: str | None, sm_percent: float) -> float | None:
        profile = by_key.get((model, gpu))
        if profile is None:
            return None
        return peak_rps(profile, mig_profile) if mig_profile else peak_at_share_rps(profile, sm_percent)

    allocated = active = total = 0.0
    for gpu in plan.gpus:
        facts = load_catalogue()[gpu.gpu]
        total += _sms(gpu.gpu, facts.mig.full.name if facts.mig and gpu.sharing == "mig" else None)
        for partition in gpu.partitions:
            percent = partition.sm_percent or 100.0
            sms = _sms(gpu.gpu, partition.mig_profile) * (1.0 if partition.mig_profile else percent / 100)
            allocated += sms
            for served in partition.serves:
                reachable = peak(model_of[served.workload], gpu.gpu, partition.mig_profile, percent)
                active += sms * min(1.0, served.rate_rps / (reachable or served.capacity_rps))
    # All at once: a plan may have tens of thousands of GPUs.
    cuts = CUTS.validate_python([_cut(gpu, model_of, by_key) for gpu in plan.gpus])
    return Metrics(
        internal_slack=1 - active / allocated if allocated else None,
        external_fragmentation=max(0.0, 1 - allocated / total) if total else None,
        wasted_compute_slices=sum(cut.wasted_compute_slices or 0 for cut in cuts),
        wasted_memory_slices=sum(cut.wasted_memory_slices or 0 for cut in cuts),
        gpus=cuts,
    )


@cache
def _sms(name: str, mig_profile: str | None) -> float:
    """Returns the SMs of a MIG profile, or of the whole GPU."""
    gpu = load_catalogue()[name]
    profile = gpu.mig.profile(mig_profile) if gpu.mig and mig_profile else None
    if gpu.mig is None or profile is None:
        return gpu.sm_count.value
    if any(other.sm_count is None for other in gpu.mig.profiles):
        return gpu.sm_count.value * profile.compute_slices / gpu.mig.compute_slices
    return float(profile.sm_count or 0)


def _cut(gpu: PlannedGpu, model_of: dict[str, str], profiles: dict[tuple[str, str], Profile]) -> dict[str, Any]:
    """Returns the fields of what is left of a GPU."""
    mig = load_catalogue()[gpu.gpu].mig
    if mig is None or gpu.sharing != "mig":
        power_w, frequency_mhz = _power(gpu, model_of, profiles) if gpu.sharing == "mps" else (None, None)
        taken = sum(partition.sm_percent or 0.0 for partition in gpu.partitions)
        return {
            "id": gpu.id,
            "free_compute_slices": None,
            "free_memory_slices": None,
            "wasted_compute_slices": None,
            "wasted_memory_slices": None,
            "addable": {},
            "free_percent": max(0.0, 100.0 - taken) if gpu.sharing == "mps" else None,
            "power_demand_w": power_w,
            "frequency_mhz": frequency_mhz,
        }
    layout = tuple(sorted(Placement(part.start or 0, part.mig_profile) for part in gpu.partitions if part.mig_profile))
    free_compute, free_memory, wasted_compute, wasted_memory, addable = _room(gpu.gpu, layout)
    return {
        "id": gpu.id,
        "free_compute_slices": free_compute,
        "free_memory_slices": free_memory,
        "wasted_compute_slices": wasted_compute,
        "wasted_memory_slices": wasted_memory,
        "addable": dict(addable),
        "free_percent": None,
        "power_demand_w": None,
        "frequency_mhz": None,
    }


def _power(
    gpu: PlannedGpu, model_of: dict[str, str], profiles: dict[tuple[str, str], Profile]
) -> tuple[float | None, float | None]:
    """Returns power demand in W and frequency in MHz of a GPU under MPS; None: no coefficients."""
    residents = [(partition, served) for partition in gpu.partitions for served in partition.serves]
    known = [
        profile.interference if (profile := profiles.get((model_of[served.workload], gpu.gpu))) else None
        for _, served in residents
    ]
    coefficients = [one for one in known if one is not None]
    if len(coefficients) < len(residents):
        return None, None
    model = IgniterModel.of(coefficients[0].gpu, [one.model for one in coefficients])
    figures = model.predict(
        np.arange(len(residents)),
        np.array([served.batch for _, served in residents], dtype=np.int64),
        np.array([partition.sm_percent or 0.0 for partition, _ in residents]),
    )
    return float(figures.power_w or 0.0), float(figures.frequency_mhz or 0.0)


@cache
def _room(gpu: str, layout: Layout) -> tuple[int, int, int, int, tuple[tuple[str, int], ...]]:
    """Returns free compute and memory slices, the wasted ones of each, and what could still be added."""
    geometry = load_catalogue()[gpu].mig
    if geometry is None:
        return 0, 0, 0, 0, ()
    rules = placement_rules(geometry)
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
