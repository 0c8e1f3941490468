"""The best content of a cell by looking at each: against every choice of residents, one by one."""

import itertools
import random
from types import SimpleNamespace

import numpy as np
import pytest
from problems.mps_draws import drawn, small_gpus

from sliceplan.solver.allocation.allocated import Resident
from sliceplan.solver.exact.shared_capacity import each_content
from sliceplan.solver.exact.shared_capacity.cells import Cell
from sliceplan.solver.exact.shared_capacity.each_content import best_content
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.performance.resolve import resolve

from .paid import all_paid

CHOICES = 14


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def looked_at(seed, number):
    """Returns what best_content is asked of a drawn problem: some choices, prices, and a cell of so many residents."""
    problem, profiles = drawn(seed)
    draw = random.Random(seed)
    fleet = tuple(one.model_copy(update={"sharing": ("mps",)}) for one in problem.fleet)
    workloads = tuple(
        one.model_copy(update={"rate_rps": one.rate_rps * 0.1, "max_replicas": draw.choice((None, 1))})
        for one in problem.workloads
    )
    settings = problem.settings.model_copy(update={"mps_rules": "free", "shadow_percent": 0.0})
    resolved = resolve(
        problem.model_copy(update={"fleet": fleet, "workloads": workloads, "settings": settings}), profiles
    )
    if not resolved.mps:
        return None
    figures = Figures.of(resolved, next(iter(resolved.mps.values())), all_paid(len(resolved.required_rps)))
    every = figures.choices
    if not len(every):
        return None
    kept = np.zeros(len(every), dtype=bool)
    kept[draw.sample(range(len(every)), min(CHOICES, len(every)))] = True
    choices = every.of(kept)
    sums = [sorted(own[draw.choices(range(len(choices)), k=number)].sum() for _ in range(2)) for own in choices.demands]
    cell = Cell((number, number), tuple(low for low, _ in sums), tuple(high for _, high in sums))
    price = np.array([draw.uniform(0.1, 1) for _ in workloads])
    charge = np.array([draw.uniform(-20, 5) for _ in workloads])
    return figures, choices, price, charge, cell


def one_by_one(figures, choices, price, charge, cell):
    """Returns the most that contents of the cell are worth, by the model's prediction of each; None: there is none."""
    most, number = None, cell.residents[1]
    mps = figures.mps
    for chosen in itertools.combinations_with_replacement(range(len(choices)), number):
        rows = list(chosen)
        workloads = choices.workload[rows].tolist()
        if any(figures.once[w] and workloads.count(w) > 1 for w in workloads):
            continue
        if choices.units[rows].sum() > mps.capacity_units:
            continue
        asked = [own[rows].sum() for own in choices.demands]
        if any(a < low or a > high for a, low, high in zip(asked, cell.low, cell.high, strict=True)):
            continue
        residents = [
            Resident(w, int(choices.batch[i]), mps.percent_of(int(choices.units[i])))
            for w, i in zip(workloads, rows, strict=True)
        ]
        found = mps.model.predict(
            np.array([workloads]),
            np.array([[one.batch for one in residents]]),
            np.array([[one.percent for one in residents]]),
        )
        if (found.latency_ms[0] > figures.limit_ms[workloads]).any():
            continue
        if (found.throughput_rps[0] < figures.least_rps[workloads]).any():
            continue
        worth = float((price[workloads] * found.throughput_rps[0] - charge[workloads]).sum())
        most = worth if most is None else max(most, worth)
    return most


def test_no_content_of_a_cell_is_worth_more_and_one_is_worth_as_much():
    """Property: of drawn problems, choices, prices and cells of one to four residents."""
    better = 0
    for seed, number in itertools.product(range(40), (1, 2, 3, 4)):
        drawn_cell = looked_at(seed, number)
        if drawn_cell is None:
            continue
        figures, choices, price, charge, cell = drawn_cell
        most = one_by_one(figures, choices, price, charge, cell)
        value = price[choices.workload] * figures.carried_among(choices, cell.low, number) - charge[choices.workload]
        for best in (0.0, 0.5 * (most or 0.0), 2 * abs(most or 1.0)):
            found = best_content(figures, choices, value, price, charge, cell, best)
            assert found.most == pytest.approx(max(best, most if most is not None else best), rel=1e-6), (seed, number)
            assert len(found.chosen) in (0, number)
            assert bool(found.chosen) == (found.most > best)
            better += bool(found.chosen)
    assert better > 20, better


def test_too_many_are_left_to_multipliers(monkeypatch):
    figures, choices, price, charge, cell = next(one for seed in range(40) if (one := looked_at(seed, 3)) is not None)
    value = np.full(len(choices), 1e6)
    monkeypatch.setattr(each_content, "MOST_TESTED", len(choices) - 1)
    assert best_content(figures, choices, value, price, charge, cell, 0.0) is None


def test_sets_that_are_left_may_be_as_many_as_are_allowed_and_no_more(monkeypatch):
    """Every choice alone is a set of a cell that ends nowhere."""
    figures, choices, price, charge, cell = next(one for seed in range(40) if (one := looked_at(seed, 1)) is not None)
    wide = Cell(cell.residents, (0.0,) * len(cell.low), (1e9,) * len(cell.high))
    value = np.full(len(choices), 1e6)
    monkeypatch.setattr(each_content, "MOST_SETS", len(choices))
    assert best_content(figures, choices, value, price, charge, wide, 0.0) is not None
    monkeypatch.setattr(each_content, "MOST_SETS", len(choices) - 1)
    assert best_content(figures, choices, value, price, charge, wide, 0.0) is None


def test_who_may_be_the_last_of_a_set_is_looked_up_by_the_thing_that_leaves_fewest(monkeypatch):
    """Of two sets and four choices the second thing leaves one choice each; all eight would be too many."""
    demands = np.array([[1.0, 1.0, 1.0, 1.0], [5.0, 2.0, 9.0, 4.0]])
    asked = np.array([[1.0, 1.0], [1.0, 3.0]])
    cell = Cell((2, 2), (0.0, 5.5), (9.0, 7.0))
    sets = SimpleNamespace(value=np.zeros(2), asked=asked)
    monkeypatch.setattr(each_content, "MOST_TESTED", 3)
    for things in ([0, 1], [1, 0]):
        of = Cell(cell.residents, tuple(np.array(cell.low)[things]), tuple(np.array(cell.high)[things]))
        row, one = each_content._with_one_more(
            SimpleNamespace(value=sets.value, asked=asked[things]), demands[things], of, is_last=True
        )
        assert sorted(zip(row.tolist(), one.tolist(), strict=True)) == [(0, 0), (1, 3)]
    monkeypatch.setattr(each_content, "MOST_TESTED", 1)
    assert each_content._with_one_more(sets, demands, cell, is_last=True) is None
    monkeypatch.setattr(each_content, "MOST_TESTED", 8)
    assert len(each_content._with_one_more(sets, demands, cell, is_last=False)[0]) == 8
    monkeypatch.setattr(each_content, "MOST_TESTED", 7)
    assert each_content._with_one_more(sets, demands, cell, is_last=False) is None
