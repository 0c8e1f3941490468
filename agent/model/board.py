"""What a board can hold at most: a plan that asks for more of it is refused by the field that does."""

from collections.abc import Iterator, Sequence

from ...solver.model.catalogue import load_catalogue, load_cpus
from ...solver.model.cpu import Cpu
from ...solver.model.hardware import Gpu, MigProfile
from ...solver.model.plan import Partition, PlannedGpu, Served

MOST_GPUS = 255
"""Of a node: minor numbers of NVIDIA's character devices (the 256th is /dev/nvidiactl)."""

MOST_BATCH = 2**20
"""Requests of one batch: a board of 256 GiB has 256 KiB for each, and no runtime takes so many."""

MOST_MS = 24 * 3600 * 1000.0
"""Predicted latency of one batch."""

MOST_RPS = 1e12
"""Predicted requests per second of one partition."""


def beyond_the_board(gpu: PlannedGpu, path: str) -> Iterator[tuple[str, str]]:
    """
    Yields path and message of everything that a board of the catalogue cannot hold; nothing of an unknown one.

    A CPU is one here, too.
    """
    is_cpu = gpu.sharing == "cores"
    if gpu.index is not None and gpu.index >= MOST_GPUS:
        yield f"{path}.index", f"is {gpu.index}; no node has more than {MOST_GPUS} {'CPUs' if is_cpu else 'GPUs'}"
    facts = load_cpus().get(gpu.gpu) if is_cpu else load_catalogue().get(gpu.gpu)
    if facts is None:
        return
    for j, partition in enumerate(gpu.partitions):
        for k, served in enumerate(partition.serves):
            yield from _beyond_reason(served, f"{path}.partitions[{j}].serves[{k}]")
    if isinstance(facts, Cpu):
        yield from _beyond_the_cores(gpu, facts, path)
    elif gpu.sharing == "mig":
        for j, partition in enumerate(gpu.partitions):
            profile = facts.mig.profile(partition.mig_profile or "") if facts.mig else None
            yield from _too_much([partition], facts, profile, f"{path}.partitions[{j}]")
    else:
        yield from _too_much(gpu.partitions, facts, None, path)


def _beyond_the_cores(cpu: PlannedGpu, facts: Cpu, path: str) -> Iterator[tuple[str, str]]:
    """Yields the partitions of a CPU with more processes than their cores have threads: some would never run alone."""
    for j, partition in enumerate(cpu.partitions):
        most = (partition.cores or 0) * int(facts.threads_per_core.value)
        for k, served in enumerate(partition.serves):
            if served.processes > most:
                message = f"is {served.processes}; {partition.cores} cores of {facts.name} have {most} threads"
                yield f"{path}.partitions[{j}].serves[{k}].processes", message


def _beyond_reason(served: Served, path: str) -> Iterator[tuple[str, str]]:
    limits = {"batch": MOST_BATCH, "latency_ms": MOST_MS, "capacity_rps": MOST_RPS, "rate_rps": MOST_RPS}
    for name, most in limits.items():
        value = getattr(served, name)
        if value > most:
            yield f"{path}.{name}", f"is {value:g}; expected at most {most:g}"


def _too_much(
    partitions: Sequence[Partition], facts: Gpu, profile: MigProfile | None, path: str
) -> Iterator[tuple[str, str]]:
    """Yields what the processes of a slot need together and it has not: clients of its MPS daemon, and memory."""
    served = [one for partition in partitions for one in partition.serves]
    what = f"{profile.name} of {facts.name}" if profile else facts.name
    processes, most = sum(one.processes for one in served), facts.mps_client_limit(profile)
    if processes > most:
        yield path, f"has {processes} processes; {what} takes at most {most} MPS clients"
    # Of an instance of which the catalogue does not know the memory, the whole board's is a limit.
    memory_mib = (profile.memory_mib if profile else None) or facts.memory_mib
    needed_mib = sum((one.memory_mib or 0.0) * one.processes for one in served)
    if needed_mib > memory_mib * (1 + 1e-9):
        yield path, f"takes {needed_mib:g} MiB of memory; {what} has {memory_mib:g} MiB"
