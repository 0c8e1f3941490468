"""
Which of many compiled versions of a layer to keep (VELTAIR, ASPLOS 2022, 4.1, Algorithm 1).

    quota   = SLO macs / sum of all macs
    fast    = versions whose time alone is within the quota
    front   = those of them that no other one undercuts both in block size and in parallelism
    uniform = five of the front, evenly by block size
    kept    = the fewest of the five that are at least 0.9 as fast as the best of the five, everywhere

A large block uses caches, which others take away; a small block with much parallelism suffers less. So the front runs
from what is fastest alone to what is fastest beside others, and nothing but times alone is needed up to the five: only
they are to be measured at levels of interference.

What the paper leaves open, and what is done here:

- Times alone are compared on the model-wise cores: the least count on which the model as a whole is in time, each layer
  in its fastest version. Where no version keeps its quota there, on the least greater count where one does; where none
  does on any, the quota says nothing and all versions stay, on the most cores.
- Of versions with the same block size and parallelism the fastest counts.
- "Everywhere" is every level and every count of cores, as a runtime uses any of them, and the version that is fastest
  alone is always kept. The fewest are found by trying the 31 subsets of the five; of as few, those with the least sum
  of times. So no smaller subset keeps 0.9.
- With times at one level only the five are kept: which of them to leave out is not known before they are measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..model.layer_times import Layer, LayeredModel
from .chain import Floats, Ints
from .levels import levels_of, times_of
from .quotas import Quotas, quotas_of

MOST_VERSIONS = 5

LEAST_SPEED = 0.9
"""Of the best of the five."""

ROUNDING = 1e-9


@dataclass(frozen=True)
class LayerChoice:
    """What was chosen of one layer's versions."""

    cores: int
    """On which times alone were compared."""
    fast: int
    """Versions within the quota; 0: none on any count, so all were taken."""
    front: int
    kept: tuple[int, ...]
    """Numbers of the versions, by block size."""


def chosen(model: LayeredModel, slo_ms: float) -> tuple[LayeredModel, list[LayerChoice | None]]:
    """
    Returns a model with the versions that are kept, and what was chosen of each layer; None: it has one time only.

    Raises
    ------
    InputError
        If the model cannot be in time on any count of cores.
    """
    quotas = quotas_of(levels_of(model).alone, slo_ms)
    choices = [
        None if layer.versions is None else _of_layer(layer, quotas, float(quota))
        for layer, quota in zip(model.layers, quotas.quota_us / 1000, strict=True)
    ]
    layers = tuple(
        layer if choice is None else _with(layer, choice) for layer, choice in zip(model.layers, choices, strict=True)
    )
    method = f"{model.provenance.method} Of all versions those that VELTAIR's Algorithm 1 keeps within {slo_ms:g} ms."
    provenance = model.provenance.model_copy(update={"method": method})
    return model.model_copy(update={"layers": layers, "provenance": provenance}), choices


def _with(layer: Layer, choice: LayerChoice) -> Layer:
    versions = layer.versions or ()
    return layer.model_copy(update={"versions": tuple(versions[number] for number in choice.kept)})


def _of_layer(layer: Layer, quotas: Quotas, quota_ms: float) -> LayerChoice:
    times = np.minimum.accumulate(times_of(layer), axis=2)  # a layer may leave cores idle
    blocks = np.array([version.block_size for version in layer.versions or ()])
    parallelism = np.array([version.parallelism for version in layer.versions or ()])
    count, fast = _within_quota(times[:, 0], quota_ms, quotas.index_of(quotas.average))
    able = fast if fast.size else np.arange(len(times))
    on_front = front(blocks[able], parallelism[able], times[able, 0, count])
    five = [int(able[on_front[place]]) for place in evenly(len(on_front), MOST_VERSIONS)]
    if times.shape[1] > 1:
        five = [five[place] for place in fewest(times[five].reshape(len(five), -1), times[five, 0, count])]
    return LayerChoice(int(quotas.chain.cores[count]), len(fast), len(on_front), tuple(five))


def _within_quota(alone: Floats, quota_ms: float, first: int) -> tuple[int, Ints]:
    """Returns the count on which times alone, shape (version, count), are compared, and who keeps the quota there."""
    within = alone <= quota_ms + ROUNDING
    counts = np.flatnonzero(within.any(axis=0))
    counts = counts[counts >= first]
    count = int(counts[0]) if counts.size else alone.shape[1] - 1
    return count, np.flatnonzero(within[:, count])


def front(blocks: Ints, parallelism: Ints, ms: Floats) -> list[int]:
    """Returns the numbers of the versions that no other one undercuts in both, by block size, then by parallelism."""
    order = sorted(range(len(ms)), key=lambda number: (blocks[number], parallelism[number], ms[number], number))
    found: list[int] = []
    below = least = np.inf  # least parallelism of smaller blocks, and of blocks up to this size
    last = (-1, -1)
    for number in order:
        size, much = int(blocks[number]), int(parallelism[number])
        if size != last[0]:
            below = least
        if (size, much) != last and below >= much:
            found.append(number)
        least, last = min(least, much), (size, much)
    return found


def evenly(number: int, most: int) -> list[int]:
    """Returns places from the first to the last of a number of things, evenly, at most so many."""
    if number <= most:
        return list(range(number))
    return [(2 * k * (number - 1) + most - 1) // (2 * (most - 1)) for k in range(most)]


def fewest(ms: Floats, alone: Sequence[float] | Floats) -> tuple[int, ...]:
    """
    Returns the fewest versions of which, everywhere, one is at least LEAST_SPEED as fast as the best of all.

    Parameters
    ----------
    ms
        Shape (version, place): times.
    alone
        Shape (version,): the one that is fastest by it is always among them.
    """
    best = ms.min(axis=0)
    always = int(np.argmin(alone))
    others = [number for number in range(len(ms)) if number != always]
    for size in range(len(others) + 1):
        able = [
            (float(ms[[*subset]].sum()), subset)
            for chosen_others in combinations(others, size)
            for subset in (tuple(sorted((always, *chosen_others))),)
            if (LEAST_SPEED * ms[[*subset]].min(axis=0) <= best + ROUNDING).all()
        ]
        if able:
            return min(able)[1]
    raise AssertionError("all versions together are as fast as the best of them")
