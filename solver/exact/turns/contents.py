"""
What a share may serve: sets of services with a batch each, in rounds without idle time.

A content of a share is a set S of services with batches b. Its round is d = sum over S of l_i(b_i), and it is legal if
each request is in time, d + l_i <= SLO_i (slots are kept) or 2 d <= SLO_i (any order). It carries 1000 b_i / d of each.
Idle time never helps: a longer round of the same batches lowers every capacity and lengthens every wait.

Capacity beyond a service's rate is worth nothing, so capacities are cut at the rates; then a content that another one
of the same share equals or exceeds in all services is not needed in any plan.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...performance.interference.prediction import Floats, Ints

TOLERANCE = 1e-9
"""Part of an SLO by which rounding may exceed it."""


@dataclass(frozen=True, eq=False)
class Contents:
    """Contents of shares of one size; arrays have shape (content, service)."""

    batch: Ints
    """0: the service has no turn."""
    capacity_rps: Floats
    round_ms: Floats
    """Shape (content,)."""

    def at_rates(self, rate_rps: Floats) -> "Contents":
        """Returns the contents that a plan may need at these rates, with capacities beyond them cut off."""
        capacity = np.minimum(self.capacity_rps, rate_rps)
        kept = undominated(capacity)
        return Contents(self.batch[kept], capacity[kept], self.round_ms[kept])


def contents_of(
    latency_ms: Floats,
    slo_ms: Floats,
    sets: Sequence[tuple[int, ...]],
    *,
    slots_kept: bool,
    most_rows: int = 1 << 24,
    rate_rps: Floats | None = None,
) -> Contents:
    """
    Returns the contents of a share that no other content of the same services equals or exceeds.

    Parameters
    ----------
    latency_ms
        Shape (service, batch): of batches 1, 2, ... alone; inf: not known, or not allowed.
    slo_ms
        Shape (service,): what waiting and execution may take together.
    sets
        Which services may take turns together.
    most_rows
        Of a set with more combinations of batches only some batch sizes are tried, evenly spread; all that are found
        are legal, but there may be more.
    rate_rps
        Shape (service,): capacities beyond are not told apart; None: all are.
    """
    services = len(slo_ms)
    batches: list[Ints] = []
    capacities: list[Floats] = []
    rounds: list[Floats] = []
    for members in sets:
        found = _of_set(latency_ms, slo_ms, members, slots_kept, most_rows)
        if found is None:
            continue
        own, round_ms = found
        carried = 1000.0 * own / round_ms[:, None]
        kept = undominated(carried if rate_rps is None else np.minimum(carried, rate_rps[list(members)]))
        batch = np.zeros((len(kept), services), dtype=np.int64)
        capacity = np.zeros((len(kept), services))
        batch[:, list(members)], capacity[:, list(members)] = own[kept], carried[kept]
        batches.append(batch)
        capacities.append(capacity)
        rounds.append(round_ms[kept])
    empty = np.zeros((0, services))
    return Contents(
        np.concatenate([empty.astype(np.int64), *batches]),
        np.concatenate([empty, *capacities]),
        np.concatenate([np.zeros(0), *rounds]),
    )


def all_sets(services: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Yields all sets of 1 to `most` services."""
    for size in range(1, most + 1):
        yield from combinations(services, size)


def _of_set(
    latency_ms: Floats, slo_ms: Floats, members: tuple[int, ...], slots_kept: bool, most_rows: int
) -> tuple[Ints, Floats] | None:
    """Returns batches, shape (content, member), and rounds of the legal contents of a set; None: there are none."""
    allowed = [np.flatnonzero(2 * latency_ms[i] <= slo_ms[i] * (1 + TOLERANCE)) for i in members]
    if any(not one.size for one in allowed):
        return None
    each = max(1, int(most_rows ** (1 / len(members)) + 1e-9))
    allowed = [
        one if one.size <= each else one[np.linspace(0, one.size - 1, each).round().astype(int)] for one in allowed
    ]
    grid = np.stack(np.meshgrid(*allowed, indexing="ij"), axis=-1).reshape(-1, len(members))
    time_ms = latency_ms[list(members), grid]
    round_ms = time_ms.sum(axis=1)
    takes_ms = round_ms[:, None] + (time_ms if slots_kept else round_ms[:, None])
    legal = np.all(takes_ms <= slo_ms[list(members)] * (1 + TOLERANCE), axis=1)
    return (grid[legal] + 1, round_ms[legal]) if legal.any() else None


def undominated(capacity: Floats) -> Ints:
    """Returns the rows that no other row equals or exceeds in all columns; of equal rows the first, in their order."""
    left = np.argsort(-capacity.sum(axis=1), kind="stable")
    found = []
    while left.size:
        best, left = left[0], left[1:]
        found.append(int(best))
        left = left[np.any(capacity[left] > capacity[best], axis=1)]
    return np.array(sorted(found), dtype=np.int64)


def _spread(size: int, most: int) -> Ints:
    """Returns all of so many indices, or some of them, the first and the last one among them."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.int64))
