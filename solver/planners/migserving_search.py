"""
The slow algorithm of MIG-serving: a genetic algorithm that erases GPUs and refills them by tree search.

Genetic algorithm (reconstructed). An individual is a deployment that serves every rate. Of each generation every
individual has a child: some GPUs are erased at random (the paper's crossover, of a single parent) and what is
missing then is served anew by the tree search; before that, instances of one size on two GPUs swap their workloads
(mutation: every rate is served as before, but the GPUs have another mix). Parents survive; the fewest GPUs
count, then the least throughput beyond what is needed. It ends after `IDLE_GENERATIONS` without fewer GPUs, or at
the paper's lower bound.

Tree search (reconstructed). A node is what is left of each rate, and a step down adds a configuration, of which
the `CHILDREN` of best score are tried. A node is valued by playing on with random configurations, drawn from a pool
that depends only on which workloads are unfinished and is kept for the next time. The reward is the lower bound
over the GPUs used; children are selected by UCT.

Ours: the numbers below, far smaller than hours of search would ask for; at most `MOST_ERASED` GPUs are erased, so that
the tree stays shallow on large problems; the candidates of a tree are the best configurations of at most `TUPLES` sets
of workloads; a random configuration is the better of `DRAWS`; the last few workloads are finished by the best
configurations and not by random ones; and the greedy refill is the first to beat. Every count is limited, so
without a time limit the result depends on the seed alone.
"""

import random
import time
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ..performance.interference.prediction import Floats, Ints
from ..runtime.progress import report
from .migserving_configs import (
    DONE,
    Configuration,
    ConfigurationSpace,
    Scoring,
    best_configurations,
    of_instances,
    scores,
)
from .migserving_greedy import greedy, taken

POPULATION = 8
IDLE_GENERATIONS = 10
MOST_GENERATIONS = 100
ERASED = (0.1, 0.3)
"""Range of the part of the GPUs that is erased."""
LEAST_ERASED, MOST_ERASED = 2, 12
SWAPS = 2
SWAP_ATTEMPTS = 8

ITERATIONS = 50
"""Nodes that one tree search adds."""
CHILDREN = 10
POOL = 50
"""Configurations that a random one is drawn from."""
DRAWS = 4
UCT = 1.4
TUPLES = 400
WAYS_KEPT = 4
"""Configurations of each set of workloads among the candidates."""
FINISHED_BY_BEST = 3
"""So many unfinished workloads are finished by the best configurations."""

Deployment = list[Configuration]


def search(
    space: ConfigurationSpace, start: Deployment, scoring: Scoring, *, seed: int, deadline: float
) -> tuple[Deployment, bool]:
    """
    Returns the best deployment found from one to start with, and whether the search ran out of time.

    Parameters
    ----------
    deadline
        By `time.monotonic`.
    """
    draw = random.Random(seed)
    bound = space.bound(np.ones(len(space.utility)))
    population = [start]
    idle = 0
    for generation in range(1, MOST_GENERATIONS + 1):
        report(f"migserving-slow: generation {generation}, {len(population[0])} GPUs, at least {bound}")
        if idle == IDLE_GENERATIONS or len(population[0]) <= bound:
            break
        children: list[Deployment] = []
        for i in range(POPULATION):
            if time.monotonic() >= deadline:
                break
            parent = swapped(space, population[i % len(population)], draw)
            children.append(refilled(space, parent, scoring, draw, deadline))
        fewest = len(population[0])
        # Children first: among equals the newer one brings new material.
        population = sorted([*children, *population], key=lambda one: _fitness(space, one))[:POPULATION]
        idle = idle + 1 if len(population[0]) == fewest else 0
        if time.monotonic() >= deadline:
            return population[0], True
    return population[0], False


def _fitness(space: ConfigurationSpace, deployment: Deployment) -> tuple[int, float]:
    beyond = np.maximum(completion(space, deployment) - 1, 0)
    return len(deployment), round(float(beyond.sum()), 9)


def completion(space: ConfigurationSpace, deployment: Deployment) -> Floats:
    """Returns the part of its rate that each workload gets."""
    total = np.zeros(len(space.utility))
    for config in deployment:
        for w, part in zip(config.workloads, config.utility, strict=True):
            total[w] += part
    return total


def refilled(
    space: ConfigurationSpace, parent: Deployment, scoring: Scoring, draw: random.Random, deadline: float
) -> Deployment:
    """Returns the parent with some GPUs erased and what is missing served anew."""
    wanted = max(LEAST_ERASED, round(len(parent) * draw.uniform(*ERASED)))
    erased = set(draw.sample(range(len(parent)), min(wanted, MOST_ERASED, len(parent))))
    kept = [config for g, config in enumerate(parent) if g not in erased]
    left = np.maximum(0.0, 1 - completion(space, kept))
    if not np.any(left > DONE):
        return kept
    return kept + _Tree(space, left, scoring, draw).refill(deadline)


def swapped(space: ConfigurationSpace, deployment: Deployment, draw: random.Random) -> Deployment:
    """Returns the deployment with the workloads of some pairs of equal instances swapped."""
    changed = list(deployment)
    swaps = 0
    for _ in range(SWAP_ATTEMPTS if len(changed) > 1 else 0):
        one, other = draw.sample(range(len(changed)), 2)
        w, k = draw.choice(_instances(changed[one]))
        partners = [v for v, size in _instances(changed[other]) if size == k and v != w]
        if partners:
            v = draw.choice(partners)
            changed[one] = _exchanged(space, changed[one], k, gone=w, new=v)
            changed[other] = _exchanged(space, changed[other], k, gone=v, new=w)
            swaps += 1
        if swaps == SWAPS:
            break
    return changed


def _instances(config: Configuration) -> list[tuple[int, int]]:
    """Returns the kinds of instances of a GPU, by workload and size."""
    return [(w, int(k)) for w, own in zip(config.workloads, config.instances, strict=True) for k in np.flatnonzero(own)]


def _exchanged(space: ConfigurationSpace, config: Configuration, k: int, *, gone: int, new: int) -> Configuration:
    instances = {w: own.copy() for w, own in zip(config.workloads, config.instances, strict=True)}
    instances[gone][k] -= 1
    instances.setdefault(new, np.zeros_like(instances[gone]))[k] += 1
    return of_instances(space, instances)


@dataclass(eq=False)
class _Node:
    """What is left of the rates after some configurations."""

    left: Floats
    chosen: Deployment
    untried: Deployment
    """Configurations that have no node yet, the best last."""
    children: list["_Node"] = field(default_factory=list)
    visits: int = 0
    reward: float = 0.0


class _Tree:
    """The search for few configurations that serve what is left."""

    def __init__(self, space: ConfigurationSpace, left: Floats, scoring: Scoring, draw: random.Random) -> None:
        self._space = space
        self._left = left
        self._scoring = scoring
        self._draw = draw
        self._bound = max(1, space.bound(left))
        self._pools: dict[bytes, list[int]] = {}
        self._configurations: dict[int, Configuration] = {}

    def refill(self, deadline: float) -> Deployment:
        """Returns the fewest configurations found."""
        best = greedy(self._space, self._left, self._scoring)
        if len(best) <= self._bound:
            return best
        self._find_candidates()
        root = self._node(self._left, [])
        for _ in range(ITERATIONS):
            if len(best) <= self._bound or time.monotonic() >= deadline:
                break
            path = [root]
            while not path[-1].untried and path[-1].children:
                path.append(self._selected(path[-1]))
            if path[-1].untried:
                path.append(self._expanded(path[-1]))
            found = path[-1].chosen + self._played_on(path[-1].left)
            for node in path:
                node.visits += 1
                node.reward += self._bound / len(found)
            if len(found) < len(best):
                best = found
        return best

    def _find_candidates(self) -> None:
        """Finds the candidates, best first: of each set of workloads its best ways to split."""
        unfinished = np.flatnonzero(self._left > DONE)
        last_mile = self._space.is_last_mile(self._left)
        mixing = min(self._scoring.last_mile_mixing if last_mile else self._scoring.mixing, len(unfinished))
        members, splits, worth = [], [], []
        for sets in (self._sets_of(unfinished, mixing), unfinished[:, None]):  # alone too: there is always one to draw
            scored = scores(self._space, sets, self._left, capped=self._scoring.capped)
            ways = np.argsort(-scored, axis=1, kind="stable")[:, :WAYS_KEPT]
            free = mixing - sets.shape[1]
            split = self._space.ways_to_split(sets.shape[1])[ways.ravel()]
            # A free slot repeats a workload, with no instance for it.
            members.append(np.repeat(np.pad(sets, ((0, 0), (0, free)), mode="edge"), ways.shape[1], axis=0))
            splits.append(np.pad(split, ((0, 0), (0, free), (0, 0))))
            worth.append(np.take_along_axis(scored, ways, axis=1).ravel())
        value = np.concatenate(worth)
        order = np.argsort(-value, kind="stable")
        order = order[value[order] > 0]
        self._members: Ints = np.concatenate(members)[order]
        self._splits: Ints = np.concatenate(splits)[order]
        self._utility: Floats = np.einsum("csk,csk->cs", self._space.utility[self._members], self._splits)

    def _candidate(self, i: int) -> Configuration:
        if i not in self._configurations:
            instances: dict[int, Ints] = {}
            for w, own in zip(self._members[i], self._splits[i], strict=True):
                instances[int(w)] = instances.get(int(w), 0) + own
            self._configurations[i] = of_instances(self._space, instances)
        return self._configurations[i]

    def _sets_of(self, unfinished: NDArray[np.int64], mixing: int) -> Ints:
        if comb(len(unfinished), mixing) <= TUPLES:
            return np.array(list(combinations(unfinished.tolist(), mixing)), dtype=np.int64)
        drawn = [sorted(self._draw.sample(unfinished.tolist(), mixing)) for _ in range(TUPLES)]
        return np.array(drawn, dtype=np.int64)

    def _node(self, left: Floats, chosen: Deployment) -> _Node:
        unfinished = np.flatnonzero(left > DONE)
        if not len(unfinished):
            return _Node(left, chosen, [])
        if len(unfinished) <= FINISHED_BY_BEST:
            return _Node(left, chosen, self._best_for(unfinished, left, CHILDREN)[::-1])
        missing = left[self._members]
        part = np.minimum(self._utility, missing) if self._scoring.capped else self._utility
        worth = np.sum(part * missing, axis=1)
        best = [int(i) for i in np.argsort(-worth, kind="stable")[:CHILDREN] if worth[i] > 0]
        return _Node(left, chosen, [self._candidate(i) for i in reversed(best)])

    def _best_for(self, unfinished: Ints, left: Floats, count: int) -> Deployment:
        mixing, capped = self._scoring.last_mile_mixing, self._scoring.capped
        return best_configurations(self._space, unfinished, left, mixing=mixing, capped=capped, count=count)

    def _selected(self, node: _Node) -> _Node:
        """Returns the child of the greatest upper confidence limit; of equals the first."""
        logarithm = log(node.visits)
        return max(node.children, key=lambda one: one.reward / one.visits + UCT * sqrt(logarithm / one.visits))

    def _expanded(self, node: _Node) -> _Node:
        config = node.untried.pop()
        left = node.left.copy()
        taken(config, left)
        node.children.append(self._node(left, [*node.chosen, config]))
        return node.children[-1]

    def _played_on(self, left: Floats) -> Deployment:
        """Returns random configurations that serve what is left."""
        left = left.copy()
        chosen: Deployment = []
        while True:
            unfinished = left > DONE
            number = int(np.count_nonzero(unfinished))
            if not number:
                return chosen
            if number <= FINISHED_BY_BEST:
                config = self._best_for(np.flatnonzero(unfinished), left, 1)[0]
            else:
                pool = self._pool(unfinished)
                config = max(
                    (self._candidate(self._draw.choice(pool)) for _ in range(DRAWS)),
                    key=lambda one: _worth(one, left),
                )
            chosen.append(config)
            taken(config, left)

    def _pool(self, unfinished: NDArray[np.bool_]) -> list[int]:
        """Returns the best candidates that serve unfinished workloads only."""
        key = unfinished.tobytes()
        if key not in self._pools:
            usable = np.flatnonzero(unfinished[self._members].all(axis=1))
            self._pools[key] = [int(i) for i in usable[:POOL]]
        return self._pools[key]


def _worth(config: Configuration, left: Floats) -> float:
    """Returns the capped score."""
    return sum(
        float(left[w]) * min(part, float(left[w])) for w, part in zip(config.workloads, config.utility, strict=True)
    )
