"""Families of sets of rates as files: CSV, one row a set; and the answers that a run keeps, to go on from them."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pydantic import ValidationError

from ..model.errors import Finding, InputError
from ..model.scenario_report import Scenario, ScenarioReport
from .text_files import hindrance

KEPT_VERSION = 1


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


class Kept:
    """A file of answers, a line a set of rates; a later line of a set takes the place of an earlier one."""

    def __init__(self, stream: TextIO | None, scenarios: dict[int, Scenario]) -> None:
        self._stream = stream
        self.scenarios = scenarios

    def add(self, scenario: Scenario) -> None:
        """Notes an answer, in the file at once."""
        self.scenarios[scenario.index] = scenario
        if self._stream is not None:
            self._stream.write(scenario.model_dump_json() + "\n")
            self._stream.flush()


@contextmanager
def kept_answers(path: Path | None, asked: dict[str, object]) -> Iterator[Kept]:
    """
    Gives the answers that a file holds, to which more are added; without a path nothing is kept.

    Parameters
    ----------
    asked
        What they are answers to; a file of anything else is refused.

    Raises
    ------
    InputError
        If the file cannot be written, is no file of answers, or answers something else.
    """
    if path is None:
        yield Kept(None, {})
        return
    if (reason := hindrance(path)) is not None:
        raise InputError([Finding(str(path), "", reason)])
    header = {"scenarios": KEPT_VERSION, "sha256": _digest(asked)}
    found, whole = _read(path, header)
    with path.open("r+" if whole else "w", encoding="utf-8") as stream:
        stream.seek(whole)
        stream.truncate()
        if not whole:
            stream.write(json.dumps(header) + "\n")
        yield Kept(stream, found)


def _digest(asked: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _read(path: Path, header: dict[str, object]) -> tuple[dict[int, Scenario], int]:
    """Returns the answers in a file, and how many bytes of it are whole lines; a run may have ended within one."""
    if not path.is_file() or path.stat().st_size == 0:
        return {}, 0
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    first, *lines = data[:whole].splitlines() or [b""]
    if (said := _header(first)) is None:
        raise InputError([Finding(str(path), "line 1", "is no file of answers that a run kept; name another file")])
    if said != header:
        message = "answers another problem, family, rules or planners, or other profiles; name another file"
        raise InputError([Finding(str(path), "line 1", message)])
    found = {}
    for number, line in enumerate(lines, start=2):
        try:
            scenario = Scenario.model_validate_json(line)
        except ValidationError as error:
            message = "is no answer; remove the line, or name another file"
            raise InputError([Finding(str(path), f"line {number}", message)]) from error
        found[scenario.index] = scenario
    return found, whole


def _header(line: bytes) -> dict[str, object] | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) and "scenarios" in data else None
