"""
Families of MIG problems of any size, beside the one that the scale benchmark draws.

A family draws the kinds of its services (a model, an SLO, a rate to draw around) from those of ParvaGPU's scenarios
(plans/parvagpu-s*.yaml) or from tables of its own, and then what makes it one.
"""

import math
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.instances import MODELS, ROOT, problem_of, second_type

from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance

GPU = "A100-80GB"
SLICES = {"1g.10gb": 1, "2g.20gb": 2, "3g.40gb": 3, "4g.40gb": 4, "7g.80gb": 7}


@dataclass(frozen=True)
class Kind:
    """What services are drawn around."""

    model: str
    rate_rps: float
    slo_ms: float


@dataclass(frozen=True)
class Spread:
    """How services differ from their kind."""

    slo: tuple[float, float] = (0.8, 1.5)
    """Factors on its SLO, uniform."""
    rate: float = 0.5
    """Standard deviation of the logarithm of its rate."""
    times: float = 1.0
    """Factor on its rate."""


Drawn = tuple[Problem, Sequence[Profile]]
Family = Callable[[int, int], Drawn]


def scenario_kinds() -> list[Kind]:
    """Returns the services of ParvaGPU's scenarios S1 to S6."""
    problems = [read_problem(ROOT / "plans" / f"parvagpu-s{number}.yaml") for number in range(1, 7)]
    return [Kind(one.model, one.rate_rps, one.slo_ms) for problem in problems for one in problem.workloads]


def drawn(
    kinds: Sequence[Kind],
    count: int,
    draw: random.Random,
    spread: Spread = Spread(),
    **fields: Callable[[random.Random], object],
) -> list[dict[str, object]]:
    """Returns services around kinds, with what further fields draw."""
    services = []
    for _ in range(count):
        kind = draw.choice(kinds)
        service = {
            "model": kind.model,
            "rate_rps": round(spread.times * kind.rate_rps * math.exp(draw.gauss(0, spread.rate)), 3),
            "slo_ms": round(kind.slo_ms * draw.uniform(*spread.slo), 3),
        }
        services.append(service | {name: value(draw) for name, value in fields.items()})
    return services


def pool(spread: Spread = Spread(), **fields: Callable[[random.Random], object]) -> Family:
    """Returns the family of services around all of the scenarios'."""

    def family(count: int, seed: int) -> Drawn:
        services = drawn(scenario_kinds(), count, random.Random(seed), spread, **fields)
        return problem_of(services, slo_fraction=0.45), shipped_profiles()

    return family


def of_kinds(choose: Callable[[random.Random], Sequence[Kind]], spread: Spread) -> Family:
    """Returns the family of services around a few kinds, which the seed chooses."""

    def family(count: int, seed: int) -> Drawn:
        draw = random.Random(seed)
        services = drawn(choose(draw), count, draw, spread)
        return problem_of(services, slo_fraction=0.45), shipped_profiles()

    return family


def some_kinds(draw: random.Random) -> list[Kind]:
    """Returns six of the scenarios' services."""
    return draw.sample(scenario_kinds(), 6)


def kinds_of_one_model(draw: random.Random) -> list[Kind]:
    """Returns the services of one model."""
    model = draw.choice(MODELS)
    return [kind for kind in scenario_kinds() if kind.model == model]


def one_kind(draw: random.Random) -> list[Kind]:
    """Returns one of the scenarios' services."""
    return [draw.choice(scenario_kinds())]


def with_sizes(names: Iterable[str]) -> Family:
    """Returns the family whose models were measured on some MIG profiles alone."""

    def family(count: int, seed: int) -> Drawn:
        problem, profiles = pool()(count, seed)
        kept = set(names)
        fewer = [
            profile.model_copy(update={"curves": tuple(one for one in profile.curves if one.mig_profile in kept)})
            for profile in profiles
            if profile.gpu == GPU and profile.curves
        ]
        return problem, fewer

    return family


def own_tables(count: int, seed: int) -> Drawn:
    """Draws 20 models with tables of their own: throughput that grows with the slices, now less, now more than they."""
    draw = random.Random(seed)
    profiles = []
    for number in range(20):
        best, growth = draw.uniform(20, 400), draw.uniform(0.7, 1.1)
        points = tuple(
            MeasuredPoint(
                mig_profile=name,
                batch=1,
                processes=1,
                latency_ms=10.0,
                throughput_rps=round(best * slices**growth * draw.uniform(0.93, 1.07), 2),
            )
            for name, slices in SLICES.items()
        )
        provenance = Provenance(source="drawn", method="random")
        profiles.append(Profile(model=f"m{number}", gpu=GPU, provenance=provenance, points=points))
    kinds = [Kind(f"m{number}", 500.0, 100.0) for number in range(20)]
    return problem_of(drawn(kinds, count, draw, Spread(rate=1.0))), profiles


def two_prices(dearer: float, *, counts: bool = False, faster: bool = True) -> Family:
    """Returns the family with a second GPU type at another price, faster or of no use."""

    def family(count: int, seed: int) -> Drawn:
        problem, profiles = pool()(count, seed)
        (other,) = {profile.gpu for profile in second_type()}
        fleet: list[dict[str, object]] = [
            {"gpu": GPU, "price_per_hour": 1.0},
            {"gpu": other, "price_per_hour": dearer},
        ]
        if counts:
            fleet[1]["count"] = count // 10
        carried = second_type(seed=seed)
        if not faster:
            carried = [replace_gpu(profile, other) for profile in profiles if profile.gpu == GPU and profile.curves]
        data = {**problem.model_dump(mode="json"), "fleet": fleet}
        return Problem.model_validate(data), [*profiles, *carried]

    return family


def replace_gpu(profile: Profile, gpu: str) -> Profile:
    """Returns a profile as if it had been measured on another type."""
    return profile.model_copy(update={"gpu": gpu})


def few_or_many_replicas(draw: random.Random) -> int:
    """Returns a least number of replicas."""
    return draw.choice((1, 1, 1, 2, 3, 5))


FAMILIES: dict[str, Family] = {
    "pool": pool(),
    "tight SLOs": pool(Spread(slo=(0.45, 0.8))),
    "few kinds": of_kinds(some_kinds, Spread(slo=(1.0, 1.0))),
    "small rates": pool(Spread(times=0.03)),
    "3 sizes": with_sizes(("1g.10gb", "2g.20gb", "4g.40gb")),
    "2 sizes": with_sizes(("2g.20gb", "3g.40gb")),
    "1 replica": pool(Spread(times=0.25), max_replicas=lambda _: 1),
    "replica limits": pool(Spread(), min_replicas=few_or_many_replicas, max_replicas=lambda draw: draw.randint(9, 40)),
    "one model": of_kinds(kinds_of_one_model, Spread()),
    "one service": of_kinds(one_kind, Spread(slo=(1.0, 1.0), rate=0.3)),
    "own tables": own_tables,
}
"""By name, each with one price."""

HARDER: dict[str, Family] = {
    "rates x 10": pool(Spread(times=10.0)),
    "two prices": two_prices(1.83),
    "two prices, counts": two_prices(1.83, counts=True),
    "useless type": two_prices(1.83, faster=False),
}
"""Families where a gap is known to stay."""
