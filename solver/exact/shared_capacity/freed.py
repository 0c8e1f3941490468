"""
Better plans from a plan: some of its GPUs are freed, and filled anew as well as can be, again and again.

The prices of limits (near_prices.py) are such that plans of what is worth most there need not exist; so contents near
the best ones at the program's own prices join first, after which parts of contents carry almost as much as the limit
says. Those GPUs are freed most often that are worth least at the prices of the program over all contents: there a plan
loses what it lacks. What the workloads ask beyond what the other GPUs carry is a small problem of its own: contents
near those that its prices value most join the known ones, and whole numbers of the best of them are chosen by a program
(large neighbourhood search: Shaw, CP 1998).
"""

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...performance.interference.prediction import Floats
from .asked_rows import AskedRows
from .gpu_contents import Content, Counted, GpuContents
from .known import KnownContents
from .prices import MasterPrices
from .program import best_mix, rank_of

FREED, FREED_OF_MANY, MANY = (6, 14), (10, 24), 24
"""GPUs at a time, at least and at most; the same of a plan that has many, and how many GPUs these are."""

ROUNDS = 8
"""Times that contents near the best ones of the program over all join it before the first GPUs are freed."""

FIRST_NEAR = 8
"""Contents near which others are looked for there."""

NEAR = 4
"""Contents of a try near which others are looked for."""

TRIES, TRIES_OF_EACH = 10, 3
"""Tries in a row that find nothing after which there are no more: so many, and so many for each GPU."""

CONTENTS = 100, 300, 1000
"""Of each GPU type, of which whole numbers are chosen: as drawn, one of these."""

CHOOSING_S = 2.0
"""Seconds for that at most."""

GAP = 1e-4

ANY = 0.1
"""Of the mean that a GPU lacks: as if it lacked so much more."""


def better_plans(
    asked: AskedRows,
    weights: Floats,
    gpus: Mapping[str, int],
    plan: Sequence[Content],
    known: KnownContents,
    fleet: Sequence[GpuContents],
    *,
    deadline: float,
) -> Iterator[list[Content]]:
    """
    Yields ever better plans; that to begin with, and so others, may lack what some workloads ask for.

    Parameters
    ----------
    gpus
        GPU type -> how many there are.
    known
        Contents to choose from; those that are found on the way join them.
    """
    draw, now = random.Random(0), list(plan)
    prices = known.prices(asked, gpus)
    fruitless = 0
    while time.monotonic() < deadline and fruitless < TRIES + TRIES_OF_EACH * len(now):
        losses = _losses(now, weights, asked.rate_rps, prices, known.most(prices, gpus))
        order = sorted(range(len(now)), key=lambda i: -(draw.random() ** (1 / losses[i])))
        freed = set(order[: draw.randint(*(FREED_OF_MANY if len(now) >= MANY else FREED))])
        kept = [one for i, one in enumerate(now) if i not in freed]
        own = [one for i, one in enumerate(now) if i in freed]
        rest, left = asked.beside(kept), Counter(gpus)
        left.subtract(one.gpu.gpu for one in kept)
        usable = known.usable(rest, left)
        of_rest = known.prices(rest, left, usable)
        known.add_near(fleet, of_rest, NEAR, usable=usable, barred=rest.most == 0)
        usable, number = known.usable(rest, left), draw.choice(CONTENTS)
        few = dict.fromkeys(own)
        few |= dict.fromkeys(one for gpu in gpus for one in known.best_of(gpu, of_rest, usable)[:number])
        left_s = min(deadline - time.monotonic(), CHOOSING_S)
        if left_s <= 0:
            return
        found = best_mix(rest, weights, fleet, list(few), left, own, time_limit_s=left_s, gap=GAP)
        then = [*kept, *(own if found is None else found)]
        fruitless += 1
        if rank_of(asked, weights, then) > rank_of(asked, weights, now):
            now, fruitless = then, 0
            yield now


def join_near_program(
    asked: AskedRows, gpus: Mapping[str, int], known: KnownContents, fleet: Sequence[GpuContents], *, deadline: float
) -> None:
    """Lets contents near the best ones at the prices of the program over all contents join these."""
    prices = None
    for _ in range(ROUNDS):
        number = len(known)
        prices = known.mix(asked, gpus, at=prices).prices
        known.add_near(fleet, prices, FIRST_NEAR)
        if len(known) == number or time.monotonic() >= deadline:
            break


def _losses(
    plan: Sequence[Content], weights: Floats, rate_rps: Floats, prices: MasterPrices, most: Mapping[str, float]
) -> Floats:
    """
    Returns what the GPUs of a plan lack at prices of the best contents, shape (GPU,).

    In parts of the mean, and a little for each, so that any may be freed. `most`: what a content of each type is worth.
    """
    if not plan:
        return np.zeros(0)
    price, charge = prices.of(weights)
    counted = Counted(weights, rate_rps)
    lack = np.array([most[one.gpu.gpu] - one.worth(counted, price, charge) for one in plan])
    return np.asarray(np.maximum(lack, 0.0) / (float(lack.mean()) or 1.0) + ANY)
