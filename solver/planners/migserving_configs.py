"""
GPU configurations of MIG-serving and their scores, for all its planners.

A configuration is a way to cut a GPU and one workload for each of its instances. Only the number of instances of
each size that a workload gets matters, so a configuration is kept as the partition (a multiset of sizes to which
nothing can be added) split among a few workloads: `ways_to_split`. Its utility for workload i is the part of i's rate
that its instances carry, u_i; the completion c_i adds up the utilities of the configurations chosen so far.
Scores are computed for many workload tuples and all splits at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil

import numpy as np

from ..model.geometry import maximal_multisets, placement_rules
from ..performance.fleet_types import FleetType
from ..performance.interference.prediction import Floats, Ints
from ..performance.resolve import ResolvedProblem

DONE = 5e-10
"""Part of its rate that a workload may miss and still count as served: rounding."""

SIGNIFICANT = 2.0**40
"""Scores are compared to 40 binary digits, so that ties do not hang on rounding."""


@dataclass(frozen=True)
class Scoring:
    """Which configurations are candidates, and what they are worth."""

    capped: bool
    """Whether a utility counts only up to what is missing of its workload's rate."""
    mixing: int
    """Most workloads on one GPU."""
    last_mile_mixing: int
    """The same in the last mile, see `ConfigurationSpace.is_last_mile`."""


LAST_MILE_WORKLOADS = 7
"""One GPU has no more instances."""

LAST_MILE_GPUS = 4
"""Few large rates are no last mile: the lower bound for what is left is at most this."""


@dataclass(frozen=True, eq=False)
class Configuration:
    """One GPU: the instances of each workload."""

    workloads: tuple[int, ...]
    instances: tuple[Ints, ...]
    """For each of the workloads the numbers of its instances, shape (size,)."""
    utility: tuple[float, ...]
    """Part of its rate that each of the workloads gets."""


@dataclass(frozen=True, eq=False)
class ConfigurationSpace:
    """All that the configurations of one GPU type are made of."""

    sizes: tuple[int, ...]
    """Partition sizes, as indices into ResolvedProblem.sizes, largest first."""
    utility: Floats
    """Shape (workload, size): part of the workload's rate that one instance carries; 0: it cannot use the size."""
    partitions: Ints
    """Shape (partition, size): instances; fewest instances first, then those with the larger sizes."""
    slices: Floats
    """Shape (size,): compute slices."""
    gpu_slices: int

    @cached_property
    def slices_needed(self) -> Floats:
        """Shape (workload,): compute slices that its whole rate takes on the size that is most efficient for it."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.min(self.slices / self.utility, axis=1), dtype=float)

    def bound(self, left: Floats) -> int:
        """Returns a number of GPUs that the rates left, as parts of the whole, need at least (see the planners)."""
        return ceil(float(self.slices_needed @ left) / self.gpu_slices - DONE)

    def is_last_mile(self, left: Floats) -> bool:
        """Tells whether so little is left that all sets of the unfinished workloads can be looked at (ours)."""
        return int(np.count_nonzero(left > DONE)) <= LAST_MILE_WORKLOADS and self.bound(left) <= LAST_MILE_GPUS

    @cached_property
    def _splits(self) -> dict[int, Ints]:
        return {}

    def ways_to_split(self, workloads: int) -> Ints:
        """Returns shape (way, workload, size): all ways to give the instances of a partition to so many workloads."""
        if workloads not in self._splits:
            self._splits[workloads] = _ways_to_split(self.partitions, workloads)
        return self._splits[workloads]


def configuration_space(resolved: ResolvedProblem, entry: FleetType) -> ConfigurationSpace:
    """Returns what the configurations of a GPU type are made of: its partitions into sizes that someone can use."""
    sizes = [k for k in resolved.sizes_of(entry.gpu.name) if resolved.capacity_rps[:, k].any()]
    names = [resolved.sizes[k].name for k in sizes]
    cuts = maximal_multisets(placement_rules(entry.geometry, names))
    counts = [tuple(cut.count(name) for name in names) for cut in cuts]
    counts.sort(key=lambda count: (sum(count), [-number for number in count]))
    return ConfigurationSpace(
        sizes=tuple(sizes),
        utility=resolved.capacity_rps[:, sizes] / resolved.required_rps[:, None],
        partitions=np.array(counts, dtype=np.int64),
        slices=np.array([resolved.sizes[k].profile.compute_slices for k in sizes], dtype=float),
        gpu_slices=entry.geometry.compute_slices,
    )


def scores(space: ConfigurationSpace, members: Ints, left: Floats, *, capped: bool) -> Floats:
    """
    Returns the scores of all configurations of some tuples of workloads, shape (tuple, way).

    Parameters
    ----------
    members
        Shape (tuple, workload of the tuple).
    left
        Shape (workload,): the part of its rate that each workload misses, 1 - c.
    """
    ways = space.ways_to_split(members.shape[1]).astype(float)
    total = np.zeros((members.shape[0], ways.shape[0]))
    for slot in range(members.shape[1]):
        missing = left[members[:, slot], None]
        utility = space.utility[members[:, slot]] @ ways[:, slot].T
        if capped:
            np.minimum(utility, missing, out=utility)
        utility *= missing
        total += utility
    return total


def comparable(worth: Floats) -> Floats:
    """Returns scores rounded to compare them: relatively, because the last bit of a rate must not score 0."""
    mantissa, exponent = np.frexp(worth)
    return np.asarray(np.ldexp(np.round(mantissa * SIGNIFICANT) / SIGNIFICANT, exponent), dtype=float)


def first_best(worth: Floats) -> tuple[int, int]:
    """Returns the tuple and the way of the best score; of equals the first."""
    row = int(np.argmax(comparable(worth.max(axis=1))))
    return row, int(np.argmax(comparable(worth[row])))


def configuration(space: ConfigurationSpace, members: Sequence[int], way: int) -> Configuration:
    """Returns one configuration of a tuple of workloads."""
    return of_instances(space, dict(zip(members, space.ways_to_split(len(members))[way], strict=True)))


def of_instances(space: ConfigurationSpace, instances: Mapping[int, Ints]) -> Configuration:
    """Returns the configuration with these instances by workload, without those that their workload cannot use."""
    used = {w: np.where(space.utility[w] > 0, own, 0) for w, own in instances.items()}
    kept = tuple(w for w, own in used.items() if own.any())
    return Configuration(kept, tuple(used[w] for w in kept), tuple(float(space.utility[w] @ used[w]) for w in kept))


def tuples_of(workloads: Ints, mixing: int) -> Ints:
    """Returns every set of so many of the workloads, or of all if there are fewer; shape (set, workload)."""
    size = min(mixing, len(workloads))
    chosen = list(combinations(range(len(workloads)), size))
    return workloads[np.array(chosen, dtype=np.int64).reshape(len(chosen), size)]


def best_configurations(
    space: ConfigurationSpace, candidates: Ints, left: Floats, *, mixing: int, capped: bool, count: int = 1
) -> list[Configuration]:
    """Returns the configurations of best score that serve candidates only, best first; of equals the first listed."""
    members = tuples_of(candidates, mixing)
    worth = scores(space, members, left, capped=capped)
    if count == 1:
        row, way = first_best(worth)
        return [configuration(space, [int(w) for w in members[row]], way)]
    found: dict[object, Configuration] = {}
    for index in np.argsort(-comparable(worth.ravel()), kind="stable"):
        row, way = divmod(int(index), worth.shape[1])
        config = configuration(space, [int(w) for w in members[row]], way)
        key = (config.workloads, b"".join(own.tobytes() for own in config.instances))
        found.setdefault(key, config)  # tuples that share a workload list its configurations several times
        if len(found) == count:
            break
    return list(found.values())


def _ways_to_split(partitions: Ints, workloads: int) -> Ints:
    """Returns the splits of each partition: those that give most to the first workloads come first."""
    ways = []
    for counts in partitions:
        splits: list[list[tuple[int, ...]]] = [[]]
        for number in counts:
            shares = _shares(int(number), workloads)
            splits = [[*split, share] for split in splits for share in shares]
        ways += [np.array(split, dtype=np.int64).T for split in splits]
    return np.array(ways, dtype=np.int64)


def _shares(number: int, workloads: int) -> list[tuple[int, ...]]:
    """Returns the ways to hand out so many equal instances, (number, 0, ..) first."""
    if workloads == 1:
        return [(number,)]
    return [(first, *rest) for first in range(number, -1, -1) for rest in _shares(number - first, workloads - 1)]
