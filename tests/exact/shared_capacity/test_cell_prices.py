"""Prices of parts of contents, against every content of small GPUs: what they prove, and the cells they come with."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.mps_oracle import STRICT, Oracle, Task
from oracles.shared_capacity_oracle import contents, most_capacity
from problems.mps_draws import small_gpus
from scipy.optimize import linprog

from sliceplan.solver.exact.shared_capacity import cell_prices
from sliceplan.solver.exact.shared_capacity.alone import prices_of_units
from sliceplan.solver.exact.shared_capacity.asked_rows import DEAR, AskedRows
from sliceplan.solver.exact.shared_capacity.cell_prices import prices_in_cells
from sliceplan.solver.exact.shared_capacity.cells import Cell
from sliceplan.solver.exact.shared_capacity.content_limit import content_limit
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.prices import MasterPrices, limit_at
from sliceplan.solver.performance.resolve import resolve

from .test_figures import figures as simple
from .test_shared_capacity import SAME, counted

SEEDS = (2, 6, 18, 32)


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def priced(seed):
    """Returns a drawn problem, its profiles, figures and counts, and the prices in cells."""
    problem, profiles = counted(seed)
    resolved = resolve(problem, profiles)
    figures = [Figures.of(resolved, mps) for mps in resolved.mps.values()]
    counts = {entry.gpu.name: entry.available for entry in resolved.fleet}
    weights = np.ones(len(problem.workloads))
    start = prices_of_units(figures, weights, resolved.required_rps, counts)
    found = prices_in_cells(resolved, figures, weights, counts, start, deadline=time.monotonic() + 60)
    return problem, profiles, resolved, figures, counts, found


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proven_in_the_cells_of_the_prices_is_no_less_than_any_plan(seed):
    """Property: by every content of every GPU; the cells hold each of them."""
    problem, profiles, resolved, figures, counts, found = priced(seed)
    weights = np.ones(len(problem.workloads))
    price, charge = found.prices.of(weights)
    assert min(own.min() for own in (found.prices.of_rate, found.prices.of_more, found.prices.of_less)) >= 0
    worth = {}
    oracle = Oracle(problem, profiles, STRICT)
    tasks = [
        Task(w, None, oracle.required[w] if one.max_replicas == 1 else 1e-12) for w, one in enumerate(problem.workloads)
    ]
    for own in figures:
        gpu = own.mps.gpu
        limit = content_limit(
            own, price, charge, within=found.cells[gpu], gap=0.0, cells=30, deadline=time.monotonic() + 60
        ).limit
        of_gpu = contents(oracle, tasks, [one.max_replicas or 99 for one in problem.workloads], gpu)
        assert limit >= max(float(price @ rates - charge @ residents) for rates, residents in of_gpu) * (1 - SAME)
        worth[gpu] = limit
    best = most_capacity(problem, profiles, weights, STRICT)
    assert best is None or limit_at(resolved, found.prices, worth, counts) >= best * (1 - SAME)


def test_without_time_one_program_of_the_first_cells_is_solved_and_its_prices_bound(monkeypatch):
    """It is begun in any case, so that there are prices; nothing is divided or joined after that."""
    monkeypatch.setattr(cell_prices, "_divided", None)
    solved, calls = cell_prices._solved, []
    monkeypatch.setattr(cell_prices, "_solved", lambda *of: calls.append(of) or solved(*of))
    problem, profiles = counted(SEEDS[0])
    resolved = resolve(problem, profiles)
    figures = [Figures.of(resolved, mps) for mps in resolved.mps.values()]
    counts = {entry.gpu.name: entry.available for entry in resolved.fleet}
    weights = np.ones(len(problem.workloads))
    start = prices_of_units(figures, weights, resolved.required_rps, counts)
    found = prices_in_cells(resolved, figures, weights, counts, start, deadline=0.0)
    assert len(calls) == 1
    assert set(found.cells) == {one.mps.gpu for one in figures}
    # Where the program is not solved in time, the prices are those to begin with.
    monkeypatch.setattr(cell_prices, "_solved", lambda *_: None)
    found = prices_in_cells(resolved, figures, weights, counts, start, deadline=0.0)
    assert found.prices is start


@pytest.mark.parametrize("seed", SEEDS)
def test_the_program_is_worth_no_less_than_any_plan(seed, monkeypatch):
    """Property: every plan is one of its solutions, in the first cells and in parts of them."""
    values = []
    solved = cell_prices._solved

    def noted(*arguments):
        answer = solved(*arguments)
        values.append(answer.value)
        return answer

    monkeypatch.setattr(cell_prices, "_solved", noted)
    problem, profiles, *_ = priced(seed)
    best = most_capacity(problem, profiles, np.ones(len(problem.workloads)), STRICT)
    # The last program of a round has all residents that it could use.
    assert best is None or values[-1] >= best * (1 - 1e-5)


CELLS = (Cell((1, 1), (0.0,), (3.0,)), Cell((2, 3), (2.0,), (5.0,)), Cell((2, 4), (12.0,), (20.0,)))


def opened(**options):
    """Returns cells of a GPU of four units in a model that can be said in a line."""
    return [cell_prices._open(simple(**options), cell) for cell in CELLS]


def test_a_cell_has_the_residents_that_carry_something_at_its_lower_end_and_what_they_take():
    """Of the units of a GPU, of its places, and of a channel in what one resident asks for at most."""
    of = simple()
    for cell, one in zip(CELLS, opened(), strict=True):
        carried = of.carried_among(of.choices, cell.low, cell.residents[0])
        assert 0 < (carried > 0).sum() <= len(of.choices)
        assert one.carried.tolist() == carried[carried > 0].tolist()
        assert one.choices.batch.tolist() == of.choices.batch[carried > 0].tolist()
        largest = of.choices.demands[0].max()
        assert one.takes.tolist() == [
            (one.choices.units / 4).tolist(),
            [1.0] * len(one.choices),
            (one.choices.demands[0] / largest).tolist(),
        ]
        assert one.has.tolist() == [1.0, cell.residents[1], cell.high[0] / largest]
        assert not one.joined.any()
        assert not one.price.any()
        one.price = np.array([2.0, 3.0, 5.0])
        price, charge = np.arange(1.0, 5.0), np.arange(4.0)
        expected = [
            price[w] * rps - charge[w] - (2 * units / 4 + 3 + 5 * asks / largest)
            for w, rps, units, asks in zip(
                one.choices.workload, one.carried, one.choices.units, one.choices.demands[0], strict=True
            )
        ]
        assert one.worth(price, charge) == pytest.approx(expected)
    assert len({len(one.choices) for one in opened()}) > 1


def test_a_part_of_a_cell_takes_over_residents_and_prices():
    _, whole, _ = opened()
    whole.joined[::2] = True
    whole.price = np.array([1.0, 2.0, 3.0])
    part = cell_prices._open(whole.figures, Cell((3, 3), (15.0,), (16.0,)), whole)
    rows = [
        [(int(w), int(u), int(b)) for w, u, b in zip(one.workload, one.units, one.batch, strict=True)]
        for one in (whole.choices, part.choices)
    ]
    assert 0 < len(rows[1]) < len(rows[0])
    assert part.joined.tolist() == [whole.joined[rows[0].index(row)] for row in rows[1]]
    assert part.price.tolist() == [1.0, 2.0, 3.0]


def test_the_best_residents_of_each_workload_join_that_are_worth_something():
    """At prices of 1 and 0.1 a request/s, and of one resident above all; who is there already joins no more."""
    cells = opened()
    none = np.zeros(4)
    prices = MasterPrices(none, np.array([0.0, 0.0, 1e9, 0.0]), none)
    weights = np.array([1.0, 0.1, 1.0, 1.0])
    cells[0].price[0] = 1.0
    expected = []
    for one in cells:
        worth = one.worth(weights, prices.of_more)
        best = {w: worth[one.choices.workload == w].max() for w in set(one.choices.workload.tolist())}
        expected.append(
            [bool(own == best[w] and w != 2) for w, own in zip(one.choices.workload.tolist(), worth, strict=True)]
        )
    assert cell_prices._join(cells, weights, prices, 1.0) == sum(map(sum, expected)) > 3
    assert [one.joined.tolist() for one in cells] == expected
    assert cell_prices._join(cells, weights, prices, 1.0) == 0
    # What is worth next to nothing for the most that a GPU is worth stays out.
    again = opened()
    assert cell_prices._join(again, weights, prices, 1e12) == 0
    # A cell without residents has none to join.
    late = cell_prices._open(simple(), Cell((4, 4), (1e6,), (1e7,)))
    assert (len(late.choices), cell_prices._join([late], weights, prices, 1.0)) == (0, 0)


def test_cells_that_hold_gpus_are_divided_where_they_are(monkeypatch):
    _, one, _ = opened()
    asked = []
    monkeypatch.setattr(cell_prices, "halves", lambda *of: asked.append(of) or CELLS[1:])
    one.gpus, one.taken = cell_prices.HOLDS, np.array([9.0, 9.0, 9.0])
    assert cell_prices._divided(one) == [one]
    one.gpus, one.taken = 4.0, np.array([0.0, 0.0, 2.0])
    assert [part.cell for part in cell_prices._divided(one)] == list(CELLS[1:])
    ((cell, totals, scale),) = asked
    assert (cell, totals, scale) == (one.cell, [pytest.approx(2 * one.scale[0] / 4)], one.scale)
    monkeypatch.setattr(cell_prices, "halves", lambda *_: None)
    assert cell_prices._divided(one) == [one]


def test_cells_come_by_type_those_that_hold_most_first_with_the_prices_of_what_is_asked_for():
    cells = [*opened(), *opened()]
    for i, one in enumerate(cells):
        one.gpus, one.price = [1.0, 3.0, 2.0, 0.0, 5.0, 0.5][i], np.array([9.0, 9.0, 6.0 + i])
        one.figures = SimpleNamespace(mps=SimpleNamespace(gpu="AB"[i // 3]))
    found = cell_prices._by_type(cells)
    order = {"A": [1, 2, 0], "B": [4, 5, 3]}
    for gpu, numbers in order.items():
        assert [one.cell for one in found[gpu]] == [cells[i].cell for i in numbers]
        multipliers = [one.multipliers for one in found[gpu]]
        assert multipliers == [(pytest.approx((6.0 + i) / cells[i].scale[0]),) for i in numbers]


@pytest.mark.parametrize("seed", range(6))
def test_the_program_has_all_residents_and_gpus_of_its_cells(seed):
    """Property: it is worth as much as one that is said by loops, and its prices prove no less."""
    draw = np.random.default_rng(seed)
    cells = opened()
    for one in cells:
        one.joined = draw.random(len(one.choices)) < 0.6
    weights = draw.uniform(0.5, 2, 4)
    limits = [(1, None), (1, 2), (2, None), (1, None)]
    resolved = SimpleNamespace(
        required_rps=draw.uniform(1, 8, 4),
        problem=SimpleNamespace(
            workloads=[SimpleNamespace(min_replicas=least, max_replicas=most) for least, most in limits]
        ),
    )
    answer = cell_prices._solved(cells, AskedRows.of(resolved), weights, {"A": 5}, 50.0, time.monotonic() + 60)
    columns = [(k, i) for k, one in enumerate(cells) for i in np.flatnonzero(one.joined)]
    n = len(columns)
    value = [-weights[cells[k].choices.workload[i]] * cells[k].carried[i] for k, i in columns]
    rows, most = [], []
    for w, (least, greatest) in enumerate(limits):
        own = [float(cells[k].choices.workload[i] == w) for k, i in columns]
        rps = [a * cells[k].carried[i] / resolved.required_rps[w] for a, (k, i) in zip(own, columns, strict=True)]
        without = [float(w == other) for other in range(4)]
        rows += [
            [*(-a for a in rps), 0, 0, 0, *(-a for a in without)],
            [*(-a for a in own), 0, 0, 0, *(-a for a in without)],
        ]
        most += [-1.0, -least]
        if greatest is not None:
            rows.append([*own, *[0] * 7])
            most.append(greatest)
    for k, one in enumerate(cells):
        for part in range(3):
            rows.append(
                [
                    *(one.takes[part, i] if k == own else 0.0 for own, i in columns),
                    *(-one.has[part] * (k == j) for j in range(3)),
                    *[0] * 4,
                ]
            )
            most.append(0.0)
    rows.append([*[0] * n, 1, 1, 1, *[0] * 4])
    most.append(5.0)
    expected = linprog([*value, 0, 0, 0, *[DEAR * 50.0] * 4], A_ub=rows, b_ub=most)
    assert answer.value == pytest.approx(-expected.fun, rel=1e-6)
    # Noted in the cells: what their GPUs hold, and at which prices nobody is worth more than they cost.
    cell_prices._note(cells, answer)
    price, charge = answer.prices.of(weights)
    assert sum(one.gpus for one in cells) <= 5 * (1 + 1e-9)
    for one in cells:
        assert (one.taken <= one.has * one.gpus + 1e-7).all()
        assert (one.price >= 0).all()
        assert one.worth(price, charge)[one.joined].max() <= 1e-6
    used = [one.taken for one in cells]
    at = np.cumsum([0] + [int(one.joined.sum()) for one in cells])
    for k, one in enumerate(cells):
        assert used[k] == pytest.approx(one.takes[:, one.joined] @ answer.columns[at[k] : at[k + 1]])


@pytest.fixture
def rounds(monkeypatch):
    """Returns a function that looks for prices where programs are worth so much; it lists the steps."""

    def searched(values, *, joins=(), cells=2, of_units=3.0, seconds_each=0.0, deadline=100.0):
        steps, now, left, joining = [], [0.0], list(values), list(joins)

        class Open(SimpleNamespace):
            pass

        def opened(_, name):
            choices = SimpleNamespace(workload=np.zeros(1, dtype=np.int64))
            return Open(name=name, choices=choices, carried=np.array([of_units]), takes=np.array([[0.5]]), price=[0.0])

        def joined(_, __, prices, most):
            steps.append(("join", prices, most))
            return joining.pop(0) if joining else 0

        def solved(own, *_):
            now[0] += seconds_each
            steps.append(("solve", len(own), [one.price[0] for one in own][:1]))
            value = left.pop(0)
            return None if value is None else SimpleNamespace(prices=f"prices of {value}", value=value)

        patched = {
            "time": SimpleNamespace(monotonic=lambda: now[0]),
            "AskedRows": SimpleNamespace(of=lambda _: None),
            "first_cells": lambda _: range(cells),
            "_open": opened,
            "_join": joined,
            "_solved": solved,
            "_note": lambda _, answer: steps.append(("note", answer.value)),
            "_divided": lambda one: [one, one],
            "_by_type": len,
        }
        for name, value in patched.items():
            monkeypatch.setattr(cell_prices, name, value)
        found = prices_in_cells(None, ["figures"], np.array([2.0]), {}, "start", deadline=deadline)
        return found, steps

    return searched


def test_residents_join_till_none_does_and_then_cells_are_divided(rounds):
    """A unit makes 2 x 3 / 0.5 at most, and costs half of that before there is a program."""
    found, steps = rounds([9.0, 8.0, 7.0, None], joins=[5, 1, 0, 4, 0])
    assert (found.prices, found.cells) == ("prices of 7.0", 8)
    assert steps == [
        ("join", "start", 12.0),
        ("solve", 2, [6.0]),
        ("note", 9.0),
        ("join", "prices of 9.0", 12.0),
        ("solve", 2, [6.0]),
        ("note", 8.0),
        ("join", "prices of 8.0", 12.0),
        ("join", "prices of 8.0", 12.0),
        ("solve", 4, [6.0]),
        ("note", 7.0),
        ("join", "prices of 7.0", 12.0),
        ("join", "prices of 7.0", 12.0),
        ("solve", 8, [6.0]),
    ]


@pytest.mark.parametrize(
    ("values", "options", "number"),
    [
        ([9.0] * 20, {}, 5),  # four further rounds lower it by nothing
        ([9.0 - 0.001 * i for i in range(20)], {}, 5),  # by four parts in nine thousand
        ([9.0 - 0.01 * i for i in range(20)], {"cells": 1}, 8),  # a hundred and twenty-eight cells
        ([9.0 - 0.01 * i for i in range(20)], {"cells": 120}, 1),
        ([9.0 - 0.01 * i for i in range(20)], {"cells": 119}, 2),
        ([9.0 - 0.01 * i for i in range(20)], {"seconds_each": 40.0}, 3),
        ([9.0 - 0.01 * i for i in range(20)], {"seconds_each": 50.0}, 2),
        ([9.0] * 20, {"joins": [1] * 99}, 5 * 6),
        ([9.0] * 20, {"joins": [1] * 99, "seconds_each": 34.0}, 3),
    ],
)
def test_there_are_no_more_rounds_than_help_or_than_there_are_cells_or_time_for(rounds, values, options, number):
    found, steps = rounds(values * 2, **options)
    solves = sum(step[0] == "solve" for step in steps)
    assert solves == number
    assert found.prices == f"prices of {(values * 2)[number - 1]}"


def test_where_nobody_carries_anything_prices_stay_those_to_begin_with(rounds):
    found, steps = rounds([], of_units=0.0)
    assert (found.prices, found.cells, steps) == ("start", {}, [])
