"""How the plans of a comparison stand to what is proven, in a sentence."""

from sliceplan.solver.comparison.rows import Comparison, Failure
from sliceplan.solver.model.objective import COST, SAME
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.words import counted


def standing(compared: Comparison) -> str:
    """Returns of how many planners a plan is as good as any can be, worse, or late, or missing; empty: no bound."""
    gaps = [gap for plan in compared.plans if (gap := compared.gap_to_bound(plan)) is not None]
    if not gaps:
        return ""
    worse = [100 * gap for gap in gaps if gap > SAME]
    best, broken = len(gaps) - len(worse), sum(plan.status is Status.VIOLATING for plan in compared.plans)
    without = sum(isinstance(row, Failure) or not row.gpus for row in compared.rows)
    other = len(compared.rows) - len(gaps) - broken - without
    good, verb, direction = (
        ("as cheap as any can be", "costs", "more")
        if compared.objective == COST
        else ("as good as any can be", "carries", "less")
    )
    parts = [f"{best or 'none'} found a plan that is {good}"]
    if worse:
        least, most = f"{min(worse):.1f}", f"{max(worse):.1f}"
        parts.append(f"{len(worse)} one that {verb} {least if least == most else f'{least} to {most}'} % {direction}")
    if broken:
        parts.append(f"{broken} one that is too slow for some services")
    if other:
        parts.append(f"{other} one by rules that the proof does not cover")
    if without:
        parts.append(f"{without} none")
    *first, last = parts
    said = f"{', '.join(first)} and {last}" if first else last
    return f"Of {counted(len(compared.rows), 'planner')}, {said}."
