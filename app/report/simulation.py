"""The rows of a report that say whether the plan holds, request by request."""

from dataclasses import dataclass

from sliceplan.app.tables.simulation import WORDS, percentile, worst_first
from sliceplan.solver.model.simulation_report import SimulatedService, SimulationReport


@dataclass(frozen=True)
class HoldingRow:
    """One service."""

    service: str
    holds: str
    figures: tuple[str, ...]
    """In time, SLO, P50, P95, P99, and the upper end of its interval."""


@dataclass(frozen=True)
class Simulation:
    """A simulation in words and rows."""

    requests: str
    load: str
    dispatch: str
    asked: str
    rows: tuple[HoldingRow, ...]
    missing: int


def simulation_rows(report: SimulationReport) -> Simulation:
    """Returns what a report says of a simulation, the worst services first."""
    return Simulation(
        requests=f"{report.requests:,}",
        load=f"{report.load:g}",
        dispatch=report.dispatch.replace("_", " "),
        asked=f"{100 * report.quantile:g} %",
        rows=tuple(_row(one) for one in worst_first(report.services)),
        missing=len(report.missing),
    )


def _row(one: SimulatedService) -> HoldingRow:
    found = [percentile(one, share) for share in (0.5, 0.95, 0.99)]
    ms = [None if p is None else p.latency_ms for p in found]
    ms.append(None if found[-1] is None else found[-1].high_ms)
    in_time = "" if one.in_time is None else f"{one.in_time:.2%}"
    figures = (in_time, f"{one.slo_ms:g}", *("" if figure is None else f"{figure:,.1f}" for figure in ms))
    return HoldingRow(one.workload, WORDS[one.holds], figures)
