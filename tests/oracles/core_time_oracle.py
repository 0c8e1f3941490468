"""The least core-time of a query by trying every sequence of counts; shares no code with the dynamic program."""

from itertools import product


def least_core_us(us, cores, limit_us, *, delta_us=0, most_cores=None, most_blocks=None):
    """Returns the least core-us, None: no sequence keeps the limit; `us`: rows of microseconds by count."""
    best = None
    for way in product(range(len(cores)), repeat=len(us)):
        if most_cores is not None and any(cores[c] > most_cores for c in way):
            continue
        changes = [layer for layer in range(1, len(us)) if way[layer] != way[layer - 1]]
        if most_blocks is not None and len(changes) + 1 > most_blocks:
            continue
        if sum(us[layer][c] for layer, c in enumerate(way)) + delta_us * len(changes) > limit_us:
            continue
        cost = sum(us[layer][c] * cores[c] for layer, c in enumerate(way))
        cost += sum(delta_us * cores[way[layer]] for layer in changes)
        best = cost if best is None else min(best, cost)
    return best
