"""
Judges what planners say of random MPS problems (mps_draws.py) by an oracle of its own (mps_oracle.py).

    PYTHONPATH=tests .venv/bin/python -m oracles.mps_adversary --problems 2000 [--first 0] [--time-limit 2] [--planner
    exact] [--least-sms 5]

Prints every false claim and every traceback with the seed that gives it, and at the end how many there were.
"""

import argparse
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field

from problems.mps_draws import FAMILIES, drawn, small_gpus

from oracles.mps_oracle import LOOSE, STRICT, Oracle, TooLargeError, carries_recipes, too_small, wrong
from sliceplan.solver.api import planners_for, solve
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status

TRIED = ("small", "absurd")
"""Families that are small enough to try everything."""

OWN_RULES = ("gslice", "gpulets-igniter")
"""Planners that choose batch sizes by rules of their own, also where iGniter's are asked for."""

HOLDS = (Status.OPTIMAL, Status.FEASIBLE)


@dataclass
class Verdict:
    """What was wrong with the answers to one problem."""

    seed: int
    false: list = field(default_factory=list)
    """False claims and tracebacks: (planner, what)."""
    notes: list = field(default_factory=list)
    """What is weaker than it could be, and no mistake."""
    answers: list = field(default_factory=list)


def judged(seed, family="small", planners=None, time_limit_s=2.0):
    """Returns the verdict on all planners' answers to one draw."""
    problem, profiles = drawn(seed, family)
    verdict = Verdict(seed)
    plans = {}
    for name in planners or planners_for(problem):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                plans[name] = solve(problem, name, profiles=profiles, time_limit_s=time_limit_s)
        except InputError as error:
            verdict.notes.append((name, f"refused: {error}"[:300]))
            return verdict
        except Exception:
            verdict.false.append((name, traceback.format_exc()))
    for name, plan in plans.items():
        verdict.answers.append((name, str(plan.status), plan.cost_per_hour))
        verdict.false += [(name, what) for what in too_small(problem, profiles, plan)]
        if plan.status in HOLDS:
            verdict.false += [(name, f"the plan does not hold: {what}") for what in wrong(problem, profiles, plan)]
    _judge_costs(problem, profiles, plans, verdict, tries=family in TRIED)
    return verdict


def _judge_costs(problem, profiles, plans, verdict, tries):
    holding = {name: plan for name, plan in plans.items() if plan.status in HOLDS}
    if problem.settings.mps_rules == "igniter":
        for name in [name for name in holding if name in OWN_RULES]:
            del holding[name]
        for name in [name for name, plan in holding.items() if not carries_recipes(problem, profiles, plan)]:
            verdict.notes.append((name, f"no plan of iGniter's rules: {holding.pop(name).cost_per_hour:.2f}"))
    costs = [plan.cost_per_hour for plan in holding.values()]
    bounds = [(name, plan.bound.cost_per_hour) for name, plan in plans.items() if plan.bound.cost_per_hour is not None]
    known = min(costs, default=None)
    for name, bound in bounds:
        if known is not None and bound > known * (1 + 1e-6):
            verdict.false.append((name, f"bound {bound} above a plan of {known}"))
    said = [name for name, plan in plans.items() if plan.status is Status.INFEASIBLE]
    if said and known is not None:
        verdict.false += [(name, f"infeasible, and there is a plan of {known}") for name in said]
    exact = plans.get("exact")
    if not tries or exact is None or (known is None and not said and not bounds):
        return
    try:
        certain = _cheapest(problem, profiles, STRICT, exact.cost_per_hour)
        if certain is not None:
            if exact.status is Status.FEASIBLE:
                verdict.notes.append(("exact", f"missed: {exact.cost_per_hour}; there is a plan of {certain}"))
            if exact.cost_per_hour is None:
                verdict.notes.append(("exact", f"{exact.status} without a plan; there is one of {certain}"))
            verdict.false += [(name, f"infeasible, and there is a plan of {certain}") for name in said]
            if exact.status is Status.OPTIMAL:
                verdict.false.append(("exact", f"optimal at {exact.cost_per_hour}; there is a plan of {certain}"))
            for name, bound in bounds:
                if bound > certain * (1 + 1e-6):
                    verdict.false.append((name, f"bound {bound} above a plan of {certain}"))
        elif exact.status is Status.FEASIBLE:
            verdict.notes.append(
                ("exact", f"optimal but unproven: {exact.cost_per_hour}, bound {exact.bound.cost_per_hour}")
            )
        if known is not None and _cheapest(problem, profiles, LOOSE, known * (1 + 1e-6)) is None:
            verdict.false.append(("oracle", f"finds no plan as cheap as {known}"))
        verdict.answers.append(("oracle", "judged", certain))
    except TooLargeError:
        verdict.notes.append(("oracle", "too large"))


def _cheapest(problem, profiles, over, below):
    """Returns the least cost below a limit that the oracle finds; only for what it knows: MPS and whole GPUs."""
    oracle = Oracle(problem, profiles, over)
    if problem.settings.mps_rules == "igniter":
        if any("exclusive" in entry.sharing for entry in problem.fleet):
            raise TooLargeError
        return oracle.cheapest_by_igniters_rules(1e12 if below is None else below)
    return oracle.cheapest(1e12 if below is None else below)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=100, help="how many")
    parser.add_argument("--family", choices=FAMILIES, default="small", help="kind of problems")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--time-limit", type=float, default=2.0, help="seconds for a solver")
    parser.add_argument("--planner", action="append", help="planner to judge; repeatable; default: all")
    parser.add_argument("--least-sms", type=int, help="SMs that any client of MPS gets on the small GPU types")
    parser.add_argument("--notes", action="store_true", help="also print what is weaker than it could be")
    arguments = parser.parse_args()
    counted = Counter()
    with small_gpus(arguments.least_sms):
        for seed in range(arguments.first, arguments.first + arguments.problems):
            verdict = judged(seed, arguments.family, arguments.planner, arguments.time_limit)
            counted["problems"] += 1
            counted["answers"] += sum(name != "oracle" for name, _, _ in verdict.answers)
            counted["judged by trying everything"] += any(name == "oracle" for name, _, _ in verdict.answers)
            for name, what in verdict.false:
                kind = "traceback" if "Traceback" in what else "false claim"
                counted[kind] += 1
                print(f"{seed} {name}: {what.strip()}", flush=True)
            for name, status, _ in verdict.answers:
                counted[f"{name} {status}"] += 1
            for name, what in verdict.notes:
                counted[f"note: {what.split(':')[0].split(';')[0]}"] += 1
                if arguments.notes:
                    print(f"{seed} note {name}: {what}", flush=True)
    for what, times in sorted(counted.items()):
        print(f"{times:6} {what}")


if __name__ == "__main__":
    main()
