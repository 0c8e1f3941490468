"""
The best integer plan of covers, by programs over more and more undecided workloads until one costs what is proven.

First what a known plan has, if there is one; then what a fractional plan leaves open (rounded_covers.py), which nearly
always is enough; then the classes of which the prices say least.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .choosing_covers import ChosenCovers
from .near_covers import NearCovers
from .rounded_covers import rounded_covers
from .slice_prices import Supply

BESIDE_SPLIT = (0, 40, 160)
"""Classes in the program beside those that a fractional plan splits, first and where the last one leaves a gap."""

FEW_CLASSES = (400, 800, 1_500)
"""Classes of undecided workloads in the program, first and where the last one leaves a gap."""

MANY_CLASSES = (1_500, 6_000)
"""The same where counts are limited, so that too few undecided workloads may leave no plan at all."""

GOOD_ENOUGH = 1e-5
"""Gap with which no larger program is tried."""

NO_GAP = 1e-9
"""Gap that is rounding."""

LAST_RESORT_S = 1.0
"""Time for a plan of everyone's cheapest covers where none was found in time: a program of a few rows."""


class Choose(Protocol):
    """choose_covers with all that is the same in every program."""

    def __call__(self, near: NearCovers, *, most_classes: int, time_limit_s: float) -> ChosenCovers | None: ...


class OnBetter(Protocol):
    """Called with every plan that is better than those before."""

    def __call__(self, chosen: ChosenCovers) -> None: ...


def best_covers(
    near: NearCovers,
    supply: Supply,
    choose: Choose,
    *,
    target: float,
    fewest_slices: bool,
    on_better: OnBetter,
    deadline: float,
) -> ChosenCovers | None:
    """
    Returns the best plan of the programs; None: there is none, or no time.

    Parameters
    ----------
    target
        Cost of which it is proven that no plan costs less, or with which any plan will do; the search ends at it.
    fewest_slices
        Whether `choose` looks for fewest slices too, which takes many classes, at once.
    deadline
        As time.monotonic() has it.
    """
    best: ChosenCovers | None = None
    for program in _programs(near, supply, fewest_slices, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        found = choose(program.near, most_classes=program.most_classes, time_limit_s=left / 2)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
            on_better(best)
        if best is not None and best.cost <= target * (1 + program.enough):
            break
    return best or choose(near, most_classes=0, time_limit_s=LAST_RESORT_S)


@dataclass(frozen=True)
class _Program:
    """One try at an integer plan."""

    near: NearCovers
    most_classes: int
    enough: float
    """Gap with which the next one is not tried."""


def _programs(near: NearCovers, supply: Supply, fewest_slices: bool, deadline: float) -> Iterator[_Program]:
    """Yields the programs to try, one after the other, as long as a gap is left."""
    if near.kept is not None:
        yield _Program(replace(near, decided=near.kept), 0, NO_GAP)
    classes = FEW_CLASSES if np.isinf(supply.available).all() else MANY_CLASSES
    of_classes = [_Program(near, most, GOOD_ENOUGH) for most in classes]
    if fewest_slices:
        yield from of_classes
    rounded = rounded_covers(near, supply, time_limit_s=(deadline - time.monotonic()) / 2)
    if rounded is not None:
        yield from (_Program(rounded, most, NO_GAP) for most in BESIDE_SPLIT)
    if not fewest_slices:
        yield from of_classes
