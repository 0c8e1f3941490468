"""What an interference model says of the services on a GPU, and what every such model offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SharedPrediction:
    """Figures of every resident of every GPU; shape (..., resident), 0 where no resident is."""

    latency_ms: Floats
    """From the arrival of a batch on the GPU to its result on the host."""
    throughput_rps: Floats
    causes_ms: Mapping[str, Floats]
    """Parts of the latency by cause; they add up to it."""
    frequency_mhz: Floats | None
    """Shape (...): frequency of each GPU; None: the model says nothing of it."""
    power_w: Floats | None
    """Shape (...): power demand of each GPU; None: the model says nothing of it."""


class InterferenceModel(Protocol):
    """Predicts the services that share GPUs of one type; workloads are known by their index."""

    def predict(self, workload: Ints, batch: Ints, percent: Floats) -> SharedPrediction:
        """
        Returns what every resident achieves beside the others on its GPU.

        Parameters
        ----------
        workload, batch, percent
            Shape (..., resident): which workload, its batch size, its share of the SMs in percent. A share of
            0 means that the place is empty.
        """
        ...


Channels = tuple[Floats, ...]
"""An array for each way in which residents disturb each other, as power and cache; which there are, the model says."""


class MonotoneModel(InterferenceModel, Protocol):
    """
    What planning with proof under MPS takes from an interference model: least shares, and lower limits of them.

    A resident at a share has an ability, a rate in requests per second that is at least its throughput. Its demands
    follow from the ability, and its surroundings from the demands of all residents. Whoever implements this promises:

    - `demands_at` never falls with the ability, nor `surroundings` with any resident's demands or with a resident more;
    - `percent_needed` never falls with the surroundings or with the number of residents;
    - `percent_needed_among` never falls with the totals or with the number of residents, and every share from it on
      keeps the budget among the same totals;
    - `ability_rps` never falls with the share;
    - `least_percent` never falls with the shares of the others, and for shares no greater than those of a feasible
      allocation it is no greater than that allocation either.

    Then the least shares are a least fixed point (least_shares.py), subsets of sets that fit do fit, and what
    `solver/exact/mps/columns.py` calls impossible is.
    """

    @property
    def load_ms(self) -> Floats:
        """Shape (workload,): time to send the input of one request to the GPU."""
        ...

    def restricted_to(self, workloads: Ints) -> Self:
        """Returns the model of some of the workloads, in the order given."""
        ...

    def key(self, workload: int) -> tuple[float, ...]:
        """Returns all that the model knows of a workload; equal for workloads that it cannot tell apart."""
        ...

    def least_percent(
        self, workload: Ints, batch: Ints, percent: Floats, latency_ms: Floats, required_rps: Floats
    ) -> Floats:
        """
        Returns the share that each resident needs at least while the others keep theirs; inf: none is enough.

        Parameters
        ----------
        workload, batch, percent, latency_ms, required_rps
            Shape (..., resident): also its greatest latency and its least throughput. A share of 0: nobody is there.
        """
        ...

    def ability_rps(self, workload: Ints, batch: Ints, percent: Floats) -> Floats:
        """Returns the ability of each resident; 0 where the share is 0."""
        ...

    def demands_at(self, workload: Ints, ability_rps: Floats) -> Channels:
        """Returns what each resident asks of what all share, at an ability; arrays of their shape."""
        ...

    def surroundings(self, demands: Channels) -> Channels:
        """Returns what each resident meets; arrays of shape (..., resident), or (..., 1) where all meet the same."""
        ...

    def among(
        self, workload: Ints, batch: Ints, percent: Floats, *, totals: Channels, residents: Ints
    ) -> tuple[Floats, Floats]:
        """
        Returns latency and throughput on a GPU whose residents ask for so much together.

        `totals` are sums of `demands_at` over all residents, itself included, `residents` their number. Of lower limits
        of both the latency is a lower limit and the throughput an upper one. All arguments are broadcast.
        """
        ...

    def percent_needed(
        self,
        workload: Ints,
        batch: Ints,
        latency_ms: Floats,
        required_rps: Floats,
        *,
        surroundings: Channels,
        residents: Ints,
    ) -> Floats:
        """
        Returns the share that keeps an SLO in given surroundings; inf: none is enough.

        Lower limits of surroundings and number of residents give a lower limit of the share. All arguments are
        broadcast against each other.
        """
        ...

    def gpu_budget_ms(self, workload: Ints, batch: Ints, latency_ms: Floats, required_rps: Floats) -> Floats:
        """Returns the longest that a batch may take on the GPU for latency and throughput to be kept."""
        ...

    def percent_needed_among(
        self, workload: Ints, batch: Ints, budget_ms: Floats, *, totals: Channels, residents: Ints
    ) -> Floats:
        """
        Returns the share that keeps a budget on a GPU whose residents ask for so much together; inf: none is enough.

        `totals` are sums of `demands_at` over all residents, itself included, `residents` their number. Lower limits of
        both give a lower limit of the share. All arguments are broadcast against each other.
        """
        ...
