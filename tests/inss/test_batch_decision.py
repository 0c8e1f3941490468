"""BDA in its forms: how often each errs, and the batches of the published run."""

import numpy as np
import pytest
from problems.inss_instances import RESNET50, series, six_models

from sliceplan.solver.inss.batch_decision import coded, normalised, printed, scan
from sliceplan.solver.inss.latency import latencies_of
from sliceplan.solver.inss.running_times import running_ms
from sliceplan.solver.inss.task_latency import as_coded, as_printed, assembled
from sliceplan.solver.model.inss_problem import Running

SIZES = np.arange(1, 33, dtype=np.float64)
CURVE = Running(rational=RESNET50)


def resnet50_rates(moments):
    """Returns the rate at each moment of the published evaluation: 150, up by 20 every 10 s, back from above 400."""
    rates = []
    for moment in moments:
        rate, step = 150, 20
        for _ in range(int(moment // 10)):
            step = -20 if rate > 400 else step
            rate += step
        rates.append(rate)
    return np.array(rates)


def test_scan_is_the_best_batch_of_all():
    draw = np.random.default_rng(0)
    for _ in range(200):
        possible, capacity = draw.random(9) < 0.6, draw.uniform(1, 10, 9)
        allowed = [b for b in range(1, 10) if possible[b - 1] and capacity[b - 1] >= 5]
        best = max(allowed, key=lambda b: capacity[b - 1], default=None)
        assert scan(possible, capacity, 5.0).batch == best


def test_how_often_each_form_errs():
    """
    Cases: a model of the six on drawn units, neighbours and rate, an empty queue.

    The prototype has 1.3 % where none is found, 14.1 % where a lesser one is, and 0.74 % of capacity lost, on cases
    whose distribution is not stated; here 0.9, 11.1 and 0.36. With a backlog halving errs far more.
    """
    latencies, draw = latencies_of(six_models()), np.random.default_rng(0)
    counts = {"cases": 0, "none": 0, "lesser": 0, "printed flag": 0, "coded none": 0, "lost": 0.0}
    backlog = dict(counts)
    for _ in range(1500):
        i, kind = int(draw.integers(6)), int(draw.integers(2))
        tables, one = latencies.types[kind], latencies.problem.models[i]
        ms = tables.running[i, draw.integers(tables.units)] * (1 + 0.008 * draw.uniform(0, 20))
        rate = draw.uniform(one.walk.low_rps, one.walk.high_rps)
        for waiting, into in ((0, counts), (int(draw.integers(20)), backlog)):
            possible = as_printed(SIZES, ms, rate, waiting, 0.0) <= one.slo_ms
            capacity = 1000 * SIZES / ms
            best = scan(possible, capacity, rate).batch
            found = normalised(possible, capacity, rate).batch
            if best is None:
                assert found is None
                continue
            into["cases"] += 1
            into["none"] += found is None
            into["lesser"] += found is not None and capacity[found - 1] < capacity[best - 1]
            into["lost"] += 1 - capacity[found - 1] / capacity[best - 1] if found else 0.0
            into["printed flag"] += printed(possible, capacity, rate).flag != (found is not None)
            by_code = as_coded(SIZES, ms, rate, waiting, 0.0) <= one.slo_ms
            into["coded none"] += coded(by_code, capacity, rate).batch is None
    shares = {key: round(100 * count / counts["cases"], 1) for key, count in counts.items()}
    assert (shares["none"], shares["lesser"], shares["lost"]) == pytest.approx((0.9, 11.1, 0.4), abs=1.5)
    assert shares["coded none"] > 2 * shares["none"]
    assert shares["printed flag"] > 0
    assert backlog["lesser"] / backlog["cases"] > 0.3


def test_halving_stops_where_a_greater_batch_would_carry_the_rate():
    capacity = np.linspace(100, 400, 32)
    everywhere = np.ones(32, dtype=bool)
    assert scan(everywhere, capacity, 300.0).batch == 32
    assert normalised(everywhere, capacity, 300.0).batch is None
    assert printed(everywhere, capacity, 200.0).flag is False  # 32 is found, and no limit was met on the way
    assert normalised(everywhere, capacity, 200.0).flag is True


def test_figure_18_batches_of_resnet50():
    decided = series(18, "InSS decided")
    published = [round(batch) for _, batch in decided]
    rates = resnet50_rates([moment for moment, _ in decided])
    for percent, equal, difference in ((80.0, 30, 0.04), (100.0, 5, 1.24)):
        ms = running_ms(CURVE, SIZES, np.full(32, percent))
        found = [normalised(assembled(SIZES, ms, rate) <= 80, 1000 * SIZES / ms, rate).batch for rate in rates]
        assert sum(one == other for one, other in zip(found, published, strict=True)) == equal
        assert np.mean(found) - np.mean(published) == pytest.approx(difference, abs=0.005)
    by_gpulet = {round(batch) for _, batch in series(18, "Gpulet decided")}
    twice = {int(SIZES[2 * running_ms(CURVE, SIZES, np.full(32, p)) <= 80].max()) for p in (50.0, 60.0)}
    assert by_gpulet == twice == {12, 15}


def test_figure_19_queueing_and_execution_of_resnet50():
    decided = series(18, "InSS decided")
    batches = np.array([round(batch) for _, batch in decided], dtype=np.float64)
    rates = resnet50_rates([moment for moment, _ in decided])
    (_, queueing), (_, execution) = *series(19, "InSS queueing"), *series(19, "InSS execution")
    assert np.mean((batches - 1) / 2 / rates) * 1000 == pytest.approx(23.70, abs=0.005)
    assert np.mean(running_ms(CURVE, batches, np.full(50, 90.0))) == pytest.approx(26.17, abs=0.005)
    assert (queueing, execution) == pytest.approx((23.51, 26.73), abs=0.005)


def test_figure_15_capacities_and_what_the_text_makes_of_them():
    inss, without, gpulet, gslice, igniter = (
        series(15, name)[0][1] for name in ("InSS", "InSS_ni", "Gpulet", "GSLICE", "iGniter")
    )
    assert (inss, without, gpulet, gslice, igniter) == pytest.approx((4831, 4848, 3772, 3270, 1668), abs=0.6)
    more = [100 * (inss / other - 1) for other in (gpulet, gslice, igniter)]
    assert more == pytest.approx([28.1, 47.7, 189.7], abs=0.05)
