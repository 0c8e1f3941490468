"""The planners side by side as a table, and where one's plan differs from the exact one."""

from collections import Counter
from collections.abc import Iterable, Mapping

import pandas as pd

from sliceplan.app.tables.promise import found_of_requests, promise_badge
from sliceplan.solver.comparison.rows import Comparison, Failure
from sliceplan.solver.differences.plans import Place, PlanDifference
from sliceplan.solver.metrics.cost_breakdown import CostBreakdown
from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.objective import COST, SAME
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.simulation_report import SimulationReport
from sliceplan.solver.model.words import boards_in_cell, counted
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH
from sliceplan.solver.wording.planner_words import RULES_OF, plain_name
from sliceplan.solver.wording.summary import missed_slos

VERDICTS = {
    Status.OPTIMAL: "proven cheapest",
    Status.FEASIBLE: "serves everything",
    Status.INFEASIBLE: "proven: no plan exists",
    Status.NONE_FOUND: "found no plan",
    Status.REFUSED: "cannot plan this",
    Status.TIMEOUT: "no plan in time",
    Status.VIOLATING: "DOES NOT HOLD",
}

WASTED = {
    "useful work": "useful",
    "over-provision": "over_provision",
    "internal slack": "internal_slack",
    "fragmentation": "fragmentation",
}
"""Column -> field of CostBreakdown."""


NOT_PLANNED_FOR = "not planned for"

FAILED, DISPUTED = "FAILED", "DISPUTED"

COLUMNS = [
    "what it does",
    "verdict",
    "cost per hour",
    "could carry",
    "by BDA",
    "gap",
    "GPUs",
    "requests in time",
    "per month",
    "time (s)",
    "whose rules",
    "planner",
]


def comparison_table(
    comparison: Comparison,
    simulated: Mapping[str, SimulationReport] | None = None,
) -> pd.DataFrame:
    """
    Returns one row a planner, in the comparison's order; gaps in percent, NaN where there is no plan, no bound or a
    failure.

    `simulated`: by planner, what its plan did request by request at its own rates.
    """
    simulated = simulated or {}
    rows = []
    for plan in comparison.rows:
        if isinstance(plan, Failure):
            rows.append({**_names(plan.planner), "verdict": FAILED, "time (s)": plan.runtime_s})
            continue
        gap = comparison.gap_to_bound(plan)
        rows.append(
            {
                **_names(plan.planner),
                "verdict": DISPUTED if plan.planner in comparison.disputes else verdict(plan, gap),
                "requests in time": _promised(plan, simulated.get(plan.planner)),
                "cost per hour": plan.cost_per_hour,
                "per month": None if plan.cost_per_hour is None else plan.cost_per_hour * HOURS_A_MONTH,
                "could carry": None if plan.capacity is None else plan.capacity.value,
                "by BDA": _gain(plan),
                "gap": None if gap is None else 100 * gap,
                "GPUs": boards_in_cell(plan.gpus) if plan.gpus else None,
                "time (s)": plan.runtime_s,
            }
        )
    left_out = {"could carry"} if comparison.objective == COST else set()
    left_out |= set() if comparison.is_adjusted else {"by BDA"}
    columns = [column for column in COLUMNS if column not in left_out]
    frame = pd.DataFrame(rows, columns=columns)
    floats = ("cost per hour", "per month", "could carry", "by BDA", "gap", "time (s)")
    return frame.astype({column: "float64" for column in floats if column in columns})


def money_table(plans: Iterable[Plan], breakdowns: Mapping[str, CostBreakdown]) -> pd.DataFrame:
    """Returns one row for each plan of which it is known where its money goes: the parts of its cost, in percent."""
    rows = [
        {"what it does": plain_name(plan.planner), **_percents(plan, breakdowns[plan.planner]), "planner": plan.planner}
        for plan in plans
        if plan.planner in breakdowns
    ]
    return pd.DataFrame(rows, columns=["what it does", *WASTED, "planner"]).astype(dict.fromkeys(WASTED, "float64"))


def _names(planner: str) -> dict[str, str | None]:
    return {"what it does": plain_name(planner), "whose rules": RULES_OF.get(planner), "planner": planner}


def _promised(plan: Plan, simulated: SimulationReport | None) -> str | None:
    """Returns what is known or planned of late requests, or which services are late by the plan; None: no plan."""
    if missed := missed_slos(plan):
        return f"{len(missed)} of {counted(len(plan.service_names), 'service')} late, by up to {excess(missed)}"
    if (badge := promise_badge(plan)) is None:
        return None
    if simulated is not None and simulated.holds == "yes":
        return f"{100 * simulated.quantile:.10g} % in time, simulated"
    if simulated is not None:
        return found_of_requests(simulated)
    return NOT_PLANNED_FOR if plan.promise is None else badge[0]


def excess(missed: Mapping[str, float]) -> str:
    """Returns by how much the worst of some services passes its limit, in percent of it."""
    worst = 100 * max(missed.values())
    return f"{worst:.0f} %" if worst >= 1 else f"{worst:.1f} %"


def _gain(plan: Plan) -> float | None:
    """Returns how much more its shares under MPS could carry by BDA, in percent; None: it is not asked for."""
    gain = None if plan.batch_adjustment is None else plan.batch_adjustment.gain
    return None if gain is None else 100 * gain


def verdict(plan: Plan, gap: float | None) -> str:
    """Returns in a word or two what came of a planner; `gap`: to the best bound."""
    if plan.status is Status.FEASIBLE and gap is not None and gap <= SAME:
        return "as cheap as proven" if plan.capacity is None else "as much as proven"
    return in_words(plan.status, judged(plan).objective.best)


def in_words(status: Status, best: str) -> str:
    """Returns what a status says; `best`: of a plan that no other is better than, as `cheapest`."""
    return f"proven {best}" if status is Status.OPTIMAL else VERDICTS[status]


def moved_table(difference: PlanDifference, planner: str) -> pd.DataFrame:
    """Returns one row a service that a planner places otherwise than the exact plan, which is the difference's old."""
    rows = [
        {"service": move.workload, "exact": _places(move.old), planner: _places(move.new)} for move in difference.moved
    ]
    return pd.DataFrame(rows, columns=["service", "exact", planner])


def partition_table(difference: PlanDifference, planner: str) -> pd.DataFrame:
    """Returns one row a kind of partition of which a planner uses another number than the exact plan."""
    rows = [
        {"GPU": gpu, "partition": size, "exact": old, planner: new, "difference": new - old}
        for (gpu, size), (old, new) in difference.partitions.items()
    ]
    return pd.DataFrame(rows, columns=["GPU", "partition", "exact", planner, "difference"])


def _percents(plan: Plan, spent: CostBreakdown) -> dict[str, float | None]:
    if not plan.cost_per_hour:
        return dict.fromkeys(WASTED)
    return {column: 100 * getattr(spent, field) / plan.cost_per_hour for column, field in WASTED.items()}


def _places(places: Iterable[Place]) -> str:
    counts = Counter(map(str, places))
    return ", ".join(f"{count} x {place}" if count > 1 else place for place, count in counts.items()) or "not served"
