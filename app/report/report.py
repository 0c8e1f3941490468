"""A plan as one HTML file that needs nothing else: no script, no font, no picture from anywhere."""

import hashlib
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.simulation_report import SimulationReport
from sliceplan.solver.model.transition import Transition
from sliceplan.solver.wording.shown_names import as_shown, shown_names
from sliceplan.solver.wording.summary import plan_summary
from sliceplan.solver.wording.transition_text import summary

from . import rows, words
from .fleet_picture import colour_rules, fleet_pictures
from .simulation import simulation_rows

MOST_TIGHT = 5
"""Services that are named as those with the least room."""


def plan_report(
    problem: Problem,
    plan: Plan,
    *,
    made_at: str,
    version: str,
    running: Plan | None = None,
    transition: Transition | None = None,
    trouble: str | None = None,
    simulation: SimulationReport | None = None,
    assumed: Sequence[str] = (),
) -> str:
    """
    Returns the report; whatever stands in the problem and the plan is text in it, never markup.

    Parameters
    ----------
    made_at
        Date and time, as they shall be read.
    version
        Of sliceplan.
    running, transition
        The plan that runs today and the way from it; None: not given.
    trouble
        Why there is no way from the running plan; None: nothing was wrong.
    simulation
        What the plan did, request by request; None: it was not simulated.
    assumed
        Which services are planned as running another model than theirs, in words, each a danger.
    """
    plan_sha256 = hashlib.sha256(dump_plan(plan).encode()).hexdigest()
    names = shown_names(problem)
    problem, plan = as_shown(problem, names), as_shown(plan, names)
    transition, simulation = as_shown(transition, names), as_shown(simulation, names)
    services = rows.service_rows(problem, plan)
    return _template().render(
        problem=problem,
        plan=plan,
        made_at=made_at,
        version=version,
        headline=plan_summary(plan, plan.gap),
        costs=rows.cost_rows(problem, plan),
        hours=rows.HOURS_OF_MONTH,
        pictures=[Markup(picture) for picture in fleet_pictures(plan, problem)],
        colour_rules=Markup(colour_rules()),
        services=services,
        tight=_tight(services),
        promised=words.promised(problem, plan),
        simulation=None if simulation is None else simulation_rows(simulation),
        proof=list(words.proof(plan)),
        dangers=[*(f"{one}: nobody measured that" for one in assumed), *words.dangers(plan)],
        kept_free=list(words.kept_free(problem, plan)),
        gpus=rows.gpu_rows(plan),
        running=running,
        transition=transition,
        trouble=trouble,
        way=summary(transition) if transition else [],
        steps=list(rows.step_rows(transition)) if transition else [],
        plan_sha256=plan_sha256,
        called=names,
    )


def _tight(services: list[rows.ServiceRow]) -> list[tuple[str, float]]:
    """Returns the services with the least room: by how much their whole rate may grow on their partitions."""
    rate: dict[str, float] = {}
    capacity: dict[str, float] = {}
    for row in services:
        rate[row.service] = rate.get(row.service, 0.0) + row.rate_rps
        capacity[row.service] = capacity.get(row.service, 0.0) + row.capacity_rps
    room = [(name, capacity[name] / rate[name] - 1) for name in rate if rate[name] > 0]
    return sorted(room, key=lambda one: (one[1], one[0]))[:MOST_TIGHT]


def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(files(__package__).joinpath("plan.html").read_text("utf-8"))
