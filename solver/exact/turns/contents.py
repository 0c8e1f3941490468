"""
What a share may serve: sets of services with a batch each, in rounds without idle time.

A content of a share is a set S of services with batches b. Its round is d = sum over S of l_i(b_i), and it is legal if
each request is in time, d + l_i <= SLO_i (slots are kept) or 2 d <= SLO_i (any order). It carries 1000 b_i / d of each,
or of a percentile what performance/turns/turn_rule.py says; where that is nothing, the service is better left out.
Idle time never helps: a longer round of the same batches lowers every capacity and lengthens every wait.

Capacity beyond a service's rate is worth nothing, so capacities are cut at the rates; then a content that another one
of the same share equals or exceeds in all services is not needed in any plan. Where a service may have so many replicas
only, the other one must be none for it if this one is not; it is one for all that this one serves, so that limits from
below are no matter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.turns.turn_rule import TOLERANCE, TurnRule


@dataclass(frozen=True, eq=False)
class Contents:
    """Contents of shares of one size; arrays have shape (content, service)."""

    batch: Ints
    """0: the service has no turn."""
    capacity_rps: Floats
    round_ms: Floats
    """Shape (content,)."""

    def at_rates(self, rate_rps: Floats, limited: Sequence[int] = ()) -> "Contents":
        """
        Returns the contents that a plan may need at these rates, with capacities beyond them cut off.

        `limited`: services that may have so many replicas only.
        """
        capacity = np.minimum(self.capacity_rps, rate_rps)
        absent = (self.batch[:, list(limited)] == 0).astype(np.float64)
        kept = undominated(np.hstack([capacity, absent]))
        return Contents(self.batch[kept], capacity[kept], self.round_ms[kept])


def contents_of(
    latency_ms: Floats,
    sets: Sequence[tuple[int, ...]],
    rule: TurnRule,
    *,
    most_rows: int = 1 << 24,
    rate_rps: Floats | None = None,
) -> Contents:
    """
    Returns the contents of a share that no other content of the same services equals or exceeds.

    Parameters
    ----------
    latency_ms
        Shape (service, batch): of batches 1, 2, ... alone; inf: not known, or not allowed.
    sets
        Which services may take turns together.
    most_rows
        Of a set with more combinations of batches only some batch sizes are tried, evenly spread; all that are found
        are legal, but there may be more.
    rate_rps
        Shape (service,): capacities beyond are not told apart; None: all are.
    """
    services = len(rule.slo_ms)
    batches: list[Ints] = []
    capacities: list[Floats] = []
    rounds: list[Floats] = []
    for members in sets:
        found = _of_set(latency_ms, members, rule, most_rows)
        if found is None:
            continue
        own, carried, round_ms = found
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
    latency_ms: Floats, members: tuple[int, ...], rule: TurnRule, most_rows: int
) -> tuple[Ints, Floats, Floats] | None:
    """Returns batches and capacities, shape (content, member), and rounds of what is legal of a set; None: nothing."""
    allowed = [np.flatnonzero(2 * latency_ms[i] <= rule.slo_ms[i] * (1 + TOLERANCE)) for i in members]
    if any(not one.size for one in allowed):
        return None
    each = max(1, int(most_rows ** (1 / len(members)) + 1e-9))
    allowed = [
        one if one.size <= each else one[np.linspace(0, one.size - 1, each).round().astype(int)] for one in allowed
    ]
    grid = np.stack(np.meshgrid(*allowed, indexing="ij"), axis=-1).reshape(-1, len(members))
    who = np.broadcast_to(np.array(members), grid.shape)
    time_ms = latency_ms[who, grid]
    round_ms = time_ms.sum(axis=1)
    length = np.broadcast_to(round_ms[:, None], grid.shape)
    carried = rule.carried_rps(who, grid + 1, time_ms if rule.slots_kept else length, length)
    legal = np.all(carried > 0, axis=1)
    return (grid[legal] + 1, carried[legal], round_ms[legal]) if legal.any() else None


def undominated(capacity: Floats) -> Ints:
    """Returns the rows that no other row equals or exceeds in all columns; of equal rows the first, in their order."""
    left = np.argsort(-capacity.sum(axis=1), kind="stable")
    found = []
    while left.size:
        best, left = left[0], left[1:]
        found.append(int(best))
        left = left[np.any(capacity[left] > capacity[best], axis=1)]
    return np.array(sorted(found), dtype=np.int64)
