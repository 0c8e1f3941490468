"""
From GPUs under MPS on which services take turns to a plan: figures beside the neighbours, rates, cost.

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
from ..performance.interference.solo_tables import SoloPoint, alpha
from ..performance.resolve import ResolvedProblem
from ..performance.turns.turn_rule import TurnRule, turn_rule
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
    duty_cycle_ms: float | None
    """None: one service that runs back to back, by the rule of execution and iGniter's model."""


@dataclass(frozen=True)
class RoundsGpu:
    """A GPU under MPS whose shares are rounds."""

    gpu: str
    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class Split:
    """How the rate of a service is split among its turns."""

    required_rps: float
    promised_rps: float
    capacity_rps: float
    """Of all of them."""

    def rate_rps(self, promised_rps: float, capacity_rps: float) -> float:
        """
        Returns the rate of a turn, in proportion to what turns are promised.

        Or to their capacities where that is too little: then some are asked for more than what they carry, which
        `check` finds.
        """
        if self.promised_rps >= self.required_rps * (1 - 1e-9):
            return min(self.required_rps * promised_rps / self.promised_rps, promised_rps)
        return self.required_rps * capacity_rps / self.capacity_rps


@dataclass(frozen=True)
class _Figures:
    latency_ms: float
    causes_ms: dict[str, float]
    basis: Quality
    throughput_rps: float = 0.0
    """Of a service that runs back to back."""


@dataclass(frozen=True, eq=False)
class SharedRounds:
    """GPUs under MPS and what their turns achieve beside each other."""

    resolved: ResolvedProblem
    gpus: Sequence[RoundsGpu]
    rule: TurnRule
    figures: Sequence[Mapping[tuple[int, int], _Figures]]
    """Of each GPU, by share and place in its round."""

    @classmethod
    def of(cls, resolved: ResolvedProblem, gpus: Sequence[RoundsGpu]) -> "SharedRounds":
        """Returns the GPUs with their figures."""
        return cls(resolved, gpus, turn_rule(resolved.problem), [_figures(resolved, gpu) for gpu in gpus])

    def carried(self) -> tuple[dict[int, float], dict[int, float]]:
        """Returns what all turns of each workload are promised together, and their capacities."""
        promised: defaultdict[int, float] = defaultdict(float)
        capacity: defaultdict[int, float] = defaultdict(float)
        for gpu, figures in zip(self.gpus, self.figures, strict=True):
            for i, share in enumerate(gpu.rounds):
                for turn, carried in zip(share.turns, _carried(share, i, figures, self.rule), strict=True):
                    capacity[turn.workload] += 1000 * turn.batch / _round_ms(share, i, figures)
                    promised[turn.workload] += carried
        return dict(promised), dict(capacity)

    def partitions(self, number: int, split: Mapping[int, Split]) -> tuple[Partition, ...]:
        """Returns the shares of a GPU."""
        gpu = self.gpus[number]
        return tuple(self._partition(gpu, i, self.figures[number], split) for i in range(len(gpu.rounds)))

    def _partition(
        self, gpu: RoundsGpu, i: int, figures: Mapping[tuple[int, int], _Figures], split: Mapping[int, Split]
    ) -> Partition:
        share, settings = gpu.rounds[i], self.resolved.problem.settings
        round_ms = _round_ms(share, i, figures)
        serves = []
        for k, (turn, carried) in enumerate(zip(share.turns, _carried(share, i, figures, self.rule), strict=True)):
            of_it, own = figures[i, k], 1000 * turn.batch / round_ms
            serves.append(
                Served(
                    workload=self.resolved.problem.workloads[turn.workload].name,
                    batch=turn.batch,
                    processes=1,
                    latency_ms=of_it.latency_ms,
                    capacity_rps=own,
                    rate_rps=split[turn.workload].rate_rps(carried, own),
                    basis=of_it.basis,
                    causes_ms=of_it.causes_ms,
                    memory_mib=_memory_mib(self.resolved, turn.workload, gpu.gpu),
                    promised_rps=None if settings.latency == "execution" else carried,
                )
            )
        return Partition(
            mig_profile=None,
            start=None,
            sm_percent=share.percent,
            duty_cycle_ms=None if share.duty_cycle_ms is None else round_ms,
            serves=tuple(serves),
            turns=None if share.duty_cycle_ms is None else "any" if settings.turns == "any" else "fixed",
        )


def assemble_rounds(
    resolved: ResolvedProblem, gpus: Sequence[RoundsGpu], *, planner: str, bound: Bound, search: Search
) -> Plan:
    """Returns the plan of GPUs under MPS, numbered in their order."""
    shared = SharedRounds.of(resolved, gpus)
    promised, capacity = shared.carried()
    split = {w: Split(float(resolved.required_rps[w]), promised[w], own) for w, own in capacity.items()}
    numbers = {name: count() for name in resolved.fleet_by_name}
    places = {entry.gpu: node_places(entry) for entry in resolved.problem.fleet}
    records = []
    for i, gpu in enumerate(gpus):
        node, index = next(places[gpu.gpu])
        records.append(
            PlannedGpu(
                id=f"{gpu.gpu}/{next(numbers[gpu.gpu])}",
                gpu=gpu.gpu,
                node=node,
                index=index,
                sharing="mps",
                partitions=shared.partitions(i, split),
            )
        )
    return planned(resolved, tuple(records), planner=planner, bound=bound, search=search)


def _carried(share: Round, i: int, figures: Mapping[tuple[int, int], _Figures], rule: TurnRule) -> list[float]:
    """Returns what each turn of a share is promised; by execution its capacity, in time or not."""
    latency_ms = np.array([figures[i, k].latency_ms for k in range(len(share.turns))])
    batch = np.array([turn.batch for turn in share.turns], dtype=np.int64)
    round_ms = np.full(latency_ms.shape, _round_ms(share, i, figures))
    if rule.quantile is None:
        return [float(rps) for rps in 1000 * batch / round_ms]
    executed_ms = latency_ms if rule.slots_kept else np.full(latency_ms.shape, latency_ms.sum())
    who = np.array([turn.workload for turn in share.turns], dtype=np.int64)
    return [float(rps) for rps in rule.carried_rps(who, batch, executed_ms, round_ms)]


def _round_ms(share: Round, i: int, figures: Mapping[tuple[int, int], _Figures]) -> float:
    """Returns the length of a round; of a service back to back, after how long the next batch is executed."""
    if share.duty_cycle_ms is None:
        return 1000 * share.turns[0].batch / figures[i, 0].throughput_rps
    return max(share.duty_cycle_ms, sum(figures[i, k].latency_ms for k in range(len(share.turns))))


def _memory_mib(resolved: ResolvedProblem, w: int, gpu: str) -> float | None:
    workload = resolved.problem.workloads[w]
    known = resolved.profiles[workload.model, gpu].interference
    return workload.memory_mib or (known.memory_mib if known else None)


def _figures(resolved: ResolvedProblem, gpu: RoundsGpu) -> dict[tuple[int, int], _Figures]:
    """Returns the worst figures of each turn, by its share and its place in the round."""
    workloads = resolved.problem.workloads
    models = {turn.workload: workloads[turn.workload].model for share in gpu.rounds for turn in share.turns}
    if all(resolved.profiles[model, gpu.gpu].interference is not None for model in models.values()):
        return _by_igniter(resolved, gpu, models)
    return _by_tables(resolved, gpu, models)


def _by_igniter(
    resolved: ResolvedProblem, gpu: RoundsGpu, models: Mapping[int, str]
) -> dict[tuple[int, int], _Figures]:
    """Tries all choices of who runs at once."""
    together = list(product(*(range(len(share.turns)) for share in gpu.rounds)))
    chosen = [[share.turns[k] for share, k in zip(gpu.rounds, one, strict=True)] for one in together]
    workload = np.array([[turn.workload for turn in one] for one in chosen], dtype=np.int64)
    batch = np.array([[turn.batch for turn in one] for one in chosen], dtype=np.int64)
    percent = np.broadcast_to(np.array([share.percent for share in gpu.rounds]), batch.shape)
    prediction = resolved.mps[gpu.gpu].model.predict(workload, batch, percent)
    found: dict[tuple[int, int], _Figures] = {}
    for row, one in enumerate(together):
        for i, k in enumerate(one):
            latency_ms, before = float(prediction.latency_ms[row, i]), found.get((i, k))
            if before is None or latency_ms > before.latency_ms:
                causes = {cause: float(part[row, i]) for cause, part in prediction.causes_ms.items()}
                basis = resolved.profiles[models[gpu.rounds[i].turns[k].workload], gpu.gpu].basis("mps")
                found[i, k] = _Figures(latency_ms, causes, basis, float(prediction.throughput_rps[row, i]))
    return found


def _by_tables(resolved: ResolvedProblem, gpu: RoundsGpu, models: Mapping[int, str]) -> dict[tuple[int, int], _Figures]:
    """A slowdown is the worst by any one neighbour, so each turn of the other shares is looked at by itself."""
    alone = {
        (i, k): _point(resolved, gpu.gpu, models[turn.workload], turn.batch, share.percent)
        for i, share in enumerate(gpu.rounds)
        for k, turn in enumerate(share.turns)
    }
    found = {}
    for (i, k), own in alone.items():
        table = resolved.tables[models[gpu.rounds[i].turns[k].workload], gpu.gpu]
        others = [other for (j, _), other in alone.items() if j != i] if table.neighbours is not None else []
        latency_ms = own.latency_ms * alpha(table.neighbours, own, others)
        causes = {"alone": own.latency_ms, "neighbour": latency_ms - own.latency_ms}
        found[i, k] = _Figures(latency_ms, causes, own.basis)
    return found


def _point(resolved: ResolvedProblem, gpu: str, model: str, batch: int, percent: float) -> SoloPoint:
    point = resolved.tables[model, gpu].at(batch, percent)
    if point is None:
        raise RuntimeError(f"a planner uses a batch of {batch} on {percent:g} %, of which nothing is known")
    return point
