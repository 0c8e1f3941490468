"""iGniter's model of interference: the vectorised function against the equations one by one, and its monotonicity."""

import random

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from oracles import igniter_scalar
from problems.igniter_instances import COEFFICIENTS, GPU, MODEL, SHIPPED
from problems.mps_draws import gpu_coefficients, model_coefficients

from sliceplan.solver.model.interference import GpuCoefficients, Interference, ModelCoefficients
from sliceplan.solver.performance.interference.igniter import IgniterModel, alone
from sliceplan.solver.performance.interference.prediction import MonotoneModel
from sliceplan.solver.performance.interference.residents import Resident, predict_each

SSD = SHIPPED["ssd"].model.model_dump()

residents = st.tuples(st.integers(0, 3), st.integers(1, 32), st.sampled_from([2.5 * u for u in range(1, 41)]))
sets_of_residents = st.lists(residents, min_size=1, max_size=8)


def predicted(members):
    workload, batch, percent = (np.array([column]) for column in zip(*members, strict=True))
    return MODEL.predict(workload, batch, percent.astype(float))


@given(sets_of_residents)
def test_the_vectorised_model_equals_the_equations_one_by_one(members):
    figures = predicted(members)
    expected = igniter_scalar.predict(GPU, [(COEFFICIENTS[w], b, r) for w, b, r in members])
    np.testing.assert_allclose(figures.latency_ms[0], [f.latency_ms for f in expected], rtol=1e-12)
    np.testing.assert_allclose(figures.throughput_rps[0], [f.throughput_rps for f in expected], rtol=1e-12)


@given(
    st.integers(0, 10**6), st.lists(st.tuples(st.integers(0, 2), st.integers(1, 32), st.integers(1, 40)), min_size=1)
)
@example(106188, [(0, 5, 2)])  # an active time of 0
def test_it_equals_them_for_all_coefficients_that_are_accepted(seed, members):
    """Property: steep and flat slopes, tiny and huge figures, a clock below 1 MHz."""
    draw = random.Random(seed)
    gpu = GpuCoefficients.model_validate(gpu_coefficients(draw))
    models = [ModelCoefficients.model_validate(model_coefficients(draw)) for _ in range(3)]
    workload, batch, units = (np.array([column]) for column in zip(*members, strict=True))
    figures = IgniterModel.of(gpu, models).predict(workload, batch, 2.5 * units)
    expected = igniter_scalar.predict(gpu, [(models[w], b, 2.5 * u) for w, b, u in members])
    if all(one.latency_ms > 0 for one in expected):
        np.testing.assert_allclose(figures.latency_ms[0], [f.latency_ms for f in expected], rtol=1e-9)
        np.testing.assert_allclose(figures.throughput_rps[0], [f.throughput_rps for f in expected], rtol=1e-9)


@given(st.lists(sets_of_residents, max_size=6), st.integers(0, 10**6))
def test_gpus_that_are_looked_at_together_have_the_figures_of_each_alone(gpus, seed):
    """GPUs of two types, with few and many residents, in any order."""
    draw = random.Random(seed)
    types = [GPU, GpuCoefficients.model_validate(gpu_coefficients(draw))]
    of_gpu = [draw.choice(types) for _ in gpus]
    fitted = [
        [SHIPPED["ssd"].model_copy(update={"gpu": gpu, "model": COEFFICIENTS[w]}) for w, _, _ in members]
        for gpu, members in zip(of_gpu, gpus, strict=True)
    ]
    found = predict_each(
        [
            [Resident(known, b, r) for known, (_, b, r) in zip(own, members, strict=True)]
            for own, members in zip(fitted, gpus, strict=True)
        ]
    )
    assert len(found) == len(gpus)
    for gpu, members, figures in zip(of_gpu, gpus, found, strict=True):
        workload, batch, percent = (np.array(column) for column in zip(*members, strict=True))
        alone_ms = IgniterModel.of(gpu, COEFFICIENTS).predict(workload, batch, percent.astype(float))
        assert figures.latency_ms.tolist() == alone_ms.latency_ms.tolist()
        assert figures.throughput_rps.tolist() == alone_ms.throughput_rps.tolist()
        assert (figures.power_w, figures.frequency_mhz) == (alone_ms.power_w, alone_ms.frequency_mhz)
        assert {cause: part.tolist() for cause, part in figures.causes_ms.items()} == {
            cause: part.tolist() for cause, part in alone_ms.causes_ms.items()
        }


@given(sets_of_residents)
def test_the_causes_add_up_to_the_latency_and_none_is_negative(members):
    figures = predicted(members)
    np.testing.assert_allclose(sum(figures.causes_ms.values()), figures.latency_ms, rtol=1e-12)
    assert all((part >= 0).all() for part in figures.causes_ms.values())


@given(sets_of_residents, residents)
def test_a_neighbour_never_lowers_a_latency_nor_raises_a_throughput(members, neighbour):
    before, after = predicted(members), predicted([*members, neighbour])
    assert (after.latency_ms[0, :-1] >= before.latency_ms[0]).all()
    assert (after.throughput_rps[0, :-1] <= before.throughput_rps[0]).all()


@given(sets_of_residents, st.data())
def test_a_latency_rises_with_the_share_of_another(members, data):
    i = data.draw(st.integers(0, len(members) - 1))
    w, b, r = members[i]
    raised = [*members[:i], (w, b, r + 2.5), *members[i + 1 :]]
    before, after = predicted(members).latency_ms[0], predicted(raised).latency_ms[0]
    assert (np.delete(after, i) >= np.delete(before, i)).all()


@given(sets_of_residents, st.data())
def test_the_published_latencies_fall_with_their_own_share_while_shares_are_no_more_than_the_gpu(members, data):
    """Beyond 100 % they need not: so far into throttling a larger share costs more in frequency than it gives."""
    i = data.draw(st.integers(0, len(members) - 1))
    scale = min(1.0, 95.0 / sum(r for _, _, r in members))
    members = [(w, b, r * scale) for w, b, r in members]
    w, b, r = members[i]
    raised = [*members[:i], (w, b, r + 2.5), *members[i + 1 :]]
    assert predicted(raised).latency_ms[0, i] < predicted(members).latency_ms[0, i]


def test_far_beyond_the_gpu_a_larger_own_share_can_be_slower():
    """The counterexample: on 470 % of a GPU the clock loses more than the share gains."""
    crowd = [(1, 6, 85.0), (2, 18, 100.0), (2, 24, 100.0), (2, 32, 100.0)]
    slower = [
        predicted([(w, b, r + 2.5), *crowd]).latency_ms[0, 0] > predicted([(w, b, r), *crowd]).latency_ms[0, 0]
        for w in range(4)
        for b in (1, 16, 32)
        for r in (50.0, 97.5)
    ]
    assert any(slower)


@given(st.lists(sets_of_residents, min_size=2, max_size=5))
def test_gpus_predicted_together_are_as_predicted_one_by_one_and_empty_places_change_nothing(gpus):
    width = max(map(len, gpus))
    padded = [[*members, *[(0, 1, 0.0)] * (width - len(members))] for members in gpus]
    workload, batch, percent = (np.array([[r[i] for r in row] for row in padded]) for i in range(3))
    together = MODEL.predict(workload, batch, percent.astype(float))
    for row, members in enumerate(gpus):
        single = predicted(members)
        np.testing.assert_allclose(together.latency_ms[row, : len(members)], single.latency_ms[0], rtol=1e-12)
        assert not together.latency_ms[row, len(members) :].any()
        assert not together.throughput_rps[row, len(members) :].any()
        assert together.power_w[row] == pytest.approx(single.power_w[0])


def test_the_illustrative_example_of_the_paper():
    """Sec. 2.3: AlexNet 10 % batch 4, ResNet-50 30 % batch 8, VGG-19 37.5 % batch 6, on the published data."""
    figures = predicted([(0, 4, 10.0), (1, 8, 30.0), (2, 6, 37.5)])
    assert figures.latency_ms[0] == pytest.approx([6.918, 18.908, 28.730], abs=1e-3)
    assert figures.throughput_rps[0] == pytest.approx([599.1, 434.2, 211.5], abs=0.06)
    assert figures.power_w[0] > GPU.max_power_w
    assert figures.frequency_mhz[0] < GPU.max_frequency_mhz
    assert figures.causes_ms["throttling"][0].min() > 0


def test_a_demand_that_would_stop_the_clock_leaves_finite_latencies():
    figures = predicted([(3, 32, 100.0)] * 30)
    assert np.isfinite(figures.latency_ms).all()
    assert figures.frequency_mhz[0] == 1.0


def test_a_fall_of_the_clock_beyond_all_numbers_is_one_to_the_least():
    steep = GPU.model_copy(update={"frequency_mhz_per_w": -1e300})
    frequency = IgniterModel.of(steep, [SHIPPED["ssd"].model]).frequency_mhz(np.array([0.0, 1e300]))
    assert frequency.tolist() == [GPU.max_frequency_mhz, 1.0]


@pytest.mark.parametrize(
    ("per_resident", "kernels"), [(4.75e297, 2e16), (1.7e308, 1), (1.7e308, 1e15), (0.008, 1e300), (1.7e308, 1.7e308)]
)
def test_a_delay_by_neighbours_beyond_all_numbers_is_a_long_one_that_no_share_makes_up_for(per_resident, kernels):
    crowded = GPU.model_copy(update={"scheduling_ms_per_resident": per_resident, "scheduling_ms_offset": 0.0})
    model = IgniterModel.of(crowded, [with_changes(SHIPPED["ssd"].model, kernels=int(kernels))])
    workload, batch, percent = np.zeros((1, 3), dtype=int), np.ones((1, 3), dtype=int), np.full((1, 3), 30.0)
    figures = model.predict(workload, batch, percent)
    assert (figures.latency_ms >= 1e297).all()
    assert all(np.isfinite(part).all() for part in (figures.latency_ms, *figures.causes_ms.values()))
    least = model.least_percent(workload, batch, percent, np.full((1, 3), 1e9), np.zeros((1, 3)))
    assert (least == np.inf).all()
    alone = model.predict(workload[:, :1], batch[:, :1], percent[:, :1])
    assert alone.causes_ms["scheduling contention"] == 0


@pytest.mark.parametrize("sensitivity", [2e297, 1.7e308])
def test_a_contention_beyond_all_numbers_is_a_long_one_that_no_share_makes_up_for(sensitivity):
    model = IgniterModel.of(GPU, [with_changes(SHIPPED["ssd"].model, cache_sensitivity=sensitivity)])
    workload, batch, percent = np.zeros((1, 9), dtype=int), np.full((1, 9), 4000), np.full((1, 9), 30.0)
    figures = model.predict(workload, batch, percent)
    assert (figures.latency_ms >= 1e297).all()
    assert all(np.isfinite(part).all() for part in (figures.latency_ms, *figures.causes_ms.values()))
    totals = tuple(own.sum(axis=1, keepdims=True) for own in model.demands_at(workload, figures.throughput_rps))
    assert np.isfinite(model.among(workload, batch, percent, totals=totals, residents=np.array(9))[0]).all()
    least = model.least_percent(workload, batch, percent, np.full((1, 9), 1e9), np.zeros((1, 9)))
    assert (least > 1e200).all()


def test_alone_there_is_no_contention():
    figures = alone(SHIPPED["vgg19"], np.array([1, 8]), 20.0)
    for cause in ("scheduling contention", "cache contention", "throttling"):
        assert not figures.causes_ms[cause].any()


def with_changes(record, **changes):
    return type(record).model_validate({**record.model_dump(), **changes})


@pytest.mark.parametrize(
    ("record", "changes", "message"),
    [
        (GPU, {"scheduling_ms_offset": -1.0}, "a neighbour would help"),
        (GPU, {"idle_power_w": 400.0}, "not below max_power_w"),
        (COEFFICIENTS[0], {"active": (0, 1, 1, -2.0, 0)}, "k4"),
        (COEFFICIENTS[0], {"active": (0, 1, 1, 0, -0.1)}, "k5"),
        (
            SHIPPED["ssd"],
            {"model": {**COEFFICIENTS[3].model_dump(), "active": (0, -1.0, 0, 0, 0)}},
            "not above 0 at batch",
        ),
        (
            SHIPPED["ssd"],
            {"model": {**COEFFICIENTS[3].model_dump(), "active": (-3, 100.0, 0, 0, 0)}},
            "falls with the batch",
        ),
        (
            SHIPPED["ssd"],
            {"model": {**COEFFICIENTS[3].model_dump(), "active": (1.0, -10.0, 24.5, 0, 0.1)}},
            "not above 0 at batch 5",
        ),
        (SHIPPED["ssd"], {"measured": {**SHIPPED["ssd"].measured.model_dump(), "min_batch": 64}}, "above its greatest"),
    ],
)
def test_coefficients_that_would_break_monotonicity_are_refused(record, changes, message):
    assert isinstance(record, GpuCoefficients | ModelCoefficients | Interference)
    with pytest.raises(ValueError, match=message):
        with_changes(record, **changes)


@given(st.floats(-0.999, 0), st.floats(0.001, 100), st.floats(0.001, 100), st.integers(1, 32))
def test_no_share_is_given_a_time_below_0_and_more_never_takes_longer(k4, less, more, batch):
    """Shares below -k4 percent, as a plan file or a GPU of more than 200 SMs can have them, divide by less than 0."""
    known = with_changes(COEFFICIENTS[3], active=(0.0, 1.0, 1.0, k4, 0.1))
    model = IgniterModel.of(GPU, [known])
    times = model.active_ms(np.array([0, 0]), np.array([batch, batch]), np.array(sorted((less, more))))
    assert times[0] >= times[1] > 0.1


@example(492104, [(0, 1), (0, 1)])
@given(st.integers(0, 10**6), st.lists(st.tuples(st.integers(0, 2), st.integers(1, 32)), min_size=2, max_size=6))
def test_it_keeps_the_promises_of_a_monotone_model(seed, members):
    """Property: what `MonotoneModel` promises to the proofs under MPS, for all coefficients that are accepted."""
    draw = random.Random(seed)
    gpu, models = gpu_coefficients(draw), [model_coefficients(draw) for _ in range(3)]
    model: MonotoneModel = IgniterModel.of(
        GpuCoefficients.model_validate(gpu), [ModelCoefficients.model_validate(one) for one in models]
    )
    workload, batch = (np.array([column]) for column in zip(*members, strict=True))
    shares = np.array([[draw.uniform(0.1, 60) for _ in members]])
    k1, k2, k3, _, _ = model.active[:, workload]
    assume(((k1 * batch + k2) * batch + k3 > 0).all())  # as every profile has it (`Interference`)
    low = model.ability_rps(workload, batch, shares)
    high = low * draw.uniform(1, 3)
    assert (low >= model.predict(workload, batch, shares).throughput_rps * (1 - 1e-12)).all()
    less, more = model.demands_at(workload, low), model.demands_at(workload, high)
    assert all((a <= b).all() for a, b in zip(less, more, strict=True))
    met, met_by_more = model.surroundings(less), model.surroundings(more)
    rounding = [1e-9 * np.abs(own).sum() for own in more]
    assert all((a <= b + some).all() for a, b, some in zip(met, met_by_more, rounding, strict=True))
    fewer = model.surroundings(tuple(own[:, 1:] for own in less))
    assert all((a <= b[:, -a.shape[1] :] + some).all() for a, b, some in zip(fewer, met, rounding, strict=True))
    limit, rate = np.full(workload.shape, draw.uniform(1, 500)), np.full(workload.shape, draw.uniform(0, 100))

    def needed(surroundings, residents):
        count = np.full(workload.shape, residents)
        return model.percent_needed(workload, batch, limit, rate, surroundings=surroundings, residents=count)

    worse = tuple(np.maximum(a, b) for a, b in zip(met, met_by_more, strict=True))
    assert (needed(met, len(members)) <= needed(worse, len(members) + 1)).all()

    def among(part, residents):
        totals = tuple(part * own.sum(axis=1, keepdims=True) for own in less)
        return model.among(workload, batch, shares, totals=totals, residents=np.array(residents))

    as_it_is, predicted = among(1.0, len(members)), model.predict(workload, batch, shares)
    np.testing.assert_allclose(as_it_is[0], predicted.latency_ms, rtol=1e-9)
    np.testing.assert_allclose(as_it_is[1], predicted.throughput_rps, rtol=1e-9)
    emptier = among(draw.uniform(0, 1), len(members) - 1)
    assert (emptier[0] <= as_it_is[0] * (1 + 1e-12)).all()
    assert (emptier[1] >= as_it_is[1] * (1 - 1e-12)).all()


def test_it_tells_apart_what_has_other_coefficients_only():
    assert len({MODEL.key(w) for w in range(len(COEFFICIENTS))}) == len(set(COEFFICIENTS))
    assert MODEL.restricted_to(np.array([1, 1])).key(0) == MODEL.key(1)
