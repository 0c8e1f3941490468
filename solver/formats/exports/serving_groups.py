"""
Partitions that one Deployment, claim or Triton configuration stands for: same workload, partition and operating point.

They are told apart by node (and by GPU, if asked), since only then are the replicas of each as many as the plan has:
one Deployment over two nodes could fill on the first what another one needs there.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ...model.division import in_turn
from ...model.errors import Finding, InputError
from ...model.hardware import Gpu
from ...model.parsing import grouped
from ...model.plan import Served
from .kubernetes_names import kubernetes_names
from .planned_gpus import KnownGpu, Part


@dataclass(frozen=True)
class Member:
    """One partition and the workload on it."""

    gpu: KnownGpu
    part: Part
    served: Served


@dataclass(frozen=True)
class ServingGroup:
    """Partitions that are alike."""

    name: str
    """Name of RFC 1123, unique within the plan."""
    workload_name: str
    """The same of the workload."""
    members: tuple[Member, ...]

    @property
    def workload(self) -> str:
        """The workload as the plan names it."""
        return self.members[0].served.workload

    @property
    def facts(self) -> Gpu:
        """The GPU type."""
        return self.members[0].gpu.facts

    @property
    def node(self) -> str | None:
        """The node; None: the plan is not assigned to nodes."""
        return self.members[0].gpu.planned.node

    @property
    def part(self) -> Part:
        """One of the partitions."""
        return self.members[0].part

    @property
    def batch(self) -> int:
        """The batch size of all of them."""
        return self.members[0].served.batch

    @property
    def processes(self) -> int:
        """The processes of the workload in each of them."""
        return self.members[0].served.processes

    @property
    def hardware(self) -> tuple[str, str]:
        """What they are parts of, and its type."""
        return "gpu", self.facts.name

    @property
    def share_percent(self) -> float | None:
        """The share of a GPU that each of them is; None: not an MPS share."""
        return self.part.partition.sm_percent

    @property
    def process_percent(self) -> float | None:
        """Cap of each process under MPS, which together take the partition's share; None: not an MPS share."""
        share = self.part.partition.sm_percent
        return None if share is None else self.facts.mps_process_percent(share, self.processes)

    @property
    def latency_ms(self) -> float:
        """The longest predicted latency of a batch; under MPS it differs with the neighbours."""
        return max(member.served.latency_ms for member in self.members)

    @property
    def dispatch_after_ms(self) -> float | None:
        """How long a batch that is not full may be held in each of them; None: the plan holds none."""
        held = [one.served.dispatch_after_ms for one in self.members if one.served.dispatch_after_ms is not None]
        return min(held, default=None)

    @property
    def rates_rps(self) -> tuple[float, ...]:
        """The rate of each partition."""
        return tuple(member.served.rate_rps for member in self.members)


def serving_groups(gpus: Iterable[KnownGpu], source: str, *, by_gpu: bool = False) -> tuple[ServingGroup, ...]:
    """
    Returns the groups of all partitions that serve something, by workload, in the order of the plan.

    Parameters
    ----------
    by_gpu
        Whether MPS shares of different GPUs are told apart.

    Raises
    ------
    InputError
        If workloads take turns on a partition: no target can express that.
    """
    found: dict[tuple[str, ...], list[Member]] = {}
    findings = []
    for gpu in gpus:
        for part in gpu.parts:
            if (rounds := in_turn(part.partition)) is not None:
                message = f"serves {rounds}, which Kubernetes and Triton cannot keep; plan with settings.turns: none"
                findings.append(Finding(source, gpu.where(part), message))
                continue
            for served in part.partition.serves:
                place = gpu.id if by_gpu and gpu.planned.sharing == "mps" else gpu.planned.node or ""
                point = f"b{served.batch}x{served.processes}"
                key = (served.workload, gpu.facts.name, _kind(part), point, place)
                found.setdefault(key, []).append(Member(gpu, part, served))
    if findings:
        raise InputError(grouped(findings))
    workloads = kubernetes_names(group[0] for group in found)
    several = _suffixes(found)
    # "/" keeps groups apart whose parts would read alike in a row; a name with it ends in digits of its hash.
    plain = {group: "-".join([workloads[group[0]], group[2], group[3], *several[group]]) for group in found}
    times = Counter(plain.values())
    wanted = {group: name if times[name] == 1 else f"{name}/{group}" for group, name in plain.items()}
    names = kubernetes_names(wanted.values())
    order = {workload: number for number, workload in enumerate(workloads)}
    ordered = sorted(found, key=lambda group: order[group[0]])
    return tuple(ServingGroup(names[wanted[group]], workloads[group[0]], tuple(found[group])) for group in ordered)


def _suffixes(groups: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], list[str]]:
    """Returns GPU type and place of each group where the rest of its key does not tell it from all others."""
    alike: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for group in groups:
        alike.setdefault((group[0], group[2], group[3]), []).append(group)
    return {
        group: [group[1]] * (len({other[1] for other in others}) > 1)
        + [group[4].replace("/", "-")] * (len({other[4] for other in others}) > 1)
        for others in alike.values()
        for group in others
    }


def _kind(part: Part) -> str:
    """Returns what kind of partition it is, in letters that a name may have; different kinds differ."""
    if part.profile is not None:
        # 1g.24gb+me and 1g.24gb-me are two profiles: with media engines, and without.
        return part.profile.name.replace("-", "-no-").replace("+", "-").replace(".", "-")
    percent = part.partition.sm_percent
    return "gpu" if percent is None else f"mps{percent:g}".replace(".", "-")
