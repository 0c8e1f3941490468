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

from .latency_rules.any_router import AnyRouter
from .latency_rules.percentile import Percentile
from .latency_rules.server_sets import is_by_set
from .resolve import ResolvedProblem


def loosest(resolved: ResolvedProblem) -> ResolvedProblem:
    """Returns the problem with what no partition exceeds."""
    rule = resolved.rule
    settings = resolved.problem.settings
    if not isinstance(rule, Percentile) or not is_by_set(settings):
        return resolved
    required = resolved.required_rps
    more = required * (1 + settings.spare_rate) if settings.spare_services else required
    return replace(replace(resolved, required_rps=more).with_rule(AnyRouter(rule.shared)), required_rps=required)
