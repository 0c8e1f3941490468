"""What a what-if makes of a problem."""

from collections.abc import Iterator

from ..model.problem import Problem
from ..model.sweep_report import Axis, AxisKind
from ..model.what_if import WhatIf
from .axes import checked_with_values


def applied(problem: Problem, what_if: WhatIf) -> Problem:
    """
    Returns the problem with the changes; the problem itself if there are none.

    Services and GPU types that the problem does not have are left out (`fitting`).

    Raises
    ------
    InputError
        If the changes make a figure that no problem may have.
    """
    changes = list(_changes(fitting(what_if, problem)))
    if not changes:
        return problem
    axes = [Axis(kind=kind, of=of, values=(value,)) for kind, of, value in changes]
    return checked_with_values(problem, axes, [value for _, _, value in changes], "what-if")


def fitting(what_if: WhatIf, problem: Problem) -> WhatIf:
    """Returns the changes without those of services and GPU types that a problem does not have."""
    services = {workload.name for workload in problem.workloads}
    gpus = {entry.gpu for entry in problem.fleet}
    known = {"rates": services, "slos": services, "headrooms": services, "prices": gpus, "counts": gpus}
    kept = {
        name: {of: value for of, value in getattr(what_if, name).items() if of in has} for name, has in known.items()
    }
    return what_if.model_copy(update=kept)


def description(what_if: WhatIf) -> str:
    """Returns the changes in words, those for all first; empty: there are none."""
    words = {"rate": "rate", "slo": "SLO", "headroom": "headroom", "price": "price", "count": "count"}
    units = {"rate": " requests/s", "slo": " ms", "price": " USD/h", "count": " GPUs"}
    said = []
    for kind, of, value in _changes(what_if):
        if of is None and kind != "headroom":
            effect = "" if kind == "rate" else " (stricter)" if value < 1 else " (looser)"
            said.append(f"every {words[kind]} x {value:g}{effect}")
            continue
        figure = f"{value:.0%}" if kind == "headroom" else f"{value:g}{units[kind]}"
        said.append(f"{words[kind]} {figure}" if of is None else f"{of}: {words[kind]} {figure}")
    return ", ".join(said)


def _changes(what_if: WhatIf) -> Iterator[tuple[AxisKind, str | None, float]]:
    """Yields what is changed, of what (None: all services), and the value; rates before headrooms, which scale them."""
    if what_if.rate != 1:
        yield "rate", None, what_if.rate
    if what_if.slo != 1:
        yield "slo", None, what_if.slo
    if what_if.headroom is not None:
        yield "headroom", None, what_if.headroom
    named: tuple[tuple[AxisKind, dict[str, float]], ...] = (
        ("rate", what_if.rates),
        ("slo", what_if.slos),
        ("headroom", what_if.headrooms),
        ("price", what_if.prices),
        ("count", {gpu: float(count) for gpu, count in what_if.counts.items()}),
    )
    for kind, values in named:
        for of, value in values.items():
            yield kind, of, value
