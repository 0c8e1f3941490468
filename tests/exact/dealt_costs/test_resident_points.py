"""What residents of a kind may be in boxes, entry by entry."""

import numpy as np
from problems.igniter_instances import table_3

from sliceplan.solver.exact.dealt_costs.boxes import Boxes
from sliceplan.solver.exact.dealt_costs.resident_points import dealt, demands_of, joined, resident_points
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


def points_of(high):
    """Returns the points of a workload in two boxes of the same surroundings at first."""
    (mps,) = resolve(table_3(), shipped_profiles()).mps.values()
    asked = demands_of(mps, 3)
    low = np.median(asked, axis=(1, 2)) * np.ones((2, 1))
    boxes = Boxes(np.array([2, 3]), np.array([4, 5]), low, high * np.ones((2, 1)))
    return mps, asked, boxes, resident_points(mps, 3, boxes)


def test_weights_are_multiplied_by_units_numbers_and_parts_of_what_may_be_asked():
    """Of a thing without limit, or of which nothing is left, no part is dealt."""
    for high in ([np.inf, 1e9], [3.0, 0.0]):
        mps, asked, boxes, found = points_of(np.array(high))
        units, batches = mps.capacity_units, len(mps.batches[3])
        assert found.features.shape == (2, batches, units, 4)
        assert (found.features[..., 0] == np.arange(1, units + 1) / units).all()
        assert (found.features[0, ..., 1] == 1 / 4).all()
        assert (found.features[1, ..., 1] == 1 / 5).all()
        for thing, most in enumerate(high):
            parts = asked[thing] / most if 0 < most < np.inf else np.zeros_like(asked[thing])
            np.testing.assert_allclose(found.features[..., 2 + thing], np.stack([parts, parts]))
        weights = np.array([[1.0, 0, 0, 0], [0, 2.0, 0, 1.0]])
        expected = found.features[0, ..., 0], 2 * found.features[1, ..., 1] + found.features[1, ..., 3]
        np.testing.assert_allclose(dealt(found, weights), np.stack(expected))
        assert len(boxes) == 2


def test_nobody_is_in_a_box_who_asks_for_more_than_all_may_there():
    _, asked, _, found = points_of(np.array([np.inf, np.inf]))
    assert np.isfinite(found.latency_ms).all()
    limit = np.quantile(asked[0], 0.6)
    _, _, _, fewer = points_of(np.array([limit, np.inf]))
    beyond = np.stack([asked[0] > limit] * 2)
    assert beyond.any()
    assert np.isinf(fewer.latency_ms[beyond]).all()
    assert not fewer.throughput_rps[beyond].any()
    np.testing.assert_array_equal(fewer.latency_ms[~beyond], found.latency_ms[~beyond])


def test_a_resident_is_as_fast_as_beside_the_fewest_that_ask_for_the_least():
    """And for its own part at least, of which there is no less than it asks for."""
    mps, asked, boxes, found = points_of(np.array([np.inf, np.inf]))
    for box, batch, units in ((0, 0, 5), (1, 2, 20), (0, 3, 40)):
        totals = [np.full((1, 1), max(boxes.low[box, c], asked[c, batch, units - 1])) for c in range(2)]
        latency, throughput = mps.model.among(
            np.full((1, 1), 3),
            np.full((1, 1), mps.batches[3][batch]),
            np.full((1, 1), mps.percent(np.array(units))),
            totals=tuple(totals),
            residents=np.full((1, 1), boxes.fewest[box]),
        )
        np.testing.assert_allclose(found.latency_ms[box, batch, units - 1], latency[0, 0])
        np.testing.assert_allclose(found.throughput_rps[box, batch, units - 1], throughput[0, 0])


def test_points_of_boxes_that_are_kept_come_before_new_ones():
    *_, old = points_of(np.array([np.inf, np.inf]))
    *_, new = points_of(np.array([3.0, np.inf]))
    (found,) = joined([old], np.array([1]), [new])
    assert len(found.latency_ms) == 3
    for name in ("latency_ms", "throughput_rps", "features"):
        np.testing.assert_array_equal(getattr(found, name)[0], getattr(old, name)[1])
        np.testing.assert_array_equal(getattr(found, name)[1:], getattr(new, name))
