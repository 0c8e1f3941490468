"""The GPUs of a plan as exporters may trust them: known types and profiles, legal places, each GPU once."""

from dataclasses import dataclass

from ...model.catalogue import load_catalogue
from ...model.division import no_cpus, wrong_gpus
from ...model.errors import Finding, InputError
from ...model.hardware import Gpu, MigProfile
from ...model.parsing import grouped
from ...model.plan import Partition, Plan, PlannedGpu

NO_CPUS = (
    "this format knows GPUs only",
    "systemd-cores, docker-cores and kubernetes-cores export the CPUs; plan the GPUs and the CPUs as two problems to "
    "export the GPUs in this one",
)

CPUS_APART = (
    "The CPUs of the plan are not in these files: export them by systemd-cores, docker-cores or kubernetes-cores."
)


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
    legal = legal_gpus(plan, source)
    if findings := [Finding(source, *wrong) for wrong in no_cpus(plan, *NO_CPUS)]:
        raise InputError(grouped(findings))
    catalogue = load_catalogue()
    return tuple(_known(gpu, catalogue[gpu.gpu]) for gpu in legal)


def legal_gpus(plan: Plan, source: str) -> tuple[PlannedGpu, ...]:
    """Returns the GPUs and CPUs of a plan; raises InputError as `known_gpus`, but for there being CPUs."""
    if not plan.gpus:
        raise InputError([Finding(source, "gpus", f"is empty (status {plan.status}); there is nothing to export")])
    if findings := [Finding(source, *wrong) for wrong in wrong_gpus(plan)]:
        raise InputError(grouped(findings))
    return plan.gpus


def without_cpus(plan: Plan) -> Plan:
    """Returns the plan with its GPUs only; as it is where it has none, so that a format refuses it."""
    gpus = tuple(gpu for gpu in plan.gpus if gpu.sharing != "cores")
    return plan.model_copy(update={"gpus": gpus}) if gpus else plan


def gpus_by_node(plan: Plan, source: str) -> dict[str, tuple[KnownGpu, ...]]:
    """
    Returns the GPUs of each node, nodes by name, GPUs by index.

    Raises
    ------
    InputError
        As `known_gpus`, and if a GPU is not assigned to a node.
    """
    gpus = known_gpus(plan, source)
    homeless = [gpu.id for gpu in gpus if gpu.planned.node is None]
    if homeless:
        shown = ", ".join(homeless[:3]) + (f" and {len(homeless) - 3} more" if len(homeless) > 3 else "")
        message = f"not assigned to nodes: {shown}; run: sliceplan assign {source} --nodes NAME:COUNT -o {source}"
        raise InputError([Finding(source, "gpus", message)])
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
