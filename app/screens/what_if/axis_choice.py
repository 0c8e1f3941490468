"""The widgets that state an axis of a sweep."""

from dataclasses import dataclass

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import names_shown
from sliceplan.solver.model.counted import asks_for_capacity
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.prices import usd_per_hour_of
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.sweep_report import Axis, AxisKind
from sliceplan.solver.what_if.axes import KINDS, OF_SERVICES, parse_axes

NAMES = {"rate": "Rate", "slo": "SLO", "price": "Price", "count": "Number of GPUs", "headroom": "Headroom"}
ALL = "all services"

OF_CAPACITY: tuple[AxisKind, ...] = ("count", "slo", "rate", "headroom")
"""What may vary where most capacity is asked for, which no price changes."""

MOST_POINTS = 10_000
"""That the page sweeps and draws; the command line solves more."""


@dataclass(frozen=True)
class Range:
    """From, to and step of an axis as they stand in the widgets."""

    low: float
    high: float
    step: float


def chosen_axis(session: Session, problem: Problem, number: int) -> str:
    """Draws the widgets of axis 0 or 1 and returns the axis as the command line has it; nothing is checked yet."""
    kind_kept, of_kept = Kept[AxisKind](f"sweep.kind{number}"), Kept[str](f"sweep.of{number}")
    range_kept = Kept[tuple[AxisKind, str, Range]](f"sweep.range{number}")
    key = f"sweep{number}_{session.editor}_"
    kinds = OF_CAPACITY if asks_for_capacity(problem) else KINDS
    last_kind = kind_kept.of(session, kinds[number])
    what, of, low, high, step = st.container(key=f"beside_axis_{number}").columns([1.3, 1.5, 1, 1, 1])
    kind: AxisKind = what.selectbox(
        "What varies",
        kinds,
        kinds.index(last_kind if last_kind in kinds else kinds[number]),
        format_func=NAMES.__getitem__,
        key=key + "kind",
    )
    services = [ALL, *(workload.name for workload in problem.workloads)]
    names = services if kind in OF_SERVICES else [entry.gpu for entry in problem.fleet]
    last = of_kept.of(session)
    called = names_shown(session, problem)
    name = of.selectbox("Of", names, names.index(last) if last in names else 0, called, key=f"{key}of_{kind}")
    begin = _first_range(problem, kind, name)
    kept = range_kept.of(session)
    if kept is not None and kept[:2] == (kind, name):
        begin = kept[2]
    values = [
        column.number_input(label, value=int(value), key=f"{key}{label}_{kind}_{name}")
        if kind == "count"
        else column.number_input(label, value=float(value), format="%g", key=f"{key}{label}_{kind}_{name}")
        for column, label, value in ((low, "From", begin.low), (high, "To", begin.high), (step, "Step", begin.step))
    ]
    found = Range(*values)
    kind_kept.keep(session, kind)
    of_kept.keep(session, name)
    range_kept.keep(session, (kind, name, found))
    axis = kind if name == ALL else f"{kind}:{name}"
    return f"{axis}={found.low!r}:{found.high!r}:{found.step!r}"


def axes_of(texts: list[str], problem: Problem) -> tuple[Axis, ...]:
    """Returns the stated axes; raises InputError with all that is wrong of them, also if there are too many points."""
    axes = parse_axes(texts, problem)
    points = 1
    for axis in axes:
        points *= len(axis.values)
    if points > MOST_POINTS:
        message = f"asks for {points:,} points; the page sweeps up to {MOST_POINTS:,}. Choose a greater step."
        raise InputError([Finding("--axis", "", message)])
    return axes


def _first_range(problem: Problem, kind: AxisKind, name: str) -> Range:
    """Returns a range around what the problem states, to begin with."""
    if kind == "headroom":
        return Range(0.0, 1.0, 0.05)
    if name == ALL:
        return Range(0.5, 2.0, 0.05)
    if kind == "count":
        entry = next(entry for entry in problem.fleet if entry.gpu == name)
        return Range(0, max(2 * (entry.available or 0), 10), 1)
    if kind == "price":
        own = usd_per_hour_of(problem).get(name, 1.0)
    else:
        workload = next(one for one in problem.workloads if one.name == name)
        own = workload.rate_rps if kind == "rate" else workload.slo_ms
    return Range(float(f"{0.5 * own:.3g}"), float(f"{2 * own:.3g}"), float(f"{0.05 * own:.3g}"))
