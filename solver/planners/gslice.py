"""
GSLICE+ as iGniter compares with it: self-tuning of share and batch, each workload for itself (GSLICE, SoCC 2020).

Workloads stand where iGniter puts them (IEEE TPDS 2023, sec. 5.1). From a share of 30 % and a batch of 1 all of them
are tuned together: with S the latency limit, l the latency, R the rate and h the throughput that the GPU shows,

    batch   S - l within (0, 10 %) of S: kept; else b grows or shrinks by |S - l| / l of itself, rounded up, 1 to the
            greatest batch size allowed
    share   latency and throughput both within (0, 10 %): kept; too slow: grows by max(|S - l| / l, |h - R| / h) of
            itself; fast enough in both: shrinks by as much; 1 % to 100 %

in 5 rounds of up to 5 batch steps and a share step, then up to 5 batch steps more. What the GPU shows comes from the
full interference model (the published runs measured a real one). No workload knows of the others, so
their shares may exceed the GPU: the plan then says so. Mended: a residual of exactly 0 does not set the share to 1 %
(published port); shares are rounded up to the GPU's granularity, and to the smallest that its hardware gives.
"""

from collections.abc import Sequence

import numpy as np

from ..allocation.allocated import MpsGpu, Resident
from ..model.plan import Plan
from ..model.problem import Sharing
from ..performance.fleet_types import FleetType
from ..performance.interference.prediction import Floats, Ints
from ..performance.mps_sharing import MpsType
from ..performance.resolve import ResolvedProblem
from .igniter import placed_by_igniter
from .planner import Planner
from .single_type import Placed, cheapest_single_type

START_PERCENT, START_BATCH = 30.0, 1
THRESHOLD = 0.10
ROUNDS, BATCH_STEPS = 5, 5


class Gslice(Planner):
    """GSLICE's tuning on iGniter's placement."""

    name = "gslice"
    source = "GSLICE (SoCC 2020) on iGniter's placement: GSLICE+ of iGniter (IEEE TPDS 2023), sec. 5.1"
    sharing: tuple[Sharing, ...] = ("mps",)
    own_rule = True
    own_model = True
    own_batches = True

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return cheapest_single_type(resolved, self.name, _place, self.sharing)


def _place(resolved: ResolvedProblem, entry: FleetType) -> Placed:
    mps = resolved.mps[entry.gpu.name]
    placed = placed_by_igniter(resolved, mps)
    hosts = [one for one in placed if isinstance(one, MpsGpu)]
    if len(hosts) < len(placed):
        return placed
    rate = _rates(resolved, hosts)
    width = max(len(one.residents) for one in hosts)
    workload = np.zeros((len(hosts), width), dtype=np.int64)
    here = np.zeros(workload.shape, dtype=bool)
    required = np.ones(workload.shape)
    for row, one in enumerate(hosts):
        for column, resident in enumerate(one.residents):
            workload[row, column], here[row, column] = resident.workload, True
            required[row, column] = rate[row][column]
    batch, percent = _tuned(resolved, mps, workload, here, required)
    return [
        MpsGpu(
            mps.gpu,
            tuple(
                Resident(resident.workload, int(batch[row, column]), float(percent[row, column]))
                for column, resident in enumerate(one.residents)
            ),
        )
        for row, one in enumerate(hosts)
    ]


def _rates(resolved: ResolvedProblem, hosts: Sequence[MpsGpu]) -> list[list[float]]:
    """Returns the rate of each resident: its part of the workload's, by the shares that iGniter gave."""
    total: dict[int, float] = {}
    for one in hosts:
        for resident in one.residents:
            total[resident.workload] = total.get(resident.workload, 0.0) + resident.percent
    required = resolved.required_rps
    return [[float(required[r.workload]) * r.percent / total[r.workload] for r in one.residents] for one in hosts]


def _tuned(
    resolved: ResolvedProblem, mps: MpsType, workload: Ints, here: np.ndarray, required: Floats
) -> tuple[Ints, Floats]:
    """Returns batch sizes and shares after the published schedule of steps; shape (GPU, resident)."""
    limit = resolved.limit_ms[workload]
    greatest = np.array([int(sizes[-1]) if len(sizes) else 1 for sizes in mps.batches])[workload]
    batch = np.where(here, START_BATCH, 1)
    percent = np.where(here, START_PERCENT, 0.0)
    for round_number in range(ROUNDS + 1):
        for _ in range(BATCH_STEPS):
            changed = _batch_step(mps, workload, batch, percent, limit, greatest)
            stable = np.array_equal(changed, batch)
            batch = changed
            if stable:
                break
        if round_number < ROUNDS:
            percent = _share_step(mps, workload, batch, percent, limit, required)
    units = np.where(here, np.minimum(mps.units_for(percent), round(100 / mps.unit_percent)), 0)
    allowed = np.array(
        [
            [_allowed(mps, int(w), int(b)) for w, b in zip(*row, strict=True)]
            for row in zip(workload, batch, strict=True)
        ]
    )
    return np.where(here, allowed, 1), mps.percent(units.astype(np.int64))


def _batch_step(mps: MpsType, workload: Ints, batch: Ints, percent: Floats, limit: Floats, greatest: Ints) -> Ints:
    latency = mps.model.predict(workload, batch, percent).latency_ms
    spare = np.where(percent > 0, limit - latency, 0.0)
    step = np.abs(spare) / np.maximum(latency, 1e-9) * batch
    moved = np.ceil(np.clip(np.where(spare > 0, batch + step, batch - step), 1, greatest)).astype(np.int64)
    kept = (percent <= 0) | ((spare > 0) & (spare < THRESHOLD * limit))
    return np.where(kept, batch, moved)


def _share_step(mps: MpsType, workload: Ints, batch: Ints, percent: Floats, limit: Floats, required: Floats) -> Floats:
    figures = mps.model.predict(workload, batch, percent)
    spare, surplus = limit - figures.latency_ms, figures.throughput_rps - required
    factor = np.maximum(
        np.abs(spare) / np.maximum(figures.latency_ms, 1e-9),
        np.abs(surplus) / np.maximum(figures.throughput_rps, 1e-9),
    )
    kept = (spare > 0) & (spare < THRESHOLD * limit) & (surplus > 0) & (surplus < THRESHOLD * required)
    short = (spare < 0) | (surplus < 0)
    moved = np.clip(np.where(short, percent * (1 + factor), percent * (1 - factor)), 1.0, 100.0)
    return np.asarray(np.where((percent <= 0) | kept, percent, moved), dtype=np.float64)


def _allowed(mps: MpsType, workload: int, batch: int) -> int:
    """Returns the greatest batch size allowed that is no greater; the least allowed one if there is none."""
    sizes = mps.batches[workload]
    if not len(sizes):
        return batch
    return int(sizes[max(int(np.searchsorted(sizes, batch, side="right")) - 1, 0)])


PLANNERS = (Gslice(),)
