"""The ways to cut a GPU or a CPU for some services, against every placement of instances on its memory slices."""

from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from oracles.mig_oracle import GEOMETRY
from problems.cpu_draws import small_cpus
from problems.instances import problem_of, second_type

from sliceplan.solver.exact.mig.patterns import Pattern, counts_of, patterns_of, used_cores
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.performance.operating_points import WHOLE_GPU
from sliceplan.solver.performance.resolve import resolve

A30 = "A30-24GB"
MADE_UP = {"source": "-", "method": "drawn"}


def a30(*usable, whole=()):
    """Returns a problem on A30s of services that can use just these profiles each, and a whole GPU some of them."""
    points = {
        name: {"mig_profile": name, "batch": 1, "processes": 1, "latency_ms": 5.0, "throughput_rps": 10.0}
        for name in GEOMETRY[A30]
    }
    all_of_it = {"sm_percent": 100, "batch": 1, "processes": 1, "latency_ms": 5.0, "throughput_rps": 50.0}
    profiles = [
        Profile.model_validate(
            {
                "model": f"m{w}",
                "gpu": A30,
                "points": [*(points[name] for name in own), *([all_of_it] if w in whole else [])],
                "provenance": MADE_UP,
            }
        )
        for w, own in enumerate(usable)
    ]
    services = [{"model": f"m{w}", "rate_rps": 5, "slo_ms": 100} for w in range(len(usable))]
    fleet = [{"gpu": A30, "price_per_hour": 1.0, "sharing": ["mig", "exclusive"]}]
    return resolve(problem_of(services, fleet=fleet), profiles)


def every_multiset(names):
    """Returns all multisets of instances that can stand on the four slices of an A30, none included."""
    found = set()
    for number in range(5):
        for chosen in combinations_with_replacement(sorted(names), number):
            for starts in product(*(GEOMETRY[A30][name][1] for name in chosen)):
                taken = [at + i for at, name in zip(starts, chosen, strict=True) for i in range(GEOMETRY[A30][name][0])]
                if len(set(taken)) == len(taken):
                    found.add(chosen)
                    break
    return found


@pytest.mark.parametrize(
    "usable",
    [
        [["1g.6gb", "2g.12gb", "4g.24gb"]],
        [["1g.6gb"], ["2g.12gb"]],
        [["2g.12gb"], ["2g.12gb"]],
        [["1g.6gb", "4g.24gb"]],
        [["4g.24gb"], ["1g.6gb", "2g.12gb"]],
    ],
)
def test_cuts_are_the_multisets_of_usable_instances_that_are_part_of_no_other(usable):
    """Property: of sizes that some service can use; all that fit where every cut is asked for."""
    resolved = a30(*usable)
    (entry,) = resolved.fleet
    fit = every_multiset({name for own in usable for name in own})
    counts = {own: Counter(own) for own in fit}
    largest = [own for own in fit if not any(own != more and counts[own] <= counts[more] for more in fit)]
    found = [tuple(sorted(one.profiles)) for one in patterns_of(resolved, entry)]
    assert sorted(found) == sorted(largest)
    assert {one.gpu for one in patterns_of(resolved, entry)} == {A30}
    every = [tuple(sorted(one.profiles)) for one in patterns_of(resolved, entry, every=True)]
    assert sorted(own for own in every if own) == sorted(own for own in fit if own)
    # A size that no service can use any more is in no cut.
    fewer = resolved.capacity_rps.copy()
    k = next(k for k, size in enumerate(resolved.sizes) if resolved.capacity_rps[:, k].any())
    fewer[:, k] = 0
    left = replace(resolved, capacity_rps=fewer)
    assert not any(resolved.sizes[k].name in one.profiles for one in patterns_of(left, entry))
    assert patterns_of(replace(resolved, capacity_rps=np.zeros_like(fewer)), entry) == []


def test_a_whole_gpu_is_a_cut_where_some_service_can_use_it():
    whole = Pattern(A30, (WHOLE_GPU,))
    resolved = a30(["1g.6gb"], ["2g.12gb"], whole={1})
    assert patterns_of(resolved, resolved.fleet[0])[0] == whole
    assert patterns_of(resolved, resolved.fleet[0]).count(whole) == 1
    cut = [pattern for pattern in patterns_of(resolved, resolved.fleet[0]) if pattern != whole]
    assert cut == patterns_of(a30(["1g.6gb"], ["2g.12gb"]), resolved.fleet[0])
    k = resolved.whole_of(A30)
    nobody = resolved.capacity_rps.copy()
    nobody[:, k] = 0
    assert whole not in patterns_of(replace(resolved, capacity_rps=nobody), resolved.fleet[0])
    only = np.zeros_like(nobody)
    only[1, k] = 1
    assert patterns_of(replace(resolved, capacity_rps=only), resolved.fleet[0]) == [whole]


def test_a_cut_has_partitions_of_its_own_type_alone():
    """Two types whose partitions have the same names."""
    services = [{"model": "resnet50", "rate_rps": 5, "slo_ms": 200}]
    fleet = [{"gpu": gpu, "price_per_hour": 1.0, "sharing": ["mig"]} for gpu in ("A100-80GB", "H100-80GB-SXM")]
    resolved = resolve(problem_of(services, fleet=fleet), [*shipped_profiles(), *second_type()])
    for gpu in ("A100-80GB", "H100-80GB-SXM"):
        counts = counts_of(resolved, Pattern(gpu, ("1g.10gb", "1g.10gb", "2g.20gb")))
        named = {(size.gpu, size.name): int(n) for size, n in zip(resolved.sizes, counts, strict=True) if n}
        assert named == {(gpu, "1g.10gb"): 2, (gpu, "2g.20gb"): 1}


def test_a_cpu_is_divided_into_the_numbers_of_cores_that_some_service_can_use():
    with small_cpus():
        points = [
            {"cores": cores, "batch": 1, "processes": 1, "latency_ms": 5.0, "throughput_rps": 10.0} for cores in (1, 3)
        ]
        known = {"model": "m", "cpu": "Small-4x1x1", "points": points, "provenance": MADE_UP}
        services = [{"model": "m", "rate_rps": 5, "slo_ms": 100}] * 2
        problem = problem_of(services, fleet=[{"cpu": "Small-4x1x1", "price_per_hour": 1.0}])
        resolved = resolve(problem, [Profile.model_validate(known)])
        (entry,) = resolved.fleet
        assert sorted(size.cores for size in used_cores(resolved, entry)) == [1, 3]
        found = sorted(one.profiles for one in patterns_of(resolved, entry))
        assert found == [("1 core",) * 4, ("3 cores", "1 core")]
        one, three = sorted(range(len(resolved.sizes)), key=lambda k: resolved.sizes[k].cores)
        fewer = resolved.capacity_rps.copy()
        fewer[:, one] = 0
        fewer[1, three] = 0
        left = replace(resolved, capacity_rps=fewer)
        assert [size.cores for size in used_cores(left, entry)] == [3]
        assert patterns_of(left, entry) == [Pattern("Small-4x1x1", ("3 cores",))]
