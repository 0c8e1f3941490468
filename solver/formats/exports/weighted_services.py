"""What routers of Kubernetes share: a Service for each Deployment, and what weights between Services cannot keep."""

from collections.abc import Sequence
from typing import Any

from ...model.plan import Plan
from .label_texts import annotations_of
from .router_weights import PORT, deals_at_random, other_router
from .serving_groups import ServingGroup

AT_RANDOM = (
    "A gateway mostly deals at random by weight, not in turns: what the plan promises of percentiles is for weighted "
    "round robin, and is not certified behind it; plan with settings.dispatch: random."
)


def service_of(plan: Plan, group: ServingGroup, name: str) -> dict[str, Any]:
    """Returns the Service before the partitions of a group."""
    labels = {"app.kubernetes.io/name": group.workload_name, "app.kubernetes.io/instance": group.name}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels, "annotations": annotations_of(plan, group.workload)},
        "spec": {"selector": labels, "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]},
    }


def turns_not_kept(plan: Plan) -> tuple[str, ...]:
    """Returns that requests are dealt at random, where that is not what a plan is for."""
    promised = plan.promise is not None and plan.promise.latency == "percentile"
    return other_router(plan) or ((AT_RANDOM,) if promised and not deals_at_random(plan) else ())


def several_partitions(groups: Sequence[ServingGroup]) -> str:
    """Returns the groups of several partitions by name, as many as a sentence takes; empty: there are none."""
    several = [group.name for group in groups if len(group.members) > 1]
    return ", ".join(several[:3]) + (f" and {len(several) - 3} more" if len(several) > 3 else "")
