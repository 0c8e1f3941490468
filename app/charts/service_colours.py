"""The colour of each service, the same in every picture of a plan: on the page, in the report, in a transition."""

from collections.abc import Iterable
from itertools import pairwise

from sliceplan.solver.model.plan import Plan

from .colours import kept_apart


def service_colours(names: Iterable[str], plan: Plan, also: Plan | None = None) -> dict[str, int]:
    """
    Returns the index of a colour of SERVICES for each service.

    With more services than colours, neighbours on a GPU of the plan differ.

    Parameters
    ----------
    names
        The services in the problem's order.
    also
        A plan with other services, which come after these; None: there is none.
    """
    others = (
        served.workload for gpu in (also.gpus if also else ()) for part in gpu.partitions for served in part.serves
    )
    beside = (
        (one.serves[0].workload, other.serves[0].workload)
        for gpu in plan.gpus
        for one, other in pairwise(sorted(gpu.partitions, key=lambda part: part.start or 0))
        if one.serves and other.serves
    )
    return kept_apart((*names, *others), beside)
