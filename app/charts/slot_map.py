"""What of each GPU is used, free, or free but out of every profile's reach; each memory slice a cell."""

from collections.abc import Iterator, Mapping, Sequence

from plotly.graph_objects import Figure

from sliceplan.solver.model.plan import Partition, PlannedGpu
from sliceplan.solver.slots import SlotState, slots_of

from .colours import PALETTE, WASTED, text_on
from .extents import Extent, extents_of, free_share
from .gpu_bars import MOST_DRAWN, MOST_ROWS, Bar, Look, gpu_bars

COLOURS = {
    SlotState.USED: PALETTE[0],
    SlotState.KEPT_FREE: PALETTE[1],
    SlotState.FREE: PALETTE[10],
    SlotState.OUT_OF_REACH: WASTED,
}
TEXT_FITS = 0.1


def slot_map(gpus: Sequence[PlannedGpu]) -> Figure:
    """Returns the map of the first MOST_DRAWN of some GPUs, to scale; shares of GPUs under MPS too."""
    drawn = list(gpus)[:MOST_DRAWN]
    bars = [bar for gpu in drawn for bar in _bars(gpu, with_text=len(drawn) <= MOST_ROWS)]
    shown = {bar.look.colour for bar in bars}
    legend = [(state.value, Look(colour)) for state, colour in COLOURS.items() if colour in shown]
    return gpu_bars(drawn, bars, legend, _labels(drawn))


def _labels(gpus: Sequence[PlannedGpu]) -> Mapping[str, str]:
    return {gpu.id: f"{gpu.id}<br>{gpu.node}, GPU {gpu.index}" if gpu.node else gpu.id for gpu in gpus}


def _bars(gpu: PlannedGpu, *, with_text: bool) -> Iterator[Bar]:
    for partition, extent in zip(gpu.partitions, extents_of(gpu), strict=True):
        yield _partition(gpu, partition, extent, with_text)
    slots = slots_of(gpu)
    for slot in slots:
        if slot.state in (SlotState.FREE, SlotState.OUT_OF_REACH):
            room = f"room for {', '.join(slot.profiles)}" if slot.profiles else "no MIG profile fits here"
            hover = f"{gpu.id}, memory slice {slot.index}<br>{slot.state}: {room}"
            yield Bar(gpu.id, slot.index / len(slots), 1 / len(slots), hover, Look(COLOURS[slot.state]))
    if share := free_share(gpu):
        hover = f"{gpu.id}<br>free: {share.size} of the SMs"
        text = "free" if with_text else ""
        colour = COLOURS[SlotState.FREE]
        yield Bar(gpu.id, share.start, share.width, hover, Look(colour, text=text, text_colour=text_on(colour)))


def _partition(gpu: PlannedGpu, partition: Partition, extent: Extent, with_text: bool) -> Bar:
    state = SlotState.USED if partition.serves else SlotState.KEPT_FREE
    services = " and ".join(served.workload for served in partition.serves) or "nothing, against trouble"
    colour = COLOURS[state]
    text = extent.size if with_text and extent.width >= TEXT_FITS else ""
    hover = f"{gpu.id}, {extent.size}<br>{state}: {services}"
    return Bar(gpu.id, extent.start, extent.width, hover, Look(colour, text=text, text_colour=text_on(colour)))
