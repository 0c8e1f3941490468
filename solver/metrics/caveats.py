"""What a plan's predictions rest on, in words: extrapolations beyond what was measured, and estimates."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter

from ..model.interference import Interference
from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..model.problem import Problem, Sharing
from ..model.profile import Profile
from .measured_extent import MeasuredExtent, beyond


class CaveatKind(IntEnum):
    """What a caveat is about; the gravest first."""

    ESTIMATED = 0
    """The profile was carried over from another GPU type."""
    UNDISTURBED = 1
    """Services share a GPU by MPS, and how they disturb each other is not known."""
    EXTRAPOLATED = 2
    """The operating point lies outside of what was measured."""
    PLANNED_WITHOUT = 3
    """The fleet allows a kind of sharing of which nothing is known for a model."""


@dataclass(frozen=True)
class Caveat:
    """One thing to know about a plan's predictions; plans carry its text."""

    kind: CaveatKind
    text: str


def caveats(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> list[Caveat]:
    """
    Returns one for each service on a GPU whose prediction extrapolates, one for each estimated profile, and one for
    each kind of sharing that the fleet allows and nothing is known of; in order of gravity.

    Parameters
    ----------
    profiles
        The profiles that the plan was made with; a later one wins over an earlier one of the same model and GPU.
    """
    by_key = problem.profiles_over(profiles)
    beyond_measured = []
    for gpu, partition, served, known in _predicted(problem, plan, by_key):
        extent = MeasuredExtent(
            (known.measured.min_batch, known.measured.max_batch),
            (known.measured.min_percent, known.measured.max_percent),
        )
        for one in beyond(extent, served.batch, partition.sm_percent or 100.0):
            text = f"{served.workload} on {gpu.id}: {one.figure} extrapolates; measured were {one.measured}"
            beyond_measured.append(Caveat(CaveatKind.EXTRAPOLATED, text))
    return [
        *(Caveat(CaveatKind.ESTIMATED, text) for text in _estimated(problem, plan, by_key)),
        *(Caveat(CaveatKind.UNDISTURBED, text) for text in _undisturbed(problem, plan, by_key)),
        *beyond_measured,
        *(Caveat(CaveatKind.PLANNED_WITHOUT, text) for text in _planned_without(problem, by_key)),
    ]


def _predicted(
    problem: Problem, plan: Plan, by_key: Mapping[tuple[str, str], Profile]
) -> Iterator[tuple[PlannedGpu, Partition, Served, Interference]]:
    """Yields what is served outside of MIG at figures that were computed, with the interference model."""
    apart = [gpu for gpu in plan.gpus if gpu.sharing != "mig"]
    model_of = {workload.name: workload.model for workload in problem.workloads} if apart else {}
    for gpu in apart:
        for partition in gpu.partitions:
            for served in partition.serves:
                profile = by_key.get((model_of.get(served.workload, ""), gpu.gpu))
                # Points at 100 % of the GPU win over the coefficients where it is used whole.
                is_computed = served.basis != "measured" and not (
                    gpu.sharing == "exclusive" and profile is not None and profile.has_whole_points
                )
                if profile is not None and profile.interference is not None and is_computed:
                    yield gpu, partition, served, profile.interference


def _estimated(problem: Problem, plan: Plan, by_key: Mapping[tuple[str, str], Profile]) -> list[str]:
    """Returns a line for each model on a GPU type whose figures were carried over from another type."""
    types = {gpu for (_, gpu), profile in by_key.items() if profile.quality == "estimated"}
    among = [gpu for gpu in plan.gpus if gpu.gpu in types]
    model_of = {workload.name: workload.model for workload in problem.workloads} if among else {}
    found: dict[tuple[str, str, str, float | None], None] = {}
    for gpu in among:
        for partition in gpu.partitions:
            for served in partition.serves:
                if served.basis == "estimated":
                    model = model_of.get(served.workload, "")
                    profile = by_key.get((model, gpu.gpu))
                    origin = None if profile is None else profile.estimate(gpu.sharing)
                    if origin is not None:
                        found[model, gpu.gpu, *origin] = None
    return [
        f"{model} on {on} is estimated from {measured_on} by roofline ratios"
        f"{f', {margin:.0%} added to its times' if margin else ''}; it was not measured there"
        for model, on, measured_on, margin in found
    ]


def _planned_without(problem: Problem, by_key: Mapping[tuple[str, str], Profile]) -> Iterator[str]:
    """Yields what the fleet allows and nothing is known of."""
    models = dict.fromkeys(map(attrgetter("model", "gpus"), problem.workloads))
    for entry in problem.fleet:
        asked = dict.fromkeys(model for model, gpus in models if gpus is None or entry.gpu in gpus)
        for sharing in entry.sharing:
            turns = problem.settings.turns != "none"
            unknown = [model for model in asked if not _known(by_key.get((model, entry.gpu)), sharing, turns)]
            if unknown:
                kind = {"mig": "under MIG", "mps": "under MPS", "exclusive": "used whole", "cores": "by cores"}[sharing]
                yield f"nothing is known of {', '.join(unknown)} on {entry.gpu} {kind}: planned without"


def _undisturbed(problem: Problem, plan: Plan, by_key: Mapping[tuple[str, str], Profile]) -> Iterator[str]:
    """Yields each model that stands beside others under MPS at the latency that it has alone, as no other is known."""
    if problem.settings.turns == "none":
        return
    model_of = {workload.name: workload.model for workload in problem.workloads}
    found: dict[tuple[str, str], None] = {}
    for gpu in plan.gpus:
        if gpu.sharing == "mps" and len(gpu.partitions) > 1:
            for served in (served for partition in gpu.partitions for served in partition.serves):
                key = (model_of.get(served.workload, ""), gpu.gpu)
                profile = by_key.get(key)
                if profile is not None and profile.interference is None and profile.neighbours is None:
                    found[key] = None
    for model, gpu_type in found:
        yield f"how neighbours slow {model} on {gpu_type} under MPS is not known: its latencies are those alone"


def _known(profile: Profile | None, sharing: Sharing, turns: bool) -> bool:
    if profile is None:
        return False
    if sharing == "cores":
        return bool(profile.core_points)
    if sharing == "mig":
        return bool(profile.mig_points or profile.curves)
    if sharing == "mps":
        return profile.interference is not None or (turns and bool(profile.share_points))
    return profile.interference is not None or any(point.sm_percent == 100 for point in profile.share_points)
