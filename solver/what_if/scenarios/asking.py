"""One set of rates, as a worker process asks the planners about it: small in, small out."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from ...model.plan import Plan, Status
from ...model.problem import Problem
from ...model.profile import Profile
from ...model.proving import proving_planner
from ...model.scenario_report import Family, Optimum, Outcome, PlannerAnswer, Rules, Scenario
from ..points import said, used_profiles, why_no_plan
from .family import sets_of_rates, with_rates

if TYPE_CHECKING:
    from ...analysis.own_rules import OwnRules

OUTCOMES: dict[Status, Outcome] = {
    Status.OPTIMAL: "holds",
    Status.FEASIBLE: "holds",
    Status.VIOLATING: "breaks",
    Status.REFUSED: "refused",
}


@dataclass(frozen=True, eq=False)
class Asked:
    """A family of sets of rates, the planners, and the rules that they are held to."""

    problem: Problem
    profiles: Sequence[Profile]
    family: Family
    planners: tuple[str, ...]
    rules: Rules
    factor: float
    """Of the rules of gpu-lets' scheduler: on every latency."""
    time_limit_s: float | None = None
    """Of each search; None: the problem's."""
    gap: float | None = None

    @cached_property
    def sets(self) -> list[tuple[float, ...]]:
        """The sets of rates."""
        return sets_of_rates(self.family, self.problem)

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""
        return sum(entry.available or 0 for entry in self.problem.fleet)

    def named(self) -> dict[str, object]:
        """Returns what the answers depend on, to tell whether kept answers are to this."""
        profiles = [one.model_dump(mode="json") for one in used_profiles(self.problem, self.profiles)]
        return {
            "problem": self.problem.model_dump(mode="json"),
            "profiles": profiles,
            "family": self.family.model_dump(mode="json"),
            "planners": list(self.planners),
            "rules": [self.rules, self.factor],
            "limits": [self.time_limit_s, self.gap],
        }

    def packed(self) -> bytes:
        """Returns it as it travels to workers, with those of its profiles that can matter."""
        return pickle.dumps(replace(self, profiles=used_profiles(self.problem, self.profiles)))


def answered(data: bytes, index: int) -> Scenario:
    """Returns what the planners make of a set of rates; whatever goes wrong is an answer's reason."""
    asked = unpacked(data)
    rates = asked.sets[index]
    by_rules = _by_own_rules if asked.rules == "gpulets" else _by_the_problem
    answers, shown = [], None
    for planner in asked.planners:
        try:
            answer, is_shown = by_rules(asked, planner, rates)
        except Exception as error:
            answer, is_shown = PlannerAnswer(planner=planner, outcome="failed", reason=said(error)), False
        answers.append(answer)
        shown = shown or (planner if is_shown else None)
    optimum = None if shown is None else Optimum(what="possible", by=shown)
    return Scenario(index=index, rates_rps=rates, answers=tuple(answers), optimum=optimum)


def decided(data: bytes, index: int) -> Optimum:
    """Returns whether a set of rates can be served at all."""
    asked = unpacked(data)
    rates = asked.sets[index]
    if asked.rules == "gpulets":
        own = own_rules_of(asked).limited.decided(
            rates, asked.gpus, asked.time_limit_s or asked.problem.settings.time_limit_s
        )
        return Optimum(what=own.what, by=own.by)
    proving = proving_planner(asked.problem)
    plan = _planned(asked, proving, rates)
    if plan.status in (Status.OPTIMAL, Status.FEASIBLE):
        return Optimum(what="possible", by=proving)
    return Optimum(what="impossible" if plan.status is Status.INFEASIBLE else "open", by=proving)


@lru_cache(maxsize=8)
def unpacked(data: bytes) -> Asked:
    """Returns what was packed; workers keep the last few."""
    asked: Asked = pickle.loads(data)
    return asked


def _by_the_problem(asked: Asked, planner: str, rates: tuple[float, ...]) -> tuple[PlannerAnswer, bool]:
    """Returns a planner's answer, and whether it shows that the rates are possible."""
    plan = _planned(asked, planner, rates)
    outcome = OUTCOMES.get(plan.status, "none")
    late = dict.fromkeys(one.workload for one in plan.violations if one.workload is not None)
    answer = PlannerAnswer(planner=planner, outcome=outcome, late=tuple(late), reason=why_no_plan(plan))
    return answer, outcome == "holds"


def _planned(asked: Asked, planner: str, rates: tuple[float, ...]) -> Plan:
    from ... import api  # here, so that only workers load the solvers

    problem = with_rates(asked.problem, rates)
    return api.solve(
        problem, planner, profiles=asked.profiles, time_limit_s=asked.time_limit_s, gap=asked.gap, source=problem.name
    )


def _by_own_rules(asked: Asked, planner: str, rates: tuple[float, ...]) -> tuple[PlannerAnswer, bool]:
    """As `_by_the_problem`, by the rules of gpu-lets' scheduler."""
    rules = own_rules_of(asked)
    claim = rules.claim(planner, rates)
    if claim is None:
        return PlannerAnswer(planner=planner, outcome="none"), False
    names = [one.name for one in asked.problem.workloads]
    answer = PlannerAnswer(
        planner=planner,
        outcome="holds" if claim.holds else "breaks",
        late=tuple(names[i] for i in claim.late),
        short=tuple(names[i] for i in claim.short),
    )
    return answer, rules.is_within_limits(claim, rates)


@lru_cache(maxsize=8)
def own_rules_of(asked: Asked) -> "OwnRules":
    """Returns the planners by the rules of gpu-lets' scheduler; InputError if the problem is not of their kind."""
    from ...analysis.own_rules import own_rules  # as above
    from ...performance.resolve import resolve

    return own_rules(resolve(asked.problem, asked.profiles), asked.planners, factor=asked.factor)
