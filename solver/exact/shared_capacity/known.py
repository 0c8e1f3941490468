"""The contents that are known: what each of them, and the most valuable of a GPU type, is worth at prices."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...performance.interference.prediction import Floats
from .asked_rows import AskedRows
from .gpu_contents import Content, GpuContents
from .near_prices import KnownRows, prices_near
from .prices import MasterPrices

MOST_NEAR = 4_000
"""Contents by which prices in a box are looked for, those worth most of their GPU type's best."""

MOST_MIXED = 1_000
"""Contents of which parts are mixed where prices about as good are known."""

LOOKED_AT = 300
"""Contents, the most valuable ones, of which those that are not alike have others looked for near them."""

SOME = 1e-6
"""Part of a content that counts as taken."""

FARTHER = 2.0
"""Boxes by which these may be worth less than that."""


@dataclass(frozen=True, eq=False)
class Mix:
    """Parts of contents that are worth most together."""

    prices: MasterPrices
    parts: list[tuple[Content, float]]
    """How much of each content is taken, where that is more than nothing."""


class KnownContents:
    """Contents in the order in which they came, each once."""

    def __init__(self, weights: Floats, rate_rps: Floats) -> None:
        """Begins with none; shape (workload,): what a request/s counts, and the rates up to which others are paid."""
        self._weights, self._rate_rps = weights, rate_rps
        self._contents: dict[AllocatedGpu, Content] = {}
        # Shape (content or more, workload): places that are free come last.
        self._rates, self._replicas = np.zeros((0, len(weights))), np.zeros((0, len(weights)))
        self._paid = np.zeros((0, len(weights)))

    def __len__(self) -> int:
        return len(self._contents)

    def all(self) -> list[Content]:
        """Returns all of them."""
        return list(self._contents.values())

    def add(self, contents: Iterable[Content]) -> None:
        """Adds those that are not there."""
        n = len(self._weights)
        for one in contents:
            if one.gpu not in self._contents:
                at = len(self._contents)
                self._contents[one.gpu] = one
                if at == len(self._rates):
                    more = np.zeros((max(at, 64), n))
                    self._rates = np.concatenate([self._rates, more])
                    self._replicas = np.concatenate([self._replicas, more])
                    self._paid = np.concatenate([self._paid, more])
                self._rates[at], self._replicas[at] = one.rates(n), one.replicas(n)
                self._paid[at] = one.rates_up_to(self._rate_rps)

    def worth(self, prices: MasterPrices) -> Floats:
        """Returns what each is worth at prices, shape (content,)."""
        _, charge = prices.of(self._weights)
        number = len(self)
        counted = self._rates[:number] @ self._weights + self._paid[:number] @ prices.of_rate
        return np.asarray(counted - self._replicas[:number] @ charge, dtype=np.float64)

    def most(self, prices: MasterPrices, gpus: Iterable[str]) -> dict[str, float]:
        """Returns GPU type -> what the most valuable content of it is worth, not below 0."""
        found = dict.fromkeys(gpus, 0.0)
        for content, worth in zip(self._contents.values(), self.worth(prices).tolist(), strict=True):
            found[content.gpu.gpu] = max(found[content.gpu.gpu], worth)
        return found

    def best_of(self, gpu: str, prices: MasterPrices, usable: np.ndarray | None = None) -> list[Content]:
        """Returns those of a GPU type, the most valuable first; `usable`: of these, shape (content,)."""
        worth, contents = self.worth(prices), self.all()
        order = np.argsort(-worth, kind="stable").tolist()
        return [contents[i] for i in order if contents[i].gpu.gpu == gpu and (usable is None or usable[i])]

    def usable(self, asked: AskedRows, gpus: Mapping[str, int]) -> np.ndarray:
        """Tells which of them give nobody more replicas than are allowed, on GPUs that there are; shape (content,)."""
        there = np.array([gpus[one.gpu.gpu] > 0 for one in self._contents.values()], dtype=np.bool_)
        return np.asarray(there & (self._replicas[: len(self)] <= asked.most).all(axis=1))

    def prices(self, asked: AskedRows, gpus: Mapping[str, int], usable: np.ndarray | None = None) -> MasterPrices:
        """Returns the prices of `mix`."""
        return self.mix(asked, gpus, usable).prices

    def mix(
        self,
        asked: AskedRows,
        gpus: Mapping[str, int],
        usable: np.ndarray | None = None,
        at: MasterPrices | None = None,
    ) -> "Mix":
        """
        Returns the best parts of contents, where a workload may go without, and their prices.

        Parameters
        ----------
        gpus
            GPU type -> how many there are.
        usable
            Of these, shape (content,); None: of all.
        at
            Prices at which those of many are chosen that are worth most of their GPU type's best; None: all are.
        """
        rows = np.arange(len(self)) if usable is None else np.flatnonzero(usable)
        if at is not None and len(rows) > MOST_MIXED:
            rows = np.sort(rows[np.argsort(-self._of_most(at, gpus)[rows], kind="stable")[:MOST_MIXED]])
        names = [one.gpu.gpu for one in self._contents.values()]
        of_type = np.array([[float(names[i] == gpu) for i in rows] for gpu in gpus]).reshape(len(gpus), -1)
        there = np.array([float(own) for own in gpus.values()])
        value = self._rates[rows] @ self._weights
        prices, parts = asked.mix(value, self._paid[rows], self._replicas[rows], of_type, there)
        contents = self.all()
        some = np.flatnonzero(parts > SOME)
        return Mix(prices, [(contents[rows[i]], float(parts[i])) for i in some.tolist()])

    def prices_near(self, asked: AskedRows, gpus: Mapping[str, int], centre: MasterPrices, box: float) -> MasterPrices:
        """Returns the best prices in a box about some by the contents that are worth much there (near_prices.py)."""
        names = np.array([one.gpu.gpu for one in self._contents.values()])
        of_most = self._of_most(centre, gpus)
        near = np.flatnonzero(of_most >= 1 - FARTHER * box)
        rows = np.sort(near[np.argsort(-of_most[near], kind="stable")[:MOST_NEAR]])
        of_type = np.array([names[rows] == gpu for gpu in gpus], dtype=np.float64).reshape(len(gpus), len(rows))
        known = KnownRows(self._rates[rows] @ self._weights, self._paid[rows], self._replicas[rows], of_type)
        there = np.array([float(own) for own in gpus.values()])
        return prices_near(asked, self._weights, known, there, centre, box)

    def _of_most(self, prices: MasterPrices, gpus: Iterable[str]) -> Floats:
        """Returns what each is worth as a part of what the best one of its GPU type is, shape (content,)."""
        most = self.most(prices, gpus)
        of_type = np.array([most[one.gpu.gpu] or 1.0 for one in self._contents.values()])
        return np.asarray(self.worth(prices) / of_type)

    def ask(
        self,
        fleet: Sequence[GpuContents],
        prices: MasterPrices,
        gpus: Iterable[str],
        *,
        gap: float,
        cells: int,
        kept: int,
        deadline: float,
    ) -> dict[str, float]:
        """
        Returns GPU type -> what no content of it exceeds, and adds so many contents that were met on the way.

        Of a type that is shared in several ways that is of all of them. Arguments as of `GpuContents.limit`.
        """
        price, charge = prices.of(self._weights)
        worth = self.most(prices, gpus)
        for own in fleet:
            found = own.limit(price, charge, known=worth[own.gpu], gap=gap, cells=cells, deadline=deadline)
            worth[own.gpu] = max(found.limit, worth[own.gpu])
            self.add(found.contents[:kept])
        return worth

    def add_near(
        self,
        fleet: Sequence[GpuContents],
        prices: MasterPrices,
        number: int,
        *,
        usable: np.ndarray | None = None,
        barred: np.ndarray | None = None,
    ) -> None:
        """
        Adds contents near the most valuable ones of each GPU type and way of sharing it.

        Parameters
        ----------
        number
            Of those near which others are looked for, beside the best one of each number of services.
        usable
            Which these may be, shape (content,); None: all.
        barred
            Who may not be there, shape (workload,); None: all may.
        """
        price, charge = prices.of(self._weights)
        if barred is not None:
            charge = np.where(barred, np.inf, charge)
        # All are chosen before any is added, of which `usable` says nothing.
        best_of = [[one for one in self.best_of(own.gpu, prices, usable) if own.has(one)] for own in fleet]
        for own, best in zip(fleet, best_of, strict=True):
            of_number: dict[int, Content] = {}
            for one in best:
                of_number.setdefault(len(one.gpu.workloads), one)
            some = dict.fromkeys([*of_number.values(), *best[:LOOKED_AT]])
            self.add(own.near(price, charge, some, number + len(of_number)))
