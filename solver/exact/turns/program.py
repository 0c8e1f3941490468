"""
The fewest or cheapest GPUs whose shares serve all rates in turn: contents of shares as columns.

    min   sum_s usd_s x_s
    over  sum_(k of share p on type g) y_k  <=  sum_(s of g) n_sp x_s     for every type g and share p
          sum_k c_ik y_k  >=  R_i                                         for every service i
          x_s (divisions s of a type), y_k (contents) whole and >= 0,  GPUs of a type no more than there are

n_sp: how many shares of size p the division s has; where neighbours slow each other, shares of a size are told apart by
what they press and bear. Which contents there are is contents.py's question; the bound (bound.py) is that of all
contents, so that it does not matter for it which of them are offered here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Generic

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Floats
from ...performance.turns.turn_rule import TurnRule
from ..backends.highs import End, end_of, run_highs, solver_text
from ..cost_lattice import CostLattice, lattice_of
from ..met_rates import solved_with_rates_met
from .bound import Share, cost_bound, greatest_alone_rps
from .contents import Contents


@dataclass(frozen=True, eq=False)
class GpuType(Generic[Share]):
    """GPUs of one type under MPS and what services achieve on their shares."""

    name: str
    usd: float
    available: int | None
    divisions: Sequence[tuple[Share, ...]]
    latency_ms: Mapping[Share, Floats]
    """Share -> shape (service, batch): of batches 1, 2, ... alone; inf: not known, or not allowed."""


@dataclass(frozen=True)
class Chosen(Generic[Share]):
    """A GPU that is used: of which type, how it is divided, and of each share its content as an index."""

    gpu: str
    contents: tuple[tuple[Share, int], ...]
    """Share, and index into the contents of that share of that type."""


@dataclass(frozen=True)
class TurnsAnswer(Generic[Share]):
    """What a search found."""

    gpus: tuple[Chosen[Share], ...] | None
    """None: no plan was found."""
    cost: float | None
    bound: float
    """No plan costs less, whichever services take turns; USD per hour."""
    program_bound: float
    """No plan of the offered contents costs less; inf: there is none."""
    end: End
    """How the program over the offered contents ended."""
    solver: str | None


def prices_of_rates(types: Sequence[GpuType[Share]], rule: TurnRule, rate_rps: Floats, time_limit_s: float) -> Floats:
    """Returns prices per request/s, shape (service,): duals of the program with services alone, in fractions."""
    model = mathopt.Model(name="turns alone")
    rows = [model.add_linear_constraint(lb=1.0) for _ in rate_rps]
    cost = mathopt.LinearSum([])
    for one in types:
        divisions = [model.add_variable(lb=0.0) for _ in one.divisions]
        cost += mathopt.LinearSum(one.usd * x for x in divisions)
        for share, latency_ms in one.latency_ms.items():
            there = mathopt.LinearSum(
                division.count(share) * x for division, x in zip(one.divisions, divisions, strict=True)
            )
            parts = []
            for i, rps in enumerate(greatest_alone_rps(latency_ms, rule)):
                if rps > 0:
                    part = model.add_variable(lb=0.0)
                    rows[i].set_coefficient(part, float(rps / rate_rps[i]))
                    parts.append(part)
            model.add_linear_constraint(mathopt.LinearSum(parts) <= there)
    model.minimize(cost)
    result = run_highs(model, time_limit_s, absolute_gap=None)
    if not result.has_dual_feasible_solution():
        return np.zeros(len(rate_rps))
    duals = result.dual_values()
    return np.maximum([duals[row] for row in rows], 0.0) / rate_rps


def bound_of(types: Sequence[GpuType[Share]], rule: TurnRule, rate_rps: Floats, time_limit_s: float) -> float:
    """Returns a lower bound on the cost of any plan, by the best prices that the program above finds (bound.py)."""
    prices = prices_of_rates(types, rule, rate_rps, time_limit_s)
    alone = {
        one.name: {share: greatest_alone_rps(latency, rule) for share, latency in one.latency_ms.items()}
        for one in types
    }
    divisions = {one.name: one.divisions for one in types}
    return cost_bound(prices, rate_rps, alone, divisions, {one.name: one.usd for one in types})


def solve_turns(
    types: Sequence[GpuType[Share]],
    contents: Mapping[tuple[str, Share], Contents],
    rate_rps: Floats,
    bound: float,
    *,
    time_limit_s: float,
    replicas: Sequence[tuple[int, int | None]] | None = None,
    gap: float = 0.0,
) -> TurnsAnswer[Share]:
    """
    Returns the cheapest GPUs with the offered contents.

    Parameters
    ----------
    contents
        (GPU type, share) -> contents, cut at the rates.
    bound
        As of `bound_of`: the search ends at the first plan of that cost.
    replicas
        Least and greatest number of shares of each service; None: no limits.
    """
    lattice = lattice_of({one.name: one.usd for one in types})
    built = _Program(types, contents, rate_rps, lattice, lattice.next_cost(bound), replicas)
    solve = partial(run_highs, built.model, time_limit_s, absolute_gap=lattice.absolute_gap, gap=gap)
    result = solved_with_rates_met(built.model, built.rates, solve)
    end = end_of(result)
    found = solver_text(result)
    if not result.has_primal_feasible_solution():
        least = inf if end == "infeasible" else bound
        return TurnsAnswer(None, None, bound, least, end, found)
    gpus = tuple(built.chosen(result.variable_values()))
    usd = {one.name: one.usd for one in types}
    least = max(bound, lattice.dual_bound(result.dual_bound()))
    return TurnsAnswer(gpus, sum(usd[one.gpu] for one in gpus), bound, least, end, found)


class _Program(Generic[Share]):
    """The program, its variables, and how a solution reads."""

    def __init__(
        self,
        types: Sequence[GpuType[Share]],
        contents: Mapping[tuple[str, Share], Contents],
        rate_rps: Floats,
        lattice: CostLattice,
        least: float,
        replicas: Sequence[tuple[int, int | None]] | None,
    ) -> None:
        self.model = mathopt.Model(name="turns")
        self.rates = [self.model.add_linear_constraint(lb=1.0) for _ in rate_rps]
        limits = replicas or [(0, None)] * len(rate_rps)
        rows = [
            self.model.add_linear_constraint(lb=low, ub=inf if high is None else high) if low or high else None
            for low, high in limits
        ]
        self._divisions: list[tuple[GpuType[Share], tuple[Share, ...], mathopt.Variable]] = []
        self._contents: list[tuple[str, Share, int, mathopt.Variable]] = []
        cost = mathopt.LinearSum([])
        for one in types:
            divided = []
            for division in one.divisions:
                x = self.model.add_integer_variable(lb=0, ub=inf if one.available is None else one.available)
                divided.append(x)
                self._divisions.append((one, division, x))
            cost += mathopt.LinearSum(lattice.in_units(np.array([one.usd]))[0] * x for x in divided)
            if one.available is not None:
                self.model.add_linear_constraint(mathopt.LinearSum(divided) <= one.available)
            for share in one.latency_ms:
                there = [division.count(share) * x for division, x in zip(one.divisions, divided, strict=True)]
                own = contents[one.name, share]
                filled = []
                for k, capacity in enumerate(own.capacity_rps):
                    y = self.model.add_integer_variable(lb=0)
                    filled.append(y)
                    self._contents.append((one.name, share, k, y))
                    for i in np.flatnonzero(capacity > 0).tolist():
                        self.rates[i].set_coefficient(y, float(capacity[i] / rate_rps[i]))
                        if (row := rows[i]) is not None:
                            row.set_coefficient(y, 1.0)
                self.model.add_linear_constraint(mathopt.LinearSum(filled) <= mathopt.LinearSum(there))
        self.model.add_linear_constraint(cost >= lattice.in_units(np.array([least]))[0] * (1 - 1e-9))
        self.model.minimize(cost)

    def chosen(self, values: Mapping[mathopt.Variable, float]) -> Iterator[Chosen[Share]]:
        """Yields the GPUs of a solution that serve anybody, each with the contents of its shares."""
        waiting: dict[tuple[str, Share], list[int]] = {}
        for gpu, share, k, y in self._contents:
            waiting.setdefault((gpu, share), []).extend([k] * round(values[y]))
        for one, division, x in self._divisions:
            for _ in range(round(values[x])):
                own = [(share, waiting[one.name, share].pop()) for share in division if waiting.get((one.name, share))]
                if own:
                    yield Chosen(one.name, tuple(own))
