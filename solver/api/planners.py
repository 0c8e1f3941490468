"""What is said of the planners without running one."""

from ..model.problem import Problem
from ..planners import registry
from ..planners.facts import PlannerFacts


def planner_names() -> tuple[str, ...]:
    """Returns the names of all planners, the exact ones first."""
    return tuple(registry.planners())


def planners_for(problem: Problem) -> tuple[str, ...]:
    """Returns the names of the planners that plan what a problem asks for: kinds of sharing, free partitions."""
    return tuple(facts.name for facts in planner_facts() if facts.plans(problem))


def planner_facts() -> tuple[PlannerFacts, ...]:
    """Returns what is said of every planner, the exact ones first."""
    return tuple(
        PlannerFacts(
            name,
            one.source,
            one.sharing,
            one.own_model,
            one.keeps_spares,
            one.takes_turns,
            one.objectives,
            one.searches_on,
        )
        for name, one in registry.planners().items()
    )


def planner_sources() -> dict[str, str]:
    """Returns where each planner comes from: paper and section."""
    return {name: planner.source for name, planner in registry.planners().items()}
