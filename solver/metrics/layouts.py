"""The kinds of GPUs of a plan: which type, and how it is cut or shared."""

import re
from collections import Counter

from ..model.plan import Plan, PlannedGpu

Layouts = Counter[tuple[str, str]]
"""How many GPUs of a type, by its name, are divided alike, by the words for it."""


def layouts(plan: Plan) -> Layouts:
    """Returns how many GPUs of each type are divided alike; the words name the partitions, largest part first."""
    alike: dict[tuple[str, tuple[tuple[str | None, int | None], ...]], list[PlannedGpu]] = {}
    counted: Layouts = Counter()
    for gpu in plan.gpus:
        if gpu.sharing == "mps":
            counted[gpu.gpu, layout_of(gpu)] += 1
            continue
        cut = gpu.gpu, tuple((one.mig_profile, one.cores) for one in gpu.partitions)
        alike.setdefault(cut, []).append(gpu)
    for (name, _), gpus in alike.items():
        counted[name, layout_of(gpus[0])] += len(gpus)  # the words are made once for those that are cut alike
    return counted


def layout_of(gpu: PlannedGpu) -> str:
    """Returns the partitions of a GPU in words: `3g.40gb + 2 x 2g.20gb`, `whole`, `MPS, 3 services`."""
    if gpu.sharing == "mps":
        services = len({served.workload for partition in gpu.partitions for served in partition.serves})
        return f"MPS, {services} service{'' if services == 1 else 's'}"
    sizes = Counter(partition.kind for partition in gpu.partitions)
    if None in sizes:
        return "whole"
    ordered = sorted(sizes.items(), key=lambda item: (-_slices(item[0]), str(item[0])))
    return " + ".join(f"{count} x {name}" if count > 1 else str(name) for name, count in ordered)


def _slices(kind: str | None) -> int:
    """Returns the compute slices of a MIG profile, or the cores."""
    digits = re.match(r"\d+", kind or "")
    return int(digits.group()) if digits else 0
