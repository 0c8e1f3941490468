"""
Whether GPUs and CPUs can be divided as a plan says: which instances fit together, which shares add up, which cores
are a partition, what serves where.

The one home of the rule for all that read plans: files, exports, transitions, the agent. `check`, the placing of
instances (geometry.py), the replay of a transition and the simulated node say it again on purpose, as they would not
find a mistake here otherwise.

Instances fit together where they start at legal places, share no placement unit, and take no more than the GPU has of
compute slices, of media engines and of each profile (NVIDIA MIG User Guide, "Supported MIG Profiles"). Which cores of
a CPU make a partition, core_partitions.py says, and why; no two partitions share a core. A partition serves one
workload, or several that take turns, and then `duty_cycle_ms` says how long a round is (of one workload: how often a
batch goes).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from .catalogue import load_catalogue, load_cpus
from .core_partitions import CoreTree, allowed_cores
from .cpu import Cpu
from .hardware import Engine, Gpu, MigGeometry, MigProfile
from .parsing import closest
from .plan import Partition, Plan, PlannedGpu

FULL_PERCENT = 100 + 1e-6
"""Shares of a GPU under MPS may add up to this; beyond 100 is rounding."""

WHOLE_ENGINES: tuple[Engine, ...] = ("dec", "enc", "jpeg", "ofa")
"""Engines that are handed out whole; copy engines are shared."""

Wrong = tuple[str, str]
"""Path of a field, and what is wrong with it."""

Place = tuple[str | None, int | None]
"""MIG profile and start."""


def wrong_gpus(plan: Plan) -> Iterator[Wrong]:
    """Yields everything about the GPUs of a plan that cannot be; paths begin at the plan, as `gpus[0].index`."""
    first_id: dict[str, int] = {}
    first_place: dict[tuple[str, bool, int], int] = {}
    for i, gpu in enumerate(plan.gpus):
        if (known := first_id.setdefault(gpu.id, i)) != i:
            yield f"gpus[{i}].id", f"is {gpu.id!r}, and so is gpus[{known}].id; expected a name of its own"
        if gpu.node is not None and gpu.index is not None:
            # CPUs are counted apart: a node has a GPU 0 and a CPU 0.
            is_cpu = gpu.sharing == "cores"
            known = first_place.setdefault((gpu.node, is_cpu, gpu.index), i)
            if known != i:
                what = f"{'CPU' if is_cpu else 'GPU'} {gpu.index} of {gpu.node}"
                yield f"gpus[{i}].index", f"is {gpu.index}, and gpus[{known}] is {what}, too"
        yield from wrong_gpu(gpu, f"gpus[{i}]")


def wrong_gpu(gpu: PlannedGpu, path: str) -> Iterator[Wrong]:
    """Yields everything about one GPU that cannot be, but for shares that add up to too much (`overcommitted`)."""
    facts = load_cpus().get(gpu.gpu) if gpu.sharing == "cores" else load_catalogue().get(gpu.gpu)
    if facts is None and gpu.sharing == "cores":
        yield f"{path}.gpu", f"is {gpu.gpu!r}; not a CPU of the catalogue. {closest(gpu.gpu, load_cpus())}"
        return
    if facts is None:
        yield f"{path}.gpu", f"is {gpu.gpu!r}; not in the catalogue. {closest(gpu.gpu, load_catalogue())}"
        return
    if gpu.node is not None and gpu.index is None:
        yield f"{path}.index", "is null; a GPU with a node needs its index there"
    if gpu.node is None and gpu.index is not None:
        yield f"{path}.index", f"is {gpu.index}, and the node is null; expected both or neither"
    places = tuple([(partition.mig_profile, partition.start) for partition in gpu.partitions])
    percents = tuple([partition.sm_percent for partition in gpu.partitions])
    cores = tuple([partition.cores for partition in gpu.partitions])
    if isinstance(facts, Cpu):
        wrong = _wrong_cores(gpu.gpu, places, percents, cores)
    else:
        wrong = (*_wrong_division(gpu.gpu, gpu.sharing, places, percents), *_needless_cores(cores))
    for where, message in wrong:
        yield path + where, message
    for j, partition in enumerate(gpu.partitions):
        if partition.serves or partition.duty_cycle_ms is not None or partition.turns is not None:
            yield from _wrong_contents(gpu, facts, partition, f"{path}.partitions[{j}]")


def overcommitted(gpu: PlannedGpu) -> str | None:
    """Returns what is wrong with shares of a GPU under MPS that take more than all of it; None: they do not."""
    percent = sum(partition.sm_percent or 0.0 for partition in gpu.partitions)
    if gpu.sharing != "mps" or percent <= FULL_PERCENT:
        return None
    return f"take {percent:.9g} % of the SMs in all; there are 100 %"


def in_turn(partition: Partition) -> str | None:
    """Returns who is served in rounds, to stand in a message behind "serves"; None: a workload is, back to back."""
    if partition.duty_cycle_ms is None:
        return None
    names = ", ".join(served.workload for served in partition.serves)
    return (
        f"{names} in turn"
        if len(partition.serves) > 1
        else f"{names} with a batch every {partition.duty_cycle_ms:g} ms"
    )


def no_cpus(plan: Plan, what: str, instead: str) -> Iterator[Wrong]:
    """Yields each CPU of a plan, for what knows GPUs only: `what` it is, and what to do `instead`."""
    for i, gpu in enumerate(plan.gpus):
        if gpu.sharing == "cores":
            yield f"gpus[{i}].sharing", f"is cores: {gpu.id} is a CPU, and {what}; {instead}"


@cache
def _wrong_cores(
    name: str, places: tuple[Place, ...], percents: tuple[float | None, ...], cores: tuple[int | None, ...]
) -> tuple[Wrong, ...]:
    """Returns what is wrong with how a CPU is divided; computed once each, as CPUs are divided in few ways."""
    cpu = load_cpus()[name]
    tree, wrong = CoreTree.of(cpu), list(_needless_shares(percents, "a partition of a CPU"))
    holders: dict[int, int] = {}
    for j, ((profile, start), number) in enumerate(zip(places, cores, strict=True)):
        path = f".partitions[{j}]"
        if profile is not None:
            wrong.append((f"{path}.mig_profile", f"is {profile!r}; a CPU has no MIG instances: expected null"))
        if number is None or tree.level(number) is None:
            stated = "null" if number is None else number
            wrong.append((f"{path}.cores", f"is {stated}; a partition of {name} has {allowed_cores(tree)}"))
        elif start is None or not tree.stands_well(start, number):
            wrong.append((f"{path}.start", _not_there(start, number, cpu)))
        else:
            own = range(start, start + number)
            if taken := {holders[core] for core in own if core in holders}:
                wrong.append((path, f"({number} cores from {start} on) overlaps partitions[{min(taken)}]"))
            for core in own:
                holders.setdefault(core, j)
    return tuple(wrong)


def _not_there(start: int | None, number: int, cpu: Cpu) -> str:
    tree, stated = CoreTree.of(cpu), "null" if start is None else start
    level = tree.level(number)
    places = {
        "cores": f"within one L3 domain of {tree.domain} cores",
        "domains": f"from a multiple of {tree.domain} on, within one NUMA node of {tree.node} cores",
        "nodes": f"from a multiple of {tree.node} on",
        None: "",
    }
    return f"is {stated}; {number} of the {cpu.core_count} cores of {cpu.name} lie {places[level]}"


def _needless_cores(cores: Sequence[int | None]) -> Iterator[Wrong]:
    for j, number in enumerate(cores):
        if number is not None:
            yield f".partitions[{j}].cores", f"is {number}; a partition of a GPU has no cores of a CPU: expected null"


@cache
def _wrong_division(
    gpu: str, sharing: str, places: tuple[Place, ...], percents: tuple[float | None, ...]
) -> tuple[Wrong, ...]:
    """Returns what is wrong with how a GPU is divided; computed once each, as GPUs are divided in few ways."""
    if sharing == "mig":
        return (*_wrong_instances(load_catalogue()[gpu], places), *_needless_shares(percents, "a MIG instance"))
    wrong = [one for j, place in enumerate(places) for one in _no_instance(f".partitions[{j}]", place, sharing)]
    if sharing == "mps":
        missing = "is null; a share of a GPU under MPS needs its percentage of the SMs"
        wrong += [(f".partitions[{j}].sm_percent", missing) for j, one in enumerate(percents) if one is None]
    else:
        wrong += _needless_shares(percents, "a GPU that is used whole")
        if len(places) > 1:
            wrong.append((".partitions", f"are {len(places)}; a GPU that is used whole has one"))
    return tuple(wrong)


def _needless_shares(percents: Sequence[float | None], what: str) -> Iterator[Wrong]:
    for j, percent in enumerate(percents):
        if percent is not None:
            yield f".partitions[{j}].sm_percent", f"is {percent:g}; {what} has no share: expected null"


def _no_instance(path: str, place: Place, sharing: str) -> Iterator[Wrong]:
    mig_profile, start = place
    kind = "under MPS" if sharing == "mps" else "that is used whole"
    if mig_profile is not None:
        yield f"{path}.mig_profile", f"is {mig_profile!r}; a GPU {kind} has no MIG instances: expected null"
    if start is not None:
        yield f"{path}.start", f"is {start}; a partition of a GPU {kind} has no start: expected null"


def _wrong_instances(facts: Gpu, places: Sequence[Place]) -> Iterator[Wrong]:
    if facts.mig is None:
        yield ".sharing", f"is 'mig', but {facts.name} has no MIG"
        return
    standing: list[tuple[int, int, MigProfile]] = []
    for j, (name, start) in enumerate(places):
        profile = facts.mig.profile(name or "")
        if profile is None:
            hint = closest(name or "", [known.name for known in facts.mig.profiles])
            yield f".partitions[{j}].mig_profile", f"is {name!r}; {facts.name} has no such profile. {hint}"
        elif start is None or start not in profile.starts:
            legal = ", ".join(map(str, profile.starts))
            yield f".partitions[{j}].start", f"is {'null' if start is None else start}; {name} may start at {legal}"
        else:
            standing.append((j, start, profile))
    yield from _overlapping(standing)
    yield from _too_many(facts.mig, [profile for _, _, profile in standing])


def _overlapping(standing: Sequence[tuple[int, int, MigProfile]]) -> Iterator[Wrong]:
    """Yields each instance that stands on what an earlier one has, with the first of those; in linear time."""
    holders: dict[int, tuple[int, int, MigProfile]] = {}
    for one in standing:
        j, start, profile = one
        units = range(start, start + profile.memory_slices)
        if taken := [holders[unit] for unit in units if unit in holders]:
            i, first, other = min(taken, key=lambda holder: holder[0])
            yield f".partitions[{j}]", f"({profile.name} at {start}) overlaps partitions[{i}] ({other.name} at {first})"
        for unit in units:
            holders.setdefault(unit, one)


def _too_many(geometry: MigGeometry, profiles: Sequence[MigProfile]) -> Iterator[Wrong]:
    """Yields of which of its limits a GPU gives away too much."""
    slices = sum(profile.compute_slices for profile in profiles)
    if slices > geometry.compute_slices:
        yield ".partitions", f"take {slices} compute slices; there are {geometry.compute_slices}"
    for profile, times in Counter(profile.name for profile in profiles).items():
        most = next(one.max_count for one in profiles if one.name == profile)
        if times > most:
            yield ".partitions", f"have {times} x {profile}; at most {most} fit"
    there = geometry.full.engines
    for engine in WHOLE_ENGINES if there is not None else ():
        taken, most = sum((one.engines or {}).get(engine, 0) for one in profiles), (there or {}).get(engine, 0)
        if taken > most:
            yield ".partitions", f"take {taken} {engine.upper()} engines; there are {most}"


def _wrong_contents(gpu: PlannedGpu, facts: Gpu | Cpu, partition: Partition, path: str) -> Iterator[Wrong]:
    """Yields what is wrong with what a partition serves."""
    if partition.duty_cycle_ms is not None and not partition.serves:
        yield f"{path}.duty_cycle_ms", f"is {partition.duty_cycle_ms:g}; nobody takes turns here: expected null"
    if partition.duty_cycle_ms is None and len(partition.serves) > 1:
        names = ", ".join(served.workload for served in partition.serves)
        message = f"has {len(partition.serves)} workloads ({names}); without a duty cycle a partition serves one"
        yield f"{path}.serves", message
    if partition.turns is not None and partition.duty_cycle_ms is None:
        yield f"{path}.turns", f"is {partition.turns!r}, but there is no duty cycle: expected null"
    in_turn = partition.serves if partition.duty_cycle_ms is not None else ()
    for name, times in Counter(served.workload for served in in_turn).items():
        if times > 1:
            yield f"{path}.serves", f"lists {name} {times} times; a workload has one turn a round"
    for k, served in enumerate(partition.serves):
        where = f"{path}.serves[{k}]"
        if gpu.sharing == "mps" and partition.sm_percent is not None and isinstance(facts, Gpu):
            yield from _too_small(facts, partition.sm_percent, served.processes, f"{path}.sm_percent")
        if served.memory_mib is not None and facts.memory_mib and served.memory_mib > facts.memory_mib:
            yield f"{where}.memory_mib", f"is {served.memory_mib:g}; {gpu.gpu} has {facts.memory_mib:g} MiB"


def _too_small(facts: Gpu, percent: float, processes: int, path: str) -> Iterator[Wrong]:
    """Yields that a share has fewer units of the SMs than processes."""
    if facts.mps_process_percent(percent, processes) == 0:
        unit = f"{facts.mps_unit_percent:.4g} % (2 SMs)"
        yield path, f"is {percent:g} %; {processes} processes take at least {unit} each"
