"""What services pay where GPUs are dealt to those that take turns, beside all that a GPU may carry."""

import time

import numpy as np
import pytest
from oracles.turns_beside_igniter import carried_by_a_gpu
from problems.mps_draws import small_gpus
from problems.slowed_turn_draws import slowed_turns

from sliceplan.solver.exact.turns.dealt_time.dealing import Dealt, TimeDealing
from sliceplan.solver.exact.turns.dealt_time.dealt_time import DealtTime, _typical
from sliceplan.solver.exact.turns.dealt_time.time_needed import Needs
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.turns.turn_rule import turn_rule


def searched(resolved, parted):
    """Returns a search of boxes and weights that parted boxes so often, on the one GPU type."""
    [mps] = resolved.mps.values()
    rule = turn_rule(resolved.problem)
    here = np.flatnonzero(mps.usable)
    kinds = [here[mps.kind[here] == kind] for kind in np.unique(mps.kind[here])]
    needs = Needs(rule.slo_ms, resolved.limit_ms, resolved.required_rps, rule.slots_kept)
    search = DealtTime(mps, kinds, needs)
    for _ in range(parted + 1):
        search.run(np.full(len(resolved.required_rps), np.inf), time.monotonic() + 60)
    return search


def one_gpu_pays(seed, least_sms, parted):
    """Returns what the services of the fullest GPU pay, in GPUs, and how many services pay anything."""
    with small_gpus(least_sms):
        problem, profiles, units = slowed_turns(seed)
        resolved = resolve(problem, profiles)
        if not next(iter(resolved.mps.values())).usable.all():
            return 0.0, 0
        paid = searched(resolved, parted).paid(time.monotonic() + 60)
        assert paid is not None
        known = np.where(np.isfinite(paid), paid, 0.0)
        most = 0.0
        for carried in carried_by_a_gpu(problem, profiles, units, 4, 1 if least_sms is None else 2):
            part = np.array(carried) / resolved.required_rps
            # What cannot be on any GPU is on none.
            assert not np.any((part > 0) & np.isinf(paid)), seed
            most = max(most, float(known @ np.minimum(part, 1.0)))
    return most, int((known > 0).sum())


@pytest.mark.parametrize("parted", [0, 3])
@pytest.mark.parametrize(("least_sms", "seeds"), [(None, range(24)), (3, range(10))])
def test_no_gpu_carries_more_than_its_services_pay_for(least_sms, seeds, parted):
    """Property: beside every content of a GPU and every choice of who runs at once."""
    found = [one_gpu_pays(seed, least_sms, parted) for seed in seeds]
    assert max(most for most, _ in found) <= 1 + 1e-9
    # It says something: on many GPUs that are full services pay most of them.
    assert sum(most > 0.6 for most, _ in found) >= len(found) / 3


def least_in_any_box(search, needs, service):
    """Returns what a service pays at least, by boxes, batch sizes and units one after the other."""
    occupants, boxes, weights = search._occupants, search._boxes, search._weights
    mps = occupants.mps
    [kind] = [own for own in occupants.kinds if service in own.services.tolist()]
    best = np.inf
    for box in range(len(boxes)):
        n, most = int(boxes.fewest[box]), int(boxes.most[box])
        for b, batch in enumerate(kind.batch.tolist()):
            for unit in range(mps.least_units - 1, mps.capacity_units - (n - 1) * mps.least_units):
                own = kind.asked[:, b, unit]
                if np.any(own + (n - 1) * occupants.least > boxes.high[box] * (1 + 1e-12)):
                    continue
                if most == 1 and np.any(own < boxes.low[box] * (1 - 1e-12)):
                    continue
                totals = np.maximum(boxes.low[box], own + (n - 1) * occupants.least)
                latency, rps = mps.model.among(
                    np.array(kind.first), np.array(batch), mps.percent(np.array(unit + 1)),
                    totals=tuple(totals), residents=np.array(n),
                )  # fmt: skip
                high = boxes.high[box]
                parts = np.divide(own, high, out=np.zeros(2), where=np.isfinite(high) & (high > 0))
                dealt = weights[box] @ np.array([(unit + 1) / mps.capacity_units, 1 / most, *parts])
                best = min(best, float(needs.time_of(service, np.array(batch), latency, rps)) * float(dealt))
    return best


def test_a_service_pays_the_least_of_all_boxes():
    tried = 0
    for seed in (0, 3, 4, 6, 7, 8, 10, 13):
        with small_gpus():
            problem, profiles, _ = slowed_turns(seed)
            resolved = resolve(problem, profiles)
            if not next(iter(resolved.mps.values())).usable.all():
                continue
            search = searched(resolved, 1)
            paid = search.paid(time.monotonic() + 60)
            for w in range(len(resolved.required_rps)):
                assert paid[w] == pytest.approx(least_in_any_box(search, search._needs, w), rel=1e-5), (seed, w)
                tried += np.isfinite(paid[w])
    assert tried > 8


@pytest.mark.parametrize("seed", [0, 3, 6])
def test_what_services_pay_elsewhere_counts_and_prices_there_are_made_fair(seed):
    with small_gpus():
        problem, profiles, _ = slowed_turns(seed)
        resolved = resolve(problem, profiles)
        rule, [mps] = turn_rule(resolved.problem), resolved.mps.values()
        needs = Needs(rule.slo_ms, resolved.limit_ms, resolved.required_rps, rule.slots_kept)
        kinds = [np.flatnonzero(mps.kind == kind) for kind in np.unique(mps.kind)]
        count = len(resolved.required_rps)

        def cost(elsewhere, dearest, usd=(2.0,), wanted=np.inf):
            dealing = TimeDealing([Dealt(one, mps, kinds) for one in usd], needs, np.full(count, elsewhere), dearest)
            return dealing.cost(wanted, time.monotonic() + 1)

        alone = cost(np.inf, 0.0)
        assert alone >= 2.0 * searched(resolved, 0).paid(np.inf).sum() * 0.95
        assert cost(1e-9, 0.0) == pytest.approx(count * 1e-9)
        assert cost(1e-9, 4.0) == pytest.approx(count * 1e-9 / 4)
        # A dearer type of the same GPU changes little, and a cheaper one makes all cheaper.
        assert cost(np.inf, 0.0, (2.0, 5.0)) == pytest.approx(alone, rel=0.2)
        assert cost(np.inf, 0.0, (2.0, 1.0)) == pytest.approx(alone / 2, rel=0.2)
        assert cost(np.inf, 0.0, wanted=alone / 4) >= alone / 4


def test_until_a_moment_that_is_past_nothing_is_said():
    with small_gpus():
        problem, profiles, _ = slowed_turns(0)
        resolved = resolve(problem, profiles)
        assert searched(resolved, 0).paid(time.monotonic() - 1) is None


@pytest.mark.parametrize("seed", [0, 3, 8])
def test_what_is_typical_is_that_of_services_alone_where_they_take_least(seed):
    with small_gpus():
        problem, profiles, _ = slowed_turns(seed)
        search = searched(resolve(problem, profiles), 0)
        occupants, needs = search._occupants, search._needs
        mps, gpus, shares, totals = occupants.mps, 0.0, 0.0, np.zeros(2)
        for kind in occupants.kinds:
            for w in kind.services.tolist():
                best = (np.inf,)
                for b, batch in enumerate(kind.batch.tolist()):
                    for unit in range(mps.capacity_units):
                        figures = mps.model.predict(
                            np.array([kind.first]), np.array([batch]), mps.percent(np.array([unit + 1]))
                        )
                        part = needs.time_of(w, np.array(batch), figures.latency_ms[0], figures.throughput_rps[0])
                        size = (unit + 1) / mps.capacity_units
                        best = min(best, (float(part) * (size + 0.05), b, unit, float(part), size))
                if np.isfinite(best[0]):
                    _, b, unit, part, size = best
                    gpus, shares = gpus + part * size, shares + part
                    totals += part * kind.asked[:, b, unit]
        found = _typical(occupants, needs)
        assert found[0] == pytest.approx(shares / gpus, rel=1e-6)
        assert found[1] == pytest.approx(totals / gpus, rel=1e-6)
