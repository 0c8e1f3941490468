"""Covers that were met, and the weights with which most is dealt to them, by plain loops and by other weights."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.dealt_costs import deal
from sliceplan.solver.exact.dealt_costs import weights as module
from sliceplan.solver.exact.dealt_costs.weights import MetCovers, best_weights, fair

WEIGHTS = 3


def drawn(draw, boxes, services=3):
    """Returns covers as (service, [(box, features), ...]), one of each service at least."""
    owners = [*range(services), *draw.integers(0, services, int(draw.integers(0, 5))).tolist()]
    return [
        (w, [(int(draw.integers(boxes)), draw.uniform(0, 1, WEIGHTS)) for _ in range(int(draw.integers(1, 4)))])
        for w in owners
    ]


def met(covers):
    """Returns covers in flat arrays."""
    flat = [(c, box, features) for c, (_, residents) in enumerate(covers) for box, features in residents]
    return MetCovers(
        np.array([w for w, _ in covers], dtype=np.int64),
        np.array([c for c, _, _ in flat], dtype=np.int64),
        np.array([box for _, box, _ in flat], dtype=np.int64),
        np.array([features for _, _, features in flat]).reshape(len(flat), WEIGHTS),
    )


def assert_same(found, covers):
    expected = met(covers)
    for name in ("service", "cover", "box", "features"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("seed", range(10))
def test_covers_stay_that_have_no_resident_in_a_box_that_is_gone(seed):
    """Property: one such resident is enough to lose a cover, however many others it has."""
    draw = np.random.default_rng(seed)
    covers, others = drawn(draw, 5), drawn(draw, 5)
    assert_same(met(covers).and_also(met(others)), [*covers, *others])
    number = np.where(draw.random(5) < 0.3, -1, draw.permutation(5))
    stay = [
        (w, [(int(number[box]), features) for box, features in residents])
        for w, residents in covers
        if all(number[box] >= 0 for box, _ in residents)
    ]
    assert_same(met(covers).in_boxes(number), stay)


@pytest.mark.parametrize("seed", range(5))
def test_a_cover_is_dealt_what_each_of_its_residents_is_in_its_box(seed):
    draw = np.random.default_rng(seed)
    covers, weights = drawn(draw, 4), draw.uniform(0, 1, (4, WEIGHTS))
    expected = [sum(float(features @ weights[box]) for box, features in residents) for _, residents in covers]
    assert met(covers).dealt(weights) == pytest.approx(expected)


def dealt_by(covers, weights, services):
    """Returns the least that a cover of each service is dealt."""
    least = [np.inf] * services
    for w, residents in covers:
        least[w] = min(least[w], sum(float(features @ weights[box]) for box, features in residents))
    return np.array(least)


@pytest.mark.parametrize("seed", range(6))
def test_no_weights_near_the_centre_deal_more(seed):
    """Property: against weights at random; what each service is said to be dealt is the least of its covers."""
    draw = np.random.default_rng(seed)
    boxes, services, distance = 2, 3, float(draw.choice([0.1, 0.5]))
    covers = drawn(draw, boxes)
    number = draw.integers(1, 4, services).astype(float)
    enough = np.where(draw.random(services) < 0.3, 0.4, np.inf)
    centre = draw.dirichlet(np.ones(WEIGHTS), boxes)
    found = best_weights(met(covers), number, enough, centre, distance, 10.0)
    assert (found.weights >= 0).all()
    assert found.weights.sum(axis=1) == pytest.approx(1)
    assert (np.abs(found.weights - centre) <= distance + 1e-9).all()
    assert found.most == pytest.approx(np.minimum(dealt_by(covers, found.weights, services), enough))
    for weights in draw.dirichlet(np.ones(WEIGHTS), (300, boxes)):
        other = centre + (weights - centre) * distance  # sums to 1, too, and is no farther away
        assert number @ np.minimum(dealt_by(covers, other, services), enough) <= number @ found.most * (1 + 1e-9)


def test_fair_weights_are_none_below_0_and_no_more_than_1_together():
    assert fair(np.array([[0.5, -0.1, 0.2], [1.0, 1.0, 2.0]])) == pytest.approx(
        np.array([[0.5, 0, 0.2], [0.25, 0.25, 0.5]])
    )


def test_as_many_gpus_are_used_as_services_have_covers_of_one_resident():
    """Each service that is nowhere else has its number of residents, in the boxes of its cheapest covers."""
    draw = np.random.default_rng(5)
    covers = [(w, [(box, draw.uniform(0.2, 1, WEIGHTS))]) for w in range(3) for box in range(2)]
    number = np.array([1.0, 2.0, 4.0])
    found = best_weights(met(covers), number, np.full(3, np.inf), np.full((2, WEIGHTS), 1 / 3), 0.2, 10.0)
    assert found.used.shape == (2,)
    assert found.used.sum() == pytest.approx(number.sum())
    # Who costs so little elsewhere uses none.
    elsewhere = best_weights(met(covers), number, np.array([np.inf, np.inf, 0.01]), np.full((2, 3), 1 / 3), 0.2, 10.0)
    assert elsewhere.used.sum() == pytest.approx(3.0)
    assert elsewhere.most[2] == pytest.approx(0.01)


def test_a_program_that_was_ended_gives_no_weights(monkeypatch):
    def ended(*_, **__):
        raise TimeoutError

    covers = [(w, [(0, np.ones(WEIGHTS))]) for w in range(3)]
    for solve in (ended, lambda *_, **__: None):
        monkeypatch.setattr(module, "least_cost", solve)
        assert best_weights(met(covers), np.ones(3), np.full(3, np.inf), np.full((1, 3), 1 / 3), 0.2, 10.0) is None


@pytest.mark.parametrize(("left_s", "limit_s"), [(7.5, 7.5), (0.25, 0.25), (-1.0, 0.1)])
def test_a_program_has_the_time_that_is_left_and_a_tenth_of_a_second_at_least(monkeypatch, left_s, limit_s):
    asked = []
    monkeypatch.setattr(module, "least_cost", lambda *_, **told: asked.append(told["time_limit_s"]))
    covers = [(w, [(0, np.ones(WEIGHTS))]) for w in range(3)]
    best_weights(met(covers), np.ones(3), np.full(3, np.inf), np.full((1, 3), 1 / 3), 0.2, left_s)
    assert asked == [limit_s]


def test_residents_of_a_cover_in_one_box_are_dealt_together():
    """One service with one cover of three residents, two of them in the same box: y is the sum of all three."""
    covers = [(0, [(0, np.array([0.5, 0.1, 0.0])), (1, np.array([0.2, 0.0, 0.3])), (0, np.array([0.25, 0.3, 0.1]))])]
    found = best_weights(met(covers), np.ones(1), np.full(1, np.inf), np.full((2, 3), 1 / 3), 1.0, 10.0)
    assert found.most[0] == pytest.approx(0.75 + 0.3)
    assert found.weights == pytest.approx(np.array([[1.0, 0, 0], [0, 0, 1.0]]))


@pytest.mark.parametrize("seed", range(5))
def test_of_too_many_covers_those_stay_that_are_dealt_least_above_their_services(seed, monkeypatch):
    monkeypatch.setattr(deal, "MOST_COVERS", 4)
    draw = np.random.default_rng(seed)
    covers, weights, most = drawn(draw, 4, services=7), draw.uniform(0, 1, (4, WEIGHTS)), draw.uniform(0.1, 2, 7)
    dealt = [sum(float(features @ weights[box]) for box, features in residents) for _, residents in covers]
    above = [own / most[w] for own, (w, _) in zip(dealt, covers, strict=True)]
    search = SimpleNamespace(_met=met(covers))
    deal.DealSearch._drop(search, weights, most)
    # The limit, and the first beyond it.
    stay = sorted(sorted(range(len(covers)), key=lambda i: above[i])[:5])
    assert_same(search._met, [covers[i] for i in stay])
    few = SimpleNamespace(_met=met(covers[:4]))
    deal.DealSearch._drop(few, weights, most)
    assert_same(few._met, covers[:4])
    nothing = SimpleNamespace(_met=None)
    deal.DealSearch._drop(nothing, weights, most)
    assert nothing._met is None
