"""
Whether a small fleet serves a problem with all its settings, and the most that it could carry then.

GPU by GPU and case by case, in a program of its own.

It shares no modelling code with the exact planner: instances stand at places of named GPUs and cover memory slices, no
layout is listed, and every loss of a GPU and every set of services that need more rate is written out.
"""

from itertools import combinations
from pathlib import Path

import pulp
from pulp.apis.coin_api import pulp_cbc_path

from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


def fits(problem, profiles=None):
    """Tells whether all services have their places, and what is to be kept free is; every type needs a count."""
    program, _ = _program(problem, profiles)
    program.setObjective(pulp.lpSum([]))
    # CBC calls an infeasibility that only branching shows by several names; any solution is the answer looked for.
    program.solve(_cbc())
    return program.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)


def most_requests(problem, profiles=None):
    """Returns the most requests/s that the places of services carry, all counted alike; None: there is no plan."""
    program, carried = _program(problem, profiles)
    program.setObjective(carried)
    program.solve(_cbc(gapRel=0.0))
    if program.sol_status != pulp.LpSolutionOptimal:
        return None
    return pulp.value(carried)


def _cbc(**options):
    return pulp.COIN_CMD(path=str(Path(pulp_cbc_path).resolve()), msg=False, timeLimit=60, **options)


def _program(problem, profiles):
    """Returns the rows that all of it asks for, and what services carry."""
    resolved = resolve(problem, profiles or shipped_profiles())
    settings = problem.settings
    program = pulp.LpProblem("oracle", pulp.LpMaximize)
    gpus = [(entry, i) for entry in resolved.fleet for i in range(entry.available)]
    sizes, workloads = range(len(resolved.sizes)), range(len(problem.workloads))
    used, free, more_of = {}, {}, {}
    for g, (entry, _) in enumerate(gpus):
        places = []
        for k in sizes:
            size = resolved.sizes[k]
            if size.gpu != entry.gpu.name:
                continue
            starts, length = (size.mig.starts, size.mig.memory_slices) if size.mig else ((0,), axis(entry))
            here = [program.add_variable(f"z_{g}_{k}_{s}", cat="Binary") for s in starts]
            places += [(s, s + length, one) for s, one in zip(starts, here, strict=True)]
            free[g, k] = program.add_variable(f"f_{g}_{k}", 0, cat="Integer")
            for w in workloads:
                if resolved.capacity_rps[w, k] > 0:
                    used[g, k, w] = program.add_variable(f"n_{g}_{k}_{w}", 0, cat="Integer")
            taken = [variable for (gpu, size, _), variable in used.items() if (gpu, size) == (g, k)]
            program += pulp.lpSum(taken) + free[g, k] == pulp.lpSum(here)
        for at in range(axis(entry)):
            program += pulp.lpSum(one for first, end, one in places if first <= at < end) <= 1

    def partitions(w, k=None):
        return [one for (_, size, who), one in used.items() if who == w and k in (None, size)]

    for w, workload in enumerate(problem.workloads):
        required = float(resolved.required_rps[w])
        carried = [float(resolved.capacity_rps[w, k]) / required * pulp.lpSum(partitions(w, k)) for k in sizes]
        program += pulp.lpSum(carried) >= 1
        program += pulp.lpSum(partitions(w)) >= workload.min_replicas
        if workload.max_replicas is not None:
            program += pulp.lpSum(partitions(w)) <= workload.max_replicas
        if settings.spare_services:
            extra = [program.add_variable(f"e_{w}_{k}", 0, cat="Integer") for k in sizes]
            more_of |= {(w, k): extra[k] for k in sizes}
            more = [float(resolved.capacity_rps[w, k]) / required * extra[k] for k in sizes]
            program += pulp.lpSum([*carried, *more]) >= 1 + settings.spare_rate
            if workload.max_replicas is not None:
                program += pulp.lpSum([*partitions(w), *extra]) <= workload.max_replicas
    kept = {k: pulp.lpSum(one for (_, size), one in free.items() if size == k) for k in sizes}
    at_once = min(settings.spare_services, len(workloads))
    for services in combinations(workloads, at_once) if at_once else ():
        for k in sizes:
            program += pulp.lpSum(more_of[w, k] for w in services) <= kept[k]
    for g in range(len(gpus)) if settings.spare_gpu_loss else ():
        for k in sizes:
            if (g, k) in free:
                lost = [one for (gpu, size, _), one in used.items() if (gpu, size) == (g, k)]
                program += pulp.lpSum(lost) <= kept[k] - free[g, k]
    return program, pulp.lpSum(float(resolved.capacity_rps[w, k]) * one for (_, k, w), one in used.items())


def axis(entry):
    """Returns the memory slices of a GPU, 1 where it has no MIG."""
    return entry.gpu.mig.placement_units if entry.gpu.mig else 1
