"""GSLICE's online rule: fair shares by their definition, what its last good period shows, and how many it schedules."""

import random

import pytest
from problems.gpulets import a100_services, scenarios
from problems.gpulets_surrogate import surrogate

from sliceplan.solver.planners.time_sharing.online_tuning import fair, tuned_online
from sliceplan.solver.planners.time_sharing.services import Services
from sliceplan.solver.planners.time_sharing.shares import judged

GPUS = 4


def random_services(drawn):
    """Returns services whose latencies fall with the share and rise with the batch."""
    shares = (20, 40, 60, 80, 100)
    number = drawn.randint(1, 5)
    solo = []
    for _ in range(number):
        fixed, each, floor = drawn.uniform(0.5, 3), drawn.uniform(0.05, 1.5), drawn.uniform(0.2, 1.0)
        solo.append({s: [0.0, *(fixed + each * b * max(floor, 100 / s) for b in range(1, 33))] for s in shares})
    return Services(
        names=[f"s{i}" for i in range(number)],
        rate_rps=[drawn.choice([0.0, drawn.uniform(1, 1500)]) for _ in range(number)],
        slo_ms=[drawn.uniform(5, 60) for _ in range(number)],
        solo_ms=solo,
        shares=shares,
        memory_mib=[drawn.uniform(100, 4000) for _ in range(number)],
        room_mib=8000.0,
    )


@pytest.mark.parametrize("seed", range(50))
def test_fair_parts_are_those_where_nobody_gets_more_but_from_who_has_no_more(seed):
    drawn = random.Random(seed)
    wanted = [drawn.choice([0.0, drawn.uniform(0, 200)]) for _ in range(drawn.randint(1, 8))]
    room = drawn.uniform(0, 500)
    given = fair(wanted, room)
    assert all(0 <= part <= most for part, most in zip(given, wanted, strict=True))
    assert sum(given) == pytest.approx(min(room, sum(wanted)))
    unmet = [part for part, most in zip(given, wanted, strict=True) if part < most - 1e-9]
    assert all(part == pytest.approx(max(given)) for part in unmet)


@pytest.mark.parametrize("seed", range(60))
def test_a_placement_fits_its_gpus_and_carries_all_rates_within_the_slo_by_its_own_measure(seed):
    services = random_services(random.Random(seed))
    placed = tuned_online(services, GPUS)
    if placed is None:
        return
    carried = [0.0] * len(services.names)
    for lets in placed:
        assert sum(let.share for let in lets) <= 100
        assert sum(services.needs_mib(let.tasks[0].service) for let in lets) <= services.room_mib
        for let in lets:
            (task,) = let.tasks
            time_ms = services.latency_ms[task.service][let.share][task.batch]
            assert time_ms <= services.slo_ms[task.service]
            assert let.cycle_ms >= time_ms * (1 - 1e-9)
            carried[task.service] += let.carries_rps(task.service)
    assert carried == pytest.approx(list(services.rate_rps))


def test_some_random_services_are_scheduled_and_some_are_not():
    found = [tuned_online(random_services(random.Random(seed)), GPUS) is None for seed in range(60)]
    assert 5 < sum(found) < 55


def test_a_service_that_one_share_carries_keeps_the_share_in_whose_band_it_is():
    """Alone at 40 %: 10 ms of an SLO of 10.4, 800 of 780 requests/s; it stays there."""
    solo = {20: [0.0, *[20.0] * 32], 40: [0.0, *[10.0] * 32], 100: [0.0, *[4.0] * 32]}
    services = Services(["one"], [780.0], [10.4], [solo], (20, 40, 100))
    (let,) = (let for lets in tuned_online(services, 1) for let in lets)
    assert (let.share, let.tasks[0].batch) == (40, 8)


def test_without_a_rate_there_is_nothing_to_place():
    services = Services(["one"], [0.0], [10.0], [{100: [0.0, *[4.0] * 32]}], (100,))
    assert tuned_online(services, 2) == [[], []]


def test_counts_on_four_gpus():
    """Of every fourth set of rates; nobody published any. Most claims leave no time to collect a batch."""
    beds = {
        "a100": [a100_services(rates) for rates in list(scenarios())[::4]],
        "rtx-clean": [surrogate(rates, clean=True) for rates in list(scenarios((0, 200, 400, 600)))[::4]],
    }
    found = {}
    for name, bed in beds.items():
        claims = [judged(services, placed) for services in bed if (placed := tuned_online(services, GPUS))]
        found[name] = (len(claims), sum(claim.holds for claim in claims))
    assert found == {"a100": (91, 4), "rtx-clean": (180, 1)}
