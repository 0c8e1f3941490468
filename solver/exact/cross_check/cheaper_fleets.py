"""
The fleets that cost less than a plan, by the number of GPUs of each type: exact however near prices are to each other.

A solver compares costs within its tolerances, so it cannot tell a cost from one that is nearly the same. It need not:
prices are decimals and GPUs come whole, so the fleets that cost less than a known plan, and no less than a bound that
leaves the solver its tolerance, are few, and integers tell them apart. Whether one of them carries the workloads is
then a question about GPUs alone (interval_packing.py).
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import gcd, lcm

MOST_TRIED = 200_000
"""Numbers of GPUs that are looked at."""

MOST_FLEETS = 200
"""Fleets that one program may choose from."""

Fleet = tuple[int, ...]
"""GPUs of each type."""


def in_steps(prices: Sequence[float]) -> tuple[list[int], Fraction]:
    """Returns prices as whole numbers of steps, and the step: the greatest amount of which all are multiples."""
    exact = [Fraction(f"{price:.12g}") for price in prices]  # the decimals that were written, to 12 digits
    common = lcm(*(price.denominator for price in exact))
    whole = [int(price * common) for price in exact]
    step = gcd(*whole)
    return [price // step for price in whole], Fraction(step, common)


def cheaper_fleets(
    prices: Sequence[int], available: Sequence[int | None], *, least: int, below: int
) -> list[Fleet] | None:
    """
    Returns fleets of which each that costs at least `least` and less than `below` is a part; None: too many to list.

    Those returned cost less than `below` too. A fleet is part of another with as many GPUs of each type, or more: what
    serves on the part serves on the whole.

    Parameters
    ----------
    prices
        Steps, by GPU type.
    available
        GPUs that there are, by type; None: as many as needed.
    """
    last = min(range(len(prices)), key=lambda g: prices[g])  # most of it fit into what is left, so it is filled up
    tried = islice(_counts(prices, available, last, below), MOST_TRIED + 1)
    found: list[Fleet] = []
    for number, (fleet, cost) in enumerate(tried):
        if number == MOST_TRIED or len(found) == MOST_FLEETS:
            return None
        if cost >= least:
            found.append(fleet)
    return found


def _counts(
    prices: Sequence[int], available: Sequence[int | None], last: int, below: int
) -> Iterator[tuple[Fleet, int]]:
    """Yields all numbers of GPUs of the other types that cost less, with as many of the last as there can be."""

    def filled(counts: Fleet, cost: int) -> Iterator[tuple[Fleet, int]]:
        g = len(counts)
        if g == len(prices):
            more = _most(prices[last], available[last], below - cost)
            yield (*counts[:last], more, *counts[last + 1 :]), cost + more * prices[last]
            return
        most = 0 if g == last else _most(prices[g], available[g], below - cost)
        for count in range(most + 1):
            yield from filled((*counts, count), cost + count * prices[g])

    yield from filled((), 0)


def _most(price: int, available: int | None, below: int) -> int:
    """Returns the most GPUs that cost less together than an amount above 0."""
    affordable = (below - 1) // price
    return affordable if available is None else min(affordable, available)
