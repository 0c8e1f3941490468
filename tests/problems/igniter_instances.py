"""The instances of iGniter's paper (sec. 2.3, and the 12 workloads of table 3), and drawn ones under MPS."""

import math
import random

from hypothesis import strategies as st
from support.needs import PUBLISHED, skip_without

from problems.instances import REFERENCE, problem_of
from sliceplan.solver.formats.gpulets import read_gpulets
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.interference.igniter import IgniterModel

V100 = "V100-SXM2-16GB"
MODELS = ("alexnet", "resnet50", "vgg19", "ssd")
SLO_MS = (10, 15, 20, 20, 30, 40, 20, 30, 40, 25, 40, 55)
RATE_RPS = (1200, 400, 800, 400, 600, 200, 300, 400, 200, 150, 50, 300)
FLEET = ({"gpu": V100, "sharing": ["mps"]},)
SHIPPED = {p.model: p.interference for p in shipped_profiles() if p.gpu == V100 and p.interference}
COEFFICIENTS = [SHIPPED[name].model for name in MODELS]
GPU = SHIPPED["alexnet"].gpu
MODEL = IgniterModel.of(GPU, COEFFICIENTS)

MEASURED = REFERENCE / "igniter" / "v100_profile.jsonl"
SOLO_TABLES = REFERENCE / "igniter" / "v100_gpulet_profile.jsonl"


def table_3(times=1, **settings):
    """Returns W1 to W12 (App1 to App3 of each model in turn), repeated in turn."""
    workloads = [
        {
            "name": f"W{i + 1}" if times == 1 else f"W{i + 1}-{turn}",
            "model": MODELS[i // 3],
            "slo_ms": SLO_MS[i],
            "rate_rps": RATE_RPS[i],
        }
        for turn in range(times)
        for i in range(12)
    ]
    return problem_of(workloads, fleet=FLEET, name="igniter-table-3", **settings)


def example(**settings):
    """Returns the three workloads of the illustrative example."""
    rows = (("alexnet", 15, 500), ("resnet50", 40, 400), ("vgg19", 60, 200))
    workloads = [{"name": m, "model": m, "slo_ms": slo, "rate_rps": rate} for m, slo, rate in rows]
    return problem_of(workloads, fleet=FLEET, name="igniter-example", **settings)


def random_mps_problem(count, seed):
    """Returns workloads that differ from each other, with SLOs from table 3's to twice them and rates up to its."""
    draw = random.Random(seed)
    workloads = []
    for _ in range(count):
        model = draw.randrange(4)
        rate = RATE_RPS[3 * model + draw.randrange(3)] * math.exp(min(0.0, draw.gauss(-0.7, 0.5)))
        slo = draw.uniform(SLO_MS[3 * model + 2], 2 * SLO_MS[3 * model + 2])
        workloads.append(
            {"model": MODELS[model], "rate_rps": round(rate, 2), "slo_ms": round(slo, 2), "max_replicas": 1}
        )
    return problem_of(workloads, fleet=FLEET, name=f"random-mps-{count}-{seed}")


def freely_shared(count, seed, most, gpus=None):
    """Returns those with any batch size, so many GPUs, and the most replicas of `most` in turn; None: any number."""
    problem = random_mps_problem(count, seed)
    fleet = tuple(entry.model_copy(update={"count": gpus}) for entry in problem.fleet)
    workloads = tuple(
        one.model_copy(update={"max_replicas": most[w % len(most)]}) for w, one in enumerate(problem.workloads)
    )
    settings = problem.settings.model_copy(update={"mps_rules": "free"})
    return problem.model_copy(update={"fleet": fleet, "workloads": workloads, "settings": settings})


def measured_file():
    """Returns the published measurements; skips the test where they are not there."""
    if not MEASURED.is_file():
        skip_without(PUBLISHED, f"the published measurements are not in {MEASURED}")
    return MEASURED


def solo_tables():
    """Returns the published solo tables as profiles; skips the test where they are not there."""
    if not SOLO_TABLES.is_file():
        skip_without(PUBLISHED, f"the published solo tables are not in {SOLO_TABLES}")
    return read_gpulets(SOLO_TABLES)


FLEETS = st.sampled_from(
    [
        [{"gpu": V100, "sharing": ["mps"]}],
        [{"gpu": V100, "sharing": ["mps"], "count": 2}],
        [{"gpu": V100, "sharing": ["mps", "exclusive"]}, {"gpu": "T4", "sharing": ["mps"]}],
        [{"gpu": "T4", "sharing": ["exclusive"]}],
        [{"gpu": "A100-80GB", "sharing": ["mig"], "count": 3}, {"gpu": V100, "sharing": ["mps"], "count": 3}],
    ]
)


@st.composite
def mps_problems(draw, most=5):
    """Draws small problems on fleets that mix kinds of sharing; some cannot be served."""
    workloads = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "model": st.sampled_from(MODELS),
                    "rate_rps": st.floats(0.5, 1500),
                    "slo_ms": st.floats(5, 300),
                },
                optional={
                    "max_replicas": st.integers(1, 3),
                    "batch_sizes": st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3, unique=True),
                    "memory_mib": st.floats(100, 9000),
                },
            ),
            min_size=1,
            max_size=most,
        )
    )
    return problem_of(
        workloads,
        fleet=draw(FLEETS),
        mps_rules=draw(st.sampled_from(["free", "igniter"])),
        headroom=draw(st.sampled_from([0.0, 0.2])),
        shadow_percent=draw(st.sampled_from([0.0, 0.0, 10.0])),
        time_limit_s=10,
    )
