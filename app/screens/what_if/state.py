"""Where the session keeps what the user asks on the screen What-if."""

from dataclasses import dataclass

from sliceplan.app.session.deep_link import WHAT_IF
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.what_if.changes import fitting

CHANGES = WHAT_IF
ASKED = Kept["Asked"]("what_if.asked")

PURPOSE = "what_if"
"""Of the job that plans the changed problem."""


@dataclass(frozen=True)
class Asked:
    """Changes that a plan was asked for, and what they make of the problem."""

    base: Problem
    changes: WhatIf
    problem: Problem


def changes_of(session: Session, base: Problem) -> WhatIf:
    """Returns the present changes that suit a problem."""
    changes: WhatIf = CHANGES.of(session, WhatIf())
    return fitting(changes, base)


def set_changes(session: Session, changes: WhatIf) -> None:
    """Replaces the changes, and gives the sliders a fresh start so that they show them."""
    CHANGES.keep(session, changes)
    session.editor += 1
