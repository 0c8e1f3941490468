"""Which residents get which share of a GPU, worth most together: a dynamic program over units and residents."""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints


@dataclass(frozen=True)
class Dealt:
    """The shares in units that are worth most together."""

    most: float
    of_units: Floats
    """Shape (unit + 1,): the most with at most so many units."""
    anybody: tuple[int, ...]
    """Of those who may be there any number of times."""
    once: tuple[tuple[int, int], ...]
    """Row and units of those who may be there once."""


def dealt(anybody: Floats, once: Floats, residents: int) -> Dealt:
    """
    Returns the shares of at most so many residents that fit together and are worth most.

    Parameters
    ----------
    anybody
        Shape (unit + 1,): what the best of those with any number of residents is worth with so many units; of 0: 0.
    once
        Shape (row, unit + 1): the same of each who may be there once.
    """
    units = len(anybody) - 1
    left = np.arange(units + 1)[:, None] - np.arange(units + 1)[None, :]
    fits, rest = left >= 0, np.maximum(left, 0)
    most = np.zeros((residents + 1, units + 1))
    """Shape (resident, unit): of at most so many residents with at most so many units."""
    taken: list[Ints] = []
    for k in range(1, residents + 1):
        options = np.where(fits, most[k - 1][rest] + anybody[None, :], -np.inf)
        taken.append(options.argmax(axis=1))
        most[k] = options.max(axis=1)
        if np.array_equal(most[k], most[k - 1]):  # nor do further residents add anything
            most[k:] = most[k]
            taken += [np.zeros(units + 1, dtype=np.int64)] * (residents - k)
            break
    useful = _useful(once, residents)
    chosen: list[Ints] = []
    for row in useful:
        options = np.where(fits, most[:-1][:, rest] + once[row][None, None, :], -np.inf)
        best = options.max(axis=2)
        is_better = best > most[1:]
        chosen.append(np.where(is_better, options.argmax(axis=2), 0))
        most = np.concatenate([most[:1], np.where(is_better, best, most[1:])])
    k, at = residents, units
    own: list[tuple[int, int]] = []
    for row, of_row in zip(reversed(useful), reversed(chosen), strict=True):
        share = int(of_row[k - 1, at]) if k else 0
        if share:
            own.append((row, share))
            k, at = k - 1, at - share
    shares = []
    for j in range(k, 0, -1):
        shares.append(int(taken[j - 1][at]))
        at -= shares[-1]
    return Dealt(float(most[residents, units]), most[residents], tuple(share for share in shares if share), tuple(own))


def _useful(once: Floats, residents: int) -> list[int]:
    """
    Returns the rows that some best choice is made of.

    Of those who may be there once, whoever has a share of u units in a choice and is not among the best K for u, K
    residents being allowed, leaves one of these K out of it, who is worth no less in its place. So there is a best
    choice of those alone who are among the best K for some share.
    """
    if not len(once):
        return []
    if len(once) <= residents:
        best = once > 0
    else:
        order = np.argsort(-once, axis=0, kind="stable")[:residents]
        best = np.zeros(once.shape, dtype=np.bool_)
        np.put_along_axis(best, order, np.take_along_axis(once, order, axis=0) > 0, axis=0)
    return [int(row) for row in np.flatnonzero(best.any(axis=1))]
