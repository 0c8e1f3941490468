"""Which plan a session saved last, so that it is not offered to be saved again."""

from sliceplan.app.store.records import VersionKey
from sliceplan.solver.model.plan import Plan

from .kept import Kept

SAVED_PLAN = Kept[tuple[VersionKey, Plan]]("saved.plan")
"""Where the session keeps it, with the version that it is saved beside."""
