"""Ways between plans whose services take turns, against random executions in which who takes turns starts together."""

import random
from collections import Counter

import pytest
from oracles.fewest_disturbed import contents, fewest_disturbed
from problems.small_plans import gpu_of, in_turn, partition_of, plan_of

from sliceplan.solver.transition.inputs import refuse_unusable
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.risks import busiest_moments, risks
from sliceplan.solver.transition.stages import stages
from sliceplan.solver.transition.tenancies import IdleGpus
from sliceplan.solver.wording.transition_text import step_in_words

T4 = "T4"


def random_round(draw, place, services):
    """Returns a partition of one or more services, some of them in turns."""
    chosen = draw.sample(services, draw.choice([1, 2, 2, 3]))
    alone = [partition_of(place, name, 10 * draw.choice([1, 2, 3]) * draw.uniform(0.5, 1), 30) for name in chosen]
    if len(chosen) == 1 and draw.random() < 0.7:
        return alone[0]
    return in_turn(*alone, round_ms=draw.choice([40.0, 50.0]), turns=draw.choice(["fixed", "any"]))


def random_plan(draw, count):
    gpus = []
    for number in range(count):
        if draw.random() < 0.25:
            gpus.append(gpu_of(f"{T4}/{number}", random_round(draw, None, "abcd")))
            continue
        shares = draw.choice([(50, 50), (30, 70), (40, 30, 30), (60,)])
        gpus.append(gpu_of(f"{T4}/{number}", *(random_round(draw, share, "abcd") for share in shares)))
    return plan_of(*gpus)


def changed_a_little(draw, plan):
    """Returns the plan with one thing different in some of its rounds."""
    gpus = []
    for gpu in plan.gpus:
        partitions = []
        for one in gpu.partitions:
            reverse = {"serves": tuple(reversed(one.serves))}
            longer = {"duty_cycle_ms": one.duty_cycle_ms and one.duty_cycle_ms + 1}
            larger = {"serves": (one.serves[0].model_copy(update={"batch": 2}), *one.serves[1:])}
            partitions.append(one.model_copy(update=draw.choice([{}, {}, reverse, longer, larger])))
        gpus.append(gpu.model_copy(update={"partitions": tuple(partitions)}))
    return plan_of(*gpus)


def by_service(plan, field):
    total = Counter()
    for served in (served for gpu in plan.gpus for one in gpu.partitions for served in one.serves):
        total[served.workload] += getattr(served, field)
    return total


def execute(old, transition, draw):
    """Runs the steps in a random order that the graph allows; returns what runs, least capacities, and faults."""
    names = {gpu.old_id: gpu.name for gpu in transition.gpus}
    runs, faults = Counter(), []
    for gpu in old.gpus:
        for one in gpu.partitions:
            runs[names[gpu.id], one.sm_percent, tuple(sorted(served.workload for served in one.serves))] += 1
    capacity = by_service(old, "capacity_rps")
    lowest = dict(capacity)
    waiting, running = {step.id: set(step.after) for step in transition.steps}, set()
    while waiting or running:
        ready = [i for i, after in waiting.items() if not after]
        begins = bool(ready) and (not running or draw.random() < 0.6)
        step = transition.steps[draw.choice(ready) if begins else draw.choice(sorted(running))]
        here = step.gpu, step.sm_percent, step.workloads
        if begins:
            del waiting[step.id]
            running.add(step.id)
            runs[here] += step.kind == "start"
            taken = sum(
                times * (100 if share is None else share) for (gpu, share, _), times in runs.items() if gpu == here[0]
            )
            faults += [f"step {step.id}: {taken} % of {here[0]}"] if taken > 100 else []
        else:
            running.remove(step.id)
            for after in waiting.values():
                after.discard(step.id)
            runs[here] -= step.kind == "stop"
        if step.kind == "redirect":
            assert tuple(sorted(step.capacity_rps)) == step.workloads
        for workload, change in (step.capacity_rps or {}).items():
            if (change < 0) == begins:
                capacity[workload] += change
                lowest[workload] = min(lowest.get(workload, 0), capacity[workload])
    return +runs, lowest, faults


def running_in(plan, transition):
    names = {gpu.assigned_id: gpu.name for gpu in transition.gpus}
    return Counter(
        (names[gpu.id], one.sm_percent, tuple(sorted(served.workload for served in one.serves)))
        for gpu in plan.gpus
        for one in gpu.partitions
    )


@pytest.mark.parametrize("strategy", ["least-disturbance", "exchange-and-compact"])
def test_no_service_falls_lower_than_is_said_whoever_it_takes_turns_with(strategy):
    draw, seen = random.Random(1), Counter()
    for case in range(120):
        old = random_plan(draw, draw.choice([1, 1, 2]))
        new = changed_a_little(draw, old) if draw.random() < 0.5 else random_plan(draw, draw.choice([1, 2]))
        refuse_unusable({"old": old, "new": new})
        idle = draw.choice([0, 0, 1])
        planned = plan_transition(old, new, idle=IdleGpus({T4: idle}), strategy=strategy)
        found = planned.transition
        if strategy == "least-disturbance":
            assert found.disturbed.proven
            assert found.disturbed.fewest == len(found.disturbed.services) == fewest_disturbed(old, new, idle), case
        assert replay(old, planned.assigned, found) == [], case
        rates = by_service(old, "rate_rps"), by_service(new, "rate_rps")
        admitted = {one.workload: one.missing_rps for one in found.shortfalls}
        for _ in range(3):
            runs, lowest, faults = execute(old, found, draw)
            assert faults == [], case
            assert runs == running_in(planned.assigned, found), case
            for workload in rates[0].keys() & rates[1].keys():
                required = min(rate[workload] for rate in rates)
                assert lowest[workload] >= (required - admitted.get(workload, 0)) * (1 - 1e-6), (case, workload)
        if len(old.gpus) == len(new.gpus) == 1 and strategy == "least-disturbance":
            before, after = (Counter(map(contents, plan.gpus[0].partitions)) for plan in (old, new))
            assert found.kept == (before & after).total(), case
            seen["one GPU, some stay"] += 0 < found.kept < before.total()
        end = stages(old, planned)
        assert not end or end[-1] == planned.assigned
        refuse_unusable({str(number): stage for number, stage in enumerate(end)})
        seen["short"] += bool(found.shortfalls)
        seen["bridges"] += found.temporary
        seen["bridged in turn"] += any(step.temporary and len(step.workloads) > 1 for step in found.steps)
        seen["turns"] += any(len(step.workloads) > 1 for step in found.steps)
    assert seen["short"]
    assert seen["turns"] > 50
    if strategy == "least-disturbance":
        assert min(seen["one GPU, some stay"], seen["bridges"], seen["bridged in turn"]) > 0


def two(round_ms=40.0, turns="fixed", order="ab", place="2g.20gb@0"):
    alone = {"a": partition_of(place, "a", 20, 30), "b": partition_of(place, "b", 10, 12)}
    return plan_of(gpu_of("A100-80GB/0", in_turn(*(alone[name] for name in order), round_ms=round_ms, turns=turns)))


def test_an_equal_round_stays_and_any_other_is_started_before_the_first_stops():
    assert plan_transition(two(), two()).transition.steps == ()
    assert plan_transition(two(turns=None), two()).transition.steps == ()
    assert plan_transition(two(turns="any"), two(turns="any", order="ba")).transition.steps == ()
    for new in (two(round_ms=41.0), two(order="ba"), two(turns="any")):
        planned = plan_transition(two(), new, idle=IdleGpus({"A100-80GB": 1}))
        found = planned.transition
        assert replay(two(), planned.assigned, found) == []
        assert found.disturbed.services == ("a", "b")
        assert (found.kept, found.moved, found.shortfalls) == (0, 1, ())
        to, away = (step for step in found.steps if step.kind == "redirect")
        assert to.capacity_rps == {"a": 30, "b": 12}
        assert away.capacity_rps == {"a": -30, "b": -12}
        assert to.id in away.after
        start = next(step for step in found.steps if step.kind == "start")
        assert step_in_words(start).endswith(": start a, b")


def test_where_there_is_no_room_both_fall_short_and_are_risks():
    old = two(place=None)
    found = plan_transition(old, two(place=None, round_ms=50.0)).transition
    assert {(one.workload, one.missing_rps) for one in found.shortfalls} == {("a", 20), ("b", 10)}
    said = risks(found, old, two(place=None, round_ms=50.0))
    assert {risk.workloads for risk in said if risk.what == "below its rate"} == {("a",), ("b",)}
    assert set(busiest_moments(found, old, old)) == {"a", "b"}


@pytest.mark.parametrize("other", [two(round_ms=41.0), two(order="ba"), two(turns="any")])
def test_the_replay_refuses_a_round_that_becomes_another_without_a_stop(other):
    planned = plan_transition(two(), two())
    changed = other.gpus[0].model_copy(update={"id": planned.assigned.gpus[0].id})
    said = replay(two(), plan_of(changed), planned.transition)
    assert any("('a', 'b') is not stopped and was" in text for text in said)
    assert replay(two(turns=None), two(), planned.transition) == []
