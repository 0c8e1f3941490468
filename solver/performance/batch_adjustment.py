"""
Batches and shares chosen anew on a GPU under MPS (InSS, Algorithm 1, BDA).

Who stands where is decided. In InSS a model's latency hangs on the shares of its neighbours and not on their batches,
so each model's batch is looked for by itself; of the forms of its search (inss/batch_decision.py) the scan, which looks
at every batch, is the one that never misses a better one. Here neighbours feel batches too, by power and cache. So

    batches   of all batches of all residents the one with which all of them count most together, and again
    shares    of what the GPU has left, as many units go to a resident, with any batch, as gain most a unit, and again;
              InSS deals them round, whatever they are worth

until nothing changes. Nobody is given fewer units than it had. A choice is open only if every resident carries its rate
afterwards, or what it carried before if that was less, by the latency rule of the problem, and nobody who is late gets
later; and it is taken only if what counts rises. So every plan that held holds, one that did not misses no more, and
the search ends: choices are finitely many. It is a local optimum: no
other batch of one resident, and no number of the units that are left with any batch of their owner, counts more.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..model.errors import Finding
from ..model.problem import Problem
from ..wording.sharing_words import sharing_in_words
from .interference.prediction import Floats, Ints
from .latency_rules.server_sets import is_by_set
from .mps_sharing import MpsType

ROUNDING = 1e-9
"""Part of a rate or of a sum by which it may be off."""

LEAST_GAIN = 1e-9
"""Part of what counts by which a choice has to be better to be taken."""


def not_adjusted(problem: Problem, source: str) -> list[Finding]:
    """Returns a finding for each reason for which batches and shares cannot be chosen anew where a problem asks it."""
    settings = problem.settings
    if not settings.bda:
        return []
    reasons = []
    if all("mps" not in entry.sharing for entry in problem.fleet):
        kinds = sharing_in_words(sorted({kind for entry in problem.fleet for kind in entry.sharing}))
        reasons.append(f"no GPU type of the fleet is shared by MPS ({kinds}); expected sharing: [mps], or no bda")
    if settings.mps_rules != "free":
        reasons.append(
            f"settings.mps_rules is {settings.mps_rules!r}, which fixes them by iGniter's eq. 17; expected free, or no "
            "bda"
        )
    if settings.turns != "none":
        reasons.append(
            f"settings.turns is {settings.turns!r}, with which a batch belongs to its slot in a round; expected none, "
            "or no bda"
        )
    if is_by_set(settings):
        reasons.append(
            f"settings.dispatch is {settings.dispatch!r}, with which what a share carries is not its own; expected "
            "weighted_round_robin or random, or no bda"
        )
    chooses = "is true, which chooses batches and shares under MPS anew, but"
    return [Finding(source, "settings.bda", f"{chooses} {reason}") for reason in reasons]


Judge = Callable[[Ints, Ints, Floats], tuple[Floats, Floats]]
"""
(workload, batch, percent), each of shape (..., resident) -> requests/s within the SLO, 0 of who is late, and latency.
"""


@dataclass(frozen=True, eq=False)
class Shares:
    """The residents of a GPU; arrays of shape (resident,)."""

    workload: Ints
    batch: Ints
    units: Ints


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Residents with other batches and shares; what all of them count, before and after."""

    shares: Shares
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class _Least:
    """What nobody falls behind; arrays of shape (resident,)."""

    carried_rps: Floats
    latency_ms: Floats

    def kept(self, carried_rps: Floats, latency_ms: Floats) -> np.ndarray:
        """Tells which changes keep all of it, by figures of shape (change, resident)."""
        in_time = (carried_rps > 0) | (latency_ms <= self.latency_ms * (1 + ROUNDING))
        return np.asarray((in_time & (carried_rps >= self.carried_rps * (1 - ROUNDING))).all(axis=1))


@dataclass(frozen=True, eq=False)
class _Changes:
    """Other batches, with so many units more each; arrays of shape (change,)."""

    resident: Ints
    batch: Ints
    more: Ints

    def applied(self, shares: Shares, at: int) -> Shares:
        """Returns the residents with one of the changes."""
        batch, units = shares.batch.copy(), shares.units.copy()
        batch[self.resident[at]] = self.batch[at]
        units[self.resident[at]] += self.more[at]
        return replace(shares, batch=batch, units=units)


def adjusted(mps: MpsType, shares: Shares, rate_rps: Floats, weights: Floats, judge: Judge) -> Adjusted:
    """
    Returns the residents with the batches and units that BDA gives them, and what that gains.

    Parameters
    ----------
    rate_rps
        Shape (resident,): what each has to carry.
    weights
        Shape (workload,): what a request/s of each counts, above 0.
    judge
        By the latency rule that is promised.
    """
    carried, latency_ms = judge(shares.workload, shares.batch, mps.percent(shares.units))
    least = _Least(np.minimum(rate_rps, carried), latency_ms)
    before = counted = float(weights[shares.workload] @ carried)
    while True:
        left = mps.capacity_units - int(shares.units.sum())
        for changes in (_batches(mps, shares, range(1)), _batches(mps, shares, range(1, left + 1))):
            values = _counted(mps, shares, changes, least, weights, judge)
            gain = np.where(values > counted * (1 + LEAST_GAIN), (values - counted) / np.maximum(changes.more, 1), 0.0)
            if gain.any():
                at = int(gain.argmax())
                shares, counted = changes.applied(shares, at), float(values[at])
                break
        else:
            return Adjusted(shares, before, counted)


def _batches(mps: MpsType, shares: Shares, more: range) -> _Changes:
    """Returns all batches of all residents, each with each of some numbers of units more."""
    sizes = [mps.batches[w] for w in shares.workload.tolist()]
    resident = np.concatenate([np.full(len(own), j, dtype=np.int64) for j, own in enumerate(sizes)])
    units = np.repeat(np.array(more, dtype=np.int64), len(resident))
    return _Changes(np.tile(resident, len(more)), np.tile(np.concatenate(sizes), len(more)), units)


def _counted(mps: MpsType, shares: Shares, changes: _Changes, least: _Least, weights: Floats, judge: Judge) -> Floats:
    """Returns what all residents count with each change, shape (change,); -inf: somebody falls behind."""
    number = len(changes.more)
    rows = np.arange(number)
    batch, units = np.tile(shares.batch, (number, 1)), np.tile(shares.units, (number, 1))
    batch[rows, changes.resident] = changes.batch
    units[rows, changes.resident] += changes.more
    carried, latency_ms = judge(np.tile(shares.workload, (number, 1)), batch, mps.percent(units))
    return np.where(least.kept(carried, latency_ms), carried @ weights[shares.workload], -np.inf)
