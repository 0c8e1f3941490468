"""
A family of sets of rates: every planner's answer to each, then whether the rest can be served at all.

What a plan shows to be possible is not asked again. Under the rules of gpu-lets' scheduler more follows: rates that are
nowhere above possible ones are possible, and rates that are nowhere below impossible ones are impossible
(solver/exact/turns/schedulable.py). Under a problem's rules less may be harder, as where a batch takes longer to fill.
"""

import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping

from ...model.digest import reference
from ...model.scenario_report import Optimum, PlannerAnswer, Scenario, ScenarioReport
from ...runtime.interruption import interruption
from ...workers.executors import Workers
from ...workers.gathering import Submission, gathered
from ..points import said
from .asking import Asked, answered, decided
from .facts import Facts

AT_ONCE = 4
"""Sets of rates for each worker that are decided before what follows from them is looked at."""


def answers(
    asked: Asked, workers: Workers, known: Collection[int] = (), *, stop: threading.Event | None = None
) -> Iterator[Scenario]:
    """Yields the sets of rates with the planners' answers as they come, but for those that are known already."""
    stop = interruption() if stop is None else stop
    data = asked.packed()

    def call(index: int) -> Submission:
        return answered, data, index

    wanted = [index for index in range(len(asked.sets)) if index not in known]
    for index, answer, _ in gathered(wanted, call, workers, stop=stop):
        if isinstance(answer, BaseException):
            failed = [PlannerAnswer(planner=one, outcome="failed", reason=said(answer)) for one in asked.planners]
            yield Scenario(index=index, rates_rps=asked.sets[index], answers=tuple(failed))
        else:
            yield answer


def optima(
    asked: Asked, workers: Workers, known: Mapping[int, Scenario], *, stop: threading.Event | None = None
) -> Iterator[Scenario]:
    """Yields the sets of rates of which nothing is said yet, with what is possible, as it is found."""
    stop = interruption() if stop is None else stop
    data, facts = asked.packed(), Facts(known.values())
    undecided = deque(
        sorted((one for one in known.values() if one.optimum is None), key=lambda one: sum(one.rates_rps))
    )

    def call(index: int) -> Submission:
        return decided, data, index

    while undecided and not (stop is not None and stop.is_set()):
        few: list[int] = []
        while undecided and len(few) < AT_ONCE * workers.number:
            one = undecided.popleft()
            follows = facts.of(one.rates_rps) if asked.rules == "gpulets" else None
            if follows is None:
                few.append(one.index)
            else:
                yield one.model_copy(update={"optimum": follows})
        for index, answer, _ in gathered(few, call, workers, stop=stop):
            optimum = Optimum(what="open", by=said(answer)) if isinstance(answer, BaseException) else answer
            facts.add(known[index].rates_rps, optimum)
            yield known[index].model_copy(update={"optimum": optimum})


def scenario_report(asked: Asked, scenarios: Collection[Scenario]) -> ScenarioReport:
    """Returns what is there as one record, in the order of the indices."""
    return ScenarioReport(
        version=1,
        problem=reference(asked.problem),
        family=asked.family,
        rules=asked.rules,
        gpus=asked.gpus,
        services=tuple(one.name for one in asked.problem.workloads),
        planners=asked.planners,
        scenarios=tuple(sorted(scenarios, key=lambda one: one.index)),
        missing=len(asked.sets) - len(scenarios),
    )
