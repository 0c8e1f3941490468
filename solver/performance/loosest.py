"""
The problem by which bounds are proven: what no plan of it exceeds.

Under most rules it is the problem itself. Where a router knows every partition's state, what a service's partitions
carry is no sum (latency_rules/server_sets.py), and a problem's own rule is that of weighted turns, whose plans hold
with such a router too. Then each partition counts here for what none exceeds with any router
(latency_rules/any_router.py): in every plan that holds these add up to at least the rate. So a plan is one here too,
what has no plan here has none, and no plan costs less than is proven here. It holds service by service, so of a part
of the services too, and at all rates.

Where partitions are kept free for more rate, they are to carry (1 + x) R with a service's own. Partitions count here
for what they do at that rate, which is no less than at R, so that the claim is one of both.
"""

from dataclasses import replace

import numpy as np

from .interference.prediction import Floats
from .latency_rules.any_router import AnyRouter
from .latency_rules.percentile import Percentile
from .latency_rules.server_sets import is_by_set
from .resolve import ResolvedProblem

ANY_RPS = 1e12
"""A rate of a service at which a partition counts for as much as at any: its load is the greatest there is."""


def loosest(resolved: ResolvedProblem) -> ResolvedProblem:
    """Returns the problem with what no partition exceeds."""
    settings = resolved.problem.settings
    required = resolved.required_rps
    return _counted_at(resolved, required * (1 + settings.spare_rate) if settings.spare_services else required)


def loosest_at_any_rate(resolved: ResolvedProblem) -> ResolvedProblem:
    """
    Returns the problem with what no partition exceeds at any rate of its service.

    What partitions of a plan are promised together may be more than their service's rate; it is what they would hold at
    that rate, so that the claim is one of that.
    """
    return _counted_at(resolved, np.full(resolved.required_rps.shape, ANY_RPS))


def _counted_at(resolved: ResolvedProblem, rate_rps: Floats) -> ResolvedProblem:
    """Returns the problem with what no partition exceeds at some rates; what is asked for stays."""
    rule = resolved.rule
    if not isinstance(rule, Percentile) or not is_by_set(resolved.problem.settings):
        return resolved
    at_rates = replace(resolved, required_rps=rate_rps).with_rule(AnyRouter(rule.shared))
    return replace(at_rates, required_rps=resolved.required_rps)
