"""
GPUs of all types under MPS dealt to their residents: what every rate takes of them at least.

For services whose rates may be split over GPUs, or that may be on partitions too. Where all are whole and on GPUs under
MPS alone, their prices prove more (surroundings/).
"""

import time
from collections.abc import Sequence

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem
from ..covers.dealt_rates import DealtRates
from ..mps.items import classes_of
from .asking import Asking
from .deal import DealSearch
from .resident_covers import LEVELS

MOST_CLASSES = 5_000
"""Classes of alike services up to which GPUs are dealt."""

SAFE = 1 - 1e-6
"""What is dealt is multiplied by, against rounding in sums."""


class Dealing:
    """What is dealt of the GPUs of each type; it becomes more."""

    def __init__(self, resolved: ResolvedProblem, enough: Floats | None = None) -> None:
        """
        Takes what services cost elsewhere, in GPUs of each type under MPS, shape (workload, type).

        None, inf: they can be nowhere else.
        """
        self._classes = classes_of(resolved)
        self._number = np.zeros(len(resolved.required_rps), dtype=np.int64)
        for c, members in enumerate(self._classes):
            self._number[list(members)] = c
        self._types: list[tuple[np.ndarray, DealSearch] | None] = []
        for g, mps in enumerate(resolved.mps.values()):
            here, asking = asking_of(resolved, mps, self._classes, None if enough is None else enough[:, g])
            self._types.append((here, DealSearch(mps, asking)) if here.size else None)

    def improve(self, deadline: float) -> None:
        """Deals each type better, until `deadline`, as time.monotonic() has it."""
        searches = [own[1] for own in self._types if own is not None]
        for turn, search in enumerate(searches):
            now = time.monotonic()
            search.run(now + (deadline - now) / (len(searches) - turn))

    @property
    def is_done(self) -> bool:
        """Whether no type can be dealt better."""
        return not any(own is not None and own[1].can_part for own in self._types)

    def rates(self) -> DealtRates:
        """Returns what all services take."""
        classes, types = len(self._classes), len(self._types)
        least = np.full((classes, types, LEVELS + 1), np.inf)
        least[:, :, 0] = 0.0
        for g, own in enumerate(self._types):
            if own is not None:
                here, search = own
                least[here, g] = search.covers().cost * SAFE
        return DealtRates(least[self._number])


def asking_of(
    resolved: ResolvedProblem, mps: MpsType, classes: Sequence[tuple[int, ...]], enough: Floats | None = None
) -> tuple[Ints, Asking]:
    """
    Returns the classes of alike services that a GPU of a type may host, in order of kind and rate, and what they ask.

    `enough`: what services cost elsewhere, in GPUs of the type, shape (workload,); None: they can be nowhere else.
    """
    first = np.array([members[0] for members in classes], dtype=np.int64)
    here = np.flatnonzero(mps.usable[first] & (mps.demand_mib[first] <= mps.memory_mib))
    here = here[np.lexsort((resolved.required_rps[first[here]], mps.kind[first[here]]))]
    rows = first[here]
    asking = Asking(
        rows,
        np.array([float(len(classes[c])) for c in here.tolist()]),
        np.full(len(rows), np.inf) if enough is None else enough[rows],
        resolved.limit_ms[rows],
        resolved.required_rps[rows],
        np.array([resolved.problem.workloads[w].max_replicas == 1 for w in rows.tolist()], dtype=bool),
        None if mps.promise is None else mps.promise.of(rows),
    )
    return here, asking


def can_deal(resolved: ResolvedProblem) -> bool:
    """
    Tells whether there are GPUs under MPS that can be dealt to their residents, and no better bound than that.

    There is where all services are whole and nowhere but on such GPUs: by surroundings.
    """
    if resolved.problem.settings.mps_rules != "free":
        return False
    splits = any(workload.max_replicas != 1 for workload in resolved.problem.workloads)
    return bool(resolved.mps) and (splits or bool(resolved.capacity_rps.any()))


def promised(resolved: ResolvedProblem) -> bool:
    """Tells whether what residents carry is by a rule of requests that wait."""
    return any(mps.promise is not None for mps in resolved.mps.values())
