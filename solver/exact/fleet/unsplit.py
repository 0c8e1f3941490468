"""
Services that may be split, planned as if they might not be.

A plan with one resident a service is also one where services may have more, so it holds for these and its cost is what
they need at most. What no plan of whole services can cost less than says nothing of them. Surroundings, whose prices
are of whole services (surroundings/customers.py), find better plans in this way than programs over sets that split.
"""

from dataclasses import replace

from ...performance.resolve import ResolvedProblem


def unsplit(resolved: ResolvedProblem) -> ResolvedProblem | None:
    """Returns the problem with at most one replica a service; None: it is that already, or some service needs more."""
    workloads = resolved.problem.workloads
    if resolved.problem.settings.mps_rules != "free" or any(one.min_replicas > 1 for one in workloads):
        return None
    if all(one.max_replicas == 1 for one in workloads):
        return None
    whole = tuple(one.model_copy(update={"max_replicas": 1}) for one in workloads)
    return replace(resolved, problem=resolved.problem.model_copy(update={"workloads": whole}))
