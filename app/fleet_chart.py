"""The fleet as a picture: one bar a GPU, cut into its MIG instances where they stand, to scale."""

from dataclasses import dataclass

import plotly.graph_objects as go

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.hardware import MigGeometry
from sliceplan.solver.model.plan import Plan, PlannedGpu
from sliceplan.solver.model.problem import Problem

from .colours import FREE, WASTED, colours_of, text_on

ROW_HEIGHT = 46
TEXT_FITS = 0.12
"""Least part of the axis that a block must have to carry its service's name."""


@dataclass(frozen=True)
class Block:
    """A rectangle of the picture: an instance, or the free room between instances."""

    gpu_id: str
    start: float
    """Part of the GPU's axis, 0 to 1."""
    width: float
    workload: str | None
    """None: free."""
    label: str
    hover: str
    reachable: bool = True
    """False: free room in which no instance of any profile could start."""


def blocks_of(plan: Plan, problem: Problem) -> list[Block]:
    """Returns the blocks of every GPU of a plan, from the left."""
    slo_ms = {workload.name: workload.slo_ms for workload in problem.workloads}
    return [block for gpu in plan.gpus for block in _blocks_of_gpu(gpu, slo_ms)]


def fleet_chart(plan: Plan, problem: Problem) -> go.Figure:
    """Returns the picture: a row a GPU in the plan's order, a colour a workload, figures on hover."""
    blocks = blocks_of(plan, problem)
    colours = colours_of(workload.name for workload in problem.workloads)
    figure = go.Figure()
    series = [(name, colour, [b for b in blocks if b.workload == name]) for name, colour in colours.items()]
    free = [block for block in blocks if block.workload is None]
    series += [
        ("free", FREE, [b for b in free if b.reachable]),
        ("out of reach", WASTED, [b for b in free if not b.reachable]),
    ]
    for name, colour, own in series:
        if not own:
            continue
        figure.add_bar(
            name=name,
            orientation="h",
            y=[block.gpu_id for block in own],
            base=[block.start for block in own],
            x=[block.width for block in own],
            marker={"color": colour, "line": {"color": "white", "width": 2}},
            text=[block.label for block in own],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": text_on(colour)},
            constraintext="none",
            customdata=[block.hover for block in own],
            hovertemplate="%{customdata}<extra></extra>",
        )
    places = [_place(gpu) for gpu in plan.gpus]
    figure.update_layout(
        barmode="overlay",
        bargap=0.18,
        height=110 + ROW_HEIGHT * len(plan.gpus),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0},
        xaxis={"visible": False, "range": [0, 1], "fixedrange": True},
        yaxis={
            "autorange": "reversed",
            "categoryorder": "array",
            "categoryarray": [gpu.id for gpu in plan.gpus],
            "tickmode": "array",
            "tickvals": [gpu.id for gpu in plan.gpus],
            "ticktext": places,
            "fixedrange": True,
        },
        uniformtext={"minsize": 9, "mode": "hide"},
    )
    return figure


def _place(gpu: PlannedGpu) -> str:
    return f"{gpu.id}<br>{gpu.node}, GPU {gpu.index}" if gpu.node else gpu.id


def _blocks_of_gpu(gpu: PlannedGpu, slo_ms: dict[str, float]) -> list[Block]:
    mig = load_catalogue()[gpu.gpu].mig
    units = mig.placement_units if mig else 1
    blocks, at = [], 0
    for partition in sorted(gpu.partitions, key=lambda partition: partition.start or 0):
        profile = mig.profile(partition.mig_profile or "") if mig else None
        start, size = partition.start or 0, profile.memory_slices if profile else units
        if start > at:
            blocks.append(_free(gpu.id, mig, at, start))
        served = partition.serves[0]
        load = served.rate_rps / served.capacity_rps
        hover = (
            f"<b>{served.workload}</b><br>{partition.mig_profile} at {start} on {gpu.id}<br>"
            f"batch {served.batch}, {served.processes} process{'es' if served.processes > 1 else ''}<br>"
            f"latency {served.latency_ms:.1f} ms, SLO {slo_ms.get(served.workload, float('nan')):g} ms<br>"
            f"load {load:.0%}: {served.rate_rps:,.0f} of {served.capacity_rps:,.0f} requests/s"
        )
        label = f"{served.workload}<br>{partition.mig_profile}" if size / units >= TEXT_FITS else ""
        blocks.append(Block(gpu.id, start / units, size / units, served.workload, label, hover))
        at = start + size
    if at < units:
        blocks.append(_free(gpu.id, mig, at, units))
    return blocks


def _free(gpu_id: str, mig: MigGeometry | None, start: int, end: int) -> Block:
    units, profiles = (mig.placement_units, mig.profiles) if mig else (1, ())
    reachable = any(start <= at <= end - profile.memory_slices for profile in profiles for at in profile.starts)
    slices = f"memory slice {start}" if end - start == 1 else f"memory slices {start} to {end - 1}"
    hover = f"free: {slices} of {gpu_id}" + ("" if reachable else "<br>no MIG profile can start here")
    label = "free" if reachable else "out of reach"
    return Block(gpu_id, start / units, (end - start) / units, None, label, hover, reachable)
