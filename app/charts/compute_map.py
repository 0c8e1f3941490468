"""What of each GPU's compute is used, idle in partitions, or in none: to scale by SMs, or by cores of a CPU."""

from collections.abc import Iterator, Sequence

from plotly.graph_objects import Figure

from sliceplan.solver.metrics.compute_use import ComputeUse
from sliceplan.solver.model.plan import GpuCut, PlannedGpu

from .colours import FREE_ROOM, IDLE, PALETTE, WASTED
from .extents import extents_of
from .gpu_bars import MOST_DRAWN, MOST_ROWS, Bar, Look, gpu_bars
from .slice_map import labels_of, size_look
from .texts import in_chart

LOOKS = {
    "used": Look(PALETTE[0]),
    "idle in partitions": Look(IDLE),
    "room for a partition": Look(FREE_ROOM),
    "out of reach": Look(WASTED),
}


def compute_map(gpus: Sequence[tuple[int, PlannedGpu]], cuts: Sequence[GpuCut], use: ComputeUse) -> Figure:
    """
    Returns the map of the first MOST_DRAWN of some GPUs.

    Parameters
    ----------
    gpus
        Each with its position in the plan.
    cuts, use
        Of all GPUs of the plan, in its order.
    """
    drawn = list(gpus)[:MOST_DRAWN]
    with_text = len(drawn) <= MOST_ROWS
    bars = [bar for at, gpu in drawn for bar in compute_bars(gpu, at, cuts[at], use, with_text=with_text)]
    shown = {bar.look.colour for bar in bars}
    legend = [(name, look) for name, look in LOOKS.items() if look.colour in shown]
    only = [gpu for _, gpu in drawn]
    return gpu_bars(only, bars, legend, labels_of(only))


def compute_parts(gpus: Sequence[PlannedGpu], cuts: Sequence[GpuCut], use: ComputeUse) -> dict[str, float]:
    """Returns how much of the compute of all GPUs of a plan is of each kind (LOOKS), 0 to 1, together 1."""
    total, held = float(use.whole_sms.sum()), float(use.sms.sum())
    busy, room = float(use.busy_sms.sum()), 0.0
    for at, (gpu, cut) in enumerate(zip(gpus, cuts, strict=True)):
        own = float(use.sms[int(use.first[at]) : int(use.first[at]) + len(gpu.partitions)].sum())
        room += (float(use.whole_sms[at]) - own) * _reachable(gpu, cut)
    parts = (busy, held - busy, room, total - held - room)
    return {name: max(0.0, part) / total for name, part in zip(LOOKS, parts, strict=True)}


def compute_bars(gpu: PlannedGpu, at: int, cut: GpuCut, use: ComputeUse, *, with_text: bool = True) -> Iterator[Bar]:
    """Yields what is drawn of a GPU: of each partition what is used and what is idle, then what no partition has."""
    first, whole = int(use.first[at]), float(use.whole_sms[at])
    start = 0.0
    for number, (partition, extent) in enumerate(zip(gpu.partitions, extents_of(gpu), strict=True), start=first):
        held, busy = float(use.sms[number]) / whole, float(use.busy_sms[number]) / whole
        services = " and ".join(served.workload for served in partition.serves) or "nothing, against trouble"
        hover = f"{gpu.id}, {extent.size}: {in_chart(services)}<br>{_part(busy, held)} of its compute used"
        size, idle = extent.size if with_text else "", held - busy
        # The size stands on the larger part, which has more room for it.
        used = size_look(LOOKS["used"].colour, size) if busy >= idle else LOOKS["used"]
        yield Bar(gpu.id, start, busy, hover, used)
        if idle > 1e-9:
            unused = LOOKS["idle in partitions"]
            yield Bar(gpu.id, start + busy, idle, hover, unused if busy >= idle else size_look(unused.colour, size))
        start += held
    reachable = (1 - start) * _reachable(gpu, cut)
    for width, kind in (
        (reachable, "room for a partition"),
        (1 - start - reachable, "out of reach"),
    ):
        if width > 1e-9:
            yield Bar(gpu.id, start, width, f"{gpu.id}<br>{width:.0%} of its compute is {kind}", LOOKS[kind])
            start += width


def _reachable(gpu: PlannedGpu, cut: GpuCut) -> float:
    """Returns which part of what no partition has further partitions could have, 0 to 1."""
    if gpu.sharing != "mig":
        return 1.0
    free, wasted = cut.free_compute_slices or 0, cut.wasted_compute_slices or 0
    return (free - wasted) / free if free else 0.0


def _part(busy: float, held: float) -> str:
    return f"{busy / held:.0%}" if held else "none"
