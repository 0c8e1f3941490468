"""A plan's GPUs as blocks along the axis of each: MIG instances in place, MPS shares to scale, whole GPUs, cores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sliceplan.solver.metrics.slice_map import MemorySlice, SliceState, slices_of
from sliceplan.solver.model.plan import Partition, Plan, PlannedGpu, Served
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.cores import domains_in_words
from sliceplan.solver.wording.rounds import round_in_words

from .extents import Extent, extents_of, free_cores, free_share
from .texts import in_chart


@dataclass(frozen=True)
class Block:
    """A rectangle of the picture: a partition, or the free room between partitions."""

    gpu_id: str
    start: float
    """Part of the GPU's axis, 0 to 1."""
    width: float
    workloads: tuple[str, ...]
    """More than one where they take turns; empty: it serves nothing."""
    size: str
    """What of the GPU it is, in a word or two: a MIG profile, a percentage."""
    hover: str
    reachable: bool = True
    """False: free room in which no instance of any profile could start."""
    misses: bool = False
    """Whether a service misses its SLO here."""
    is_partition: bool = True
    """False: room of no partition."""
    partition: Partition | None = None
    """What serves here; None: nothing does."""

    @property
    def workload(self) -> str | None:
        """The service, the first one where several take turns; None: it serves nothing."""
        return self.workloads[0] if self.workloads else None


@dataclass(frozen=True)
class _Promises:
    """What the services were promised and do not get."""

    slo_ms: Mapping[str, float]
    broken: Mapping[tuple[str, str], str]
    """(GPU, workload) -> what is missed."""


def blocks_of(plan: Plan, problem: Problem, gpus: Sequence[PlannedGpu] | None = None) -> list[Block]:
    """Returns the blocks of every GPU of a plan, from the left; `gpus`: of these only."""
    promises = _Promises(
        {workload.name: workload.slo_ms for workload in problem.workloads},
        {(one.gpu, one.workload): one.message for one in plan.violations if one.workload is not None},
    )
    return [block for gpu in (plan.gpus if gpus is None else gpus) for block in _blocks_of_gpu(gpu, promises)]


def _blocks_of_gpu(gpu: PlannedGpu, promises: _Promises) -> list[Block]:
    extents = zip(gpu.partitions, extents_of(gpu), strict=True)
    blocks = [_block(gpu, partition, extent, promises) for partition, extent in extents]
    return sorted([*blocks, *_free_blocks(gpu)], key=lambda block: block.start)


def _free_blocks(gpu: PlannedGpu) -> Iterator[Block]:
    slices = slices_of(gpu)
    for is_free, room in groupby(slices, lambda one: one.state in (SliceState.FREE, SliceState.OUT_OF_REACH)):
        if is_free:
            yield _free_slices(gpu.id, len(slices), list(room))
    for cores in free_cores(gpu):
        hover = f"free: {cores.size} of an L3 domain of {gpu.id}"
        yield Block(gpu.id, cores.start, cores.width, (), "free", hover, is_partition=False)
    if share := free_share(gpu):
        hover = f"free: {share.size} of the SMs of {gpu.id}"
        yield Block(gpu.id, share.start, share.width, (), "free", hover, is_partition=False)


def _block(gpu: PlannedGpu, partition: Partition, extent: Extent, promises: _Promises) -> Block:
    place = _place(gpu, partition, extent)
    if not partition.serves:
        hover = f"kept free for trouble: {place}"
        return Block(gpu.id, extent.start, extent.width, (), "kept free", hover)
    names = tuple(served.workload for served in partition.serves)
    lines = [f"<b>{in_chart(' and '.join(names))}</b>", place]
    if turns := round_in_words(partition).removeprefix(", "):
        lines.append(turns)
    missed = False
    for served in partition.serves:
        lines += [f"<b>{in_chart(served.workload)}</b>"] if len(names) > 1 else []
        lines += _figures(served, promises.slo_ms)
        if broken := promises.broken.get((gpu.id, served.workload)):
            missed = True
            lines.append(f"<b>misses its SLO:</b> {in_chart(broken)}")
    hover = "<br>".join(lines)
    return Block(gpu.id, extent.start, extent.width, names, extent.size, hover, misses=missed, partition=partition)


def _place(gpu: PlannedGpu, partition: Partition, extent: Extent) -> str:
    if gpu.sharing == "mig":
        return f"{extent.size} at {partition.start or 0} on {gpu.id}"
    if gpu.sharing == "cores":
        return f"{extent.size} from {partition.start or 0} on of {gpu.id}, {domains_in_words(gpu, partition)}"
    return f"{extent.size} of the SMs of {gpu.id}" if gpu.sharing == "mps" else f"the whole of {gpu.id}"


def _figures(served: Served, slo_ms: Mapping[str, float]) -> list[str]:
    slo = slo_ms.get(served.workload)
    latency = f"latency {served.latency_ms:.1f} ms ({served.basis})"
    lines = [
        f"batch {served.batch}, {served.processes} process{'es' if served.processes > 1 else ''}",
        latency if slo is None else f"{latency}, SLO {slo:g} ms",
    ]
    lines += [f"  {ms:.2f} ms {cause.replace('_', ' ')}" for cause, ms in (served.causes_ms or {}).items()]
    load = served.rate_rps / served.carries_rps if served.carries_rps else 0.0
    return [*lines, f"load {load:.0%}: {served.rate_rps:,.0f} of {served.carries_rps:,.0f} requests/s"]


def _free_slices(gpu_id: str, units: int, slices: Sequence[MemorySlice]) -> Block:
    start, end = slices[0].index, slices[-1].index + 1
    profiles = list(dict.fromkeys(name for one in slices for name in one.profiles))
    reachable = any(one.state is SliceState.FREE for one in slices)
    words = f"memory slice {start}" if end - start == 1 else f"memory slices {start} to {end - 1}"
    room = f"room for {', '.join(profiles)}" if reachable else "no MIG profile can start here"
    size = "free" if reachable else "out of reach"
    hover = f"free: {words} of {gpu_id}<br>{room}"
    width = (end - start) / units
    return Block(gpu_id, start / units, width, (), size, hover, reachable, is_partition=False)
