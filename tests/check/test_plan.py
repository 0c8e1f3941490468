"""`check` finds each kind of mistake that a planner could make."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.instances import problem_of

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.check import plan as plan_module
from sliceplan.solver.check.fleet import _turns_and_shares, _wrong_place, wrong_fleet
from sliceplan.solver.check.plan import _is_whole
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Plan

WORKLOADS = [
    {"model": "resnet50", "rate_rps": 900, "slo_ms": 200},
    {"model": "vgg16", "rate_rps": 500, "slo_ms": 300},
    {"model": "bert", "rate_rps": 60, "slo_ms": 500},
]
FLEET = [{"gpu": "A100-80GB", "count": 4, "nodes": [{"name": "n1", "count": 4}]}]
PROBLEM = problem_of(WORKLOADS, fleet=FLEET)
PLAN = solve(PROBLEM).model_dump(mode="json")
FEASIBLE = PLAN | {
    "status": "feasible",
    "bound": PLAN["bound"] | {"cost_per_hour": 0.8 * PLAN["cost_per_hour"]},
    "gap": 0.25,
    "search": PLAN["search"] | {"stopped": "gap_left"},
}


def first_partition(plan):
    return plan["gpus"][0]["partitions"][0]


def other_profile(plan):
    first_partition(plan)["mig_profile"] = "9g.90gb"


def illegal_start(plan):
    first_partition(plan)["start"] = 7


def overlapping(plan):
    twin = {**first_partition(plan)}
    plan["gpus"][0]["partitions"].append(twin)


def faster_than_profiled(plan):
    first_partition(plan)["serves"][0]["latency_ms"] /= 2


def more_than_profiled(plan):
    first_partition(plan)["serves"][0]["capacity_rps"] *= 2


def overloaded(plan):
    served = first_partition(plan)["serves"][0]
    served["rate_rps"] = served["capacity_rps"] * 1.5


def rate_forgotten(plan):
    first_partition(plan)["serves"][0]["rate_rps"] = 0


def unknown_workload(plan):
    first_partition(plan)["serves"][0]["workload"] = "nobody"


def too_many_processes(plan):
    first_partition(plan)["serves"][0]["processes"] = 7


def unprofiled_batch(plan):
    first_partition(plan)["serves"][0]["batch"] = 60000


def two_workloads_without_duty_cycle(plan):
    first_partition(plan)["serves"] *= 2


def wrong_cost(plan):
    plan["cost_per_hour"] += 1


def bound_above_cost(plan):
    plan["bound"]["cost_per_hour"] *= 2


def gap_hidden(plan):
    plan["bound"]["cost_per_hour"] /= 2


def wrong_count(plan):
    plan["gpus_used"] += 1


def unknown_type(plan):
    plan["gpus"][0]["gpu"] = "H100-80GB-SXM"


def same_id_twice(plan):
    plan["gpus"].append(plan["gpus"][0])


def one_place_twice(plan):
    plan["gpus"].append({**plan["gpus"][0], "id": "A100-80GB/9"})


def index_beyond_node(plan):
    plan["gpus"][0]["index"] = 9


def other_sharing(plan):
    plan["gpus"][0]["sharing"] = "mps"


def other_problem(plan):
    plan["problem"]["sha256"] = "0" * 64


def a_round_of_turns(plan):
    first_partition(plan)["duty_cycle_ms"] = 40.0


def a_share_of_an_instance(plan):
    first_partition(plan)["sm_percent"] = 50.0


def shares_that_were_never_adjusted(plan):
    plan["batch_adjustment"] = {"before": 1.0, "after": 1.0, "changed": 0}


def more_gpus_needed_than_used(plan):
    plan["bound"]["gpus"] = plan["gpus_used"] + 1


EXPECTED = {
    shares_that_were_never_adjusted: "batch_adjustment is given",
    a_round_of_turns: "duty_cycle_ms",
    a_share_of_an_instance: "sm_percent",
    more_gpus_needed_than_used: "bound.gpus",
    other_profile: "is no MIG instance",
    illegal_start: "legal starts are",
    overlapping: "overlaps",
    faster_than_profiled: "the profile gives",
    more_than_profiled: "the profile gives",
    overloaded: "its capacity is",
    rate_forgotten: "req/s in all; needed",
    unknown_workload: "not in the problem",
    too_many_processes: "at most 3 are allowed",
    unprofiled_batch: "no profile of",
    two_workloads_without_duty_cycle: "serves several workloads",
    wrong_cost: "but its GPUs cost",
    bound_above_cost: "is above its cost",
    gap_hidden: "but the bound",
    wrong_count: "but it lists",
    unknown_type: "is not in the fleet",
    same_id_twice: "is listed 2 times",
    one_place_twice: "GPU 0 of node n1 is used 2 times",
    index_beyond_node: "which has 4 of this type",
    other_sharing: "the fleet allows MIG",
    other_problem: "answers the problem",
}


@pytest.mark.parametrize("plan", [PLAN, FEASIBLE], ids=["optimal", "feasible"])
def test_the_untouched_plan_holds(plan):
    assert check(PROBLEM, Plan.model_validate(plan), shipped_profiles()) == []


@pytest.mark.parametrize("mutation", EXPECTED, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize("good", [PLAN, FEASIBLE], ids=["optimal", "feasible"])
def test_a_mutated_plan_is_found_out(good, mutation):
    plan = Plan.model_validate(good).model_dump(mode="json")
    mutation(plan)
    # Of a feasible plan a smaller bound is no contradiction in itself.
    message = "but cost and bound give" if (good, mutation) == (FEASIBLE, gap_hidden) else EXPECTED[mutation]
    found = check(PROBLEM, Plan.model_validate(plan), shipped_profiles())
    assert any(message in str(violation) for violation in found), found


SPARE = problem_of(
    [{"model": "bert", "rate_rps": 10, "slo_ms": 500}], spare_services=1, spare_rate=0.5, spare_gpu_loss=True
)


@pytest.mark.parametrize("status", ["optimal", "feasible", "violating"])
def test_rates_and_free_partitions_are_looked_at_whatever_is_proven(status):
    plan = solve(SPARE).model_dump(mode="json") | {"status": status}
    first_partition(plan)["serves"][0]["rate_rps"] /= 2
    plan["gpus"] = [gpu for gpu in plan["gpus"] if any(part["serves"] for part in gpu["partitions"])]
    found = [str(one) for one in check(SPARE, Plan.model_validate(plan), shipped_profiles())]
    assert any("req/s in all; needed 10" in one for one in found)
    assert any("if it is lost" in one for one in found)


def test_media_instances_beyond_the_engines_are_found_out():
    plan = Plan.model_validate(PLAN).model_dump(mode="json")
    for start in (0, 1):
        part = {**first_partition(plan), "mig_profile": "1g.10gb+me", "start": start}
        plan["gpus"][0]["partitions"].append(part)
    found = check(PROBLEM, Plan.model_validate(plan), shipped_profiles())
    assert any("JPEG engines" in str(violation) for violation in found)
    assert any("at most 1 fit" in str(violation) for violation in found)


def test_engines_that_a_gpu_does_not_tell_of_are_none():
    """Of an instance that takes one of them; without any figures of the GPU nothing is said."""
    profile = SimpleNamespace(
        name="1g", starts=(0, 1), memory_slices=1, compute_slices=1, max_count=7, engines={"ofa": 1, "dec": 1}
    )
    geometry = SimpleNamespace(compute_slices=7, full=SimpleNamespace(engines={"dec": 2}))
    assert list(plan_module._misplaced(geometry, [(0, profile)])) == ["takes 1 OFA engines; there are 0"]
    geometry.full.engines = None
    assert list(plan_module._misplaced(geometry, [(0, profile)])) == []


MANY = problem_of([{"model": "bert", "rate_rps": 60, "slo_ms": 500}], max_processes=48)


@pytest.mark.parametrize(("processes", "is_wrong"), [(6, False), (7, True)])
def test_mps_clients_of_an_instance_are_limited_whatever_the_problem_allows(processes, is_wrong):
    """A seventh of the slices of an A100 takes a seventh of its 48 clients (NVIDIA MIG User Guide, table 3)."""
    plan = solve(MANY).model_dump(mode="json")
    part = first_partition(plan)
    assert part["mig_profile"] == "1g.10gb"
    part["serves"][0]["processes"] = processes
    found = [str(one) for one in check(MANY, Plan.model_validate(plan), shipped_profiles())]
    assert any("runs 7 processes; at most 6 are allowed" in one for one in found) == is_wrong


@pytest.mark.parametrize(("memory_gib", "is_wrong"), [(3, False), (4, True)])
def test_memory_is_that_of_all_processes(memory_gib, is_wrong):
    """Three processes on an instance of 9.5 GiB."""
    plan = solve(MANY.model_copy(update={"settings": PROBLEM.settings})).model_dump(mode="json")
    part = first_partition(plan)
    assert (part["mig_profile"], part["serves"][0]["processes"]) == ("1g.10gb", 3)
    problem = problem_of([{"model": "bert", "rate_rps": 60, "slo_ms": 500, "memory_mib": memory_gib * 1024}])
    plan["problem"] = reference(problem).model_dump()
    found = [str(one) for one in check(problem, Plan.model_validate(plan), shipped_profiles())]
    assert any(f"needs {3 * memory_gib * 1024} MiB of memory" in one for one in found) == is_wrong


def changed_workload(**update):
    workloads = tuple(workload.model_copy(update=update) for workload in PROBLEM.workloads)
    return PROBLEM.model_copy(update={"workloads": workloads})


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (changed_workload(memory_mib=90_000.0), "MiB of memory; it has"),
        (changed_workload(slo_ms=1.0), "its SLO of 1 ms leaves 0.5 ms"),
        (changed_workload(rate_rps=99_999.0), "req/s in all; needed 99999"),
        (changed_workload(min_replicas=50), "partitions; allowed are 50 to"),
        (changed_workload(batch_sizes=(65_000,)), "is not allowed for"),
        (changed_workload(gpus=("H100-80GB-SXM",)), "which allows only H100-80GB-SXM"),
        (problem_of(WORKLOADS, fleet=[{"gpu": "A100-80GB", "count": 0}]), "but there are 0"),
    ],
)
def test_a_plan_that_breaks_a_limit_of_its_problem_is_found_out(problem, message):
    plan = Plan.model_validate(PLAN).model_copy(update={"problem": reference(problem)})
    found = check(problem, plan, shipped_profiles())
    assert any(message in str(violation) for violation in found), found


def test_of_another_problem_only_that_is_said():
    """Nothing of it can be judged; that its services are others would be said of each of them."""
    fewer = problem_of(WORKLOADS[:1], fleet=FLEET)
    (only,) = check(fewer, Plan.model_validate(PLAN), shipped_profiles())
    assert "answers the problem" in only.message


@pytest.mark.parametrize(
    ("stated", "planned", "words"),
    [
        (None, None, None),
        ("random", None, None),
        (None, "random", None),
        ("random", "random", None),
        ("turns", "random", "is for requests dealt by random; the problem deals them by turns"),
    ],
)
def test_of_another_problem_that_deals_its_requests_otherwise_that_is_said_too(monkeypatch, stated, planned, words):
    promises = [one and SimpleNamespace(dispatch=one) for one in (stated, planned)]
    monkeypatch.setattr(plan_module, "stated_promise", lambda _: promises[0])
    other = SimpleNamespace(problem=SimpleNamespace(name="other", sha256="0" * 64), promise=promises[1])
    said = [str(one) for one in plan_module._wrong_problem(PROBLEM, other)]
    assert said[0].startswith("plan: answers the problem 'other' (sha256 000000000000…), not ")
    assert len(said) == (1 if words is None else 2)
    assert words is None or words in said[1]


@pytest.mark.parametrize(
    ("partitions", "whole"),
    [
        ([{}], True),
        ([{}, {}], False),
        ([{"mig_profile": "7g.80gb"}], False),
        ([{"start": 0}], False),
        ([{"sm_percent": 100.0}], False),
    ],
)
def test_a_gpu_is_used_whole_by_one_partition_that_is_no_part_of_it(partitions, whole):
    nothing = {"mig_profile": None, "start": None, "sm_percent": None}
    assert _is_whole(SimpleNamespace(partitions=[SimpleNamespace(**nothing | one) for one in partitions])) == whole


def test_a_gpu_that_the_catalogue_does_not_know_is_named():
    plan = Plan.model_validate(PLAN)
    unknown = plan.gpus[0].model_copy(update={"gpu": "none"})
    plan = plan.model_copy(update={"gpus": (unknown, *plan.gpus[1:])})
    said = [str(one) for one in check(PROBLEM, plan, shipped_profiles())]
    assert f"{unknown.id}: none is not in the catalogue" in said


@pytest.mark.parametrize(("sharings", "wrong"), [(("exclusive", "mps"), ["T4/1"]), (("exclusive", "exclusive"), [])])
def test_one_gpu_that_is_shared_as_the_fleet_does_not_allow_is_found_beside_others(sharings, wrong):
    gpus = [
        SimpleNamespace(id=f"T4/{i}", gpu="T4", sharing=one, node=None, index=None, partitions=[])
        for i, one in enumerate(sharings)
    ]
    columns = SimpleNamespace(example=np.arange(2), division=np.arange(2), partitions=[], kinds=[])
    problem = problem_of(WORKLOADS, fleet=[{"gpu": "T4", "sharing": ["exclusive"]}])
    assert [one.where for one in wrong_fleet(problem, SimpleNamespace(gpus=gpus), columns)] == wrong


@pytest.mark.parametrize(
    ("node", "index", "words"),
    [
        (None, None, None),
        ("n1", 3, None),
        ("n1", 4, "is GPU 4 of node n1, which has 4 of this type"),
        ("n2", 0, "is GPU 0 of node n2, which has 0 of this type"),
        ("n1", None, "has node n1 and index None; expected both or neither"),
        (None, 0, "has node None and index 0; expected both or neither"),
    ],
)
def test_a_gpu_is_one_of_its_nodes_or_of_none(node, index, words):
    gpu = SimpleNamespace(id="x", sharing="mig", node=node, index=index)
    assert [one.message for one in _wrong_place(gpu, PROBLEM.fleet[0])] == ([words] if words else [])


@pytest.mark.parametrize(("sharing", "wrong"), [("mps", False), ("mig", True)])
def test_one_share_is_found_among_partitions_without(sharing, wrong):
    parts = [SimpleNamespace(duty_cycle_ms=None, turns=None, sm_percent=percent) for percent in (None, 50.0)]
    columns = SimpleNamespace(partitions=parts, kinds=[("x", None, None), ("x", None, 50.0)])
    plan = SimpleNamespace(gpus=[SimpleNamespace(id="x", sharing=sharing, partitions=parts)])
    said = [one.message for one in _turns_and_shares(PROBLEM, plan, columns)]
    assert said == (["has sm_percent 50, but is not shared by MPS"] if wrong else [])
