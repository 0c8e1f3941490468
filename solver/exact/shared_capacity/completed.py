"""Plans from contents that serve most services: the rest stands where it costs least, in place of the last ones."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...allocation.allocated import renumbered
from ...performance.resolve import ResolvedProblem
from .apart import Cheap
from .asked_rows import AskedRows
from .gpu_contents import Content, GpuContents
from .of_fleet import content_of

PART = 0.03
"""Of the time that is left, for one plan of the rest."""


def completed(
    resolved: ResolvedProblem, fleet: Sequence[GpuContents], contents: Sequence[Content], cheap: Cheap
) -> list[Content] | None:
    """
    Returns the plan with most of the contents, the first ones, that serves every rate; None: none was found.

    Parameters
    ----------
    contents
        The most valuable ones first; no two of a service that may have one replica only.
    """
    asked = AskedRows.of(resolved)
    if asked.are_met_by(contents):
        return list(contents)
    found = _with_rest(resolved, fleet, (), asked, cheap)
    if found is None:
        return None
    least, most = 0, len(contents)
    while least < most:
        middle = (least + most + 1) // 2
        plan = _with_rest(resolved, fleet, contents[:middle], asked, cheap)
        if plan is None:
            most = middle - 1
        else:
            least, found = middle, plan
    return found


def _with_rest(
    resolved: ResolvedProblem, fleet: Sequence[GpuContents], taken: Sequence[Content], asked: AskedRows, cheap: Cheap
) -> list[Content] | None:
    """Returns a plan of some contents, and of others for whom they do not serve; None: none was found."""
    stay = np.flatnonzero(~asked.served_whole(taken)).tolist()
    if not stay:
        return list(taken)
    used = Counter(one.gpu.gpu for one in taken)
    left = tuple(replace(entry, available=(entry.available or 0) - used[entry.gpu.name]) for entry in resolved.fleet)
    if not any(entry.available for entry in left):
        return None
    found = cheap(replace(resolved.restricted_to(stay), fleet=left), PART)
    if found is None:
        return None
    rest = [content_of(fleet, renumbered(gpu, stay)) for gpu in found]
    plan = [*taken, *(one for one in rest if one is not None)]
    there = Counter(one.gpu.gpu for one in plan)
    fits = all(there[entry.gpu.name] <= (entry.available or 0) for entry in resolved.fleet)
    return plan if fits and asked.are_met_by(plan) else None
