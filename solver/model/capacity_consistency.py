"""What a plan says of its capacity that cannot be so together, whatever problem it answers."""

from collections.abc import Iterator

from .division import Wrong
from .judged import objective_of
from .plan import Plan, PlanCapacity, Status
from .rounding import RELATIVE, close


def wrong_capacity(plan: Plan, stated: PlanCapacity) -> Iterator[Wrong]:
    """Yields what is wrong with value, limit and gap, with the weights and with what one more GPU adds."""
    if (stated.value is None) != (not plan.gpus):
        yield "capacity.value", f"is {stated.value}, but the plan has {len(plan.gpus)} GPUs"
    expected = stated.weights == "solo" and stated.value is not None
    if (stated.solo_rps is not None) != expected:
        found = "null" if stated.solo_rps is None else "given"
        yield "capacity.solo_rps", f"is {found}, but weights are {stated.weights} and value is {stated.value}"
    yield from _wrong_gap(plan, stated)
    for gpu, limit in stated.one_more.items():
        if stated.limit is None or limit < stated.limit * (1 - RELATIVE):
            yield f"capacity.one_more.{gpu}", f"is {limit:g}, but limit is {stated.limit}: more GPUs carry no less"


def _wrong_gap(plan: Plan, stated: PlanCapacity) -> Iterator[Wrong]:
    value, limit = stated.value, stated.limit
    if value is not None and limit is not None and limit < value * (1 - RELATIVE):
        yield "capacity.limit", f"is {limit:.6f}; its limit is below its value {value:.6f}"
    gap = None if plan.status is Status.VIOLATING else objective_of(stated.weights).gap(value, limit)
    if (stated.gap is None) != (gap is None) or (
        stated.gap is not None and gap is not None and abs(stated.gap - gap) > RELATIVE
    ):
        yield "capacity.gap", f"is {stated.gap}, but value and limit give {gap}"
    if plan.status is Status.OPTIMAL and (value is None or limit is None or not close(limit, value)):
        yield "status", f"is optimal, but capacity.value is {value} and its limit {limit}"
