"""How the plans of a comparison stand to what is proven, in a sentence."""

from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.model.objective import COST, SAME
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.words import counted


def standing(compared: Comparison) -> str:
    """Returns how many plans are as good as any can be, worse, or break a promise; empty: nothing is proven of any."""
    gaps = [gap for plan in compared.plans if (gap := compared.gap_to_bound(plan)) is not None]
    if not gaps:
        return ""
    worse = [100 * gap for gap in gaps if gap > SAME]
    best, broken = len(gaps) - len(worse), sum(plan.status is Status.VIOLATING for plan in compared.plans)
    good, verb, direction = (
        ("as cheap as any can be", "costs", "more")
        if compared.objective == COST
        else ("as good as any can be", "carries", "less")
    )
    parts = [f"{best or 'none'} {'is' if best == 1 else 'are'} {good}"]
    if worse:
        least, most = f"{min(worse):.1f}", f"{max(worse):.1f}"
        by = least if least == most else f"{least} to {most}"
        parts.append(f"{len(worse)} {verb if len(worse) == 1 else _plural(verb)} {by} % {direction}")
    if broken:
        parts.append(f"{broken} {'is' if broken == 1 else 'are'} too slow for some services")
    *first, last = parts
    said = f"{', '.join(first)} and {last}" if first else last
    return f"Of {counted(len(gaps) + broken, 'plan')}, {said}."


def _plural(verb: str) -> str:
    return {"costs": "cost", "carries": "carry"}[verb]
