"""Random problems on small CPUs that are put into the catalogue for a test, and on GPUs that are used whole."""

from contextlib import contextmanager
from random import Random
from unittest import mock

from sliceplan.solver.model.catalogue import load_cpus
from sliceplan.solver.model.cpu import Cpu
from sliceplan.solver.model.problem import Problem

TREES = ((4, 1, 1), (6, 1, 1), (3, 2, 1), (2, 3, 1), (4, 2, 1), (2, 2, 2), (1, 4, 1), (3, 1, 2), (2, 2, 3))
"""Cores of an L3 domain, domains of a NUMA node, nodes."""


def small_cpu(tree, name=None, memory_gib=None):
    """Returns a CPU with such cores."""
    domain, domains, nodes = tree
    facts = {
        "cores": domain * domains * nodes,
        "threads_per_core": 2,
        "l3_domain_cores": domain,
        "numa_nodes": nodes,
        "l3_mib_per_domain": 16,
        "memory_gib": memory_gib or 16,
        "memory_bandwidth_gb_s": 50,
        "tdp_w": 100,
    }
    name = name or name_of(tree)
    return Cpu(
        name=name, vendor="none", architecture="made up", **{k: {"value": v, "source": "-"} for k, v in facts.items()}
    )


def name_of(tree):
    return "Small-" + "x".join(map(str, tree))


@contextmanager
def small_cpus():
    """Puts the small CPUs into the catalogue."""
    small = {cpu.name: (f"{cpu.name}.json", cpu.model_dump_json()) for cpu in map(small_cpu, TREES)}
    with mock.patch.dict(load_cpus()._text, small):
        yield {name_of(tree): tree for tree in TREES}


def allowed(tree):
    """Returns the numbers of cores that a partition may have."""
    domain, domains, nodes = tree
    within = set(range(1, domain + 1))
    whole = {domain * m for m in range(1, domains + 1)} | {domain * domains * k for k in range(1, nodes + 1)}
    return sorted(within | whole)


def drawn_problem(seed):
    """Returns a problem of up to three services on up to two CPU types and a GPU type."""
    draw = Random(seed)
    trees = draw.sample(TREES, draw.choice((1, 1, 2)))
    fleet = [
        {
            "cpu": name_of(tree),
            "count": draw.choice((None, None, 1, 2, 3)),
            "price_per_hour": draw.choice((0.5, 1, 1.3, 2, 2.75)),
        }
        for tree in trees
    ]
    if draw.random() < 0.5:
        fleet.append(
            {
                "gpu": "T4",
                "sharing": ["exclusive"],
                "count": draw.choice((None, 1, 2)),
                "price_per_hour": draw.choice((0.6, 1, 3)),
            }
        )
    workloads = [
        {
            "name": f"w{i}",
            "model": f"m{i}",
            "rate_rps": draw.choice((7, 20, 40, 75.5, 90)),
            "slo_ms": draw.choice((20, 60, 200)),
            "max_replicas": draw.choice((None, None, 1, 2)),
        }
        for i in range(draw.choice((1, 2, 2, 3)))
    ]
    profiles = []
    for i in range(len(workloads)):
        for tree in trees:
            sizes = draw.sample(allowed(tree), min(len(allowed(tree)), draw.choice((1, 2, 3))))
            points = [
                {
                    "cores": cores,
                    "batch": batch,
                    "processes": processes,
                    "latency_ms": (latency := round(draw.uniform(8, 60) / cores**0.7, 2)),
                    "throughput_rps": round(1000 * batch * processes / latency * draw.uniform(0.6, 1), 2),
                }
                for cores in sizes
                for batch, processes in draw.sample([(1, 1), (2, 1), (1, 2), (1, 4)], draw.choice((1, 2)))
            ]
            profiles.append({"model": f"m{i}", "cpu": name_of(tree), "points": points, "provenance": MADE_UP})
        if draw.random() < 0.7:
            point = {"sm_percent": 100, "batch": 1, "processes": 1, "latency_ms": 9.5, "throughput_rps": 100}
            profiles.append({"model": f"m{i}", "gpu": "T4", "points": [point], "provenance": MADE_UP})
    return Problem.model_validate(
        {
            "version": 1,
            "name": f"cpus-{seed}",
            "fleet": fleet,
            "workloads": workloads,
            "settings": {"headroom": draw.choice((0.0, 0.1))},
            "profiles": profiles,
        }
    )


MADE_UP = {"source": "made up", "method": "synthetic"}
