"""What of each GPU is used, free, or free but out of every profile's reach; each memory slice a cell."""

from collections.abc import Iterator, Mapping, Sequence

from plotly.graph_objects import Figure

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.plan import Partition, PlannedGpu
from sliceplan.solver.slots import Slot, SlotState, slots_of

from .colours import PALETTE, WASTED, text_on
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
    if slots := slots_of(gpu):
        yield from _instances(gpu, slots, with_text)
    else:
        yield from _shares(gpu, with_text)


def _instances(gpu: PlannedGpu, slots: Sequence[Slot], with_text: bool) -> Iterator[Bar]:
    units = len(slots)
    mig = load_catalogue()[gpu.gpu].mig
    for partition in gpu.partitions:
        profile = mig.profile(partition.mig_profile or "") if mig else None
        width = (profile.memory_slices if profile else 1) / units
        name = partition.mig_profile or ""
        yield _partition(gpu, partition, (partition.start or 0) / units, width, name, with_text)
    for slot in slots:
        if slot.state in (SlotState.FREE, SlotState.OUT_OF_REACH):
            room = f"room for {', '.join(slot.profiles)}" if slot.profiles else "no MIG profile fits here"
            hover = f"{gpu.id}, memory slice {slot.index}<br>{slot.state}: {room}"
            yield Bar(gpu.id, slot.index / units, 1 / units, hover, Look(COLOURS[slot.state]))


def _shares(gpu: PlannedGpu, with_text: bool) -> Iterator[Bar]:
    percents = [partition.sm_percent or 100.0 for partition in gpu.partitions]
    whole, at = max(100.0, sum(percents)), 0.0
    for partition, percent in zip(gpu.partitions, percents, strict=True):
        name = f"{percent:g} %" if gpu.sharing == "mps" else "whole GPU"
        yield _partition(gpu, partition, at / whole, percent / whole, name, with_text)
        at += percent
    if whole - at > 1e-9:
        hover = f"{gpu.id}<br>free: {whole - at:g} % of the SMs"
        text = "free" if with_text else ""
        colour = COLOURS[SlotState.FREE]
        yield Bar(gpu.id, at / whole, 1 - at / whole, hover, Look(colour, text=text, text_colour=text_on(colour)))


def _partition(gpu: PlannedGpu, partition: Partition, start: float, width: float, name: str, with_text: bool) -> Bar:
    state = SlotState.USED if partition.serves else SlotState.KEPT_FREE
    services = " and ".join(served.workload for served in partition.serves) or "nothing, against trouble"
    colour = COLOURS[state]
    text = name if with_text and width >= TEXT_FITS else ""
    hover = f"{gpu.id}, {name}<br>{state}: {services}"
    return Bar(gpu.id, start, width, hover, Look(colour, text=text, text_colour=text_on(colour)))
