"""What workers are asked for by the screen What-if; the solvers are loaded there only."""

from collections.abc import Sequence

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import FleetEntry, Problem
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.sweep_report import FleetMix, Sensitivity


def mix_of(problem: Problem, profiles: Sequence[Profile], fleet: Sequence[FleetEntry]) -> FleetMix:
    """Returns the cheapest mix of the GPU types of a fleet; errors as `fleet_mix` has them."""
    from sliceplan.solver.what_if.fleet_mix import fleet_mix

    return fleet_mix(problem, profiles=profiles, fleet=fleet)


def sensitivities_of(
    problem: Problem, plan: Plan, profiles: Sequence[Profile], change: float
) -> tuple[Sensitivity, ...]:
    """Returns what small changes do to the cost; errors as `sensitivities` has them."""
    from sliceplan.solver.what_if.sensitivities import sensitivities

    return sensitivities(problem, plan, profiles, change)
