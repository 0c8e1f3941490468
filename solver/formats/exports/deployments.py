"""
Kubernetes Deployments: one for each workload, kind of partition, operating point and node, with a replica a partition.

A pod asks for its partition by the resource that the device plugin offers (strategy mixed): nvidia.com/mig-3g.40gb, or
nvidia.com/gpu for a whole GPU and for an MPS share. All partitions are taken, so an update stops a pod before it
starts the next one (maxSurge 0).
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Protocol

from ...model.active_threads import active_thread_percentage
from ...model.errors import Finding, InputError
from ...model.parsing import grouped
from ...model.plan import Plan
from .device_plugin import INSTEAD, NEIGHBOURS, replicas_of_node
from .images import missing_images
from .kubernetes_names import refuse_node_names, resource_name
from .label_texts import annotations_of
from .planned_gpus import KnownGpu, known_gpus
from .serving_groups import ServingGroup, serving_groups
from .target import Export, Options
from .yaml_text import yaml_text

PARTITIONS_FIRST = (
    "The partitions and the device plugin's configuration must be there first (mig-manager, device-plugin)."
)

PLUGIN_MPS = "through the MPS daemon of the device plugin."

OWN_MPS = (
    "through MPS: start nvidia-cuda-mps-control -d in the container before them, or run them as instances of one "
    "process (Triton: instance_group)."
)

BY_RATE = (
    "Replicas of one workload take different rates in the plan: split its traffic by the annotation "
    "sliceplan/rates-rps, not evenly (--format http-routes, nginx, haproxy)."
)

MANY = "Where SLICEPLAN_PROCESSES is above 1 the image must start so many; see the annotation sliceplan/processes."

NO_WEIGHTS = (
    "A Kubernetes Service in front deals connections at random and knows no weights: what the plan promises of "
    "percentiles is not certified behind one."
)


def export(plan: Plan, options: Options) -> Export:
    """
    Returns one file with all Deployments.

    Raises
    ------
    InputError
        If an image is missing, or the device plugin cannot offer a partition or tell it from another.
    """
    source = options.source
    gpus = known_gpus(plan, source)
    refuse_node_names({gpu.planned.node for gpu in gpus if gpu.planned.node is not None}, source)
    groups = serving_groups(gpus, source)
    findings = [*missing_images([group.workload for group in groups], options.images), *_ambiguous(gpus, source)]
    for node in dict.fromkeys(gpu.planned.node for gpu in gpus):
        try:
            replicas_of_node([gpu for gpu in gpus if gpu.planned.node == node], source)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(grouped(findings))
    documents = [_on_resource(group, plan, options.images) for group in groups]
    comments = [f"Plan {plan.problem.name} of sliceplan: {len(groups)} Deployments. Not tried on a cluster."]
    shared = any(gpu.planned.sharing == "mps" for gpu in gpus)
    warnings = (PARTITIONS_FIRST, *((NEIGHBOURS,) if shared else ()), *deployment_warnings(groups))
    dealt = (NO_WEIGHTS,) if plan.promise is not None and plan.promise.latency == "percentile" else ()
    return Export({"deployments.yaml": yaml_text(documents, comments)}, (*warnings, *dealt))


def _on_resource(group: ServingGroup, plan: Plan, images: Mapping[str, str]) -> dict[str, Any]:
    """Returns the Deployment whose pods ask the device plugin for their partition."""
    container: dict[str, Any] = {"resources": {"limits": {resource_name(group.part): 1}}}
    shared = group.members[0].gpu.planned.sharing == "mps"
    if shared and group.processes > 1:
        # The plugin's daemon caps each process at a whole share; a client can lower that for itself.
        container["environment"] = mps_environment(group)
    return deployment(group, plan, images, container=container, pod={}, through=PLUGIN_MPS if shared else OWN_MPS)


def mps_environment(group: ServingGroup) -> dict[str, str]:
    """Returns the variables that keep each process of an MPS share within its part of it."""
    memory_mib = group.members[0].served.memory_mib
    limit = {} if memory_mib is None else {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={ceil(memory_mib)}M"}
    percent = active_thread_percentage(group.process_percent or 100.0)
    return {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": percent, **limit}


class Replicas(Protocol):
    """What a Deployment is made of: partitions that are alike."""

    @property
    def name(self) -> str:
        """Name of RFC 1123, unique within the plan."""

    @property
    def workload_name(self) -> str:
        """The same of the workload."""

    @property
    def workload(self) -> str:
        """The workload as the plan names it."""

    @property
    def node(self) -> str | None:
        """The node; None: the plan is not assigned to nodes."""

    @property
    def hardware(self) -> tuple[str, str]:
        """What they are parts of: `gpu` or `cpu`, and its type."""

    @property
    def batch(self) -> int:
        """The batch size of all of them."""

    @property
    def processes(self) -> int:
        """The processes of the workload in each of them."""

    @property
    def share_percent(self) -> float | None:
        """The share of a GPU that each of them is; None: not an MPS share."""

    @property
    def process_percent(self) -> float | None:
        """Cap of each process under MPS; None: not an MPS share."""

    @property
    def dispatch_after_ms(self) -> float | None:
        """How long a batch that is not full may be held; None: the plan holds none."""

    @property
    def rates_rps(self) -> tuple[float, ...]:
        """The rate of each partition: as many as there are partitions."""


def deployment(
    group: Replicas,
    plan: Plan,
    images: Mapping[str, str],
    *,
    container: dict[str, Any],
    pod: dict[str, Any],
    through: str,
) -> dict[str, Any]:
    """
    Returns a Deployment.

    Parameters
    ----------
    container, pod
        What asks for the partition: fields of the container (and its `environment`) and of the pod.
    through
        How several processes come to share the partition, as the end of a sentence.
    """
    environment: dict[str, object] = {"SLICEPLAN_BATCH_SIZE": group.batch, "SLICEPLAN_PROCESSES": group.processes}
    if group.dispatch_after_ms is not None:
        environment["SLICEPLAN_DISPATCH_AFTER_MS"] = f"{group.dispatch_after_ms:g}"
    environment |= container.pop("environment", {})
    annotations = _annotations(group, plan)
    if group.processes > 1:
        annotations["sliceplan/processes"] = f"{group.processes} processes share this partition {through}"
        if group.process_percent is not None and group.share_percent is not None:
            annotations["sliceplan/processes"] += (
                f" Each has at most {group.process_percent:.4g} % of the SMs; one process with as many instances of "
                f"the model (Triton: instance_group) takes {group.share_percent:.4g} % instead."
            )
    labels = {"app.kubernetes.io/name": group.workload_name, "app.kubernetes.io/instance": group.name}
    image = images.get(group.workload, images.get("", ""))
    server: dict[str, Any] = {
        "name": "server",
        "image": image,
        "env": [{"name": name, "value": str(value)} for name, value in environment.items()],
        **container,
    }
    spec: dict[str, Any] = {"containers": [server], **pod}
    if group.node is not None:
        spec["affinity"] = {"nodeAffinity": _on_node(group.node)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": group.name,
            "labels": {**labels, "app.kubernetes.io/managed-by": "sliceplan"},
            "annotations": annotations,
        },
        "spec": {
            "replicas": len(group.rates_rps),
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def deployment_warnings(groups: Sequence[Replicas]) -> tuple[str, ...]:
    """Returns what a person must still do for these Deployments to be what the plan says."""
    rates: dict[str, set[float]] = {}
    for group in groups:
        rates.setdefault(group.workload, set()).update(group.rates_rps)
    uneven = any(max(one) > min(one) * (1 + 1e-6) for one in rates.values())
    several = any(group.processes > 1 for group in groups)
    return ((BY_RATE,) if uneven else ()) + ((MANY,) if several else ())


def _annotations(group: Replicas, plan: Plan) -> dict[str, str]:
    kind, name = group.hardware
    return {
        **annotations_of(plan, group.workload),
        "sliceplan/plan": plan.problem.name,
        f"sliceplan/{kind}": name,
        "sliceplan/rates-rps": ", ".join(f"{rate:g}" for rate in group.rates_rps),
    }


def _on_node(node: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def _ambiguous(gpus: Sequence[KnownGpu], source: str) -> list[Finding]:
    """Partitions of two GPU types that the device plugin offers by one name where a pod could get either."""
    types: dict[tuple[str | None, str], dict[str, str]] = {}
    for gpu in gpus:
        for part in gpu.parts:
            types.setdefault((gpu.planned.node, resource_name(part)), {})[gpu.facts.name] = gpu.where(part)
    instead = {True: f"{INSTEAD}, or put them on different nodes", False: "run `sliceplan assign` first"}
    return [
        Finding(
            source,
            " and ".join(of_types.values()),
            f"are of different GPU types, but both are offered as {resource}; {instead[node is not None]}",
        )
        for (node, resource), of_types in types.items()
        if len(of_types) > 1
    ]
