"""The profiles that a session plans with: those of the page, and over them those of its problem."""

from dataclasses import replace

from sliceplan.app.profiles.known import known_profiles
from sliceplan.solver.model.profile import Profile, merged

from .problem_state import state
from .session import Session


def profiles_of(session: Session) -> list[Profile]:
    """Returns them in the order in which a later one wins over an earlier one."""
    return [*known_profiles(), *session.tables.profiles]


def use_profiles(session: Session, added: list[Profile]) -> None:
    """Gives the problem more profiles of its own, over those that it has; undo takes them away again."""
    own = tuple(merged([*session.tables.profiles, *added]).values())
    state(session, replace(session.tables, profiles=own))


def drop_profile(session: Session, dropped: Profile) -> None:
    """Takes one of its own profiles from the problem; what the page knows of the model stays."""
    own = tuple(profile for profile in session.tables.profiles if profile is not dropped)
    state(session, replace(session.tables, profiles=own))
