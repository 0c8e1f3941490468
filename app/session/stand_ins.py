"""Services whose models nobody measured, which are planned as another model: what that is kept for is to say so."""

from collections.abc import Iterable
from dataclasses import dataclass

from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.shown_names import shown_name

from .kept import Kept
from .session import Session


@dataclass(frozen=True)
class StandIn:
    """A service that is planned as if it ran another model."""

    service: str
    """As people call it."""
    model: str
    """What it runs."""
    planned_as: str

    @property
    def words(self) -> str:
        """What is assumed, in words."""
        return f"{self.service} runs {self.model}, and is planned as {self.planned_as}"


STAND_INS = Kept[tuple[StandIn, ...]]("stand_ins.all")


def note_stand_ins(session: Session, found: Iterable[StandIn]) -> None:
    """Keeps those of the problem that is opened now; those of the one before are forgotten."""
    STAND_INS.keep(session, tuple(found))


def stand_ins_in(session: Session, problem: Problem) -> tuple[StandIn, ...]:
    """Returns those that a problem still has: a service that has got another model since is one no more."""
    models = {shown_name(one): one.model for one in problem.workloads}
    return tuple(one for one in STAND_INS.of(session, ()) if models.get(one.service) == one.planned_as)
