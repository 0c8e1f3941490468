"""
GPUs under MPS in the integer program of the fleet, next to those that are cut (cutting_stock.py).

By columns, for plans
    z_p    GPUs with the residents of column p (columns.py); a_ip: how often it holds item i
    y_cr   workloads of class c served by recipe r (items.py), where the class can use no partition
    d_wi   residents of item i for workload w, where it can use partitions too; item i carries part f_i of its rate
    sum_r y_cr = served workloads of c;   sum_k T_wk n_wk / R_w + sum_i f_i d_wi >= 1
    sum_cr (items i in r) y_cr + sum_w d_wi <= sum_p a_ip z_p           for every item i

As a fluid, for a bound where rates may be split in any way
    m_g    GPUs of type g;   u_wg >= 0: part of the rate of w that they carry
    sum_w f_wg u_wg <= m_g                                              for every type g
    f_wg: as few GPUs of type g as any plan needs for the rate of w, in whole units where no other type and no partition
    can serve it (fluid_shares.py).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from typing import Any

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.resolve import ResolvedProblem
from .columns import Column
from .fluid_shares import fluid_shares, whole_units
from .items import MpsItems, WorkloadClass, classes_of, multiplicities

SLICES_OF_A_GPU = 15.0
"""What all shares of a GPU count beside the compute and memory slices of MIG in the second goal."""


@dataclass(frozen=True)
class MpsAnswer:
    """GPUs under MPS, and which items serve which workload."""

    columns: tuple[tuple[Column, int], ...]
    residents: Mapping[int, Sequence[int]]
    """Item -> a workload for each resident that is wanted."""


NO_SHARES = MpsAnswer((), {})


@dataclass(eq=False)
class MpsPart:
    """What GPUs under MPS add to the program."""

    gpus: list[tuple[str, Any]] = field(default_factory=list)
    """GPU type and variable that counts GPUs of it."""
    carried: dict[int, list[Any]] = field(default_factory=dict)
    """Workload -> parts of its rate that they carry."""
    replicas: dict[int, list[Any]] | None = field(default_factory=dict)
    """Workload -> residents; None: they are not counted, so limits on replicas are left out."""
    settled: set[int] = field(default_factory=set)
    """Workloads that need no further constraint."""
    slices: list[Any] = field(default_factory=list)
    """Terms of the second goal."""
    decode: Callable[[Mapping[Any, float]], MpsAnswer] = lambda _: MpsAnswer((), {})


PartBuilder = Callable[[mathopt.Model, Sequence[Any]], MpsPart]
"""Adds GPUs under MPS to a program; the second argument holds for each workload whether it is served."""


def by_columns(resolved: ResolvedProblem, shared: MpsItems, columns: Sequence[Column]) -> PartBuilder:
    """Returns what adds these columns to a program."""

    def build(model: mathopt.Model, is_served: Sequence[Any]) -> MpsPart:
        columns_part = _ColumnsPart(shared, model, columns)
        for c, one in enumerate(shared.classes):
            if resolved.capacity_rps[one.members[0]].any():
                columns_part.add_residents(one)
            else:
                columns_part.add_recipes(c, one, is_served)
        columns_part.supply(resolved)
        return columns_part.part

    return build


class _ColumnsPart:
    """Columns as they are added to a program; the letters are those of the module."""

    def __init__(self, shared: MpsItems, model: mathopt.Model, columns: Sequence[Column]) -> None:
        self._shared, self._model = shared, model
        self._used = [(column, model.add_integer_variable(lb=0, name=f"z_{p}")) for p, column in enumerate(columns)]
        self._wanted: dict[int, list[Any]] = {i: [] for i in range(len(shared.items))}
        """Item -> terms of how often it is wanted."""
        self._recipes: list[tuple[int, tuple[int, ...], Any]] = []
        """Class, recipe, and how many of the class take it."""
        self._residents: list[tuple[int, int, Any]] = []
        """Workload, item, and how often it takes it."""
        self._replicas: dict[int, list[Any]] = {}
        decode = partial(_decoded, shared, self._used, self._recipes, self._residents)
        self.part = MpsPart(replicas=self._replicas, decode=decode)

    def add_recipes(self, c: int, one: WorkloadClass, is_served: Sequence[Any]) -> None:
        """Each member that is served takes a recipe: it can use no partition."""
        self.part.settled.update(one.members)
        served = mathopt.LinearSum(is_served[w] for w in one.members)
        chosen = []
        for r, recipe in enumerate(one.recipes):
            variable = self._model.add_integer_variable(lb=0, ub=len(one.members), name=f"y_{c}_{r}")
            self._recipes.append((c, recipe, variable))
            chosen.append(variable)
            for item, times in multiplicities(recipe).items():
                self._wanted[item].append(times * variable)
        self._model.add_linear_constraint(mathopt.LinearSum(chosen) - served >= 0, name=f"served_{c}")

    def add_residents(self, one: WorkloadClass) -> None:
        """Each member takes what it likes of the items of its recipes, beside partitions."""
        most: Counter[int] = reduce(or_, map(Counter, one.recipes), Counter())  # of each item as some recipe has
        for w in one.members:
            for item, times in most.items():
                variable = self._model.add_integer_variable(lb=0, ub=times, name=f"d_{w}_{item}")
                self._residents.append((w, item, variable))
                self._wanted[item].append(variable)
                self.part.carried.setdefault(w, []).append(self._shared.items[item].part * variable)
                self._replicas.setdefault(w, []).append(variable)

    def supply(self, resolved: ResolvedProblem) -> None:
        """The columns hold every item as often as it is wanted."""
        supplied: dict[int, list[Any]] = {i: [] for i in range(len(self._shared.items))}
        for column, variable in self._used:
            self.part.gpus.append((column.gpu, variable))
            capacity = resolved.mps[column.gpu].capacity_units
            self.part.slices.append(SLICES_OF_A_GPU * column.units / capacity * variable)
            for item, times in multiplicities(column.items).items():
                supplied[item].append(times * variable)
        for item, terms in self._wanted.items():
            row = mathopt.LinearSum(supplied[item]) - mathopt.LinearSum(terms)
            self._model.add_linear_constraint(row >= 0, name=f"item_{item}")


def _decoded(
    shared: MpsItems,
    used: Sequence[tuple[Column, Any]],
    recipes: Sequence[tuple[int, tuple[int, ...], Any]],
    residents: Sequence[tuple[int, int, Any]],
    values: Mapping[Any, float],
) -> MpsAnswer:
    by_item: dict[int, list[int]] = {}
    left = {c: list(reversed(one.members)) for c, one in enumerate(shared.classes)}
    for c, recipe, variable in recipes:
        for _ in range(min(round(values[variable]), len(left[c]))):
            w = left[c].pop()
            for item in recipe:
                by_item.setdefault(item, []).append(w)
    for w, item, variable in residents:
        by_item.setdefault(item, []).extend([w] * round(values[variable]))
    taken = tuple((column, round(values[z])) for column, z in used if round(values[z]))
    return MpsAnswer(taken, by_item)


def as_fluid(resolved: ResolvedProblem) -> PartBuilder:
    """Returns what adds GPUs under MPS to a program as a fluid: a relaxation of every plan."""
    classes = classes_of(resolved)
    first = [members[0] for members in classes]
    of_first = resolved.restricted_to(first)
    gpus_of = dict(zip(resolved.mps, whole_units(of_first, fluid_shares(of_first).gpus).T, strict=True))

    def build(model: mathopt.Model, is_served: Sequence[Any]) -> MpsPart:
        # A part of a rate is no count of replicas; leaving out limits on those relaxes the program further.
        part = MpsPart(replicas=None)
        for g, gpu in enumerate(resolved.mps):
            gpus = model.add_integer_variable(lb=0, name=f"m_{g}")
            part.gpus.append((gpu, gpus))
            taken = []
            for c, members in enumerate(classes):
                if not np.isfinite(gpus_of[gpu][c]):
                    continue
                alike = [members] if not resolved.capacity_rps[members[0]].any() else [(w,) for w in members]
                for own in alike:
                    variable = model.add_variable(lb=0, ub=len(own), name=f"u_{own[0]}_{g}")
                    taken.append(float(gpus_of[gpu][c]) * variable)
                    part.carried.setdefault(own[0], []).append(variable)
            model.add_linear_constraint(mathopt.LinearSum(taken) <= gpus, name=f"fluid_{g}")
        for c, members in enumerate(classes):
            if not resolved.capacity_rps[members[0]].any():
                part.settled.update(members)
                carried = mathopt.LinearSum(part.carried.pop(members[0], []))
                served = mathopt.LinearSum(is_served[w] for w in members)
                model.add_linear_constraint(carried - served >= 0, name=f"served_{c}")
        return part

    return build
