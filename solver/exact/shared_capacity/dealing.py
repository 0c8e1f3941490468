"""Which residents get which share of a GPU, worth most together: a dynamic program over units and residents."""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

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
    every = np.concatenate([np.full((residents + 1, units), -np.inf), np.zeros((residents + 1, units + 1))], axis=1)
    most = every[:, units:]
    """Shape (resident, unit): of at most so many residents with at most so many units."""
    left = sliding_window_view(every, units + 1, axis=1)[:, ::-1].transpose(1, 0, 2)
    """Shape (share, resident, unit): `most` with so much less; -inf: that is more than there is."""
    for k in range(1, residents + 1):
        np.max(left[:, k - 1] + anybody[:, None], axis=0, out=most[k])
        if np.array_equal(most[k], most[k - 1]):  # nor do further residents add anything
            most[k:] = most[k]
            break
    of_anybody, before = most.copy(), []
    useful, shares_of = _useful(once, residents)
    for row, shares in zip(useful, shares_of, strict=True):
        before.append(most.copy())
        with_it = (left[shares, :-1] + once[row, shares][:, None, None]).max(axis=0)
        np.maximum(most[1:], with_it, out=most[1:])
    k, at, now = residents, units, most
    own: list[tuple[int, int]] = []
    for row, without in zip(reversed(useful), reversed(before), strict=True):
        if k and now[k, at] > without[k, at]:
            share = int((without[k - 1, at::-1] + once[row, : at + 1]).argmax())
            own.append((row, share))
            k, at = k - 1, at - share
        now = without
    placed: list[int] = []
    for j in range(k, 0, -1):
        if of_anybody[j, at] > of_anybody[j - 1, at]:
            placed.append(int((of_anybody[j - 1, at::-1] + anybody[: at + 1]).argmax()))
            at -= placed[-1]
    return Dealt(float(most[residents, units]), most[residents].copy(), tuple(placed), tuple(own))


def _useful(once: Floats, residents: int) -> tuple[list[int], list[Ints]]:
    """
    Returns the rows that some best choice is made of, and the shares in units of each.

    Of those who may be there once, whoever has a share of u units in a choice and is not among the best K for u, K
    residents being allowed, leaves one of these K out of it, who is worth no less in its place; and a share is of no
    use that is worth no more than a smaller one. So there is a best choice of those shares alone for which it is
    neither: an exchange makes it worth more, or take fewer units for as much, or rows that come first for as much.
    """
    if not len(once):
        return [], []
    best = once > np.maximum.accumulate(np.pad(once, ((0, 0), (1, 0)))[:, :-1], axis=1)
    if len(once) > residents:
        order = np.argsort(-once, axis=0, kind="stable")[residents:]
        np.put_along_axis(best, order, False, axis=0)
    rows, shares = np.nonzero(best)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    return rows[starts].tolist(), np.split(shares, starts)[1:]
