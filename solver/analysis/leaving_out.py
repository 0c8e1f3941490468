"""
Which services to leave out at least value, so that the rest fits a fixed fleet.

max sum_w value_w s_w over the constraints of the cutting stock (exact/shedding/most_valuable.py), by branch and bound
with its dual bound; where what a service's partitions carry is no sum, by exact/shedding/valuable_sets.py.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..performance.latency_rules.server_sets import is_by_set
from ..performance.resolve import ResolvedProblem
from ..performance.unservable import unservable
from ..planners.igniter import placed_on_each
from ..runtime.interruption import offer
from ..runtime.progress import report
from .known_gpus import NOTHING, KnownGpus

if TYPE_CHECKING:
    from ..exact.shedding.most_valuable import MostValuable


@dataclass(frozen=True, eq=False)
class LeastShed:
    """The workloads to leave out, and the proven least value that any choice loses."""

    left_out: list[int]
    least: float
    gpus: KnownGpus = NOTHING
    """For the others, numbered without those that are left out."""


def everything_shed(resolved: ResolvedProblem) -> LeastShed:
    """Returns the choice that fits any fleet, and the value of the workloads that nothing can serve."""
    hopeless = {item.workload for item in unservable(resolved)}
    workloads = resolved.problem.workloads
    return LeastShed(list(range(len(workloads))), sum(w.worth for w in workloads if w.name in hopeless))


def least_value_to_shed(resolved: ResolvedProblem, *, time_limit_s: float) -> LeastShed:
    """Returns the workloads to leave out at least value; offers the best choice so far."""
    from ..exact.shedding.most_valuable import most_valuable  # within the search, as it takes long to load
    from ..exact.shedding.valuable_sets import most_valuable_sets

    workloads = resolved.problem.workloads
    hopeless = {item.workload for item in unservable(resolved)}
    kept = [w for w, workload in enumerate(workloads) if workload.name not in hopeless]
    lost = [w for w, workload in enumerate(workloads) if workload.name in hopeless]
    sure = sum(workloads[w].worth for w in lost)
    if not kept:
        return LeastShed(lost, sure)
    total = sum(workloads[w].worth for w in kept)

    def answer(found: "MostValuable") -> LeastShed:
        served = {kept[i] for i in found.served}
        left_out = [w for w in range(len(workloads)) if w not in served]
        return LeastShed(left_out, sure + max(0.0, total - found.most), KnownGpus(found.gpus, found.points))

    servable = resolved.restricted_to(kept)

    def offered(found: "MostValuable") -> None:
        report(f"shed: {len(found.served)} of {len(workloads)} services fit so far")
        offer(lambda _: answer(found))

    find = most_valuable_sets if is_by_set(resolved.problem.settings) else most_valuable
    found = find(
        servable,
        known=placed_on_each(servable),
        on_answer=offered,
        time_limit_s=time_limit_s,
    )
    return answer(found)
