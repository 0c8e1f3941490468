"""
Claims of Kubernetes' dynamic resource allocation for NVIDIA's driver (kubernetes-sigs/dra-driver-nvidia-gpu).

A MIG instance or a whole GPU is claimed from a ResourceClaimTemplate, one claim a pod. A GPU that services share by
MPS is one ResourceClaim, which their pods name together: the driver starts one MPS daemon a claim with one percentage,
so the daemon's stays at 100 and each service lowers it for itself (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE). Both are caps
of a single client, so each of several processes gets its part of the share. Fields of the opaque parameters:
api/nvidia.com/resource/v1beta1/sharing.go.
"""

from math import ceil
from typing import Any

from ...model.errors import Finding, InputError
from ...model.labels import in_comment
from ...model.parsing import grouped
from ...model.plan import Plan
from .deployments import deployment, deployment_warnings, mps_environment
from .images import missing_images
from .kubernetes_names import kubernetes_names, refuse_node_names
from .label_texts import annotations_of
from .planned_gpus import KnownGpu, known_gpus
from .serving_groups import ServingGroup, serving_groups
from .target import Export, Options
from .yaml_text import yaml_text

API = "resource.k8s.io/v1"
DRIVER_API = "resource.nvidia.com/v1beta1"

STATIC = (
    "A claim names a MIG profile, not a start: the instances must be there (mig-parted-checkpoint, commands). Where "
    "the driver makes them itself (DynamicMIG) it chooses the places."
)

CAPABILITY = (
    "Claims tell GPU types apart by compute capability; where the cluster has others of the same, add productName to "
    "the selectors."
)

MPS_GATE = "Sharing by MPS takes the driver's feature gate MPSSupport, which excludes DynamicMIG."


def export(plan: Plan, options: Options) -> Export:
    """
    Returns the claims, and with `--image` the Deployments that use them.

    Raises
    ------
    InputError
        If a selector cannot tell two GPU types of the plan apart, or an image is missing for some workloads.
    """
    source = options.source
    gpus = known_gpus(plan, source)
    refuse_node_names({gpu.planned.node for gpu in gpus if gpu.planned.node is not None}, source)
    groups = serving_groups(gpus, source, by_gpu=True)
    findings = _ambiguous(gpus, source)
    if options.images:
        findings += missing_images([group.workload for group in groups], options.images)
    if findings:
        raise InputError(grouped(findings))
    shared = [gpu for gpu in gpus if gpu.planned.sharing == "mps"]
    wanted = {gpu.id: f"{plan.problem.name}-{gpu.id.replace('/', '-').lower()}" for gpu in shared}
    names = kubernetes_names(wanted.values())
    claims = {gpu_id: names[name] for gpu_id, name in wanted.items()}
    documents = [_template(plan, group) for group in groups if group.members[0].gpu.planned.sharing != "mps"]
    documents += [_shared_claim(plan, gpu, claims[gpu.id]) for gpu in shared]
    comments = [f"Plan {plan.problem.name} of sliceplan: {len(documents)} claims. Not tried on a cluster."]
    files = {"claims.yaml": yaml_text(documents, comments)}
    warnings = [CAPABILITY]
    if any(gpu.planned.sharing == "mig" for gpu in gpus):
        warnings.insert(0, STATIC)
    if shared or any(group.processes > 1 for group in groups):
        warnings.append(MPS_GATE)
    if options.images:
        pods = [_pods(group, plan, options, claims) for group in groups]
        comments = [f"Plan {plan.problem.name} of sliceplan: {len(pods)} Deployments. Not tried on a cluster."]
        files["deployments.yaml"] = yaml_text(pods, comments)
        warnings += deployment_warnings(groups)
    return Export(files, tuple(warnings))


def _template(plan: Plan, group: ServingGroup) -> dict[str, Any]:
    mig = group.part.profile is not None
    spec: dict[str, Any] = {"requests": [_request(group.facts.compute_capability, _profile(group))]}
    if group.processes > 1:
        memory = group.members[0].served.memory_mib
        limit = {} if memory is None else {"defaultPinnedDeviceMemoryLimit": f"{ceil(memory)}Mi"}
        spec["config"] = [_mps("MigDeviceConfig" if mig else "GpuConfig", limit)]
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": group.name, "annotations": annotations_of(plan, group.workload)},
        "spec": {"spec": {"devices": spec}},
    }


def _shared_claim(plan: Plan, gpu: KnownGpu, name: str) -> dict[str, Any]:
    services = ", ".join(
        f"{in_comment(plan.labels, served.workload)} {part.partition.sm_percent:g} %"
        + (f" ({served.processes} processes)" if served.processes > 1 else "")
        for part in gpu.parts
        for served in part.partition.serves
    )
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "annotations": {"sliceplan/gpu": gpu.id, "sliceplan/shares": services}},
        "spec": {
            "devices": {"requests": [_request(gpu.facts.compute_capability, None)], "config": [_mps("GpuConfig", {})]}
        },
    }


def _request(capability: str, profile: str | None) -> dict[str, Any]:
    attributes = "device.attributes['gpu.nvidia.com']"
    expressions = [f"{attributes}.cudaComputeCapability.compareTo(semver('{capability}.0')) == 0"]
    if profile is not None:
        expressions.insert(0, f"{attributes}.profile == '{profile}'")
    return {
        "name": "partition",
        "exactly": {
            "deviceClassName": "gpu.nvidia.com" if profile is None else "mig.nvidia.com",
            "selectors": [{"cel": {"expression": expression}} for expression in expressions],
        },
    }


def _mps(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    parameters = {"apiVersion": DRIVER_API, "kind": kind, "sharing": {"strategy": "MPS", "mpsConfig": config}}
    return {"requests": ["partition"], "opaque": {"driver": "gpu.nvidia.com", "parameters": parameters}}


def _pods(group: ServingGroup, plan: Plan, options: Options, claims: dict[str, str]) -> dict[str, Any]:
    """Returns the Deployment of a group, whose pods claim their partition."""
    member = group.members[0]
    container: dict[str, Any] = {"resources": {"claims": [{"name": "partition"}]}}
    if member.gpu.planned.sharing == "mps":
        reference = {"name": "partition", "resourceClaimName": claims[member.gpu.id]}
        container["environment"] = mps_environment(group)
    else:
        reference = {"name": "partition", "resourceClaimTemplateName": group.name}
    return deployment(
        group,
        plan,
        options.images,
        container=container,
        pod={"resourceClaims": [reference]},
        through="through the MPS daemon that the DRA driver starts for the claim.",
    )


def _profile(group: ServingGroup) -> str | None:
    return None if group.part.profile is None else group.part.profile.name


def _ambiguous(gpus: tuple[KnownGpu, ...], source: str) -> list[Finding]:
    """Partitions of two GPU types that no selector here tells apart."""
    types: dict[tuple[str, str | None], dict[str, str]] = {}
    for gpu in gpus:
        for part in gpu.parts:
            key = (gpu.facts.compute_capability, part.profile.name if part.profile else None)
            types.setdefault(key, {})[gpu.facts.name] = gpu.where(part)
    return [
        Finding(
            source,
            " and ".join(of_types.values()),
            f"are of different GPU types, both with compute capability {capability}, which is what claims go by; use "
            "deployments, on different nodes, or commands",
        )
        for (capability, _), of_types in types.items()
        if len(of_types) > 1
    ]
