"""
From GPUs on which services take turns to a plan: figures beside the neighbours, rates, cost.

A service's latency is the longest beside any choice of one service of each other share, as `check` has it
(check/shares_in_turn.py). A round is as long as its planner made it, or as its turns take where that is longer.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product

import numpy as np

from ..model.plan import Bound, Partition, Plan, PlannedGpu, Search, Served
from ..model.profile import Quality
from ..performance.interference.solo_tables import SoloTable, SoloTables
from ..performance.resolve import ResolvedProblem
from .assembly import node_places, planned


@dataclass(frozen=True)
class Turn:
    """A service's turn of a round."""

    workload: int
    batch: int


@dataclass(frozen=True)
class Round:
    """A share of a GPU under MPS, and who takes turns on it."""

    percent: float
    turns: tuple[Turn, ...]
    duty_cycle_ms: float


@dataclass(frozen=True)
class RoundsGpu:
    """A GPU under MPS whose shares are rounds."""

    gpu: str
    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class _Figures:
    latency_ms: float
    causes_ms: dict[str, float]
    basis: Quality


def assemble_rounds(
    resolved: ResolvedProblem, gpus: Sequence[RoundsGpu], *, planner: str, bound: Bound, search: Search
) -> Plan:
    """
    Returns the plan of GPUs under MPS, numbered in their order.

    A workload's rate is split in proportion to what its turns carry; where they carry too little, each is asked for
    more than its capacity, which `check` finds.
    """
    figures = [_figures(resolved, gpu) for gpu in gpus]
    capacity: defaultdict[int, float] = defaultdict(float)
    for gpu, of_gpu in zip(gpus, figures, strict=True):
        for i, share in enumerate(gpu.rounds):
            for turn in share.turns:
                capacity[turn.workload] += 1000 * turn.batch / _round_ms(share, i, of_gpu)
    numbers = {name: count() for name in resolved.fleet_by_name}
    places = {entry.gpu: node_places(entry) for entry in resolved.problem.fleet}
    records = []
    for gpu, of_gpu in zip(gpus, figures, strict=True):
        node, index = next(places[gpu.gpu])
        records.append(
            PlannedGpu(
                id=f"{gpu.gpu}/{next(numbers[gpu.gpu])}",
                gpu=gpu.gpu,
                node=node,
                index=index,
                sharing="mps",
                partitions=tuple(_partition(resolved, gpu, i, of_gpu, capacity) for i in range(len(gpu.rounds))),
            )
        )
    return planned(resolved, tuple(records), planner=planner, bound=bound, search=search)


def _round_ms(share: Round, i: int, figures: Mapping[tuple[int, int], _Figures]) -> float:
    return max(share.duty_cycle_ms, sum(figures[i, k].latency_ms for k in range(len(share.turns))))


def _partition(
    resolved: ResolvedProblem,
    gpu: RoundsGpu,
    i: int,
    figures: Mapping[tuple[int, int], _Figures],
    capacity: Mapping[int, float],
) -> Partition:
    share = gpu.rounds[i]
    round_ms = _round_ms(share, i, figures)
    serves = []
    for k, turn in enumerate(share.turns):
        workload, of_it = resolved.problem.workloads[turn.workload], figures[i, k]
        own, required = 1000 * turn.batch / round_ms, float(resolved.required_rps[turn.workload])
        rate = required * own / capacity[turn.workload]
        enough = capacity[turn.workload] >= required * (1 - 1e-9)
        serves.append(
            Served(
                workload=workload.name,
                batch=turn.batch,
                processes=1,
                latency_ms=of_it.latency_ms,
                capacity_rps=own,
                rate_rps=min(rate, own) if enough else rate,
                basis=of_it.basis,
                causes_ms=of_it.causes_ms,
                memory_mib=_memory_mib(resolved, turn.workload, gpu.gpu),
            )
        )
    return Partition(
        mig_profile=None,
        start=None,
        sm_percent=share.percent,
        duty_cycle_ms=round_ms,
        serves=tuple(serves),
        turns="any" if resolved.problem.settings.turns == "any" else "fixed",
    )


def _memory_mib(resolved: ResolvedProblem, w: int, gpu: str) -> float | None:
    workload = resolved.problem.workloads[w]
    known = resolved.profiles[workload.model, gpu].interference
    return workload.memory_mib or (known.memory_mib if known else None)


def _figures(resolved: ResolvedProblem, gpu: RoundsGpu) -> dict[tuple[int, int], _Figures]:
    """Returns the worst figures of each turn, by its share and its place in the round."""
    workloads = resolved.problem.workloads
    models = {turn.workload: workloads[turn.workload].model for share in gpu.rounds for turn in share.turns}
    known = {w: resolved.profiles[model, gpu.gpu].interference for w, model in models.items()}
    together = list(product(*(range(len(share.turns)) for share in gpu.rounds)))
    chosen = [[share.turns[k] for share, k in zip(gpu.rounds, one, strict=True)] for one in together]
    number = {w: i for i, w in enumerate(models)}
    workload = np.array([[turn.workload for turn in one] for one in chosen], dtype=np.int64)
    batch = np.array([[turn.batch for turn in one] for one in chosen], dtype=np.int64)
    percent = np.broadcast_to(np.array([share.percent for share in gpu.rounds]), batch.shape)
    by_igniter = all(one is not None for one in known.values())
    if by_igniter:
        prediction = resolved.mps[gpu.gpu].model.predict(workload, batch, percent)
    else:
        tables = SoloTables([resolved.tables[model, gpu.gpu] for model in models.values()])
        own = np.vectorize(number.__getitem__, otypes=[np.int64])(workload)
        prediction = tables.predict(own, batch, percent)
    found: dict[tuple[int, int], _Figures] = {}
    for row, one in enumerate(together):
        for i, k in enumerate(one):
            latency_ms, before = float(prediction.latency_ms[row, i]), found.get((i, k))
            if before is None or latency_ms > before.latency_ms:
                causes = {cause: float(part[row, i]) for cause, part in prediction.causes_ms.items()}
                turn, share = gpu.rounds[i].turns[k], gpu.rounds[i].percent
                model = models[turn.workload]
                basis = (
                    resolved.profiles[model, gpu.gpu].basis("mps")
                    if by_igniter
                    else _basis(resolved.tables[model, gpu.gpu], turn.batch, share)
                )
                found[i, k] = _Figures(latency_ms, causes, basis)
    return found


def _basis(table: SoloTable, batch: int, share: float) -> Quality:
    point = table.at(batch, share)
    if point is None:
        raise RuntimeError(f"a planner uses a batch of {batch} on {share:g} %, of which nothing is known")
    return point.basis
