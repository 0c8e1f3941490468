"""What a prediction rests on: a measured point, a fit to measurements, or an estimate from another GPU type."""

from collections.abc import Callable, Mapping
from functools import cache

from ..model.interference import Interference
from ..model.profile import Profile, Quality

BasisOf = Callable[[str, str, str | None, int, int], Quality | None]
"""Of a model on a GPU type, MIG profile or whole, with a batch and processes; None: nothing is known."""


def bases(profiles: Mapping[tuple[str, str], Profile]) -> BasisOf:
    """Returns what looks up what the predictions of MIG instances, whole GPUs and cores rest on."""

    @cache
    def measured(model: str, gpu: str) -> set[tuple[str | None, float | None, int, int]]:
        points = profiles[model, gpu].points
        return {(point.partition, point.sm_percent, point.batch, point.processes) for point in points}

    def basis_of(model: str, gpu: str, mig_profile: str | None, batch: int, processes: int) -> Quality | None:
        profile = profiles.get((model, gpu))
        if profile is None:
            return None
        estimate = profile.share_estimate if mig_profile is None else profile.mig_estimate
        if (mig_profile, None if mig_profile else 100, batch, processes) in measured(model, gpu):
            return "measured" if estimate is None else "estimated"
        if mig_profile is not None:
            return None if not profile.curves else "fitted" if estimate is None else "estimated"
        return None if profile.interference is None else basis_beside(profile.interference)

    return basis_of


def basis_beside(known: Interference) -> Quality:
    """Returns what a prediction by iGniter's coefficients rests on."""
    return "fitted" if known.estimated_from is None else "estimated"
