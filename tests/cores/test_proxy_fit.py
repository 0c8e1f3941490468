"""The interference proxy: against fits by another method, each row left out in turn."""

import random
from fractions import Fraction

import numpy as np
import pytest

from sliceplan.solver.cores.proxy_fit import CounterTable, fit_proxy
from sliceplan.solver.model.errors import InputError


def table(rows, levels, names=None):
    counters = np.array(rows, dtype=float)
    return CounterTable("t", tuple(names or (f"c{k}" for k in range(counters.shape[1]))), counters, np.array(levels))


def drawn(seed, rows=12, counters=2):
    draw = random.Random(seed)
    found = [[draw.randint(0, 9) * 10 ** (6 * k) for k in range(counters)] for _ in range(rows)]
    levels = [1 + draw.random() + sum(row[k] / 10 ** (6 * k) for k in range(counters)) / 3 for row in found]
    return found, levels


def exact_fit(rows, levels):
    """Returns a_0, a_1, ... by the normal equations in fractions, solved by Gauss and Jordan."""
    columns = [[Fraction(1), *map(Fraction, row)] for row in rows]
    size = len(columns[0])
    system = [
        [sum(row[i] * row[j] for row in columns) for j in range(size)]
        + [sum(row[i] * Fraction(level) for row, level in zip(columns, levels, strict=True))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = next(j for j in range(i, size) if system[j][i])
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [value / system[i][i] for value in system[i]]
        for j in range(size):
            if j != i:
                system[j] = [a - system[j][i] * b for a, b in zip(system[j], system[i], strict=True)]
    return [row[-1] for row in system]


@pytest.mark.parametrize("seed", range(10))
def test_the_formula_is_that_of_least_squares(seed):
    rows, levels = drawn(seed, counters=1 + seed % 3)
    found = fit_proxy(table(rows, levels))
    expected = exact_fit(rows, levels)
    assert found.intercept == pytest.approx(float(expected[0]))
    assert [one.coefficient for one in found.counters] == pytest.approx([float(a) for a in expected[1:]])
    errors = [
        abs(float(expected[0] + sum(a * v for a, v in zip(expected[1:], row, strict=True))) / level - 1)
        for row, level in zip(rows, levels, strict=True)
    ]
    assert (found.error.max, found.error.median) == pytest.approx((max(errors), float(np.median(errors))))


@pytest.mark.parametrize("seed", range(10))
def test_the_error_of_a_row_is_that_of_a_fit_without_it(seed):
    rows, levels = drawn(seed)
    known = [1, 2, 3, 5]
    errors, right = [], 0
    for left in range(len(rows)):
        fit = exact_fit(rows[:left] + rows[left + 1 :], levels[:left] + levels[left + 1 :])
        said = float(fit[0] + sum(a * v for a, v in zip(fit[1:], rows[left], strict=True)))
        errors.append(abs(said / levels[left] - 1))
        right += min(known, key=lambda k: abs(k - said)) == min(known, key=lambda k: abs(k - levels[left]))
    found = fit_proxy(table(rows, levels), known)
    assert (found.held_out.max, found.held_out.median) == pytest.approx((max(errors), float(np.median(errors))))
    assert found.nearest == pytest.approx(right / len(rows))


def test_levels_that_follow_from_the_counters_are_found_again():
    rows = [[m / 10, a * 1e8] for m in range(5) for a in range(4)]
    found = fit_proxy(table(rows, [1 + 2 * m + 3e-9 * a for m, a in rows], ("miss", "accesses")), [1, 2, 3])
    assert found.intercept == pytest.approx(1)
    assert [(one.name, one.coefficient) for one in found.counters] == [
        ("miss", pytest.approx(2)),
        ("accesses", pytest.approx(3e-9)),
    ]
    assert (found.explained, found.nearest) == (pytest.approx(1), 1)
    assert found.held_out.max < 1e-9
    assert found.level({"miss": 0.5, "accesses": 1e8}) == pytest.approx(2.3)
    assert found.level({"miss": -9, "accesses": 0}) == 1
    assert sum(one.alone for one in found.counters) == pytest.approx(1)  # the two vary independently


def test_a_row_that_determines_a_coefficient_has_no_error_without_it():
    found = fit_proxy(table([[0, 1], [0, 2], [0, 4], [5, 1], [0, 6]], [1, 1.1, 1.5, 2, 1.7]), [1, 2])
    assert found.held_out is None
    assert found.nearest is None


@pytest.mark.parametrize(
    ("rows", "levels", "said"),
    [
        ([[1, 2], [2, 3], [3, 5]], [1, 2, 3], "has 3 rows; expected 4 at least, for 2 counters"),
        ([[1], [2], [3], [4]], [2, 2, 2, 2], "level is 2 in every row"),
        ([[1, 2], [2, 4], [3, 6], [4, 8], [5, 10]], [1, 2, 3, 4, 6], "c1 is the same in every row, or follows"),
        ([[1, 7], [2, 7], [3, 7], [4, 7], [5, 7]], [1, 2, 3, 4, 6], "c1 is the same in every row, or follows"),
        ([[0], [0], [0], [0]], [1, 2, 3, 4], "c0 is the same in every row"),
    ],
)
def test_rows_that_say_too_little_are_refused(rows, levels, said):
    with pytest.raises(InputError) as error:
        fit_proxy(table(rows, levels))
    assert said in str(error.value)
