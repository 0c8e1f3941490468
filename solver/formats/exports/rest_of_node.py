"""
The GPUs of a node that the plan does not list: what mig-parted makes of them, and what an export does about them.

`nvidia-mig-parted assert` holds only where every GPU of the node is listed, and is as listed
(cmd/nvidia-mig-parted/assert/config.go: as many matches as GPUs). The MIG manager asks it before it stops the GPU
clients of a node and applies (pkg/mig/reconfigure/reconfigure.go), so with a configuration that leaves GPUs out it does
so at each of its starts. `restore` compares whole nodes in the same way.

A plan says nothing of such GPUs, and an entry says that MIG is on or off: there is none that leaves a GPU as it is. So
they are listed, without MIG, only where the user says so; which there are is told by `nvidia-smi -L`.
"""

from collections.abc import Iterable, Mapping

from ...model.catalogue import load_catalogue
from ...model.driver_names import catalogue_types
from ...model.errors import Finding, InputError
from .planned_gpus import KnownGpu
from .target import Options

NEVER_ASSERTED = (
    "while there are any, `nvidia-mig-parted assert` fails, and the MIG manager stops GPU clients and applies again at "
    "each of its starts. --rest mig-off lists them too, with MIG off."
)


def rest_of_nodes(nodes: Mapping[str, Iterable[KnownGpu]], options: Options) -> dict[str, tuple[int, ...] | None]:
    """
    Returns the indices of each node's GPUs that the plan does not list; None: `nvidia-smi -L` is not given.

    Raises
    ------
    InputError
        If the plan lists GPUs that `nvidia-smi -L` does not.
    """
    found: dict[str, tuple[int, ...] | None] = {}
    findings = []
    for node, gpus in nodes.items():
        there = {index for of_node, index in options.uuids if of_node == node}
        listed = {gpu.planned.index or 0 for gpu in gpus}
        found[node] = tuple(sorted(there - listed)) if there else None
        if there and (absent := sorted(listed - there)):
            findings.append(missing_uuids(node, absent))
    if findings:
        raise InputError(findings)
    return found


def missing_uuids(node: str, indices: Iterable[int]) -> Finding:
    """Returns what is wrong where the UUIDs of a plan's GPUs are missing."""
    shown = ", ".join(map(str, indices))
    message = (
        f"has no UUID of GPU {shown} of {node}; run there `nvidia-smi -L > {node}.txt`, then give {node}={node}.txt"
    )
    return Finding("--uuids", "", message)


def can_have_mig(node: str, index: int, gpus: Iterable[KnownGpu], options: Options) -> bool | None:
    """Tells by its name whether a GPU that the plan does not list can have MIG; None: not known."""
    name = options.driver_names.get((node, index))
    if name is None:
        return None
    catalogue = load_catalogue()
    known = {catalogue[one].mig is not None for one in catalogue_types(name)}
    known |= {
        gpu.facts.mig is not None for gpu in gpus if options.driver_names.get((node, gpu.planned.index or 0)) == name
    }
    return known.pop() if len(known) == 1 else None


def switched_off(rest: Mapping[str, tuple[int, ...] | None], options: Options) -> dict[str, tuple[int, ...]]:
    """
    Returns the GPUs of each node to list with MIG off beside the plan's.

    Raises
    ------
    InputError
        If they shall be listed, and nothing tells which there are.
    """
    if options.rest == "keep":
        return {}
    findings = [
        Finding(
            "--uuids",
            "",
            f"is missing for {node}: --rest mig-off takes all GPUs that it has; run there "
            f"`nvidia-smi -L > {node}.txt`, then give {node}={node}.txt",
        )
        for node, indices in rest.items()
        if indices is None
    ]
    if findings:
        raise InputError(findings)
    return {node: indices or () for node, indices in rest.items()}


def rest_notes(rest: Mapping[str, tuple[int, ...] | None], options: Options) -> tuple[str, ...]:
    """Returns what happens to the GPUs that the plan does not list; nothing if there are none."""
    known = {node: indices for node, indices in rest.items() if indices}
    if options.rest == "mig-off":
        return (f"Not in the plan, so MIG is switched off there: {_shown(known)}.",) if known else ()
    notes = [f"Not in the plan, left as they are: {_shown(known)}; {NEVER_ASSERTED}"] if known else []
    if None in rest.values():
        notes.append(
            f"GPUs of a node that the plan does not list stay as they are; {NEVER_ASSERTED} --uuids (`nvidia-smi -L`) "
            "tells which there are."
        )
    return tuple(notes)


def offered_notes(rest: Mapping[str, tuple[int, ...] | None]) -> tuple[str, ...]:
    """Returns that the device plugin offers GPUs that the plan does not list, where there are such, or can be."""
    known = {node: indices for node, indices in rest.items() if indices}
    if known:
        return (f"The device plugin offers every GPU of a node, also what is not in the plan: {_shown(known)}.",)
    if None in rest.values():
        return ("The device plugin offers every GPU of a node, those that the plan does not list too.",)
    return ()


def _shown(rest: Mapping[str, tuple[int, ...]]) -> str:
    places = [f"GPU {', '.join(map(str, indices))} of {node}" for node, indices in rest.items()]
    return "; ".join(places[:3]) + (f" and on {len(places) - 3} more nodes" if len(places) > 3 else "")
