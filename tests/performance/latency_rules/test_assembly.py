"""Held batches: in time for every even stream up to the promised rate, event by event, and late just beyond."""

import numpy as np
import pytest
from oracles.queue_events import PlainServer, plain_simulation

from sliceplan.solver.performance.latency_rules.assembly import Assembly, held_ms
from sliceplan.solver.performance.latency_rules.rule import Asked
from sliceplan.solver.performance.operating_points import OperatingPoints

TIME = 20.0
SERVERS = [(b, p) for b in (1, 2, 3, 5, 8) for p in (1, 2, 3)]


def longest_ms(batch, processes, slo_ms, gap_ms):
    """Returns the longest latency of requests every so many ms, event by event; batches are held as the plan says."""
    held = float(held_ms(np.array(batch), np.array(TIME), np.array(slo_ms)))
    server = PlainServer(batch, processes, [0.0] + [TIME] * batch, least=batch, delay=held)
    arrivals = [gap_ms * i for i in range(40 * batch * processes)]
    _, ended = plain_simulation(arrivals, [server], lambda *_: 0)
    return max(end - at for at, end in zip(arrivals, ended, strict=True) if isinstance(end, float))


def greatest_rps(batch, processes, slo_ms, shared=True):
    points = OperatingPoints(
        np.array([batch]),
        np.array([processes]),
        np.array([TIME]),
        np.array([1000 * batch * processes / TIME]),
        np.array([np.nan]),
    )
    rule = Assembly(shared=shared)
    asked = Asked(np.array([slo_ms]), np.array([1.0]), np.array([0.99]))
    assert rule.best_of([(points, asked)])[0][1] == rule.greatest_rps(points, asked)
    return float(rule.greatest_rps(points, asked)[0])


@pytest.mark.parametrize(("batch", "processes"), SERVERS)
def test_every_even_stream_up_to_the_promised_rate_is_in_time(batch, processes):
    draw = np.random.default_rng(batch * 10 + processes)
    least = TIME * (1 + 1 / processes) if batch > 1 else TIME
    for slo_ms in (least, least * 1.07, least + TIME):
        greatest = greatest_rps(batch, processes, slo_ms)
        assert greatest == pytest.approx(1000 * batch * processes / TIME)
        shortest, held = 1000 / greatest, slo_ms - TIME
        # Where one more request just does, or does not, come while a batch is held, and anywhere.
        gaps = [shortest, *(held / k * (1 + part) for k in range(1, batch) for part in (-1e-6, 1e-6))]
        for gap in [*gaps, *draw.uniform(shortest, 3 * TIME, 4)]:
            if gap >= shortest:
                assert longest_ms(batch, processes, slo_ms, gap) <= slo_ms * (1 + 1e-9)


@pytest.mark.parametrize(("batch", "processes"), SERVERS)
def test_with_a_shorter_slo_some_lower_rate_is_late(batch, processes):
    least = TIME * (1 + 1 / processes) if batch > 1 else TIME
    for part in (0.999, 1 - 0.5 / batch, 0.6):
        slo_ms = least * part
        assert greatest_rps(batch, processes, slo_ms) == 0
        shortest, held = TIME / (batch * processes), max(slo_ms - TIME, 0.0)
        gaps = [shortest, *(gap for k in range(1, batch) if (gap := held / k * (1 + 1e-4)) >= shortest)]
        assert any(longest_ms(batch, processes, slo_ms, gap) > slo_ms * (1 + 1e-9) for gap in gaps)


def test_processes_with_a_queue_each_are_servers_of_one():
    assert greatest_rps(4, 3, 1.5 * TIME) == pytest.approx(600)
    assert greatest_rps(4, 3, 1.5 * TIME, shared=False) == 0
    assert greatest_rps(4, 3, 2 * TIME, shared=False) == pytest.approx(600)


def test_the_longest_time_is_where_the_greatest_rate_falls_below_the_rate():
    rule, asked = Assembly(shared=True), Asked(np.array([100.0]), np.array([1.0]), np.array([0.99]))
    assert rule.longest_ms(np.array([1, 2, 2]), np.array([1.0, 1.0, 50.0]), asked).tolist() == [100, 50, 40]
