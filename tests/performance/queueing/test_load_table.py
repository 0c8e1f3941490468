"""The table of greatest loads: what it holds, and that looking up rounds to the safe side."""

import numpy as np
import pytest

from sliceplan.solver.performance.queueing.batch_queue import batch_queue, greatest_load, late
from sliceplan.solver.performance.queueing.latency_quantiles import latency_quantiles
from sliceplan.solver.performance.queueing.load_table import MOST, greatest_loads, load_table
from sliceplan.solver.performance.queueing.long_waits import long_quantiles
from sliceplan.solver.performance.queueing.rare_waits import rare_quantiles
from sliceplan.solver.performance.queueing.shared_batches import SharedBatches
from sliceplan.solver.performance.queueing.single_requests import single_request_quantiles
from sliceplan.solver.performance.queueing.table_file import LONG_SEEDS, RARE_SEED

CASES = 14


def looked_up(batch, processes, slack, quantile):
    """Returns one load."""
    return float(greatest_loads(*(np.array([of]) for of in (batch, processes, slack, quantile)))[0])


def asked(seed):
    """Yields batch sizes, SLOs in units of a batch's time, and quantiles; half of the sizes are not in the table."""
    draw = np.random.default_rng(seed)
    for case in range(CASES):
        batch = int(draw.integers(1, 17)) if case % 2 else int(draw.choice([17, 23, 37, 45]))
        yield batch, float(2 + 3 * draw.random() ** 2), float(draw.choice([0.9, 0.95, 0.97, 0.99, 0.993, 0.999]))


@pytest.mark.parametrize(("batch", "slack", "quantile"), list(asked(1)))
def test_a_load_that_is_looked_up_holds_and_is_near_the_greatest_that_does(batch, slack, quantile):
    found = looked_up(batch, 1, slack, quantile)
    for part in (1.0, 0.5, 0.1):
        assert late(batch_queue(np.ones(batch), found * part), slack) <= 1 - quantile
    if batch <= 16 and quantile in load_table().quantile:
        assert found >= greatest_load(np.ones(batch), slack, quantile) - 0.0055


def rows():
    """Returns quantile, processes, and batch of the rows that are in the file."""
    table = load_table()
    q, p, b = table.key.T
    return np.stack([table.quantile[q], table.processes[p], table.batch[b]], axis=1)


def test_rows_of_the_table_are_computed_anew():
    table, draw, key = load_table(), np.random.default_rng(2), rows()
    exact = np.flatnonzero((key[:, 1] == 1) & (key[:, 2] <= 24) | (key[:, 2] == 1))
    for row in draw.choice(exact, 10).tolist():
        (quantile, processes, batch), at = key[row].tolist(), int(draw.integers(table.load.size))
        make = single_request_quantiles if batch == 1 else latency_quantiles
        anew = make(int(processes if batch == 1 else batch), float(table.load[at]), [quantile])
        assert np.maximum(anew, 2)[0] == pytest.approx(table.latency[row, at], abs=1.1e-3)


@pytest.mark.parametrize(("processes", "batch"), [(2, 32), (3, 8)])
def test_what_is_simulated_is_simulated_anew(processes, batch):
    """All quantiles at one load: the draws are the same."""
    table, key = load_table(), rows()
    at, queue = int(np.searchsorted(table.load, 0.88)), SharedBatches(processes, batch)
    of_these = (key[:, 1] == processes) & (key[:, 2] == batch)
    counted = np.flatnonzero(of_these & (key[:, 0] <= 0.999))
    rising = np.flatnonzero(of_these & (key[:, 0] >= 0.995) & (key[:, 0] <= 0.999))
    rare = np.flatnonzero(of_these & (key[:, 0] > 0.999))
    by_count = dict(zip(key[counted, 0], queue.quantiles(float(table.load[at]), key[counted, 0]), strict=True))
    risen = [long_quantiles(queue, float(table.load[at]), key[rising, 0], seed) for seed in LONG_SEEDS]
    by_rise = dict(zip(key[rising, 0], np.max(risen, axis=0), strict=True))
    by_rise |= dict(
        zip(key[rare, 0], rare_quantiles(queue, float(table.load[at]), key[rare, 0], RARE_SEED), strict=True)
    )
    for row in np.flatnonzero(of_these).tolist():
        quantile = key[row, 0]
        anew = max(min(by_count.get(quantile, np.inf), by_rise.get(quantile, np.inf)), 2)
        assert table.latency[row, at] == pytest.approx(anew, abs=1e-3 if quantile < 0.995 else 0.15 * anew)
        # In the file they are no less than those that ask for less, whatever the errors of these.
        assert table.latency[row, at] >= anew - 1e-3


def test_quantiles_rise_with_the_load():
    latency = load_table().latency
    assert (latency[:, 1:] >= latency[:, :-1]).all()
    assert (latency >= 2).all()


def test_larger_batches_more_processes_and_lower_quantiles_allow_no_less_from_twice_the_time_on():
    """What rounding rests on: it is so between any two rows."""
    table, key, slack = load_table(), rows(), np.linspace(2, 12, 101)
    load = np.concatenate(([0.0], table.load))
    allowed = np.stack([load[np.searchsorted(latency, slack, side="right")] for latency in table.latency])
    for (quantile, processes, batch), own in zip(key.tolist(), allowed, strict=True):
        easier = (key[:, 0] <= quantile) & (key[:, 1] >= processes) & (key[:, 2] >= batch)
        assert (allowed[easier] >= own).all()
    assert allowed.max() == MOST


def test_what_is_looked_up_at_once_is_what_a_search_in_each_row_finds():
    """Also at SLOs that are latencies of the table, at its end, and of rows that were asked for before."""
    table, draw, count = load_table(), np.random.default_rng(3), 400
    loads = np.concatenate(([0.0], table.load))
    for _ in range(2):
        batch, processes = draw.integers(1, 300, count), draw.integers(1, 40, count)
        quantile = draw.choice([0.5, 0.93, 0.99, 0.9999], count)
        own = table.latency[np.isfinite(table.latency)]
        slack = np.where(draw.random(count) < 0.5, draw.choice(own, count), 1.9 + draw.exponential(3, count))
        slack[:20] = draw.integers(2, 200, 20)
        found = greatest_loads(batch, processes, slack, quantile)
        for b, p, s, q, load in zip(batch, processes, slack, quantile, found, strict=True):
            of_each = np.searchsorted(table.quantile, q - 1e-9)
            row_q, row_p, row_b = table.key.T
            easier = (row_q == of_each) & (table.processes[row_p] <= p) & (table.batch[row_b] <= b)
            fits = (table.latency[easier] <= s * (1 + 1e-9)).any(axis=0) & (s >= 2)
            assert load == loads[np.count_nonzero(fits)]


def test_below_twice_the_time_nothing_is_promised():
    assert looked_up(8, 1, 1.99, 0.5) == looked_up(8, 3, 1.99, 0.5) == 0
    assert looked_up(8, 1, 2 - 1e-12, 0.5) > 0
    assert looked_up(60_000, 1, 2.1, 0.99) == looked_up(60_000, 90, 2.1, 0.99) == MOST
