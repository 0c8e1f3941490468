"""Simulations as tables for other programs: CSV, one row a service."""

import csv
import io

from ..model.simulation_report import SimulationReport


def simulation_csv(report: SimulationReport) -> str:
    """Returns a header and one row a service, in the order of the problem; an unknown figure is empty."""
    figures = (
        *("workload", "slo_ms", "rate_rps", "arrivals", "requests", "dropped", "waiting", "mean_ms", "wait_ms"),
        *("in_time", "in_time_low", "in_time_high", "quantile", "holds", "settled", "queue_mean", "queue_longest"),
    )
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    shares = sorted({one.quantile for service in report.services for one in service.percentiles})
    ends = [f"p{100 * share:g}{end}" for share in shares for end in ("_ms", "_low_ms", "_high_ms")]
    rows.writerow([*figures, *ends, "unstable_since_s"])
    for service in report.services:
        row = [getattr(service, name) for name in figures]
        known = {one.quantile: (one.latency_ms, one.low_ms, one.high_ms) for one in service.percentiles}
        row += [end for share in shares for end in known.get(share, (None, None, None))]
        row.append(None if service.unstable is None else service.unstable.since_s)
        rows.writerow(["" if value is None else value for value in row])
    return text.getvalue()
