"""Services that ask for GPUs of a type, and which residents carry so much of their rates."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from ...performance.interference.beside_neighbours import Promise
from ...performance.interference.prediction import Floats, Ints
from .promised_rates import slowest_ms
from .resident_points import ResidentPoints


@dataclass(frozen=True, eq=False)
class Asking:
    """Services that ask for GPUs of a type, in order of their kinds; arrays have shape (service,)."""

    workload: Ints
    """The number by which the type knows it."""
    number: Floats
    """How many there are of it."""
    enough: Floats
    """What it costs elsewhere, in GPUs: to be dealt more brings nothing; inf: it can be nowhere else."""
    limit_ms: Floats
    rate_rps: Floats
    whole: np.ndarray
    """Whether it may not be split."""
    promise: Promise | None = None
    """What they ask of requests that wait; None: execution in time."""

    def of(self, rows: Ints) -> "Asking":
        """Returns some of them."""
        own = {field.name: getattr(self, field.name)[rows] for field in fields(self) if field.name != "promise"}
        return replace(self, **own, promise=None if self.promise is None else self.promise.of(rows))


def carrying(points: ResidentPoints, asking: Asking, parts: int = 1) -> Iterator[np.ndarray]:
    """Yields for each service of the kind which points carry an equal part of its rate: (box, batch size, units)."""
    part_rps = asking.rate_rps / parts
    if asking.promise is None:
        for limit, rate in zip(asking.limit_ms.tolist(), part_rps.tolist(), strict=True):
            yield (points.latency_ms <= limit) & (points.throughput_rps >= rate)
        return
    slowest = slowest_ms(asking.promise, points.batch, part_rps)
    for limit, longest in zip(asking.limit_ms.tolist(), slowest, strict=True):
        yield (points.latency_ms <= limit) & (points.time_ms <= longest[:, None])
