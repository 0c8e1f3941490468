"""What services could carry while a transition goes on, beside the rates that they need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape

import plotly.graph_objects as go

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.transition import Transition
from sliceplan.solver.wording.transition_text import duration

from .colours import GREY, MISSES, SERVICES
from .legends import Entry, add_legend
from .steps import TOP_PX, time_axis
from .texts import in_chart

MOST_DRAWN = 8
"""Lines that are told apart."""

HEIGHT, AXIS_PX = 300, 12
"""Without the legend, and of that the half of the lowest figure of the axis."""

MOST_SHOWN = 2.5
"""Times the need up to which the axis goes, as what matters is near 1; lines beyond run along its end."""


@dataclass(frozen=True)
class CapacityOverTime:
    """One service that a transition changes."""

    service: str
    needed_rps: float
    """The lower of its rates in the two plans; of a service of one plan, its rate there."""
    begins: bool
    """Whether it runs in the next plan only."""
    ends: bool
    """Whether it runs today only."""
    at_s: tuple[float, ...]
    """Seconds from the beginning, ascending, the first 0 and the last the end."""
    capacity_rps: tuple[float, ...]
    """From each of these times on."""

    @property
    def least(self) -> float:
        """The least part of the need that it could carry; of one that begins or ends, 1 as nothing is promised."""
        return 1.0 if self.begins or self.ends else min(self.capacity_rps) / self.needed_rps


def capacities(transition: Transition, old: Plan, assigned: Plan) -> list[CapacityOverTime]:
    """
    Returns the services whose capacity a transition changes, those that come nearest to their need first.

    A partition counts from the end of the step that sends requests to it, and no more from the beginning of the step
    that sends them away.
    """
    before, after = _figures(old), _figures(assigned)
    changes: dict[str, list[tuple[float, float]]] = {}
    for step in transition.steps:
        for service, gained in (step.capacity_rps or {}).items():
            changes.setdefault(service, []).append((step.ends_s if gained > 0 else step.starts_s, gained))
    found = []
    for service, own in changes.items():
        (rate, capacity), (next_rate, _) = before.get(service, (0.0, 0.0)), after.get(service, (0.0, 0.0))
        rates = [one for one in (rate, next_rate) if one > 0]
        if not rates:
            continue
        times, values = [0.0], [capacity]
        for at_s, gained in sorted(own):
            if at_s > times[-1]:
                times.append(at_s)
                values.append(values[-1])
            values[-1] += gained
        times.append(max(transition.estimated_s, times[-1]))
        values.append(values[-1])
        found.append(CapacityOverTime(service, min(rates), rate == 0, next_rate == 0, tuple(times), tuple(values)))
    return sorted(found, key=lambda one: (one.least, one.service))


def capacity_chart(
    services: Sequence[CapacityOverTime],
    colours: Mapping[str, int],
    transition: Transition,
    window: tuple[float, float] | None = None,
) -> go.Figure:
    """
    Returns a line for each of the first MOST_DRAWN services, as a part of its need, which is the line at 100 %.

    Parameters
    ----------
    colours
        Index of each service's colour among SERVICES.
    window
        Seconds to draw; None: all.
    """
    figure = go.Figure()
    since, until = window or (0.0, transition.estimated_s)
    highest = _highest(services)
    for one in services[:MOST_DRAWN]:
        parts = [min(capacity / one.needed_rps, 0.995 * highest) for capacity in one.capacity_rps]
        note = ", begins" if one.begins else ", ends" if one.ends else ""
        figure.add_scatter(
            name=in_chart(one.service) + note,
            x=one.at_s,
            y=parts,
            mode="lines",
            line={
                "shape": "hv",
                "width": 2,
                "color": SERVICES[colours[one.service]] if one.service in colours else GREY,
                "dash": "dot" if note else "solid",
            },
            customdata=[
                f"<b>{in_chart(one.service)}</b><br>from {duration(at_s)}: could carry {capacity:,.0f} requests/s<br>"
                f"needs {one.needed_rps:,.0f}"
                for at_s, capacity in zip(one.at_s, one.capacity_rps, strict=True)
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )
    figure.add_scatter(
        name="the rate",
        x=[since, until],
        y=[1, 1],
        mode="lines",
        line={"color": MISSES, "width": 2, "dash": "dash"},
        hoverinfo="skip",
    )
    entries = [
        Entry(unescape(line.name), line.line.color, "╌" if line.line.dash == "dash" else "━") for line in figure.data
    ]
    foot_px = add_legend(figure, entries, axis_px=AXIS_PX)
    figure.update_layout(
        height=HEIGHT + foot_px,
        margin={"l": 10, "r": 10, "t": TOP_PX, "b": AXIS_PX + foot_px},
        xaxis=time_axis(since, until),
        yaxis={"title": "could carry", "tickformat": ".0%", "range": [0, highest], "fixedrange": True},
    )
    return figure


def _highest(services: Sequence[CapacityOverTime]) -> float:
    """Returns where the axis ends."""
    parts = [capacity / one.needed_rps for one in services[:MOST_DRAWN] for capacity in one.capacity_rps]
    return min(MOST_SHOWN, 1.1 * max([1.0, *parts]))


def _figures(plan: Plan) -> dict[str, tuple[float, float]]:
    """Returns rate and capacity of each service, requests/s."""
    found: dict[str, tuple[float, float]] = {}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                rate, capacity = found.get(served.workload, (0.0, 0.0))
                found[served.workload] = rate + served.rate_rps, capacity + served.carries_rps
    return found
