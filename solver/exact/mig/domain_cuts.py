"""
CPUs whose divisions are too many to list, as variables: how CPUs are divided, and how their domains, each by itself.

    u_p     CPUs whose nodes and domains are taken as p (outer_divisions), with f_p domains left
    y_q     domains that are cut as q (domain_cuts)
    sum_q y_q <= sum_p f_p u_p

This is as exact as a variable for each division. A division is some p with a cut of each domain that it leaves, each
part of some maximal q, so its CPUs and domains keep the row. Conversely the domains that are cut can be dealt to those
that are left in any way, as all of them are alike, and partitions of several domains fit on each CPU as p does.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ortools.math_opt.python import mathopt

from ...model.core_partitions import Cores, starts_of
from ...model.sharing import cores_in_words, cores_named
from ...performance.core_divisions import OuterDivision
from ...performance.fleet_types import FleetType
from .patterns import Pattern


class DomainCuts:
    """The variables of one CPU type, and what becomes of them."""

    def __init__(
        self, model: Any, entry: FleetType, outer: Sequence[OuterDivision], cuts: Sequence[Cores], name: str
    ) -> None:
        self._entry = entry
        self._outer = [(one, model.add_integer_variable(lb=0, name=f"u_{name}_{p}")) for p, one in enumerate(outer)]
        self._cuts = [(cut, model.add_integer_variable(lb=0, name=f"y_{name}_{q}")) for q, cut in enumerate(cuts)]
        cut = mathopt.LinearSum(y for _, y in self._cuts)
        left = mathopt.LinearSum(one.domains_left * u for one, u in self._outer)
        model.add_linear_constraint(cut - left <= 0, name=f"domains_{name}")

    @property
    def gpus(self) -> list[tuple[str, Any]]:
        """The CPU type with each variable that counts CPUs."""
        return [(self._entry.gpu.name, u) for _, u in self._outer]

    def partitions(self, cores: int) -> Iterator[Any]:
        """Yields what there is of partitions of a size: terms whose sum it is."""
        for one, u in self._outer:
            if number := one.partitions.count(cores):
                yield number * u
        for cut, y in self._cuts:
            if number := cut.count(cores):
                yield number * y

    def patterns(self, values: Mapping[Any, float]) -> list[tuple[Pattern, int]]:
        """Returns the divisions of whole CPUs, from a solution; domains are dealt in the order of the cuts."""
        cuts = [cut for cut, y in self._cuts for _ in range(round(values[y]))]
        found: Counter[Cores] = Counter()
        for one, u in self._outer:
            for _ in range(round(values[u])):
                dealt, cuts = cuts[: one.domains_left], cuts[one.domains_left :]
                found[*one.partitions, *sorted((size for cut in dealt for size in cut), reverse=True)] += 1
        name = self._entry.gpu.name
        return [(Pattern(name, tuple(map(cores_in_words, cores))), times) for cores, times in found.items()]

    def values(self, patterns: Sequence[tuple[Pattern, int]]) -> dict[Any, float] | None:
        """Returns divisions of CPUs as values of the variables; None: they do not fit."""
        tree, values = self._entry.tree, dict.fromkeys([*(u for _, u in self._outer), *(y for _, y in self._cuts)], 0.0)
        of_outer = {one.partitions: u for one, u in self._outer}
        for pattern, times in patterns:
            if pattern.gpu != self._entry.gpu.name:
                continue
            cores = tuple(sorted(map(cores_named, pattern.profiles), reverse=True))
            starts = starts_of(tree, cores)
            if starts is None:
                return None
            values[of_outer[tuple(one for one in cores if one > tree.domain)]] += times
            domains: dict[int, list[int]] = {}
            for one, start in zip(cores, starts, strict=True):
                if one <= tree.domain:
                    domains.setdefault(start // tree.domain, []).append(one)
            for own in domains.values():
                values[next(y for cut, y in self._cuts if Counter(own) <= Counter(cut))] += times
        return values
