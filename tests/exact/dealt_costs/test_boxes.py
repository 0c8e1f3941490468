"""Boxes of surroundings: together they hold all that a GPU may have, parted as often as may be."""

import numpy as np
import pytest

from sliceplan.solver.exact.dealt_costs.boxes import Boxes, first_boxes, parted


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


def test_the_first_boxes_are_those_between_multiples_of_what_is_typical():
    """Of 10 residents typically: from 1, 2, 6, 8, 10, 13 and 17 on; of 20 W from 0, 14, 17, 20 and 24 on."""
    boxes = first_boxes(15, 10.0, np.array([20.0]))
    classes = [(1, 1), (2, 5), (6, 7), (8, 9), (10, 12), (13, 15)]
    ranges = [(0.0, 14.0), (14.0, 17.0), (17.0, 20.0), (20.0, 24.0), (24.0, np.inf)]
    found = zip(boxes.fewest.tolist(), boxes.most.tolist(), boxes.low[:, 0], boxes.high[:, 0], strict=True)
    assert sorted(found) == [(*own, *map(pytest.approx, ends)) for own in classes for ends in ranges]
    assert first_boxes(17, 10.0, np.array([20.0])).most.max() == 17
    assert (first_boxes(17, 10.0, np.array([20.0])).fewest == 17).sum() == 5
    assert len(first_boxes(1, 10.0, np.array([0.0]))) == 1


@pytest.mark.parametrize(
    ("residents", "low", "high", "parts"),
    [
        ((2, 9), 0.0, 4.0, [((2, 4), (0.0, 4.0)), ((5, 9), (0.0, 4.0))]),  # 7 / 3 of residents, 2 of what is asked
        ((3, 9), 0.0, 4.0, [((3, 9), (0.0, 2.0)), ((3, 9), (2.0, 4.0))]),  # 6 / 4 and 2
        ((2, 9), 0.0, np.inf, [((2, 9), (0.0, 2.6)), ((2, 9), (2.6, np.inf))]),  # no end is 4: from 1.3 x 2 W
        ((1, 40), 0.0, np.inf, [((1, 2), (0.0, np.inf)), ((3, 40), (0.0, np.inf))]),  # twice the fewest at most
        ((2, 2), 5.0, np.inf, [((2, 2), (5.0, 6.5)), ((2, 2), (6.5, np.inf))]),
        ((2, 2), 5.0, 5.0 + 2 / 64, []),  # too narrow
        ((2, 2), 5.0, 5.0 + 3 / 64, [((2, 2), (5.0, 5.0 + 1.5 / 64)), ((2, 2), (5.0 + 1.5 / 64, 5.0 + 3 / 64))]),
        ((2, 3), 5.0, 5.0, [((2, 2), (5.0, 5.0)), ((3, 3), (5.0, 5.0))]),
    ],
)
def test_a_box_is_parted_where_it_is_widest(residents, low, high, parts):
    """By hand, where 2 W are typical."""
    box = Boxes(np.array([residents[0]]), np.array([residents[1]]), np.array([[low]]), np.array([[high]]))
    found, of = parted(box, np.array([2.0]))
    assert of.tolist() == [0] * len(parts)
    rows = zip(found.fewest.tolist(), found.most.tolist(), found.low[:, 0], found.high[:, 0], strict=True)
    assert list(rows) == [(*own, *map(pytest.approx, ends)) for own, ends in parts]


def test_of_two_things_the_one_is_parted_that_is_wider_beside_what_is_typical():
    """Of 2 W and 10 MB typically: 4 W of the first box are twice that, 40 MB of the second four times."""
    boxes = Boxes(np.array([2, 3]), np.array([2, 3]), np.zeros((2, 2)), np.array([[4.0, 10.0], [4.0, 40.0]]))
    found, of = parted(boxes, np.array([2.0, 10.0]))
    assert of.tolist() == [0, 1, 0, 1]
    assert found.fewest.tolist() == found.most.tolist() == [2, 3, 2, 3]
    assert found.low.tolist() == [[0, 0], [0, 0], [2, 0], [0, 20]]
    assert found.high.tolist() == [[2, 10], [4, 20], [4, 10], [4, 40]]
