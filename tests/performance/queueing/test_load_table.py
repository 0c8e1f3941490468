"""The table of greatest loads: what it holds, and that looking up rounds to the safe side."""

import numpy as np
import pytest

from sliceplan.solver.performance.queueing.batch_queue import batch_queue, greatest_load, late
from sliceplan.solver.performance.queueing.latency_quantiles import latency_quantiles
from sliceplan.solver.performance.queueing.load_table import MOST, greatest_loads, load_table

CASES = 14


def asked(seed):
    """Yields batch sizes, SLOs in units of a batch's time, and quantiles; half of the sizes are not in the table."""
    draw = np.random.default_rng(seed)
    for case in range(CASES):
        batch = int(draw.integers(1, 17)) if case % 2 else int(draw.choice([17, 23, 37, 45]))
        yield batch, float(2 + 3 * draw.random() ** 2), float(draw.choice([0.9, 0.95, 0.97, 0.99, 0.993, 0.999]))


@pytest.mark.parametrize(("batch", "slack", "quantile"), list(asked(1)))
def test_a_load_that_is_looked_up_holds_and_is_near_the_greatest_that_does(batch, slack, quantile):
    found = float(greatest_loads(np.array([batch]), np.array([slack]), np.array([quantile]))[0])
    for part in (1.0, 0.5, 0.1):
        assert late(batch_queue(np.ones(batch), found * part), slack) <= 1 - quantile
    if batch <= 16 and quantile in load_table().quantile:
        assert found >= greatest_load(np.ones(batch), slack, quantile) - 0.0105


def test_rows_of_the_table_are_computed_anew():
    table = load_table()
    draw = np.random.default_rng(2)
    for _ in range(8):
        q, b, load = (int(draw.integers(size)) for size in table.latency.shape)
        b = min(b, 22)
        anew = latency_quantiles(int(table.batch[b]), float(table.load[load]), [float(table.quantile[q])])
        assert anew[0] == pytest.approx(table.latency[q, b, load], abs=1.1e-3)


def test_quantiles_rise_with_the_load_where_a_batch_takes_one_time():
    """So that the running maximum changes nothing but rounding."""
    table = load_table()
    assert table.latency.shape == (table.quantile.size, table.batch.size, table.load.size)
    assert (np.diff(table.latency, axis=2) >= 0).all()


def test_larger_batches_and_lower_quantiles_allow_no_less_from_twice_the_time_on():
    table = load_table()
    slack = np.linspace(2, 12, 60)
    found = np.array(
        [
            [greatest_loads(np.full(60, b), slack, np.full(60, q)) for b in table.batch.tolist()]
            for q in table.quantile.tolist()
        ]
    )
    assert (np.diff(found, axis=0) <= 0).all()
    assert (np.diff(found, axis=1) >= 0).all()
    assert (np.diff(found, axis=2) >= 0).all()
    assert found.max() == MOST


def test_below_twice_the_time_nothing_is_promised():
    one = np.array([8])
    assert greatest_loads(one, np.array([1.99]), np.array([0.5]))[0] == 0
    assert greatest_loads(one, np.array([2 - 1e-12]), np.array([0.5]))[0] > 0
    assert greatest_loads(np.array([60_000]), np.array([2.1]), np.array([0.99]))[0] == MOST
