"""
mig-parted's configuration file, one a node (NVIDIA/mig-parted, api/spec/v1/spec.go).

It says how many instances of each profile a GPU has, not where they start. `nvidia-mig-parted apply` clears the
GPU and creates them in some order that fits, so the layout reached may differ from the plan's.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ...model.plan import Plan
from .planned_gpus import KnownGpu, gpus_by_node
from .target import Export, Options
from .yaml_text import yaml_text

COUNTS_ONLY = (
    "A mig-parted config carries counts only: mig-parted chooses where instances start, and the layout can differ "
    "from the plan's. For exact placements export mig-parted-checkpoint or commands."
)

UNLISTED = "GPUs of a node that the plan does not list stay as they are."


def export(plan: Plan, options: Options) -> Export:
    """Returns one file a node, with the plan's name as the label to apply."""
    label = plan.problem.name
    files = {
        f"{node}.mig-parted.yaml": yaml_text(
            [mig_parted_spec({label: gpus})],
            [
                f"Plan {label} of sliceplan, node {node}. Counts only: the starts of instances are left to mig-parted.",
                f"nvidia-mig-parted apply -f {node}.mig-parted.yaml -c {label}",
            ],
            inline=True,
        )
        for node, gpus in gpus_by_node(plan, options.source).items()
    }
    return Export(files, (COUNTS_ONLY, UNLISTED))


def mig_parted_spec(configs: Mapping[str, Iterable[KnownGpu]]) -> dict[str, Any]:
    """Returns the file's data: label -> what each GPU of a node shall have; GPUs that are cut alike share an entry."""
    return {"version": "v1", "mig-configs": {label: _entries(gpus) for label, gpus in configs.items()}}


def _entries(gpus: Iterable[KnownGpu]) -> list[dict[str, Any]]:
    alike: dict[tuple[bool, tuple[tuple[str, int], ...]], list[int]] = {}
    for gpu in gpus:
        names = Counter(part.profile.name for part in gpu.parts if part.profile is not None)
        key = (gpu.planned.sharing == "mig", tuple(sorted(names.items())))
        alike.setdefault(key, []).append(gpu.planned.index or 0)
    return [
        {"devices": indices, "mig-enabled": enabled} | ({"mig-devices": dict(counts)} if enabled else {})
        for (enabled, counts), indices in alike.items()
    ]
