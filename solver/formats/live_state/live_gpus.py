"""What runs on a node now, as far as a source tells it, checked against the catalogue and made a plan to start from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from pydantic import TypeAdapter, ValidationError

from ...model.base import Name
from ...model.catalogue import load_catalogue
from ...model.errors import Finding, InputError
from ...model.geometry import Placement, fits, placement_rules
from ...model.hardware import Gpu, MigProfile
from ...model.labels import labels_of_both
from ...model.made_by import made_by
from ...model.parsing import closest, grouped, shown
from ...model.plan import Bound, Partition, Plan, PlannedGpu, ProblemReference, Search, Served, Status
from ...model.stop_reason import StopReason

GpuTypes = Mapping[int | None, str]
"""GPU index -> GPU type; None: of all other GPUs."""

IMPORTED = "imported"
"""Stands for the planner in a plan that was read from a node."""

NO_PROBLEM = "read from a node, not planned: it answers no problem"
"""Warning in every such plan."""


@dataclass(frozen=True)
class LiveGpu:
    """One GPU that is cut or shared."""

    index: int
    facts: Gpu
    instances: tuple[Placement, ...] = ()
    """MIG instances; empty under MPS."""
    shares: tuple[float, ...] = ()
    """Percentages of the clients of the MPS daemon."""


@dataclass(frozen=True)
class LiveState:
    """The GPUs of a node that are cut or shared, and what the source says beside them."""

    gpus: tuple[LiveGpu, ...]
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    """What the source does not tell and is taken to be so; the plan says it too."""


def gpu_type(index: int, types: GpuTypes, source: str) -> Gpu:
    """Returns the type of a GPU; raises InputError if the source does not tell it and no option does."""
    catalogue = load_catalogue()
    name = types.get(index, types.get(None))
    if name is None:
        message = f"is missing for GPU {index}: {source} does not tell GPU types; give --gpu TYPE or {index}=TYPE"
        raise InputError([Finding("--gpu", "", message)])
    if name not in catalogue:
        raise InputError([Finding("--gpu", name, f"is not in the catalogue. {closest(name, catalogue)}")])
    return catalogue[name]


def live_gpu(index: int, facts: Gpu, found: Iterable[tuple[MigProfile, int, int]], source: str) -> LiveGpu:
    """
    Returns a GPU with its MIG instances.

    Parameters
    ----------
    found
        Profile, start and size of each instance, as the driver tells them.

    Raises
    ------
    InputError
        If they cannot be on a GPU of this type together: then the type, or the source, is wrong.
    """
    findings = []
    layout: tuple[Placement, ...] = ()
    rules = placement_rules(facts.mig) if facts.mig else None
    for profile, start, size in sorted(found, key=lambda one: one[1]):
        added = Placement(start, profile.name)
        where = f"GPU {index}, {profile.name} at {start}"
        if size != profile.memory_slices:
            message = f"has size {size}; on {facts.name} it is {profile.memory_slices}. Is --gpu right?"
            findings.append(Finding(source, where, message))
        elif rules is None or not fits(rules, layout, added):
            beside = ", ".join(f"{one.profile} at {one.start}" for one in layout)
            message = f"cannot be on {facts.name}{f' beside {beside}' if beside else ''}. Is --gpu right?"
            findings.append(Finding(source, where, message))
        else:
            layout = (*layout, added)
    if findings:
        raise InputError(grouped(findings))
    return LiveGpu(index, facts, layout)


def running_plan(
    state: LiveState, node: str, source: str, content: str, services: Plan | None
) -> tuple[Plan, tuple[str, ...]]:
    """
    Returns the state as a plan to start a transition from, and notes on what it takes for granted.

    It answers no problem: its digest is that of the source's text, cost and bound are unknown.

    Parameters
    ----------
    services
        The plan whose services run in the partitions that it has at the same places, and on the GPUs that it uses whole
        or shares by MPS, of which the source may tell nothing; None: nothing runs.

    Raises
    ------
    InputError
        If no GPU is cut or shared, or the node's name is none.
    """
    if not state.gpus:
        message = (
            "shows no GPU that is cut by MIG or shared by MPS; a transition from there needs no plan to start from"
        )
        raise InputError([Finding(source, "", message)])
    _check_name(node, source)
    notes = [*state.assumptions, *state.notes]
    running = _running(services, node)
    gpus = []
    idle = 0
    for live in sorted(state.gpus, key=lambda gpu: gpu.index):
        instances = [_partition(live.index, one.profile, one.start, None, running) for one in live.instances]
        shares = [_partition(live.index, None, None, percent, running) for percent in live.shares]
        parts = (*instances, *shares)
        idle += sum(not part.serves for part in parts)
        gpus.append(
            PlannedGpu(
                id=f"{live.facts.name}/{node}-{live.index}",
                gpu=live.facts.name,
                node=node,
                index=live.index,
                sharing="mig" if live.instances else "mps",
                partitions=parts,
            )
        )
    for whole in _without_instances(services, node, {gpu.index for gpu in gpus}):
        gpus.append(whole.model_copy(update={"id": f"{whole.gpu}/{node}-{whole.index}"}))
        running = {place: waiting for place, waiting in running.items() if place[0] != whole.index}
        notes.append(f"GPU {whole.index} is taken as --services has it: the file tells nothing of GPUs without MIG.")
    if services is not None:
        if idle:
            notes.append(f"Partitions that --services does not have there are taken to be idle: {idle}.")
        absent = [_shown(place) for place, waiting in running.items() for serves in waiting if serves]
        if absent:
            shown = ", ".join(absent[:5]) + (f" and {len(absent) - 5} more" if len(absent) > 5 else "")
            notes.append(f"Partitions of --services that are not on the node: {shown}.")
    plan = Plan(
        version=1,
        problem=ProblemReference(name=f"{node[:55]}-now", sha256=sha256(content.encode()).hexdigest()),
        planner=IMPORTED,
        status=Status.FEASIBLE,
        cost_per_hour=None,
        gpus_used=len(gpus),
        bound=Bound(cost_per_hour=None, gpus=None, method="none: the state of a node, read from a file"),
        gap=None,
        search=Search(stopped=StopReason.HEURISTIC_DONE, time_limit_s=None, solver=None),
        runtime_s=0,
        gpus=tuple(gpus),
        unserved=(),
        violations=(),
        warnings=(
            "read from a node, not planned: it answers no problem",
            *(f"{node}: {one}" for one in state.assumptions),
        ),
        shadow=None,
        metrics=None,
        made_by=made_by(),
        labels={} if services is None else services.labels,
    )
    return plan, tuple(notes)


def _check_name(node: str, source: str) -> None:
    try:
        TypeAdapter(Name).validate_python(node)
    except ValidationError as error:
        right = "1 to 63 letters, digits, '.', '_' and '-', a letter or digit at both ends"
        raise InputError([Finding(source, "name of the node", f"is {shown(node)}; expected {right}")]) from error


def joined(earlier: Plan, later: Plan, source: str) -> Plan:
    """
    Returns the states of two or more nodes as one plan.

    Raises
    ------
    InputError
        If the earlier plan was not read from nodes, or has a node of the later one.
    """
    if earlier.planner != IMPORTED:
        message = f"is {earlier.planner!r}; only what was read from nodes can be added to: write another file"
        raise InputError([Finding(source, "planner", message)])
    nodes = {gpu.node for gpu in earlier.gpus}
    both = sorted({gpu.node or "" for gpu in later.gpus if gpu.node in nodes})
    if both:
        raise InputError([Finding(source, "gpus", f"has the node {both[0]} already; write another file")])
    digest = sha256((earlier.problem.sha256 + later.problem.sha256).encode()).hexdigest()
    gpus = (*earlier.gpus, *later.gpus)
    problem = earlier.problem.model_copy(update={"sha256": digest})
    warnings = tuple(dict.fromkeys((*earlier.warnings, *later.warnings)))
    own = {"gpus": gpus, "gpus_used": len(gpus), "problem": problem, "warnings": warnings}
    return earlier.model_copy(update={**own, "labels": labels_of_both(earlier, later)})


_Place = tuple[int | None, str | None, int | None, float | None]
"""GPU index, MIG profile and start, or percentage."""


def _running(services: Plan | None, node: str) -> dict[_Place, list[tuple[Served, ...]]]:
    """Returns what a plan has at each place of a node; MPS shares of one percentage are alike."""
    found: dict[_Place, list[tuple[Served, ...]]] = {}
    for gpu in services.gpus if services is not None else ():
        if gpu.node == node:
            for part in gpu.partitions:
                place = (gpu.index, part.mig_profile, part.start, part.sm_percent)
                found.setdefault(place, []).append(part.serves)
    return found


def _without_instances(services: Plan | None, node: str, told: set[int | None]) -> list[PlannedGpu]:
    """Returns the GPUs of a plan that are used whole or shared by MPS, and of which the source told nothing."""
    gpus = services.gpus if services is not None else ()
    return [gpu for gpu in gpus if gpu.node == node and gpu.sharing != "mig" and gpu.index not in told]


def _partition(
    index: int,
    mig_profile: str | None,
    start: int | None,
    sm_percent: float | None,
    running: dict[_Place, list[tuple[Served, ...]]],
) -> Partition:
    """Returns a partition with what runs there, which is taken out of `running`."""
    waiting = running.get((index, mig_profile, start, sm_percent))
    serves = waiting.pop(0) if waiting else ()
    return Partition(mig_profile=mig_profile, start=start, sm_percent=sm_percent, duty_cycle_ms=None, serves=serves)


def _shown(place: _Place) -> str:
    index, mig_profile, start, sm_percent = place
    if mig_profile is not None:
        return f"{mig_profile} at {start} of GPU {index}"
    return f"GPU {index} whole" if sm_percent is None else f"{sm_percent:g} % of GPU {index}"
