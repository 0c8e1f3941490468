"""What a worker is asked for by the screen "Will it hold?"; the simulation is loaded there only."""

from dataclasses import dataclass

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.simulation_report import SimulationReport


@dataclass(frozen=True)
class Traffic:
    """What a plan is to stand; the words are those of `sliceplan simulate`."""

    load: float = 1.0
    """Factor on all rates."""
    arrivals: str = "poisson"
    dispatch: str = "weighted_round_robin"
    quantile: float = 0.99
    requests: int = 100_000
    """Of each service."""


@dataclass(frozen=True)
class Simulated:
    """What came of it."""

    traffic: Traffic
    report: SimulationReport


def simulated(problem: Problem, plan: Plan, traffic: Traffic) -> Simulated:
    """Carries a plan out, with what is known so far where it is ended early; errors as `api.simulate` has them."""
    from sliceplan.solver.api import simulate
    from sliceplan.solver.simulation.asking import settings_of

    settings = settings_of(
        problem,
        arrivals=[traffic.arrivals],
        dispatch=traffic.dispatch,
        batching=None,
        failures=(),
        requests=traffic.requests,
        seconds=None,
        seed=1,
        load=traffic.load,
        quantile=traffic.quantile,
        measured_batches=False,
    )
    return Simulated(traffic, simulate(problem, plan, settings))
