"""The contents of all GPU types of a fleet, each in every way in which it may be shared."""

from collections.abc import Sequence

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from .cut_gpus import CutGpus
from .figures import Figures
from .gpu_contents import Content, Counted, GpuContents
from .shared_gpus import SharedGpus


def contents_of_fleet(resolved: ResolvedProblem, weights: Floats) -> list[GpuContents]:
    """Returns them; a type that may be both cut and shared by MPS has contents of both kinds."""
    counted = Counted(weights, resolved.required_rps)
    found: list[GpuContents] = [SharedGpus(Figures.of(resolved, mps, counted)) for mps in resolved.mps.values()]
    cut = [CutGpus.of_type(resolved, entry, counted) for entry in resolved.fleet]
    return [*found, *(one for one in cut if one.cuts)]


def content_of(fleet: Sequence[GpuContents], gpu: AllocatedGpu) -> Content | None:
    """Returns what a GPU carries, without those too slow or with less than they have to carry; None: nobody is."""
    return next((content for own in fleet if (content := own.of(gpu)) is not None), None)


def more_of_all(
    fleet: Sequence[GpuContents], plan: Sequence[Content], weights: Floats, required: Floats
) -> list[Content]:
    """Returns a plan whose contents carry more, one after the other; rates are kept by all together."""
    found = list(plan)
    n = len(weights)
    carried = sum((one.rates(n) for one in found), np.zeros(n))
    for i, content in enumerate(found):
        others = carried - content.rates(n)
        own = next(own for own in fleet if own.has(content))
        better = own.grown(content, weights, np.maximum(required - others, 0.0) * (1 - 1e-12))
        carried = others + better.rates(n)
        found[i] = better
    return found
