"""Who uses the page, and what they may do."""

from dataclasses import dataclass
from enum import StrEnum

from ...solver.model.errors import SliceplanError


class Role(StrEnum):
    """What somebody may do."""

    VIEWER = "viewer"
    """See everything, solve and sweep."""
    EDITOR = "editor"
    """Save, archive and restore as well."""


@dataclass(frozen=True)
class Identity:
    """Somebody who uses the page."""

    user: str
    """The name that the login gives, under which they save."""
    role: Role

    @property
    def may_save(self) -> bool:
        """Whether they may write to the store."""
        return self.role is Role.EDITOR


class NotAllowedError(SliceplanError):
    """Somebody asked for what their role does not allow."""


class LoginError(SliceplanError):
    """Nobody is logged in, or somebody who may not use the page; the message is for them to read."""


def editor(identity: Identity) -> str:
    """Returns the name to save under; raises NotAllowedError if the role is not enough."""
    if not identity.may_save:
        raise NotAllowedError(
            f"{identity.user} is a {identity.role}: saving, archiving and restoring take the role editor, which is "
            "given in the server's access file"
        )
    return identity.user
