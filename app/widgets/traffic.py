"""What traffic a plan can be carried out with, in words, and which it is at first."""

from sliceplan.app.jobs.simulating import Traffic
from sliceplan.solver.model.problem import Problem

BURSTINESS: dict[str, str] = {
    "evenly spaced": "even",
    "half as uneven": "gamma:0.5",
    "at random (Poisson)": "poisson",
    "bursts, variation 2": "gamma:2",
    "bursts, variation 4": "gamma:4",
}
"""What it is called, and how it is asked for."""

DISPATCHES: dict[str, str] = {
    "weighted_round_robin": "weighted round robin",
    "random": "at random",
    "least_loaded": "least loaded",
    "least_expected": "least expected completion",
    "central": "one central queue",
}

QUANTILES = (0.99, 0.95, 0.9, 0.999)
REQUESTS = (2_000, 20_000, 100_000, 1_000_000)

AT_ONCE = 2_000_000
"""Of all services together: about a second of one core, which the screen spends unasked when it is opened."""

MOST_REQUESTS = 20_000_000
"""Of all services together: some ten seconds of one core."""


def usual_traffic(problem: Problem) -> Traffic:
    """Returns what is asked of a plan where nothing else is chosen: its own rates, router and promise."""
    count = offered_requests(len(problem.workloads))[0]
    return Traffic(dispatch=problem.settings.dispatch, quantile=offered_quantiles(problem)[0], requests=count)


def offered_quantiles(problem: Problem) -> list[float]:
    """Returns the parts of the requests that can be asked to be in time; first the one that is promised."""
    settings = problem.settings
    promised = settings.quantile if settings.latency == "percentile" else QUANTILES[0]
    return list(dict.fromkeys((promised, *QUANTILES)))


def offered_requests(services: int) -> list[int]:
    """Returns how many requests of each service can be asked for; first how many come when the screen is opened."""
    offered = [count for count in REQUESTS if count * services <= MOST_REQUESTS] or [REQUESTS[0]]
    at_once = max((count for count in REQUESTS[:-1] if count * services <= AT_ONCE), default=offered[0])
    return sorted(offered, key=lambda count: (count != at_once, count))


def words_of(traffic: Traffic) -> str:
    """Returns what was asked for in words."""
    arrivals = next(name for name, kind in BURSTINESS.items() if kind == traffic.arrivals)
    return f"{traffic.load:g} times the rates, {arrivals}, dealt by {DISPATCHES[traffic.dispatch]}"
