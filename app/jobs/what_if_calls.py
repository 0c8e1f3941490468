"""What workers are asked for by the screen What-if; the solvers are loaded there only."""

from collections.abc import Sequence

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import FleetEntry, Problem
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.sweep_report import FleetMix, SensitivityReport

LIVE_S = 10.0
"""So long a plan for moved sliders is searched for at most: who moves them looks on."""

SENSITIVITIES_S = 20.0
"""So long sensitivities are worked out; those of 1,000 services take a tenth of a second."""


def mix_of(problem: Problem, profiles: Sequence[Profile], fleet: Sequence[FleetEntry]) -> FleetMix:
    """Returns the cheapest mix of the GPU types of a fleet; errors as `fleet_mix` has them."""
    from sliceplan.solver.what_if.fleet_mix import fleet_mix

    return fleet_mix(problem, profiles=profiles, fleet=fleet)


def sensitivities_of(problem: Problem, plan: Plan, profiles: Sequence[Profile], change: float) -> SensitivityReport:
    """Returns what small changes do to the cost, as far as there is time; errors as `sensitivities` has them."""
    from sliceplan.solver.what_if.sensitivities import sensitivity_report

    return sensitivity_report(problem, plan, profiles, change, SENSITIVITIES_S)


def live_limit_s(problem: Problem) -> float:
    """Returns the seconds that a plan for moved sliders is searched for."""
    return min(LIVE_S, problem.settings.time_limit_s)
