"""
HTTPRoutes of the Kubernetes Gateway API (gateway.networking.k8s.io/v1), with the weights of the plan.

For each Deployment of the format `deployments` a Service, and for each workload a route, whose backendRefs are its
Services with weights. Behind one Service stand partitions that are alike.
"""

from collections.abc import Sequence
from typing import Any

from ...model.errors import Finding, InputError
from ...model.plan import Plan
from .kubernetes_names import WORKLOAD
from .planned_gpus import known_gpus
from .router_weights import MOST_TRIED, PORT, Weighted, by_group, deals_at_random, other_router, warnings_of
from .serving_groups import ServingGroup, serving_groups
from .target import Export, Options
from .yaml_text import yaml_text

MOST_BACKENDS = 16
"""Of a rule of an HTTPRoute."""

GATEWAY = "sliceplan"

YOURS = (
    f"The routes name a Gateway {GATEWAY!r} and the path /WORKLOAD: write in your own. The Deployments are those of "
    "--format deployments."
)

AT_RANDOM = (
    "A gateway mostly deals at random by weight, not in turns: what the plan promises of percentiles is for weighted "
    "round robin, and is not certified behind it; plan with settings.dispatch: random."
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
            "The formats nginx and haproxy take any number",
        )
        for one in services
        if len(one.backends) > MOST_BACKENDS
    ]
    if findings:
        raise InputError(findings)
    names = [one.name for service in services for one in service.backends]
    documents = [
        *(_service(group, name) for group, name in zip(groups, names, strict=True)),
        *(_route(one, plan) for one in services),
    ]
    comments = [f"Plan {plan.problem.name} of sliceplan: {len(services)} HTTPRoutes. Not tried on a cluster."]
    return Export({"http-routes.yaml": yaml_text(documents, comments)}, (YOURS, *_limits(plan, groups, services)))


def _limits(plan: Plan, groups: Sequence[ServingGroup], services: Sequence[Weighted]) -> tuple[str, ...]:
    promised = plan.promise is not None and plan.promise.latency == "percentile"
    turns = other_router(plan) or ((AT_RANDOM,) if promised and not deals_at_random(plan) else ())
    several = [group.name for group in groups if len(group.members) > 1]
    shown = ", ".join(several[:3]) + (f" and {len(several) - 3} more" if len(several) > 3 else "")
    return (*turns, *((BY_CONNECTION.format(shown),) if several else ()), *warnings_of(services))


def _service(group: ServingGroup, name: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": group.workload_name, "app.kubernetes.io/instance": group.name}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels, "annotations": {WORKLOAD: group.workload}},
        "spec": {"selector": labels, "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]},
    }


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
            "annotations": {WORKLOAD: service.workload, "sliceplan/plan": plan.problem.name},
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
