"""What the user states: the fleet that may be used, the workloads to serve, the settings."""

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, WrapValidator, model_validator

from .base import Name, Record, ServiceName, in_parts
from .either import cpu_named, either_gpu_or_cpu
from .errors import printable
from .in_columns import ListsInColumns
from .labels import labels_of_others, same_looks
from .lists import few
from .price_book import DEFAULT_BOOK, PriceBook, load_price_books
from .profile import Profile, merged
from .sharing import Sharing as Sharing  # named here too: it is a word of problems
from .visible import JOINERS, unseen

MpsRules = Literal["free", "igniter"]
"""
What a planner may decide about services that share a GPU by MPS.

free: batch sizes within the measured range, and several partitions a workload, unless max_replicas forbids it.
igniter: the batch size of iGniter's eq. 17 and one partition a workload, unless one GPU is not enough for it.
"""

LatencyRule = Literal["execution", "percentile", "worst_case", "assembly"]
"""
What is promised of latencies (docs/explanation/latency-rules.md).

execution: a batch takes at most slo_fraction of the SLO; nothing is promised of requests that wait.
percentile: the quantile of the requests is within the SLO if they arrive at random (Poisson).
worst_case: all requests are within the SLO if they arrive evenly spaced.
assembly: the same, if batches are held until they are full, or for as long as the SLO allows (InSS).
"""

Dispatch = Literal["weighted_round_robin", "random", "least_expected", "central"]
"""How requests are dealt to the partitions of a service, with the plan's rates as weights where it has any."""

TurnsKept = Literal["fixed", "any"]
"""
How services take turns on a partition, round after round (docs/explanation/turns.md).

fixed: each has a slot that is kept, in the order of `serves`. any: what was collected in a round runs in the next one,
in any order.
"""

ObjectiveName = Literal["cost", "capacity"]
"""
What a plan is for (docs/explanation/objectives.md).

cost: fewest dollars. capacity: most requests/s that given GPUs could carry, beyond the rates, which are kept.
"""

Weights = Literal["equal", "solo"]
"""What a request/s counts: the same for every service, or 1 / (what one GPU carries of the service alone)."""

ProcessQueues = Literal["shared", "own"]
"""Whether the processes of a partition take requests from one queue, as Triton's instances do, or each from its own."""

LEAST_QUANTILE, GREATEST_QUANTILE = 0.5, 0.99999

LEAST_PRICE, GREATEST_PRICE = 1e-6, 1e6
"""USD per GPU and hour that can be stated."""

GREATEST_PRICE_RATIO = 1e6
"""How often as much as the cheapest GPU of a fleet the dearest may cost: beyond it the cheap ones are rounding."""

LEAST_RATE = 1e-100
"""Requests per second; parts of it, and what is divided by it, are still numbers of full precision."""


def _computable(rate_rps: float) -> float:
    if 0 < rate_rps < LEAST_RATE:
        raise ValueError(f"is {rate_rps}; expected at least {LEAST_RATE:g} requests per second")
    return rate_rps


PositiveRate = Annotated[float, Field(gt=0, le=1e7), AfterValidator(_computable)]


MOST_OF_LABEL = 80
"""Characters of a label."""


def _seen_as_written(label: str) -> str:
    """Returns a label that people see as it was written (visible.py)."""
    if hidden := unseen(label):
        sign = label[hidden[0]]
        where = " at an end, nor beside a space or another" if sign in JOINERS else ""
        raise ValueError(
            f"is '{printable(label)}', with the sign {ascii(sign)[1:-1]}, which cannot be seen{where}; expected "
            "letters, digits, signs and spaces"
        )
    if label != label.strip():
        raise ValueError(f"is {label!r}; expected no space at its beginning or end")
    return label


Label = Annotated[str, Field(min_length=1, max_length=MOST_OF_LABEL), AfterValidator(_seen_as_written)]

Labels = Annotated[
    dict[Name, Label],
    Field(
        exclude_if=lambda labels: not labels,
        description="service -> what people call it, where that is not its name; absent: none has a label",
    ),
]
"""What reports say beside the names that they hold."""


class NodeGpus(Record):
    """A node of the fleet and its GPUs of one type."""

    name: Name = Field(description="host name of the node")
    count: int = Field(ge=1, le=64, description="GPUs of this type in the node")


class FleetEntry(Record):
    """GPUs, or CPUs, of one type that the plan may use."""

    model_config = ConfigDict(json_schema_extra=either_gpu_or_cpu)

    gpu: str = Field(description="GPU type: a name of the catalogue (`sliceplan gpus`)")
    cpu: str | None = Field(
        default=None,
        description="CPU type, in place of `gpu`: a name of the catalogue (`sliceplan cpus`); it is divided by cores",
    )
    count: int | None = Field(
        default=None, ge=0, le=10_000_000, description="how many there are; omitted: as many as needed"
    )
    price_per_hour: float | None = Field(
        default=None,
        ge=LEAST_PRICE,
        le=GREATEST_PRICE,
        description="USD per GPU and hour, read to 12 digits; the dearest of a fleet at most a million times the "
        "cheapest; costs are told apart to a billionth. Omitted: the price book's (`prices`)",
    )
    price_factor: float | None = Field(
        default=None,
        ge=0.01,
        le=100,
        description="what the price book's price is multiplied by, as for a reservation or spot: 0.6; omitted: 1",
    )
    sharing: tuple[Sharing, ...] = Field(
        default=("mig",),
        min_length=1,
        description="how a GPU may be divided: exclusive, mig, mps; of a CPU it is cores, which may be omitted",
    )
    nodes: tuple[NodeGpus, ...] | None = Field(
        default=None, description="named nodes that hold these GPUs; omitted: not assigned to nodes"
    )

    @model_validator(mode="before")
    @classmethod
    def _cpu_is_the_type(cls, data: object) -> object:
        """`gpu` names the type in either case, so that all that counts and pays need not tell them apart."""
        data = cpu_named(data)
        if isinstance(data, dict) and isinstance(data.get("gpu"), str):
            sharing = data.get("sharing")
            if data.get("cpu") is not None:
                return {**data, "sharing": ("cores",) if sharing is None else sharing}
            if sharing is not None and list(sharing) == ["cores"]:
                return {**data, "cpu": data["gpu"]}
        return data

    @model_validator(mode="after")
    def _cores_are_of_cpus(self) -> "FleetEntry":
        if self.cpu is not None and self.sharing != ("cores",):
            raise ValueError(f"sharing is {', '.join(self.sharing)}; a CPU is divided by cores: leave sharing out")
        if self.cpu is None and "cores" in self.sharing:
            raise ValueError("sharing has cores, by which CPUs are divided; a CPU is an entry of its own: cpu: NAME")
        return self

    @model_validator(mode="after")
    def _one_price_is_given(self) -> "FleetEntry":
        if self.price_per_hour is not None and self.price_factor is not None:
            raise ValueError(
                f"price_per_hour is {self.price_per_hour:g} and price_factor {self.price_factor:g}: the factor is "
                "for the price book's price; give one of them"
            )
        return self

    @model_validator(mode="after")
    def _nodes_hold_the_count(self) -> "FleetEntry":
        if self.nodes is not None:
            held = sum(node.count for node in self.nodes)
            if self.count is not None and held != self.count:
                raise ValueError(f"count is {self.count}, but the nodes hold {held}; they must agree")
            if repeated := _repeated(node.name for node in self.nodes):
                raise ValueError(f"nodes are listed twice: {few(repeated)}")
        return self

    @property
    def available(self) -> int | None:
        """GPUs or CPUs that the plan may use; None: as many as needed."""
        if self.count is None and self.nodes is not None:
            return sum(node.count for node in self.nodes)
        return self.count


class Workload(Record):
    """One model served at a rate within a latency SLO."""

    name: ServiceName = Field(description="unique name of the workload")
    model: str = Field(min_length=1, description="the model that it serves: key of a profile (`sliceplan profiles`)")
    rate_rps: PositiveRate = Field(description="requests per second to serve")
    slo_ms: float = Field(gt=0, le=1e9, description="latency SLO in milliseconds")
    gpus: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="GPU and CPU types that may serve it; omitted: all of the fleet"
    )
    batch_sizes: tuple[Annotated[int, Field(ge=1, le=65536)], ...] | None = Field(
        default=None, min_length=1, description="batch sizes that may be used; omitted: all that are profiled"
    )
    min_replicas: int = Field(default=1, ge=1, le=100_000, description="least number of partitions that serve it")
    max_replicas: int | None = Field(
        default=None, ge=1, le=100_000, description="greatest number of partitions; omitted: no limit"
    )
    memory_mib: float | None = Field(
        default=None, gt=0, le=1e9, description="memory of one process in MiB; omitted: the profile's"
    )
    value: float | None = Field(
        default=None, ge=0, le=1e12, description="what is lost when it is left out (`sliceplan shed`); omitted: 1"
    )

    slo_quantile: float | None = Field(
        default=None,
        gt=LEAST_QUANTILE,
        le=GREATEST_QUANTILE,
        description="part of its requests that are to be within the SLO (`latency: percentile`); omitted: `quantile`",
    )
    label: Label | None = Field(
        default=None,
        description="what people call it, in any script and with spaces, in place of `name`, which files, units and "
        "labels have; nothing that is planned depends on it. Signs that cannot be seen are refused, but for a joiner "
        "(U+200C, U+200D) between two that are. No other workload has it, joiners aside, as its label or name. "
        "Omitted: its name",
    )

    @property
    def worth(self) -> float:
        """Its value, 1 if none is given."""
        return 1.0 if self.value is None else self.value

    @model_validator(mode="after")
    def _replica_limits_agree(self) -> "Workload":
        if self.max_replicas is not None and self.max_replicas < self.min_replicas:
            raise ValueError(f"max_replicas is {self.max_replicas}, below min_replicas, which is {self.min_replicas}")
        return self


class Settings(Record):
    """What holds for the whole problem."""

    slo_fraction: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="part of the SLO that execution may take, with latency execution and for planners that keep that "
        "rule; the rest is batching and queueing",
    )
    latency: LatencyRule = Field(
        default="execution",
        description="what is promised: execution (a batch takes at most slo_fraction of the SLO; no percentile), "
        "percentile (of requests that arrive at random), worst_case (of requests that are evenly spaced), "
        "assembly (the same, with batches that are held until they are full)",
    )
    quantile: float = Field(
        default=0.99,
        gt=LEAST_QUANTILE,
        le=GREATEST_QUANTILE,
        description="part of the requests that are to be within the SLO, with latency percentile",
    )
    dispatch: Dispatch = Field(
        default="weighted_round_robin",
        description="how requests are dealt to the partitions of a service, which decides how much each carries with "
        "latency percentile: weighted_round_robin or random, with the plan's rates as weights; least_expected (the "
        "router knows what every partition has before it, batch sizes and times) or central (one queue for all)",
    )
    process_queues: ProcessQueues = Field(
        default="shared",
        description="whether the processes of a partition take from one queue, with latency percentile or assembly: "
        "shared, or own",
    )
    turns: Literal["none", TurnsKept] = Field(
        default="none",
        description="whether services may take turns on a partition: none, fixed (each in a slot that is kept) or any "
        "(in any order within a round); a request waits for its round and execution, which take at most its SLO, or "
        "slo_fraction / 0.5 of it",
    )
    max_processes: int = Field(
        default=3, ge=1, le=48, description="most MPS processes of one workload within one partition"
    )
    mps_rules: MpsRules = Field(
        default="free",
        description="what may be decided under MPS: free (batch sizes and replicas too), or igniter (as in its paper)",
    )
    shadow_percent: float = Field(
        default=0.0,
        ge=0,
        lt=100,
        description="share of each MPS GPU kept free for standby processes (iGniter, sec. 4.2: 10), which also "
        "double the memory and the MPS clients; 0: no standby processes",
    )
    spare_services: int = Field(
        default=0, ge=0, le=100_000, description="services that may need `spare_rate` more at once; 0: none"
    )
    spare_rate: float = Field(
        default=0.0,
        ge=0,
        le=100,
        description="extra rate, as a fraction, that any `spare_services` services can be given in free partitions",
    )
    spare_gpu_loss: bool = Field(
        default=False, description="keep partitions free so that whatever ran on any one lost GPU fits elsewhere"
    )
    headroom: float = Field(default=0.0, ge=0, le=100, description="extra rate to provision, as a fraction")
    objective: ObjectiveName = Field(
        default="cost",
        description="what a plan is for: cost (fewest dollars), or capacity (most requests/s that the GPUs that there "
        "are could carry, beyond rate and headroom, which are kept; every GPU type needs a count)",
    )
    capacity_weights: Weights = Field(
        default="equal",
        description="what a request/s counts with objective capacity: equal (the same for every service), or solo "
        "(1 / what one GPU carries of the service alone)",
    )
    bda: bool = Field(
        default=False,
        description="whether batches and shares under MPS are chosen anew once a planner has placed the services "
        "(InSS, BDA): each the batch with which its GPU carries most, and what the GPU has left dealt out",
    )
    time_limit_s: float = Field(default=30.0, gt=0, le=86_400, description="time limit of the solver in seconds")
    gap: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="end an exact search as soon as its plan is proven to cost at most this much more than the "
        "cheapest, or to carry at most this much less than the most, as a fraction of the bound; 0: go on to the proof",
    )

    @property
    def keeps_spares(self) -> bool:
        """Whether partitions are to be kept free."""
        return self.spare_gpu_loss or (self.spare_services > 0 and self.spare_rate > 0)

    @model_validator(mode="after")
    def _spares_are_complete(self) -> "Settings":
        if (self.spare_services > 0) != (self.spare_rate > 0):
            raise ValueError("spare_services and spare_rate go together; one of them is 0")
        return self

    @model_validator(mode="after")
    def _weights_are_of_capacity(self) -> "Settings":
        if self.capacity_weights != "equal" and self.objective != "capacity":
            raise ValueError(
                f"capacity_weights is {self.capacity_weights!r}, but objective is {self.objective!r}, which counts no "
                "requests/s; expected objective: capacity, or no capacity_weights"
            )
        return self


class Problem(ListsInColumns):
    """A capacity planning problem."""

    version: Literal[1] = Field(description="version of the file format")
    name: Name = Field(description="name of the problem")
    fleet: tuple[FleetEntry, ...] = Field(min_length=1, description="GPUs and CPUs that the plan may use")
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1), WrapValidator(in_parts)] = Field(
        description="what is to be served"
    )
    settings: Settings = Field(default=Settings(), description="what holds for the whole problem")
    prices: Name | None = Field(
        default=None,
        description="the price book that GPUs without `price_per_hour` are priced by (`sliceplan price-books`); "
        f"omitted: {DEFAULT_BOOK}",
    )
    price_books: tuple[PriceBook, ...] = Field(default=(), description="your own price books, for `prices` to name")
    profiles: tuple[Profile, ...] = Field(
        default=(),
        description="your own profiles, as in a file of profiles; over those that sliceplan ships and those of "
        "`--profiles`, part by part. Omitted: none",
    )

    @property
    def labels(self) -> dict[str, str]:
        """The label of each service that is not called by its name."""
        return {one.name: one.label for one in self.workloads if one.label is not None and one.label != one.name}

    def name_of(self, written: str) -> str:
        """Returns the name of the service that people call so, by its label; else what was written."""
        # A label is never the name of another service.
        return next((name for name, label in self.labels.items() if label == written), written)

    @property
    def service_names(self) -> set[str]:
        """The names of its services."""
        return set(map(attrgetter("name"), self.workloads))

    def profiles_over(self, known: Iterable[Profile]) -> dict[tuple[str, str], Profile]:
        """Returns one profile for each model and GPU type: its own over those that are known elsewhere."""
        return merged([*known, *self.profiles])

    @model_validator(mode="after")
    def _only_percentiles_have_quantiles(self) -> "Problem":
        own = [workload.name for workload in self.workloads if workload.slo_quantile is not None]
        if own and self.settings.latency != "percentile":
            raise ValueError(
                f"slo_quantile is given ({few(own)}), but settings.latency is {self.settings.latency!r}, which "
                "promises no percentile; expected latency: percentile, or no slo_quantile"
            )
        return self

    @model_validator(mode="after")
    def _labels_are_unique(self) -> "Problem":
        """So that what people see names one service; before the names, as the page makes names of labels."""
        labels = {one.name: one.label for one in self.workloads if one.label is not None}
        if not labels:
            return self
        if repeated := _repeated(one.label for one in self.workloads if one.label is not None):
            raise ValueError(f"workloads have the same label: {few(repeated)}; labels must be unique")
        if alike := same_looks(labels.values()):
            raise ValueError(
                f"workloads have labels that look alike: {few(alike)}; they differ in joiners (U+200C, U+200D) alone, "
                "expected other labels"
            )
        if taken := labels_of_others(labels, self.service_names):
            raise ValueError(f"workloads have labels that are names of others: {few(taken)}; expected other labels")
        return self

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Problem":
        if repeated := _repeated(map(attrgetter("name"), self.workloads)):
            raise ValueError(f"workloads have the same name: {few(repeated)}; names must be unique")
        if repeated := _repeated(entry.gpu for entry in self.fleet):
            raise ValueError(f"fleet lists a GPU type twice: {few(repeated)}; one entry per type")
        owners = [(node.name, entry.gpu) for entry in self.fleet for node in entry.nodes or ()]
        if repeated := _repeated(name for name, _ in owners):
            raise ValueError(f"nodes with GPUs of two types are not supported: {few(repeated)}")
        if repeated := _repeated([*load_price_books(), *(book.name for book in self.price_books)]):
            raise ValueError(f"price_books: the name is taken: {few(repeated)}; give each book a name of its own")
        if repeated := _repeated(f"{profile.model} on {profile.gpu}" for profile in self.profiles):
            raise ValueError(f"profiles: listed twice: {few(repeated)}; one entry for a model on a GPU type")
        return self


def _repeated(names: Iterable[str]) -> list[str]:
    """Returns the names that occur more than once."""
    listed = list(names)
    if len(set(listed)) == len(listed):  # counting takes several times as long
        return []
    return [name for name, times in Counter(listed).items() if times > 1]
