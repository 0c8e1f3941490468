"""Random services that take turns, and sizes of partitions, as the packing has them."""

import numpy as np

from sliceplan.solver.exact.turns.columns.slots import Slots
from sliceplan.solver.performance.turns.turn_rule import TurnRule

MANY = 1_200
"""Services of more patience than lengths of rounds are looked at."""

BATCHES = (1, 2, 4, 8)


def drawn_turns(rng, services, *, slots_kept):
    """Returns the rule of services, and the rates that each needs."""
    slo_ms = np.array([rng.uniform(40, 300) for _ in range(services)])
    return TurnRule(slo_ms, slots_kept), np.array([rng.uniform(1, 20) for _ in range(services)])


def drawn_slots(rng, rule, rate_rps, sizes, *, memory=False):
    """Returns partitions with 1, 3, ... parts of the compute of a GPU, on which a batch takes the less the more."""
    many = len(rate_rps)
    first, each = ([rng.uniform(*between) for _ in range(many)] for between in ((0.5, 6), (0.3, 3)))
    found = []
    for size in sizes:
        latency_ms = np.array([[(a + b * n) * (3 / size) for n in BATCHES] for a, b in zip(first, each, strict=True)])
        batch = np.tile(BATCHES, (many, 1))
        can = rule.alone_rps(batch, latency_ms)
        mib = np.array([[rng.uniform(500, 2500)] * len(BATCHES) if memory else [0.0] * len(BATCHES) for _ in first])
        found.append(
            Slots(
                "A", f"{size}", can.max(axis=1), can.argmax(axis=1), batch, latency_ms, mib, capacity_mib=5000.0 * size
            )
        )
    return found
