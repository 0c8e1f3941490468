"""Small drawn problems of counted GPUs whose cuts are told, and every plan of them; for what looks at cuts alone."""

from itertools import product
from types import SimpleNamespace

import numpy as np

CUTS = {"A": [(2, 0, 0), (1, 1, 0), (0, 1, 0)], "B": [(0, 0, 1)], "none": []}
"""GPU type -> partitions of each size; the last one can be cut in no way."""


def told(monkeypatch, *modules):
    """Lets modules know these cuts, which are pairs of a type and its counts."""
    for module in modules:
        monkeypatch.setattr(
            module, "patterns_of", lambda _, entry: [(entry.gpu.name, cut) for cut in CUTS[entry.gpu.name]]
        )
        monkeypatch.setattr(module, "counts_of", lambda _, pattern: np.array(pattern[1]))


def drawn_cuts(seed, *, limited=True, services=3):
    """Returns what modules read of a problem of few services, two sizes of one GPU type and one of another."""
    draw = np.random.default_rng(seed)
    capacity = draw.choice([0.0, 4.0, 7.0, 10.0, 12.5], (services, 3))
    capacity[:, 0] = np.maximum(capacity[:, 0], 4.0)
    least = draw.integers(1, 3, services).tolist()
    most = [int(own + draw.integers(0, 3)) if limited and draw.random() < 0.4 else None for own in least]
    fleet = [
        SimpleNamespace(gpu=SimpleNamespace(name=gpu), available=count)
        for gpu, count in (("A", int(draw.integers(1, 4))), ("B", int(draw.integers(0, 3))), ("none", 5))
    ]
    return SimpleNamespace(
        sizes=[None] * 3,
        capacity_rps=capacity,
        required_rps=draw.choice([0.5, 3.0, 8.0, 11.0], services),
        fleet=fleet,
        gap=0.0,
        problem=SimpleNamespace(
            workloads=[SimpleNamespace(min_replicas=a, max_replicas=b) for a, b in zip(least, most, strict=True)],
            settings=SimpleNamespace(capacity_weights="equal"),
        ),
    )


def supplies(problem):
    """Yields how many partitions of each size all GPUs have, however they are cut."""
    of_types = []
    for entry in problem.fleet:
        have = {(0, 0, 0)}
        for _ in range(entry.available):
            have |= {tuple(map(sum, zip(one, cut, strict=True))) for one in have for cut in CUTS[entry.gpu.name]}
        of_types.append(have)
    for ways in product(*of_types):
        yield tuple(map(sum, zip(*ways, strict=True)))


def plans(problem, *, least_kept=True):
    """Yields the partitions of each service, shape (service, size), of every plan, among which are all best ones."""
    services = len(problem.required_rps)
    dealt = {
        number: [one for one in product(range(number + 1), repeat=services) if sum(one) <= number]
        for number in range(20)
    }
    there_are = set(supplies(problem))
    for supply in there_are:
        if any(other != supply and all(map(int.__ge__, other, supply)) for other in there_are):
            continue
        for ways in product(*(dealt[number] for number in supply)):
            own = np.array(ways).T
            replicas = own.sum(axis=1).tolist()
            enough = ((own * problem.capacity_rps).sum(axis=1) >= problem.required_rps).all()
            if enough and all(
                (one.min_replicas if least_kept else 0) <= number <= (one.max_replicas or number)
                for one, number in zip(problem.problem.workloads, replicas, strict=True)
            ):
                yield own


def most_of(problem, weights, **options):
    """Returns the most weighted requests/s of all plans; None: there is no plan."""
    values = [float((weights[:, None] * problem.capacity_rps * own).sum()) for own in plans(problem, **options)]
    return max(values, default=None)
