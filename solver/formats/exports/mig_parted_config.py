"""
mig-parted's configuration file, one a node (NVIDIA/mig-parted, api/spec/v1/spec.go).

It says how many instances of each profile a GPU has, not where they start. `nvidia-mig-parted apply` clears the
GPU and creates them in some order that fits, so the layout reached may differ from the plan's. It has said that it was
successful where nothing was applied (NVIDIA/mig-parted, issues 18 and 97), so `assert` is to follow.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ...model.plan import Plan
from .planned_gpus import KnownGpu, gpus_by_node
from .rest_of_node import rest_notes, rest_of_nodes, switched_off
from .target import Export, Options
from .yaml_text import yaml_text

COUNTS_ONLY = (
    "A mig-parted config carries counts only: mig-parted chooses where instances start, and the layout can differ "
    "from the plan's. For exact placements export mig-parted-checkpoint or commands."
)

ASSERT = (
    "Run `nvidia-mig-parted assert` after apply, with the same options: apply has reported success where a name was "
    "unknown and nothing was done."
)


def export(plan: Plan, options: Options) -> Export:
    """
    Returns one file a node, with the plan's name as the label to apply.

    Raises
    ------
    InputError
        If the GPUs that the plan does not list shall be listed, and are not known.
    """
    label = plan.problem.name
    nodes = gpus_by_node(plan, options.source)
    rest = rest_of_nodes(nodes, options)
    off = switched_off(rest, options)
    files = {
        f"{node}.mig-parted.yaml": yaml_text(
            [mig_parted_spec({label: (gpus, off.get(node, ()))})],
            [
                f"Plan {label} of sliceplan, node {node}. Counts only: the starts of instances are left to mig-parted.",
                f"nvidia-mig-parted apply -f {node}.mig-parted.yaml -c {label}",
                f"nvidia-mig-parted assert -f {node}.mig-parted.yaml -c {label}",
            ],
            inline=True,
        )
        for node, gpus in nodes.items()
    }
    return Export(files, (COUNTS_ONLY, ASSERT, *rest_notes(rest, options)))


def mig_parted_spec(configs: Mapping[str, tuple[Iterable[KnownGpu], Iterable[int]]]) -> dict[str, Any]:
    """
    Returns the file's data.

    Parameters
    ----------
    configs
        Label -> what each GPU of a node shall have, and the indices of others that shall have MIG off. GPUs that are
        cut alike share an entry.
    """
    entries = {label: _entries(gpus, off) for label, (gpus, off) in configs.items()}
    return {"version": "v1", "mig-configs": entries}


def _entries(gpus: Iterable[KnownGpu], off: Iterable[int]) -> list[dict[str, Any]]:
    alike: dict[tuple[bool, tuple[tuple[str, int], ...]], list[int]] = {}
    for gpu in gpus:
        names = Counter(part.profile.name for part in gpu.parts if part.profile is not None)
        key = (gpu.planned.sharing == "mig", tuple(sorted(names.items())))
        alike.setdefault(key, []).append(gpu.planned.index or 0)
    for index in off:
        alike.setdefault((False, ()), []).append(index)
    return [
        {"devices": sorted(indices), "mig-enabled": enabled} | ({"mig-devices": dict(counts)} if enabled else {})
        for (enabled, counts), indices in alike.items()
    ]
