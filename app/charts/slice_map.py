"""What of each GPU is used, free, or free but out of every profile's reach; each memory slice a cell."""

from collections.abc import Iterator, Mapping, Sequence

from plotly.graph_objects import Figure

from sliceplan.solver.metrics.slice_map import SliceState, slices_of
from sliceplan.solver.model.plan import Partition, PlannedGpu
from sliceplan.solver.wording.cores import node_in_words

from .colours import FREE_ROOM, PALETTE, WASTED, text_on
from .extents import Extent, extents_of, free_cores, free_share
from .gpu_bars import MOST_DRAWN, MOST_ROWS, Bar, Look, gpu_bars
from .texts import in_chart

COLOURS = {
    SliceState.USED: PALETTE[0],
    SliceState.KEPT_FREE: PALETTE[1],
    SliceState.FREE: FREE_ROOM,
    SliceState.OUT_OF_REACH: WASTED,
}


def slice_map(gpus: Sequence[PlannedGpu]) -> Figure:
    """Returns the map of the first MOST_DRAWN of some GPUs, to scale; shares of GPUs under MPS too."""
    drawn = list(gpus)[:MOST_DRAWN]
    bars = [bar for gpu in drawn for bar in slice_bars(gpu, with_text=len(drawn) <= MOST_ROWS)]
    shown = {bar.look.colour for bar in bars}
    legend = [(state.value, Look(colour)) for state, colour in COLOURS.items() if colour in shown]
    return gpu_bars(drawn, bars, legend, labels_of(drawn))


def labels_of(gpus: Sequence[PlannedGpu]) -> Mapping[str, str]:
    """Returns what stands beside each GPU, by its id."""
    return {gpu.id: "<br>".join(filter(None, (gpu.id, node_in_words(gpu)))) for gpu in gpus}


def slice_bars(gpu: PlannedGpu, *, with_text: bool = True) -> Iterator[Bar]:
    """Yields what is drawn of a GPU or CPU: its partitions, and what is free or out of reach."""
    for partition, extent in zip(gpu.partitions, extents_of(gpu), strict=True):
        yield _partition(gpu, partition, extent, with_text)
    slices = slices_of(gpu)
    for one in slices:
        if one.state in (SliceState.FREE, SliceState.OUT_OF_REACH):
            room = f"room for {', '.join(one.profiles)}" if one.profiles else "no MIG profile fits here"
            hover = f"{gpu.id}, memory slice {one.index}<br>{one.state}: {room}"
            yield Bar(gpu.id, one.index / len(slices), 1 / len(slices), hover, Look(COLOURS[one.state]))
    for run in free_cores(gpu):
        hover, colour = f"{gpu.id}<br>free: {run.size}", COLOURS[SliceState.FREE]
        yield Bar(gpu.id, run.start, run.width, hover, Look(colour))
    if share := free_share(gpu):
        hover = f"{gpu.id}<br>free: {share.size} of the SMs"
        text = "free" if with_text else ""
        colour = COLOURS[SliceState.FREE]
        yield Bar(gpu.id, share.start, share.width, hover, Look(colour, text=text, text_colour=text_on(colour)))


def _partition(gpu: PlannedGpu, partition: Partition, extent: Extent, with_text: bool) -> Bar:
    state = SliceState.USED if partition.serves else SliceState.KEPT_FREE
    services = " and ".join(served.workload for served in partition.serves) or "nothing, against trouble"
    colour = COLOURS[state]
    hover = f"{gpu.id}, {extent.size}<br>{state}: {in_chart(services)}"
    return Bar(gpu.id, extent.start, extent.width, hover, size_look(colour, extent.size if with_text else ""))


def size_look(colour: str, size: str) -> Look:
    """Returns how a partition looks that says its size, or where that has no room its first part, as 1g of 1g.10gb."""
    short = size.partition(".")[0] if "g." in size else size.removesuffix(" %")
    return Look(colour, text=size, text_colour=text_on(colour), name=size, key=short if size else "")
