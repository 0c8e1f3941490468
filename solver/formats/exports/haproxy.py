"""
HAProxy: a backend for each service, a server with its weight for each partition (its manual, sections 4.2 and 5.2).

`balance roundrobin` deals in turns by weight, request by request in HTTP mode; `balance random(1)` at random by weight:
with more draws than one it would look at the servers' loads. Weights are 1 to 256.
"""

from ...model.labels import label_line
from ...model.plan import Plan
from .planned_gpus import known_gpus
from .router_weights import PORT, by_partition, deals_at_random, other_router, warnings_of
from .serving_groups import serving_groups
from .target import Export, Options

MOST = 256

ADDRESSES = "Addresses stand for the partitions by name: let your resolver know them, or write them in."


def export(plan: Plan, options: Options) -> Export:
    """Returns backends.cfg, to be read beside a configuration with the frontends; InputError as `known_gpus`."""
    services = by_partition(serving_groups(known_gpus(plan, options.source), options.source), MOST)
    balance = "random(1)" if deals_at_random(plan) else "roundrobin"
    lines = [f"# Plan {plan.problem.name} of sliceplan. Not tried on a server."]
    for service in services:
        lines += [
            "",
            *label_line(plan.labels, service.workload),
            f"backend {service.name}",
            "    mode http",
            f"    balance {balance}",
        ]
        lines.append("    default-server check init-addr last,libc,none")
        lines += [
            f"    server {one.name} {one.name}:{PORT} weight {weight}"
            for one, weight in zip(service.backends, service.weights, strict=True)
        ]
    return Export({"backends.cfg": "\n".join(lines) + "\n"}, (ADDRESSES, *other_router(plan), *warnings_of(services)))
