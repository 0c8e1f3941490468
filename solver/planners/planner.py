"""What a planner is."""

from typing import Protocol

from ..model.plan import Plan
from ..model.problem import Sharing
from ..performance.resolve import ResolvedProblem


class Planner(Protocol):
    """An algorithm that turns a problem into a plan."""

    name: str
    """As on the command line."""
    source: str
    """Paper and section, or what it stands for."""
    sharing: tuple[Sharing, ...]
    """Kinds of sharing that it plans; it has nothing to say of a fleet that allows none of them."""

    own_model: bool
    """Whether it judges latencies by a model of its own, so that its plan may break SLOs by the full one."""

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        """
        Returns a plan, or the reasons why there is none in `Plan.unserved`.

        It may rely on every workload being served by some partition (`performance.unservable` ran
        before). `runtime_s` and `metrics` are filled in by the caller.
        """
        ...
