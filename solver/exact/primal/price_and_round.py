"""
The best integer plan of covers, by programs over more and more undecided workloads until one costs what is proven.

First what a fractional plan leaves open (lp_rounding.py), which nearly always is enough; then the classes of which the
prices say least.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from ..cost_lattice import NO_GAP
from ..covers.undecided_classes import UndecidedClasses
from ..dual.supply import Supply
from ..proof import is_within
from .lp_rounding import rounded_covers
from .restricted_master import Choice, ChosenCovers

BESIDE_SPLIT = (0, 40, 160)
"""Classes in the program beside those that a fractional plan splits, first and where the last one leaves a gap."""

FEW_CLASSES = (400, 800, 1_500)
"""Classes of undecided workloads in the program, first and where the last one leaves a gap."""

MANY_CLASSES = (1_500, 6_000)
"""The same where counts are limited, so that too few undecided workloads may leave no plan at all."""

GOOD_ENOUGH = 1e-5
"""Gap with which no larger program is tried."""

LAST_RESORT_S = 1.0
"""Time for a plan of everyone's cheapest covers where none was found in time: a program of a few rows."""


FIRST_LOOK_S = 0.5
"""When a first plan is wanted. HiGHS names none before it ends, so a program that goes on then is begun anew."""

LOOKS = 8
"""How many first looks long a program may be that begins with one, at least: it shall cost it little."""


class Choose(Protocol):
    """choose_covers with all that is the same in every program."""

    def __call__(self, near: UndecidedClasses, *, most_classes: int, time_limit_s: float) -> Choice: ...


class OnBetter(Protocol):
    """Called with every plan that is better than those before."""

    def __call__(self, chosen: ChosenCovers) -> None: ...


def best_covers(
    near: UndecidedClasses,
    supply: Supply,
    choose: Choose,
    *,
    known: ChosenCovers | None = None,
    target: float,
    gap: float,
    fewest_slices: bool,
    on_better: OnBetter,
    deadline: float,
) -> Choice:
    """
    Returns the best plan of the programs, and whether a time limit ended one of them, or their sequence.

    Parameters
    ----------
    known
        A plan to begin with; None: there is none. One of the same cost is taken instead where slices count.
    target
        Cost of which it is proven that no plan costs less, or with which any plan will do; the search ends at it.
    gap
        To the target, with which the search may end too.
    fewest_slices
        Whether `choose` looks for fewest slices too, which takes many classes, at once.
    deadline
        As time.monotonic() has it.
    """
    best = known
    first: ChosenCovers | None = None  # of a look: the answer only where no program gives one
    limited = False
    for program in _programs(near, supply, fewest_slices, deadline):
        left = deadline - time.monotonic()
        limited |= program is None or left <= 0
        if left <= 0:
            break
        if program is None:
            continue
        choose_these = partial(choose, program.near, most_classes=program.most_classes)
        is_look = best is None and first is None and left / 2 > LOOKS * FIRST_LOOK_S
        choice = choose_these(time_limit_s=FIRST_LOOK_S if is_look else left / 2)
        if is_look and choice.limited:
            if choice.covers is not None:
                first = choice.covers
                on_better(first)
            choice = choose_these(time_limit_s=(deadline - time.monotonic()) / 2)
        limited |= choice.limited
        if choice.covers is not None and _is_better(choice.covers, best, or_as_cheap=fewest_slices and best is known):
            best = choice.covers
            on_better(best)
        if best is not None and is_within(max(gap, program.enough), best.cost, target):
            break
    if best is None:
        best = first or choose(near, most_classes=0, time_limit_s=LAST_RESORT_S).covers
    return Choice(best, limited)


def _is_better(one: ChosenCovers, other: ChosenCovers | None, *, or_as_cheap: bool) -> bool:
    return other is None or one.cost < other.cost or (or_as_cheap and one.cost <= other.cost * (1 + NO_GAP))


@dataclass(frozen=True)
class _ClassesProgram:
    """One try at an integer plan."""

    near: UndecidedClasses
    most_classes: int
    enough: float
    """Gap with which the next one is not tried."""


def _programs(
    near: UndecidedClasses, supply: Supply, fewest_slices: bool, deadline: float
) -> Iterator[_ClassesProgram | None]:
    """Yields the programs to try, one after the other, as long as a gap is left; None: some were not found in time."""
    classes = FEW_CLASSES if np.isinf(supply.available).all() else MANY_CLASSES
    of_classes = [_ClassesProgram(near, most, GOOD_ENOUGH) for most in classes]
    if fewest_slices:
        yield from of_classes
    try:
        rounded = rounded_covers(near, supply, time_limit_s=(deadline - time.monotonic()) / 2)
    except TimeoutError:
        yield None
    else:
        yield from (_ClassesProgram(rounded, most, 0.0) for most in BESIDE_SPLIT if rounded is not None)
    if not fewest_slices:
        yield from of_classes
