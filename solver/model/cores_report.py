"""What schedulers carry on the cores of one CPU; how the figures are found is in solver/cores."""

from pydantic import Field

from .base import Name, Record


class AtLevel(Record):
    """A model where all of its layers meet one level of interference, each in its fastest version."""

    level: float = Field(ge=1, description="mean slowdown of what runs on the CPU; 1: nothing else does")
    least_core_ms: float | None = Field(
        ge=0, description="proven: the least core-time within the limit; null: none is in time, or too many states"
    )


class ModelOnCores(Record):
    """One model within its limit, alone on the CPU."""

    model: Name
    slo_ms: float = Field(gt=0)
    average_cores: int = Field(ge=1, description="least count of cores on which it is in time as a whole")
    average_core_ms: float = Field(gt=0, description="core-time of a query on them")
    least_core_ms: float | None = Field(
        ge=0, description="proven: the least core-time with one count of cores a layer; null: too many states"
    )
    at_levels: tuple[AtLevel, ...] = Field(default=(), description="empty: measured without interference only")
    sure_core_ms: float | None = Field(
        default=None,
        description="proven: the least core-time in time though each layer meets its slowest level",
    )
    expected_core_ms: float | None = Field(
        default=None,
        description="proven: the least core-time to be expected of a query that is sure to be in time, where each "
        "layer meets one of the levels with equal chances and learns it as it begins; null: none, or too many steps",
    )
    rises: int = Field(ge=0, description="steps to more cores that were measured to be slower")
    steps: int = Field(ge=0, description="steps to more cores that were measured")


class CoresSpent(Record):
    """
    What the cores did at the rate that a scheduler carries, in queries/s: core-time over what a query needs at least.

    The five add up to what the cores would carry if none of their time were idle or wasted.
    """

    needed: float = Field(ge=0, description="what queries in time need at least")
    inefficient: float = Field(description="what queries in time ran beyond that, on more cores at once")
    standing: float = Field(ge=0, description="cores of queries that stood still after they were given more")
    lost: float = Field(ge=0, description="work on queries that were late, or let go")
    idle: float = Field(description="cores that nobody had")


class Carried(Record):
    """What one scheduler carries."""

    scheduler: str
    rps: float = Field(ge=0, description="queries/s, mean over the seeds")
    rps_by_seed: tuple[float, ...]
    of_bound: float | None = Field(ge=0, description="part of the bound; null: the bound is 0")
    spent: CoresSpent | None = Field(default=None, description="mean over the seeds; null: it carries nothing")


class CoresReport(Record):
    """Schedulers side by side on the same arrivals."""

    cores: int = Field(ge=1)
    grow_ms: float = Field(ge=0, description="standstill of a query that is given more cores")
    full_level: float = Field(
        default=1,
        ge=1,
        description="level of interference that a query meets while others hold all cores; 1: there is none",
    )
    quantile: float = Field(gt=0, lt=1, description="share of the queries that must be in time")
    queries: int = Field(ge=1, description="of each seed")
    models: tuple[ModelOnCores, ...]
    schedulers: tuple[Carried, ...]
    bound_rps: float = Field(
        ge=0, description="no runtime carries it on these arrivals, nor, which is assumed, more; mean over the seeds"
    )
    bound_rps_by_seed: tuple[float, ...]
