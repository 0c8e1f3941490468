"""The profiles that a session plans with: those of the page, and over them those of its problem."""

from dataclasses import replace

from sliceplan.app.profiles.estimating import sharing_for
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.tables.problem import typed, ways_in
from sliceplan.solver.model.profile import Profile, merged
from sliceplan.solver.wording.sharing_words import sharing_in_words

from .problem_state import state
from .session import Session


def profiles_of(session: Session) -> list[Profile]:
    """Returns them in the order in which a later one wins over an earlier one."""
    return [*known_profiles(), *session.tables.profiles]


def use_profiles(session: Session, added: list[Profile]) -> None:
    """Gives the problem more profiles of its own, over those that it has; undo takes them away again."""
    own = tuple(merged([*session.tables.profiles, *added]).values())
    state(session, replace(session.tables, profiles=own))


def use_estimates(session: Session, gpu: str, made: list[Profile]) -> None:
    """Gives the problem estimates for a GPU type, and that way to use it of which they speak; one undo takes both."""
    own = tuple(merged([*session.tables.profiles, *made]).values())
    fleet = session.tables.fleet.copy()
    rows = fleet["gpu"] == gpu
    fleet.loc[rows, "sharing"] = [
        sharing_in_words(sharing_for(ways_in(text), made)) for text in fleet.loc[rows, "sharing"]
    ]
    state(session, replace(session.tables, fleet=typed(fleet), profiles=own))
    session.editor += 1


def drop_profile(session: Session, dropped: Profile) -> None:
    """Takes one of its own profiles from the problem; what the page knows of the model stays."""
    own = tuple(profile for profile in session.tables.profiles if profile is not dropped)
    state(session, replace(session.tables, profiles=own))
