"""The digest by which a plan names the problem that it answers."""

import hashlib
import json

from .model.plan import ProblemReference
from .model.problem import Problem


def reference(problem: Problem) -> ProblemReference:
    """Returns the problem's name and the SHA-256 of its canonical JSON (sorted keys, no spaces, defaults filled in)."""
    canonical = json.dumps(problem.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return ProblemReference(name=problem.name, sha256=hashlib.sha256(canonical.encode()).hexdigest())
