"""How long a search may take, and when it is over."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from ...runtime.interruption import interruption

IsOver = Callable[[], bool]


@dataclass(frozen=True)
class Effort:
    """How long is looked for what; whatever ends first."""

    seconds: float
    tries: int = 10**7
    """Moves of models, for each of two decisions."""
    turns: int = 10**4
    """Prices that are tried."""

    def parts(self, *shares: float) -> tuple[IsOver, ...]:
        """Returns what tells whether these parts of the time are over from now on, or somebody interrupted."""
        begun, stop = time.monotonic(), interruption()

        def over(share: float) -> IsOver:
            end = begun + share * self.seconds
            return lambda: time.monotonic() >= end or (stop is not None and stop.is_set())

        return tuple(map(over, shares))


def never_over() -> bool:
    """Tells that there is always time."""
    return False
