"""
The problems of which limits are asked, each of any number of services.

Families, random but seeded (growth.py has the first three):

    mig         A100-80GB cut by MIG
    mps-table   V100 shared by MPS, the 12 workloads of iGniter's table 3 in turn, under its rules
    mps         V100 shared by MPS, all workloads different
    mixed       one half of the services on A100s, the other on V100s or on both
    spares      mig, with partitions kept free for more rate of 2 services and for a lost GPU
    few-mig     mig, with two thirds of the GPUs that it needs
    few-mps     mps, with half of the GPUs that it needs
    infeasible  mig, with a tenth of the GPUs that it needs
    turns       services of 1 to 50 requests/s that take turns on A100s cut by MIG (many_turns.py)
    turns-mps   such services on V100s under MPS, which slow each other by iGniter's model
    inss        models like the six of the shipped InSS problem on 0.3 GPUs each (at most 1,000 models; `inss` alone)
"""

import math
from collections.abc import Callable
from typing import Any

from growth import repeated_table
from many_turns import services
from problems.igniter_instances import FLEET, V100, random_mps_problem
from problems.inss_instances import alike
from problems.instances import problem_of, random_problem

from sliceplan.solver.model.inss_problem import MOST_MODELS, InssProblem
from sliceplan.solver.model.problem import Problem


def with_counts(problem: Problem, **counts: int) -> Problem:
    """Returns the problem with so many GPUs of each type, - in names written as _."""
    count = {gpu.replace("_", "-"): number for gpu, number in counts.items()}
    fleet = tuple(entry.model_copy(update={"count": count.get(entry.gpu)}) for entry in problem.fleet)
    return problem.model_copy(update={"fleet": fleet})


def with_settings(problem: Problem, **settings: Any) -> Problem:
    """Returns the problem with other settings."""
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=settings)})


def mixed(count: int, seed: int) -> Problem:
    """Returns services of which one half may be cut from A100s and the other may use V100s."""
    on_v100 = random_mps_problem(count // 2, seed).workloads
    on_a100 = random_problem(count - count // 2, seed).workloads
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"]}, FLEET[0]]
    numbered = [one.model_copy(update={"name": f"w{i}"}) for i, one in enumerate((*on_a100, *on_v100))]
    return problem_of([one.model_dump(mode="json") for one in numbered], fleet=fleet, name=f"mixed-{count}-{seed}")


def few(problem: Problem, gpu: str, gpus_for_each: float) -> Problem:
    """Returns the problem with a number of GPUs in proportion to its services."""
    return with_counts(problem, **{gpu.replace("-", "_"): max(1, math.ceil(gpus_for_each * len(problem.workloads)))})


def of_inss(count: int, seed: int) -> InssProblem:
    """Returns a problem of as many models as InSS' problems may have, at most."""
    models = min(count, MOST_MODELS)
    gpus = math.ceil(0.15 * models)
    return alike(models, (gpus, gpus), seed)


FAMILIES: dict[str, Callable[[int, int], Any]] = {
    "mig": random_problem,
    "mps-table": repeated_table,
    "mps": random_mps_problem,
    "mixed": mixed,
    "spares": lambda count, seed: with_settings(
        random_problem(count, seed), spare_services=2, spare_rate=0.5, spare_gpu_loss=True
    ),
    "few-mig": lambda count, seed: few(random_problem(count, seed), "A100-80GB", 0.28),
    "few-mps": lambda count, seed: few(random_mps_problem(count, seed), V100, 0.15),
    "infeasible": lambda count, seed: few(random_problem(count, seed), "A100-80GB", 0.04),
    "turns": lambda count, seed: services(count, seed, 1, 50, sharing="mig", turns="fixed"),
    "turns-mps": lambda count, seed: services(count, seed, 1, 50, sharing="igniter", turns="fixed"),
    "inss": of_inss,
}


def counted(problem: Problem) -> Problem:
    """Returns the problem with a count for each type, about as many as it needs, where it has none."""
    entries = [
        entry if entry.available is not None else entry.model_copy(update={"count": 1 + len(problem.workloads) // 2})
        for entry in problem.fleet
    ]
    return problem.model_copy(update={"fleet": tuple(entries)})
