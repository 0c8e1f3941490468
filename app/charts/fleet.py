"""The fleet as a picture: one bar a GPU, cut into its partitions to scale, a colour a service, figures on hover."""

import plotly.graph_objects as go

from sliceplan.solver.model.plan import GpuCut, Plan, PlannedGpu
from sliceplan.solver.model.problem import Problem

from .colours import FREE, MISSES, WASTED, colours_of, text_on
from .fleet_blocks import Block, blocks_of

ROW_HEIGHT = 46
TEXT_FITS = 0.12
"""Least part of the axis that a block must have to carry its service's name."""
NUMBER_FITS = 0.05
"""Least part of the axis that a block must have to carry its size."""


def fleet_chart(plan: Plan, problem: Problem) -> go.Figure:
    """Returns the picture: a row a GPU in the plan's order; a service that misses its SLO has a red outline."""
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
        outlines = {
            "color": [MISSES if block.misses else "white" for block in own],
            "width": [4 if block.misses else 2 for block in own],
        }
        figure.add_bar(
            name=name,
            orientation="h",
            y=[block.gpu_id for block in own],
            base=[block.start for block in own],
            x=[block.width for block in own],
            marker={"color": colour, "line": outlines},
            text=[_label(block) for block in own],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": text_on(colour)},
            constraintext="none",
            customdata=[block.hover for block in own],
            hovertemplate="%{customdata}<extra></extra>",
        )
    cuts = {cut.id: cut for cut in plan.metrics.gpus} if plan.metrics else {}
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
            "ticktext": [place_of(gpu, cuts.get(gpu.id)) for gpu in plan.gpus],
            "fixedrange": True,
        },
        uniformtext={"minsize": 9, "mode": "hide"},
    )
    return figure


def place_of(gpu: PlannedGpu, cut: GpuCut | None) -> str:
    """Returns what stands beside a GPU's bar: its id, where it is, and under MPS its predicted power and clock."""
    parts = [f"{gpu.node}, GPU {gpu.index}"] if gpu.node else []
    if gpu.sharing == "mps":
        parts.append("MPS")
    if cut is not None and cut.power_demand_w is not None and cut.frequency_mhz is not None:
        parts.append(f"{cut.power_demand_w:.0f} W, {cut.frequency_mhz:.0f} MHz")
    return "<br>".join([gpu.id, ", ".join(parts)]) if parts else gpu.id


def _label(block: Block) -> str:
    if block.workload is None:
        return block.size if block.width >= NUMBER_FITS else ""
    if block.width >= TEXT_FITS:
        return f"{block.workload}<br>{block.size}"
    return block.size if block.width >= NUMBER_FITS else ""
