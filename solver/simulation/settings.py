"""How a plan is simulated: how requests come, are dealt and are batched, how many, and what is asked of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .arrivals.poisson import Poisson
from .arrivals.process import ArrivalProcess
from .batching.greedy import Greedy
from .batching.policy import BatchingPolicy
from .dispatch.dealing import Dealing
from .dispatch.weighted_round_robin import WeightedRoundRobin

Neighbours = Literal["busy", "simulated"]
"""All residents of the GPU all the time, or those that execute at the moment."""

SECTIONS = 10
"""Parts of what is counted, from whose differences the intervals are: groups of replications, or parts of a trace."""


@dataclass(frozen=True)
class SimulationSettings:
    """How a plan is simulated; the defaults are those of the command line."""

    arrivals: ArrivalProcess = field(default_factory=Poisson)
    arrivals_of: Mapping[str, ArrivalProcess] = field(default_factory=dict)
    """By service, where they differ from those of all others."""
    requests: int = 100_000
    """Requests of each service that are counted, on average; not of recorded ones."""
    seconds: float | None = None
    """Time that is counted, in place of `requests`."""
    seed: int = 1
    dealing: Dealing | None = None
    """None: the plan's; weighted round robin where it says nothing."""
    batching: BatchingPolicy | None = None
    """None: the plan's; greedy where it holds no batch."""
    load: float = 1.0
    """Factor on all rates."""
    quantile: float | None = None
    """Share of the requests that must be in time; None: what the plan promises each service; 0.99 if it does not."""
    failures_s: Mapping[str, float] = field(default_factory=dict)
    """GPU -> when it fails, in seconds from the beginning of every replication."""
    takeover_s: float | None = None
    """Seconds after a failure from which partitions that are kept free serve what was lost; None: they do not."""
    neighbours: Neighbours = "busy"
    """Who slows a batch down under MPS."""
    measured_batches: bool = False
    """Whether smaller batches take the profile's times where it has them."""

    @property
    def needs_profiles(self) -> bool:
        """Whether a simulation looks into profiles."""
        return self.measured_batches or self.neighbours == "simulated"

    @property
    def router(self) -> Dealing:
        """How requests are dealt, where nothing else is known."""
        return self.dealing or WeightedRoundRobin()

    @property
    def policy(self) -> BatchingPolicy:
        """When batches go, where nothing else is known."""
        return self.batching or Greedy()
