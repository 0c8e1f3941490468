"""
Profiles as pictures: latency and throughput over batch size and share, as lines and as heat maps.

Lines are fits, dots are measurements, crosses those far from their line, stars are where a plan uses the profile.
Dashed lines extrapolate or, over batch sizes, were estimated from another GPU type; a level line is a service's SLO.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from sliceplan.solver.metrics.prediction_evidence import PredictionEvidence
from sliceplan.solver.model.interference import Interference
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.performance.interference.igniter import IgniterModel
from sliceplan.solver.performance.interference.prediction import Floats
from sliceplan.solver.performance.odd_points import OddPoint, odd_points
from sliceplan.solver.performance.prediction import predict
from sliceplan.solver.performance.saturating import batch_time_ms

from .colours import GREY, PALETTE
from .legends import Entry, add_legend
from .texts import in_chart, shortened

Figure = Literal["latency", "throughput"]

UNITS: dict[Figure, str] = {"latency": "latency of a batch (ms)", "throughput": "throughput (requests/s)"}

STAR = {"symbol": "star", "size": 15, "color": "#D55E00", "line": {"color": "#FFFFFF", "width": 1}}

HEIGHT, AXIS_PX = 340, 60

CAMERA_PX = 34
"""Above a picture, where the button that saves it stands: no line runs below it."""

LIGHT_CIVIDIS = sample_colorscale("Cividis", np.linspace(0.5, 1.0, 9).tolist())
"""Its upper half: black figures are read on all of it."""


def sizes_of(profile: Profile) -> list[str]:
    """Returns the MIG profiles of which something is known, the smallest first."""
    named = {curve.mig_profile for curve in profile.curves} | {point.mig_profile or "" for point in profile.mig_points}
    return sorted(named, key=lambda name: (int(name.partition("g")[0]), name))


def batches_of(profile: Profile) -> list[int]:
    """Returns the batch sizes of which something is known at shares of the GPU, ascending."""
    most = profile.interference.measured.max_batch if profile.interference else 0
    return sorted({*range(1, most + 1), *(point.batch for point in profile.share_points)})


def batches_chart(
    profile: Profile,
    processes: int,
    figure: Figure,
    marks: Iterable[PredictionEvidence],
    slo_ms: Mapping[str, float] | None = None,
) -> go.Figure:
    """
    Returns a line for each MIG profile over the batch size, with so many processes on the partition.

    Parameters
    ----------
    slo_ms
        By the services that use the model; the picture of latencies has a level line for the tightest of them.
    """
    chart = go.Figure()
    is_estimated = profile.estimate("mig") is not None
    kind = "estimated" if is_estimated else "fitted"
    missed = [one for one in odd_points(profile) if one.processes == processes]
    for size, colour in zip(sizes_of(profile), PALETTE, strict=False):
        for curve in profile.curves:
            if (curve.mig_profile, curve.processes) == (size, processes):
                batch = np.arange(1, curve.max_batch + 1)
                time_ms = batch_time_ms(curve, batch)
                y = time_ms if figure == "latency" else 1000 * processes * batch / time_ms
                chart.add_scatter(
                    name=size,
                    x=batch,
                    y=y,
                    mode="lines",
                    line={"color": colour, "width": 2, "dash": "dash" if is_estimated else "solid"},
                    hovertemplate=f"{size}, batch %{{x}}: %{{y:,.1f}} "
                    f"({kind}, p95 error {curve.error.p95:.1%})<extra></extra>",
                )
        _add_missed(chart, size, colour, [one for one in missed if one.mig_profile == size], figure)
        own = sorted(
            (p for p in profile.mig_points if (p.mig_profile, p.processes) == (size, processes)), key=lambda p: p.batch
        )
        if own:
            chart.add_scatter(
                name=f"{size}, measured",
                x=[point.batch for point in own],
                y=[point.latency_ms if figure == "latency" else point.throughput_rps for point in own],
                mode="markers+lines",
                line={"color": colour, "width": 1, "dash": "dot"},
                marker={"color": colour, "size": 6},
                hovertemplate=f"{size}, batch %{{x}}: %{{y:,.1f}} (measured)<extra></extra>",
            )
    here = [mark for mark in marks if mark.mig_profile is not None and mark.processes == processes]
    _add_marks(chart, [mark.batch for mark in here], here, figure)
    chart.update_layout(_layout("batch size (log scale)", UNITS[figure]))
    chart.update_xaxes(type="log", tickvals=_powers(1024), ticktext=[str(power) for power in _powers(1024)])
    return _with_legend(chart, _add_slos(chart, slo_ms or {}, here) if figure == "latency" else [])


def shares_chart(
    profile: Profile,
    batches: Sequence[int],
    figure: Figure,
    marks: Iterable[PredictionEvidence],
    slo_ms: Mapping[str, float] | None = None,
) -> go.Figure:
    """
    Returns a line for each batch size over the share of the GPU, the model alone; dashed where it extrapolates.

    `slo_ms`: as for `batches_chart`.
    """
    chart = go.Figure()
    known = profile.interference
    for batch, colour in zip(batches, PALETTE, strict=False):
        if known is not None:
            low, high = known.measured.min_percent, known.measured.max_percent
            spans = [(low, high, "solid"), (min(5.0, low), low, "dash"), (high, 100.0, "dash")]
            outside = not known.measured.min_batch <= batch <= known.measured.max_batch
            for first, last, dash in spans:
                if first >= last:
                    continue
                percent = np.arange(first, last + 1e-9, 1.0).tolist()
                chart.add_scatter(
                    name=f"batch {batch}",
                    legendgroup=f"batch {batch}",
                    showlegend=dash == "solid",
                    x=percent,
                    y=_alone(known, [batch] * len(percent), percent, figure),
                    mode="lines",
                    line={"color": colour, "width": 2, "dash": "dash" if outside else dash},
                    hovertemplate=f"batch {batch}, %{{x:g}} %: %{{y:,.1f}}"
                    f" ({'fitted' if dash == 'solid' and not outside else 'extrapolated'}, alone)<extra></extra>",
                )
        own = sorted((p for p in profile.share_points if p.batch == batch), key=lambda point: point.sm_percent or 0.0)
        if own:
            chart.add_scatter(
                name=f"batch {batch}, measured",
                x=[point.sm_percent for point in own],
                y=[point.latency_ms if figure == "latency" else point.throughput_rps for point in own],
                mode="markers",
                marker={"color": colour, "size": 7, "line": {"color": "#FFFFFF", "width": 1}},
                hovertemplate=f"batch {batch}, %{{x:g}} %: %{{y:,.1f}} (measured)<extra></extra>",
            )
    here = [mark for mark in marks if mark.sm_percent is not None]
    _add_marks(chart, [mark.sm_percent or 0.0 for mark in here], here, figure)
    chart.update_layout(_layout("share of the GPU (%)", UNITS[figure]))
    return _with_legend(chart, _add_slos(chart, slo_ms or {}, here) if figure == "latency" else [])


def batches_surface(profile: Profile, processes: int, figure: Figure, marks: Iterable[PredictionEvidence]) -> go.Figure:
    """Returns a heat map of batch size by MIG profile; empty where nothing was measured or fitted."""
    here = [mark for mark in marks if mark.mig_profile is not None and mark.processes == processes]
    sizes = sizes_of(profile)
    most = max([curve.max_batch for curve in profile.curves] + [point.batch for point in profile.mig_points], default=1)
    measured = {point.batch for point in profile.mig_points}
    batches = sorted({*_powers(most), *(mark.batch for mark in here), *measured})

    def value(size: str, batch: int) -> float | None:
        found = predict(profile, size, batch, processes)
        if found is None:
            return None
        return found.latency_ms if figure == "latency" else found.capacity_rps

    cells = [[value(size, batch) for batch in batches] for size in sizes]
    stars = [(str(mark.batch), mark.mig_profile or "", mark) for mark in here]
    return _surface([str(batch) for batch in batches], sizes, cells, stars, "batch size", figure)


def shares_surface(profile: Profile, figure: Figure, marks: Iterable[PredictionEvidence]) -> go.Figure:
    """Returns a heat map of batch size by share of the GPU, the model alone; only within what was measured."""
    known = profile.interference
    if known is None:
        raise ValueError(f"nothing is fitted for {profile.model} on {profile.gpu} under MPS")
    extent = known.measured
    here = [mark for mark in marks if mark.sm_percent is not None]
    batches = sorted({*_powers(extent.max_batch), extent.max_batch, *(mark.batch for mark in here)})
    shares = sorted(
        {float(share) for share in range(10, 101, 10) if extent.min_percent <= share <= extent.max_percent}
        | {mark.sm_percent for mark in here if mark.sm_percent is not None}
    )

    def inside(share: float, batch: int) -> bool:
        return extent.min_percent <= share <= extent.max_percent and extent.min_batch <= batch <= extent.max_batch

    found = [_alone(known, batches, [share] * len(batches), figure) for share in shares]
    cells = [
        [float(value) if inside(share, batch) else None for value, batch in zip(row, batches, strict=True)]
        for share, row in zip(shares, found, strict=True)
    ]
    stars = [(str(mark.batch), f"{mark.sm_percent:g} %", mark) for mark in here]
    rows = [f"{share:g} %" for share in shares]
    return _surface([str(batch) for batch in batches], rows, cells, stars, "batch size", figure)


def _alone(known: Interference, batch: Sequence[int], percent: Sequence[float], figure: Figure) -> Floats:
    """Returns what the model achieves alone on its GPU, for each pair of batch size and share."""
    sizes, shares = np.array(batch, dtype=np.int64)[:, None], np.array(percent, dtype=np.float64)[:, None]
    found = IgniterModel.of(known.gpu, [known.model]).predict(np.zeros_like(sizes), sizes, shares)
    return (found.latency_ms if figure == "latency" else found.throughput_rps)[:, 0]


def _surface(
    columns: Sequence[str],
    rows: Sequence[str],
    cells: Sequence[Sequence[float | None]],
    stars: Sequence[tuple[str, str, PredictionEvidence]],
    axis: str,
    figure: Figure,
) -> go.Figure:
    chart = go.Figure()
    chart.add_heatmap(
        x=list(columns),
        y=list(rows),
        # A few large cells would hide the differences of all others; the words give the figures themselves.
        z=[[None if cell is None else float(np.log10(cell)) for cell in row] for row in cells],
        text=[
            ["" if cell is None else f"{cell:,.0f}" if cell >= 10 else f"{cell:.1f}" for cell in row] for row in cells
        ],
        texttemplate="%{text}",
        colorscale=LIGHT_CIVIDIS,
        textfont={"color": "black"},
        reversescale=figure == "latency",
        showscale=False,
        xgap=1,
        ygap=1,
        hovertemplate=f"%{{y}}, batch %{{x}}: %{{text}} ({UNITS[figure]})<extra></extra>",
    )
    if stars:
        outline = {**STAR, "color": "rgba(0,0,0,0)", "symbol": "square", "size": 30}
        outline["line"] = {"color": "#D55E00", "width": 3}
        chart.add_scatter(
            name="in the plan",
            x=[column for column, _, _ in stars],
            y=[row for _, row, _ in stars],
            mode="markers",
            marker=outline,
            customdata=[_mark_words(mark) for _, _, mark in stars],
            hovertemplate="%{customdata}<extra></extra>",
        )
    chart.update_layout(
        height=max(200, 90 + 34 * len(rows)),
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        showlegend=bool(stars),
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        xaxis={"title": axis, "type": "category", "fixedrange": True, "showgrid": False},
        yaxis={"type": "category", "fixedrange": True, "showgrid": False},
    )
    return chart


def _add_missed(chart: go.Figure, size: str, colour: str, missed: Sequence[OddPoint], figure: Figure) -> None:
    """Draws the measured points that are far from a size's line."""
    if missed:
        chart.add_scatter(
            name=f"{size}, measured",
            x=[one.batch for one in missed],
            y=[one.measured_ms if figure == "latency" else one.measured_rps for one in missed],
            mode="markers",
            marker={"color": colour, "size": 9, "symbol": "x", "line": {"color": "#FFFFFF", "width": 1}},
            hovertemplate=f"{size}, batch %{{x}}: %{{y:,.1f}} (measured, far from its line)<extra></extra>",
        )


def _add_marks(chart: go.Figure, at: Sequence[float], marks: Sequence[PredictionEvidence], figure: Figure) -> None:
    if marks:
        chart.add_scatter(
            name="in the plan",
            x=list(at),
            y=[mark.latency_ms if figure == "latency" else mark.capacity_rps for mark in marks],
            mode="markers",
            marker=STAR,
            customdata=[_mark_words(mark) for mark in marks],
            hovertemplate="%{customdata}<extra></extra>",
        )


def _add_slos(chart: go.Figure, slo_ms: Mapping[str, float], marks: Sequence[PredictionEvidence]) -> list[Entry]:
    """
    Draws the tightest SLOs, and no more of the latencies above all that matters than leaves these to be seen.

    Returns what the legend says of them: beside the lines, curves would run through it.
    """
    names: dict[float, list[str]] = {}
    for service, own in sorted(slo_ms.items(), key=lambda one: one[1]):
        names.setdefault(own, []).append(service)
    drawn = list(names.items())[:MOST_SLOS]
    if not drawn:
        return []
    entries: list[Entry] = []
    for own, services in drawn:
        more = f" and {len(services) - 1} more" if len(services) > 1 else ""
        dash, sign = LINES[len(entries)]
        chart.add_hline(y=own, line={"color": GREY, "width": 2, "dash": dash})
        entries.append(Entry(f"SLO of {shortened(services[0], MOST_LETTERS)}{more}: {own:g} ms", GREY, sign))
    latencies = [float(y) for trace in chart.data for y in trace.y]
    matters = max([drawn[-1][0], *(mark.latency_ms for mark in marks)])
    chart.update_yaxes(range=[0, min(ABOVE * matters, max(1.05 * max(latencies, default=0.0), 1.15 * matters))])
    return entries


LINES = (("dash", "╌"), ("dot", "┈"))
"""Of SLOs, and what the legend shows of them."""

MOST_SLOS = len(LINES)
"""Level lines in a picture."""

MOST_LETTERS = 24
"""Of a service's name beside its line."""

ABOVE = 2.0
"""Times the greatest of SLOs and stars that the axis reaches at most."""


def _mark_words(mark: PredictionEvidence) -> str:
    lines = [
        f"<b>{in_chart(mark.workload)}</b> on {mark.on}, {mark.partition}",
        f"batch {mark.batch}, processes {mark.processes}",
        f"{mark.latency_ms:,.1f} ms, {mark.capacity_rps:,.0f} requests/s ({mark.basis})",
        *(f"extrapolates to {words}" for words in mark.beyond),
    ]
    return "<br>".join(lines)


def _with_legend(chart: go.Figure, of_slos: Sequence[Entry]) -> go.Figure:
    """Returns the picture with room for the legend of its lines and marks, once each, and of its SLOs."""
    entries: dict[str, Entry] = {}
    for trace in chart.data:
        marks = trace.mode != "lines"
        sign = SIGNS.get(trace.marker.symbol, "●") if marks else "╌" if trace.line.dash == "dash" else "━"
        colour = trace.marker.color if marks else trace.line.color
        entries.setdefault(trace.name, Entry(unescape(trace.name), colour, sign))
    foot_px = add_legend(chart, [*entries.values(), *of_slos], axis_px=AXIS_PX)
    margin = chart.layout.margin
    chart.update_layout(height=chart.layout.height + foot_px, margin={"b": margin.b + foot_px})
    return chart


SIGNS = {"star": "★", "x": "✖"}
"""Of marks in the legend."""


def _powers(most: int) -> list[int]:
    return [2**i for i in range(most.bit_length()) if 2**i <= most]


def _layout(x: str, y: str) -> dict[str, Any]:
    return {
        "height": HEIGHT,
        "margin": {"l": 10, "r": 10, "t": CAMERA_PX, "b": AXIS_PX},
        "xaxis": {"title": x, "fixedrange": True},
        "yaxis": {"title": y, "fixedrange": True, "rangemode": "tozero", "automargin": True},
        "hovermode": "closest",
    }
