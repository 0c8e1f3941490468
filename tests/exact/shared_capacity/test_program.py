"""The program over known contents: its best whole numbers by trying all, and that its prices prove what it says."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp

from sliceplan.solver.exact.shared_capacity import program as module
from sliceplan.solver.exact.shared_capacity.asked_rows import DEAR, AskedRows
from sliceplan.solver.exact.shared_capacity.prices import MasterPrices, limit_at
from sliceplan.solver.exact.shared_capacity.program import MORE, best_mix, rank_of, value_of

NOTHING_FOUND = SimpleNamespace(has_primal_feasible_solution=lambda: False)


def content(gpu, rates, replicas):
    """Returns what stands on a GPU of a type: requests/s and residents of each workload."""
    return SimpleNamespace(
        gpu=SimpleNamespace(gpu=gpu), rates=lambda _: np.array(rates, float), replicas=lambda _: np.array(replicas)
    )


def drawn(seed):
    """Returns a small problem of two services and two GPU types, weights, and contents of which there is a plan."""
    draw = np.random.default_rng(seed)
    contents = [
        content("AB"[i % 2], draw.integers(1, 9, 2) * (replicas := draw.integers(0, 3, 2)) / 10, replicas)
        for i in range(5)
    ]
    some = draw.integers(0, 2, 5)
    counts = {name: int(some[i::2].sum()) + 1 for i, name in enumerate("AB")}
    carried = sum(n * one.rates(2) for n, one in zip(some, contents, strict=True)) + 1e-3
    number = sum(n * one.replicas(2) for n, one in zip(some, contents, strict=True))
    workloads = [
        SimpleNamespace(min_replicas=min(1, int(number[0])), max_replicas=int(number[0]) + 1),
        SimpleNamespace(min_replicas=int(number[1]), max_replicas=None),
    ]
    resolved = SimpleNamespace(
        required_rps=carried * 0.8,
        problem=SimpleNamespace(workloads=workloads),
        fleet=[SimpleNamespace(gpu=SimpleNamespace(name=name), available=n) for name, n in counts.items()],
    )
    return resolved, draw.uniform(0.1, 2, 2), contents, counts


def prices_of(asked, weights, contents, counts):
    rates, there = (np.array([one.rates(2) for one in contents]), np.array([one.replicas(2) for one in contents]))
    of_type = np.array([[one.gpu.gpu == name for one in contents] for name in counts], dtype=float)
    gpus = np.array(list(counts.values()), dtype=float)
    return asked.mix(rates @ weights, rates, there.astype(float), of_type, gpus)[0]


def value_by_trying(resolved, weights, contents, counts):
    """Returns the most that whole numbers of contents are worth; None: none carries the rates."""
    best = None
    for numbers in product(range(4), repeat=len(contents)):
        used = {
            name: sum(n for n, one in zip(numbers, contents, strict=True) if one.gpu.gpu == name) for name in counts
        }
        rates = sum(n * one.rates(2) for n, one in zip(numbers, contents, strict=True))
        there = sum(n * one.replicas(2) for n, one in zip(numbers, contents, strict=True))
        if (
            all(used[name] <= counts[name] for name in counts)
            and (rates >= resolved.required_rps * (1 - 1e-9)).all()
            and all(
                one.min_replicas <= n and (one.max_replicas is None or n <= one.max_replicas)
                for n, one in zip(there, resolved.problem.workloads, strict=True)
            )
        ):
            best = max(best or 0.0, float(weights @ rates))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_best_mix_is_that_of_trying_all_and_the_prices_prove_no_less(seed):
    resolved, weights, contents, counts = drawn(seed)
    best = value_by_trying(resolved, weights, contents, counts)
    asked = AskedRows.of(resolved)
    mix = best_mix(asked, weights, [], contents, counts, [], time_limit_s=10, gap=0.0)
    prices = prices_of(asked, weights, contents, counts)
    if best is None:
        assert not asked.are_met_by(mix)
        return
    assert asked.are_met_by(mix)
    assert value_of(weights, mix) == pytest.approx(best)
    worth = {
        name: max(
            0.0,
            *(
                float((weights + prices.of_rate) @ one.rates(2) + (prices.of_less - prices.of_more) @ one.replicas(2))
                for one in contents
                if one.gpu.gpu == name
            ),
        )
        for name in counts
    }
    limit = limit_at(resolved, prices, worth, counts)
    assert limit >= best
    # The best prices prove what a mixture of contents is worth, which no other prices do better.
    assert min(prices.of_rate.min(), prices.of_more.min(), prices.of_less.min()) >= 0
    assert prices.of_more[1] == 0
    assert limit == pytest.approx(mixture(resolved, weights, contents, counts), rel=1e-6)


def mixture(resolved, weights, contents, counts):
    """Returns the most that parts of contents are worth, by a program of its own."""
    rates, there = np.array([one.rates(2) for one in contents]).T, np.array([one.replicas(2) for one in contents]).T
    of_type = np.array([[one.gpu.gpu == name for one in contents] for name in counts], dtype=float)
    least = [one.min_replicas for one in resolved.problem.workloads]
    most = [np.inf if one.max_replicas is None else one.max_replicas for one in resolved.problem.workloads]
    rows = [
        LinearConstraint(rates, resolved.required_rps, np.inf),
        LinearConstraint(there, least, most),
        LinearConstraint(of_type, -np.inf, list(counts.values())),
    ]
    return -milp(-weights @ rates, constraints=rows, integrality=np.zeros(len(contents))).fun


def test_a_limit_is_what_gpus_are_worth_less_what_rates_and_least_replicas_take_and_more_by_the_greatest():
    workloads = [SimpleNamespace(min_replicas=2, max_replicas=5), SimpleNamespace(min_replicas=1, max_replicas=None)]
    resolved = SimpleNamespace(required_rps=np.array([10.0, 20.0]), problem=SimpleNamespace(workloads=workloads))
    prices = MasterPrices(np.array([0.5, 0.25]), np.array([3.0, 0.0]), np.array([1.0, 2.0]))
    limit = limit_at(resolved, prices, {"A": 40.0, "B": 7.0}, {"A": 2, "B": 3})
    assert limit == pytest.approx(80 + 21 - (5 + 5) + 15 - (2 + 2), rel=1e-8)
    assert limit > 102


def test_prices_on_the_way_to_others():
    one, other = (MasterPrices(*(np.array([at + i]) for i in range(3))) for at in (0.0, 10.0))
    between = one.between(other, 0.25)
    assert (between.of_rate[0], between.of_more[0], between.of_less[0]) == (2.5, 3.5, 4.5)


def problem(rates, replicas):
    """Returns what is asked: rates, and least and most replicas."""
    workloads = [SimpleNamespace(min_replicas=least, max_replicas=most) for least, most in replicas]
    return AskedRows.of(
        SimpleNamespace(required_rps=np.array(rates, float), problem=SimpleNamespace(workloads=workloads))
    )


@pytest.mark.parametrize(
    ("part", "most", "right"),
    [(1.0, 2, True), (1 - 1e-4, 2, False), (1.1, 2, True), (1.0, 1, False), (1 - 1e-10, 2, True)],
)
def test_contents_meet_every_rate_with_no_more_replicas_than_there_may_be(part, most, right):
    asked = problem([1.0, 2.0], [(1, most), (1, None)])
    assert asked.are_met_by([content("A", [1.0, 1.0], [1, 1]), content("A", [0.5, part], [1, 1])]) == right


def test_what_is_asked_beside_contents_is_what_they_leave():
    asked = problem([10.0, 4.0, 1.0], [(2, 3), (1, None), (1, 1)])
    rest = asked.beside([content("A", [4.0, 4.0 - 1e-10, 0.0], [1, 2, 0])])
    assert rest.required_rps.tolist() == [6.0, 0.0, 1.0]
    assert (rest.least.tolist(), rest.most.tolist()) == ([1.0, 0.0, 1.0], [2.0, np.inf, 1.0])
    assert rest.rate_rps.tolist() == [10.0, 4.0, 1.0]
    assert (rest.free.tolist(), rest.limited.tolist()) == ([True, False, False], [True, False, True])
    # What is left is met by what is lacking.
    assert rest.are_met_by([content("A", [6.0, 0.0, 1.0], [1, 0, 1])])
    assert not rest.are_met_by([content("A", [6.0, 0.0, 1.0], [3, 0, 1])])
    assert not rest.are_met_by([content("A", [5.9, 0.0, 1.0], [1, 0, 1])])
    assert asked.beside([]).required_rps.tolist() == [10.0, 4.0, 1.0]


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize(("least", "numbers"), [((1, 1), (1, 1)), ((1, 2), (0, 2)), ((2, 1), (1, 1)), ((3, 1), (1, 1))])
def test_rates_and_least_replicas_are_kept_where_contents_without_are_worth_more(least, numbers, unit):
    """Two GPUs; the first content carries ten of one service, the second one of each. Whatever a request/s counts."""
    contents = [content("A", [10.0, 0.0], [1, 0]), content("A", [1.0, 1.0], [1, 1])]
    asked = problem([1.0, 1.0], [(one, None) for one in least])
    found = best_mix(asked, np.full(2, unit), [], contents, {"A": 2}, [], time_limit_s=10, gap=0.0)
    assert [sum(one is own for one in found) for own in contents] == list(numbers)
    # Three replicas have no place on two GPUs; the best lacks one.
    assert asked.are_met_by(found) == (least[0] < 3)


def test_nobody_goes_without_where_nobody_has_to():
    """On one GPU, of which a content that lacks a tenth of a rate counts a thousand times as much."""
    enough, more = content("A", [0.0, 1.0], [0, 1]), content("A", [1000.0, 0.9], [1, 1])
    asked = problem([1000.0, 1.0], [(0, None), (0, None)])
    asked = replace(asked, required_rps=np.array([0.0, 1.0]))
    for start, best in (([], [more]), ([more], [more]), ([enough], [enough])):
        assert best_mix(asked, np.ones(2), [], [enough, more], {"A": 1}, start, time_limit_s=10, gap=0.0) == best


@pytest.mark.parametrize(("rps", "asked_more"), [(1.0, 0.0), (1.0 + 1e-6, 0.0), (1.0 + 3e-6, MORE), (2.0, MORE)])
def test_a_little_more_than_a_rate_is_asked_for_where_it_is_there_to_begin_with(rps, asked_more, monkeypatch):
    """So that the solver's tolerance leaves the whole rate, and the choice to begin with stays one."""
    models = []
    monkeypatch.setattr(module, "run_highs", lambda model, *_, **__: models.append(model) or NOTHING_FOUND)
    asked, start = problem([1.0], [(0, None)]), [content("A", [rps], [1])]
    best_mix(asked, np.ones(1), [], start, {"A": 1}, start, time_limit_s=1, gap=0.0)
    (row, *_) = models[0].linear_constraints()
    assert row.lower_bound == pytest.approx(1.0 + asked_more, abs=1e-9)


def test_what_goes_without_counts_before_what_is_carried():
    asked = problem([10.0, 4.0, 1.0], [(2, 3), (1, None), (1, 1)])
    some = [content("A", [4.0, 4.0, 0.0], [1, 2, 0])]
    weights = np.array([1.0, 2.0, 0.0])
    # Some of a rate, a replica of the first and that of the third, whose rate comes with it.
    assert rank_of(asked, weights, some) == (-(1 + 2), pytest.approx(12.0))
    assert rank_of(asked, weights, some) > rank_of(asked, 100 * weights, [])
    assert value_of(weights, some) == 12.0


def test_no_price_is_beyond_what_going_without_costs():
    """A service that no content has, and one that all have too little of."""
    asked = problem([10.0, 4.0], [(1, None), (1, None)])
    found = prices_of(asked, np.ones(2), [content("A", [2.0, 0.0], [1, 0])], {"A": 1})
    assert (found.of_rate * asked.rate_rps + found.of_less).tolist() == pytest.approx([DEAR * 2] * 2)
