"""Some models that stand for all."""

import numpy as np

from ...performance.interference.prediction import Floats
from ..latency import Ints

SOME = 125
"""Enough to tell prices of what all share: the others are as near to them as to each other."""


def some_of(like: Floats, most: int = SOME) -> Ints:
    """Returns at most so many models, ascending, evenly taken in the order of a figure of theirs, shape (model,)."""
    count = len(like)
    if count <= most:
        return np.arange(count)
    order = np.argsort(like, kind="stable")
    return np.sort(order[((np.arange(most) + 0.5) * count / most).astype(np.int64)])
