"""InSS problems: the shipped reconstruction, drawn ones, and the points that its technical report prints."""

import csv
import random
from functools import cache

from support.needs import PUBLISHED, skip_without

from problems.instances import REFERENCE
from sliceplan.solver.inss.shipped_problem import shipped_problem
from sliceplan.solver.model.inss_problem import InssProblem

FIGURES = REFERENCE / "inss" / "figures.csv"
RESNET50 = (0.8245, 126.5754, 0.0, -1.3254, 3.764)
PROVENANCE = {"source": "drawn for a test", "method": "none"}


@cache
def figures():
    """Returns the rows of the published figures; skips the test where they are not there."""
    if not FIGURES.is_file():
        skip_without(PUBLISHED, f"the points of InSS' figures are not in {FIGURES}")
    with FIGURES.open() as file:
        return list(csv.DictReader(file))


def series(figure, name):
    """Returns (x, y) of one series; x is None for bars."""
    found = [row for row in figures() if row["figure"] == str(figure) and row["series"] == name]
    return [(float(row["x"]) if row["x"] else None, float(row["y"])) for row in found]


def six_models(**counts):
    """Returns the shipped problem; with `gpus`, so many of each type."""
    problem = shipped_problem()
    if "gpus" in counts:
        gpus = [one.model_copy(update={"count": n}) for one, n in zip(problem.gpus, counts["gpus"], strict=True) if n]
        problem = problem.model_copy(update={"gpus": tuple(gpus)})
    return problem


def random_inss_problem(seed, *, models=3, types=2):
    """Returns a small problem over the range of what is accepted: tight and loose limits, memory, neighbours."""
    draw = random.Random(seed)
    gpus = [
        {
            "type": f"gpu-{k}",
            "count": draw.choice([1, 1, 2]),
            "memory_mib": draw.choice([100, 160, 400, 4000]),
            "unit_percent": draw.choice([20, 25, 34, 50]),
            "computing_power": draw.choice([0.5, 1.0, 2.0]),
            "crowd_ms_per_kernel": draw.choice([0.0, 0.01]),
            "crowd_offset_ms_per_kernel": draw.choice([0.0, -0.02, 0.01]) if draw.random() < 0.5 else 0.0,
        }
        for k in range(types)
    ]
    for gpu in gpus:
        gpu["crowd_offset_ms_per_kernel"] = max(gpu["crowd_offset_ms_per_kernel"], -2 * gpu["crowd_ms_per_kernel"])
    rows = [
        {
            "model": f"m{i}",
            "rate_rps": draw.choice([0.5, 20, 150, 400]),
            "slo_ms": draw.choice([5, 15, 40, 2500]),
            "running": {"linear": [draw.uniform(0, 3), draw.uniform(0, 1), draw.uniform(5, 80), draw.uniform(0, 60)]},
            "kernels": draw.choice([0, 30]),
            "scheduling_ms": draw.uniform(0, 1),
            "input_bytes": draw.choice([0, 600_000]),
            "l2_per_percent": draw.choice([0.0, 0.1, 0.3]),
            "l2_offset": draw.choice([0.0, -2.0, 3.0]),
            "cache_sensitivity": draw.choice([0.0, 0.01, 0.05]),
            "memory_mib": draw.choice([0, 30, 60]),
            "memory_mib_per_item": draw.choice([0, 3, 10]),
            "most_batch": draw.choice([1, 4, 7]),
        }
        for i in range(models)
    ]
    return InssProblem.model_validate({"name": f"drawn-{seed}", "gpus": gpus, "models": rows, "provenance": PROVENANCE})


def alike(count, gpus, seed):
    """Returns a problem of so many models that are like the six, each a little other."""
    draw = random.Random(seed)
    problem = six_models(gpus=gpus)
    models = []
    for i in range(count):
        one, factor = problem.models[i % 6], draw.uniform(0.7, 1.4)
        k = one.running.rational
        models.append(
            one.model_copy(
                update={
                    "model": f"{one.model}-{i}",
                    "rate_rps": one.rate_rps * draw.uniform(0.6, 1.5),
                    "slo_ms": one.slo_ms * draw.uniform(0.8, 1.4),
                    "running": one.running.model_copy(
                        update={"rational": (*(factor * x for x in k[:3]), k[3], factor * k[4])}
                    ),
                }
            )
        )
    return problem.model_copy(update={"models": tuple(models)})


def widely_alike(count, gpus, seed):
    """Returns such a problem whose models differ more in what they take of what GPUs have."""
    draw = random.Random(1000 + seed)
    problem = alike(count, gpus, seed)
    models = [
        one.model_copy(
            update={
                "rate_rps": one.rate_rps * 2 ** draw.uniform(-2, 1),
                "cache_sensitivity": one.cache_sensitivity * draw.uniform(0, 4),
                "memory_mib": one.memory_mib * draw.uniform(0.5, 3),
                "kernels": int(one.kernels * draw.uniform(0, 2)),
            }
        )
        for one in problem.models
    ]
    return problem.model_copy(update={"models": tuple(models)})
