"""
Judges what every planner and every mode says of random MIG problems (mig_draws.py) by enumeration (mig_oracle.py).

    PYTHONPATH=tests .venv/bin/python -m oracles.mig_adversary --problems 2000 [--first 0] [--time-limit 3]

Each draw is asked of all planners, for the headroom and for what to leave out on its fleet with counts, and for a plan
that moves little. A third of the draws promise a percentile. Prints every false claim and every traceback with its
seed, and at the end how many there were.
"""

import argparse
import itertools
import random
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from problems.mig_draws import small_problem

from oracles.check_scalar import wrong_gpus_and_rates
from oracles.mig_oracle import LOOSE, TooManyError, least_cost
from sliceplan.solver import api
from sliceplan.solver.model.errors import InputError, NoPlanError
from sliceplan.solver.model.plan import Status

HOLDS = (Status.OPTIMAL, Status.FEASIBLE)

ROUNDING = Fraction(1, 10**9)
"""Part of a cost by which sums of prices may differ."""

PROMISES = (
    {},
    {},
    {},
    {},
    {"latency": "percentile"},
    {"latency": "percentile", "quantile": 0.95, "dispatch": "random"},
)

SOME_COUNT = 3
"""Of types whose entry states none, where a mode takes counts."""


@dataclass
class Verdict:
    """What was wrong with the answers to one problem, and how many there were."""

    false: list = field(default_factory=list)
    """False claims and tracebacks: (who, what)."""
    answers: Counter = field(default_factory=Counter)


def drawn(seed):
    """Returns a small problem, whose settings may promise a percentile, and profiles."""
    problem, profiles = small_problem(seed)
    promise = random.Random(f"promise {seed}").choice(PROMISES)
    if not promise:
        return problem, profiles
    longer = tuple(one.model_copy(update={"slo_ms": 5 * one.slo_ms}) for one in problem.workloads)
    settings = problem.settings.model_copy(update=promise)
    return problem.model_copy(update={"settings": settings, "workloads": longer}), profiles


def with_counts(problem):
    """Returns the problem with a count for every GPU type."""
    fleet = tuple(
        entry if entry.count is not None or entry.nodes else entry.model_copy(update={"count": SOME_COUNT})
        for entry in problem.fleet
    )
    return problem.model_copy(update={"fleet": fleet})


def at_rates(problem, factor):
    """Returns the problem with all rates multiplied."""
    workloads = tuple(one.model_copy(update={"rate_rps": one.rate_rps * factor}) for one in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})


def judged(seed, time_limit_s=3.0):
    """Returns the verdict on all answers to one draw; TooManyError where it cannot be enumerated."""
    problem, profiles = drawn(seed)
    counted = with_counts(problem)
    for one in (problem, counted):
        least_cost(one, profiles)
    verdict = Verdict()
    modes = {
        "planners": lambda: _planners(problem, profiles, time_limit_s),
        "headroom": lambda: _headroom(counted, profiles, time_limit_s),
        "shed": lambda: _shed(counted, profiles, time_limit_s),
        "replan": lambda: _replan(problem, profiles, time_limit_s),
    }
    for mode, ask in modes.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for who, ended, wrong in ask():
                    verdict.answers[f"{who} {ended}"] += 1
                    verdict.false += [(who, one) for one in wrong]
        except InputError as error:
            verdict.answers[f"{mode} refused"] += 1
            if not str(error).strip():
                verdict.false.append((mode, "refused without a reason"))
        except TooManyError:
            verdict.answers[f"{mode} too many"] += 1
        except Exception:
            verdict.false.append((mode, traceback.format_exc()))
    return verdict


def wrong_plan(problem, profiles, plan):
    """Yields what is wrong with a plan and its claims."""
    strict, loose = least_cost(problem, profiles), least_cost(problem, profiles, LOOSE)
    bound = plan.bound.cost_per_hour
    if plan.status is Status.INFEASIBLE and strict is not None:
        yield f"infeasible, and {float(strict)} would do"
    if bound is not None and strict is not None and bound > float(strict) * (1 + 1e-9):
        yield f"the bound is {bound}, and {float(strict)} would do"
    if plan.status not in HOLDS:
        return
    for violation in wrong_gpus_and_rates(problem, plan, profiles):
        yield f"does not hold: {violation}"
    price = {entry.gpu: Fraction(f"{entry.price_per_hour:.12g}") for entry in problem.fleet}
    cost = sum(price[gpu.gpu] for gpu in plan.gpus)
    if loose is None or cost < loose * (1 - ROUNDING):
        yield f"a plan of {float(cost)}, and none is below {loose and float(loose)}"
    if plan.status is Status.OPTIMAL and strict is not None and cost > strict * (1 + ROUNDING):
        yield f"{float(cost)} is optimal, and {float(strict)} would do"


def _planners(problem, profiles, time_limit_s):
    for name in api.planners_for(problem):
        plan = api.solve(problem, name, profiles=profiles, time_limit_s=time_limit_s)
        yield name, str(plan.status), list(wrong_plan(problem, profiles, plan))


def _headroom(problem, profiles, time_limit_s):
    found = api.headroom(problem, profiles=profiles, time_limit_s=time_limit_s)
    fits, limit = found.report.factor, found.report.factor_limit
    wrong = []
    if fits and least_cost(at_rates(problem, fits), profiles, LOOSE) is None:
        wrong.append(f"{fits} times does not fit")
    if limit and limit < 1e9 and least_cost(at_rates(problem, limit * (1 + 1e-9)), profiles) is not None:
        wrong.append(f"{limit} times is too much, and it fits")
    if fits and limit and fits > limit:
        wrong.append(f"{fits} times fits, and {limit} is too much")
    if found.plan is not None:
        wrong += wrong_plan(found.problem, profiles, found.plan)
    yield "headroom", "close" if fits and limit and limit <= fits * (1 + 1e-4) else "open", wrong


def _shed(problem, profiles, time_limit_s):
    found = api.shed(problem, profiles=profiles, time_limit_s=time_limit_s)
    lost, least = found.report.value_lost, found.report.least_value_lost
    strict, loose = (_least_lost(problem, profiles, missing) for missing in (0.0, LOOSE))
    wrong = []
    if lost < loose - 1e-9:
        wrong.append(f"loses {lost}, and nothing below {loose} will do")
    if least > strict + 1e-9:
        wrong.append(f"nothing below {least} will do, and {strict} does")
    if found.plan is not None:
        wrong += wrong_plan(found.problem, profiles, found.plan)
    yield "shed", "least" if lost <= least + 1e-9 else "open", wrong


def _least_lost(problem, profiles, missing):
    """Returns the least value of services without which the others fit, by trying all sets of them."""
    worth = [one.worth for one in problem.workloads]
    best = sum(worth)
    for kept in itertools.product((True, False), repeat=len(worth)):
        lost = sum(value for value, stays in zip(worth, kept, strict=True) if not stays)
        rest = tuple(one for one, stays in zip(problem.workloads, kept, strict=True) if stays)
        if lost >= best or not rest:
            continue
        if least_cost(problem.model_copy(update={"workloads": rest}), profiles, missing) is not None:
            best = lost
    return best


def _replan(problem, profiles, time_limit_s):
    """Moves from the plan of lower rates; where every service may move, the cost is the least again."""
    running = api.solve(at_rates(problem, 0.7), profiles=profiles, time_limit_s=time_limit_s)
    if not running.gpus:
        return
    for most in (None, 0):
        try:
            plan, report = api.replan(problem, running, most_moves=most, profiles=profiles, time_limit_s=time_limit_s)
        except NoPlanError:
            can = least_cost(problem, profiles) is not None
            wrong = ["no plan, and there is one"] if can and most is None else []
            yield "replan", f"no plan, moves {most}", wrong
            continue
        wrong = [] if most is None or len(report.moved) <= most else [f"{len(report.moved)} moves of at most {most}"]
        if (
            most is not None and plan.gpus
        ):  # its bound is that of plans with few moves, which the enumeration does not know
            plan = plan.model_copy(update={"status": Status.FEASIBLE, "bound": plan.bound.model_copy(update=UNKNOWN)})
        yield "replan", f"{plan.status}, moves {most}", [*wrong, *wrong_plan(problem, profiles, plan)]


UNKNOWN = {"cost_per_hour": None}


def main():
    """Prints what was false, and how often each answer came."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=100, help="how many")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--time-limit", type=float, default=3.0, help="seconds for a search")
    asked = parser.parse_args()
    ends = Counter()
    for seed in range(asked.first, asked.first + asked.problems):
        try:
            verdict = judged(seed, asked.time_limit)
        except (TooManyError, RecursionError):
            ends["problems that are too large to enumerate"] += 1
            continue
        ends["problems judged"] += 1
        ends["false claims and tracebacks"] += len(verdict.false)
        ends.update(verdict.answers)
        for who, what in verdict.false:
            print(f"{seed} {who}: {what.strip()}", flush=True)
    for what, times in sorted(ends.items()):
        print(f"{times:6} {what}")


if __name__ == "__main__":
    main()
