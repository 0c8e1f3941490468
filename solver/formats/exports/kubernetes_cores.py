"""
Kubernetes: pods that ask for whole cores, and the kubelet's settings that give each its own.

The kubelet's static CPU manager gives a container CPUs of its own where its pod is Guaranteed (requests equal to
limits, for memory, too) and asks for whole CPUs. `full-pcpus-only` gives whole cores, `prefer-align-cpus-by-
uncorecache` cores of one L3 cache as far as it can, the topology manager's `single-numa-node` those of one NUMA node.
Which cores they are the kubelet chooses; reserving all that the plan leaves free (`reservedSystemCPUs`) lets it choose
among the plan's only. It takes no configuration without a reserved CPU.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...model.core_partitions import CoreTree
from ...model.errors import Finding, InputError
from ...model.host_cores import HostCores, cpu_list
from ...model.parsing import grouped
from ...model.plan import Plan
from .deployments import BY_RATE, deployment, deployment_warnings
from .images import missing_images, missing_values
from .kubernetes_names import kubernetes_names, refuse_node_names
from .planned_cores import CorePartition, core_partitions, hosts_of, notes_on_cores, socket_of, workloads_of
from .target import Export, Options
from .yaml_text import yaml_text

KUBELET_FIRST = (
    "First the kubelets: drain the node, stop its kubelet, put NODE.kubelet.conf into its --config-dir, delete "
    "/var/lib/kubelet/cpu_manager_state, start it. Options take Kubernetes 1.34 or newer."
)

NOT_WHICH = (
    "Which cores a pod gets the kubelet chooses: whole cores, of one L3 cache as far as it can. That is what was "
    "planned only where sizes pack alike; create the Deployments in the order of the file, the largest first. Look at "
    "`cpuset.cpus.effective` of the pods; for exact cores take systemd-cores or docker-cores."
)

MANY_PODS = "through the image, which starts so many on all of its cores."

_QUANTITY = re.compile(r"[1-9]\d{0,14}(Ki|Mi|Gi|Ti|k|M|G|T)?")


@dataclass(frozen=True)
class CoreGroup:
    """Partitions of CPUs of one node that are alike: what a Deployment has a replica for each of."""

    name: str
    members: tuple[CorePartition, ...]

    @property
    def workload_name(self) -> str:
        """The workload as RFC 1123 has it."""
        return self.members[0].name

    @property
    def workload(self) -> str:
        """The workload as the plan names it."""
        return self.members[0].served.workload

    @property
    def node(self) -> str | None:
        """The node."""
        return self.members[0].planned.node

    @property
    def hardware(self) -> tuple[str, str]:
        """The CPU type."""
        return "cpu", self.members[0].facts.name

    @property
    def batch(self) -> int:
        """The batch size of all of them."""
        return self.members[0].served.batch

    @property
    def processes(self) -> int:
        """The processes in each of them."""
        return self.members[0].served.processes

    @property
    def share_percent(self) -> None:
        """No share of a GPU."""
        return

    @property
    def process_percent(self) -> None:
        """No share of a GPU."""
        return

    @property
    def dispatch_after_ms(self) -> float | None:
        """How long a batch that is not full may be held in each of them; None: the plan holds none."""
        held = [one.served.dispatch_after_ms for one in self.members if one.served.dispatch_after_ms is not None]
        return min(held, default=None)

    @property
    def rates_rps(self) -> tuple[float, ...]:
        """The rate of each partition."""
        return tuple(one.served.rate_rps for one in self.members)


def export(plan: Plan, options: Options) -> Export:
    """
    Returns deployments.yaml, and NODE.kubelet.conf for each node.

    Raises
    ------
    InputError
        As `core_processes`, if an image or the memory of a pod is missing, or if a node has no core to reserve.
    """
    parts = core_partitions(plan, options.source)
    refuse_node_names(parts, options.source)
    workloads = [one.served.workload for of_node in parts.values() for one in of_node]
    findings = missing_images(workloads, options.images, workloads_of(plan))
    findings += missing_values(workloads, options.memory, "--memory", "SIZE", workloads_of(plan))
    findings += [
        Finding("--memory", value, "is no size; expected a number with Ki, Mi, Gi or nothing, as 2Gi")
        for value in options.memory.values()
        if not _QUANTITY.fullmatch(value)
    ]
    if findings:
        raise InputError(findings)
    hosts = hosts_of(parts, options.hosts)
    free = {node: _free(of_node, hosts[node]) for node, of_node in parts.items()}
    if full := [node for node, cpus in free.items() if not cpus]:
        message = (
            "has a service on every core, and a kubelet with the static CPU manager needs at least one for the system; "
            "plan with fewer (a smaller fleet), or take systemd-cores or docker-cores"
        )
        raise InputError(grouped([Finding(options.source, f"node {node}", message) for node in full]))
    groups = _groups(parts)
    pods = [_pods(group, plan, options) for group in groups]
    comments = [f"Plan {plan.problem.name} of sliceplan: {len(pods)} Deployments. Not tried on a cluster."]
    files = {"deployments.yaml": yaml_text(pods, comments)}
    files |= {f"{node}.kubelet.conf": _kubelet(plan, node, parts[node], cpus) for node, cpus in free.items()}
    rates = tuple(one for one in deployment_warnings(groups) if one == BY_RATE)
    return Export(files, (KUBELET_FIRST, NOT_WHICH, *rates, *notes_on_cores(plan, parts)))


def _groups(parts: Mapping[str, Sequence[CorePartition]]) -> list[CoreGroup]:
    """Returns the groups, those of the most cores first."""
    found: dict[tuple[str, ...], list[CorePartition]] = {}
    for node, of_node in parts.items():
        for one in sorted(of_node, key=lambda part: -part.cores):
            point = f"{one.cores}cores-b{one.served.batch}x{one.served.processes}"
            found.setdefault((one.name, point, one.facts.name, node), []).append(one)
    names = kubernetes_names("-".join(key) for key in found)
    groups = [CoreGroup(names["-".join(key)], tuple(members)) for key, members in found.items()]
    return sorted(groups, key=lambda group: -group.members[0].cores)


def _pods(group: CoreGroup, plan: Plan, options: Options) -> dict[str, Any]:
    one = group.members[0]
    memory = options.memory.get(group.workload, options.memory.get("", ""))
    asked = {"cpu": str(one.cores * int(one.facts.threads_per_core.value)), "memory": memory}
    variables = {name: value for name, value in one.environment.items() if not name.startswith("SLICEPLAN_BATCH")}
    container = {"resources": {"requests": asked, "limits": dict(asked)}, "environment": variables}
    return deployment(group, plan, options.images, container=container, pod={}, through=MANY_PODS)


def _free(parts: Sequence[CorePartition], host: HostCores) -> frozenset[int]:
    """Returns the logical CPUs of a node on which the plan puts nothing."""
    sockets = {one.planned.id: socket_of(one, host) for one in parts}
    taken = {cpu for one in parts for number in one.numbers for cpu in sockets[one.planned.id][number].cpus}
    return frozenset(cpu for core in host for cpu in core.cpus) - taken


def _kubelet(plan: Plan, node: str, parts: Sequence[CorePartition], free: frozenset[int]) -> str:
    beyond = any(CoreTree.of(one.facts).level(one.cores) == "nodes" for one in parts)
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true", "prefer-align-cpus-by-uncorecache": "true"},
        "topologyManagerPolicy": "best-effort" if beyond else "single-numa-node",
        "reservedSystemCPUs": cpu_list(free),
    }
    about = [f"Plan {plan.problem.name} of sliceplan, node {node}. Reserved are the cores that the plan leaves free."]
    return yaml_text([settings], about)
