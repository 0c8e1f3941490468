"""gpu-lets' planners on the public tables of an A100: services, problems, and 1,023 sets of rates as in the paper."""

import csv
from functools import cache
from itertools import product

from support.needs import PUBLISHED, skip_without

from problems.instances import REFERENCE, problem_of
from sliceplan.solver.formats.gpulet_tables import read_gpulet_tables
from sliceplan.solver.model.fit_error import FitError
from sliceplan.solver.model.interference import NeighbourModel
from sliceplan.solver.performance.interference.solo_tables import SoloTable
from sliceplan.solver.planners.time_sharing.services import LARGEST, Services, Use

MODELS = ("mobilenet", "inception", "resnet50", "densenet121", "vgg16")
SLO_MS = (16, 24, 27, 36, 38)
SHARES = (20, 40, 50, 60, 80, 100)
RATIO = 1.1
STEPS = (0, 800, 1600, 2400)


@cache
def a100_profiles():
    """Returns the public tables; skips the test where they are not there."""
    folder = REFERENCE / "gpulet_a100" / "data"
    if not folder.is_dir():
        skip_without(PUBLISHED, f"the public tables are not in {folder}")
    return tuple(read_gpulet_tables(folder))


@cache
def constants_2080ti():
    """Returns the artefact's five constants for an RTX 2080 Ti, for utilisations in 0 to 1."""
    file = REFERENCE / "glet" / "2080ti_INT_MODEL_CONSTANT.csv"
    if not file.is_file():
        skip_without(PUBLISHED, f"the artefact's constants are not in {file}")
    with file.open() as rows:
        _, figures = csv.reader(rows)
    return tuple(map(float, figures))


def with_2080ti_neighbours(profiles):
    """Returns profiles with the 2080 Ti's constants as their model of neighbours: a test bed, not an A100's."""
    own_l2, other_l2, own_dram, other_dram, constant = constants_2080ti()
    nothing = FitError(points=1, median=0, p95=0, max=0)
    model = NeighbourModel(
        own_l2=own_l2 / 100,
        other_l2=other_l2 / 100,
        own_dram=own_dram / 100,
        other_dram=other_dram / 100,
        constant=constant - 1,
        pairs=1,
        error=nothing,
    )
    return tuple(profile.model_copy(update={"neighbours": model}) for profile in profiles)


@cache
def _tables():
    by_model = {profile.model: SoloTable.of(profile) for profile in a100_profiles()}
    tables = [by_model[model] for model in MODELS]
    points = [{share: [table.at(b, share) for b in range(1, LARGEST + 1)] for share in SHARES} for table in tables]
    own_l2, other_l2, own_dram, other_dram, constant = constants_2080ti()
    solo = [{s: [0.0, *(p.latency_ms for p in row)] for s, row in by_share.items()} for by_share in points]

    def part(l2, dram, constant):
        return [
            {
                s: [0.0, *(l2 * p.l2_percent / 100 + dram * p.dram_percent / 100 + constant for p in row)]
                for s, row in by_share.items()
            }
            for by_share in points
        ]

    own, other = part(own_l2, own_dram, constant), part(other_l2, other_dram, 0.0)
    return solo, [Use(mine, yours) for mine, yours in zip(own, other, strict=True)]


def a100_services(rates, *, interferes=False):
    """Returns the five services at these rates, in the order of MODELS."""
    solo, use = _tables()
    return Services(MODELS, rates, SLO_MS, solo, SHARES, ratio=RATIO, use=use if interferes else None)


def scenarios(steps=STEPS):
    """Yields all sets of rates but the one without any."""
    yield from (rates for rates in product(steps, repeat=len(MODELS)) if any(rates))


def a100_problem(rates, gpus=None, turns="fixed"):
    """Returns the problem of the services that have a rate."""
    fleet = [{"gpu": "A100-80GB", "sharing": ["mps"], **({"count": gpus} if gpus else {})}]
    workloads = [
        {"name": model, "model": model, "rate_rps": rate, "slo_ms": slo_ms}
        for model, rate, slo_ms in zip(MODELS, rates, SLO_MS, strict=True)
        if rate
    ]
    return problem_of(workloads, fleet=fleet, name="a100", turns=turns)
