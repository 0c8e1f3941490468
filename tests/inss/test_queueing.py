"""Equation 2 against a queue that is stepped through task by task, its exact mean, and what its tail does."""

import numpy as np
import pytest

from sliceplan.solver.inss.batch_queue import dispatched_early, mean_ms, poisson_arrivals, simulated
from sliceplan.solver.inss.task_latency import as_coded, as_printed, assembled, repaired


def stepped(arrivals, batch, ms):
    """Returns what each task of a full batch takes: one event after the other."""
    waiting, taken, free = [], [], 0.0
    for moment in arrivals:
        waiting.append(moment)
        if len(waiting) == batch:
            free = max(free, moment) + ms
            taken += [free - one for one in waiting]
            waiting = []
    return taken


@pytest.mark.parametrize(
    ("batch", "load", "plan", "mean", "said", "error", "longer", "late", "early"),
    [
        (1, 0.80, 6.5, 19.9, 19.9, 0, 0, 79, 79),
        (4, 0.50, 27.5, 19.8, 19.4, 17, 30, 17, 0.3),
        (4, 0.80, 21.3, 20.6, 20.0, 6, 20, 38, 33),
        (16, 0.30, 119.6, 74.4, 74.3, 16, 42, 9.6, 0.0),
        (16, 0.80, 63.0, 47.6, 46.9, 7, 38, 10.4, 1.4),
        (16, 0.95, 57.6, 58.2, 57.8, 2, 15, 41, 39),
        (32, 0.80, 117.2, 85.9, 85.4, 6, 44, 6.9, 0.1),
    ],
)
def test_the_table_of_what_equation_2_says_and_what_is_so(batch, load, plan, mean, said, error, longer, late, early):
    """t = 5 + 1.5 b, Poisson arrivals; the prototype's figures, within what one draw of 100,000 tasks allows."""
    ms = 5 + 1.5 * batch
    rate = 1000 * load * batch / ms
    arrivals = poisson_arrivals(rate, 100_000, seed=4)
    limit = assembled(float(batch), ms, rate)
    found = simulated(arrivals, batch, ms, rate)
    assert limit == pytest.approx(plan, abs=0.06)
    assert (found.taken_ms.mean(), found.said_ms.mean()) == pytest.approx((mean, said), rel=0.02)
    assert found.said_ms.mean() == pytest.approx(found.taken_ms.mean(), rel=0.03)
    assert mean_ms(batch, ms, rate) == pytest.approx(found.taken_ms.mean(), rel=0.03)
    assert (100 * found.error, 100 * found.longer) == pytest.approx((error, longer), abs=1)
    assert 100 * np.mean(found.taken_ms > limit + 1e-9) == pytest.approx(late, abs=1 + 0.11 * late)
    sent_early = dispatched_early(arrivals, batch, ms, limit - ms)
    assert 100 * np.mean(sent_early > limit + 1e-9) == pytest.approx(early, abs=0.7 + 0.14 * early)
    even = np.arange(1, 2001) * 1000 / rate
    assert simulated(even, batch, ms, rate).taken_ms.max() <= limit + 1e-6


def test_the_quick_simulation_is_the_queue_stepped_through():
    for batch, ms, rate, seed in ((1, 4.0, 200, 1), (4, 11.0, 300, 2), (7, 20.0, 100, 3)):
        arrivals = poisson_arrivals(rate, 500, seed)
        assert simulated(arrivals, batch, ms, rate).taken_ms == pytest.approx(stepped(arrivals, batch, ms))
        patient = dispatched_early(arrivals[: 500 // batch * batch], batch, ms, 1e9)
        assert patient == pytest.approx(stepped(arrivals, batch, ms))


def test_the_mean_of_single_tasks_is_that_of_a_queue_with_constant_service():
    """Pollaczek and Khinchine: t + lambda t^2 / (2 (1 - load))."""
    for load in (0.2, 0.7, 0.95):
        ms = 6.5
        assert mean_ms(1, ms, 1000 * load / ms) == pytest.approx(ms + load * ms / (2 * (1 - load)), rel=1e-6)


def test_an_overload_has_no_mean():
    with pytest.raises(ValueError, match=r"batches of 4 in 10 ms carry 400 requests/s, not 400"):
        mean_ms(4, 10.0, 400.0)


def test_the_repaired_form_waits_for_the_last_batch_as_well():
    batch, ms = np.array([4.0]), np.array([10.0])
    for waiting in range(4):
        assert repaired(batch, ms, 50.0, waiting, 3.0) == as_printed(batch, ms, 50.0, waiting, 3.0)
    # The fifth task is the first of its batch, which three more must fill: 60 ms, and equation 2 says 23.
    assert as_printed(batch, ms, 50.0, 4, 3.0) == 23
    assert repaired(batch, ms, 50.0, 4, 3.0) == 70
    assert as_printed(batch, ms, 50.0, 0, 0.0) == assembled(4.0, 10.0, 50.0) == 70
    assert as_coded(batch, ms, 50.0, 0, 0.0) == 110  # the slip of a sign: 5 gaps in place of 3
