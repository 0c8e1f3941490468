"""The latency model: running times from few points, interference, and the coefficients that measurements give."""

import json
from collections import defaultdict

import numpy as np
import pytest
from problems.igniter_instances import SOLO_TABLES
from problems.inss_instances import random_inss_problem, series, six_models
from support.needs import PUBLISHED, skip_without

from sliceplan.solver.inss.fitting import fit_crowd, fit_l2, fit_sensitivity, running_error
from sliceplan.solver.inss.latency import latencies_of
from sliceplan.solver.inss.running_times import least_squares, locally_weighted, running_ms, terms
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.inss_problem import Running

MODELS = ("alexnet", "resnet50", "vgg19", "ssd")


@pytest.fixture(scope="module")
def v100():
    """iGniter's published tables by model: latency and L2 use at batches 1 to 32 and five shares, and the pairs."""
    if not SOLO_TABLES.is_file():
        skip_without(PUBLISHED, f"the published solo tables are not in {SOLO_TABLES}")
    found = defaultdict(dict)
    for line in SOLO_TABLES.read_text().splitlines():
        for section, fields in json.loads(line).items():
            found[section].update(fields)
    return found


def solo(v100, model, field="latency"):
    """Returns batch, percent and value of 160 runs."""
    table = v100[model][field]
    return np.array([(b, p, table[str(b)][str(p)]) for b in range(1, 33) for p in (20, 40, 50, 60, 80)], dtype=float)


@pytest.mark.parametrize(
    ("model", "regression", "squares"),
    [
        ("alexnet", (6.4, 20.7), (1.5, 10.8)),  # the prototype has 1.6 for the mean
        ("resnet50", (8.1, 50.2), (2.1, 11.7)),
        ("vgg19", (8.0, 48.0), (0.9, 5.2)),
        ("ssd", (7.3, 49.5), (1.1, 8.1)),
    ],
)
def test_errors_on_144_points_of_what_16_others_give(v100, model, regression, squares):
    rows = solo(v100, model)
    is_known = np.isin(rows[:, 0], [1, 8, 16, 32]) & np.isin(rows[:, 1], [20, 40, 60, 80])
    known, held_out = rows[is_known], rows[~is_known]
    assert (len(known), len(held_out)) == (16, 144)
    by_regression = locally_weighted(known[:, :2], known[:, 2], held_out[:, :2])
    by_squares = terms(held_out[:, 0], held_out[:, 1]) @ least_squares(*known.T)
    for found, expected in ((by_regression, regression), (by_squares, squares)):
        errors = 100 * np.abs(found / held_out[:, 2] - 1)
        assert (errors.mean(), errors.max()) == pytest.approx(expected, abs=0.06)


def test_errors_of_the_interference_form_on_750_pairs(v100):
    lines = {one: fit_l2(*solo(v100, one, "l2cache")[:, 1:].T).coefficients for one in MODELS}
    sides = defaultdict(list)
    for one, two, batch, other, share, ms, other_ms in v100["interference"]["latency"]:
        for model, b, p, t, neighbour in ((one, batch, share, ms, two), (two, other, 100 - share, other_ms, one)):
            slope, offset = lines[neighbour]
            sides[model].append((v100[model]["latency"][str(b)][str(p)], slope * (100 - p) + offset, t))
    rows = {model: np.array(sides[model]) for model in MODELS}
    assert sum(map(len, rows.values())) == 1500
    none = 100 * np.concatenate([np.abs(one[:, 0] / one[:, 2] - 1) for one in rows.values()])
    fits = [fit_sensitivity(*one.T) for one in rows.values()]
    fitted = 100 * np.concatenate([np.abs(one.fitted / one.measured - 1) for one in fits])
    assert (none.mean(), none.max()) == pytest.approx((8.7, 19.0), abs=0.05)
    assert (fitted.mean(), fitted.max()) == pytest.approx((2.9, 10.5), abs=0.06)  # the prototype's greatest: 10.4


def test_locally_weighted_regression_gives_a_plane_back_and_does_not_go_on_outside():
    batch, percent = (one.ravel() for one in np.meshgrid([1.0, 4, 8, 16], [10.0, 30, 60, 100]))
    points, ms = np.column_stack([batch, percent]), 50 + 2 * batch - 0.3 * percent
    inside = np.array([[2.0, 20], [5, 55], [12, 90]])
    assert locally_weighted(points, ms, inside) == pytest.approx(50 + 2 * inside[:, 0] - 0.3 * inside[:, 1], abs=1e-4)
    assert locally_weighted(points, ms, np.array([[64.0, 5]])) == pytest.approx([50 + 32 - 3], abs=1e-4)


def test_points_give_the_times_that_their_coefficients_would():
    given = (2.0, 0.1, 40.0, 15.0)
    grid = [(b, p) for b in (1, 4, 16, 32) for p in (6.0, 24.0, 48.0, 100.0)]
    linear = Running(linear=given)
    at = np.array(grid, dtype=float)
    points = [{"batch": b, "percent": p, "ms": ms} for (b, p), ms in zip(grid, running_ms(linear, *at.T), strict=True)]
    fitted = Running.model_validate({"points": points})
    places = np.array([[2.0, 10], [7, 33], [30, 90]])
    assert running_ms(fitted, *places.T) == pytest.approx(running_ms(linear, *places.T), rel=1e-9)
    assert running_error(fitted).max == 0
    assert running_error(linear) is None
    rough = Running.model_validate({"points": points, "method": "local-regression"})
    assert running_error(rough).max > 0.1


def test_the_model_is_the_formula_of_the_paper():
    """Written out for each resident, apart from the tables."""
    for seed in range(20):
        problem = random_inss_problem(seed)
        latencies = latencies_of(problem)
        gpu = problem.gpus[1]
        units = [1, min(2, gpu.units), 1]
        shares = [min(u * gpu.unit_percent, 100) for u in units]
        found = latencies.ms(1, [0, 1, 2], units)
        l2 = [max(0, one.l2_per_percent * p + one.l2_offset) for one, p in zip(problem.models, shares, strict=True)]
        crowd = 3 * gpu.crowd_ms_per_kernel + gpu.crowd_offset_ms_per_kernel
        for i, one in enumerate(problem.models):
            c = one.running.linear
            for b in range(1, one.most_batch + 1):
                p = shares[i] * gpu.computing_power
                run = c[0] + c[1] * b + c[2] * b / p + c[3] / p
                run *= 1 + one.cache_sensitivity * (sum(l2) - l2[i])
                expected = (one.input_bytes + one.output_bytes) * b / gpu.pcie_bytes_per_ms
                expected += one.scheduling_ms + crowd * one.kernels + run
                assert found[i, b - 1] == pytest.approx(expected, rel=1e-12)


def test_without_interference_a_batch_takes_as_long_as_alone():
    latencies = latencies_of(six_models()).without_interference()
    beside = latencies.ms(0, [0, 1, 2], [5, 6, 6])
    assert beside[1] == pytest.approx(latencies.ms(0, [1], [6])[0])


def test_the_shipped_curves_are_near_the_published_points():
    """Mean errors of eq. 11's coefficients, as the prototype had them: 3.5, 6.3, 5.2, 3.9 %."""
    names = {"alexnet": "AlexNet", "resnet50": "ResNet50", "vgg16": "VGG16", "mnasnet": "MnasNet"}
    expected = {"alexnet": 3.5, "resnet50": 6.3, "vgg16": 5.2, "mnasnet": 3.9}
    for one in six_models().models:
        if one.model not in names:
            continue
        points = [(b, 100.0, ms) for b, ms in series(1, names[one.model])]
        points += [(1.0, p, ms) for p, ms in series(3, names[one.model])]
        rows = np.array(points)
        error = 100 * np.abs(running_ms(one.running, rows[:, 0], rows[:, 1]) / rows[:, 2] - 1).mean()
        assert error == pytest.approx(expected[one.model], abs=1.5), one.model


def test_crowding_is_a_line_and_figure_12_gives_the_shipped_l2_lines():
    assert fit_crowd(np.array([2.0, 3, 4]), np.array([0.1, 0.3, 0.5])).coefficients == pytest.approx((0.2, -0.3))
    for name, model in (("ResNet50", 1), ("VGG16", 2), ("MnasNet", 3)):
        percent, l2 = np.array(series(12, f"{name} fitted")).T
        fit = fit_l2(percent[:-1], l2[:-1])
        one = six_models().models[model]
        assert fit.coefficients == pytest.approx((one.l2_per_percent, one.l2_offset), abs=2e-3)
        assert fit.error.max < 1e-3


def test_times_below_zero_are_refused():
    problem = six_models()
    steep = problem.models[0].model_copy(update={"running": Running(linear=(1.0, 0.5, 0.0, -100.0))})
    with pytest.raises(InputError, match=r"alexnet on RTX-2060-Super: running gives -15.2 ms for batch 1 on 1 units"):
        latencies_of(problem.model_copy(update={"models": (steep,)}))
