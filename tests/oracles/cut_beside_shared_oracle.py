"""
The least cost of A30s that are cut beside GPUs under MPS, by trying every content of every GPU.

What a cut GPU carries is tried too: each of the four ways to cut an A30 (NVIDIA MIG User Guide), and on each instance
every service that may be there, or none. GPUs are then chosen as mps_oracle.py does, rates split between both kinds.
"""

from itertools import product

from oracles.mps_oracle import Content, Oracle, best_carried

A30 = "A30-24GB"

CUTS = (("4g.24gb",), ("2g.12gb",) * 2, ("2g.12gb", "1g.6gb", "1g.6gb"), ("1g.6gb",) * 4)

MEMORY_MIB = {"1g.6gb": 5800, "2g.12gb": 11_600, "4g.24gb": 24_002}
"""What processes may take; the drawn needs are not near these."""


class CutBesideShared(Oracle):
    """As its base, with GPUs that are cut."""

    def contents(self):
        """Returns what one GPU can carry, for all types."""
        return [*super().contents(), *self._of_cuts()]

    def _of_cuts(self):
        capacity = self.capacities()
        services = range(len(self.problem.workloads))
        found = {}
        for cut in CUTS:
            for taken in product([None, *services], repeat=len(cut)):
                placed = [(w, size) for w, size in zip(taken, cut, strict=True) if w is not None]
                if not placed or any(one not in capacity for one in placed):
                    continue
                carried = tuple(sum(capacity[one] for one in placed if one[0] == w) for w in services)
                replicas = tuple(sum(one[0] == w for one in placed) for w in services)
                found.setdefault(replicas, []).append(carried)
        return [
            Content(A30, carried, replicas)
            for replicas, options in found.items()
            for carried in best_carried(options, self.required)
        ]

    def capacities(self):
        """Returns the most requests/s of each service on each size, where it is in time and fits."""
        found = {}
        for w, workload in enumerate(self.problem.workloads):
            profile = self.by_key.get((workload.model, A30))
            if profile is None or (workload.gpus is not None and A30 not in workload.gpus):
                continue
            for point in profile.points:
                size = point.mig_profile
                fits = workload.memory_mib is None or workload.memory_mib * point.processes <= MEMORY_MIB[size]
                allowed = workload.batch_sizes is None or point.batch in workload.batch_sizes
                if fits and allowed and point.latency_ms <= self.limit[w]:
                    found[w, size] = max(found.get((w, size), 0.0), point.throughput_rps)
        return found
