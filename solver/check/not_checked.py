"""
What `check` takes on trust of all that a plan says, and why. Everything else is recomputed, and a test changes every
field of plans to see it found (tests/check/test_every_field.py).
"""

import re

from ..model.plan import Plan

TOP = re.compile(r"[.\[]")
"""What ends the name of a field of the plan itself."""

NOT_CHECKED = {
    "planner": "any planner may make any plan",
    "runtime_s": "a duration cannot be repeated",
    "made_by": "any version may have made it",
    "labels": "words; the problem's may have been changed since",
    "search.stopped": "it goes with the status; which of several such ends it was, nobody else can know",
    "search.time_limit_s": "it may have been given on the command line",
    "search.solver": "words",
    "bound.cost_per_hour": "that no plan costs less: the proof is not repeated; the bound is at most the cost",
    "bound.gpus": "likewise; it is what the bound on the cost pays",
    "bound.method": "words",
    "capacity.limit": "that no plan could carry more: the proof is not repeated; the limit is at least the value",
    "capacity.solo_rps": "that one GPU carries no more of a service alone; no MIG or whole GPU of the plan does",
    "capacity.one_more": "likewise, of one more GPU; it is at least the limit",
    "batch_adjustment.before": "what the planner left, which is not here; it is no more than what is here now",
    "batch_adjustment.changed": "likewise; it is no more than there are shares",
    "unserved": "that no plan serves them, why, and whether there are more; their names are in the problem",
    "prices": "that they prove the bound; they are a solution of the dual program",
    "shadow.cost_without_per_hour": "the cost of another plan, which is not here",
    "shadow.extra_cost_per_hour": "likewise; it is the difference to the cost",
    "insurance.cost_without_per_hour": "the cost of another plan, which is not here",
    "insurance.extra_cost_per_hour": "likewise; it is the difference to the cost",
    "gpus[].partitions[].serves[].promised_rps": "that a percentile holds at no greater rate; it holds at this one",
    "gpus[].partitions[].serves[].batch": "whether mps_rules igniter allows it; its latency and throughput are checked",
}
"""Path of a field of a plan -> what of it is not checked."""


NULL_SAYS_NOTHING = ("bound.gpus", "prices", "gpu_prices", "made_by")
"""Fields of which null makes a plan say less, and nothing wrong; gpu_prices and made_by are null in plans of before."""


def not_checked(plan: Plan) -> str:
    """Returns what of a plan is not checked as text, a line a field; fields of which it says nothing are left out."""
    stated = {path: reason for path, reason in NOT_CHECKED.items() if getattr(plan, TOP.split(path)[0])}
    width = max(map(len, stated))
    return "\n".join(f"  {path:<{width}}  {reason}" for path, reason in stated.items())
