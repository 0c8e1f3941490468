"""What free partitions are kept for, and how many that takes (spare_capacity.py says why); needs no solver."""

from dataclasses import dataclass

import numpy as np

from ...model.problem import Settings
from ...performance.interference.prediction import Ints


@dataclass(frozen=True)
class SpareRules:
    """What free partitions are kept for."""

    services: int
    """Gamma: services that need more rate at once; 0: none."""
    rate: float
    """x: how much more, as a part of their rate."""
    gpu_loss: bool
    """Whether any one GPU may be lost."""


def spare_rules(settings: Settings) -> SpareRules | None:
    """Returns what a problem asks for; None: nothing."""
    services = settings.spare_services if settings.spare_rate > 0 else 0
    if not services and not settings.spare_gpu_loss:
        return None
    return SpareRules(services, settings.spare_rate, settings.spare_gpu_loss)


@dataclass(frozen=True, eq=False)
class KeptFree:
    """Partitions that are kept free. Shapes (workload, size) and (size,)."""

    extra: Ints
    """e: what each service would take of them if it needed more rate."""
    free: Ints
    """F"""


def worst_case(extra: Ints, services: int) -> Ints:
    """Returns the greatest sum of e_wk over any Gamma services, shape (size,)."""
    return np.asarray(np.sort(extra, axis=0)[::-1][:services].sum(axis=0), dtype=np.int64)
