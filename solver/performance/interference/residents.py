"""iGniter's figures of many GPUs at once, whose residents are given one by one."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model.interference import GpuCoefficients, Interference, ModelCoefficients
from .igniter import IgniterModel
from .prediction import SharedPrediction


@dataclass(frozen=True, slots=True)
class Resident:
    """A service on a GPU: its coefficients, its batch size and its share of the SMs in percent."""

    coefficients: Interference
    batch: int
    percent: float


def predict_each(gpus: Sequence[Sequence[Resident]]) -> list[SharedPrediction]:
    """
    Returns what the residents of each GPU achieve beside one another; arrays of shape (resident,), and () of the GPU.

    Each GPU has a resident, and the coefficients of the GPU are those of its first. GPUs with the same and as many
    residents are one call of the model, so that a sum over residents is taken as for a GPU alone.
    """
    alike: defaultdict[tuple[GpuCoefficients, int], list[int]] = defaultdict(list)
    for number, residents in enumerate(gpus):
        alike[residents[0].coefficients.gpu, len(residents)].append(number)
    found: dict[int, SharedPrediction] = {}
    for (gpu, count), numbers in alike.items():
        everyone = [resident for number in numbers for resident in gpus[number]]
        place: dict[int, int] = {}
        models: list[ModelCoefficients] = []
        for resident in everyone:
            model = resident.coefficients.model
            if id(model) not in place:
                place[id(model)] = len(models)
                models.append(model)
        shape = (len(numbers), count)
        figures = IgniterModel.of(gpu, models).predict(
            np.array([place[id(resident.coefficients.model)] for resident in everyone]).reshape(shape),
            np.array([resident.batch for resident in everyone], dtype=np.int64).reshape(shape),
            np.array([resident.percent for resident in everyone], dtype=np.float64).reshape(shape),
        )
        found |= {number: _of_one(figures, row) for row, number in enumerate(numbers)}
    return [found[number] for number in range(len(gpus))]


def _of_one(figures: SharedPrediction, row: int) -> SharedPrediction:
    return SharedPrediction(
        figures.latency_ms[row],
        figures.throughput_rps[row],
        {cause: part[row] for cause, part in figures.causes_ms.items()},
        None if figures.frequency_mhz is None else figures.frequency_mhz[row],
        None if figures.power_w is None else figures.power_w[row],
    )
