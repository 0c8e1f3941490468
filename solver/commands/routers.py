"""What a better router would save, on the command line: `sliceplan compare --routers`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .exit_codes import Exit, best_of, exit_code
from .output import display, is_stdout, say, write_json
from .searching import searching

if TYPE_CHECKING:
    from rich.table import Table

    from ..api.routers import RouterPlan, RouterPlans
    from ..model.problem import Problem
    from ..model.profile import Profile


def compare_routers(
    problem: "Problem",
    profiles: "Sequence[Profile]",
    *,
    time_limit_s: float | None,
    gap: float | None,
    json_file: Path | None,
    source: str,
) -> Exit:
    """Plans a problem for every router, shows what each saves, and returns the exit code."""
    from ..api.routers import plans_by_router
    from ..wording.routers import router_savings

    with searching("planning") as update:

        def show_progress(row: "RouterPlan") -> None:
            update(f"planned for {row.dispatch}")

        found = plans_by_router(
            problem, profiles=profiles, time_limit_s=time_limit_s, gap=gap, on_plan=show_progress, source=source
        )
    if json_file is not None:
        write_json({"problem": problem.name, **found.as_data()}, json_file, problem.labels)
    if not is_stdout(json_file):
        display(routers_table(found))
    for line in router_savings(found.planned_for, [(row.dispatch, row.plan) for row in found.rows]):
        say(line)
    if found.left_out is not None:
        say(f"Routers that know every partition's state are not planned {found.left_out}.")
    return best_of(exit_code(row.plan) for row in found.rows)


def routers_table(found: "RouterPlans") -> "Table":
    """Returns one row a router: GPUs, cost, gap to its bound, status."""
    from rich.table import Table

    from ..model.words import boards_in_cell

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("router", no_wrap=True)
    for column in ("cost/h", "GPUs", "gap"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for row in found.rows:
        plan, own = row.plan, " (own)" if row.dispatch == found.planned_for else ""
        table.add_row(
            f"{row.dispatch}{own}",
            "-" if plan.cost_per_hour is None else f"${plan.cost_per_hour:,.2f}",
            boards_in_cell(plan.gpus) if plan.gpus else "-",
            "-" if plan.gap is None else f"{100 * plan.gap:.2f} %",
            plan.status.value,
        )
    return table
