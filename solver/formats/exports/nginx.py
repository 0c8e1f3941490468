"""
NGINX: an upstream for each service, a server with its weight for each partition (ngx_http_upstream_module).

Without a method NGINX deals in turns by weight, each server's turns apart; `random` deals at random by weight. `zone`
lets all worker processes take the same turns.
"""

from ...model.labels import label_line
from ...model.plan import Plan
from .haproxy import ADDRESSES
from .planned_gpus import known_gpus
from .router_weights import MOST_TRIED, PORT, by_partition, deals_at_random, other_router, warnings_of
from .serving_groups import serving_groups
from .target import Export, Options


def export(plan: Plan, options: Options) -> Export:
    """Returns upstreams.conf, to be included within `http`; InputError as `known_gpus`."""
    services = by_partition(serving_groups(known_gpus(plan, options.source), options.source), MOST_TRIED)
    method = ["    random;"] if deals_at_random(plan) else []
    lines = [f"# Plan {plan.problem.name} of sliceplan. Not tried on a server."]
    for service in services:
        lines += [
            "",
            *label_line(plan.labels, service.workload),
            f"upstream {service.name} {{",
            f"    zone {service.name} 256k;",
            *method,
        ]
        lines += [
            f"    server {one.name}:{PORT} weight={weight};"
            for one, weight in zip(service.backends, service.weights, strict=True)
        ]
        lines.append("}")
    return Export({"upstreams.conf": "\n".join(lines) + "\n"}, (ADDRESSES, *other_router(plan), *warnings_of(services)))
