"""Scenarios: sets of rates of the same services, what each planner makes of each, and what is possible at all."""

from typing import Literal

from pydantic import Field

from .base import Record, ServiceName, ServiceText
from .plan import ProblemReference

FamilyKind = Literal["grid", "scale", "random"]

Rules = Literal["problem", "gpulets"]

Outcome = Literal["holds", "breaks", "none", "refused", "failed"]


class Family(Record):
    """Which rates the services of a problem have, one set after the other."""

    kind: FamilyKind = Field(
        description="grid: every service has each of the rates; scale: all rates times each factor; random: each rate "
        "times a factor of its own between 0 and 2"
    )
    values: tuple[float, ...] = Field(default=(), description="requests/s, or factors; ascending")
    count: int = Field(default=0, ge=0, description="how many random sets")
    seed: int = Field(default=0, ge=0, description="of the random sets")


class PlannerAnswer(Record):
    """What a planner makes of a set of rates."""

    planner: str
    outcome: Outcome = Field(
        description="holds: it has a plan, and the rule holds; breaks: it has a plan that breaks the rule; none: it "
        "finds none; refused: it does not plan this; failed: it ended in an error"
    )
    late: tuple[ServiceName, ...] = Field(default=(), description="services that may miss their SLO in its plan")
    short: tuple[ServiceName, ...] = Field(default=(), description="services that get less than their rate in its plan")
    reason: ServiceText | None = Field(
        default=None, description="why there is no plan; null: there is one, or no more is said"
    )

    @property
    def schedules(self) -> bool:
        """Whether it says that the rates can be served."""
        return self.outcome in ("holds", "breaks")


class Optimum(Record):
    """Whether a set of rates can be served at all."""

    what: Literal["possible", "impossible", "open"] = Field(description="open: not decided in the time")
    by: str = Field(
        description="the planner whose plan holds; `bound` or `program` of the exact planner; `other rates`: it "
        "follows from a set that is decided"
    )


class Scenario(Record):
    """A set of rates."""

    index: int = Field(ge=0, description="its number in the family")
    rates_rps: tuple[float, ...] = Field(description="of each service of the problem; 0: it is left out")
    answers: tuple[PlannerAnswer, ...]
    optimum: Optimum | None = Field(default=None, description="null: not asked yet")


class ScenarioReport(Record):
    """A family of sets of rates on fixed GPUs, in the order of their indices."""

    version: Literal[1]
    problem: ProblemReference
    family: Family
    rules: Rules = Field(
        description="problem: plans are held to all rules of the problem; gpulets: to those of gpu-lets' own scheduler"
    )
    gpus: int = Field(ge=1, description="how many there are")
    services: tuple[ServiceName, ...]
    planners: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    missing: int = Field(ge=0, description="sets that have no answers because the run was ended")
