"""Contents of a GPU under MPS that carry more, reached by the best small changes."""

from collections.abc import Iterator

import numpy as np

from ...allocation.allocated import MpsGpu, Resident
from ...performance.interference.prediction import Floats
from .figures import Figures
from .gpu_contents import Content

MOVES = 60
"""Of one GPU."""

BATCHES = 6
"""Batch sizes on either side that a change of shares tries too."""


def grown(figures: Figures, content: Content, weights: Floats, least: Floats) -> Content:
    """
    Returns a content that counts more, reached by units that go from one resident, or the rest, to another.

    `least`, shape (workload,): requests/s of each workload that stay on this GPU.
    """
    best = content
    for _ in range(MOVES):
        better = _best(figures, _changes(figures, best), weights, least)
        if better is None or weights @ better.rates(len(weights)) <= (weights @ best.rates(len(weights))) * (1 + 1e-9):
            return best
        best = better
    return best


def _changes(figures: Figures, content: Content) -> Iterator[tuple[Resident, ...]]:
    """Yields neighbouring contents of the same workloads."""
    assert isinstance(content.gpu, MpsGpu)
    mps, residents = figures.mps, content.gpu.residents
    units = [round(one.percent / mps.unit_percent) for one in residents]
    rest = mps.capacity_units - sum(units)
    for to in range(len(residents)):
        batches = figures.mps.batches[residents[to].workload]
        here = int(np.searchsorted(batches, residents[to].batch))
        sizes = batches[max(here - BATCHES, 0) : here + BATCHES + 1].tolist()
        for give in (-1, *range(len(residents))):
            for number in (0, 1, 2, 5) if give == -1 else (1, 2, 5):
                left = rest if give == -1 else units[give] - mps.least_units
                if give == to or number > left:
                    continue
                for size in sizes:
                    changed = list(residents)
                    more = mps.percent_of(units[to] + number)
                    changed[to] = Resident(residents[to].workload, size, more)
                    if give >= 0:
                        less = mps.percent_of(units[give] - number)
                        changed[give] = Resident(residents[give].workload, residents[give].batch, less)
                    yield tuple(changed)


def _best(figures: Figures, changes: Iterator[tuple[Resident, ...]], weights: Floats, least: Floats) -> Content | None:
    """Returns the content that counts most of those that keep what is asked; None: none does."""
    some = list(changes)
    if not some:
        return None
    workload = np.array([[one.workload for one in residents] for residents in some])
    batch = np.array([[one.batch for one in residents] for residents in some])
    percent = np.array([[one.percent for one in residents] for residents in some])
    _, carried = figures.beside_one_another(workload, batch, percent)
    kept = (carried > 0).all(axis=1) & _keeps(workload, carried, least)
    counted = np.where(kept, (weights[workload] * carried).sum(axis=1), -np.inf)
    at = int(counted.argmax())
    return figures.content(some[at]) if kept[at] else None


def _keeps(workload: np.ndarray, rps: Floats, least: Floats) -> np.ndarray:
    """Tells which contents keep what is asked of this GPU, shape (content,)."""
    kept = np.ones(len(workload), dtype=np.bool_)
    for w in set(workload[0].tolist()):
        kept &= np.where(workload == w, rps, 0.0).sum(axis=1) >= least[w]
    return kept
