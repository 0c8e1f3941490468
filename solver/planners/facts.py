"""What is said of a planner without running it."""

from dataclasses import dataclass

from ..model.problem import ObjectiveName, Problem, Sharing


@dataclass(frozen=True)
class PlannerFacts:
    """A planner's name and where it comes from, as plain data that a process without the solvers can show."""

    name: str
    source: str
    """Paper and section, or what it stands for."""
    sharing: tuple[Sharing, ...]
    """Kinds of sharing that it plans."""
    own_model: bool
    """Whether it judges latencies by a model of its own, so that its plan may miss SLOs by the full one."""
    keeps_spares: bool
    """Whether it knows partitions that are kept free."""
    takes_turns: bool
    """Whether it lets services take turns, and plans no problem that forbids it."""
    objectives: tuple[ObjectiveName, ...] = ("cost", "capacity")
    """Of which problems it plans."""
    searches_on: bool = False
    """Whether its search has no end of its own, so that it takes all the time that it is given."""

    def plans(self, problem: Problem) -> bool:
        """Tells whether it plans what a problem asks for: kinds of sharing, free partitions, turns or none."""
        allowed = {sharing for entry in problem.fleet for sharing in entry.sharing}
        if self.takes_turns and problem.settings.turns == "none":
            return False
        if problem.settings.objective not in self.objectives or ("cores" in allowed and "cores" not in self.sharing):
            return False
        return bool(allowed.intersection(self.sharing)) and (self.keeps_spares or not problem.settings.keeps_spares)
