"""What is said when somebody saved in between: both sides against the version that they share."""

from dataclasses import dataclass

from ...solver.differences.change import Change
from ...solver.differences.merging import Contest, contests_of
from ...solver.differences.problems import changes
from ...solver.differences.wording import describe_changes, describe_contests
from ...solver.model.problem import Problem
from .errors import StoreError
from .records import Version


@dataclass(frozen=True)
class Conflict:
    """Two edits of one version; `merged` (solver/differences/merging.py) makes one problem of the three."""

    base: Version
    """The version that both were edited from."""
    theirs: Version
    """The latest version now; others may stand between."""
    base_problem: Problem
    their_problem: Problem
    mine: Problem
    """What was to be saved; it is in no version yet."""
    their_changes: tuple[Change, ...]
    """From the base to theirs."""
    my_changes: tuple[Change, ...]
    """From the base to mine."""
    contests: tuple[Contest, ...]
    """Places that both changed, and differently."""


class ConflictError(StoreError):
    """
    Somebody saved in between; nothing was saved, and nothing is lost.

    The caller saves mine again with `conflict.theirs.key` as the parent, which puts it on top of theirs knowingly; or
    what `merged` makes of the two, likewise; or mine as a problem of its own (`save_new_problem`).
    """

    def __init__(self, conflict: Conflict) -> None:
        self.conflict = conflict
        super().__init__(_message(conflict))


def conflict_between(
    base: Version, theirs: Version, base_problem: Problem, their_problem: Problem, mine: Problem
) -> Conflict:
    """Returns the conflict with what each side changed."""
    their_changes, my_changes = changes(base_problem, their_problem), changes(base_problem, mine)
    contests = contests_of(my_changes, their_changes)
    return Conflict(base, theirs, base_problem, their_problem, mine, their_changes, my_changes, contests)


def _message(conflict: Conflict) -> str:
    base, theirs, saved = conflict.base.key.number, conflict.theirs.key.number, conflict.theirs
    lines = [
        f"{saved.key} was saved by {saved.author} at {saved.saved_at:%Y-%m-%d %H:%M} UTC,",
        f"after version {base}, which you edited. Yours is not saved yet.",
        f"Changed in version {theirs} since version {base}:",
        _indented(describe_changes(conflict.their_changes)),
        f"Changed by you since version {base}:",
        _indented(describe_changes(conflict.my_changes)),
    ]
    if conflict.contests:
        lines += ["Changed by both, and differently:", _indented(describe_contests(conflict.contests))]
    lines.append(f"Merge the two, save yours on top of version {theirs}, or save it under another name.")
    return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
