"""
gpu-lets' interference of two neighbours on a GPU (USENIX ATC 2022, sec. 4.4), on measured solo latencies.

    t = t_solo(b, r) (1 + slowdown),    slowdown = max(0, c1 l + c2 l' + c3 d + c4 d' + c5)

l, d: use of the L2 cache and of the DRAM bandwidth when alone at that batch and share, in percent; primed: the
neighbour's. The paper measures utilisation at 100 % and scales it by the share; the data at hand have it at every
share. The model knows one neighbour: of several, the one that slows most counts (as in the paper's source).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...model.interference import NeighbourModel
from ...model.profile import MeasuredPoint, Profile
from ..fitting import fit_error
from .prediction import Floats, Ints, SharedPrediction

DIGITS = 7


@dataclass(frozen=True)
class Pair:
    """Two models side by side, the measured latency of a batch of each; shares in percent."""

    models: tuple[str, str]
    batches: tuple[int, int]
    percents: tuple[float, float]
    latencies_ms: tuple[float, float]


def fit_neighbours(profiles: Iterable[Profile], pairs: Sequence[Pair]) -> NeighbourModel:
    """
    Fits the five coefficients to pairs by least squares on the slowdown.

    `held_out` states the error on every fourth pair under a fit to the others (the pairs cycle through 5 shares),
    so that the error is not only that of points that the model has seen.

    Raises
    ------
    ValueError
        If fewer than 5 pairs have solo measurements of both models.
    """
    tables = {profile.model: _table(profile) for profile in profiles}
    rows = [row for pair in pairs for row in _rows(tables, pair)]
    if len(rows) < 10:
        raise ValueError(f"{len(rows) // 2} pairs have solo measurements of both models; expected at least 5")
    features, slowdown = (np.array(column) for column in zip(*rows, strict=True))
    coefficients = [float(f"{c:.{DIGITS}g}") for c in _least_squares(features, slowdown)]
    test = (np.arange(len(rows)) // 2) % 4 == 3
    held_out = _errors(_least_squares(features[~test], slowdown[~test]), features[test], slowdown[test])
    own_l2, other_l2, own_dram, other_dram, constant = coefficients
    return NeighbourModel(
        own_l2=own_l2,
        other_l2=other_l2,
        own_dram=own_dram,
        other_dram=other_dram,
        constant=constant,
        pairs=len(rows) // 2,
        error=fit_error(_errors(np.array(coefficients), features, slowdown)),
        held_out=fit_error(held_out) if len(held_out) else None,
    )


class NeighbourTables:
    """The model with the solo measurements of the workloads; an `InterferenceModel` for measured batches and shares."""

    def __init__(self, profiles: Sequence[Profile], neighbours: NeighbourModel) -> None:
        by_profile = {id(profile): _table(profile) for profile in profiles}
        self._tables = [by_profile[id(profile)] for profile in profiles]
        self._neighbours = neighbours

    def solo(self, workload: int, batch: int, percent: float) -> MeasuredPoint | None:
        """Returns what was measured of a workload alone; None: nothing at that batch and share."""
        return self._tables[workload].get((batch, percent))

    def percents(self, workload: int) -> list[float]:
        """Returns the shares at which a workload was measured, ascending."""
        return sorted({percent for _, percent in self._tables[workload]})

    def batches(self, workload: int, percent: float) -> list[int]:
        """Returns the batch sizes measured at a share, ascending."""
        return sorted(batch for batch, at in self._tables[workload] if at == percent)

    def slowdown(self, own: MeasuredPoint, other: MeasuredPoint) -> float:
        """Returns the relative growth of a latency beside a neighbour; 0 where utilisations are unknown."""
        return max(0.0, float(np.dot(_coefficients(self._neighbours), _features(own, other))))

    def predict(self, workload: Ints, batch: Ints, percent: Floats) -> SharedPrediction:
        """Arguments as for `InterferenceModel.predict`; raises KeyError where nothing was measured."""
        shape = percent.shape
        solo, extra, throughput = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for gpu in np.ndindex(shape[:-1]):
            points = {
                i: self._tables[workload[*gpu, i]][int(batch[*gpu, i]), float(percent[*gpu, i])]
                for i in range(shape[-1])
                if percent[*gpu, i] > 0
            }
            for i, own in points.items():
                slow = max((self.slowdown(own, other) for j, other in points.items() if j != i), default=0.0)
                solo[*gpu, i], extra[*gpu, i] = own.latency_ms, own.latency_ms * slow
                throughput[*gpu, i] = own.throughput_rps / (1 + slow)
        causes = {"alone": solo, "neighbour": extra}
        return SharedPrediction(solo + extra, throughput, causes, None, None)


def _table(profile: Profile) -> dict[tuple[int, float], MeasuredPoint]:
    return {(point.batch, point.sm_percent or 0.0): point for point in profile.share_points if point.processes == 1}


def _rows(tables: dict[str, dict[tuple[int, float], MeasuredPoint]], pair: Pair) -> list[tuple[list[float], float]]:
    """Returns features and slowdown of both sides of a pair; nothing if one side was not measured alone."""
    sides = [
        tables.get(model, {}).get((b, p)) for model, b, p in zip(pair.models, pair.batches, pair.percents, strict=True)
    ]
    if any(side is None or side.l2_percent is None or side.dram_percent is None for side in sides):
        return []
    one, two = (side for side in sides if side is not None)
    return [
        (_features(one, two), pair.latencies_ms[0] / one.latency_ms - 1),
        (_features(two, one), pair.latencies_ms[1] / two.latency_ms - 1),
    ]


def _features(own: MeasuredPoint, other: MeasuredPoint) -> list[float]:
    return [own.l2_percent or 0.0, other.l2_percent or 0.0, own.dram_percent or 0.0, other.dram_percent or 0.0, 1.0]


def _coefficients(model: NeighbourModel) -> list[float]:
    return [model.own_l2, model.other_l2, model.own_dram, model.other_dram, model.constant]


def _least_squares(features: Floats, slowdown: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(features, slowdown, rcond=None)[0], dtype=np.float64)


def _errors(coefficients: Floats, features: Floats, slowdown: Floats) -> Floats:
    """Returns |predicted / measured - 1| of the latency."""
    predicted = 1 + np.maximum(features @ coefficients, 0.0)
    return np.asarray(np.abs(predicted / (1 + slowdown) - 1), dtype=np.float64)
