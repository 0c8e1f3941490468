"""Two edits of one problem as one problem: a three-way merge by fields."""

from dataclasses import dataclass

from ..model.problem import Problem
from .change import Change
from .problems import applied, changes


@dataclass(frozen=True)
class Contest:
    """A place that both edits changed, and differently."""

    mine: Change
    theirs: Change

    @property
    def path(self) -> tuple[str, ...]:
        """The place; the entry where one side removed it or both added it."""
        return self.mine.path if len(self.mine.path) <= len(self.theirs.path) else self.theirs.path


@dataclass(frozen=True)
class Merge:
    """The merged problem, and where a choice had to be made."""

    problem: Problem
    contests: tuple[Contest, ...]


def merged(base: Problem, mine: Problem, theirs: Problem) -> Merge:
    """
    Returns `theirs` with all changes from `base` to `mine` that theirs do not contradict.

    In contested places the result has theirs; exchange `mine` and `theirs` for the other choice.

    Raises
    ------
    InputError
        If the changes, each possible alone, make no problem together (as a greater min_replicas here and a lower
        max_replicas there).
    """
    own, others = changes(base, mine), changes(base, theirs)
    contests = contests_of(own, others)
    # What both did alike is in theirs already.
    done = {_key(change) for change in others} | {_key(contest.mine) for contest in contests}
    return Merge(applied(theirs, [change for change in own if _key(change) not in done]), contests)


def contests_of(mine: tuple[Change, ...], theirs: tuple[Change, ...]) -> tuple[Contest, ...]:
    """Returns the pairs of changes of one place, or of an entry and a field of it, that do not do the same."""
    others: dict[tuple[str, ...], list[Change]] = {}
    for change in theirs:
        for place in _places(change):
            others.setdefault(place, []).append(change)
    pairs = []
    for change in mine:
        # An entry's own place finds changes of its fields; a field's entry finds that the entry was removed.
        met = {id(other): other for place in _places(change) for other in others.get(place, ())}
        pairs += [
            Contest(change, other) for other in met.values() if _touch(change, other) and _key(change) != _key(other)
        ]
    return tuple(pairs)


def _places(change: Change) -> list[tuple[str, ...]]:
    """Returns the change's path and, within a list, its entry's."""
    return [change.path] if len(change.path) < 3 else [change.path, change.path[:2]]


def _touch(one: Change, other: Change) -> bool:
    """Tells whether one place is the other, or within it."""
    shorter = min(len(one.path), len(other.path))
    return one.path[:shorter] == other.path[:shorter]


def _key(change: Change) -> tuple[str, tuple[str, ...], str]:
    """Returns what tells changes apart that may hold lists and mappings."""
    return change.kind, change.path, repr(change.new)
