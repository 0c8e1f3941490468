"""Quantiles beyond 0.999 of processes on one queue: against exact figures, plain simulation, requests one by one."""

import numpy as np
import pytest
from oracles.queue_oracle import latencies, poisson_arrivals

from sliceplan.solver.performance.queueing import rare_waits, shared_batches
from sliceplan.solver.performance.queueing.latency_quantiles import latency_quantiles
from sliceplan.solver.performance.queueing.load_table import greatest_loads, load_table
from sliceplan.solver.performance.queueing.rare_waits import lifts, rare_quantiles
from sliceplan.solver.performance.queueing.shared_batches import SharedBatches
from sliceplan.solver.performance.queueing.single_requests import single_request_quantiles
from sliceplan.solver.performance.queueing.table_file import RARE_SEED

RARE = (0.9995, 0.9999, 0.99999)


@pytest.mark.parametrize(
    ("processes", "batch", "load"), [(1, 4, 0.5), (1, 16, 0.8), (1, 64, 0.85), (1, 3, 0.9), (2, 1, 0.3), (6, 1, 0.8)]
)
def test_quantiles_are_no_less_than_the_exact_ones_and_near_them(processes, batch, load):
    """Of one process, and of batches of one, where these are known."""
    alone = processes == 1
    exact = latency_quantiles(batch, load, RARE) if alone else single_request_quantiles(processes, load, RARE)
    found = rare_quantiles(SharedBatches(processes, batch), load, RARE, 4)
    assert (found >= exact).all()
    assert found == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("error", [0.0, 3.0])
def test_without_its_margin_the_estimate_lies_about_the_exact_one(monkeypatch, error):
    """So it is the margin that makes it careful: of four seeds without it some are below, and with it none is."""
    monkeypatch.setattr(rare_waits, "ERRORS", error)
    exact = latency_quantiles(8, 0.7, RARE)
    found = np.stack([rare_quantiles(SharedBatches(1, 8), 0.7, RARE, seed) for seed in range(4)])
    assert (found < exact).any() == (error == 0)
    assert found.mean(axis=0) == pytest.approx(exact, rel=0.004 if error == 0 else 0.02)


@pytest.mark.parametrize(("processes", "batch", "load"), [(2, 4, 0.7), (2, 32, 0.9), (4, 6, 0.9)])
def test_lower_quantiles_are_those_of_plain_simulation(monkeypatch, processes, batch, load):
    """Both without their margins, of which that of plain simulation is wide."""
    monkeypatch.setattr(rare_waits, "ERRORS", 0.0)
    monkeypatch.setattr(shared_batches, "ERRORS", 0.0)
    queue = SharedBatches(processes, batch)
    plain = queue.quantiles(load, (0.99, 0.999))
    assert (plain > 2).all()
    assert rare_quantiles(queue, load, (0.99, 0.999), 4) == pytest.approx(plain, rel=0.03)


@pytest.mark.parametrize("load", [0.02, 0.13, 0.4, 0.55, 0.8, 0.97])
def test_every_lift_lets_full_batches_rise(load):
    thetas = lifts(load)
    assert (np.diff(thetas) > 0).all()
    assert load * np.exp(thetas[0]) == pytest.approx(1)


def test_where_nearly_nobody_waits_all_are_within_two_batches():
    assert rare_quantiles(SharedBatches(4, 2), 0.1, RARE, 4).tolist() == [2, 2, 2]


@pytest.mark.parametrize(("processes", "batch", "slack"), [(2, 8, 2.1), (2, 32, 2.05), (4, 16, 2.05), (3, 3, 3.0)])
def test_a_load_that_is_looked_up_holds_and_is_near_the_greatest_that_does(processes, batch, slack):
    """
    Runs begin with all processes free. At 0.025 more too many are late.

    With two processes and batches of 32 the table was 0.065 below.
    """
    load = float(greatest_loads(*(np.array([of]) for of in (batch, processes, slack, 0.9995)))[0])

    def late(load, seed):
        draw = np.random.default_rng(seed)
        first = int(max(12 / (1 - load) ** 2, 12 * batch * processes))
        found = []
        for _ in range(40):
            arrivals = poisson_arrivals(draw, load * batch * processes, first + 24_000)
            found.append((latencies(arrivals, [1.0] * batch, processes)[first:] > slack * (1 + 1e-9)).mean())
        return np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))

    part, error = late(load, 5)
    assert part <= 0.0005 + 3 * error
    part, error = late(load + 0.025, 6)
    assert part > 0.0005


def test_rows_of_small_batches_at_low_loads_are_simulated_anew():
    """Where more excursions are simulated; a row is the greatest at all lower loads, and no less than easier ones."""
    table, load = load_table(), 0.425
    found = rare_quantiles(SharedBatches(2, 4), load, RARE, RARE_SEED)
    at = int(np.searchsorted(table.load, load))
    assert table.load[at] == pytest.approx(load)
    for quantile, anew in zip(RARE, found, strict=True):
        q = np.searchsorted(table.quantile, quantile - 1e-9)
        p, b = np.searchsorted(table.processes, 2), np.searchsorted(table.batch, 4)
        (row,) = np.flatnonzero((table.key == (q, p, b)).all(axis=1))
        assert anew - 1e-3 <= table.latency[row, at] <= anew * 1.02
    assert (found[1:] > 2).all()
