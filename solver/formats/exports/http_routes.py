"""
HTTPRoutes of the Kubernetes Gateway API (gateway.networking.k8s.io/v1), with the weights of the plan.

For each Deployment of the format `deployments` a Service, and for each workload a route, whose backendRefs are its
Services with weights. Behind one Service stand partitions that are alike.
"""

from collections.abc import Sequence
from typing import Any

from ...model.errors import Finding, InputError
from ...model.plan import Plan
from .label_texts import annotations_of
from .planned_gpus import known_gpus
from .router_weights import MOST_TRIED, PORT, Weighted, by_group, warnings_of
from .serving_groups import ServingGroup, serving_groups
from .target import Export, Options
from .weighted_services import service_of, several_partitions, turns_not_kept
from .yaml_text import yaml_text

MOST_BACKENDS = 16
"""Of a rule of an HTTPRoute."""

GATEWAY = "sliceplan"

YOURS = (
    f"The routes name a Gateway {GATEWAY!r} and the path /WORKLOAD: write in your own. The Deployments are those of "
    "--format deployments."
)


BY_CONNECTION = (
    "A Kubernetes Service deals connections, not requests, at random to its pods: where {} stand for several "
    "partitions, let clients open a connection for each request, or the gateway deal to the pods themselves."
)


def export(plan: Plan, options: Options) -> Export:
    """
    Returns one file with all Services and routes.

    Raises
    ------
    InputError
        As `known_gpus`, and if a workload has more Services than a rule of a route may have.
    """
    groups = serving_groups(known_gpus(plan, options.source), options.source)
    services = by_group(groups, MOST_TRIED)
    findings = [
        Finding(
            options.source,
            f"workload {one.workload}",
            f"is served by {len(one.backends)} kinds of partitions; a rule of an HTTPRoute takes {MOST_BACKENDS}. "
            "The formats nginx, haproxy and envoy take any number",
        )
        for one in services
        if len(one.backends) > MOST_BACKENDS
    ]
    if findings:
        raise InputError(findings)
    names = [one.name for service in services for one in service.backends]
    documents = [
        *(service_of(plan, group, name) for group, name in zip(groups, names, strict=True)),
        *(_route(one, plan) for one in services),
    ]
    comments = [f"Plan {plan.problem.name} of sliceplan: {len(services)} HTTPRoutes. Not tried on a cluster."]
    return Export({"http-routes.yaml": yaml_text(documents, comments)}, (YOURS, *_limits(plan, groups, services)))


def _limits(plan: Plan, groups: Sequence[ServingGroup], services: Sequence[Weighted]) -> tuple[str, ...]:
    shown = several_partitions(groups)
    return (*turns_not_kept(plan), *((BY_CONNECTION.format(shown),) if shown else ()), *warnings_of(services))


def _route(service: Weighted, plan: Plan) -> dict[str, Any]:
    backends = [
        {"name": one.name, "port": PORT, "weight": weight}
        for one, weight in zip(service.backends, service.weights, strict=True)
    ]
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "name": service.name,
            "annotations": {**annotations_of(plan, service.workload), "sliceplan/plan": plan.problem.name},
        },
        "spec": {
            "parentRefs": [{"name": GATEWAY}],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": f"/{service.name}"}}],
                    "backendRefs": backends,
                }
            ],
        },
    }
