"""
Services on MIG whose rates are sums of whole numbers, but for next to nothing, and the cheapest fleet for them.

The oracle shares no code with the planners: it enumerates the placements of instances on a GPU from the catalogue's
starts, and the cheapest fleet by dynamic programming over what is left of each rate, in whole numbers.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from math import lcm

from hypothesis import strategies as st

from problems.instances import problem_of
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.profile import Profile

WHOLE_RATES = st.lists(st.integers(5, 90), min_size=1, max_size=2)
NEAR = st.sampled_from([0.0, 1e-12, 1e-10, 3e-9, 1e-8, 5e-8, 2e-7, 8e-7, -1e-10, -3e-8])
"""By how much, as a part of it, a rate misses a whole number, as what instances carry together is one."""
COUNTS = st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.one_of(st.none(), st.integers(0, 3)))

RPS = {
    "A100-80GB": {"1g.10gb": 10, "2g.20gb": 21, "3g.40gb": 33, "4g.40gb": 41, "7g.80gb": 75},
    "A30-24GB": {"1g.6gb": 9, "2g.12gb": 19, "4g.24gb": 40},
}
PROFILES = [
    Profile.model_validate(
        {
            "model": "m",
            "gpu": gpu,
            "provenance": {"source": "made up", "method": "test"},
            "points": [
                {"mig_profile": name, "batch": 1, "processes": 1, "latency_ms": 10, "throughput_rps": rps}
                for name, rps in of_gpu.items()
            ],
        }
    )
    for gpu, of_gpu in RPS.items()
]


def problem_with(prices, rates, counts=(None, None)):
    fleet = [
        {"gpu": gpu, "price_per_hour": price, **({} if count is None else {"count": count})}
        for gpu, price, count in zip(RPS, prices, counts, strict=True)
    ]
    return problem_of([{"model": "m", "rate_rps": rate, "slo_ms": 20} for rate in rates], fleet=fleet)


@cache
def instances_on(gpu):
    """Returns the multisets of instances, by what each carries, that stand on one GPU without overlap."""
    mig = load_catalogue()[gpu].mig
    places = [
        (start, profile) for profile in mig.profiles if profile.name in RPS[gpu] for start in sorted(profile.starts)
    ]

    def extended(at, taken, slices, carried):
        yield carried
        for i in range(at, len(places)):
            start, profile = places[i]
            own = set(range(start, start + profile.memory_slices))
            if not own & taken and slices + profile.compute_slices <= mig.compute_slices:
                carries = (*carried, RPS[gpu][profile.name])
                yield from extended(i + 1, taken | own, slices + profile.compute_slices, carries)

    return {tuple(sorted(found)) for found in extended(0, set(), 0, ())} - {()}


@cache
def carried_by(gpu, services):
    """Returns what one GPU can carry of each of so many services, without what another division carries as well."""
    found = {
        tuple(sum(rps for rps, of in zip(instances, owner, strict=True) if of == w) for w in range(services))
        for instances in instances_on(gpu)
        for owner in product(range(services), repeat=len(instances))
    }
    return [
        one for one in found if not any(o != one and all(a >= b for a, b in zip(o, one, strict=True)) for o in found)
    ]


def least_steps(prices, rates, counts):
    """Returns the least cost in the prices' common fraction, and that fraction; None: the GPUs are too few."""
    exact = [Fraction(f"{price:.12g}") for price in prices]
    common = lcm(*(price.denominator for price in exact))
    steps = [int(price * common) for price in exact]

    @cache
    def least(left, there_are):
        if not any(left):
            return 0
        best = None
        for g, gpu in enumerate(RPS):
            if there_are[g] == 0:
                continue
            fewer = tuple(count if count is None or i != g else count - 1 for i, count in enumerate(there_are))
            for carries in carried_by(gpu, len(rates)):
                rest = tuple(max(0, need - part) for need, part in zip(left, carries, strict=True))
                if rest != left and (found := least(rest, fewer)) is not None:
                    best = steps[g] + found if best is None else min(best, steps[g] + found)
        return best

    return least(tuple(rates), tuple(counts)), Fraction(1, common)
