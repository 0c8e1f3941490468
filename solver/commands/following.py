"""The command for rates that change: what policies that follow them cost and miss."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .exit_codes import Exit
from .inputs import known_profiles
from .options import BY_DEFAULT, GapOption, ProblemArgument, ProfilesOption
from .output import display, is_stdout, say, write_json
from .searching import searching

if TYPE_CHECKING:
    from rich.table import Table

    from ..model.following_report import FollowingReport


def follow(
    problem: ProblemArgument,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="REQUESTS",
            help="CSV: `seconds,service,rate_rps`, rates that change in steps, of which Poisson requests are drawn; or "
            "recorded requests, `timestamp,service`.",
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Option("--policy", help="fixed, peak, gpulets or foreseen; default: all of them. Repeatable."),
    ] = None,
    planner: Annotated[str | None, typer.Option(help=f"Who makes the plans; {BY_DEFAULT}.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds for each plan; default: the problem's own.")
    ] = None,
    gap: GapOption = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the requests that are drawn.")] = 1,
    profiles: ProfilesOption = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the report as JSON; `-`: to stdout instead of the table.")
    ] = None,
) -> None:
    """Show what policies cost and miss that plan anew as rates change, period by period."""
    from ..following.following import followed
    from ..following.policies.registry import POLICIES, policy_named
    from ..following.requests import requests_of
    from ..formats.problem_files import read_problem
    from ..wording.shown_names import as_shown, shown_names

    chosen = [policy_named(name) for name in dict.fromkeys(names or POLICIES)]
    known = known_profiles(profiles)
    parsed = read_problem(problem, known)
    arrivals, periods = requests_of(path, parsed, seed)
    with searching(f"following {len(parsed.workloads)} services"):
        found = followed(
            parsed, arrivals, periods, chosen, planner=planner, profiles=known, time_limit_s=time_limit, gap=gap
        )
    if json_file is not None:
        write_json(found.model_dump(mode="json"), json_file, parsed.labels)
    if not is_stdout(json_file) and found.policies:
        display(_table(as_shown(found, shown_names(parsed))))
    for line in _lines(found):
        say(line)
    raise typer.Exit(_code(found))


def _code(found: "FollowingReport") -> Exit:
    if not any(row.plans for row in found.policies):
        return Exit.NO_ANSWER
    return Exit.LIMITED if found.not_run else Exit.DONE


def _table(found: "FollowingReport") -> "Table":
    """Returns one row a policy."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", no_wrap=True)
    for title in ("cost/h", "GPUs", "most", "plans", "late", "worst service", "its worst period"):
        table.add_column(title, justify="right")
    hours = found.seconds / 3600
    for row in found.policies:
        if not row.plans:
            table.add_row(row.policy, "-", "-", "-", "0", "-", "no plan", "-")
            continue
        worst = max(row.services, key=lambda one: one.late / max(one.requests, 1))
        table.add_row(
            row.policy,
            f"${row.usd / hours:,.2f}",
            f"{row.gpu_hours / hours:.1f}",
            str(row.most_gpus),
            str(row.plans),
            f"{row.late or 0.0:.2%}",
            worst.workload,
            f"{worst.latest_period:.1%}",
        )
    return table


def _lines(found: "FollowingReport") -> list[str]:
    lines = [
        f"{found.requests:,} requests in {found.seconds:,.0f} s, plans by {found.planner}. What a period of "
        f"{found.period_s:g} s shows is planned and loaded in the next and serves from the one after; meanwhile the "
        "dearer of both plans is paid for, and what a move takes beyond that is not counted."
    ]
    lines += [
        f"{row.policy}: {row.refused} times there was no plan for what it asked for, and the old one stayed."
        for row in found.policies
        if row.refused and row.plans
    ]
    if found.not_run:
        lines.append(f"Not run: {', '.join(found.not_run)}.")
    return lines
