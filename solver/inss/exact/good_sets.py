"""
Good units and batches of sets of models, quickly, and sets that are made better by moving models between GPUs.

For a set, the L2 use of all is guessed; with it every model's worth depends on its own units alone, and a knapsack over
units deals them. What comes of it is judged with the true interference and gives the next guess. So a value here is
one that is reached, and may be below v(g, S).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ...performance.interference.prediction import Floats
from ...runtime.progress import report
from ..latency import Ints
from .effort import IsOver
from .set_values import NEVER, Asked, SetValue, best_of

GUESSES = 2

IDLE = 2
"""Tries without a change, for each model and GPU, after which no more are made."""

REDRAWN = 100
"""Moves after which the next are drawn anew."""

Key = tuple[int, tuple[int, ...]]
"""A type of GPU, and models in ascending order."""


@dataclass(eq=False)
class GoodSets:
    """What is known of sets."""

    asked: Asked
    most: Sequence[int]
    """By type of GPU: members that a set may have."""
    known: dict[Key, SetValue] = field(default_factory=dict)
    _missing: dict[Key, float] = field(default_factory=dict)

    def __call__(self, kind: int, models: frozenset[int]) -> SetValue:
        """Returns a value that a set reaches; -inf: none was found."""
        key = kind, tuple(sorted(models))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._found(kind, np.array(key[1], dtype=np.int64))
        return found

    def learn(self, kind: int, chosen: Sequence[tuple[int, int]]) -> None:
        """Looks at a set with these units; (model, units) in ascending order."""
        key = kind, tuple(i for i, _ in chosen)
        before = self(kind, frozenset(key[1]))
        units = np.array([[u for _, u in chosen]])
        self.known[key] = best_of(self.asked, kind, np.array(key[1]), units, before)

    def missing(self, kind: int, models: frozenset[int]) -> float:
        """Returns how many units more an impossible set would need about, at least 1."""
        key = kind, tuple(sorted(models))
        found = self._missing.get(key)
        if found is None:
            who, tables = np.array(key[1], dtype=np.int64), self.asked.latencies.types[kind]
            can = self._worth(kind, who, self._usual_l2(kind, who)) > NEVER
            least = np.where(can.any(axis=1), can.argmax(axis=1) + 1, 2 * tables.units)
            found = self._missing[key] = max(float(least.sum()) - tables.units, 1.0)
        return found

    def _usual_l2(self, kind: int, models: Ints) -> float:
        tables = self.asked.latencies.types[kind]
        return float(tables.l2[models, max(tables.units // len(models) - 1, 0)].sum())

    def _worth(self, kind: int, models: Ints, l2: float) -> Floats:
        """Returns what each is worth with so much L2 use of all, shape (model, units); -inf: limits are not kept."""
        latencies, tables = self.asked.latencies, self.asked.latencies.types[kind]
        fixed = latencies.scheduling[models] + tables.crowd[len(models)] * latencies.kernels[models]
        slower = 1 + latencies.sensitivity[models, None] * np.maximum(l2 - tables.l2[models], 0.0)
        ms = tables.running[models] * slower[:, :, None] + tables.transfer[models][:, None, :]
        worth: Floats = self.asked.worth(models, (ms + fixed[:, None, None]).swapaxes(0, 1), kind).max(axis=2).T
        return worth

    def _found(self, kind: int, models: Ints) -> SetValue:
        count = len(models)
        best = SetValue(NEVER if count else 0.0, np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64))
        if not count or count > self.most[kind]:
            return best
        l2 = self.asked.latencies.types[kind].l2[models]
        guess = self._usual_l2(kind, models)
        for _ in range(GUESSES):
            worth = self._worth(kind, models, guess)
            units = dealt_best(worth)
            if units is None:
                break
            best = best_of(self.asked, kind, models, units[None], best)
            guess = float(l2[np.arange(count), units - 1].sum())
        return best


def dealt_best(worth: Floats) -> Ints | None:
    """Returns the units that are worth most together, all units at most; None: too few. `worth`: (model, units)."""
    units = worth.shape[1]
    best, taken = np.zeros(units + 1), []
    for row in worth:
        before = np.concatenate([np.full(units, NEVER), best])
        tried = sliding_window_view(before, units)[: units + 1] + row[::-1]
        last = tried.argmax(axis=1)
        best = tried[np.arange(units + 1), last]
        taken.append(units - last)
    if best[units] == NEVER:
        return None
    found, left = [], units
    for one in reversed(taken):
        found.append(int(one[left]))
        left -= found[-1]
    return np.array(found[::-1])


@dataclass(eq=False)
class Placing:
    """A set for each GPU; some may be impossible until models were moved away."""

    sets: GoodSets
    kinds: Sequence[int]
    """Type of each GPU."""
    members: list[frozenset[int]]
    draw: np.random.Generator
    prices: Floats | None = None
    """Of models, shape (model,): moves begin where a GPU is worth least beyond those of its models."""

    @property
    def value(self) -> float:
        """Weighted requests/s; -inf while some set is impossible."""
        return float(sum(self.sets(kind, who).value for kind, who in zip(self.kinds, self.members, strict=True)))

    def impossible(self) -> set[int]:
        """Returns the GPUs whose sets are impossible, as far as is known."""
        return {k for k in range(len(self.kinds)) if self._counted(k, self.members[k]) < 0}

    def improve(self, tries: int, is_over: IsOver) -> None:
        """Moves a model to another GPU, or changes it for one there, where that is better; impossible sets first."""
        place = {i: k for k, who in enumerate(self.members) for i in who}
        models = sorted(place)
        wrong = self.impossible()
        changed, drawn = 0, list[int]()
        for number in range(tries if len(self.kinds) > 1 else 0):
            if is_over() or number - changed > IDLE * len(models) * len(self.kinds):
                return
            if number % 1000 == 0:
                report(f"models moved between GPUs: {self.value:,.0f} requests/s")
            if wrong:
                k = min(wrong)
                i = sorted(self.members[k])[int(self.draw.integers(len(self.members[k])))]
            else:
                drawn = drawn or self._drawn(models)
                i = drawn.pop()
            here, there = place[i], int(self.draw.integers(len(self.kinds)))
            if here != there and self._changed(i, here, there):
                changed = number
                for k in (here, there):
                    place |= dict.fromkeys(self.members[k], k)
                    (wrong.add if self._counted(k, self.members[k]) < 0 else wrong.discard)(k)

    def _drawn(self, models: Sequence[int]) -> list[int]:
        """Returns models that are moved next, half of them from GPUs that are worth little at prices."""
        some = self.draw.choice(models, REDRAWN)
        if self.prices is not None:
            worth = np.array(
                [self._counted(k, who) - sum(self.prices[i] for i in who) for k, who in enumerate(self.members)]
            )
            kinds = np.array(self.kinds)
            best = np.array([worth[kinds == kind].max(initial=0.0) for kind in range(int(kinds.max()) + 1)])
            short = np.array(
                [short if who else 0.0 for short, who in zip(best[kinds] - worth, self.members, strict=True)]
            )
            if short.sum() > 0:
                for at, k in enumerate(self.draw.choice(len(short), REDRAWN // 2, p=short / short.sum()).tolist()):
                    who = sorted(self.members[k])
                    some[2 * at] = who[int(self.draw.integers(len(who)))]
        return [int(i) for i in some]

    def _changed(self, model: int, here: int, there: int) -> bool:
        """Moves a model to a GPU, in the place of one there or of none, if that is better; tells whether it did."""
        best = self._counted(here, self.members[here]) + self._counted(there, self.members[there])
        best += 1e-9 * abs(best)
        found = None
        for pair in self._changes(model, here, there):
            counted = self._counted(here, pair[0]) + self._counted(there, pair[1])
            if counted > best:
                best, found = counted, pair
        if found is not None:
            self.members[here], self.members[there] = found
        return found is not None

    def _changes(self, model: int, here: int, there: int) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
        own, others = self.members[here] - {model}, self.members[there]
        yield own, others | {model}
        for other in sorted(others):
            yield own | {other}, others - {other} | {model}

    def _counted(self, gpu: int, who: frozenset[int]) -> float:
        """Returns the value; of an impossible set less the more units it lacks, and below 0."""
        value = self.sets(self.kinds[gpu], who).value
        return value if value > NEVER else -self.sets.missing(self.kinds[gpu], who) * self.sets.asked.worst
