"""The front door's simulation: a plan carried out request by request."""

from collections.abc import Sequence

from ..formats.profile_files import shipped_profiles
from ..model.plan import Plan
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.simulation_report import SimulationReport
from ..simulation.settings import SimulationSettings as SimulationSettings
from ..simulation.simulation import simulated_plan
from ..workers.executors import Workers


def simulate(
    problem: Problem,
    plan: Plan,
    settings: SimulationSettings | None = None,
    *,
    profiles: Sequence[Profile] | None = None,
    workers: Workers | None = None,
) -> SimulationReport:
    """
    Returns what a plan does when requests come: percentiles with intervals, and whether each service holds its SLO.

    Within `interruption.interruptible_by(event)` it ends with what is known when the event is set.

    Parameters
    ----------
    settings
        How requests come, are dealt and are batched, and how many; None: 100,000 Poisson requests of each service.
    profiles
        Where smaller batches' times and interference coefficients are, if the settings ask for them; None: the shipped
        ones.
    workers
        Who simulates (`workers.executors.workers`); None: this process. The same seed gives the same answer.

    Raises
    ------
    InputError
        With all that is wrong with the plan or the settings.
    """
    settings = settings or SimulationSettings()
    if profiles is None:
        profiles = shipped_profiles() if settings.needs_profiles else ()
    return simulated_plan(problem, plan, settings, profiles=profiles, workers=workers)
