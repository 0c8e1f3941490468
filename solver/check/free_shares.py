"""
Shares of GPUs under MPS that are kept free: what they take over, and what a service carries that takes one for itself.

A share is no instance: processes begin with any shares that add up to what is free. So what ran on a GPU that is lost
moves as a whole, to a GPU that serves nothing and keeps as much free: its services have the neighbours there that they
had, and every latency is what it was. A service that needs more rate takes a free share as it is, at its best operating
point there or in a round of its own, where it disturbs nobody: on a GPU of which it has the only share and which serves
nothing, or anywhere if no profile says that services on this GPU type slow each other. It has that part of the GPU's
memory that its share is, which those who are served have to leave.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..model.catalogue import load_catalogue
from ..model.hardware import Gpu
from ..model.interference import Interference
from ..model.plan import Plan, PlannedGpu
from ..model.problem import Problem, Workload
from ..model.profile import Profile
from ..performance.interference.residents import Resident, predict_each
from ..performance.interference.solo_tables import SoloTable
from .latency import OnPartitions, execution_may_take_ms, promised_rps
from .turns import percentile_rps
from .violation import RELATIVE, Violation

Profiles = Mapping[tuple[str, str], Profile]
"""By model and GPU type."""

Share = tuple[str, str]
"""GPU type, and the share as "40 %"."""


def share_of(gpu: str, percent: float) -> Share:
    """Returns what free shares are counted by."""
    return gpu, f"{percent:.9g} %"


def unmet_share_losses(plan: Plan) -> Iterator[Violation]:
    """Yields each GPU under MPS for which no other one is kept free as a whole."""
    shared = [gpu for gpu in plan.gpus if gpu.sharing == "mps"]
    kept = [(gpu, _percent(gpu, serves=False)) for gpu in shared if not _percent(gpu, serves=True)]
    for gpu in shared:
        used = _percent(gpu, serves=True)
        if used and not any(one.gpu == gpu.gpu and free >= used * (1 - RELATIVE) for one, free in kept):
            message = (
                f"if it is lost, {used:g} % of a {gpu.gpu} need a place; no other one serves nothing and keeps that"
            )
            yield Violation(gpu.id, f"{message} free")


def free_shares(problem: Problem, plan: Plan, profiles: Profiles) -> Counter[Share]:
    """Returns the shares of a plan that services may take for themselves."""
    free: Counter[Share] = Counter()
    slows = {gpu.gpu: _slows(problem, gpu.gpu, profiles) for gpu in plan.gpus if gpu.sharing == "mps"}
    for gpu in (one for one in plan.gpus if one.sharing == "mps" and _percent(one, serves=False)):
        is_alone = len(gpu.partitions) == 1
        if is_alone or (not slows[gpu.gpu] and _leaves_memory(problem, gpu)):
            free += Counter(share_of(gpu.gpu, one.sm_percent or 0.0) for one in gpu.partitions if not one.serves)
    return free


def share_rps(problem: Problem, workload: Workload, share: Share, profiles: Profiles) -> float:
    """Returns the greatest rate of a workload that has a share of a GPU for itself; every batch size is tried."""
    gpu, percent = share[0], float(share[1].removesuffix(" %"))
    profile, facts = profiles.get((workload.model, gpu)), load_catalogue()[gpu]
    if profile is None or (workload.gpus is not None and gpu not in workload.gpus):
        return 0.0
    needed = workload.memory_mib or (profile.interference.memory_mib if profile.interference else None) or 0.0
    if needed > _part_of_memory(problem, facts, percent) * (1 + RELATIVE):
        return 0.0
    known = profile.interference
    every = _by_igniter(known, workload, percent) if known is not None else _by_table(profile, workload, percent)
    if problem.settings.turns == "none" and problem.settings.latency != "execution":
        return _promised(problem, workload, list(every))
    return max((_carried(problem, workload, *one) for one in every), default=0.0)


def _by_igniter(known: Interference, workload: Workload, percent: float) -> Iterator[tuple[int, float, float]]:
    """Yields batch, ms and requests/s of a workload alone on its GPU."""
    extent = known.measured
    sizes = [
        batch
        for batch in workload.batch_sizes or range(extent.min_batch, extent.max_batch + 1)
        if extent.min_batch <= batch <= extent.max_batch
    ]
    figures = predict_each([[Resident(known, batch, percent)] for batch in sizes])
    for batch, one in zip(sizes, figures, strict=True):
        yield batch, float(one.latency_ms[0]), float(one.throughput_rps[0])


def _by_table(profile: Profile, workload: Workload, percent: float) -> Iterator[tuple[int, float, float]]:
    for batch, share, latency_ms in SoloTable.of(profile).points(workload.batch_sizes):
        if abs(share - percent) <= RELATIVE * percent:
            yield batch, latency_ms, 1000 * batch / latency_ms


def _carried(problem: Problem, workload: Workload, batch: int, latency_ms: float, rps: float) -> float:
    """Returns what an operating point carries: back to back by execution, of a percentile in a round of its own."""
    settings, slo_ms = problem.settings, workload.slo_ms
    if settings.latency == "execution":
        return rps if latency_ms <= execution_may_take_ms(settings, slo_ms) * (1 + RELATIVE) else 0.0
    quantile = settings.quantile if workload.slo_quantile is None else workload.slo_quantile
    if 2 * latency_ms > slo_ms * (1 + RELATIVE):
        return 0.0
    return percentile_rps(batch, latency_ms, slo_ms - latency_ms, quantile)


def _promised(problem: Problem, workload: Workload, every: Sequence[tuple[int, float, float]]) -> float:
    """Returns what operating points carry at most where nobody takes turns, by the rule of the problem."""
    settings = problem.settings
    quantile = settings.quantile if workload.slo_quantile is None else workload.slo_quantile
    batch, latency_ms, rps = np.array(every, dtype=np.float64).reshape(-1, 3).T
    asked = (workload.slo_ms, quantile, workload.rate_rps * (1 + settings.headroom))
    same = (np.full(batch.shape, float(one)) for one in asked)
    points = OnPartitions(batch, np.ones(batch.shape), latency_ms, rps, *same)
    return float(promised_rps(settings, points).max(initial=0.0))


def _slows(problem: Problem, gpu: str, profiles: Profiles) -> bool:
    """Tells whether a profile of the problem's services says that neighbours matter on a GPU type."""
    own = (profiles.get((one.model, gpu)) for one in problem.workloads)
    return any(one.interference is not None or one.neighbours is not None for one in own if one is not None)


def _leaves_memory(problem: Problem, gpu: PlannedGpu) -> bool:
    """Tells whether those who are served leave free shares the memory that is theirs."""
    facts, free = load_catalogue()[gpu.gpu], _percent(gpu, serves=False)
    needed = sum(served.memory_mib or 0.0 for partition in gpu.partitions for served in partition.serves)
    there = facts.memory_mib / _standby(problem) - _part_of_memory(problem, facts, free)
    return needed <= there * (1 + RELATIVE)


def _part_of_memory(problem: Problem, facts: Gpu, percent: float) -> float:
    return facts.memory_mib * percent / (100 - problem.settings.shadow_percent) / _standby(problem)


def _standby(problem: Problem) -> int:
    return 2 if problem.settings.shadow_percent else 1


def _percent(gpu: PlannedGpu, *, serves: bool) -> float:
    return sum(one.sm_percent or 0.0 for one in gpu.partitions if bool(one.serves) is serves)
