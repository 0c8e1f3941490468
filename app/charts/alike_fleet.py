"""GPUs that are divided alike drawn once, with how many of them there are: a fleet of any size in a few rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from plotly.graph_objects import Figure

from sliceplan.solver.metrics.layouts import layout_of
from sliceplan.solver.model.plan import Plan, PlannedGpu
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.words import boards_in_words, counted

from .colours import FREE, GREY, text_on
from .fleet import MOST_IN_LEGEND, label_of, looks_of, with_keys
from .fleet_blocks import Block, blocks_of
from .gpu_bars import MOST_ROWS, ON_ANY_GROUND, Bar, Look, gpu_bars
from .shades import ColourBy, Shades, shades
from .texts import in_chart

MOST_NAMED = 5
"""Services of a place that its hover names; of more, their number."""

SEVERAL = "several services"
"""What grey means."""

LETTERS = 90
"""That fit beside each other into a row."""

LEAST = 0.001
"""Part of a GPU below which what is free is not drawn."""


@dataclass(frozen=True)
class Alike:
    """GPUs of one type that are divided alike."""

    gpu: str
    layout: str
    gpus: tuple[PlannedGpu, ...]

    @property
    def name(self) -> str:
        """How many they are, and of what, as a list names them."""
        return f"{len(self.gpus):,} x {self.gpu}: {self.layout}"


@dataclass(frozen=True)
class _Slot:
    """The places of the same rank on GPUs that are alike, the largest first."""

    blocks: tuple[Block, ...]

    @property
    def width(self) -> float:
        return sum(block.width for block in self.blocks) / len(self.blocks)

    @property
    def services(self) -> Counter[str]:
        return Counter(name for block in self.blocks for name in block.workloads)


def alike(gpus: Iterable[PlannedGpu]) -> list[Alike]:
    """Returns the kinds of GPUs, the most frequent first."""
    found: dict[tuple[str, str], list[PlannedGpu]] = {}
    for gpu in gpus:
        found.setdefault((gpu.gpu, layout_of(gpu)), []).append(gpu)
    kinds = [Alike(gpu, layout, tuple(own)) for (gpu, layout), own in found.items()]
    return sorted(kinds, key=lambda kind: (-len(kind.gpus), kind.gpu, kind.layout))


def alike_chart(plan: Plan, problem: Problem, kinds: Sequence[Alike], *, colour_by: ColourBy = "service") -> Figure:
    """
    Returns a row for each kind, at most MOST_ROWS of them; a place of several services is grey, and names their number.

    Coloured by a figure, a place has the colour of most of its partitions; its hover says how many have which.
    """
    shown = list(kinds)[:MOST_ROWS]
    shade = shades(problem, plan, colour_by)
    looks = looks_of(problem, plan, with_patterns=False)
    slots = {kind.gpus[0].id: _slots(blocks_of(plan, problem, kind.gpus)) for kind in shown}
    colours: dict[str, Look] = {}
    for slot in (slot for own in slots.values() for slot in own):
        colours |= {name: Look(of) for name, of in _colour(slot, looks, shade)[1].items()}
    if shade is None:
        colours |= with_keys({name: look for name, look in colours.items() if name != SEVERAL})
    bars: list[Bar] = []
    for kind in shown:
        start = 0.0
        for slot in slots[kind.gpus[0].id]:
            look = _look(slot, *_colour(slot, looks, shade), colours)
            bars.append(Bar(kind.gpus[0].id, start, slot.width, _hover(kind, slot, shade), look))
            start += slot.width
        if 1 - start > LEAST:
            hover = f"free, out of reach or kept free: {1 - start:.0%} of each of {boards_in_words(kind.gpus)}"
            bars.append(
                Bar(kind.gpus[0].id, start, 1 - start, hover, Look(FREE, text="free", text_colour=ON_ANY_GROUND))
            )
    legend = [(name, look) for name, look in colours.items()]
    if shade is not None:
        legend = [(name, Look(colour)) for name, colour in shade.colours.items() if name in colours]
    labels = {kind.gpus[0].id: f"<b>{boards_in_words(kind.gpus)}</b><br>{kind.gpu}" for kind in shown}
    return gpu_bars([kind.gpus[0] for kind in shown], bars, legend if len(legend) <= MOST_IN_LEGEND else [], labels)


def _slots(blocks: Iterable[Block]) -> list[_Slot]:
    of_gpu: dict[str, list[Block]] = {}
    for block in blocks:
        if block.is_partition and block.workloads:
            of_gpu.setdefault(block.gpu_id, []).append(block)
    ordered = [sorted(own, key=lambda block: (-block.width, block.size)) for own in of_gpu.values()]
    most = max(map(len, ordered), default=0)
    return [_Slot(tuple(own[rank] for own in ordered if rank < len(own))) for rank in range(most)]


def _colour(slot: _Slot, looks: Mapping[str, Look], shade: Shades | None) -> tuple[str, dict[str, str]]:
    """Returns the colour of a place, and what it means in the legend."""
    if shade is not None:
        name = Counter(map(shade.of, slot.blocks)).most_common(1)[0][0]
        return shade.colours[name], {name: shade.colours[name]}
    services = list(slot.services)
    if len(services) == 1 and services[0] in looks:
        return looks[services[0]].colour, {services[0]: looks[services[0]].colour}
    return GREY, {SEVERAL: GREY}


def _look(slot: _Slot, colour: str, meaning: Mapping[str, str], legend: Mapping[str, Look]) -> Look:
    services = list(slot.services)
    who = services[0] if len(services) == 1 else counted(len(services), "service")
    text, name = label_of([who], slot.blocks[0].size, slot.width, LETTERS)
    # How many they are is read for a service's number without the sign.
    key = f"×{len(services)}" if len(services) > 1 else next(legend[one].key for one in meaning)
    late = any(block.misses for block in slot.blocks)
    return Look(colour, text=text, text_colour=text_on(colour), is_outlined=late, name=name, key=key)


def _hover(kind: Alike, slot: _Slot, shade: Shades | None) -> str:
    services = slot.services
    named = [f"{in_chart(name)} on {count:,}" for name, count in services.most_common(MOST_NAMED)]
    more = [f"and {len(services) - MOST_NAMED:,} more services"] if len(services) > MOST_NAMED else []
    loads = [
        one.rate_rps / one.carries_rps
        for block in slot.blocks
        if block.partition is not None
        for one in block.partition.serves
        if one.carries_rps
    ]
    lines = [f"<b>{slot.blocks[0].size}</b> of each of {boards_in_words(kind.gpus)}", *named, *more]
    if loads:
        lines.append(f"load {min(loads):.0%} to {max(loads):.0%}, {sum(loads) / len(loads):.0%} on average")
    if late := sum(block.misses for block in slot.blocks):
        lines.append(f"<b>{counted(late, 'partition')} with a missed SLO</b>")
    if shade is not None:
        lines += [f"{count:,} {name}" for name, count in Counter(map(shade.of, slot.blocks)).most_common()]
    return "<br>".join(lines)
