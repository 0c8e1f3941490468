"""
The most requests/s of a few small GPUs, some under MPS, by trying everything: every content, every choice of them.

Contents are those of mps_oracle.py, which knows nothing of the planner: every set of residents, batch size and share;
of GPUs that may be whole each service alone, and of A30s every cut with every service, or none, on each instance.
"""

import itertools
from dataclasses import replace

import numpy as np

from oracles.cut_beside_shared_oracle import A30, CUTS, CutBesideShared
from oracles.mps_oracle import Oracle, Task, TooLargeError
from oracles.promise_scalar import greatest_rps

MOST_CONTENTS = 1_500
LEAST_RPS = 1e-12


def most_capacity(problem, profiles, weights, over):
    """Returns the most weighted requests/s; None: the rates cannot be met. `over`: STRICT or LOOSE."""
    oracle = oracle_of(problem, profiles, over)
    tasks = [Task(w, None, LEAST_RPS) for w in range(len(problem.workloads))]
    often = [one.max_replicas or 99 for one in problem.workloads]
    of_type = [list(_every_content(oracle, tasks, often, entry)) for entry in problem.fleet]
    required = np.array(oracle.required) * (1 - over)
    least = np.array([one.min_replicas for one in problem.workloads])
    most = np.array(often)
    best = None
    for chosen in _choices(of_type, [entry.count for entry in problem.fleet]):
        rates, replicas = sum(one[0] for one in chosen), sum(one[1] for one in chosen)
        if np.all(rates >= required) and np.all(replicas >= least) and np.all(replicas <= most):
            best = max(best or 0.0, float(weights @ rates))
    return best


def _every_content(oracle, tasks, often, entry):
    """Yields what the contents of GPUs of a fleet's entry carry, and how often each service is there."""
    n = len(tasks)
    nothing = np.zeros(n)
    yield nothing, nothing
    if "mps" in entry.sharing:
        yield from contents(oracle, tasks, often, entry.gpu)
    if "exclusive" in entry.sharing:
        for w in range(n):
            for rps in oracle.alone_rps(w, entry.gpu):
                yield rps * np.eye(n)[w], np.eye(n)[w]
    if entry.gpu == A30 and "mig" in entry.sharing:
        carried = CutBesideShared(oracle.problem, oracle.profiles, oracle.over).capacities()
        found = set()
        for cut in CUTS:
            for taken in itertools.product([None, *range(n)], repeat=len(cut)):
                own = [(w, size) for w, size in zip(taken, cut, strict=True) if w is not None]
                if all(one in carried for one in own):
                    found.add(tuple(sorted(own)))
        for own in found:
            rates, replicas = np.zeros(n), np.zeros(n)
            for w, size in own:
                rates[w] += carried[w, size]
                replicas[w] += 1
            yield rates, replicas


class InTime(Oracle):
    """Residents carry what keeps a percentile in time, requests dealt in weighted turns or at random."""

    def __post_init__(self):
        super().__post_init__()
        self.limit = [one.slo_ms / 2 * (1 + self.over) for one in self.problem.workloads]

    def carried(self, residents, gpu):
        of_tasks = [replace(one, least_rps=0.0) for one in residents]
        found = []
        for one, rps in zip(residents, super().carried(of_tasks, gpu) or (), strict=False):
            settings, service = self.problem.settings, self.problem.workloads[one.task]
            own = greatest_rps(
                one.batch,
                # The solver rounds to the side of more by 1e-9.
                (one.load_ms + 1000 * one.batch / rps) * (1 - 1e-9),
                service.slo_ms * (1 + max(self.over, 0)),
                service.slo_quantile or settings.quantile,
                self.required[one.task],
                by_turns=settings.dispatch == "weighted_round_robin",
            )
            if own <= 0 or own < one.least_rps:
                return None
            found.append(own)
        return found or None


def oracle_of(problem, profiles, over):
    """Returns what residents carry by the latency rule of a problem."""
    return (InTime if problem.settings.latency == "percentile" else Oracle)(problem, profiles, over)


def contents(oracle, tasks, often, gpu):
    """Returns what the contents of a GPU carry that no other of the same residents beats, and the residents."""
    n = len(tasks)
    by_set = {(): [np.zeros(n)]}
    for members, carried in oracle.served(gpu, tasks, often):
        rates = np.bincount(members, weights=carried, minlength=n)
        own = by_set.setdefault(tuple(sorted(members)), [])
        if not any(np.all(other >= rates) for other in own):
            own[:] = [other for other in own if not np.all(rates >= other)] + [rates]
    found = [(rates, np.bincount(members, minlength=n)) for members, own in by_set.items() for rates in own]
    if len(found) > MOST_CONTENTS:
        raise TooLargeError
    return found


def _choices(of_type, counts):
    """Yields a content for every GPU."""
    sets = [
        list(itertools.combinations_with_replacement(own, count)) for own, count in zip(of_type, counts, strict=True)
    ]
    if np.prod([float(len(own)) for own in sets]) > 60_000:
        raise TooLargeError
    for picked in itertools.product(*sets):
        yield [one for own in picked for one in own]
