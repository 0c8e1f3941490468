"""What a screen keeps between its runs: a name in the session and the type of what stands there, said once each."""

from dataclasses import dataclass
from typing import Generic, TypeVar, cast, overload

from .session import Session

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Kept(Generic[T]):
    """One thing that was chosen or shown on a screen, and is there again on return and after a reload."""

    name: str
    """As `screen.what`; no two of the page have the same."""

    @overload
    def of(self, session: Session) -> T | None: ...

    @overload
    def of(self, session: Session, otherwise: D) -> T | D: ...

    def of(self, session: Session, otherwise: object = None) -> object:
        """Returns what is kept, or else what is given."""
        return session.choices.get(self.name, otherwise)

    def is_there(self, session: Session) -> bool:
        """Tells whether something is kept."""
        return self.name in session.choices

    def keep(self, session: Session, value: T) -> None:
        """Keeps it in place of what was there; it is never changed afterwards, so that a copy is a snapshot."""
        session.choices[self.name] = value

    def taken(self, session: Session) -> T | None:
        """Returns what was kept, which is forgotten; None: nothing was."""
        return cast("T | None", session.choices.pop(self.name, None))

    def forget(self, session: Session) -> None:
        """Keeps it no longer."""
        session.choices.pop(self.name, None)
