"""The saturating curve: monotone in the batch, bounded by its two parts, safe at every sharpness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliceplan.solver.model.fit_error import FitError
from sliceplan.solver.model.profile import SaturatingCurve
from sliceplan.solver.performance.saturating import batch_time_ms, fitted_points

ERROR = FitError(points=1, median=0, p95=0, max=0)


def curve(floor_ms: float, per_item_ms: float, exponent: float = 1.0, sharpness: float = 4.0) -> SaturatingCurve:
    return SaturatingCurve(
        mig_profile="1g.10gb",
        processes=1,
        max_batch=256,
        floor_ms=floor_ms,
        per_item_ms=per_item_ms,
        exponent=exponent,
        sharpness=sharpness,
        error=ERROR,
    )


curves = st.builds(
    curve,
    floor_ms=st.one_of(st.just(0.0), st.floats(1e-6, 1e6)),
    per_item_ms=st.floats(1e-6, 1e6),
    exponent=st.floats(0.01, 2),
    sharpness=st.floats(0.05, 64),
)


@given(curves, st.lists(st.integers(1, 65536), min_size=2))
def test_the_time_of_a_batch_never_falls_as_the_batch_grows(some: SaturatingCurve, batches: list[int]) -> None:
    times = batch_time_ms(some, sorted(batches))
    assert np.all(np.isfinite(times))
    assert np.all(times[1:] >= times[:-1] * (1 - 1e-12))


@given(curves, st.integers(1, 65536))
def test_the_time_lies_above_both_parts_and_meets_the_formula(some: SaturatingCurve, batch: int) -> None:
    busy = some.per_item_ms * batch**some.exponent
    larger, smaller = max(some.floor_ms, busy), min(some.floor_ms, busy)
    expected = larger * (1 + (smaller / larger) ** some.sharpness) ** (1 / some.sharpness)
    assert batch_time_ms(some, batch) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.tuples(curves, st.integers(1, 48), st.integers(1, 100)), min_size=1, max_size=5))
def test_all_that_curves_say_is_what_each_says_of_each_batch(some) -> None:
    some = [one.model_copy(update={"processes": n, "max_batch": most}) for one, n, most in some]
    batch, processes, time_ms = fitted_points(some)
    assert [(n, b) for n, b in zip(processes, batch, strict=True)] == [
        (one.processes, b) for one in some for b in range(1, one.max_batch + 1)
    ]
    each = [float(batch_time_ms(one, b)) for one in some for b in range(1, one.max_batch + 1)]
    np.testing.assert_allclose(time_ms, each, rtol=1e-12)


def test_a_sharpness_of_one_adds_floor_and_items() -> None:
    assert batch_time_ms(curve(5, 2, sharpness=1), [1, 2, 10]) == pytest.approx([7, 9, 25])


def test_without_a_floor_the_time_is_proportional() -> None:
    assert batch_time_ms(curve(0, 2), [1, 3]) == pytest.approx([2, 6])


def test_the_shape_of_the_batches_is_kept() -> None:
    assert batch_time_ms(curve(5, 2), np.ones((2, 3))).shape == (2, 3)
    assert batch_time_ms(curve(5, 2), 1).shape == ()


def test_a_batch_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        batch_time_ms(curve(5, 2), [1, 0])
