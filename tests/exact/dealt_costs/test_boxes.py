"""Boxes of surroundings: together they hold all that a GPU may have, parted as often as may be."""

import numpy as np
import pytest

from sliceplan.solver.exact.dealt_costs.boxes import first_boxes, parted


@pytest.mark.parametrize("seed", range(8))
def test_every_surroundings_are_in_a_box_and_parts_hold_what_the_whole_does(seed):
    """Property: also where next to nothing is asked for, or far more than is typical."""
    draw = np.random.default_rng(seed)
    most, typical = int(draw.integers(2, 49)), draw.choice([0.0, 0.3, 5.0, 200.0], 2)
    boxes = first_boxes(most, float(draw.uniform(1, most)), typical)
    numbers = np.append(draw.integers(1, most + 1, 60), [1, most])
    asked = typical * draw.choice([0.0, 0.01, 1.0, 1.1, 40.0], (62, 2)) + draw.uniform(0, 1, (62, 2)) * (
        draw.random() < 0.5
    )
    for _ in range(4):
        for number, own in zip(numbers.tolist(), asked, strict=True):
            held = (boxes.fewest <= number) & (number <= boxes.most)
            held &= (boxes.low <= own).all(axis=1) & (own <= boxes.high).all(axis=1)
            assert held.any(), (number, own)
        some = np.sort(draw.choice(len(boxes), len(boxes) // 2 + 1, replace=False))
        parts, of = parted(boxes.of(some), typical)
        assert np.bincount(of, minlength=1).max() <= 2
        stay = np.setdiff1d(np.arange(len(boxes)), some[np.unique(of)])
        boxes = boxes.of(stay).and_also(parts)
