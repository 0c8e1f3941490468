"""A family's answers in numbers: how many sets each planner schedules, and how far each comes along a scale."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...model.scenario_report import PlannerAnswer, Scenario, ScenarioReport


@dataclass(frozen=True)
class Count:
    """What becomes of the sets of rates with one planner."""

    planner: str
    schedules: int
    holds: int
    late: int
    """Sets that it schedules, with a service that may miss its SLO; some of them are short as well."""
    short: int
    """Sets that it schedules, with a service that gets too little."""
    refused: int
    failed: int

    @property
    def breaks(self) -> int:
        """Sets that it schedules against the rule."""
        return self.schedules - self.holds


@dataclass(frozen=True)
class Possible:
    """What can be done at all."""

    possible: int
    impossible: int
    open: int
    """Not decided, or not asked."""


@dataclass(frozen=True)
class Reach:
    """How far a planner comes along a scale; None: nowhere."""

    planner: str
    greatest: float | None
    """The greatest factor that it schedules."""
    greatest_holding: float | None
    """The greatest factor at which its plan holds."""
    before_failure: float | None
    """The last factor that it schedules before the first that it does not."""


def counts(report: ScenarioReport) -> list[Count]:
    """Returns the counts of each planner, those first that schedule most within the rule."""
    found = []
    for planner in report.planners:
        answers = [answer for answer in _of(report, planner) if answer is not None]
        outcomes = [answer.outcome for answer in answers]
        scheduled = [answer for answer in answers if answer.schedules]
        found.append(
            Count(
                planner=planner,
                schedules=len(scheduled),
                holds=outcomes.count("holds"),
                late=sum(bool(answer.late) for answer in scheduled),
                short=sum(bool(answer.short) for answer in scheduled),
                refused=outcomes.count("refused"),
                failed=outcomes.count("failed"),
            )
        )
    return sorted(found, key=lambda one: (-one.holds, -one.schedules))


def possible(report: ScenarioReport) -> Possible:
    """Returns how many sets can be served."""
    what = [one.optimum.what if one.optimum else "open" for one in report.scenarios]
    return Possible(what.count("possible"), what.count("impossible"), what.count("open"))


def reaches(report: ScenarioReport) -> list[Reach]:
    """Returns how far each planner comes along a scale, those first that come furthest."""
    found = []
    for planner in report.planners:
        answers = _of(report, planner)
        schedules = [answer is not None and answer.schedules for answer in answers]
        holds = [answer is not None and answer.outcome == "holds" for answer in answers]
        upto = schedules.index(False) if False in schedules else len(schedules)
        found.append(Reach(planner, _last(report, schedules), _last(report, holds), _last(report, schedules[:upto])))
    return sorted(found, key=lambda one: (-(one.greatest_holding or 0.0), -(one.greatest or 0.0)))


def greatest_possible(report: ScenarioReport) -> tuple[float | None, bool]:
    """Returns the greatest factor of a scale that is possible, and whether all above it are proven impossible."""
    what = [one.optimum.what if one.optimum else "open" for one in report.scenarios]
    last = max((i for i, one in enumerate(what) if one == "possible"), default=-1)
    factor = None if last < 0 else report.family.values[report.scenarios[last].index]
    return factor, all(one == "impossible" for one in what[last + 1 :])


def _of(report: ScenarioReport, planner: str) -> list[PlannerAnswer | None]:
    place = report.planners.index(planner)
    return [one.answers[place] if place < len(one.answers) else None for one in report.scenarios]


def _last(report: ScenarioReport, marked: Sequence[bool]) -> float | None:
    return max((report.family.values[one.index] for one in _marked(report.scenarios, marked)), default=None)


def _marked(scenarios: Sequence[Scenario], marked: Sequence[bool]) -> Iterator[Scenario]:
    return (one for one, is_marked in zip(scenarios, marked, strict=False) if is_marked)
