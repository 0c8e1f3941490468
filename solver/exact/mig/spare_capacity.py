"""
Free partitions kept for two kinds of trouble, as constraints of the MIG cutting stock (cutting_stock.py).

Recourse, in both: what runs stays where it is; services are started in free instances that are already there. A free
instance of a size takes a partition of that size. The two kinds of trouble do not come together.

More rate. Any Gamma services at once need (1 + x) times their rate. Each gets e_wk further partitions of size k,
settled beforehand. With Gamma = 1 that loses nothing; with more, a choice that looks at who else needs some could be
cheaper.
    sum_k T_wk (n_wk + e_wk) >= (1 + x) R_w                         for every w that is served
    F_k >= the greatest sum of e_wk over any Gamma services         for every k
  The second is Bertsimas and Sim's budget of uncertainty (Operations Research 52(1), 2004): it holds exactly if there
  are l_k, m_wk >= 0 with F_k >= Gamma l_k + sum_w m_wk and l_k + m_wk >= e_wk. Every worst case is met by the same free
  partitions, one size at a time.

Loss of a GPU. What ran on any one GPU fits into the free partitions of the others. On a GPU that is cut into a_k
instances of size k, u_k in use and f_k free, that asks for F_k - f_k >= u_k, which is F_k >= a_k. So
    F_k >= sum_a u_ka,  u_ka >= u_k,a+1,  u_ka in {0, 1}            a: 1 to the greatest a_kq
    sum of x_q over q with a_kq >= a  <=  M u_ka                    for every cut q, maximal or not
  u_ka: some GPU has a instances of size k. M: no more GPUs than the fleet has; and every GPU of a cheapest plan has a
  partition that is used or must be kept free, of size k at most the sum of all n_wk, and the sum of all e_wk or the
  greatest a_kq.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil, inf
from typing import Any

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Ints
from ...performance.resolve import ResolvedProblem
from ..met_rates import RateRow
from .spare_rules import KeptFree, SpareRules


class SpareVariables:
    """The variables and constraints of free partitions in a program."""

    def __init__(
        self,
        model: mathopt.Model,
        resolved: ResolvedProblem,
        rules: SpareRules,
        served: Mapping[tuple[int, int], Any],
        patterns: Sequence[tuple[Sequence[int], Any]],
        is_served: Sequence[Any],
    ) -> None:
        """
        Adds them.

        Parameters
        ----------
        served
            (workload, size) -> variable that counts its partitions.
        patterns
            Instances of each size in a cut, and the variable that counts GPUs cut so.
        is_served
            For each workload 1, or a variable that is 0 where it is left out; then it needs no more rate either.
        """
        self._model, self._resolved, self._rules = model, resolved, rules
        self._services = min(rules.services, len(resolved.required_rps))
        self.free: dict[int, Any] = {
            k: model.add_integer_variable(lb=0, name=f"F_{k}") for k in range(len(resolved.sizes))
        }
        self._extra: dict[tuple[int, int], Any] = {}
        self._budget: dict[int, Any] = {}
        self._above: dict[tuple[int, int], Any] = {}
        self._levels: Levels = []
        self.rates: list[RateRow] = []
        """The rows that ask for more rate, in which nothing may be missing."""
        if rules.services:
            self._more_rate_is_met(served, is_served)
            self._worst_cases_are_kept_free()
        if rules.gpu_loss:
            self._a_lost_gpu_fits_elsewhere(served, patterns)

    def values(self, kept: KeptFree, values: Mapping[Any, float]) -> Iterator[tuple[Any, float]]:
        """Yields the values of all of them for known free partitions; `values` has those of the cuts."""
        for k, variable in self.free.items():
            yield variable, float(kept.free[k])
        for at, variable in self._extra.items():
            yield variable, float(kept.extra[at])
        for k, variable in self._budget.items():
            yield variable, float(self._least_budget(kept.extra, k))
        for (w, k), variable in self._above.items():
            yield variable, float(max(kept.extra[w, k] - self._least_budget(kept.extra, k), 0))
        for level, times in self._levels:
            yield level, float(any(values[variable] > 0 for variable in times))

    def decode(self, values: Mapping[Any, float]) -> KeptFree:
        """Returns the partitions that are kept free, from a solution."""
        extra = np.zeros(self._resolved.capacity_rps.shape, dtype=np.int64)
        for at, variable in self._extra.items():
            extra[at] = round(values[variable])
        free = [round(values[self.free[k]]) for k in range(len(self.free))]
        return KeptFree(extra, np.array(free, dtype=np.int64))

    def _least_budget(self, extra: Ints, k: int) -> int:
        """Returns l_k at which Gamma l_k + sum_w m_wk is the worst case: the Gamma-th greatest e_wk."""
        return int(np.sort(extra[:, k])[-self._services])

    def _more_rate_is_met(self, served: Mapping[tuple[int, int], Any], is_served: Sequence[Any]) -> None:
        """Free partitions carry the extra rate of each service: sum_k T_wk (n_wk + e_wk) >= (1 + x) R_w s_w."""
        capacity, required = self._resolved.capacity_rps, self._resolved.required_rps
        terms: dict[int, list[Any]] = {w: [] for w in range(len(required))}
        replicas: dict[int, list[Any]] = {w: [] for w in range(len(required))}
        more = 1 + self._rules.rate
        for w, k in served:
            part = min(capacity[w, k] / required[w], 1e4)
            extra = self._model.add_integer_variable(lb=0, ub=ceil(more / part), name=f"e_{w}_{k}")
            self._extra[w, k] = extra
            terms[w].append(part * (served[w, k] + extra))
            replicas[w] += [served[w, k], extra]
        for w, of_workload in terms.items():
            carried = mathopt.LinearSum(of_workload)
            self.rates.append(self._model.add_linear_constraint(carried - more * is_served[w] >= 0, name=f"more_{w}"))
            most = self._resolved.problem.workloads[w].max_replicas
            if most is not None:
                self._model.add_linear_constraint(mathopt.LinearSum(replicas[w]) <= most, name=f"more_replicas_{w}")

    def _worst_cases_are_kept_free(self) -> None:
        """Any Gamma services have their extra partitions at once: F_k >= Gamma l_k + sum_w m_wk, l_k + m_wk >= e_wk."""
        for k, kept in self.free.items():
            of_size = [(w, extra) for (w, other), extra in self._extra.items() if other == k]
            if not of_size:
                continue
            budget = self._budget[k] = self._model.add_variable(lb=0, name=f"l_{k}")
            for w, extra in of_size:
                above = self._above[w, k] = self._model.add_variable(lb=0, name=f"m_{w}_{k}")
                self._model.add_linear_constraint(budget + above >= extra, name=f"worst_{w}_{k}")
            beyond = mathopt.LinearSum(self._above[w, k] for w, _ in of_size)
            self._model.add_linear_constraint(kept >= self._services * budget + beyond, name=f"kept_{k}")

    def _a_lost_gpu_fits_elsewhere(
        self, served: Mapping[tuple[int, int], Any], patterns: Sequence[tuple[Sequence[int], Any]]
    ) -> None:
        greatest = np.max([instances for instances, _ in patterns], axis=0, initial=0)
        most_used, most_extra = np.zeros(len(self.free)), np.zeros(len(self.free))
        for (_, k), variable in served.items():
            most_used[k] += variable.upper_bound
        for (_, k), variable in self._extra.items():
            most_extra[k] += variable.upper_bound
        partitions = float((most_used + np.maximum(most_extra, greatest)).sum())
        gpus = sum(inf if entry.available is None else entry.available for entry in self._resolved.fleet)
        self._levels = add_room_for_a_lost_gpu(self._model, patterns, self.free, min(partitions, gpus))


Levels = list[tuple[Any, list[Any]]]
"""u_ka, and the variables that count the GPUs with a instances of size k or more."""


def add_room_for_a_lost_gpu(
    model: mathopt.Model,
    patterns: Sequence[tuple[Sequence[int], Any]],
    free: Mapping[int, Any],
    most: float,
) -> Levels:
    """
    Of a cut in use all partitions are free elsewhere: F_k >= sum_a u_ka; x_q over q with a_kq >= a  <=  M u_ka.

    Parameters
    ----------
    patterns
        Instances of each size in a cut, and the variable that counts GPUs cut so.
    free
        Size -> F_k.
    most
        M: no plan that is looked for has more GPUs.
    """
    if not patterns:
        return []
    greatest = np.max([own for own, _ in patterns], axis=0)
    levels: Levels = []
    for k, kept in free.items():
        of_size = [model.add_binary_variable(name=f"u_{k}_{a}") for a in range(1, int(greatest[k]) + 1)]
        for a, level in enumerate(of_size, start=1):
            times = [x for own, x in patterns if own[k] >= a]
            levels.append((level, times))
            model.add_linear_constraint(mathopt.LinearSum(times) <= most * level, name=f"level_{k}_{a}")
        for less, more in pairwise(of_size):
            model.add_linear_constraint(less >= more, name=f"rising_{less.name}")
        if of_size:
            model.add_linear_constraint(kept >= mathopt.LinearSum(of_size), name=f"lost_{k}")
    return levels
