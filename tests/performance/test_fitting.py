"""The fit: recovers the curve that made the points, ignores wild points, and tells its errors honestly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance
from sliceplan.solver.performance.fitting import fit_curve, fit_profile, relative_errors
from sliceplan.solver.performance.saturating import batch_time_ms

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
PROVENANCE = Provenance(source="made up", method="formula.")


def point(batch: int, time_ms: float, processes: int = 1, mig_profile: str = "1g.10gb") -> MeasuredPoint:
    return MeasuredPoint(
        mig_profile=mig_profile,
        batch=batch,
        processes=processes,
        latency_ms=float(np.ceil(time_ms)),  # the rounded latency must not matter
        throughput_rps=1000 * batch * processes / time_ms,
    )


def series(
    floor_ms: float, per_item_ms: float, sharpness: float, exponent: float = 1.0, count: int = 9, processes: int = 1
) -> list[MeasuredPoint]:
    times = [(floor_ms**sharpness + (per_item_ms * b**exponent) ** sharpness) ** (1 / sharpness) for b in BATCHES]
    return [point(batch, time, processes) for batch, time in zip(BATCHES[:count], times, strict=False)]


def profile(points: list[MeasuredPoint]) -> Profile:
    return Profile(model="made-up", gpu="A100-80GB", provenance=PROVENANCE, points=tuple(points))


@settings(max_examples=10, deadline=None)
@given(
    floor_ms=st.floats(1, 50),
    knee=st.floats(1.5, 60),
    sharpness=st.floats(1.1, 8),
    exponent=st.sampled_from([1.0, 0.9, 0.95, 1.05]),
)
def test_a_curve_is_recovered_from_its_own_points(
    floor_ms: float, knee: float, sharpness: float, exponent: float
) -> None:
    points = series(floor_ms, floor_ms / knee**exponent, sharpness, exponent)
    fitted = fit_curve(points)
    assert fitted.error.max < 0.01
    assert np.max(relative_errors(fitted, points)) < 0.01


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.05, 5000), min_size=1, max_size=9))
def test_whatever_was_measured_the_fit_is_finite_and_never_falls_with_the_batch(times: list[float]) -> None:
    fitted = fit_curve([point(batch, time) for batch, time in zip(BATCHES, times, strict=False)])
    predicted = batch_time_ms(fitted, np.arange(1, 257))
    assert np.all(np.isfinite(predicted))
    assert np.all(np.diff(predicted) >= -1e-12 * predicted[1:])
    assert fitted.error.points == len(times)


def test_the_throughput_is_fitted_and_not_the_rounded_latency() -> None:
    fitted = fit_curve(series(2.2, 0.31, 3, processes=2))
    assert batch_time_ms(fitted, 1) == pytest.approx((2.2**3 + 0.31**3) ** (1 / 3), rel=0.01)


def test_one_wild_point_is_not_followed_but_counts_in_the_errors_and_is_named() -> None:
    points = series(10, 1, 4)
    points[5] = point(32, 80)
    fitted = fit_profile(profile(points))
    assert fitted.odd_points == ("1g.10gb b32 p1: measured 80.0 ms, fitted 32.1 ms",)
    assert fitted.error is not None
    assert fitted.error.points == 9
    assert fitted.error.max == pytest.approx(1 - 32.1 / 80, abs=0.01)
    assert fitted.error.median < 0.01


def test_the_order_of_the_points_does_not_matter() -> None:
    points = series(10, 1, 4)
    assert fit_curve(points) == fit_curve(reversed(points))


def test_the_same_points_give_the_same_curve() -> None:
    points = [point(batch, 7 + batch * (1 + batch % 3 / 10)) for batch in BATCHES]
    assert fit_profile(profile(points)) == fit_profile(profile(points))


@pytest.mark.parametrize("count", [2, 3])
def test_few_points_are_met_with_a_fixed_bend(count: int) -> None:
    fitted = fit_curve(series(10, 4, 4, count=count))
    assert (fitted.sharpness, fitted.exponent) == (4, 1)
    assert fitted.error.max < 0.01
    assert fitted.max_batch == BATCHES[count - 1]


@pytest.mark.parametrize("count", [4, 5])
def test_the_exponent_is_free_only_with_enough_points(count: int) -> None:
    assert fit_curve(series(10, 4, 4, exponent=0.9, count=count)).exponent == 1


def test_a_single_point_gives_its_time_to_smaller_batches() -> None:
    fitted = fit_curve([point(64, 30)])
    assert fitted.max_batch == 64
    assert batch_time_ms(fitted, 64) == pytest.approx(30, rel=1e-4)
    assert batch_time_ms(fitted, [1, 32]) == pytest.approx(30, rel=0.05)


def test_more_processes_than_asked_for_are_left_out() -> None:
    points = [*series(10, 1, 4), *series(12, 2, 4, processes=2), *series(14, 3, 4, processes=4)]
    assert [curve.processes for curve in fit_profile(profile(points)).curves] == [1, 2]
    assert [curve.processes for curve in fit_profile(profile(points), max_processes=4).curves] == [1, 2, 4]


def test_a_profile_without_points_to_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="no measured point with at most 3 processes"):
        fit_profile(profile(series(10, 1, 4, processes=4)))


def test_the_fit_keeps_where_the_points_come_from_and_adds_its_method() -> None:
    fitted = fit_profile(profile(series(10, 1, 4)))
    assert fitted.provenance.source == "made up"
    assert fitted.provenance.method.startswith("formula. Fitted by")
    assert fitted.quality == "fitted"
