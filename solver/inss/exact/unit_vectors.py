"""All ways to deal at most so many units to a number of models, each at least so many."""

from itertools import combinations
from math import comb

import numpy as np

from ..latency import Ints


def unit_vectors(units: int, least: Ints) -> Ints:
    """Returns them, shape (vector, model): stars and bars, with the units left over as one part more."""
    free = units - int(least.sum())
    count = len(least)
    if free < 0:
        return np.empty((0, count), dtype=np.int64)
    number = comb(free + count, count)
    bars = np.fromiter(
        (bar for bars in combinations(range(free + count), count) for bar in bars), dtype=np.int64, count=number * count
    ).reshape(number, count)
    parts = np.diff(bars, axis=1, prepend=-1) - 1
    return parts + least
