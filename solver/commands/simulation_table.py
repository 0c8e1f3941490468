"""Simulations as text for a terminal of 80 columns or more."""

from collections.abc import Iterator, Mapping

from rich.table import Table

from ..model.lists import few
from ..model.simulation_report import SimulatedPercentile, SimulatedService, SimulationReport
from ..wording.promise import other_router_in_words

SHOWN = (0.5, 0.95)
"""Percentiles beside the one that is asked for."""


def simulation_table(report: SimulationReport) -> Table:
    """Returns one row a service: SLO, percentiles, the one asked for with its interval, share in time, verdict."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("service", no_wrap=True, overflow="ellipsis", max_width=24)
    shown = [share for share in SHOWN if share != report.quantile]
    differs = any(service.quantile != report.quantile for service in report.services)
    asked = "promised ms" if differs else f"{_name(report.quantile)} ms"
    for column in ("SLO ms", *map(_name, shown), asked, "in time"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("holds", no_wrap=True)
    for service in report.services:
        of = {one.quantile: one for one in service.percentiles}
        table.add_row(
            service.workload,
            f"{service.slo_ms:.4g}",
            *(_ms(of[share].latency_ms) for share in shown),
            (f"{_name(service.quantile)}: " if differs else "") + _with_interval(of[service.quantile]),
            "-" if service.in_time is None else _percent(service.in_time),
            service.holds,
        )
    return table


def planners_table(reports: Mapping[str, SimulationReport]) -> Table:
    """Returns one row a planner: how many services hold, and the one with most requests late."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("planner", no_wrap=True)
    for column in ("hold", "miss", "unsure"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("worst service", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("in time", justify="right", no_wrap=True)
    for planner, report in reports.items():
        verdicts = [service.holds for service in report.services]
        worst = worst_of(report)
        table.add_row(
            planner,
            str(verdicts.count("yes")),
            str(verdicts.count("no")),
            str(len(verdicts) + len(report.missing) - verdicts.count("yes") - verdicts.count("no")),
            "-" if worst is None else worst.workload,
            "-" if worst is None else _percent(worst.in_time or 0.0),
        )
    return table


def worst_of(report: SimulationReport) -> SimulatedService | None:
    """Returns the service with most requests late; None: no requests came."""
    known = [service for service in report.services if service.in_time is not None]
    return min(known, key=lambda service: service.in_time or 0.0, default=None)


def verdict_lines(report: SimulationReport) -> Iterator[str]:
    """Yields what is to be said beside the table: what was promised and came of it, and under which assumptions."""
    for service in report.services:
        if service.unstable is not None:
            one = service.unstable
            if one.capacity_rps == 0:
                yield f"{service.workload} has no partition left from {one.since_s:g} s on."
                continue
            at = f" at {one.where}" if one.where else ""
            yield (
                f"{service.workload} is unstable from {one.since_s:g} s on: {one.rate_rps:.5g} requests/s come{at}, "
                f"{one.capacity_rps:.5g} can be served. The queue grows; its latencies say how long it was simulated."
            )
    if unsettled := [one.workload for one in report.services if not one.settled and one.holds != "no"]:
        yield (
            f"So close to capacity that queues had not settled: {few(unsettled, 8)}. More --requests tell, and figures "
            "only rise."
        )
    yield _promise(report)
    if report.planned_for is not None and not report.is_of_its_router:
        words = other_router_in_words(report.planned_for, report.dispatch)
        yield f"{words[0].upper()}{words[1:]}."
    ways = few(sorted({service.arrivals for service in report.services}), 4)
    load = "" if report.load == 1 else f" at {report.load:g} times the rates"
    yield (
        f"Arrivals: {ways}{load}; dispatch: {report.dispatch}; batching: {report.batching}; batch times: "
        f"{_times(report)}. {report.requests:,} requests, seed {report.seed}; ± is for 95 % confidence."
    )
    if report.stopped == "interrupted":
        yield "Interrupted: figures are of what was simulated until then."


def _times(report: SimulationReport) -> str:
    return "the plan's" if report.batch_times == "plan" else "the profiles', where they have them"


def _promise(report: SimulationReport) -> str:
    """Returns in words how many services hold, and how bad the worst is."""
    verdicts = [service.holds for service in report.services]
    parts = [
        f"{verdicts.count(verdict)} {word}"
        for verdict, word in (("yes", "hold"), ("no", "do not"), ("unsure", "unsure"), ("unknown", "without requests"))
        if verdict in verdicts
    ]
    own = sum(service.quantile != report.quantile for service in report.services)
    other = f" ({own} with a quantile of their own)" if own else ""
    text = (
        f"{100 * report.quantile:g} % of requests within the SLO{other}: of {len(verdicts)} services {', '.join(parts)}"
    )
    worst = worst_of(report)
    if worst is not None and "no" in verdicts:
        text += f"; worst: {worst.workload}, {_percent(worst.in_time or 0.0)} in time"
    return text + (f". Not reached: {few(report.missing, 8)}" if report.missing else "") + "."


def _name(share: float) -> str:
    return f"P{100 * share:g}"


def _with_interval(one: SimulatedPercentile) -> str:
    if one.latency_ms is None or one.high_ms is None:
        return _ms(one.latency_ms)
    return f"{_ms(one.latency_ms)} ± {_ms(one.high_ms - one.latency_ms)}"


def _ms(latency_ms: float | None) -> str:
    """Returns a latency; where so many requests are dropped that there is none, a dash."""
    if latency_ms is None:
        return "-"
    return f"{latency_ms:.1f}" if latency_ms < 1e5 else f"{latency_ms:.2g}"


def _percent(share: float) -> str:
    """Returns a share, rounded away from all."""
    shown = f"{100 * share:.2f}"
    return f"{shown} %" if shown != "100.00" or share == 1 else "99.99 %"
