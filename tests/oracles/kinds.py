"""
Kinds of random problems that are small enough to try everything, each with the oracle that does.

mig     GPUs that are cut or used whole; a third of the problems promise a percentile (mig_draws.py, mig_oracle.py)
rules   the same under every latency rule and router, with other gaps
mps     GPUs that are shared by MPS, some beside whole or cut ones (mps_draws.py, mps_oracle.py)
cpus    CPUs, and GPUs that are used whole (cpu_draws.py, cores_oracle.py)
turns   services that take turns on shares (turn_draws.py, turns_enumeration.py)
"""

import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
from problems.cpu_draws import TREES, drawn_problem, name_of, small_cpus
from problems.mig_draws import small_problem
from problems.mps_draws import drawn as drawn_shares
from problems.mps_draws import small_gpus
from problems.turn_draws import turning_problem

from oracles import capacity_oracle, cores_oracle, mig_oracle, mps_oracle, shared_capacity_oracle
from oracles.check_scalar import wrong_gpus_and_rates
from oracles.mig_oracle import TooManyError
from oracles.turns_enumeration import fewest

MOST_GPUS_IN_TURN = 4
"""Of which all contents are tried."""


def _nothing(*_):
    return ()


def _unknown(*_):
    raise TooManyError("this is not tried")


@dataclass(frozen=True)
class Kind:
    """How problems of a kind are drawn, and what is known of them."""

    drawn: Callable
    """Of a seed: a problem and its profiles."""
    least: Callable
    """Of a problem, profiles and the part of each rate that may be missing: the least cost; None: there is no plan."""
    most: Callable = _unknown
    """Of a problem, profiles, weights and that part: the most weighted requests/s; None: there is no plan."""
    wrong: Callable = _nothing
    """Of a problem, profiles and a plan: what is wrong with it."""
    catalogue: Callable = nullcontext
    """Has the types of its problems known for a while."""


def _tried(error):
    """Tells an oracle's own word for a problem that is too large as the others do."""
    raise TooManyError(str(error)) from error


PROMISES = (
    {},
    {},
    {},
    {},
    {"latency": "percentile"},
    {"latency": "percentile", "quantile": 0.95, "dispatch": "random"},
)
RULES = (
    {"latency": "percentile", "quantile": 0.999, "process_queues": "own"},
    {"latency": "percentile", "dispatch": "random"},
    {"latency": "percentile", "dispatch": "least_expected"},
    {"latency": "percentile", "dispatch": "central"},
    {"latency": "worst_case"},
    {"latency": "assembly"},
    {"latency": "assembly", "process_queues": "own"},
)
BY_STATE = ("least_expected", "central")
"""Routers with which partitions carry together what no sum says."""


def _promising(problem, promise, slo=5):
    longer = tuple(one.model_copy(update={"slo_ms": slo * one.slo_ms}) for one in problem.workloads)
    settings = problem.settings.model_copy(update=promise)
    return problem.model_copy(update={"settings": settings, "workloads": longer})


def cut(seed):
    """Returns a small problem, whose settings may promise a percentile, and profiles."""
    problem, profiles = small_problem(seed)
    promise = random.Random(f"promise {seed}").choice(PROMISES)
    return (_promising(problem, promise) if promise else problem), profiles


def by_rules(seed):
    """Returns a small problem under a latency rule, a router and a gap, and profiles."""
    problem, profiles = small_problem(seed)
    draw = random.Random(f"rules {seed}")
    problem = _promising(problem, {**draw.choice(RULES), "gap": draw.choice((0.0, 0.0, 0.01, 0.3))})
    if problem.settings.latency == "percentile" and problem.settings.dispatch not in BY_STATE:
        own = [draw.choice((None, None, 0.9, 0.999)) for _ in problem.workloads]
        workloads = (
            one.model_copy(update={"slo_quantile": quantile})
            for one, quantile in zip(problem.workloads, own, strict=True)
        )
        problem = problem.model_copy(update={"workloads": tuple(workloads)})
    return problem, profiles


def least_of_cuts(problem, profiles, missing):
    """Returns the least cost on cut GPUs."""
    if problem.settings.dispatch in BY_STATE:
        raise TooManyError("what partitions carry together is not tried")
    return mig_oracle.least_cost(problem, profiles, missing)


def wrong_cuts(problem, profiles, plan):
    """Returns what is wrong with cut GPUs; a rule under which a batch may take longer is not this one's matter."""
    return () if problem.settings.latency == "assembly" else wrong_gpus_and_rates(problem, plan, profiles)


def most_of_cuts(problem, profiles, weights, missing):
    """Returns the most capacity of cut GPUs."""
    if problem.settings.dispatch in BY_STATE or sum(entry.available for entry in problem.fleet) > 3:
        raise TooManyError("too many GPUs to try all cuts of all")
    return capacity_oracle.most_capacity(problem, profiles, weights, missing)


def shared(seed):
    """Returns a problem on GPUs under MPS, a fifth of them beside cut ones, and profiles."""
    problem, profiles = drawn_shares(seed, random.Random(f"family {seed}").choice(("small",) * 4 + ("mixed",)))
    gap = random.Random(f"gap {seed}").choice((0.0, 0.0, 0.0, 0.1))
    return problem.model_copy(update={"settings": problem.settings.model_copy(update={"gap": gap})}), profiles


def least_of_shares(problem, profiles, missing):
    """Returns the least cost on GPUs under MPS or whole ones, of a little more than the rates or of a little less."""
    kinds = {kind for entry in problem.fleet for kind in entry.sharing}
    if "mig" in kinds or (problem.settings.mps_rules == "igniter" and "exclusive" in kinds):
        raise TooManyError("such fleets are not tried")
    oracle = mps_oracle.Oracle(problem, profiles, mps_oracle.LOOSE if missing else mps_oracle.STRICT)
    igniter = problem.settings.mps_rules == "igniter"
    try:
        cost = oracle.cheapest_by_igniters_rules(1e12) if igniter else oracle.cheapest(1e12)
    except mps_oracle.TooLargeError as error:
        _tried(error)
    return None if cost is None else Fraction(cost)


def most_of_shares(problem, profiles, weights, missing):
    """Returns the most capacity of GPUs under MPS."""
    if any(entry.sharing != ("mps",) for entry in problem.fleet):
        raise TooManyError("such fleets are not tried")
    over = mps_oracle.LOOSE if missing else mps_oracle.STRICT
    try:
        return shared_capacity_oracle.most_capacity(problem, profiles, np.array(weights), over)
    except mps_oracle.TooLargeError as error:
        _tried(error)


def of_cores(seed):
    """Returns a problem on CPUs; its profiles are its own."""
    return drawn_problem(seed), []


def least_of_cores(problem, _profiles, missing):
    """Returns the least cost on CPUs and whole GPUs."""
    less = tuple(one.model_copy(update={"rate_rps": one.rate_rps * (1 - missing)}) for one in problem.workloads)
    trees = {name_of(tree): tree for tree in TREES}
    cost = cores_oracle.least_cost(problem.model_copy(update={"workloads": less}), trees)
    return None if cost == inf else Fraction(cost)


def least_in_turn(problem, profiles, missing):
    """Returns the least cost where services take turns on the shares of one GPU type."""
    (entry,) = problem.fleet
    of_model = {profile.model: profile.points for profile in profiles}
    shares = sorted({point.sm_percent for point in profiles[0].points})
    largest = max(point.batch for profile in profiles for point in profile.points)
    latency = {share: np.full((len(problem.workloads), largest), np.inf) for share in shares}
    for w, workload in enumerate(problem.workloads):
        for point in of_model[workload.model]:
            latency[point.sm_percent][w, point.batch - 1] = point.latency_ms
    slo_ms = np.array([one.slo_ms * problem.settings.slo_fraction / 0.5 * (1 + missing) for one in problem.workloads])
    factor = (1 + problem.settings.headroom) * (1 - missing)
    rate = np.array([one.rate_rps * factor for one in problem.workloads])
    most = MOST_GPUS_IN_TURN if entry.count is None else min(entry.count, MOST_GPUS_IN_TURN)
    kept = problem.settings.turns == "fixed"
    gpus = fewest(latency, slo_ms, rate, _divisions(shares), most, slots_kept=kept)
    if gpus is not None:
        return gpus * Fraction(repr(entry.price_per_hour))
    if entry.count is not None and most == entry.count:
        return None
    raise TooManyError(f"more than {most} GPUs")


def _divisions(shares):
    """Returns the ways to divide a GPU, each with all that another one has and more left out."""

    def below(most, left):
        fitting = [share for share in shares if share <= min(most, left)]
        return [(share, *rest) for share in fitting for rest in below(share, left - share)] or [()]

    return below(100, 100)


KINDS = {
    "mig": Kind(cut, least_of_cuts, most_of_cuts, wrong_cuts),
    "rules": Kind(by_rules, least_of_cuts, most_of_cuts, wrong_cuts),
    "mps": Kind(shared, least_of_shares, most_of_shares, mps_oracle.wrong, small_gpus),
    "cpus": Kind(of_cores, least_of_cores, catalogue=small_cpus),
    "turns": Kind(turning_problem, least_in_turn),
}
