"""What a simulation shows of each service and planner, and says of all of them."""

import pytest

from sliceplan.solver.commands.output import display
from sliceplan.solver.commands.simulation_table import planners_table, simulation_table, verdict_lines, worst_of
from sliceplan.solver.model.simulation_report import (
    Instability,
    SimulatedPercentile,
    SimulatedService,
    SimulationReport,
)


def percentile(quantile, latency_ms, high_ms=None):
    return SimulatedPercentile.model_construct(quantile=quantile, latency_ms=latency_ms, low_ms=None, high_ms=high_ms)


def service(name="a", holds="yes", in_time=0.995, quantile=0.99, p99=(30.0, 31.5), **changed):
    fields = {
        "workload": name,
        "slo_ms": 60.0,
        "arrivals": "poisson",
        "settled": True,
        "percentiles": (percentile(0.5, 10.0), percentile(0.95, 20.0), percentile(0.99, *p99), percentile(0.999, 40.0)),
        "in_time": in_time,
        "quantile": quantile,
        "holds": holds,
        "unstable": None,
    }
    return SimulatedService.model_construct(**fields | changed)


def report(*services, **changed):
    fields = {
        "quantile": 0.99,
        "load": 1.0,
        "seed": 7,
        "dispatch": "random",
        "planned_for": None,
        "batching": "full",
        "batch_times": "plan",
        "services": services,
        "missing": (),
        "stopped": "done",
        "requests": 12345,
    }
    return SimulationReport.model_construct(**fields | changed)


def shown(capsys, monkeypatch, table):
    monkeypatch.setenv("COLUMNS", "100")
    display(table)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_service_has_its_percentiles_and_the_promised_one_with_its_interval(capsys, monkeypatch):
    found = report(
        service(),
        service("b", "unknown", None, p99=(99_999.9, None)),
        service("c", "no", 0.0, p99=(1e5, None)),
        service("d", "unsure", 0.999999, p99=(None, None)),
        service("e" * 30, in_time=1.0, p99=(None, 3.0)),
    )
    assert shown(capsys, monkeypatch, simulation_table(found)) == [
        "service SLO ms P50 P95 P99 ms in time holds",
        "a 60 10.0 20.0 30.0 ± 1.5 99.50 % yes",
        "b 60 10.0 20.0 99999.9 - unknown",
        "c 60 10.0 20.0 1e+05 0.00 % no",
        "d 60 10.0 20.0 - 99.99 % unsure",
        f"{'e' * 23}… 60 10.0 20.0 - 100.00 % yes",
    ]


def test_a_percentile_that_is_asked_for_stands_once_and_each_service_may_have_its_own(capsys, monkeypatch):
    median = report(service(quantile=0.95), quantile=0.95)
    assert shown(capsys, monkeypatch, simulation_table(median)) == [
        "service SLO ms P50 P95 ms in time holds",
        "a 60 10.0 20.0 99.50 % yes",
    ]
    own = report(service(), service("b", quantile=0.999))
    assert shown(capsys, monkeypatch, simulation_table(own)) == [
        "service SLO ms P50 P95 promised ms in time holds",
        "a 60 10.0 20.0 P99: 30.0 ± 1.5 99.50 % yes",
        "b 60 10.0 20.0 P99.9: 40.0 99.50 % yes",
    ]


def test_the_worst_service_is_the_one_with_most_requests_late():
    late, none = service("late", in_time=0.0), service("none", in_time=None)
    assert worst_of(report(service("a", in_time=0.5), late, none, service("b", in_time=0.9))) is late
    assert worst_of(report(none)) is None
    assert worst_of(report()) is None


def test_a_planner_has_how_many_services_hold_and_its_worst(capsys, monkeypatch):
    some = report(service(), service("b", "no", 0.0), service("c", "unsure"), service("d"), missing=("e",))
    none = report(service("a", "unknown", None))
    assert shown(capsys, monkeypatch, planners_table({"exact": some, "ffd": none, "igniter": report()})) == [
        "planner hold miss unsure worst service in time",
        "exact 2 1 2 b 0.00 %",
        "ffd 0 0 1 - -",
        "igniter 0 0 0 - -",
    ]


ALL_HOLD = "99 % of requests within the SLO: of 1 services 1 hold."
ARRIVALS = (
    "Arrivals: poisson; dispatch: random; batching: full; batch times: the plan's. 12,345 requests, seed 7; ± is for "
    "95 % confidence."
)


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        (report(service()), [ALL_HOLD, ARRIVALS]),
        (
            report(service(), load=0.5, batch_times="measured", stopped="interrupted", missing=("b", "c")),
            [
                f"{ALL_HOLD.removesuffix('.')}. Not reached: b, c.",
                ARRIVALS.replace("poisson", "poisson at 0.5 times the rates").replace(
                    "the plan's", "the profiles', where they have them"
                ),
                "Interrupted: figures are of what was simulated until then.",
            ],
        ),
        (
            report(service(), planned_for="central"),
            [ALL_HOLD, "Not certified: the plan is for dispatch central, this is random.", ARRIVALS],
        ),
        (report(service(), planned_for="random"), [ALL_HOLD, ARRIVALS]),
        (
            report(service(settled=False), service("b", "no", 0.5, settled=False)),
            [
                "So close to capacity that queues had not settled: a. More --requests tell, and figures only rise.",
                "99 % of requests within the SLO: of 2 services 1 hold, 1 do not; worst: b, 50.00 % in time.",
                ARRIVALS,
            ],
        ),
        (
            report(
                service(quantile=0.9),
                service("b", "unsure", 0.5),
                service("c", "unknown", None),
                service("d", arrivals="trace"),
            ),
            [
                "99 % of requests within the SLO (1 with a quantile of their own): of 4 services 2 hold, 1 unsure, "
                "1 without requests.",
                ARRIVALS.replace("poisson", "poisson, trace"),
            ],
        ),
        (
            report(service("c", "no", None)),
            ["99 % of requests within the SLO: of 1 services 1 do not.", ARRIVALS],
        ),
    ],
)
def test_what_was_promised_and_came_of_it_is_said_with_how_it_was_simulated(found, lines):
    assert list(verdict_lines(found)) == lines


def test_a_queue_that_grows_is_named_before_all():
    def unstable(where, capacity):
        return Instability.model_construct(since_s=2.0, rate_rps=425.0, capacity_rps=capacity, where=where)

    found = report(
        service("a", "no", 0.1, unstable=unstable("T4/0", 400.0)),
        service("b", "no", 0.2, unstable=unstable(None, 300.0)),
        service("c", "no", 0.0, unstable=unstable(None, 0.0)),
    )
    grows = "can be served. The queue grows; its latencies say how long it was simulated."
    assert list(verdict_lines(found))[:4] == [
        f"a is unstable from 2 s on: 425 requests/s come at T4/0, 400 {grows}",
        f"b is unstable from 2 s on: 425 requests/s come, 300 {grows}",
        "c has no partition left from 2 s on.",
        "99 % of requests within the SLO: of 3 services 3 do not; worst: c, 0.00 % in time.",
    ]
