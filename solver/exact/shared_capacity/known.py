"""The contents that are known: what each of them, and the most valuable of a GPU type, is worth at prices."""

from collections.abc import Iterable

import numpy as np

from ...allocation.allocated import MpsGpu
from ...performance.interference.prediction import Floats
from .figures import Content
from .prices import MasterPrices


class KnownContents:
    """Contents in the order in which they came, each once."""

    def __init__(self, weights: Floats) -> None:
        self._weights = weights
        self._contents: dict[MpsGpu, Content] = {}
        self._rates: list[Floats] = []
        self._replicas: list[Floats] = []

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
                self._contents[one.gpu] = one
                self._rates.append(one.rates(n))
                self._replicas.append(one.replicas(n).astype(np.float64))

    def worth(self, prices: MasterPrices) -> Floats:
        """Returns what each is worth at prices, shape (content,)."""
        price, charge = prices.of(self._weights)
        if not self._contents:
            return np.zeros(0)
        return np.asarray(np.array(self._rates) @ price - np.array(self._replicas) @ charge, dtype=np.float64)

    def most(self, prices: MasterPrices, gpus: Iterable[str]) -> dict[str, float]:
        """Returns GPU type -> what the most valuable content of it is worth, not below 0."""
        found = dict.fromkeys(gpus, 0.0)
        for content, worth in zip(self._contents.values(), self.worth(prices).tolist(), strict=True):
            found[content.gpu.gpu] = max(found[content.gpu.gpu], worth)
        return found

    def best_of(self, gpu: str, prices: MasterPrices) -> list[Content]:
        """Returns those of a GPU type, the most valuable first."""
        worth = self.worth(prices)
        contents = self.all()
        return [contents[i] for i in np.argsort(-worth, kind="stable") if contents[i].gpu.gpu == gpu]
