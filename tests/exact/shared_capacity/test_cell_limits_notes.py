"""Who may be in a cell, what sets of residents are noted as, and shares dealt where stages differ by cell."""

from dataclasses import replace

import numpy as np
import pytest
from problems.mps_draws import small_gpus

from sliceplan.solver.allocation.allocated import Resident
from sliceplan.solver.exact.shared_capacity import cell_limits as module
from sliceplan.solver.exact.shared_capacity.cell_limits import CellLimits
from sliceplan.solver.exact.shared_capacity.dealing import dealt

from .test_dealing import best_of_all, drawn
from .test_each_content import looked_at


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def problems(number):
    return filter(None, (looked_at(seed, 2) for seed in range(number)))


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_who_is_worth_something_alone_is_hopeful_and_nobody_else(unit):
    """Property: each choice in turn at a price of a resident just below what it carries alone, and just above."""
    for figures, _, price, charge, _ in problems(12):
        every = figures.choices
        alone = figures.carried_beside(every, every.demands, 1)
        price, charge = price * unit, charge.copy()
        assert (alone > 0).all()
        for one in range(0, len(every), 1 + len(every) // 8):
            w = every.workload[one]
            for part, there in ((0.999, True), (1.001, False)):
                charge[w] = part * price[w] * alone[one]
                hopeful = CellLimits(figures, price, charge).hopeful
                assert (one in hopeful) == (there and price[w] > 0)
                worth = price[every.workload] * alone - charge[every.workload]
                assert set(hopeful) == {i for i in range(len(every)) if worth[i] > 0}


def test_sets_are_noted_once_and_without_who_is_there_too_often():
    judged = 0
    for figures, choices, price, charge, _ in problems(40):
        light = {}
        for w, batch, units in zip(choices.workload, choices.batch, choices.units, strict=True):
            light.setdefault(int(w), Resident(int(w), int(batch), figures.mps.percent_of(int(units))))
        for w, one in light.items():
            search = CellLimits(figures, price, charge)
            search.note([])
            search.note([[], [one, one]])
            met = [content.gpu.residents for content in search.contents()]
            assert all(residents.count(one) == 1 for residents in met) or not figures.once[w]
            if not met:
                continue
            assert len(met) == 1
            search.note([[one], [one], [one, one]])
            assert len(search.contents()) == 1 + (not figures.once[w])
            worth = [content.worth(figures.counted, price, charge) for content in search.contents()]
            assert worth == sorted(worth, reverse=True)
            assert search.best == max(0.0, *worth)
            judged += bool(figures.once[w])
    assert judged > 3


@pytest.mark.parametrize("seed", range(6))
def test_cells_in_which_different_workloads_have_stages_are_dealt_as_any(seed):
    """Property: also where one has none, and another all."""
    worth, once, _ = drawn(seed)
    residents = np.full(3, 3)
    apart = np.arange(3)[:, None] > np.arange(3)[None, :]
    found = dealt(worth, once | True, residents, apart, np.zeros(3))
    for cell, number in enumerate(residents.tolist()):
        assert found.most[cell] == pytest.approx(best_of_all(worth[cell], once | True, number)[-1])


def test_each_resident_has_the_batch_size_that_is_worth_most_in_its_cell():
    several = 0
    for seed, (figures, _, price, charge, cell) in enumerate(problems(30)):
        search = CellLimits(figures, price, charge)
        lower = replace(cell, low=tuple(0.3 * one for one in cell.low))
        cells = [search.opened(one) for one in (lower, cell)]
        there = module._Cells.of(figures, price, charge, cells, search._carried(cells))
        priced = np.random.default_rng(seed).uniform(0, 1, len(there.value))
        every = list(
            zip(there.cell.tolist(), there.choices.workload.tolist(), there.choices.units.tolist(), strict=True)
        )
        placed = [tuple(sorted({(w, units) for row, w, units in every if row == at})) for at in (0, 1)]
        worth = there.worth(priced)
        for at, (own, found) in enumerate(zip(placed, there.chosen(priced, placed), strict=True)):
            for (w, units), i in zip(own, found.tolist(), strict=True):
                alike = [j for j, key in enumerate(every) if key == (at, w, units)]
                assert i == max(alike, key=lambda j: priced[j])
                assert worth[at, w, units] == priced[i]
                several += len(alike) > 1
    assert several > 10
