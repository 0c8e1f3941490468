"""What a simulation found of each service, as a table, the worst first."""

from collections.abc import Sequence

import pandas as pd

from sliceplan.solver.model.simulation_report import SimulatedPercentile, SimulatedService, SimulationReport, Verdict

WORDS: dict[Verdict, str] = {"no": "no", "unsure": "not sure", "unknown": "no requests", "yes": "yes"}
"""What is said of a service, the worst first."""

COLUMNS = ("service", "holds", "in time", "SLO (ms)", "P50", "P95", "P99", "P99 up to", "waits (ms)", "executes (ms)")


def worst_first(services: Sequence[SimulatedService]) -> list[SimulatedService]:
    """Returns the services, those that miss their SLO first, and of these those with the most late requests."""
    order = list(WORDS)
    return sorted(
        services,
        key=lambda one: (order.index(one.holds), 1.0 if one.in_time is None else one.in_time, one.workload),
    )


def verdict_in_words(report: SimulationReport) -> str:
    """Returns whether a plan holds and for how many services, in short sentences; the worst service by name."""
    share, total = f"{100 * report.quantile:g} %", len(report.services) + len(report.missing)
    if report.holds == "yes":
        return f"It holds. {share} of requests are in time for all {total:,} services."
    holding, late, close = (sum(one.holds == word for one in report.services) for word in ("yes", "no", "unsure"))
    said = [f"{share} of requests are to be in time, for each of {total:,} services."]
    said.append(" ".join(filter(None, (f"{late:,} miss that." * (late > 0), f"{holding:,} keep it."))))
    if close:
        said.append(f"{close:,} {'is' if close == 1 else 'are'} too close to tell; more requests per service may tell.")
    if silent := total - holding - late - close:
        said.append(f"Of {silent:,} nothing is known, as no requests came.")
    worst = min(report.services, key=lambda one: 1.0 if one.in_time is None else one.in_time, default=None)
    if late and worst is not None and worst.in_time is not None:
        said.append(f"The worst is {worst.workload}: {worst.in_time:.1%} in time.")
    return " ".join(["It does not hold." if late else "Not sure.", *said])


def percentile(service: SimulatedService, quantile: float) -> SimulatedPercentile | None:
    """Returns one percentile of a service; None: it was not asked for."""
    return next((one for one in service.percentiles if one.quantile == quantile), None)


def simulation_table(services: Sequence[SimulatedService]) -> pd.DataFrame:
    """Returns a row a service in the order given; latencies in ms, shares in percent."""
    rows = []
    for one in services:
        p99 = percentile(one, 0.99)
        rows.append(
            {
                "service": one.workload,
                "holds": WORDS[one.holds],
                "in time": None if one.in_time is None else 100 * one.in_time,
                "SLO (ms)": one.slo_ms,
                "P50": _ms(percentile(one, 0.5)),
                "P95": _ms(percentile(one, 0.95)),
                "P99": _ms(p99),
                "P99 up to": None if p99 is None else p99.high_ms,
                "waits (ms)": one.wait_ms,
                "executes (ms)": None if one.mean_ms is None or one.wait_ms is None else one.mean_ms - one.wait_ms,
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _ms(found: SimulatedPercentile | None) -> float | None:
    return None if found is None else found.latency_ms
