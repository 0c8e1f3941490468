"""Families of sets of rates as files: CSV, one row a set; and the answers that a run keeps, to go on from them."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..model.scenario_report import Scenario, ScenarioReport
from .kept_lines import KeptLines, kept_lines


def scenario_csv(report: ScenarioReport) -> str:
    """Returns a header and one row a set of rates: requests/s of each service, the optimum, a planner a column."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["index", *report.services, "optimum", "by", *report.planners])
    for one in report.scenarios:
        optimum = ("", "") if one.optimum is None else (one.optimum.what, one.optimum.by)
        outcomes = {answer.planner: answer.outcome for answer in one.answers}
        rates = (f"{rate:g}" for rate in one.rates_rps)
        rows.writerow([one.index, *rates, *optimum, *(outcomes.get(planner, "") for planner in report.planners)])
    return text.getvalue()


@contextmanager
def kept_answers(path: Path | None, asked: dict[str, object]) -> Iterator[KeptLines[Scenario]]:
    """Gives the sets of rates with their answers that a file holds, to which more are added (kept_lines.py)."""
    otherwise = "another problem, family, rules or planners, or other profiles"
    with kept_lines(path, "scenarios", asked, Scenario, "index", otherwise) as kept:
        yield kept
