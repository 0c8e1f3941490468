"""Cells of contents as arrays: every content is in one, whatever was divided, and carries no more than its entries."""

import numpy as np
import pytest
from problems.mps_draws import small_gpus

from sliceplan.solver.allocation.allocated import Resident
from sliceplan.solver.exact.shared_capacity.dealt_resources import alike as alike_module
from sliceplan.solver.performance.resolve import resolve

from .test_resource_prices import counted, shared


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def contents_of(figures, draw, tries=200):
    """Yields random contents of a GPU."""
    choices, mps = figures.choices, figures.mps
    for _ in range(tries if len(choices) else 0):
        some = draw.integers(0, len(choices), draw.integers(1, 5))
        if choices.units[some].sum() > mps.capacity_units or len(some) > mps.clients:
            continue
        content = figures.content(
            [
                Resident(int(choices.workload[i]), int(choices.batch[i]), mps.percent_of(int(choices.units[i])))
                for i in some
            ]
        )
        if content is not None:
            yield content


@pytest.mark.parametrize("seed", range(0, 24, 2))
def test_every_content_is_in_a_cell_in_which_its_residents_may_carry_so_much(seed):
    """Property: of the first cells, and after cells that are drawn were divided twice."""
    problem, profiles, weights = counted(seed)
    resolved = resolve(problem, profiles)
    draw = np.random.default_rng(seed)
    for own in shared(resolved, weights)[0]:
        figures = own.figures
        for _ in range(3):
            for content in contents_of(figures, draw, 40):
                asked, n = figures.asked(content), len(content.gpu.residents)
                cells = own.cells
                inside = (cells.fewest <= n) & (n <= cells.most)
                inside &= (cells.low <= asked * (1 + 1e-9)).all(axis=1) & (asked <= cells.high * (1 + 1e-9)).all(axis=1)
                assert inside.any()
                for k in np.flatnonzero(inside).tolist():
                    for one, carried in zip(content.gpu.residents, content.carried, strict=True):
                        j = next(j for j, a in enumerate(own.alike) if one.workload in a.members)
                        alike, entries = own.alike[j], own.entries[j]
                        units = round(one.percent / figures.mps.unit_percent)
                        same = (entries.cell == k) & (entries.units == units)
                        same &= alike.choices.batch[entries.choice] == one.batch
                        (e,) = np.flatnonzero(same).tolist()
                        member = alike.members.tolist().index(one.workload)
                        assert entries.carried_rps[e] >= carried * (1 - 1e-9)
                        assert entries.latency_ms[e] <= alike.limit_ms[member] * (1 + 1e-9)
            some = draw.choice(len(own.cells), min(4, len(own.cells)), replace=False).tolist()
            cells, was = own.parts(some)
            assert (np.diff(was) >= 0).all()
            own.take(cells)


def test_weights_are_rounded_up_to_few():
    """No service counts less than it does, and where there are few weights each keeps its own."""
    draw = np.random.default_rng(0)
    weights = draw.uniform(1, 2, 50)
    found = alike_module._rounded_up(weights)
    assert (found >= weights).all()
    assert len(np.unique(found)) <= alike_module.MOST_WEIGHTS
    assert found.max() == weights.max()
    few = draw.choice([1.0, 1.5, 1.25], 20)
    assert (alike_module._rounded_up(few) == few).all()
