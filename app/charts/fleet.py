"""The fleet as a picture: each GPU cut into its partitions to scale, a colour a service, figures on hover."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from plotly.graph_objects import Figure

from sliceplan.solver.model.plan import GpuCut, Plan, PlannedGpu
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.cores import node_in_words

from .colours import FREE, PATTERNS, SERVICES, WASTED, text_on
from .fleet_blocks import Block, blocks_of
from .gpu_bars import MOST_DRAWN, MOST_ROWS, ON_ANY_GROUND, Bar, Look, gpu_bars
from .service_colours import service_colours
from .shades import ColourBy, Shades, shades
from .texts import in_chart, shortened

LETTERS_IN_A_ROW = 100
"""That fit beside each other into a GPU's row where the page is 1,280 px wide."""
NUMBER_FITS = 0.05
"""Least part of the axis that a block must have to say that it is free."""
MOST_IN_LEGEND = len(SERVICES)
"""Services that colours alone tell apart; of more, a legend would name several for each colour."""
DIMMED = 0.18
"""Opacity of what was not chosen."""

LOOK_OF_FREE = Look(FREE)
LOOK_OUT_OF_REACH = Look(WASTED)


def fleet_chart(
    plan: Plan,
    problem: Problem,
    gpus: Sequence[PlannedGpu] | None = None,
    chosen: Collection[str] = (),
    *,
    letters: int = LETTERS_IN_A_ROW,
    colour_by: ColourBy = "service",
) -> Figure:
    """
    Returns the picture in the plan's order; a service that misses its SLO has a red outline.

    Parameters
    ----------
    gpus
        GPUs of the plan to draw, the first MOST_DRAWN of them; None: all.
    chosen
        Services that are highlighted; empty: all alike.
    letters
        That fit beside each other into a GPU's row.
    colour_by
        What the colours of what serves something say.
    """
    drawn = list(plan.gpus if gpus is None else gpus)[:MOST_DRAWN]
    blocks = blocks_of(plan, problem, drawn)
    with_text = len(drawn) <= MOST_ROWS
    letters = letters if with_text else 0
    shade = shades(problem, plan, colour_by)
    looks = looks_of(problem, plan, with_patterns=with_text)
    kinds = [_kind(block, looks) if shade is None else _shaded(block, shade) for block in blocks]
    meaning = looks if shade is None else {name: Look(colour) for name, colour in shade.colours.items()}
    shown = {block.workload for block in blocks}
    if shade is not None:
        shown = {shade.of(block) for block in blocks if block.workload is not None}
    elif with_text:
        meaning = with_keys({name: look for name, look in looks.items() if name in shown})
    bars = [
        Bar(block.gpu_id, block.start, block.width, block.hover, _look(block, kind, chosen, letters, meaning))
        for block, kind in zip(blocks, kinds, strict=True)
    ]
    cuts = {cut.id: cut for cut in plan.metrics.gpus} if plan.metrics else {}
    labels = {gpu.id: place_of(gpu, cuts.get(gpu.id)) for gpu in drawn} if with_text else {}
    return gpu_bars(drawn, bars, _legend(blocks, meaning, shown), labels)


def looks_of(problem: Problem, plan: Plan, *, with_patterns: bool) -> dict[str, Look]:
    """
    Returns a look for each service, in the problem's order.

    With more services than colours, neighbours on a GPU differ by colour, and services of the same colour by pattern,
    if that is wanted: hundreds of patterns take the browser seconds, and are a flicker where blocks are small.
    """
    names = [workload.name for workload in problem.workloads]
    colours, uses = service_colours(names, plan), Counter[int]()
    looks = {}
    for name in names:
        colour = colours[name]
        pattern = PATTERNS[uses[colour] % len(PATTERNS)] if with_patterns else ""
        uses[colour] += 1
        looks[name] = Look(SERVICES[colour], pattern)
    return looks


def with_keys(looks: dict[str, Look]) -> dict[str, Look]:
    """Returns the looks of a legend's services with a number each, which stands on bars that hold no name."""
    if len(looks) > MOST_IN_LEGEND:  # there is no legend
        return looks
    return {name: replace(look, key=str(number)) for number, (name, look) in enumerate(looks.items(), start=1)}


def place_of(gpu: PlannedGpu, cut: GpuCut | None) -> str:
    """Returns what stands beside a GPU's bar: its id, where it is, and under MPS its predicted power and clock."""
    parts = [where] if (where := node_in_words(gpu)) else []
    if gpu.sharing == "mps":
        parts.append("MPS")
    if gpu.sharing == "cores":
        parts.append("by cores")
    if cut is not None and cut.power_demand_w is not None and cut.frequency_mhz is not None:
        parts.append(f"{cut.power_demand_w:.0f} W, {cut.frequency_mhz:.0f} MHz")
    return "<br>".join([gpu.id, ", ".join(parts)]) if parts else gpu.id


def _look(block: Block, kind: Look, chosen: Collection[str], letters: int, legend: Mapping[str, Look]) -> Look:
    is_chosen = not chosen or any(name in chosen for name in block.workloads)
    text, name, ink, key = "", "", ON_ANY_GROUND, ""
    if letters:
        text, name = label_of(block.workloads, block.size, block.width, letters) if block.reachable else ("", "")
        ink = text_on(kind.colour) if block.workloads and is_chosen else ON_ANY_GROUND
        key = "+".join(legend[one].key for one in block.workloads if one in legend)
    opacity = 1.0 if is_chosen else DIMMED
    return Look(kind.colour, kind.pattern, opacity, text, ink, is_outlined=block.misses, name=name, key=key)


def _kind(block: Block, looks: dict[str, Look]) -> Look:
    if block.workload is None:
        return LOOK_OF_FREE if block.reachable else LOOK_OUT_OF_REACH
    return looks.get(block.workload, LOOK_OF_FREE)


def _shaded(block: Block, shade: Shades) -> Look:
    return _kind(block, {}) if block.workload is None else Look(shade.colours[shade.of(block)])


def _legend(blocks: Sequence[Block], looks: dict[str, Look], shown: Collection[str | None]) -> list[tuple[str, Look]]:
    services = [(name, look) for name, look in looks.items() if name in shown]
    legend = services if len(services) <= MOST_IN_LEGEND else []
    if any(block.workload is None and block.reachable for block in blocks):
        legend.append(("free", LOOK_OF_FREE))
    if any(not block.reachable for block in blocks):
        legend.append(("out of reach", LOOK_OUT_OF_REACH))
    if any(block.misses for block in blocks):
        legend.append(("misses its SLO", Look("rgba(0,0,0,0)", is_outlined=True)))
    return legend


def label_of(services: Sequence[str], size: str, width: float, letters: int) -> tuple[str, str]:
    """
    Returns what stands on a block, cut to it where the page is 1,280 px wide, and its services' names in full.

    Parameters
    ----------
    width
        Part of the GPU's row, in which so many `letters` have room.
    """
    if not services:
        return (size, "") if width >= NUMBER_FITS else ("", "")
    name = " + ".join(services)
    return f"{in_chart(shortened(name, int(width * letters)))}<br>{size}", in_chart(name)
