"""
Istio: a VirtualService for each workload with the weights of the plan, and how its Services deal (networking v1).

For each Deployment of the format `deployments` a Service, with a DestinationRule: Istio's proxies deal requests, not
connections, to the partitions behind it, in turns or at random as planned. Between the Services of a workload they deal
at random by weight.
"""

from typing import Any

from ...model.plan import Plan
from .label_texts import annotations_of
from .planned_gpus import known_gpus
from .router_weights import MOST_TRIED, PORT, Weighted, by_group, deals_at_random, warnings_of
from .serving_groups import serving_groups
from .target import Export, Options
from .weighted_services import service_of, turns_not_kept
from .yaml_text import yaml_text

API = "networking.istio.io/v1"

GATEWAY = "sliceplan"

YOURS = (
    f"The VirtualServices name a Gateway {GATEWAY!r} and the workloads as hosts: write in your own. The Deployments "
    "are those of --format deployments."
)


def export(plan: Plan, options: Options) -> Export:
    """Returns one file with all Services, rules and virtual services; InputError as `known_gpus`."""
    groups = serving_groups(known_gpus(plan, options.source), options.source)
    services = by_group(groups, MOST_TRIED)
    names = [one.name for service in services for one in service.backends]
    balance = "RANDOM" if deals_at_random(plan) else "ROUND_ROBIN"
    documents = [
        *(service_of(plan, group, name) for group, name in zip(groups, names, strict=True)),
        *(_rule(name, balance) for name in names),
        *(_virtual_service(one, plan) for one in services),
    ]
    comments = [f"Plan {plan.problem.name} of sliceplan: {len(services)} VirtualServices. Not tried on a cluster."]
    warnings = (YOURS, *turns_not_kept(plan), *warnings_of(services))
    return Export({"istio.yaml": yaml_text(documents, comments)}, warnings)


def _rule(name: str, balance: str) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "DestinationRule",
        "metadata": {"name": name},
        "spec": {"host": name, "trafficPolicy": {"loadBalancer": {"simple": balance}}},
    }


def _virtual_service(service: Weighted, plan: Plan) -> dict[str, Any]:
    route = [
        {"destination": {"host": one.name, "port": {"number": PORT}}, "weight": weight}
        for one, weight in zip(service.backends, service.weights, strict=True)
    ]
    return {
        "apiVersion": API,
        "kind": "VirtualService",
        "metadata": {
            "name": service.name,
            "annotations": {**annotations_of(plan, service.workload), "sliceplan/plan": plan.problem.name},
        },
        "spec": {"hosts": [service.name], "gateways": [GATEWAY], "http": [{"route": route}]},
    }
