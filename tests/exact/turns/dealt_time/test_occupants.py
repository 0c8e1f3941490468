"""The lemma of occupants and leaders, beside GPUs whose shares have random occupants."""

from itertools import product
from random import Random

import numpy as np
import pytest
from oracles import igniter_scalar
from problems.mps_draws import small_gpus
from problems.slowed_turn_draws import slowed_turns

from sliceplan.solver.exact.dealt_costs.boxes import Boxes
from sliceplan.solver.exact.turns.dealt_time.occupants import Occupants
from sliceplan.solver.performance.resolve import resolve


def drawn(seed):
    """Returns a GPU type's occupants, and coefficients by service; within `small_gpus()`."""
    problem, profiles, _ = slowed_turns(seed)
    resolved = resolve(problem, profiles)
    [mps] = resolved.mps.values()
    assert mps.usable.all(), "of the seeds here every service has a share"
    kinds = [np.flatnonzero(mps.kind == kind) for kind in np.unique(mps.kind)]
    known = {profile.model: profile.interference for profile in profiles}
    draw = np.random.default_rng(seed)
    of_service = [known[one.model] for one in problem.workloads]
    return mps, Occupants(mps, kinds, draw.uniform(0.01, 1, 2)), of_service


def a_gpu(draw, mps, services):
    """Returns shares in units with occupants, each a service with the index of its batch size."""
    left, shares = mps.capacity_units, []
    while left >= mps.least_units and (not shares or draw.random() < 0.7):
        units = draw.randint(mps.least_units, left)
        left -= units
        who = draw.sample(range(services), draw.randint(1, services))
        shares.append((units, [(w, draw.randrange(len(mps.batches[w]))) for w in who]))
    return shares


def kind_of(occupants, service):
    """Returns which kind a service is of."""
    return next(kind for kind in occupants.kinds if service in kind.services.tolist())


def worst_ms(mps, known, shares, j, i):
    """Returns the longest latency of an occupant over all choices of who runs on the other shares."""
    worst = 0.0
    for together in product(*(range(len(own)) for _, own in shares)):
        if together[j] == i:
            running = [
                (known[own[k][0]].model, int(mps.batches[own[k][0]][own[k][1]]), 100 * units / mps.capacity_units)
                for (units, own), k in zip(shares, together, strict=True)
            ]
            worst = max(worst, igniter_scalar.predict(known[0].gpu, running)[j].latency_ms)
    return worst


@pytest.mark.parametrize("seed", range(40))
def test_beside_its_leader_an_occupant_is_no_faster_than_the_lemma_says(seed):
    """Property: in a box about the surroundings; and the shares of a GPU are dealt no more than it costs."""
    draw, closest = Random(seed), 0.0
    with small_gpus():
        mps, occupants, known = drawn(seed)
        for _ in range(6):
            shares = a_gpu(draw, mps, len(known))
            asked = [np.array([kind_of(occupants, w).asked[:, b, units - 1] for w, b in own]) for units, own in shares]
            pressing = [
                np.array([kind_of(occupants, w).pressure[b, units - 1] for w, b in own]) for units, own in shares
            ]
            leading = [one[press.argmax()] for one, press in zip(asked, pressing, strict=True)]
            total = np.sum(leading, axis=0)
            box = Boxes(
                np.array([draw.randint(1, len(shares))]),
                np.array([draw.randint(len(shares), 6)]),
                total[None] * draw.choice((0.0, 0.9, 1.0)),
                total[None] * draw.choice((1.0, 1.3, np.inf)) if total.all() else np.full((1, 2), np.inf),
            )
            weights = np.array([draw.random() for _ in range(4)])[None]
            weights /= weights.sum()
            dealt = 0.0
            for j, (units, own) in enumerate(shares):
                cells = set()
                for i, (w, b) in enumerate(own):
                    at = np.array([0]), np.array([b]), np.array([units - 1])
                    latency, _, low = occupants.beside_leaders(kind_of(occupants, w), box, at)
                    high = occupants.leaders.high[units - 1]
                    holds = (leading[j] * (1 + 1e-9) >= low[:, 0].T) & (leading[j] <= high * (1 + 1e-9))
                    [here] = np.nonzero(holds.all(axis=1) & np.isfinite(latency[0]))
                    assert here.size, (seed, j, i)
                    worst = worst_ms(mps, known, shares, j, i)
                    assert latency[0, here].min() <= worst * (1 + 1e-9), (seed, j, i)
                    closest = max(closest, latency[0, here].min() / worst)
                    cells.add(int(here[0]))
                [cell] = cells
                each = at[0], at[1], at[2]
                dealt += float(occupants.dealt(box, weights, each, occupants.leaders.low[units - 1, [cell]].T)[0])
            assert dealt <= 1 + 1e-9, seed
    assert closest > 0.9


@pytest.mark.parametrize("seed", range(20))
def test_limits_over_all_leaders_say_no_more_than_any_of_them(seed):
    with small_gpus():
        _, occupants, _ = drawn(seed)
        draw = np.random.default_rng(seed)
        low = draw.uniform(0, 300, (5, 2))
        boxes = Boxes(np.arange(1, 6), np.arange(1, 6) + draw.integers(0, 2, 5), low, low * draw.uniform(1, 3, (5, 2)))
        for kind in occupants.kinds:
            points = occupants.points(kind, boxes)
            shape = points.least_ms.shape
            box, batch, unit = (one.ravel() for one in np.indices(shape))
            latency, throughput, leading = occupants.beside_leaders(kind, boxes, (box, batch, unit))
            assert np.all(points.least_ms.ravel() <= latency.min(axis=1) * (1 + 1e-9))
            assert np.all(points.most_rps.ravel() >= throughput.max(axis=1) * (1 - 1e-9))
            least = kind.least_leading[:, batch, unit]
            may = occupants.leaders.may_lead(kind.pressure[batch, unit], unit)
            assert np.all(np.where(may, leading, np.inf).min(axis=2) == least)
            # It may lead itself, and nothing says more of that than its own.
            own = (leading <= kind.asked[:, batch, unit][..., None] * (1 + 1e-9)).all(axis=0) & may
            assert own.any(axis=1).all()
            here = np.isfinite(points.own_ms.ravel())
            assert np.all(np.where(own, latency, np.inf).min(axis=1)[here] <= points.own_ms.ravel()[here] * (1 + 1e-9))


@pytest.mark.parametrize("least_sms", [None, 3])
def test_a_share_leaves_the_others_their_smallest_ones(least_sms):
    with small_gpus(least_sms):
        found = drawn(6)
        assert found is not None
        mps, occupants, _ = found
        least = 1 if least_sms is None else 2
        for n in range(1, mps.capacity_units // least + 1):
            number = np.array([n])
            points = occupants.points(
                occupants.kinds[0], Boxes(number, number + 1, np.zeros((1, 2)), np.full((1, 2), np.inf))
            )
            there = np.isfinite(points.own_ms[0]).all(axis=0)
            assert np.flatnonzero(there).tolist() == list(range(least - 1, mps.capacity_units - (n - 1) * least))
