"""What a round carries and how long requests take, against requests that are followed one by one in whole numbers."""

import random
from itertools import permutations, product

import pytest
from problems.rounds import two_in_a_round

from sliceplan.solver.model.problem import Settings
from sliceplan.solver.performance.turns.rounds import capacity_rps, execution_limit_ms, longest_ms, request_may_take_ms


def followed(arrivals, batch, slots, latency):
    """Returns the time that each request takes whose service has slots at these times; all must get a turn."""
    waiting, found, arrivals = [], [], sorted(arrivals)
    for slot in slots:
        while arrivals and arrivals[0] <= slot:
            waiting.append(arrivals.pop(0))
        found += [slot + latency - arrival for arrival in waiting[:batch]]
        waiting = waiting[batch:]
    assert not waiting
    assert not arrivals
    return found


def admissible(rng, batch, round_ms, until):
    """Returns arrivals of which no half-open window of a round holds more than a batch."""
    arrivals = []
    for moment in range(until):
        for _ in range(rng.randint(0, batch)):
            if sum(moment - round_ms < one <= moment for one in arrivals) < batch:
                arrivals.append(moment)
    return arrivals


@pytest.mark.parametrize("seed", range(30))
def test_no_request_takes_longer_in_slots_that_are_kept_and_one_takes_as_long(seed):
    rng = random.Random(seed)
    latencies = [rng.randint(1, 4) for _ in range(rng.randint(2, 4))]
    round_ms, batch = sum(latencies) + rng.randint(0, 3), rng.randint(1, 3)
    longest = longest_ms(round_ms, latencies, "fixed")
    for place, latency in enumerate(latencies):
        start = sum(latencies[:place])
        slots = range(start, start + 9 * round_ms, round_ms)
        arrivals = admissible(rng, batch, round_ms, 6 * round_ms)
        assert max(followed(arrivals, batch, slots, latency)) <= longest[place]
        # A request that comes just after its slot began, which whole numbers write as one before the next instant.
        just_after = [start + 1e-9]
        assert followed(just_after, batch, slots, latency)[0] == pytest.approx(longest[place])


@pytest.mark.parametrize(("latencies", "idle"), list(product([(1, 2), (2, 1, 3), (1, 1)], [0, 2])))
def test_in_any_order_the_last_of_a_round_takes_longest(latencies, idle):
    """All orders of two rounds one after the other: what came in the first is executed in the second."""
    round_ms = sum(latencies) + idle
    longest = longest_ms(round_ms, latencies, "any")
    worst = [0.0] * len(latencies)
    for order in permutations(range(len(latencies))):
        for place, service in enumerate(order):
            ends = round_ms + sum(latencies[one] for one in order[: place + 1])
            for arrival in range(round_ms):
                worst[service] = max(worst[service], ends - arrival)
    assert worst == longest


def test_a_service_alone_is_the_round_of_its_latency():
    assert longest_ms(7.0, [7.0], "fixed") == longest_ms(7.0, [7.0], "any") == [14.0]
    assert capacity_rps(3, 7.0) == pytest.approx(3000 / 7)
    half = Settings(slo_fraction=0.5)
    assert request_may_take_ms(half, 14.0) == 14.0
    assert request_may_take_ms(Settings(slo_fraction=0.25), 14.0) == 7.0


def test_what_waiting_leaves_for_execution():
    for turns, left in (("fixed", [60.0, 40.0]), ("any", [60.0 - 10.876301891690916, 40.0 - 12.33636])):
        problem, plan = two_in_a_round(turns)
        (partition,) = plan.gpus[0].partitions
        found = [
            execution_limit_ms(problem.settings, workload.slo_ms, partition, served)
            for workload, served in zip(problem.workloads, partition.serves, strict=True)
        ]
        assert found == pytest.approx(left)
        alone = partition.model_copy(update={"duty_cycle_ms": None, "turns": None, "serves": partition.serves[:1]})
        assert execution_limit_ms(problem.settings, 100.0, alone, partition.serves[0]) == 50.0
