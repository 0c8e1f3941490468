"""
What plans with turns cost at least where the shares of GPUs under MPS slow each other: GPUs of all types dealt.

Each service pays the least that it does on any type (dealt_time.py) or on partitions of other kinds, at some prices of
these; where GPUs of other kinds are worth more than they cost at these prices, all that is paid is divided by it, as in
crowds.py. Weights of one type are looked for beside what services pay on the others.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.mps_sharing import MpsType
from .dealt_time import DealtTime
from .time_needed import Needs

LATER = 3.0
"""How many times as much time as before has gone by until all services are asked again what they pay."""

RESERVE = 2.0
"""How many times as long as it took last is left for asking all services at the end."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """A GPU type under MPS whose shares slow each other."""

    usd: float
    mps: MpsType
    kinds: Sequence[Ints]
    """Services that it may serve, by kind."""


class TimeDealing:
    """What services pay at least, which becomes more."""

    def __init__(self, types: Sequence[Dealt], needs: Needs, elsewhere: Floats, dearest: float) -> None:
        """
        Takes GPU types, and services by what they ask.

        Parameters
        ----------
        elsewhere
            Shape (service,): what each pays at least on partitions of other kinds, at some prices; inf: it cannot.
        dearest
            The greatest worth of a GPU of other kinds at these prices, as a part of its own.
        """
        self._usd = np.array([one.usd for one in types])
        self._searches = [DealtTime(one.mps, one.kinds, needs) for one in types]
        self._elsewhere, self._dearest = elsewhere, dearest
        self._pays = np.full((len(types), len(elsewhere)), np.inf)

    def cost(self, wanted_usd: float, deadline: float) -> float:
        """
        Returns what any plan costs at least, USD per hour; 0: nothing was found until `deadline`.

        `wanted_usd`: with so much, no more is looked for. `deadline` is as time.monotonic() has it.
        """
        begun = time.monotonic()
        best, asked_s, ask_at = 0.0, 0.0, begun
        while True:
            can_part = [self._improve(g, deadline) for g in range(len(self._searches))]
            now = time.monotonic()
            last = not any(can_part) or now + RESERVE * asked_s >= deadline
            if last or now >= ask_at:
                found = self._asked(deadline)
                if found is None:
                    return best
                best, after = max(best, found), time.monotonic()
                asked_s, ask_at = after - now, begun + LATER * (after - begun)
            if last or best >= wanted_usd:
                return best

    def _improve(self, g: int, deadline: float) -> bool:
        """Deals the GPUs of a type better; tells whether they may be dealt better still."""
        others = np.delete(self._pays, g, axis=0).min(axis=0, initial=np.inf)
        return self._searches[g].run(np.minimum(others, self._elsewhere) / self._usd[g], deadline)

    def _asked(self, deadline: float) -> float | None:
        """Returns what all services pay together; None: not in time."""
        for g, search in enumerate(self._searches):
            paid = search.paid(deadline)
            if paid is None:
                return None
            self._pays[g] = self._usd[g] * paid
        least = float(np.minimum(self._pays.min(axis=0), self._elsewhere).sum())
        # What can be nowhere pays more than can be said.
        return least / max(1.0, self._dearest) if np.isfinite(least) else 0.0
