"""What a better router would save, and what a worse one would cost, in sentences."""

from collections.abc import Iterator, Sequence

from ..model.plan import Plan
from ..model.words import boards_in_words

SAME = 0.005
"""USD per hour that are none."""


def router_savings(planned_for: str, plans: Sequence[tuple[str, Plan]]) -> Iterator[str]:
    """
    Yields a sentence for each router that costs something else than the plan's own, or one that none does.

    A plan that is not proven cheapest could cost as little as its bound, so that is said too.

    Parameters
    ----------
    plans
        Dispatch and plan, the worst router first.
    """
    own = next((plan for dispatch, plan in plans if dispatch == planned_for), None)
    if own is None or own.cost_per_hour is None:
        yield f"There is no plan for {planned_for} to compare with."
        return
    others = [(names, plan) for names, plan in _alike(plans) if planned_for not in names]
    is_better = {id(plan): place for place, (_, plan) in enumerate(plans)}
    said = [
        _sentence(" or ".join(names), plan, own, own.cost_per_hour, may_save=is_better[id(plan)] > is_better[id(own)])
        for names, plan in others
    ]
    yield from filter(None, said)
    if not any(said):
        yield "No other router costs less or more."


def _alike(plans: Sequence[tuple[str, Plan]]) -> list[tuple[list[str], Plan]]:
    """Returns routers that have one plan together."""
    found: dict[int, tuple[list[str], Plan]] = {}
    for dispatch, plan in plans:
        found.setdefault(id(plan), ([], plan))[0].append(dispatch)
    return list(found.values())


def _sentence(router: str, plan: Plan, own: Plan, cost: float, *, may_save: bool) -> str:
    """Returns what a router saves or takes; empty: neither."""
    if plan.cost_per_hour is None:
        return ""
    saved, bound = cost - plan.cost_per_hour, plan.bound.cost_per_hour
    most = saved if bound is None else cost - bound
    part = f"${abs(saved):,.2f} per hour ({abs(saved) / cost:.1%})"
    boards = f"{boards_in_words(plan.gpus)} instead of {boards_in_words(own.gpus)}"
    if saved > SAME:
        further = f", and at most ${most:,.2f}" if most > saved + SAME else ""
        return f"{router} would save {part}{further}: {boards}."
    if saved < -SAME:
        return f"{router} would take {part} more: {boards}."
    if may_save and most > SAME:
        return f"{router} saves nothing that was found, and at most ${most:,.2f} per hour."
    return ""
