"""Contents of shares and the fewest GPUs for small cases, in plain loops that share no code with the planners."""

from itertools import combinations, product

import numpy as np


def drawn(rng, services, batches=4):
    """Returns latencies of services by batch that rise with it, some unknown, and SLOs."""
    latency = np.array([np.cumsum([rng.uniform(0.5, 3) for _ in range(batches)]) for _ in range(services)])
    latency[:, -1] = np.where([rng.random() < 0.3 for _ in range(services)], np.inf, latency[:, -1])
    return latency, np.array([rng.uniform(2, 25) for _ in range(services)])


def enumerated(latency, slo_ms, slots_kept):
    """Yields (capacities, round) of every legal content, one by one."""
    services, batches = latency.shape
    for size in range(1, services + 1):
        for members in combinations(range(services), size):
            for own in product(range(batches), repeat=size):
                times = [latency[i, b] for i, b in zip(members, own, strict=True)]
                total = sum(times)
                waits = [total + (time if slots_kept else total) for time in times]
                if all(wait <= slo_ms[i] for i, wait in zip(members, waits, strict=True)):
                    carried = [0.0] * services
                    for i, b in zip(members, own, strict=True):
                        carried[i] = 1000 * (b + 1) / total
                    yield carried


def fewest(latency, slo_ms, rate, divisions, most, slots_kept=True):
    """Returns the fewest GPUs that serve the rates, all combinations of contents tried; None: more than `most`."""
    by_share = {
        share: [np.minimum(one, rate) for one in enumerated(own, slo_ms, slots_kept)] for share, own in latency.items()
    }
    of_gpu = []
    for division in divisions:
        for chosen in product(*([*by_share[share], np.zeros(len(rate))] for share in division)):
            of_gpu.append(np.sum(chosen, axis=0))
    of_gpu = np.array(of_gpu)
    of_gpu = _kept(np.minimum(of_gpu, rate))
    carried = np.zeros((1, len(rate)))
    for gpus in range(1, most + 1):
        carried = np.minimum((carried[:, None] + of_gpu[None]).reshape(-1, len(rate)), rate)
        carried = _kept(carried)
        if np.any(np.all(carried >= rate * (1 - 1e-9), axis=1)):
            return gpus
    return None


def _kept(rows):
    """Returns the rows that no other one equals or exceeds in all columns."""
    found = []
    for row in sorted(set(map(tuple, rows.tolist())), key=sum, reverse=True):
        if not any(all(a >= b for a, b in zip(other, row, strict=True)) for other in found):
            found.append(row)
    return np.array(found)
