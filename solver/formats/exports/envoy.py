"""
Envoy: a cluster for each service, an endpoint with its load_balancing_weight for each partition (its v3 API).

ROUND_ROBIN deals in turns by weight, each worker thread with turns of its own. Envoy's RANDOM knows no weights.
"""

from typing import Any

from ...model.errors import printable
from ...model.plan import Plan
from .haproxy import ADDRESSES
from .planned_gpus import known_gpus
from .router_weights import MOST_TRIED, PORT, Weighted, by_partition, deals_at_random, other_router, warnings_of
from .serving_groups import serving_groups
from .target import Export, Options
from .yaml_text import Typed, yaml_text

CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

THREADS = (
    "Each of Envoy's worker threads takes turns of its own; with --concurrency 1 requests are dealt in the turns that "
    "the plan is for."
)

NOT_AT_RANDOM = (
    "Envoy's random policy knows no weights, so requests are dealt in weighted turns; the plan is for dispatch random, "
    "and is not certified behind it: plan with settings.dispatch: weighted_round_robin."
)


def export(plan: Plan, options: Options) -> Export:
    """Returns clusters.yaml, which a bootstrap names as its cds_config's path; InputError as `known_gpus`."""
    services = by_partition(serving_groups(known_gpus(plan, options.source), options.source), MOST_TRIED)
    comments = [f"Plan {plan.problem.name} of sliceplan. Not tried on a server."]
    text = yaml_text([{"resources": [_cluster(plan, one) for one in services]}], comments)
    turns = other_router(plan) or ((NOT_AT_RANDOM,) if deals_at_random(plan) else (THREADS,))
    return Export({"clusters.yaml": text}, (ADDRESSES, *turns, *warnings_of(services)))


def _cluster(plan: Plan, service: Weighted) -> dict[str, Any]:
    endpoints = [
        {
            "endpoint": {"address": {"socket_address": {"address": one.name, "port_value": PORT}}},
            "load_balancing_weight": weight,
        }
        for one, weight in zip(service.backends, service.weights, strict=True)
    ]
    label = plan.labels.get(service.workload)
    # Envoy keeps metadata of names that it does not know, and shows them.
    told = {} if label is None else {"metadata": {"filter_metadata": {"sliceplan": {"label": Typed(printable(label))}}}}
    return {
        "@type": CLUSTER,
        "name": service.name,
        "type": "STRICT_DNS",
        "lb_policy": "ROUND_ROBIN",
        "load_assignment": {"cluster_name": service.name, "endpoints": [{"lb_endpoints": endpoints}]},
        **told,
    }
