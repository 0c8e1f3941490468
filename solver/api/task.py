"""A problem with all that a planner is given: profiles, a time limit and the moment at which it ends."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from ..formats.profile_files import shipped_profiles
from ..model.plan import Start
from ..model.problem import Problem
from ..model.profile import Profile
from ..performance.resolve import ResolvedProblem, resolve
from ..runtime.freed_memory import keep_freed_memory


@dataclass(frozen=True)
class Task:
    """A problem with all that a planner is given."""

    resolved: ResolvedProblem
    profiles: Sequence[Profile]
    time_limit_s: float
    """As stated."""
    deadline: float
    """As time.monotonic() has it."""
    start: Start = None
    """Where the search begins."""
    cost_without: Mapping[str, float | None] = field(default_factory=dict)
    """What the planner's plan costs without standby processes (`shadow`), without free partitions (`insurance`)."""

    @property
    def left_s(self) -> float:
        """Seconds that are left."""
        return max(self.deadline - time.monotonic(), 0.0)

    def part(self, of_time: float) -> float:
        """Returns the moment at which a part of what is left is over."""
        return time.monotonic() + of_time * self.left_s

    def anew(self, most_s: float = inf) -> "Task":
        """Returns the task with all of its time, or as much of it as is given at most."""
        limit_s = min(self.time_limit_s, most_s)
        return replace(self, time_limit_s=limit_s, deadline=time.monotonic() + limit_s)


def task_of(
    problem: Problem,
    profiles: Sequence[Profile] | None,
    time_limit_s: float | None,
    source: str | None = None,
    gap: float | None = None,
) -> Task:
    """Fills in what the caller left out: the shipped profiles, the problem's own time limit and gap."""
    started = time.monotonic()
    keep_freed_memory()
    known = shipped_profiles() if profiles is None else profiles
    limit_s = problem.settings.time_limit_s if time_limit_s is None else time_limit_s
    resolved = resolve(problem, known, source)
    return Task(resolved if gap is None else replace(resolved, gap=gap), known, limit_s, started + limit_s)
