"""The GPUs of a plan as exporters may trust them: known types and profiles, legal places, each GPU once."""

from collections.abc import Iterator
from dataclasses import dataclass

from ...model.catalogue import load_catalogue
from ...model.errors import Finding, InputError
from ...model.hardware import Gpu, MigProfile
from ...model.parsing import closest, grouped
from ...model.plan import Partition, Plan, PlannedGpu


@dataclass(frozen=True)
class Part:
    """A partition with what the catalogue knows of it."""

    partition: Partition
    number: int
    """Its index among the partitions of its GPU in the plan."""
    profile: MigProfile | None
    """None: not a MIG instance."""

    @property
    def processes(self) -> int:
        """The most processes that a workload runs here; 1 where the partition is kept free."""
        return max((served.processes for served in self.partition.serves), default=1)


@dataclass(frozen=True)
class KnownGpu:
    """A GPU of the plan with its entry of the catalogue."""

    planned: PlannedGpu
    facts: Gpu
    parts: tuple[Part, ...]
    """In the order of the plan."""

    @property
    def id(self) -> str:
        """The GPU's id in the plan."""
        return self.planned.id

    def where(self, part: Part) -> str:
        """Returns how a message names a partition."""
        return f"{self.id} partitions[{part.number}]"


def known_gpus(plan: Plan, source: str) -> tuple[KnownGpu, ...]:
    """
    Returns the GPUs of a plan in their order.

    Raises
    ------
    InputError
        If the plan has no GPUs, or says of one what cannot be; all findings at once.
    """
    if not plan.gpus:
        raise InputError([Finding(source, "gpus", f"is empty (status {plan.status}); there is nothing to export")])
    catalogue = load_catalogue()
    findings = [Finding(source, *found) for gpu in plan.gpus for found in _wrong(gpu, catalogue.get(gpu.gpu))]
    ids = [gpu.id for gpu in plan.gpus]
    findings += [Finding(source, one, "is listed twice") for one in dict.fromkeys(ids) if ids.count(one) > 1]
    if findings:
        raise InputError(grouped(findings))
    return tuple(_known(gpu, catalogue[gpu.gpu]) for gpu in plan.gpus)


def gpus_by_node(plan: Plan, source: str) -> dict[str, tuple[KnownGpu, ...]]:
    """
    Returns the GPUs of each node, nodes by name, GPUs by index.

    Raises
    ------
    InputError
        As `known_gpus`, and if a GPU is not assigned to a place of its own on a node.
    """
    gpus = known_gpus(plan, source)
    homeless = [gpu.id for gpu in gpus if gpu.planned.node is None]
    if homeless:
        shown = ", ".join(homeless[:3]) + (f" and {len(homeless) - 3} more" if len(homeless) > 3 else "")
        message = f"not assigned to nodes: {shown}; run: sliceplan assign {source} --nodes NAME:COUNT -o {source}"
        raise InputError([Finding(source, "gpus", message)])
    findings: list[Finding] = []
    places: dict[tuple[str | None, int | None], str] = {}
    for gpu in gpus:
        place = (gpu.planned.node, gpu.planned.index)
        if place[1] is None:
            findings.append(Finding(source, gpu.id, f"is on node {place[0]}, but its index there is null"))
        elif place in places:
            findings.append(Finding(source, gpu.id, f"is GPU {place[1]} of {place[0]}, and so is {places[place]}"))
        places[place] = gpu.id
    if findings:
        raise InputError(grouped(findings))
    nodes = sorted({gpu.planned.node or "" for gpu in gpus})
    return {
        node: tuple(sorted((gpu for gpu in gpus if gpu.planned.node == node), key=lambda gpu: gpu.planned.index or 0))
        for node in nodes
    }


def _known(gpu: PlannedGpu, facts: Gpu) -> KnownGpu:
    parts = tuple(
        Part(part, j, facts.mig.profile(part.mig_profile) if facts.mig and part.mig_profile else None)
        for j, part in enumerate(gpu.partitions)
    )
    return KnownGpu(gpu, facts, parts)


def _wrong(gpu: PlannedGpu, facts: Gpu | None) -> Iterator[tuple[str, str]]:
    """Yields path and message of everything about a GPU that cannot be."""
    if facts is None:
        yield gpu.id, f"is of type {gpu.gpu!r}; not in the catalogue. {closest(gpu.gpu, load_catalogue())}"
    elif gpu.sharing == "mig":
        yield from _wrong_instances(gpu, facts)
    else:
        for j, part in enumerate(gpu.partitions):
            if part.mig_profile is not None or part.start is not None:
                yield f"{gpu.id} partitions[{j}]", f"is a MIG instance; the GPU's sharing is {gpu.sharing!r}"
            if gpu.sharing == "mps" and part.sm_percent is None:
                yield f"{gpu.id} partitions[{j}].sm_percent", "is null; an MPS share needs its percentage"
            for served in part.serves:
                if part.sm_percent and facts.mps_process_percent(part.sm_percent, served.processes) == 0:
                    unit = f"{facts.mps_unit_percent:.4g} % (2 SMs)"
                    message = f"is {part.sm_percent:g} %; {served.processes} processes take at least {unit} each"
                    yield f"{gpu.id} partitions[{j}].sm_percent", message
        if gpu.sharing == "exclusive" and len(gpu.partitions) > 1:
            yield gpu.id, f"is used whole (exclusive), but has {len(gpu.partitions)} partitions"


def _wrong_instances(gpu: PlannedGpu, facts: Gpu) -> Iterator[tuple[str, str]]:
    if facts.mig is None:
        yield gpu.id, f"is cut by MIG, which {gpu.gpu} does not have"
        return
    taken: dict[int, int] = {}
    for j, part in enumerate(gpu.partitions):
        where = f"{gpu.id} partitions[{j}]"
        profile = facts.mig.profile(part.mig_profile or "")
        if profile is None:
            hint = closest(part.mig_profile or "", [known.name for known in facts.mig.profiles])
            yield f"{where}.mig_profile", f"is {part.mig_profile!r}; {gpu.gpu} has no such profile. {hint}"
        elif part.start not in profile.starts:
            legal = ", ".join(map(str, profile.starts))
            yield f"{where}.start", f"is {part.start}; {profile.name} may start at {legal}"
        else:
            units = range(part.start, part.start + profile.memory_slices)
            if overlapped := sorted({taken[unit] for unit in units if unit in taken}):
                yield where, f"overlaps partitions[{overlapped[0]}]"
            taken |= dict.fromkeys(units, j)
