"""The command that prices partitions and services."""

from pathlib import Path
from typing import Annotated

import typer

from .exit_codes import Exit, exit_code
from .inputs import read_problem_and_profiles
from .options import GapOption, PricesOption, ProblemArgument, ProfilesOption, TimeLimitOption
from .output import display, is_stdout, say, say_few, write_json
from .searching import searching

UNKNOWN_COSTS = {"unattributed_usd_per_hour": None, "services": None}


def price(
    problem: ProblemArgument,
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Show at most so many services.")] = 20,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the prices as JSON; `-`: to stdout instead of the tables.")
    ] = None,
) -> None:
    """Show what each partition size and each service costs, and what changes would."""
    from .. import api
    from ..comparison.rows import NO_TIME_FOR_SERVICES
    from ..wording.reasons import reasons
    from ..wording.shown_names import as_shown, shown_names
    from ..wording.summary import plan_summary
    from .terminal import price_table, service_table

    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    with searching(f"pricing {len(parsed.workloads)} workloads"):
        plan, report = api.price(parsed, profiles=known, time_limit_s=time_limit, gap=gap, source=str(problem))
    if plan.prices is None or plan.cost_per_hour is None:
        say_few(reasons(as_shown(plan, shown_names(parsed))))
        say(plan_summary(plan, plan.gap))
        raise typer.Exit(exit_code(plan))
    if json_file is not None:
        known_costs = (
            report.model_dump(mode="json") if report else {"cost_per_hour": plan.cost_per_hour} | UNKNOWN_COSTS
        )
        data = {
            "problem": parsed.name,
            "prices": plan.prices.model_dump(mode="json"),
            "bound": plan.bound.model_dump(mode="json"),
            **known_costs,
            "services_error": None if report else NO_TIME_FOR_SERVICES,
        }
        write_json(data, json_file, parsed.labels)
    if not is_stdout(json_file):
        display(price_table(plan.prices))
        if report is not None:
            display("")
            display(service_table(as_shown(report, shown_names(parsed)), most))
    say(plan_summary(plan, plan.gap))
    if report is None:
        say(f"What services cost is not known: {NO_TIME_FOR_SERVICES}")
        raise typer.Exit(Exit.LIMITED)
    adding = "whole GPUs and neighbours add" if plan.prices.shared else "whole GPUs add"
    say(
        f"The services' shares add up to it; ${report.unattributed_usd_per_hour:,.2f}/h of it is what {adding}, "
        "spread in proportion."
    )
    raise typer.Exit(exit_code(plan))
