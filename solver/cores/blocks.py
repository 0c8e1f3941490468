"""
How a model is cut into blocks of layers that keep their cores (VELTAIR, ASPLOS 2022, Algorithm 2).

    pivot           a layer whose need is above average + threshold
    next block      from its first layer to before the next pivot behind it, else to the end
    its cores       least c with sum of ms(c) over the block <= sum of its quotas; else the most that were measured

As printed the algorithm uses 0 both for "no pivot" and as an end, and leaves the pivot itself out of every block; here
a block ends before the pivot, which begins the next one. It compares with `>=` where the text says "exceeds": with
times in steps of 8 cores and a threshold of 0, which load leads to, almost every layer is then a pivot and the
algorithm is layer-wise. Both are here: `is_literal` is the printed one.

A high threshold cuts nothing and runs the model as a whole, a low one cuts often: the opposite of what the text says
of high and low load.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .chain import Ints
from .quotas import Quotas


@dataclass(frozen=True)
class Block:
    """Layers that run on the same cores; the end is not among them."""

    first: int
    end: int
    cores: int


def pivots(quotas: Quotas, threshold: float, *, is_literal: bool = False) -> Ints:
    """Returns the layers at which blocks may begin, the first layer left out."""
    most = quotas.average + threshold
    high = quotas.need >= most if is_literal else quotas.need > most
    found: Ints = np.flatnonzero(high)
    return found


def block_of(quotas: Quotas, first: int, end: int) -> Block:
    """Returns the block of these layers, with the least cores that keep their quotas together."""
    before = quotas.chain.before_us
    left = quotas.before_us[end] - quotas.before_us[first]
    within = before[end] - before[first] <= left + 1e-6
    cores = quotas.chain.cores[int(within.argmax()) if within.any() else -1]
    return Block(first, end, int(cores))


def next_block(quotas: Quotas, first: int, threshold: float, *, is_literal: bool = False) -> Block:
    """Returns the block that begins at a layer."""
    behind = pivots(quotas, threshold, is_literal=is_literal)
    behind = behind[behind > first]
    return block_of(quotas, first, int(behind[0]) if behind.size else len(quotas.need))


def blocks(quotas: Quotas, threshold: float, *, is_literal: bool = False) -> list[Block]:
    """Returns all blocks of a model, one threshold for all."""
    cut: list[Block] = []
    while not cut or cut[-1].end < len(quotas.need):
        cut.append(next_block(quotas, cut[-1].end if cut else 0, threshold, is_literal=is_literal))
    return cut


def fixed_blocks(quotas: Quotas, length: int) -> list[Block]:
    """Returns blocks of so many layers each; 1: layer by layer."""
    ends = [*range(length, len(quotas.need), length), len(quotas.need)]
    return [block_of(quotas, first, end) for first, end in zip([0, *ends], ends, strict=False)]


def whole(quotas: Quotas) -> Block:
    """Returns the model as one block on its average cores."""
    return Block(0, len(quotas.need), quotas.average)


def spent(quotas: Quotas, cut: list[Block]) -> tuple[float, float]:
    """Returns the core-time and the time of a query that runs these blocks alone, ms."""
    before = quotas.chain.before_us
    us = [int((before[one.end] - before[one.first])[quotas.index_of(one.cores)]) for one in cut]
    return sum(one.cores * t for one, t in zip(cut, us, strict=True)) / 1000, sum(us) / 1000


def thresholds(averages: Ints, present: Ints, cores: int) -> Iterator[float]:
    """
    Yields each model's threshold: the idle cores, dealt by their averages (4.3).

    Parameters
    ----------
    averages, present
        Shape (model,): average cores, and queries in the system.
    """
    asked = int(averages @ present)
    idle = max(0, cores - asked)
    yield from (idle * float(average) / asked if asked else float(idle) for average in averages)
