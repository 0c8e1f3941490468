"""What `check` says that a partition is promised, written a second time: against the planners' rules, on drawn ones."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from problems.instances import problem_of

from sliceplan.solver.check.latency import OnPartitions, promised_rps, stated_promise
from sliceplan.solver.performance.latency_rules.assembly import Assembly
from sliceplan.solver.performance.latency_rules.percentile import Percentile
from sliceplan.solver.performance.latency_rules.rule import Asked
from sliceplan.solver.performance.latency_rules.worst_case import WorstCase
from sliceplan.solver.performance.operating_points import OperatingPoints

from .test_promised_together import settings_of

ROWS = 2_000


def drawn(seed, quantiles):
    """Returns services on partitions, some too slow, some with all in time; full batches may take longer."""
    draw = np.random.default_rng(seed)
    batch, processes = draw.choice([1, 2, 4, 8, 32], ROWS), draw.integers(1, 4, ROWS)
    latency_ms, slower = draw.uniform(0.2, 40, ROWS), draw.choice([0.9, 1.0, 1.3], ROWS)
    throughput_rps = 1000 * batch * processes / (latency_ms * slower)
    slack = draw.choice([0.99, 1.01, 1.4, 1.6, 1.99, 2.01, 2.2, 2.6, 3.5, 8.0], ROWS)
    slo_ms = latency_ms * np.maximum(slower, 1.0) * slack
    rate_rps = throughput_rps * draw.choice([0.02, 0.3, 1.0, 2.5, 9.0], ROWS)
    return OnPartitions(
        batch.astype(float),
        processes.astype(float),
        latency_ms,
        throughput_rps,
        slo_ms,
        draw.choice(quantiles, ROWS),
        rate_rps,
    )


def by_the_planners(rule, served):
    """Returns what a rule of the planners lets each carry."""
    points = OperatingPoints(
        served.batch.astype(np.int64),
        served.processes.astype(np.int64),
        served.latency_ms,
        served.throughput_rps,
        np.full(ROWS, np.nan),
    )
    return rule.greatest_rps(points, Asked(served.slo_ms, served.rate_rps, served.quantile))


@pytest.mark.parametrize(("dispatch", "queues"), list(product(("random", "weighted_round_robin"), ("own", "shared"))))
def test_of_a_percentile_it_is_what_the_rule_in_closed_form_carries(dispatch, queues):
    """Property: of quantiles for which the formula was fitted, was measured, and was neither."""
    settings = settings_of(latency="percentile", dispatch=dispatch, process_queues=queues)
    served = drawn(3, [0.9, 0.95, 0.99, 0.995, 0.999, 0.9995])
    expected = by_the_planners(Percentile(dispatch != "random", queues == "shared"), served)
    assert promised_rps(settings, served) == pytest.approx(expected, rel=1e-6)
    loads = expected / served.throughput_rps
    assert min((loads == 0).sum(), ((loads > 0) & (loads < 0.5)).sum(), (loads > 0.8).sum()) > 5


@pytest.mark.parametrize("queues", ["own", "shared"])
def test_of_requests_that_are_evenly_spaced_it_is_all_that_is_completed_where_the_slo_leaves_a_wait(queues):
    served = drawn(4, [0.99])
    for latency, rule in (("worst_case", WorstCase()), ("assembly", Assembly(queues == "shared"))):
        found = promised_rps(settings_of(latency=latency, process_queues=queues), served)
        assert found == pytest.approx(by_the_planners(rule, served))
        assert 0 < (found == 0).sum() < 0.8 * ROWS


def test_less_than_holds_is_taken_as_stated_and_more_is_not():
    """Where nothing holds it is nothing; nothing stated and 0 are no promise, however many requests a service has."""
    settings, served = settings_of(latency="percentile"), drawn(5, [0.95, 0.99])
    served = replace(served, rate_rps=np.where(np.arange(ROWS) % 2, 1e7, served.rate_rps))
    holds = promised_rps(settings, served)
    some = holds > 0
    assert 0 < some.sum() < ROWS
    for part, expected in ((0.5, 0.5), (1.0, 1.0), (1.001, 1.0), (3.0, 1.0), (0.0, 1.0), (np.nan, 1.0)):
        found = promised_rps(settings, served, part * np.where(some, holds, 1.0))
        assert found[some] == pytest.approx(expected * holds[some])
        assert not found[~some].any()


@pytest.mark.parametrize("dispatch", ["random", "weighted_round_robin"])
def test_two_processes_are_promised_999_of_a_thousand_at_no_load_at_which_more_are_late(dispatch):
    """The formula says 0.404 and 0.500, where 1.24 and 1.16 thousandths were late of 2,200,000 simulated requests."""
    one, batch = np.ones(2), np.array([3.0, 4.0])
    full_rps = 1000 * batch * 2 / 50
    served = OnPartitions(batch, 2 * one, 50 * one, full_rps, 100 * one, 0.999 * one, one)
    load = promised_rps(settings_of(latency="percentile", dispatch=dispatch), served) / full_rps
    assert (load <= [0.385, 0.485]).all()
    assert (load >= [0.365, 0.465]).all()


@pytest.mark.parametrize(
    ("latency", "quantile", "dispatch", "queues"),
    [
        ("percentile", 0.99, "weighted_round_robin", "shared"),
        ("assembly", None, None, "shared"),
        ("worst_case", None, None, None),
    ],
)
def test_a_plan_says_of_its_promise_what_the_rule_goes_by_and_no_more(latency, quantile, dispatch, queues):
    workloads = [{"model": "bert", "rate_rps": 1, "slo_ms": 900, **own} for own in ({}, {"slo_quantile": 0.9})]
    if latency != "percentile":
        del workloads[1]["slo_quantile"]
    given = {"dispatch": "weighted_round_robin"} if dispatch else {}
    said = stated_promise(problem_of(workloads, latency=latency, **given))
    assert (said.latency, said.quantile, said.dispatch, said.process_queues) == (latency, quantile, dispatch, queues)
    assert said.quantiles == ({"w1": 0.9} if latency == "percentile" else {})
    assert stated_promise(problem_of(workloads[:1])) is None
