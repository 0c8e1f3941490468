"""The command that carries a plan out request by request."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from .exit_codes import Exit
from .inputs import known_profiles
from .options import PlanArgument, ProblemArgument, ProfilesOption
from .output import display, is_stdout, say, say_notes, write_json, write_out
from .searching import searching

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..comparison.rows import Comparison
    from ..model.plan import Plan
    from ..model.problem import Problem
    from ..model.profile import Profile
    from ..model.simulation_report import SimulationReport
    from ..simulation.settings import SimulationSettings
    from ..workers.executors import Workers

WORTH_WORKERS = 3_000_000
"""Requests from which on it pays to start worker processes."""

OF_A_COMPARISON = 20_000
"""Requests of each service and planner."""


def simulate(
    problem: ProblemArgument,
    plan: PlanArgument,
    arrivals: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[SERVICE=]KIND",
            help="How requests come: poisson, even, gamma:VARIATION (of gaps), bursts:FACTOR,SHARE,SECONDS (times the "
            "rate, part of the time, mean length), trace:FILE (CSV). Once for all, once for each service that differs; "
            "default: poisson.",
        ),
    ] = None,
    requests: Annotated[int, typer.Option(min=1, help="Requests of each service that are counted.")] = 100_000,
    seconds: Annotated[
        float | None, typer.Option(min=0.001, max=1e9, help="Seconds that are counted, in place of --requests.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same answer.")] = 1,
    dispatch: Annotated[
        str | None,
        typer.Option(
            help="How requests are dealt to a service's partitions: weighted_round_robin, random, least_loaded, "
            "least_expected, with the plan's rates as weights, or central (one queue for all of them). Default: what "
            "the plan promises with; else the first."
        ),
    ] = None,
    batching: Annotated[
        str | None,
        typer.Option(
            help="When batches go: greedy, full, delay:MS, delay:MS:SIZE,SIZE,... (Triton's), deferred. Default: as "
            "the plan says, which is greedy but for latency assembly."
        ),
    ] = None,
    load: Annotated[float, typer.Option(min=1e-3, max=1000, help="Factor on all rates.")] = 1.0,
    quantile: Annotated[
        float | None,
        typer.Option(help="Share of the requests that must be in time; default: what the plan promises, else 0.99."),
    ] = None,
    fail_gpu: Annotated[
        list[str] | None,
        typer.Option(metavar="GPU@SECONDS", help="A GPU of the plan that fails; repeatable. Counted from then on."),
    ] = None,
    takeover: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="After a failure partitions that are kept free serve what was lost, so many seconds later.",
        ),
    ] = None,
    neighbours: Annotated[
        str,
        typer.Option(
            metavar="busy|simulated",
            help="Under MPS a batch takes as long as beside all neighbours, busy; or, simulated, as beside those that "
            "execute at the moment, by the interference model.",
        ),
    ] = "busy",
    measured_batches: Annotated[
        bool, typer.Option("--measured-batches", help="Smaller batches take the profiles' times where they have them.")
    ] = False,
    profiles: ProfilesOption = None,
    replications: Annotated[
        int, typer.Option(min=1, help="Times that all of it is simulated, each with a seed of its own, by all workers.")
    ] = 1,
    keep: Annotated[
        Path | None,
        typer.Option(help="File to keep replications in as they come; a run that was ended goes on from it."),
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the services as CSV; `-`: to stdout instead of the table.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything as JSON; `-`: to stdout instead of the table.")
    ] = None,
) -> None:
    """Carry a plan out request by request: percentiles with their intervals, and whether each service holds its SLO."""
    from .. import api
    from ..formats.plan_files import read_plan
    from ..formats.problem_files import read_problem
    from ..simulation.asking import settings_of
    from ..wording.shown_names import as_shown, shown_names
    from .simulation_table import simulation_table, verdict_lines

    known = known_profiles(profiles)
    parsed = read_problem(problem, known)
    answer = read_plan(plan)
    settings = settings_of(
        parsed,
        arrivals=arrivals or (),
        dispatch=dispatch,
        batching=batching,
        failures=fail_gpu or (),
        requests=requests,
        seconds=seconds,
        seed=seed,
        load=load,
        quantile=quantile,
        measured_batches=measured_batches,
        takeover_s=takeover,
        neighbours=neighbours,
    )
    if is_stdout(keep):
        raise InputError([Finding("--keep", "", "is `-`; replications are read again from it, so it needs a file")])
    total = requests * len(parsed.workloads)
    if replications > 1 or keep is not None:
        report = _repeated(parsed, answer, settings, known, replications, keep)
        if report is None:
            say("Interrupted before the first replication.")
            raise typer.Exit(Exit.NO_ANSWER)
    else:
        with _crew(total) as crew, searching(f"simulating {len(parsed.workloads)} services"):
            report = api.simulate(parsed, answer, settings, profiles=known, workers=crew)
    seen = as_shown(report, shown_names(parsed))
    if csv_file is not None:
        from ..formats.simulation_files import simulation_csv

        write_out(simulation_csv(report), csv_file)
    if json_file is not None:
        write_json(report.model_dump(mode="json"), json_file, parsed.labels)
    if not (is_stdout(csv_file) or is_stdout(json_file)) and report.services:
        display(simulation_table(seen))
    for line in verdict_lines(seen):
        say(line)
    say_notes(seen.notes)
    raise typer.Exit(simulation_code(report))


def _repeated(
    problem: "Problem",
    plan: "Plan",
    settings: "SimulationSettings",
    profiles: "Sequence[Profile]",
    number: int,
    keep: Path | None,
) -> "SimulationReport | None":
    """Returns what several replications say together, those included that a file keeps; None: there is none."""
    from ..formats.kept_lines import kept_lines
    from ..model.simulation_report import SimulationReport
    from ..simulation.repeated import Repeated, repetitions, together
    from ..workers.executors import workers

    asked = Repeated(problem, plan, settings, number, tuple(profiles) if settings.needs_profiles else ()).checked()
    seeds, otherwise = range(settings.seed, settings.seed + number), "another problem or plan, or other options"
    with (
        kept_lines(keep, "simulation", asked.named(), SimulationReport, "seed", otherwise) as kept,
        searching(f"simulating {len(problem.workloads)} services") as update,
        workers() as crew,
    ):
        for index, report in repetitions(asked, crew, [seed - settings.seed for seed in kept.answers]):
            kept.add(settings.seed + index, report)
            update(f"{sum(seed in kept.answers for seed in seeds):,} of {number:,} replications")
        reports = [kept.answers[seed] for seed in seeds if seed in kept.answers]
        return together(asked, reports) if reports else None


@contextmanager
def _crew(requests: int) -> "Iterator[Workers | None]":
    """Gives workers where they are worth it, or where a cluster is named for it."""
    from ..workers.executors import CLUSTER, workers

    if requests < WORTH_WORKERS and not os.environ.get(CLUSTER):
        yield None
        return
    with workers() as crew:
        yield crew


def simulation_code(report: "SimulationReport") -> Exit:
    """Returns the exit code for a simulation."""
    if not report.services:
        return Exit.NO_ANSWER
    if report.holds == "no":
        return Exit.NO_PLAN
    is_certain = report.holds == "yes" and report.stopped == "done" and report.is_of_its_router
    return Exit.DONE if is_certain else Exit.LIMITED


def simulated_rows(problem: "Problem", comparison: "Comparison") -> "dict[str, SimulationReport]":
    """Returns what each planner's plan does, request by request; planners without a plan are left out."""
    from .. import api

    settings = api.SimulationSettings(requests=OF_A_COMPARISON)
    with searching("simulating") as update:
        found = {}
        for plan in comparison.plans:
            if plan.gpus:
                update(f"simulating the plan of {plan.planner}")
                found[plan.planner] = api.simulate(problem, plan, settings)
    return found


def show_rows(reports: "Mapping[str, SimulationReport]") -> None:
    """Shows what the planners' plans do."""
    from .simulation_table import planners_table

    display("")
    display(planners_table(reports))
