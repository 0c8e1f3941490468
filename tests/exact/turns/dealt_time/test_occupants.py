"""What occupants of shares are and are dealt in boxes, beside GPUs whose shares have random occupants."""

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
    of_service = [known[one.model] for one in problem.workloads]
    return mps, Occupants(mps, kinds), of_service


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


def figures(mps, known, drawn_occupants):
    """Returns how fast each occupant is beside the others; each a share in units, a service and a batch's index."""
    running = [
        (known[w].model, int(mps.batches[w][b]), 100 * units / mps.capacity_units) for units, w, b in drawn_occupants
    ]
    return igniter_scalar.predict(known[0].gpu, running)


@pytest.mark.parametrize("seed", range(40))
def test_whoever_is_drawn_is_no_faster_than_its_box_says_and_all_are_dealt_no_more_than_a_gpu(seed):
    """Property: of every choice of one occupant from each share, in a box about what these ask."""
    draw, closest, most = Random(seed), 0.0, 0.0
    with small_gpus():
        mps, occupants, known = drawn(seed)
        for _ in range(6):
            shares = a_gpu(draw, mps, len(known))
            weights = np.array([draw.random() for _ in range(4)])[None]
            weights /= weights.sum()
            for together in product(*(own for _, own in shares)):
                here = [(units, w, b) for (units, _), (w, b) in zip(shares, together, strict=True)]
                asked = [kind_of(occupants, w).asked[:, b, units - 1] for units, w, b in here]
                total = np.sum(asked, axis=0)
                box = Boxes(
                    np.array([draw.randint(1, len(shares))]),
                    np.array([draw.randint(len(shares), 6)]),
                    total[None] * draw.choice((0.0, 0.9, 1.0)),
                    total[None] * draw.choice((1.0, 1.3, np.inf)) if total.all() else np.full((1, 2), np.inf),
                )
                dealt = 0.0
                for (units, w, b), one in zip(here, figures(mps, known, here), strict=True):
                    kind = kind_of(occupants, w)
                    points = occupants.points(kind, box)
                    assert points.latency_ms[0, b, units - 1] <= one.latency_ms * (1 + 1e-9), seed
                    assert points.throughput_rps[0, b, units - 1] >= one.throughput_rps * (1 - 1e-9), seed
                    closest = max(closest, points.latency_ms[0, b, units - 1] / one.latency_ms)
                    dealt += float(occupants.dealt(kind, box, weights)[0, b, units - 1])
                assert dealt <= 1 + 1e-9, seed
                most = max(most, dealt)
    assert closest > 0.9
    assert most > 0.3


@pytest.mark.parametrize("seed", range(10))
def test_a_share_alone_asks_what_its_box_says(seed):
    with small_gpus():
        _, occupants, _ = drawn(seed)
        for kind in occupants.kinds:
            total = np.median(kind.asked.reshape(2, -1), axis=1)[None]
            number = np.ones(1, dtype=np.int64)
            points = occupants.points(kind, Boxes(number, number, total, np.full((1, 2), np.inf)))
            assert np.array_equal(
                np.isfinite(points.latency_ms[0]), (kind.asked * (1 + 1e-9) >= total[0][:, None, None]).all(axis=0)
            )
            points = occupants.points(kind, Boxes(number, number + 1, np.zeros((1, 2)), total))
            assert np.array_equal(
                np.isfinite(points.latency_ms[0]), (kind.asked <= total[0][:, None, None] * (1 + 1e-9)).all(axis=0)
            )


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
            there = np.isfinite(points.latency_ms[0]).all(axis=0)
            assert np.flatnonzero(there).tolist() == list(range(least - 1, mps.capacity_units - (n - 1) * least))
