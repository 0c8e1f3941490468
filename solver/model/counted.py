"""What the objective capacity asks of a problem, and who looks for least cost only; said before any search."""

from collections.abc import Sequence

from .errors import Finding, InputError
from .problem import Problem


def asks_for_capacity(problem: Problem) -> bool:
    """Tells whether a problem's plans are for most capacity, not for least cost."""
    return problem.settings.objective == "capacity"


def uncounted(problem: Problem, source: str | None = None) -> list[Finding]:
    """Returns a finding for each GPU type that may be used in any number; `source`: None: the problem's name."""
    return [
        Finding(
            source or problem.name,
            f"fleet[{i}].count",
            f"is missing: as many {entry.gpu} as needed carry any load; give one",
        )
        for i, entry in enumerate(problem.fleet)
        if entry.available is None
    ]


def require_counts(problem: Problem, source: str | None = None) -> None:
    """Raises InputError if a GPU type may be used in any number."""
    _raise(uncounted(problem, source))


def require_cost(problem: Problem, asks: str, source: str | None = None) -> None:
    """
    Raises InputError if a problem's objective is capacity.

    `asks`: what knows least cost only, as `replanning weighs dollars against moves`.
    """
    if asks_for_capacity(problem):
        message = f"is 'capacity', but {asks}; expected objective: cost"
        _raise([Finding(source or problem.name, "settings.objective", message)])


def _raise(findings: Sequence[Finding]) -> None:
    if findings:
        raise InputError(findings)
