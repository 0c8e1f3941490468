"""What a plan's predictions rest on, in words: extrapolations beyond what was measured, and estimates."""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter

from ..model.interference import Interference
from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..model.problem import Problem, Sharing
from ..model.profile import Profile, merged
from ..model.rounding import RELATIVE


def caveats(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> Iterator[str]:
    """
    Yields a sentence for each service on a GPU whose prediction extrapolates, one for each estimated profile, and one
    for each kind of sharing that the fleet allows and nothing is known of.

    Parameters
    ----------
    profiles
        The profiles that the plan was made with; a later one wins over an earlier one of the same model and GPU.
    """
    by_key = merged(profiles)
    estimated: dict[tuple[str, str, str], None] = {}
    for gpu, partition, served, model, known in _predicted(problem, plan, by_key):
        if known.estimated_from:
            estimated[model, gpu.gpu, known.estimated_from] = None
        percent = partition.sm_percent or 100.0
        yield from _extrapolations(f"{served.workload} on {gpu.id}", known, served.batch, percent)
    yield from _planned_without(problem, by_key)
    for model, on, measured_on in estimated:
        yield f"{model} on {on} is estimated from {measured_on} by roofline ratios; it was not measured there"


def _predicted(
    problem: Problem, plan: Plan, by_key: Mapping[tuple[str, str], Profile]
) -> Iterator[tuple[PlannedGpu, Partition, Served, str, Interference]]:
    """Yields what is served outside of MIG at figures that were computed, with its model and the interference model."""
    apart = [gpu for gpu in plan.gpus if gpu.sharing != "mig"]
    model_of = {workload.name: workload.model for workload in problem.workloads} if apart else {}
    for gpu in apart:
        for partition in gpu.partitions:
            for served in partition.serves:
                profile = by_key.get((model_of.get(served.workload, ""), gpu.gpu))
                if profile is not None and profile.interference is not None and served.basis != "measured":
                    yield gpu, partition, served, profile.model, profile.interference


def _planned_without(problem: Problem, by_key: Mapping[tuple[str, str], Profile]) -> Iterator[str]:
    """Yields what the fleet allows and nothing is known of."""
    models = dict.fromkeys(map(attrgetter("model", "gpus"), problem.workloads))
    for entry in problem.fleet:
        asked = dict.fromkeys(model for model, gpus in models if gpus is None or entry.gpu in gpus)
        for sharing in entry.sharing:
            unknown = [model for model in asked if not _known(by_key.get((model, entry.gpu)), sharing)]
            if unknown:
                kind = {"mig": "under MIG", "mps": "under MPS", "exclusive": "used whole"}[sharing]
                yield f"nothing is known of {', '.join(unknown)} on {entry.gpu} {kind}: planned without"


def gravest_first(warnings: Iterable[str]) -> list[str]:
    """Returns a plan's warnings (`caveats`) in order of gravity: estimates, extrapolations, then what was left out."""
    return sorted(warnings, key=_gravity)


def _gravity(warning: str) -> int:
    # Plans carry the sentences and not what they are made of; these words are in the ones written above.
    return next((rank for rank, words in enumerate((" is estimated from ", " extrapolates;")) if words in warning), 2)


def _known(profile: Profile | None, sharing: Sharing) -> bool:
    if profile is None:
        return False
    if sharing == "mig":
        return bool(profile.mig_points or profile.curves)
    if sharing == "mps":
        return profile.interference is not None
    return profile.interference is not None or any(point.sm_percent == 100 for point in profile.share_points)


def _extrapolations(where: str, known: Interference, batch: int, percent: float) -> Iterator[str]:
    extent = known.measured
    if not extent.min_percent * (1 - RELATIVE) <= percent <= extent.max_percent * (1 + RELATIVE):
        yield (
            f"{where}: a share of {percent:g} % extrapolates; measured were {extent.min_percent:g} to "
            f"{extent.max_percent:g} %"
        )
    if not extent.min_batch <= batch <= extent.max_batch:
        yield f"{where}: a batch of {batch} extrapolates; measured were {extent.min_batch} to {extent.max_batch}"
