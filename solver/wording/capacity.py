"""What GPUs could carry, in sentences, for the terminal and the page."""

from ..model.capacity_report import CapacityReport
from ..model.judged import objective_of


def capacity_lines(report: CapacityReport) -> list[str]:
    """Returns what is found and proven; empty: no plan was found."""
    objective = objective_of(report.weights)
    if report.capacity is None:
        return []
    lines = [f"All could carry {objective.shown(report.capacity)} together; what is asked for is kept."]
    if report.limit is None or report.gap is None:
        lines.append("Nothing is proven about more; allow more time.")
    else:
        close = "" if report.gap == 0 else f": this is {objective.gap_in_words(report.gap)}"
        lines.append(f"Proven: {objective.bound_in_words(report.limit)}{close}.")
    for gpu, limit in report.one_more.items():
        lines.append(f"With one more {gpu}: {objective.bound_in_words(limit)}.")
    return lines
