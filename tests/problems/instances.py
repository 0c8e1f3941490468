"""Instances that several tests use: the published scenarios, and random problems on the shipped profiles."""

import csv
import math
import os
import random
from functools import cache
from pathlib import Path

from hypothesis import strategies as st
from support.needs import PUBLISHED, skip_without

from sliceplan.solver.formats.parvagpu import read_parvagpu
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Problem

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = Path(os.environ.get("SLICEPLAN_REFERENCE", ROOT.parent / "shared" / "reference"))
MODELS = sorted({profile.model for profile in shipped_profiles() if profile.gpu == "A100-80GB"})


def problem_of(workloads, *, fleet=({"gpu": "A100-80GB"},), name="test", **settings):
    """Returns a problem from plain data; workloads without a name are numbered."""
    named = [{"name": f"w{i}", **workload} for i, workload in enumerate(workloads)]
    data = {"version": 1, "name": name, "fleet": list(fleet), "workloads": named, "settings": settings}
    return Problem.model_validate(data)


def published_profiles():
    """Returns ParvaGPU's measured profiles; skips the test where they are not there."""
    folder = REFERENCE / "parvagpu" / "prof_data"
    if not folder.is_dir():
        skip_without(PUBLISHED, f"the published measurements are not in {folder}")
    return read_parvagpu(folder)


def published_scenario(number, *, max_processes=3):
    """Returns scenario 1 to 6 of ParvaGPU (SC'24, table IV) with the latency test of its artifact."""
    folder = REFERENCE / "parvagpu" / "SLO"
    if not folder.is_dir():
        skip_without(PUBLISHED, f"the published scenarios are not in {folder}")
    with (folder / "SLO_latency.csv").open() as slos, (folder / "SLO_req_rate.csv").open() as rates:
        slo = list(csv.reader(slos))[number - 1]
        rate = list(csv.reader(rates))[number - 1]
    workloads = [
        {"name": model, "model": model, "rate_rps": float(r), "slo_ms": float(s)}
        for model, s, r in zip(MODELS, slo, rate, strict=True)
        if "N/A" not in (s, r)
    ]
    return problem_of(workloads, name=f"parvagpu-s{number}", slo_fraction=0.45, max_processes=max_processes)


@cache
def shipped_scenario(number):
    """Returns scenario 1 to 6 of ParvaGPU as the project ships it; the published files say the same."""
    return read_problem(ROOT / "plans" / f"parvagpu-s{number}.yaml")


def random_problem(count, seed):
    """Returns `count` workloads with rates log-normal around 500 requests/s and SLOs of 60 to 500 ms."""
    draw = random.Random(seed)
    workloads = [
        {
            "model": draw.choice(MODELS),
            "rate_rps": round(500 * math.exp(draw.gauss(0, 1)), 3),
            "slo_ms": round(draw.uniform(120, 500), 3),
        }
        for _ in range(count)
    ]
    return problem_of(workloads, name=f"random-{count}-{seed}")


@st.composite
def problems(draw, max_workloads=6):
    """Draws small problems on the shipped profiles, some of which cannot be served."""
    workloads = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "model": st.sampled_from(MODELS),
                    "rate_rps": st.floats(0.5, 4000, allow_nan=False),
                    "slo_ms": st.floats(20, 1000, allow_nan=False),
                },
                optional={
                    "min_replicas": st.integers(1, 3),
                    "batch_sizes": st.lists(st.sampled_from([1, 2, 4, 8, 16, 32]), min_size=1, max_size=4, unique=True),
                    "memory_mib": st.floats(100, 20000),
                    "value": st.floats(0, 100),
                },
            ),
            min_size=1,
            max_size=max_workloads,
        )
    )
    entry = {"gpu": "A100-80GB"}
    if draw(st.booleans()):
        entry["count"] = draw(st.integers(1, 12))
    return problem_of(
        workloads,
        fleet=[entry],
        max_processes=draw(st.integers(1, 3)),
        headroom=draw(st.sampled_from([0.0, 0.1, 0.5])),
        slo_fraction=draw(st.sampled_from([0.4, 0.5, 0.9])),
    )


def second_type(gpu="H100-80GB-SXM", seed=0):
    """Returns the shipped MIG profiles of A100-80GB as if measured on another type, faster by 1.2 to 2.4 a model."""
    draw = random.Random(seed)
    carried = []
    for profile in shipped_profiles():
        if profile.gpu == "A100-80GB" and profile.curves:
            speed = draw.uniform(1.2, 2.4)
            curves = tuple(
                curve.model_copy(update={"floor_ms": curve.floor_ms / speed, "per_item_ms": curve.per_item_ms / speed})
                for curve in profile.curves
            )
            carried.append(profile.model_copy(update={"gpu": gpu, "curves": curves}))
    return carried


def two_type_problem(count, seed, gpu="H100-80GB-SXM"):
    """Returns a random problem on A100 and a dearer, faster type, of which there are fewer than would be best."""
    problem = random_problem(count, seed)
    fleet = [
        {"gpu": "A100-80GB", "count": math.ceil(0.32 * count), "price_per_hour": 3.43},
        {"gpu": gpu, "count": math.ceil(0.09 * count), "price_per_hour": 6.25},
    ]
    data = {**problem.model_dump(mode="json"), "fleet": fleet, "name": f"two-types-{count}-{seed}"}
    return Problem.model_validate(data)


def scenario_problem(count, seed):
    """Returns services around ParvaGPU's scenarios 1 to 6: rates log-normal around theirs, SLOs x 0.8 to 1.5."""
    known = [workload for number in range(1, 7) for workload in shipped_scenario(number).workloads]
    draw = random.Random(seed)
    workloads = []
    for _ in range(count):
        one = draw.choice(known)
        rate, slo = one.rate_rps * math.exp(draw.gauss(0, 0.5)), one.slo_ms * draw.uniform(0.8, 1.5)
        workloads.append({"model": one.model, "rate_rps": round(rate, 3), "slo_ms": round(slo, 3)})
    return problem_of(workloads, name=f"scenarios-{count}-{seed}", slo_fraction=0.45)
