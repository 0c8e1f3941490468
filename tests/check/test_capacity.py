"""What `check` says of a plan's capacity: its value, and what one GPU carries of a service alone."""

import pytest
from problems.instances import problem_of
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.check.capacity import wrong_capacity
from sliceplan.solver.metrics.plan_columns import plan_columns
from sliceplan.solver.model.plan import PlanCapacity

A100, V100 = "A100-80GB", "V100-SXM2-16GB"
SERVICE = {"model": "bert", "rate_rps": 10, "slo_ms": 500}
FLEET = [{"gpu": A100, "count": 2}, {"gpu": V100, "count": 1, "sharing": ["mps"]}]


def said(stated, gpus, services=1, objective="capacity", **settings):
    """Returns what is said of a plan with these GPUs; `stated`: the fields of its capacity, None: none."""
    if objective == "capacity":
        settings["objective"] = "capacity"
    problem = problem_of([SERVICE] * services, fleet=FLEET, **settings)
    capacity = None
    if stated is not None:
        fields = {"weights": "equal", "solo_rps": None, "value": None, "limit": None, "method": "none", "one_more": {}}
        capacity = PlanCapacity.model_construct(**fields | stated)
    plan = plan_of(*gpus).model_copy(update={"capacity": capacity})
    return [str(one) for one in wrong_capacity(problem, plan, plan_columns(problem, plan, None))]


HALF, OTHER = (partition_of(f"3g.40gb@{start}", "w0", 10, capacity=30) for start in (0, 4))
ONE = [gpu_of(f"{A100}/0", HALF), gpu_of(f"{A100}/1", HALF, OTHER)]


def test_the_value_is_what_all_partitions_carry():
    assert said({"value": 90.0}, ONE) == []
    assert said({"value": 90.0 * (1 + 1e-9)}, ONE) == []
    assert said({"value": 91.0}, ONE) == ["plan: capacity.value is 91.0, but its partitions could carry 90.000000"]
    solo = {"weights": "solo", "solo_rps": {"w0": 60.0}}
    assert said(solo | {"value": 1.5}, ONE, capacity_weights="solo") == []
    assert "could carry 1.500000" in said(solo | {"value": 90.0}, ONE, capacity_weights="solo")[0]


@pytest.mark.parametrize("services", [1, 2])
def test_no_gpu_carries_more_of_a_service_than_one_does_of_it_alone(services):
    """GPU by GPU, of one service and of several; what shares a GPU by MPS is another matter."""
    solo = {"w0": 59.0, "w1": 7.0}
    gpus = [*ONE, gpu_of(f"{V100}/0", partition_of(50, "w0", 10, capacity=99))]
    if services == 2:
        gpus[0] = gpu_of(f"{A100}/0", HALF, partition_of("3g.40gb@4", "w1", 5, capacity=8))
    stated = {"weights": "solo", "solo_rps": {f"w{i}": solo[f"w{i}"] for i in range(services)}}
    expected = [f"{A100}/1: capacity.solo_rps is 59 for w0, of which it carries 60"]
    if services == 2:
        expected.insert(0, f"{A100}/0: capacity.solo_rps is 7 for w1, of which it carries 8")
    assert said(stated, gpus, services, capacity_weights="solo") == expected
    enough = {"weights": "solo", "solo_rps": dict.fromkeys(stated["solo_rps"], 60.0 * (1 - 1e-9))}
    assert said(enough, gpus, services, capacity_weights="solo") == []


@pytest.mark.parametrize("solo", [{}, {"w0": 0.0}, {"w0": 60.0, "nobody": 1.0}])
def test_each_service_has_a_number_above_zero(solo):
    found = said({"weights": "solo", "solo_rps": solo, "value": 1.0}, ONE, capacity_weights="solo")
    assert any("expected each service, with a number above 0" in one for one in found)


def test_a_capacity_is_stated_where_it_is_asked_for_and_as_it_is_asked_for():
    assert said(None, ONE, objective="cost") == []
    assert said(None, ONE) == ["plan: capacity is null, but the problem's objective is capacity"]
    assert said({}, ONE, objective="cost") == ["plan: capacity is given, but the problem's objective is cost"]
    assert "capacity.weights is solo" in said({"weights": "solo"}, ONE)[0]
    assert said({"one_more": {A100: 1.0, V100: 1.0}}, ONE) == []
    assert "capacity.one_more is of" in said({"one_more": {A100: 1.0}}, ONE)[0]


def test_a_weight_below_one_is_a_weight():
    found = said({"weights": "solo", "solo_rps": {"w0": 0.5}, "value": 1.0}, ONE, capacity_weights="solo")
    assert "plan: capacity.value is 1.0, but its partitions could carry 180.000000" in found
