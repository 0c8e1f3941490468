"""Properties of transitions between random plans, and what they do in cases that can be seen through."""

from collections import Counter
from types import SimpleNamespace

import pytest
from problems.igniter_instances import random_mps_problem, table_3
from problems.instances import problem_of
from problems.plan_pairs import family, pairs, planned
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.transition import Durations
from sliceplan.solver.transition.planning import _disturbed, plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.tenancies import IdleGpus, tenancy
from sliceplan.solver.transition.world import Item

A100 = "A100-80GB"


def contents(plan, gpu):
    return sorted(
        (partition.mig_profile, partition.start, served.workload, served.batch, served.processes)
        for partition in plan.gpus[gpu].partitions
        for served in partition.serves
    )


@pytest.mark.parametrize("part", range(4))
def test_1000_random_transitions_hold_at_every_cut_and_with_a_spare_gpu_nothing_falls_short(part):
    count = 0
    for name, old, new in pairs(range(part, 20, 4), most_services=5, plans=8):
        count += 1
        spare = min(1, count % 5)
        found = plan_transition(old, new, idle=IdleGpus({A100: spare}))
        assert replay(old, found.assigned, found.transition) == [], name
        if spare:
            assert not found.transition.shortfalls, name
    assert count >= 250


def test_the_least_disturbance_is_at_most_that_of_exchange_and_compact():
    services = Counter()
    for name, old, new in pairs(range(100, 112)):
        best = plan_transition(old, new, idle=IdleGpus({A100: 1}))
        published = plan_transition(old, new, idle=IdleGpus({A100: 1}), strategy="exchange-and-compact")
        assert replay(old, published.assigned, published.transition) == [], name
        assert not published.transition.shortfalls, name
        assert best.transition.disturbed.proven, name
        disturbed = len(best.transition.disturbed.services)
        assert disturbed == best.transition.disturbed.fewest
        assert disturbed <= len(published.transition.disturbed.services), name
        services["best"] += disturbed
        services["published"] += len(published.transition.disturbed.services)
    assert services["best"] < services["published"]


def test_with_as_many_idle_gpus_as_the_new_plan_has_nothing_falls_short():
    for name, old, new in pairs(range(200, 206)):
        found = plan_transition(old, new, idle=IdleGpus({A100: len(new.gpus)}))
        assert not found.transition.shortfalls, name


def test_a_plan_to_itself_needs_no_step():
    for plan in family(1):
        found = plan_transition(plan, plan)
        assert found.transition.steps == ()
        assert found.transition.kept == sum(len(gpu.partitions) for gpu in plan.gpus)
        assert found.assigned.gpus == plan.gpus


def test_gpus_and_instances_in_another_order_are_recognised():
    plan = planned(problem_of([{"model": "resnet50", "rate_rps": 900 + i, "slo_ms": 200} for i in range(6)]), "exact")
    ids = [gpu.id for gpu in plan.gpus]
    turned = [gpu.model_copy(update={"id": name}) for gpu, name in zip(plan.gpus, reversed(ids), strict=True)]
    found = plan_transition(plan, plan.model_copy(update={"gpus": tuple(turned)}))
    assert found.transition.steps == ()
    assert [contents(found.assigned, i) for i in range(len(ids))] == [contents(plan, i) for i in range(len(ids))]


def test_without_any_room_the_transition_says_what_falls_short_and_by_how_much():
    def one(rate):
        return planned(problem_of([{"model": "vgg19", "rate_rps": rate, "slo_ms": 400}]), "whole-gpu")

    old, new = one(100), planned(problem_of([{"model": "vgg19", "rate_rps": 100, "slo_ms": 400}]), "parvagpu")
    assert len(old.gpus) == len(new.gpus) == 1
    times = Durations(redirect_s=1, drain_s=7, stop_s=2, destroy_s=1, create_s=1, start_s=20)
    found = plan_transition(old, new, durations=times).transition
    (short,) = found.shortfalls
    assert (short.required_rps, short.missing_rps) == pytest.approx((100, 100))
    # Redirect, drain, stop, destroy, create, start, redirect.
    assert (short.from_s, short.until_s) == pytest.approx((0, 1 + 7 + 2 + 1 + 1 + 20 + 1))
    assert short.lost_requests == pytest.approx(100 * 33)
    assert not plan_transition(old, new, idle=IdleGpus({A100: 1})).transition.shortfalls


def test_an_instance_that_the_next_service_can_use_is_not_created_again():
    workloads = [{"name": name, "model": "vgg19", "rate_rps": 100, "slo_ms": 400} for name in ("left", "stays")]
    old = planned(problem_of(workloads), "whole-gpu")
    new = planned(problem_of([{**workloads[0], "name": "comes"}, workloads[1]]), "whole-gpu")
    found = plan_transition(old, new).transition
    assert [step.kind for step in found.steps] == ["redirect", "drain", "stop", "start", "redirect"]
    assert (found.kept, found.created, found.destroyed, found.disturbed.services) == (1, 0, 0, ())


def test_changing_to_whole_gpus_empties_each_gpu_and_needs_a_reset_on_ampere():
    workloads = [{"model": "resnet50", "rate_rps": 1400, "slo_ms": 300} for _ in range(3)]
    old = planned(problem_of(workloads, fleet=[{"gpu": A100}]), "parvagpu")
    assert len(old.gpus) > 1
    new = old.model_copy(
        update={
            "gpus": tuple(
                gpu.model_copy(
                    update={
                        "sharing": "exclusive",
                        "partitions": (gpu.partitions[0].model_copy(update={"mig_profile": None, "start": None}),),
                    }
                )
                for gpu in old.gpus
            )
        }
    )
    found = plan_transition(old, new)
    steps = found.transition.steps
    changes = [step for step in steps if step.kind == "change_mode"]
    assert replay(old, found.assigned, found.transition) == []
    assert len(changes) == len(old.gpus)
    for change in changes:
        stood = next(gpu for gpu in old.gpus if gpu.id == change.gpu).partitions
        waited = [steps[at] for at in change.after]
        assert [(step.kind, step.gpu) for step in waited] == [("destroy", change.gpu)] * len(stood)
        assert {step.start for step in waited} == {partition.start for partition in stood}
    assert load_catalogue()[A100].architecture == "Ampere"
    assert all(step.needs_reset for step in changes)
    assert found.transition.resets == found.transition.mode_changes == len(changes)
    # With an idle GPU beside them one of them need not change: it is left as it is.
    spared = plan_transition(old, new, idle=IdleGpus({A100: 1})).transition
    assert spared.mode_changes == len(changes) - 1


def test_shares_of_a_gpu_under_mps_stay_where_they_are_equal():
    before = table_3()
    fewer = [one.model_copy(update={"rate_rps": 0.5 * one.rate_rps}) for one in before.workloads[:7]]
    after = before.model_copy(update={"workloads": (*fewer, *before.workloads[7:])})
    old, new = planned(before, "igniter"), planned(after, "igniter")
    found = plan_transition(old, new, idle=IdleGpus({old.gpus[0].gpu: 1}))
    assert replay(old, found.assigned, found.transition) == []
    assert plan_transition(old, old).transition.steps == ()
    shares = [step for step in found.transition.steps if step.sm_percent is not None]
    assert shares
    assert not any(step.kind in ("create", "destroy") for step in found.transition.steps)


def test_random_transitions_between_gpus_under_mps_hold_at_every_cut():
    for seed in range(6):
        before = random_mps_problem(6, seed)
        fewer = [
            one.model_copy(update={"rate_rps": (0.5 + 0.1 * (i % 4)) * one.rate_rps})
            for i, one in enumerate(before.workloads)
        ]
        old = planned(before, "igniter")
        new = planned(before.model_copy(update={"workloads": tuple(fewer)}), "exact")
        for first, second in ((old, new), (new, old)):
            spare = IdleGpus({old.gpus[0].gpu: len(second.gpus)})
            found = plan_transition(first, second, idle=spare)
            assert replay(first, found.assigned, found.transition) == [], seed
            assert not found.transition.shortfalls, seed


def test_nodes_of_the_old_plan_are_kept_and_idle_gpus_of_the_new_one_are_used():
    services = [{"model": "resnet50", "rate_rps": 1500, "slo_ms": 200} for _ in range(4)]
    small = problem_of(services[:2], fleet=[{"gpu": A100, "nodes": [{"name": "a", "count": 4}]}])
    large = problem_of(services, fleet=[{"gpu": A100, "nodes": [{"name": "a", "count": 4}]}])
    old, new = planned(small, "exact"), planned(large, "exact")
    found = plan_transition(old, new)
    assert len(new.gpus) > len(old.gpus)
    assert {(gpu.node, gpu.index) for gpu in found.assigned.gpus} == {("a", i) for i in range(len(new.gpus))}
    assert all(gpu.name == f"{gpu.node}/{gpu.index}" for gpu in found.transition.gpus)
    assert replay(old, found.assigned, found.transition) == []
    # A named idle GPU that the new plan uses is that one, and one more beside it stays idle in the end.
    found = plan_transition(old, new, idle=IdleGpus({}, ((A100, "a", 3), (A100, "b", 0))))
    assert replay(old, found.assigned, found.transition) == []
    assert all(gpu.node is not None for gpu in found.transition.gpus)


def test_equal_runs_give_equal_transitions():
    _, old, new = next(iter(pairs([7])))
    assert plan_transition(old, new).transition == plan_transition(old, new).transition


def test_a_transition_takes_until_its_last_step_has_ended():
    old = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10)))
    new = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10), partition_of("3g.40gb@4", "b", 10)))
    durations = Durations(create_s=1, start_s=20, redirect_s=2)
    assert plan_transition(old, new, durations=durations).transition.estimated_s == 23
    assert plan_transition(old, old).transition.estimated_s == 0


def test_only_partitions_of_services_that_go_on_count_as_moved():
    """Of what runs first; what comes and goes on the way is no partition of theirs."""
    runs = [tenancy(partition_of(f"1g.10gb@{i}", name, 10), "mig") for i, name in enumerate(["a", "ends", "b", "a"])]
    roles = ["leaves", "leaves", "stays", "leaves", "leaves"]
    world = SimpleNamespace(items=[Item(0, one, role) for one, role in zip([*runs, runs[2]], roles, strict=True)])
    assert _disturbed(world, 4, {"a": 10.0, "b": 10.0}) == (("a",), 2)
