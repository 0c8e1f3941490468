"""A chain of layers as arrays: whole microseconds that never rise with cores."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..model.errors import Finding, InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chain:
    """Layers that run one after the other; `count` numbers the counts of cores that they may have."""

    name: str
    cores: Ints
    """Shape (count,), ascending."""
    us: Ints
    """Shape (layer, count): time, whole microseconds, above 0; never rises along a row."""
    macs: Ints
    """Shape (layer,)."""
    rises: int = 0
    """Steps to more cores that were measured to be slower; there a layer leaves some of its cores idle."""

    @cached_property
    def total_us(self) -> Ints:
        """Shape (count,): time of all layers."""
        total: Ints = self.us.sum(axis=0)
        return total

    @cached_property
    def before_us(self) -> Ints:
        """Shape (layer + 1, count): time of the layers before each, and of all in the last row."""
        return np.vstack([np.zeros((1, len(self.cores)), dtype=np.int64), self.us.cumsum(axis=0)])

    @property
    def steps(self) -> int:
        """Steps to more cores that were measured, all layers together."""
        return int(self.us.shape[0] * (self.us.shape[1] - 1))

    def within(self, cores: int) -> "Chain":
        """Returns the chain with the counts that a CPU of so many cores has; InputError: it has none of them."""
        has = self.cores <= cores
        if not has.any():
            message = f"has {cores} cores; the layers of {self.name} were measured on {self.cores[0]} and more"
            raise InputError([Finding("--cores", "", message)])
        return Chain(self.name, self.cores[has], self.us[:, has], self.macs, self.rises)


def in_whole_us(ms: Floats) -> Ints:
    """Returns times in whole microseconds, at least one."""
    us: Ints = np.maximum(np.rint(ms * 1000), 1).astype(np.int64)
    return us


def in_us(slo_ms: float) -> int:
    """Returns a latency limit in whole microseconds, never a longer one."""
    return int(slo_ms * 1000 + 1e-6)


def refuse_impossible(chain: Chain, slo_ms: float) -> None:
    """Raises InputError if not even the fastest count of cores ends the layers in time."""
    fastest = int(chain.total_us.min())
    if fastest > in_us(slo_ms):
        message = (
            f"is {slo_ms:g} ms; the layers of {chain.name} take {fastest / 1000:g} ms on {chain.cores[-1]} cores, "
            "and no count of cores is faster; expected at least that"
        )
        raise InputError([Finding("--slo-ms", "", message)])
