"""
What stands on one GPU, and what is asked of the GPUs of a type that are shared in one way.

A content is a GPU with services on it: residents under MPS (shared_gpus.py), or partitions of a cut (cut_gpus.py). A
plan is a number of contents, and to the search they are all alike: requests/s and replicas of each service.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...performance.interference.prediction import Floats, Ints


@dataclass(frozen=True)
class Content:
    """What stands on one GPU, and what it carries there."""

    gpu: AllocatedGpu
    carried: tuple[float, ...]
    """Requests/s of each of the GPU's `workloads`, within its latency beside the others."""

    def rates(self, workloads: int) -> Floats:
        """Returns requests/s of each workload, shape (workload,)."""
        carried = np.array(self.carried, dtype=np.float64)
        return np.asarray(np.bincount(self.gpu.workloads, weights=carried, minlength=workloads), dtype=np.float64)

    def rates_up_to(self, most_rps: Floats) -> Floats:
        """Returns the same where each replica counts for so much at most, shape (workload,)."""
        workloads = np.array(self.gpu.workloads, dtype=np.int64)
        carried = np.minimum(np.array(self.carried, dtype=np.float64), most_rps[workloads])
        return np.asarray(np.bincount(workloads, weights=carried, minlength=len(most_rps)), dtype=np.float64)

    def worth(self, counted: "Counted", price: Floats, charge: Floats) -> float:
        """Returns what it is worth at prices of a request/s and of a replica, shape (workload,)."""
        workloads = np.array(self.gpu.workloads, dtype=np.int64)
        carried = np.array(self.carried, dtype=np.float64)
        return float((counted.value(price, workloads, carried) - charge[workloads]).sum())

    def replicas(self, workloads: int) -> Ints:
        """Returns how many replicas each workload has, shape (workload,)."""
        return np.bincount(self.gpu.workloads, minlength=workloads)


@dataclass(frozen=True, eq=False)
class Counted:
    """
    What a replica's requests/s are worth; arrays have the shape (workload,).

    A price of a request/s is what it counts and what is paid for the rate, which is paid up to the rate and no further
    (prices.py).
    """

    weights: Floats
    """What a request/s counts."""
    rate_rps: Floats
    """inf: all is paid for."""

    def value(self, price: Floats, workload: Ints, rps: Floats) -> Floats:
        """Returns what replicas that carry so much are worth; it never falls with what they carry."""
        counts = np.minimum(price, self.weights)
        paid = (price - counts)[workload] * np.minimum(rps, self.rate_rps[workload])
        return np.asarray(counts[workload] * rps + paid)


@dataclass(frozen=True)
class ContentLimit:
    """What contents are worth at most, and the contents that were met, the most valuable first."""

    limit: float
    contents: tuple[Content, ...]


class GpuContents(Protocol):
    """Contents of GPUs of a type, shared in one way; arrays of prices have the shape (workload of the problem,)."""

    @property
    def gpu(self) -> str:
        """The GPU type."""
        ...

    def has(self, content: Content) -> bool:
        """Tells whether a content is one of these."""
        ...

    def of(self, gpu: AllocatedGpu) -> Content | None:
        """Returns what a GPU carries, without those too slow or with less than they have to carry; None: nobody is."""
        ...

    def without(self, content: Content, gone: np.ndarray) -> Content | None:
        """Returns a content without some workloads, shape (workload,); None: nobody is left."""
        ...

    def limit(
        self, price: Floats, charge: Floats, *, known: float = 0.0, gap: float, cells: int, deadline: float
    ) -> ContentLimit:
        """
        Returns the most that a content is worth, and contents.

        Parameters
        ----------
        price, charge
            Of a request/s, not below 0; of a replica.
        known
            What some content is worth.
        gap
            Part of the limit at which the search ends.
        cells
            Parts of all contents that are looked at, at most.
        """
        ...

    def near(self, price: Floats, charge: Floats, known: Iterable[Content], number: int) -> list[Content]:
        """
        Returns contents that may be worth more than known ones near them, the most valuable first.

        `known`: the most important first; near so many of those that are not alike.
        """
        ...

    def grown(self, content: Content, price: Floats, least_rps: Floats) -> Content:
        """Returns a content that counts no less; `least_rps`: requests/s of each workload that stay on this GPU."""
        ...

    def carried_alone(self) -> Floats:
        """Returns what each workload carries alone with 1 unit of a GPU and more, shape (workload, unit)."""
        ...
