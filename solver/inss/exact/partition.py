"""
The best partition of models into sets, one for each GPU that is used (InSS, problem 1), with proof.

    max sum of v(g, S) z(g, S),   each model in exactly one chosen set,   at most N_g sets on GPUs of type g

Every decision gives each GPU a set of models, and no GPU more than v(g, S), so the best partition is the best decision.

A program over subsets finds it: f_k(M) is the most that the first k GPUs carry of exactly the models M,

    f_k(M) = max over S within M of f_{k-1}(M without S) + v(g_k, S),    v(g, {}) = 0

which looks at 3^n pairs (M, S) for each GPU. To find all v takes longest, so they are replaced by upper bounds first
(set_values.py). In turn: the program's best partition by what is known; if all its sets have their true values it is
the best of all, as no value is below the true one; else these values are computed. Each turn computes one at least and
there are finitely many, so it ends.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ...performance.interference.prediction import Floats
from ...runtime.progress import report
from ..decision import Decision
from ..latency import Ints, Latencies
from .effort import IsOver, never_over
from .set_values import NEVER, Asked, SetValue, optimistic, set_value, upper_bound


@dataclass(frozen=True, eq=False)
class Exact:
    """The best decision that was found, and the limit of all."""

    value: float
    """Weighted requests/s; -inf: none was found."""
    decision: Decision | None
    limit: float
    """Proven: no decision has more; equal to the value where that is the optimum."""

    @property
    def is_optimal(self) -> bool:
        """Whether no decision has more."""
        return self.limit <= self.value


@dataclass(eq=False)
class _Known:
    """What is known of each set, an integer with a bit a model, on each type of GPU."""

    values: Floats
    """Shape (type, set): true where it is in `found`, an upper bound elsewhere."""
    found: dict[tuple[int, int], SetValue] = field(default_factory=dict)


def members(subset: int) -> Ints:
    """Returns the models of a set."""
    return np.array([i for i in range(subset.bit_length()) if subset >> i & 1], dtype=np.int64)


def best_partition(
    latencies: Latencies,
    rates_rps: Floats,
    *,
    weights: Floats | None = None,
    spare: float = 1.0,
    is_over: IsOver = never_over,
) -> Exact | None:
    """
    Returns the decision with most weighted capacity; None: proven, no decision keeps all limits.

    Where time is over before, there is no decision, and the limit is the best partition's by what is known, as no value
    is below the true one; inf where not even all bounds are.

    Parameters
    ----------
    rates_rps, weights
        Shape (model,); weights above 0, default 1 each.
    spare
        Capacity is at least so many times each rate.
    """
    count = len(rates_rps)
    asked = Asked(latencies, rates_rps, np.ones(count) if weights is None else weights, spare)
    gpus = _gpus(latencies, count)
    pairs = _pairs(count)
    bounds = _bounds(asked, count, is_over)
    if bounds is None:
        return Exact(NEVER, None, inf)
    known = _Known(bounds)
    while True:
        chosen = _program(known.values, gpus, pairs, count)
        if chosen is None:
            return None
        unsure = {(kind, subset) for _, kind, subset in chosen if subset and (kind, subset) not in known.found}
        if not unsure:
            return _assembled(chosen, known, count)
        report(f"values of sets of models: {len(known.found) + len(unsure):,}")
        for kind, subset in unsure:
            if is_over():
                limit = sum(float(known.values[own, models]) for _, own, models in chosen)
                return Exact(NEVER, None, limit + 1e-9 * abs(limit))
            known.found[kind, subset] = set_value(asked, kind, members(subset))
            known.values[kind, subset] = known.found[kind, subset].value


def _gpus(latencies: Latencies, count: int) -> list[tuple[int, int]]:
    """Returns index and type of the GPUs; of a type no more than there are models."""
    seen: Counter[int] = Counter()
    gpus = []
    for k, kind in enumerate(latencies.type_of_gpu):
        seen[kind] += 1
        if seen[kind] <= count:
            gpus.append((k, kind))
    return gpus


def _bounds(asked: Asked, count: int, is_over: IsOver) -> Floats | None:
    """Returns an upper bound of each set's value, shape (type, set); None: time is over."""
    bounds = np.full((len(asked.latencies.types), 1 << count), NEVER)
    bounds[:, 0] = 0.0
    for kind, tables in enumerate(asked.latencies.types):
        least = np.ones(count, dtype=np.int64)
        for i in range(count):
            alone = optimistic(asked, kind, np.array([i]))[0] > NEVER
            least[i] = alone.argmax() + 1 if alone.any() else tables.units + 1
        for subset in range(1, 1 << count):
            if is_over():
                return None
            models = members(subset)
            if least[models].sum() <= tables.units:
                bounds[kind, subset] = upper_bound(optimistic(asked, kind, models))
    return bounds


def _pairs(count: int) -> tuple[Ints, Ints, Ints]:
    """Returns all pairs (M, S) with S within M, by M, and where each M begins; 3^count pairs."""
    of_all, of_chosen = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for i in range(count):
        bit = 1 << i
        of_all = np.concatenate([of_all, of_all | bit, of_all | bit])
        of_chosen = np.concatenate([of_chosen, of_chosen, of_chosen | bit])
    order = np.argsort(of_all, kind="stable")
    of_all, of_chosen = of_all[order], of_chosen[order]
    return of_all, of_chosen, np.searchsorted(of_all, np.arange(1 << count))


def _program(
    values: Floats, gpus: list[tuple[int, int]], pairs: tuple[Ints, Ints, Ints], count: int
) -> list[tuple[int, int, int]] | None:
    """Returns GPU, type and set of each GPU in the best partition by these values; None: there is none."""
    of_all, of_chosen, begins = pairs
    reached = np.full(1 << count, NEVER)
    reached[0] = 0.0
    layers = [reached]
    for _, kind in gpus:
        reached = np.maximum.reduceat(layers[-1][of_all ^ of_chosen] + values[kind][of_chosen], begins)
        layers.append(reached)
    left = (1 << count) - 1
    if layers[-1][left] == NEVER:
        return None
    chosen = []
    for layer in range(len(gpus) - 1, -1, -1):
        gpu, kind = gpus[layer]
        start = int(begins[left])
        end = int(begins[left + 1]) if left + 1 < len(begins) else len(of_all)
        sums = layers[layer][left ^ of_chosen[start:end]] + values[kind][of_chosen[start:end]]
        subset = int(of_chosen[start + int(sums.argmax())])
        chosen.append((gpu, kind, subset))
        left ^= subset
    return chosen


def _assembled(chosen: list[tuple[int, int, int]], known: _Known, count: int) -> Exact:
    gpu, units, batch = np.full((3, count), -1, dtype=np.int64)
    value = 0.0
    for k, kind, subset in chosen:
        if subset:
            models, best = members(subset), known.found[kind, subset]
            gpu[models], units[models], batch[models] = k, best.units, best.batch
            value += best.value
    return Exact(value, Decision(gpu, units, batch), value)
