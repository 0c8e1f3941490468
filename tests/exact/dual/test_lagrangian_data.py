"""What a search begins with: the covers and prices of a known plan, and what a plan costs at most."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.instances import problem_of
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.api import solve
from sliceplan.solver.exact.covers.demands import NO_LIMIT
from sliceplan.solver.exact.dual import lagrangian_data as module
from sliceplan.solver.exact.dual.lagrangian_data import (
    demands_of,
    known_covers,
    known_prices,
    most_to_pay,
    shared_rates,
    supply_of,
)
from sliceplan.solver.exact.mig.patterns import Pattern
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

A100 = "A100-80GB"
SERVICES = [{"model": "resnet50", "rate_rps": rate, "slo_ms": 200} for rate in (900, 300)]


def resolved(fleet=({"gpu": A100},), services=SERVICES):
    return resolve(problem_of(services, fleet=list(fleet)), shipped_profiles())


def test_known_covers_are_the_partitions_of_each_service_of_the_problem():
    one = resolved()
    names = [size.name for size in one.sizes]
    plan = plan_of(
        gpu_of(
            f"{A100}/0",
            partition_of("3g.40gb@0", "w0", 10),
            partition_of("1g.10gb@4", "w1", 10),
            partition_of("1g.10gb@5", "w1", 10),
            partition_of("1g.10gb@6", "gone", 10),
        ),
        gpu_of(f"{A100}/1", partition_of(50, "w0", 10)),
        gpu_of("T4/0", partition_of(None, "w0", 10)),
    )
    sizes = np.array([names.index("1g.10gb"), names.index("3g.40gb")])
    assert known_covers(one, plan, sizes).tolist() == [[0, 1], [2, 0]]
    assert known_covers(one, plan, sizes[:1]).tolist() == [[0], [2]]
    assert known_covers(one, None, sizes) is None
    assert known_covers(one, plan.prices, sizes) is None


def test_known_prices_are_those_of_all_sizes_or_none():
    one = resolved()
    plan = solve(one.problem)
    sizes = np.arange(len(one.sizes))
    expected = {size.mig_profile: size.usd_per_hour for size in plan.prices.sizes}
    assert known_prices(one, plan, sizes).tolist() == [expected[size.kind] for size in one.sizes]
    assert known_prices(one, plan.prices, sizes[1:2]).tolist() == [expected[one.sizes[1].kind]]
    assert known_prices(one, None, sizes) is None
    assert known_prices(one, plan.model_copy(update={"prices": None}), sizes) is None
    fewer = plan.prices.model_copy(update={"sizes": plan.prices.sizes[1:]})
    assert known_prices(one, fewer, sizes) is None


@pytest.mark.parametrize(("least", "gpus"), [(1, 2), (3, 4)])
def test_a_plan_costs_at_most_a_gpu_for_each_partition_that_services_need_alone(least, gpus):
    """Each fits a whole GPU here, so a GPU each is enough, or one for each replica that it must have."""
    services = [SERVICES[0], {**SERVICES[1], "min_replicas": least}]
    fleet = [{"gpu": A100, "price_per_hour": 2.0}]
    assert most_to_pay(resolved(fleet, services)) == pytest.approx(2.0 * gpus)


def test_limited_gpus_count_in_full_and_unlimited_ones_at_the_cheapest_that_serves():
    fleet = [{"gpu": A100, "price_per_hour": 2.0, "count": 3}]
    assert most_to_pay(resolved(fleet)) == pytest.approx(6.0)
    fleet += [{"gpu": "T4", "price_per_hour": 1.0, "sharing": ["exclusive"]}]
    slow = [{"model": "vgg19", "rate_rps": 20, "slo_ms": 200}]
    assert most_to_pay(resolved(fleet, slow)) == pytest.approx(7.0)


def told(*, available, mps=(), capacity_rps=None, required_rps=(10.0, 3.0), limits=((1, None), (2, 3))):
    """Returns what is read of a problem on three GPU types: sizes a and b of the first, a of the second, none else."""
    fleet = [
        SimpleNamespace(gpu=SimpleNamespace(name=gpu), price_per_hour=usd, available=count)
        for gpu, usd, count in zip(("A", "B", "C"), (4.0, 6.5, 3.0), available, strict=True)
    ]
    return SimpleNamespace(
        fleet=fleet,
        fleet_by_name={entry.gpu.name: entry for entry in fleet},
        sizes=[SimpleNamespace(gpu=gpu, name=name) for gpu, name in (("A", "a"), ("A", "b"), ("B", "a"))],
        mps={gpu: SimpleNamespace(name=gpu, capacity_units=40 + i) for i, gpu in enumerate(mps)},
        capacity_rps=np.array(capacity_rps or [[5.0, 20.0, 0.0], [0.0, 1.0, 2.0]]),
        required_rps=np.array(required_rps),
        limit_ms="limits",
        problem=SimpleNamespace(
            workloads=[SimpleNamespace(min_replicas=least, max_replicas=most) for least, most in limits]
        ),
    )


def test_cuts_have_their_sizes_and_last_come_gpus_under_mps_each_a_size_of_its_own():
    one = told(available=(3, None, 0), mps=("C", "A"))
    cuts = [Pattern("A", ("a", "a", "b")), Pattern("B", ("a",)), Pattern("A", ("b", "gone"))]
    supply = supply_of(one, cuts, np.array([1, 2, 0]))
    assert supply.instances.tolist() == [
        [1, 0, 2, 0, 0],
        [0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    assert supply.gpu_type.tolist() == [0, 1, 0, 2, 0]
    assert supply.cost.tolist() == [4.0, 6.5, 4.0, 3.0, 4.0]
    assert supply.available.tolist() == [3.0, np.inf, 0.0]


def test_a_partition_carries_its_part_of_a_rate_and_no_more_than_all_of_it(monkeypatch):
    fluids = []
    monkeypatch.setattr(
        module, "fluid_of", lambda _, rate: fluids.append(rate) or SimpleNamespace(gpus="gpus", least="least")
    )
    demands = demands_of(told(available=(None,) * 3, mps=("C",)), np.array([2, 1, 0]))
    assert demands.part.tolist() == [[0.0, 1.0, 0.5], [pytest.approx(2 / 3), pytest.approx(1 / 3), 0.0]]
    assert (demands.least.tolist(), demands.most.tolist()) == ([1, 2], [NO_LIMIT, 3])
    assert (demands.shared.gpus, demands.shared.least, demands.shared.units.tolist()) == ("gpus", "least", [40.0])
    assert demands.kind.tolist() == [0, 1]
    assert shared_rates(told(available=(None,) * 3, mps=("C",)), 2.0).units.tolist() == [40.0]
    assert fluids == [1.0, 2.0]
    assert demands_of(told(available=(None,) * 3), np.array([0])).shared is None


@pytest.mark.parametrize(
    ("available", "mps", "most"),
    [
        # The first has one GPU of A for a size b; the second three of A, or two of B.
        ((None, None, None), (), 4.0 + 12.0),
        # Only what there is of A counts, with all that B may cost: the first cannot be there alone.
        ((2, None, None), (), 8.0 + 13.0),
        ((2, 3, None), (), 8.0 + 19.5),
        # Shared, C carries 5 and 2 requests/s of a resident: two GPUs each, which are dearer than A for the first.
        ((None, None, None), ("C",), 4.0 + 6.0),
        ((2, 3, None), ("C",), 8.0 + 19.5 + 6.0 + 6.0),
        ((2, 3, 4), ("C",), 8.0 + 19.5 + 12.0),
    ],
)
def test_who_can_be_served_alone_by_gpus_without_count_pays_for_a_gpu_each(monkeypatch, available, mps, most):
    carried = SimpleNamespace(greatest_rps=np.array([5.0, 2.0]))
    monkeypatch.setattr(
        module, "alone_on", lambda one, limit_ms: carried if (one.name, limit_ms) == ("C", "limits") else None
    )
    assert most_to_pay(told(available=available, mps=mps)) == pytest.approx(most)


def test_who_has_too_few_replicas_there_pays_for_the_dearest_of_each():
    """Three of at most 1 requests/s are too few for 7; it may need GPUs with a count, and has three others at most."""
    one = told(available=(None, None, 1), capacity_rps=[[5.0, 20.0, 0.0], [0.0, 1.0, 2.0]], required_rps=(10.0, 7.0))
    assert most_to_pay(one) == pytest.approx(3.0 + 4.0 + 3 * 6.5)
    only_a = told(available=(None, 1, 1), capacity_rps=[[5.0, 20.0, 0.0], [0.0, 1.0, 2.0]], required_rps=(10.0, 7.0))
    assert most_to_pay(only_a) == pytest.approx(3.0 + 6.5 + 4.0 + 3 * 4.0)
    # Five requests/s are three times 2, where 4 are twice.
    for rate, usd in ((4.0, 2 * 6.5), (5.0, 3 * 6.5)):
        assert most_to_pay(told(available=(None,) * 3, required_rps=(10.0, rate))) == pytest.approx(4.0 + usd)


def test_sizes_are_those_that_carry_anything_for_anybody(monkeypatch):
    """The first serves both services, the second one, the third nobody."""
    one = told(available=(None,) * 3, capacity_rps=[[5.0, 20.0, 0.0], [1.0, 0.0, 0.0]])
    monkeypatch.setattr(module, "patterns_of", lambda _, entry: [f"cut of {entry.gpu.name}"])
    monkeypatch.setattr(module, "supply_of", lambda _, cuts, sizes: (cuts, sizes.tolist()))
    monkeypatch.setattr(module, "demands_of", lambda _, sizes: sizes.tolist())
    data = module.lagrangian_data(one)
    assert (data.patterns, data.sizes.tolist()) == (["cut of A", "cut of B", "cut of C"], [0, 1])
    assert (data.supply, data.demands) == ((data.patterns, [0, 1]), [0, 1])


def test_dear_gpus_of_no_use_cost_nobody_anything():
    """The second is served by size b of A alone, at most three times, and by less than it asks for."""
    one = told(available=(None, None, 1), capacity_rps=[[5.0, 20.0, 9.0], [0.0, 1.0, 0.0]], required_rps=(10.0, 7.0))
    assert most_to_pay(one) == pytest.approx(3.0 + 4.0 + 3 * 4.0)


@pytest.mark.parametrize(("shared", "prices"), [({"C": 2.5, "A": 7.0}, [0.5, 2.5]), ({"A": 7.0}, None)])
def test_prices_of_gpus_under_mps_come_after_those_of_sizes(shared, prices):
    sizes = [SimpleNamespace(gpu="A", kind="a")]
    known = SimpleNamespace(sizes=[SimpleNamespace(gpu="A", mig_profile="a", usd_per_hour=0.5)], shared=shared)
    found = known_prices(SimpleNamespace(sizes=sizes, mps={"C": None}), known, np.array([0]))
    assert (found if found is None else found.tolist()) == prices
