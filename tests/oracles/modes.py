"""
What can be asked of a drawn problem, and what is wrong with the answers: each mode yields who, how it ended, and that.

What is too large to try everything is held against the other answers: no plan that holds is better than a bound, or
of a problem that is said to have none.
"""

import itertools
import random
from dataclasses import dataclass, field
from fractions import Fraction

from oracles.kinds import Kind
from oracles.mig_oracle import LOOSE, TooManyError
from oracles.spare_oracle import fits
from sliceplan.solver import api
from sliceplan.solver.model.errors import NoPlanError
from sliceplan.solver.model.judged import carried_rps
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.rule_parts import carries_the_parts
from sliceplan.solver.planners.registry import planners

HOLDS = (Status.OPTIMAL, Status.FEASIBLE)

ROUNDING = Fraction(1, 10**9)
"""Part of a cost by which sums of prices may differ."""

SAME = 1e-6
"""Part of a rate by which limits of growth and of capacity may differ from what is tried."""

SOME_COUNT = 3
"""Of types whose entry states none, where a mode takes counts."""

SEARCH_S = 0.2
"""For a planner whose search has no end of its own."""


@dataclass(frozen=True)
class Asked:
    """A draw, and how its answers are asked for and judged."""

    kind: Kind
    seed: int
    problem: object
    profiles: list
    time_limit_s: float
    known: dict = field(default_factory=dict)
    """What trying everything found: (problem, missing part of the rates) -> cost, or None."""

    @property
    def given(self):
        """Arguments of the library."""
        return {"profiles": self.profiles, "time_limit_s": self.time_limit_s}

    @property
    def counted(self):
        """The problem with a count for every type."""
        fleet = tuple(
            one if one.available is not None else one.model_copy(update={"count": SOME_COUNT})
            for one in self.problem.fleet
        )
        return self.problem.model_copy(update={"fleet": fleet})

    def least(self, problem, missing=0.0):
        """Returns the least cost, with a part of the rates missing; None: there is no plan."""
        if (problem, missing) not in self.known:
            try:
                self.known[problem, missing] = self.kind.least(problem, self.profiles, missing)
            except TooManyError as error:
                self.known[problem, missing] = error
        if isinstance(found := self.known[problem, missing], TooManyError):
            raise found
        return found

    def has_plan(self, problem, missing=0.0):
        """Tells whether there is a plan, with a part of the rates missing; None: that is not known."""
        try:
            return self.least(problem, missing) is not None
        except TooManyError:
            return None

    def solved(self, problem, **more):
        return api.solve(problem, **self.given, **more)


def at_rates(problem, factor):
    """Returns the problem with all rates multiplied."""
    workloads = tuple(one.model_copy(update={"rate_rps": one.rate_rps * factor}) for one in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})


def with_settings(problem, **update):
    """Returns the problem with other settings."""
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=update)})


def wrong_plan(asked, problem, plan):
    """Yields what is wrong with a plan and its claims of cost."""
    if plan.status in HOLDS:
        yield from (f"does not hold: {violation}" for violation in asked.kind.wrong(problem, asked.profiles, plan))
    if problem.settings.mps_rules != "free" and (
        planners()[plan.planner].own_batches or not carries_the_parts(resolve(problem, asked.profiles), plan)
    ):
        return  # it is no plan of those rules, whose plans are tried
    try:
        strict, loose = (asked.least(problem, missing) for missing in (0.0, LOOSE))
    except TooManyError:
        return
    bound = plan.bound.cost_per_hour
    if plan.status is Status.INFEASIBLE and strict is not None:
        yield f"infeasible, and {float(strict)} would do"
    if bound is not None and strict is not None and bound > float(strict) * (1 + 1e-9):
        yield f"the bound is {bound}, and {float(strict)} would do"
    if plan.status not in HOLDS:
        return
    price = {entry.gpu: Fraction(f"{entry.price_per_hour:.12g}") for entry in problem.fleet}
    cost = sum(price[gpu.gpu] for gpu in plan.gpus)
    if loose is None or cost < loose * (1 - ROUNDING):
        yield f"a plan of {float(cost)}, and none is below {loose and float(loose)}"
    if plan.status is Status.OPTIMAL and strict is not None and cost > strict * (1 + ROUNDING):
        yield f"{float(cost)} is optimal, and {float(strict)} would do"


def _planners(asked):
    found = api.compare(asked.problem, search_s=SEARCH_S, **asked.given)
    for row in found.rows:
        if isinstance(row, Plan):
            yield row.planner, str(row.status), list(wrong_plan(asked, asked.problem, row))
        else:
            yield row.planner, "failed", [row.message]
    yield "compare", "ended", [one.message for one in found.disputes.values()]
    yield "services", "ended", [] if found.services_error is None else [found.services_error]


def _headroom(asked):
    counted = asked.counted
    found = api.headroom(counted, **asked.given)
    fits_at, limit = found.report.factor, found.report.factor_limit
    wrong = []
    if fits_at and asked.has_plan(at_rates(counted, fits_at), LOOSE) is False:
        wrong.append(f"{fits_at} times does not fit")
    if limit and limit < 1e9:
        beyond = at_rates(counted, limit * (1 + SAME))
        known = asked.has_plan(beyond)
        if known or (known is None and _some_plan(asked, beyond)):
            wrong.append(f"{limit} times is too much, and it fits")
    if fits_at and limit and fits_at > limit:
        wrong.append(f"{fits_at} times fits, and {limit} is too much")
    if found.plan is not None:
        wrong += wrong_plan(asked, found.problem, found.plan)
    yield "headroom", "close" if fits_at and limit and limit <= fits_at * (1 + 1e-4) else "open", wrong


def _some_plan(asked, problem):
    """Tells whether the exact planner finds a plan that holds."""
    return asked.solved(problem).status in HOLDS


def _shed(asked):
    counted = asked.counted
    found = api.shed(counted, **asked.given)
    lost, least = found.report.value_lost, found.report.least_value_lost
    wrong = [] if found.plan is None else list(wrong_plan(asked, found.problem, found.plan))
    if least > lost + 1e-9 * max(1.0, lost):
        wrong.append(f"loses {lost}, and nothing below {least} will do")
    strict, loose = (_least_lost(asked, counted, missing) for missing in (0.0, LOOSE))
    if loose is not None and lost < loose * (1 - 1e-9) - 1e-9:
        wrong.append(f"loses {lost}, and nothing below {loose} will do")
    if strict is not None and least > strict * (1 + 1e-9) + 1e-9:
        wrong.append(f"nothing below {least} will do, and {strict} does")
    yield "shed", "least" if lost <= least * (1 + 1e-9) + 1e-9 else "open", wrong


def _least_lost(asked, problem, missing):
    """Returns the least value of services without which the others fit, by trying all sets; None: that is not known."""
    worth = [one.worth for one in problem.workloads]
    best = sum(worth)
    for kept in itertools.product((True, False), repeat=len(worth)):
        lost = sum(value for value, stays in zip(worth, kept, strict=True) if not stays)
        rest = tuple(one for one, stays in zip(problem.workloads, kept, strict=True) if stays)
        if lost >= best or not rest:
            continue
        has_plan = asked.has_plan(problem.model_copy(update={"workloads": rest}), missing)
        if has_plan is None:
            return None
        if has_plan:
            best = lost
    return best


def _capacity(asked):
    counted = asked.counted
    draw = random.Random(f"weights {asked.seed}")
    found = api.capacity(counted, weights=draw.choice(("equal", "solo")), **asked.given)
    value, limit, solo = found.report.capacity, found.report.limit, found.plan.capacity and found.plan.capacity.solo_rps
    known = found.report.weights == "equal" or solo is not None
    weights = [1.0 if solo is None else 1 / solo[one.name] for one in counted.workloads]
    wrong = []
    if value is not None and limit is not None and value > limit * (1 + SAME):
        wrong.append(f"carries {value}, and none carries more than {limit}")
    cheapest = asked.solved(counted)
    if cheapest.status in HOLDS and found.plan.status is Status.INFEASIBLE:
        wrong.append(f"infeasible, and there is a plan of {cheapest.cost_per_hour}")
    if cheapest.status in HOLDS and limit is not None and known:
        carried = carried_rps(cheapest)
        more = sum(weight * carried[one.name] for weight, one in zip(weights, counted.workloads, strict=True))
        wrong += [f"none carries more than {limit}, and a plan carries {more}"] * (more > limit * (1 + SAME))
    try:
        if known:
            strict, loose = (asked.kind.most(counted, asked.profiles, weights, missing) for missing in (0.0, LOOSE))
            if strict is not None and found.plan.status is Status.INFEASIBLE:
                wrong.append(f"infeasible, and {float(strict)} is carried")
            if strict is not None and limit is not None and limit < strict * (1 - SAME):
                wrong.append(f"none carries more than {limit}, and {float(strict)} is carried")
            if value is not None and (loose is None or value > loose * (1 + SAME)):
                wrong.append(f"carries {value}, and {loose and float(loose)} is the most")
            if found.plan.status is Status.OPTIMAL and strict is not None and value < strict * (1 - SAME):
                wrong.append(f"{value} is the most, and {float(strict)} is carried")
    except TooManyError:
        pass
    yield "capacity", str(found.plan.status), wrong


def _spares(asked):
    """Holds a plan with partitions that are kept free to one without, and to another program where GPUs are few."""
    draw = random.Random(f"spares {asked.seed}")
    services = draw.choice((0, 1, 2))
    rate = draw.choice((0.2, 1.0)) if services else 0.0
    loss = draw.random() < 0.5 or not services
    problem = with_settings(asked.counted, spare_services=services, spare_rate=rate, spare_gpu_loss=loss)
    plan = asked.solved(problem)
    wrong = []
    bound, cost = plan.bound.cost_per_hour, plan.cost_per_hour
    if plan.status in HOLDS and bound is not None and bound > cost * (1 + 1e-9):
        wrong.append(f"the bound is {bound}, and the plan costs {cost}")
    if plan.status in HOLDS and asked.has_plan(asked.counted, LOOSE) is False:
        wrong.append("a plan, and there is none even if nothing is kept free")
    few = sum(entry.available for entry in problem.fleet) <= SOME_COUNT and problem.settings.latency == "execution"
    few &= all(entry.cpu is None for entry in problem.fleet)
    if plan.status is Status.INFEASIBLE and few and fits(at_rates(problem, 1 + SAME), asked.profiles):
        wrong.append("infeasible, and a program of its own finds a plan")
    if plan.status is Status.OPTIMAL and few and len(problem.fleet) == 1:
        (entry,) = problem.fleet
        fewer = problem.model_copy(update={"fleet": (entry.model_copy(update={"count": plan.gpus_used - 1}),)})
        if plan.gpus_used > 1 and fits(at_rates(fewer, 1 + SAME), asked.profiles):
            wrong.append(f"{plan.gpus_used} GPUs are optimal, and fewer will do")
    yield "spares", str(plan.status), wrong


def _price(asked):
    plan, report = api.price(asked.problem, **asked.given)
    wrong = list(wrong_plan(asked, asked.problem, plan))
    if report is not None:
        total = sum(one.usd_per_hour for one in report.services)
        wrong += [f"services cost {total} of {plan.cost_per_hour}"] * (abs(total / plan.cost_per_hour - 1) > SAME)
    yield "price", f"{plan.status}, {'no report' if report is None else 'report'}", wrong


def _replan(asked):
    """Moves from the plan of lower rates; where every service may move, the cost is the least again."""
    running = asked.solved(at_rates(asked.problem, 0.7))
    if running.status not in HOLDS:
        return
    new = asked.solved(asked.problem)
    if new.status in HOLDS:
        api.transition(running, new, time_limit_s=60)
        yield "transition", "replayed", []
    for most in (None, 0):
        try:
            plan, report = api.replan(asked.problem, running, most_moves=most, **asked.given)
        except NoPlanError:
            wrong = most is None and (new.status in HOLDS or asked.has_plan(asked.problem))
            yield "replan", f"no plan, moves {most}", ["no plan, and there is one"] if wrong else []
            continue
        wrong = [] if most is None or len(report.moved) <= most else [f"{len(report.moved)} moves of at most {most}"]
        if most is not None and plan.gpus:
            # Its bound is that of plans with few moves, which the oracles do not know.
            unknown = plan.bound.model_copy(update={"cost_per_hour": None})
            plan = plan.model_copy(update={"status": Status.FEASIBLE, "bound": unknown})
        yield "replan", f"{plan.status}, moves {most}", [*wrong, *wrong_plan(asked, asked.problem, plan)]


MODES = {
    "planners": _planners,
    "headroom": _headroom,
    "shed": _shed,
    "capacity": _capacity,
    "spares": _spares,
    "price": _price,
    "replan": _replan,
}
