"""The digest by which a plan names the problem that it answers."""

import hashlib
import json
from weakref import ref

from .model.plan import ProblemReference
from .model.problem import Problem

_latest: list[tuple[ref[Problem], ProblemReference]] = []
"""The problems asked for last and their references, which take long for a large one and are asked for often."""

KEPT = 8
"""How many of them."""


def reference(problem: Problem) -> ProblemReference:
    """Returns the problem's name and the SHA-256 of its canonical JSON (sorted keys, no spaces, defaults filled in)."""
    for known, found in tuple(_latest):
        if known() is problem:  # the same object, which is immutable
            return found
    canonical = json.dumps(problem.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    found = ProblemReference(name=problem.name, sha256=hashlib.sha256(canonical.encode()).hexdigest())
    _latest[:] = [(ref(problem), found), *_latest[: KEPT - 1]]
    return found
