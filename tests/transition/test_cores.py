"""Ways between plans that divide CPUs, against random executions in which every core is held by one at most."""

import random
from collections import Counter

import pytest
from oracles.fewest_disturbed import fewest_disturbed
from problems.small_plans import cores_of, gpu_of, partition_of, plan_of

from sliceplan.solver.api import moving
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.transition.core_places import core_places
from sliceplan.solver.transition.inputs import parse_spare, refuse_unreplannable, refuse_used
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.stages import stages
from sliceplan.solver.transition.tenancies import IdleGpus, tenancy
from sliceplan.solver.wording.transition_counts import counts_in_words
from sliceplan.solver.wording.transition_text import step_in_words, summary_in_words

CPU = "Threadripper-3990X"
"""16 L3 domains of 4 cores; but for three of them, one service has them all the while."""

REST = (12, 52, "rest", 100)


def cpu_of(*partitions, number=0, **place):
    return gpu_of(f"{CPU}/{number}", cores_of(*REST), *(cores_of(*one) for one in partitions), **place)


def random_cpu(draw, number):
    """Returns a CPU of which three domains are divided at random."""
    partitions = []
    for domain in range(3):
        at = 4 * domain
        while at < 4 * domain + 4:
            size = draw.randint(1, 4 * domain + 4 - at)
            if draw.random() < 0.75:
                capacity = 10 * size
                partitions.append((at, size, draw.choice("abcd"), capacity * draw.uniform(0.5, 1), capacity))
            at += size
    return cpu_of(*partitions, number=number)


def random_pair(draw):
    sides = [plan_of(*(random_cpu(draw, number) for number in range(count))) for count in (1, draw.choice([1, 1, 2]))]
    draw.shuffle(sides)
    return sides


def by_service(plan, field):
    total = Counter()
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                total[served.workload] += getattr(served, field)
    return total


def execute(old, transition, draw):
    """Runs the steps in a random order that the graph allows; returns who has which cores, least capacities, faults."""
    names = {gpu.old_id: gpu.name for gpu in transition.gpus}
    holders, faults = {}, []
    for gpu in old.gpus:
        for one in gpu.partitions:
            for core in range(one.start, one.start + one.cores):
                holders[names[gpu.id], core] = one.serves[0].workload, one.start, one.cores
    capacity = by_service(old, "capacity_rps")
    lowest = dict(capacity)
    waiting, running = {step.id: set(step.after) for step in transition.steps}, set()
    while waiting or running:
        ready = [i for i, after in waiting.items() if not after]
        begins = bool(ready) and (not running or draw.random() < 0.6)
        step = transition.steps[draw.choice(ready) if begins else draw.choice(sorted(running))]
        held = range(step.start, step.start + step.cores)
        tenant = step.workloads[0], step.start, step.cores
        before = tenant[0], step.from_start, step.cores
        if begins:
            del waiting[step.id]
            running.add(step.id)
            for core in held if step.kind in ("start", "repin") else ():
                # What moves may come to cores of its own.
                if holders.get((step.gpu, core)) not in (None, before):
                    faults.append(f"core {core} of step {step.id} is taken")
                holders[step.gpu, core] = tenant
        else:
            running.remove(step.id)
            for after in waiting.values():
                after.discard(step.id)
            gone = tenant if step.kind == "stop" else before if step.kind == "repin" else None
            for place in [place for place, value in holders.items() if value == gone and place[0] == step.gpu]:
                del holders[place]
        for workload, change in (step.capacity_rps or {}).items():
            if (change < 0) == begins:
                capacity[workload] += change
                lowest[workload] = min(lowest.get(workload, 0), capacity[workload])
    return holders, lowest, faults


def held_by(plan, transition):
    names = {gpu.assigned_id: gpu.name for gpu in transition.gpus}
    return {
        (names[gpu.id], core): (one.serves[0].workload, one.start, one.cores)
        for gpu in plan.gpus
        for one in gpu.partitions
        for core in range(one.start, one.start + one.cores)
    }


@pytest.mark.parametrize("strategy", ["least-disturbance", "exchange-and-compact"])
def test_no_core_is_ever_held_twice_and_no_service_falls_lower_than_is_said(strategy):
    draw, seen = random.Random(1), Counter()
    for case in range(120):
        old, new = random_pair(draw)
        spare = draw.choice([0, 0, 1])
        idle = IdleGpus({CPU: spare})
        fixed = draw.random() < 0.5
        planned = plan_transition(old, new, idle=idle, fixed_starts=fixed, strategy=strategy)
        found = planned.transition
        assert replay(old, planned.assigned, found) == [], case
        rates = by_service(old, "rate_rps"), by_service(new, "rate_rps")
        admitted = {one.workload: one.missing_rps for one in found.shortfalls}
        for _ in range(3):
            holders, lowest, faults = execute(old, found, draw)
            assert faults == [], case
            assert holders == held_by(planned.assigned, found), case
            for workload in rates[0].keys() & rates[1].keys():
                required = min(rate[workload] for rate in rates)
                assert lowest[workload] >= (required - admitted.get(workload, 0)) * (1 - 1e-6), (case, workload)
        if strategy == "least-disturbance":
            assert found.disturbed.fewest == fewest_disturbed(old, new, spare) <= len(found.disturbed.services), case
            assert not found.disturbed.proven or found.disturbed.fewest == len(found.disturbed.services)
        seen.update(step.kind for step in found.steps)
        seen["short"] += bool(found.shortfalls)
        seen["bridges"] += found.temporary
        seen["kept"] += found.kept
        end = stages(old, planned)
        assert not end or end[-1] == planned.assigned
        for stage in end:
            moving.refuse_unusable({"stage": stage})
    assert not seen["change_mode"]
    assert not seen["create"]
    assert seen["short"]
    assert seen["kept"]
    if strategy == "least-disturbance":
        assert seen["repin"] > 20
        assert seen["bridges"]
    else:
        assert not seen["repin"]


def test_the_replay_finds_whatever_an_execution_can_run_into():
    """Property: where a step waits for less and cores can be held twice, the replay says so."""
    draw, told = random.Random(2), 0
    for case in range(80):
        old, new = random_pair(draw)
        planned = plan_transition(old, new, fixed_starts=True)
        waits = [step for step in planned.transition.steps if step.kind in ("start", "repin") and step.after]
        if not waits:
            continue
        chosen = draw.choice(waits).model_copy(update={"after": ()})
        steps = tuple(chosen if step.id == chosen.id else step for step in planned.transition.steps)
        spoilt = planned.transition.model_copy(update={"steps": steps})
        if any(execute(old, spoilt, draw)[2] for _ in range(4)):
            told += 1
            assert any("same cores" in text for text in replay(old, planned.assigned, spoilt)), case
    assert told > 20


def test_what_both_plans_have_stays_if_the_others_find_cores_around_it():
    old = plan_of(cpu_of((0, 2, "a", 10), (4, 2, "b", 10)))
    new = plan_of(cpu_of((0, 4, "c", 10), (4, 2, "a", 10), (6, 2, "b", 10)))
    found = plan_transition(old, new).transition
    assert (found.kept, found.moved, found.repinned, found.shortfalls) == (3, 0, 0, ())
    assert {step.kind for step in found.steps} == {"start", "redirect"}
    assert {step.start for step in found.steps} == {8}
    fixed = plan_transition(old, new, fixed_starts=True).transition
    assert (fixed.kept, fixed.moved, fixed.repinned, fixed.shortfalls) == (1, 0, 2, ())
    assert fixed.disturbed.services == ()
    assert fixed.disturbed.proven
    words = [step_in_words(step) for step in fixed.steps]
    assert words[0] == f"{CPU}/0 2 cores from 6 on: move b here from 4 on, while it runs"
    # a comes to the cores that b leaves, and c to those of a.
    first, second, third = fixed.steps[:3]
    assert (second.kind, second.after) == ("repin", (first.id,))
    assert (third.kind, third.after) == (
        "start",
        (second.id,),
    )
    text = " ".join(summary_in_words(fixed))
    assert "2 partitions of CPUs given other cores while running." in text
    assert "on at most 1 CPU at once" in text
    assert counts_in_words(fixed) == "1 partition to create, 2 to change, 0 to destroy; no service below its rate."


def test_cores_that_shift_by_one_are_moved_without_waiting_for_themselves():
    old, new = plan_of(cpu_of((0, 3, "a", 10))), plan_of(cpu_of((1, 3, "a", 10)))
    (step,) = plan_transition(old, new, fixed_starts=True).transition.steps
    assert (step.kind, step.from_start, step.start, step.cores, step.after) == ("repin", 0, 1, 3, ())


def test_two_that_exchange_their_cores_need_a_free_set_of_cores_or_one_is_stopped():
    full = (8, 4, "c", 10)
    old, new = (
        plan_of(cpu_of((0, 4, "a", 10), (4, 4, "b", 10), full)),
        plan_of(cpu_of((0, 4, "b", 10), (4, 4, "a", 10), full)),
    )
    stopped = plan_transition(old, new, fixed_starts=True)
    assert replay(old, stopped.assigned, stopped.transition) == []
    assert stopped.transition.repinned == 1
    assert len(stopped.transition.disturbed.services) == 1
    assert not stopped.transition.disturbed.proven
    assert stopped.transition.disturbed.fewest == 0
    assert [one.missing_rps for one in stopped.transition.shortfalls] == [10]
    bridged = plan_transition(old, new, fixed_starts=True, idle=IdleGpus({CPU: 1})).transition
    assert bridged.temporary == 1
    assert bridged.shortfalls == ()
    assert plan_transition(old, new).transition.steps == ()


def test_a_cpu_and_a_gpu_of_one_index_of_a_node_are_two():
    gpu = gpu_of("T4/0", partition_of(None, "g", 5), node="n", index=0)
    old = plan_of(gpu, cpu_of((0, 2, "a", 10), node="n", index=0))
    new = plan_of(gpu, cpu_of((0, 2, "a", 10), node="n", index=0), cpu_of((0, 2, "b", 9), number=1, node="n", index=1))
    planned = plan_transition(old, new, idle=IdleGpus({}, ((CPU, "m", 0),)))
    assert replay(old, planned.assigned, planned.transition) == []
    assert [gpu.name for gpu in planned.transition.gpus] == ["n/0", "n/cpu-0", "n/cpu-1"]
    assert "on at most 3 of the GPUs and CPUs at once" in " ".join(summary_in_words(planned.transition))
    assert parse_spare([f"{CPU}=n/1"]) == IdleGpus({}, ((CPU, "n", 1),))
    refuse_used(IdleGpus({}, ((CPU, "n", 1), ("T4", "n", 1))), old, "old.json")
    with pytest.raises(InputError, match="is Threadripper-3990X/0 of old"):
        refuse_used(IdleGpus({}, ((CPU, "n", 0),)), old, "old.json")


def test_what_is_kept_free_on_a_cpu_is_room_that_is_taken():
    free = cores_of(0, 4, "x", 1).model_copy(update={"serves": ()})
    old = plan_of(gpu_of(f"{CPU}/0", cores_of(*REST), cores_of(4, 4, "a", 10), free))
    new = plan_of(gpu_of(f"{CPU}/0", cores_of(*REST), free.model_copy(update={"start": 8}), cores_of(0, 2, "a", 10)))
    planned = plan_transition(old, new, fixed_starts=True)
    assert replay(old, planned.assigned, planned.transition) == []
    assert {step.kind for step in planned.transition.steps} == {"start", "redirect", "drain", "stop"}
    assert planned.transition.shortfalls == ()


def test_replanning_refuses_cpus_by_name():
    with pytest.raises(InputError, match="is a CPU, and replanning knows GPUs only"):
        refuse_unreplannable("plan.json", plan_of(cpu_of((0, 2, "a", 10))))


def test_the_replay_names_what_no_cpu_can_do():
    old, new = plan_of(cpu_of((0, 2, "a", 10))), plan_of(cpu_of((4, 2, "a", 10)))
    planned = plan_transition(old, new, fixed_starts=True)
    (step,) = planned.transition.steps
    for fields, message in (
        ({"start": 3}, "no partition of"),
        ({"start": 12}, "can have the same cores at once"),
        ({"from_start": 1}, "moves what does not run"),
        ({"start": 8}, "ends with"),
    ):
        steps = (step.model_copy(update=fields),)
        said = replay(old, planned.assigned, planned.transition.model_copy(update={"steps": steps}))
        assert any(message in text for text in said), (fields, said)
    other = planned.assigned.gpus[0].partitions
    served = other[0].serves[0].model_copy(update={"batch": 7})
    changed = [one.model_copy(update={"serves": (served,)}) if one is other[0] else one for one in other]
    gpu = planned.assigned.gpus[0].model_copy(update={"partitions": tuple(changed)})
    said = replay(old, planned.assigned.model_copy(update={"gpus": (gpu,)}), planned.transition)
    assert any("is not stopped and was" in text for text in said)


def test_places_are_legal_disjoint_and_hold_all_that_is_wanted():
    draw = random.Random(3)
    for _ in range(200):
        before, after = (random_cpu(draw, 0) for _ in range(2))
        runs, wants = ([tenancy(one, "cores") for one in gpu.partitions] for gpu in (before, after))
        stay, coming, moves = core_places(CPU, runs, wants, fixed_starts=draw.random() < 0.3)
        there = [*(runs[i] for i in stay), *coming]
        assert Counter(one.kind for one in there) == Counter(one.kind for one in wants)
        held = [core for one in there for core in range(one.start, one.start + one.cores)]
        assert len(held) == len(set(held))
        assert max(held) < 64
        assert all(one.start % 4 + one.cores <= 4 or one.start % 4 == one.cores % 4 == 0 for one in there)
        assert all(runs[i].kind == coming[to].kind and i not in stay for i, to in moves.items())
        common = Counter(one.kind for one in runs) & Counter(one.kind for one in wants)
        assert len(stay) + len(moves) == common.total()
