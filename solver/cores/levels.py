"""
A model whose layers have versions that were measured at several levels of interference, as arrays.

A layer that is made for a level i runs, on a count of cores c, in the version and on the cores c' <= c that are fastest
at that level (where more cores are slower it leaves some idle). It keeps both where the level is another in truth:

    us[i, j, l, c]      time of layer l made for level i, on c cores at level j
    us[i, i, l, c]      = min over versions v and counts c' <= c of the time of v on c' cores at level i

So at a known level the versions drop out: what is best in `us[i, i]` is best over all versions. A level between two
that were measured counts as the nearest.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.layer_times import Layer, LayeredModel
from .chain import Chain, Floats, Ints, in_whole_us


@dataclass(frozen=True, eq=False)
class Levels:
    """Layers that run one after the other, each in the version that is made for a level."""

    name: str
    cores: Ints
    """Shape (count,), ascending."""
    levels: tuple[float, ...]
    """Ascending from 1."""
    us: Ints
    """Shape (level it is made for, level in truth, layer, count): whole microseconds, above 0."""
    macs: Ints
    """Shape (layer,)."""
    rises: int = 0
    """Steps to more cores that were measured to be slower, alone on the CPU in the fastest version."""

    def at(self, level: int) -> Chain:
        """Returns the layers at a level, made for it."""
        return Chain(self.name, self.cores, self.us[level, level], self.macs, self.rises)

    @property
    def alone(self) -> Chain:
        """The layers without interference."""
        return self.at(0)

    @property
    def fastest(self) -> Chain:
        """The layers at the level at which each is fastest: whatever the levels are, none is faster."""
        return Chain(self.name, self.cores, self._made().min(axis=0), self.macs, self.rises)

    @property
    def slowest(self) -> Chain:
        """The layers at the level at which each is slowest, made for it."""
        return Chain(self.name, self.cores, self._made().max(axis=0), self.macs, self.rises)

    def within(self, cores: int) -> "Levels":
        """Returns the layers on the counts that a CPU of so many cores has; InputError: it has none of them."""
        has = len(self.alone.within(cores).cores)
        return Levels(self.name, self.cores[:has], self.levels, self.us[..., :has], self.macs, self.rises)

    def _made(self) -> Ints:
        numbers = np.arange(len(self.levels))
        made: Ints = self.us[numbers, numbers]
        return made


def levels_of(model: LayeredModel) -> Levels:
    """Returns the arrays of a model; times are rounded to microseconds."""
    measured = [in_whole_us(times_of(layer)) for layer in model.layers]
    return Levels(
        name=model.model,
        cores=np.array(model.cores, dtype=np.int64),
        levels=model.levels,
        us=np.stack([_made_for_levels(one) for one in measured], axis=2),
        macs=np.array([layer.macs for layer in model.layers], dtype=np.int64),
        rises=sum(int((np.diff(one[:, 0].min(axis=0)) > 0).sum()) for one in measured),
    )


def nearest_level(levels: Sequence[float], level: float) -> int:
    """Returns the number of the level nearest to one, of two the lower; `levels` ascend."""
    above = bisect_left(levels, level)
    if above in (0, len(levels)):
        return min(above, len(levels) - 1)
    return above if levels[above] - level < level - levels[above - 1] else above - 1


def times_of(layer: Layer) -> Floats:
    """Returns a layer's times, ms, shape (version, level, count)."""
    rows = [[layer.ms]] if layer.versions is None else [version.ms for version in layer.versions]
    return np.array(rows, dtype=np.float64)


def _made_for_levels(measured: Ints) -> Ints:
    """Returns one layer's `us`, shape (made for, level, count), from times by version, level and count."""
    count = np.arange(measured.shape[2])
    made = []
    for level in range(measured.shape[1]):
        version = measured[:, level].argmin(axis=0)
        best = measured[version, level, count]
        least = np.minimum.accumulate(best)
        is_new = np.append(True, best[1:] < least[:-1])
        used = np.maximum.accumulate(np.where(is_new, count, 0))  # of equals the fewest cores
        made.append(measured[version[used], :, used].T)
    return np.stack(made)
