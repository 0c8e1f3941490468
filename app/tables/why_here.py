"""Why a service has its partitions, and what it pays of the plan: in sentences, from the prices of the plan's proof."""

from collections import Counter
from collections.abc import Mapping
from math import isnan

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.price_report import ServiceCost
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH

CENT = 0.005
"""USD per hour that are told."""


def why_here(cost: ServiceCost, plan: Plan, on_each: Mapping[str, float] | None = None) -> str:
    """
    Returns what the partitions of a service cost, and what others would.

    All of it is at the prices that the proof gives partitions (solver/analysis/pricing.py); a plan of whole GPUs may
    have others than the cheapest for a service, where those fill a GPU that is paid for anyway.

    Parameters
    ----------
    on_each
        What its cheapest partitions of each GPU or CPU type would cost, USD per hour; nan: there are none.
    """
    monthly = cost.usd_per_hour * HOURS_A_MONTH
    least = (
        "At the prices that the proof gives partitions, the cheapest that carry its rate within its SLO are "
        f"${cost.marginal_usd_per_hour:,.2f} per hour."
    )
    share = (
        f"It pays ${cost.usd_per_hour:,.2f} per hour of the plan, ${monthly:,.0f} per month; all services together pay "
        "all of it."
    )
    return " ".join(filter(None, (least, _by_type(cost, plan, on_each or {}), _others(cost, plan), share)))


def _by_type(cost: ServiceCost, plan: Plan, on_each: Mapping[str, float]) -> str:
    """Returns what the service would cost on one type alone, and why it may be on a dearer one; one type: nothing."""
    known = {gpu: usd for gpu, usd in on_each.items() if not isnan(usd)}
    if len(on_each) < 2 or not known:
        return ""
    prices = ", ".join(f"${usd:,.3f} on {gpu}" for gpu, usd in known.items())
    nowhere = [gpu for gpu in on_each if gpu not in known]
    missing = f"; nothing that was measured on {' or '.join(nowhere)} keeps its SLO" if nowhere else ""
    types = {size.split(" ")[0] for size in _placed(cost.workload, plan)}
    dearer = len(types) == 1 and known.get(types.pop(), 0.0) > min(known.values()) + CENT
    fills = " It runs on a dearer type, which is paid for anyway and has room for it." if dearer else ""
    return f"By type they would be {prices}{missing}.{fills}"


def _others(cost: ServiceCost, plan: Plan) -> str:
    if cost.move_to is None or cost.move_usd_per_hour is None:
        return "No others were found for it up to half as dear again."
    others = ", ".join(f"{count} x {size}" for size, count in cost.move_to.items())
    more = f"${cost.move_usd_per_hour:,.2f} more" if cost.move_usd_per_hour >= CENT else "as much"
    if cost.move_to == _placed(cost.workload, plan):
        return f"It has the next best, {others}, which are {more}, and fill GPUs that are paid for."
    return f"The next best, {others}, are {more}."


def _placed(workload: str, plan: Plan) -> Counter[str]:
    """Returns how many partitions of a kind serve it, called as in `ServiceCost.move_to`."""
    return Counter(
        f"{gpu.gpu} {partition.kind}" if partition.kind else gpu.gpu
        for gpu in plan.gpus
        for partition in gpu.partitions
        for served in partition.serves
        if served.workload == workload
    )
