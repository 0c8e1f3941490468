"""What is asked of a family: planners by name, and whether the problem is of the rules' kind."""

from collections.abc import Sequence

from ... import api
from ...analysis.own_rules import planners_of_turns
from ...model.errors import Finding, InputError
from ...model.parsing import closest
from ...model.problem import Problem
from ...model.scenario_report import Rules
from ...performance.resolve import resolve
from .asking import Asked, own_rules_of


def chosen_planners(problem: Problem, names: Sequence[str] | None, rules: Rules) -> tuple[str, ...]:
    """
    Returns the planners to ask, each once; without names all that plan such problems, the exact ones left out.

    Raises
    ------
    InputError
        If a name is none.
    """
    known = planners_of_turns() if rules == "gpulets" else api.planner_names()
    if names:
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InputError([Finding("--planner", "", f"is {one!r}. {closest(one, known)}") for one in unknown])
        return tuple(dict.fromkeys(names))
    if rules == "gpulets":
        return known
    turns = problem.settings.turns != "none"
    taking = {facts.name for facts in api.planner_facts() if facts.takes_turns}
    plan = [name for name in api.planners_for(problem) if not name.startswith("exact")]
    return tuple(name for name in plan if not turns or name in taking)


def checked(asked: Asked) -> Asked:
    """
    Returns what is asked.

    Raises
    ------
    InputError
        If the fleet has as many GPUs as wanted, so that all can be scheduled, or is not of the rules' kind, or if a GPU
        type or a model is not known.
    """
    findings = [
        Finding(asked.problem.name, f"fleet[{i}].count", "is missing; whether rates can be scheduled needs a number")
        for i, entry in enumerate(asked.problem.fleet)
        if entry.available is None
    ]
    if findings:
        raise InputError(findings)
    resolve(asked.problem, asked.profiles)
    if asked.rules == "gpulets":
        own_rules_of(asked)
    return asked
