"""The ways in which a GPU or a CPU is cut into partitions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model.geometry import Multiset, all_multisets, maximal_multisets, placement_rules
from ...performance.fleet_types import FleetType, PartitionSize
from ...performance.interference.prediction import Ints
from ...performance.operating_points import WHOLE_GPU
from ...performance.resolve import ResolvedProblem


@dataclass(frozen=True)
class Pattern:
    """A way to cut a GPU of one type, or a CPU."""

    gpu: str
    profiles: Multiset
    """Names of its partitions: MIG profiles, WHOLE_GPU, or numbers of cores."""


def counts_of(resolved: ResolvedProblem, pattern: Pattern) -> Ints:
    """Returns how many partitions of each size a cut has, shape (size,)."""
    return np.array([pattern.profiles.count(size.name) * (pattern.gpu == size.gpu) for size in resolved.sizes])


def patterns_of(resolved: ResolvedProblem, entry: FleetType, *, every: bool = False) -> list[Pattern]:
    """
    Returns the ways to cut a GPU of one type, or a CPU, into partitions that some workload can use.

    Of a CPU with too many of them those that no prices make worth less than any other (performance/core_divisions.py):
    bounds by prices hold with these, and plans of them are plans, but a program's own bound needs domain_cuts.py.

    Parameters
    ----------
    every
        Also the cuts that leave room for more; else only the maximal ones, of which every plan uses a part.
    """
    whole = resolved.whole_of(entry.gpu.name)
    patterns = []
    if cores := used_cores(resolved, entry):
        return [Pattern(entry.gpu.name, names) for names in entry.divisions(cores)]
    if whole is not None and resolved.capacity_rps[:, whole].any():
        patterns.append(Pattern(entry.gpu.name, (WHOLE_GPU,)))
    used = [resolved.sizes[k].name for k in resolved.sizes_of(entry.gpu.name) if resolved.capacity_rps[:, k].any()]
    if used:
        rules = placement_rules(entry.geometry, used)
        cuts = all_multisets(rules) if every else maximal_multisets(rules)
        patterns += [Pattern(entry.gpu.name, profiles) for profiles in cuts]
    return patterns


def used_cores(resolved: ResolvedProblem, entry: FleetType) -> Sequence[PartitionSize]:
    """Returns the partitions of a CPU type that some workload can use; of a GPU none."""
    return [resolved.sizes[k] for k in resolved.cores_of(entry.gpu.name) if resolved.capacity_rps[:, k].any()]
