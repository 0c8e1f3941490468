"""GPUs under MPS that keep the SLOs of their residents by construction, over all coefficients that are accepted."""

import random
from dataclasses import dataclass

import numpy as np
from oracles import igniter_scalar

from problems.mps_draws import gpu_coefficients, model_coefficients
from sliceplan.solver.exact.mps.items import Item
from sliceplan.solver.model.interference import GpuCoefficients, ModelCoefficients
from sliceplan.solver.performance.interference.igniter import IgniterModel
from sliceplan.solver.performance.mps_sharing import MpsType


@dataclass(frozen=True)
class Occupied:
    """One GPU: its residents with batch sizes and units, and what they ask together."""

    members: tuple
    batches: tuple
    units: tuple
    power_w: float
    cache: float


@dataclass(frozen=True)
class Drawn:
    """A GPU type, its guests, and GPUs on which the SLOs of guests hold."""

    mps: MpsType
    items: tuple
    gpus: tuple


def drawn(seed, guests=6, gpus=12, capacity=20, usual=False, least=1):
    """
    Returns guests whose SLOs are what they achieve on some of the GPUs drawn, so that these GPUs hold.

    `usual`: with coefficients as published; `least`: units of the smallest share.
    """
    draw = random.Random(seed)
    while True:
        try:
            return _drawn(draw, guests, gpus, capacity, usual, least)
        except ValueError:  # refused, so not of what is accepted
            continue


def _drawn(draw, guests, gpus, capacity, usual, least):
    gpu = GpuCoefficients.model_validate(gpu_coefficients(random.Random(1) if usual else draw))
    kinds = [ModelCoefficients.model_validate(model_coefficients(draw)) for _ in range(2)]
    models = [draw.choice(kinds) for _ in range(guests)]
    unit = 100 / capacity
    loads = [model.active[0] * b * b + model.active[1] * b + model.active[2] for model in kinds for b in (1, 2, 4)]
    if min(loads) <= 0:
        raise ValueError("no time for some batch")
    drafts = []
    for _ in range(gpus):
        members = draw.sample(range(guests), k=draw.randint(1, min(guests, 4)))
        units = [least] * len(members)
        for _ in range(draw.randint(0, capacity - least * len(members))):
            units[draw.randrange(len(units))] += 1
        batches = [draw.choice((1, 2, 4)) for _ in members]
        drafts.append((members, batches, units))
    limit, rate = [1e-9] * guests, [1e9] * guests
    for members, batches, units in drafts:
        figures = _figures(gpu, models, members, batches, units, unit)
        for w, one in zip(members, figures, strict=True):
            if draw.random() < 0.6:
                limit[w] = max(limit[w], one.latency_ms)
                rate[w] = min(rate[w], one.throughput_rps * draw.choice((1.0, 0.7)))
    held = []
    for members, batches, units in drafts:
        figures = _figures(gpu, models, members, batches, units, unit)
        if all(
            one.latency_ms <= limit[w] and one.throughput_rps >= rate[w]
            for w, one in zip(members, figures, strict=True)
        ):
            rates = [
                1000 * b / _active(models[w], b, u * unit) for w, b, u in zip(members, batches, units, strict=True)
            ]
            power = sum(
                max(0.0, models[w].power_slope * r + models[w].power_offset_w)
                for w, r in zip(members, rates, strict=True)
            )
            cache = sum(
                max(0.0, models[w].cache_slope * r + models[w].cache_offset)
                for w, r in zip(members, rates, strict=True)
            )
            held.append(Occupied(tuple(members), tuple(batches), tuple(units), power, cache))
    items = tuple(Item("GPU", w, 1.0, limit[w], rate[w], (1, 2, 4), 0.0) for w in range(guests))
    every = np.ones(guests, dtype=bool)
    batches = tuple(np.array([1, 2, 4]) for _ in range(guests))
    mps = MpsType(
        "GPU",
        unit,
        capacity,
        48,
        1e9,
        IgniterModel.of(gpu, models),
        every,
        np.zeros(guests),
        batches,
        np.arange(guests),
        least_units=least,
    )
    return Drawn(mps, items, tuple(held))


def _active(model, batch, percent):
    k1, k2, k3, k4, k5 = model.active
    return (k1 * batch * batch + k2 * batch + k3) / (percent + k4) + k5


def _figures(gpu, models, members, batches, units, unit):
    residents = [(models[w], b, u * unit) for w, b, u in zip(members, batches, units, strict=True)]
    return igniter_scalar.predict(gpu, residents)
