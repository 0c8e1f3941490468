"""GPUs that serve what is asked for, known before a search for a plan that costs least."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..allocation.allocated import AllocatedGpu
from ..performance.resolve import ResolvedProblem


@dataclass(frozen=True, eq=False)
class KnownGpus:
    """GPUs that serve what is asked for, at no matter what cost."""

    build: Callable[[], Sequence[AllocatedGpu]] = list
    """Empty: none are known."""
    points: ResolvedProblem | None = None
    """Whose operating points they run; None: those of the problem that they serve."""


NOTHING = KnownGpus()
