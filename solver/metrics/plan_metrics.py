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
part of the compute slices stands in for them. On a CPU cores stand in the place of SMs.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

from ..model.base import records_of
from ..model.catalogue import load_catalogue, load_cpus
from ..model.geometry import Layout, Placement, PlacementRules, additions, most_addable, placement_rules
from ..model.plan import GpuCut, Metrics, Plan, PlannedGpu
from ..model.problem import Problem
from ..model.profile import Profile
from ..performance.interference.residents import Resident, predict_each
from .compute_use import activity, allocated, whole_sms
from .plan_columns import PlanColumns, plan_columns


def measure(
    problem: Problem, plan: Plan, profiles: Iterable[Profile], columns: PlanColumns | None = None
) -> Metrics | None:
    """Returns the metrics of a plan; None if it uses no GPU. `columns`: the plan's, if they were read before."""
    if not plan.gpus:
        return None
    by_key = problem.profiles_over(profiles)
    columns = plan_columns(problem, plan, columns)
    sms = allocated(columns)
    held, active = sum(sms.tolist()), sum((sms[columns.partition] * activity(columns, by_key)).tolist())
    examples = [plan.gpus[example] for example in columns.example.tolist()]
    alike = np.bincount(columns.division).tolist()
    total = sum(whole_sms(gpu.gpu, gpu.sharing) * times for gpu, times in zip(examples, alike, strict=True))
    # What is left of a GPU under MPS depends on what runs there, too; of another, on its division alone.
    left = [NOTHING_WASTED if gpu.sharing == "mps" else _left(gpu) for gpu in examples]
    wasted = list(zip(left, alike, strict=True))
    of_gpu = columns.division.tolist()
    if shared := [g for g, gpu in enumerate(plan.gpus) if gpu.sharing == "mps"]:
        model_of = {workload.name: workload.model for workload in problem.workloads}
        own = _left_beside([plan.gpus[g] for g in shared], model_of, by_key)
        for g, number in zip(shared, range(len(left), len(left) + len(own)), strict=True):
            of_gpu[g] = number
        left = [*left, *own]
    of_each = {name: [one[name] for one in left] for name in NOTHING_WASTED}
    said = {name: known for name, known in of_each.items() if any(value is not None for value in known)}
    cuts = records_of(
        GpuCut,
        id=list(map(attrgetter("id"), plan.gpus)),
        **{name: list(map(known.__getitem__, of_gpu)) for name, known in said.items()},
    )
    return Metrics(
        internal_slack=1 - active / held if held else None,
        external_fragmentation=max(0.0, 1 - held / total) if total else None,
        wasted_compute_slices=sum((one["wasted_compute_slices"] or 0) * times for one, times in wasted),
        wasted_memory_slices=sum((one["wasted_memory_slices"] or 0) * times for one, times in wasted),
        gpus=tuple(cuts),
    )


NOTHING_WASTED: Mapping[str, Any] = {name: None for name in GpuCut.model_fields if name != "id"} | {"addable": {}}
"""What is left of a GPU of which nothing is said, by the fields of GpuCut: one under MPS has no slices."""


def _left(gpu: PlannedGpu) -> Mapping[str, Any]:
    """Returns the fields of what is left of a GPU that is cut or used whole, or of a CPU."""
    if gpu.sharing == "cores":
        taken = sum(partition.cores or 0 for partition in gpu.partitions)
        return {**NOTHING_WASTED, "free_cores": load_cpus()[gpu.gpu].core_count - taken}
    if load_catalogue()[gpu.gpu].mig is None or gpu.sharing != "mig":
        return NOTHING_WASTED
    places = tuple([(part.start or 0, part.mig_profile) for part in gpu.partitions if part.mig_profile])
    free_compute, free_memory, wasted_compute, wasted_memory, addable = _room(gpu.gpu, places)
    return {
        **NOTHING_WASTED,
        "free_compute_slices": free_compute,
        "free_memory_slices": free_memory,
        "wasted_compute_slices": wasted_compute,
        "wasted_memory_slices": wasted_memory,
        "addable": dict(addable),
    }


def _left_beside(
    gpus: Sequence[PlannedGpu], model_of: Mapping[str, str], profiles: Mapping[tuple[str, str], Profile]
) -> list[dict[str, Any]]:
    """Returns the fields of what is left of each GPU under MPS; power and frequency none where nobody knows them."""
    residents = [_residents(gpu, model_of, profiles) for gpu in gpus]
    figures = iter(predict_each([known for known in residents if known]))
    left = []
    for gpu, known in zip(gpus, residents, strict=True):
        taken = sum(partition.sm_percent or 0.0 for partition in gpu.partitions)
        own = next(figures) if known else None
        left.append(
            {
                **NOTHING_WASTED,
                "free_percent": max(0.0, 100.0 - taken),
                "power_demand_w": None if own is None else float(own.power_w or 0.0),
                "frequency_mhz": None if own is None else float(own.frequency_mhz or 0.0),
            }
        )
    return left


def _residents(
    gpu: PlannedGpu, model_of: Mapping[str, str], profiles: Mapping[tuple[str, str], Profile]
) -> list[Resident]:
    """Returns who runs on a GPU under MPS; empty: no coefficients, or who runs changes with the turns."""
    if any(partition.duty_cycle_ms is not None for partition in gpu.partitions):
        return []
    residents: list[Resident] = []
    for partition in gpu.partitions:
        for served in partition.serves:
            profile = profiles.get((model_of[served.workload], gpu.gpu))
            if profile is None or profile.interference is None:
                return []
            residents.append(Resident(profile.interference, served.batch, partition.sm_percent or 0.0))
    return residents


@cache
def _room(gpu: str, places: tuple[tuple[int, str], ...]) -> tuple[int, int, int, int, tuple[tuple[str, int], ...]]:
    """Returns free compute and memory slices, the wasted ones of each, and what could still be added."""
    geometry = load_catalogue()[gpu].mig
    if geometry is None:
        return 0, 0, 0, 0, ()
    rules = placement_rules(geometry)
    layout = tuple(sorted(Placement(start, profile) for start, profile in places))
    compute, memory = _slices(rules, layout)
    completions = [_slices(rules, added) for added in additions(rules, layout)]
    most_compute = compute + max(c for c, _ in completions)
    most_memory = memory + max(m for _, m in completions)
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
