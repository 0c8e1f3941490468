"""The replay itself: against brute force, against random executions, and on transitions that were spoilt."""

import random
from collections import Counter
from itertools import product
from types import SimpleNamespace

import pytest
from problems.plan_pairs import pairs
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import Placement, fits, placement_rules
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.replay_capacity import ancestors, least_capacity
from sliceplan.solver.transition.replay_room import Lifetime, wrong_room
from sliceplan.solver.transition.tenancies import IdleGpus

A100 = "A100-80GB"
RULES = placement_rules(load_catalogue()[A100].mig)


class Step:
    def __init__(self, after):
        self.after = after


@pytest.mark.parametrize("seed", range(150))
def test_the_least_capacity_is_that_of_the_worst_down_closed_set(seed):
    draw = random.Random(seed)
    count = draw.randint(1, 9)
    steps = [Step(tuple(j for j in range(i) if draw.random() < 0.3)) for i in range(count)]
    change = {i: draw.choice([-1, 1]) * draw.randint(1, 50) for i in range(count) if draw.random() < 0.9}
    earlier = ancestors(steps)
    cuts = [
        chosen
        for chosen in product([False, True], repeat=count)
        if all(chosen[j] for i in range(count) if chosen[i] for j in steps[i].after)
    ]
    # What has begun counts against the service, what it gains only when something else waited for it.
    least = min(
        100
        + sum(
            change.get(i, 0)
            for i in range(count)
            if chosen[i] and (change.get(i, 0) < 0 or any(chosen[j] and earlier[j] >> i & 1 for j in range(count)))
        )
        for chosen in cuts
    )
    gains = {i: float(value) for i, value in change.items() if value > 0}
    losses = {i: float(-value) for i, value in change.items() if value < 0}
    assert least_capacity(100.0, gains, losses, earlier) == pytest.approx(least, abs=1e-5)


def execute(old, transition, draw):
    """Runs the steps in a random order that the graph allows, and checks geometry and capacity all the time."""
    capacity, rate = {}, {}
    instances = {}
    for gpu in old.gpus:
        for partition in gpu.partitions:
            if partition.mig_profile is not None:
                instances.setdefault(gpu.id, set()).add((partition.mig_profile, partition.start))
            for served in partition.serves:
                capacity[served.workload] = capacity.get(served.workload, 0) + served.capacity_rps
                rate[served.workload] = rate.get(served.workload, 0) + served.rate_rps
    names = {gpu.old_id: gpu.name for gpu in transition.gpus}
    instances = {names[gpu_id]: places for gpu_id, places in instances.items()}
    lowest = dict(capacity)
    waiting = {step.id: set(step.after) for step in transition.steps}
    running = set()
    while waiting or running:
        ready = [i for i, after in waiting.items() if not after]
        begin = bool(ready) and (not running or draw.random() < 0.6)
        i = draw.choice(ready) if begin else draw.choice(sorted(running))
        step = transition.steps[i]
        change = step.capacity_rps or {}
        if begin:
            del waiting[i]
            running.add(i)
            if step.kind == "create":
                on = instances.setdefault(step.gpu, set())
                layout = tuple(sorted(Placement(start, profile) for profile, start in on))
                assert fits(RULES, layout, Placement(step.start, step.mig_profile)), (i, layout)
                on.add((step.mig_profile, step.start))
        else:
            running.remove(i)
            for after in waiting.values():
                after.discard(i)
            if step.kind == "destroy":
                instances[step.gpu].remove((step.mig_profile, step.start))
        for workload, value in change.items():
            if (value < 0) == begin:
                capacity[workload] = capacity.get(workload, 0) + value
                if workload in lowest:
                    lowest[workload] = min(lowest[workload], capacity[workload])
    return lowest, rate


def test_random_executions_never_fall_below_what_is_required():
    draw = random.Random(0)
    for name, old, new in pairs(range(300, 306)):
        found = plan_transition(old, new, idle=IdleGpus({A100: 1})).transition
        after = {}
        for gpu in new.gpus:
            for partition in gpu.partitions:
                for served in partition.serves:
                    after[served.workload] = after.get(served.workload, 0) + served.rate_rps
        for _ in range(3):
            lowest, before = execute(old, found, draw)
            for workload in before.keys() & after.keys():
                required = min(before[workload], after[workload])
                assert lowest[workload] >= required * (1 - 1e-6), (name, workload)


def spoilt(transition, kind, draw):
    """Returns the transition with a step of one kind that waits for nothing; None: no such step waits."""
    steps = [step for step in transition.steps if step.kind == kind and step.after]
    if not steps:
        return None
    chosen = draw.choice(steps)
    return transition.model_copy(
        update={
            "steps": tuple(
                step.model_copy(update={"after": ()}) if step.id == chosen.id else step for step in transition.steps
            )
        }
    )


def test_a_step_that_waits_for_nothing_is_found():
    draw = random.Random(1)
    tried, missed = Counter(), Counter()
    for name, old, new in pairs(range(400, 406)):
        found = plan_transition(old, new)
        for kind in ("start", "drain", "stop", "destroy", "create"):
            wrong = spoilt(found.transition, kind, draw)
            if wrong is not None:
                tried[kind] += 1
                missed[kind] += not replay(old, found.assigned, wrong)
                # A new instance may wait for more than its own room needs.
                assert kind == "create" or not missed[kind], (name, kind)
    assert all(tried[kind] > 10 for kind in ("start", "drain", "stop", "destroy", "create"))
    assert missed["create"] < 0.3 * tried["create"]


def test_a_redirection_that_does_not_wait_is_found_where_capacity_depends_on_it():
    found_some = 0
    for _, old, new in pairs(range(420, 424)):
        found = plan_transition(old, new, idle=IdleGpus({A100: 1}))
        free = found.transition.model_copy(
            update={
                "steps": tuple(
                    step.model_copy(update={"after": ()})
                    if step.kind == "redirect" and min((step.capacity_rps or {"": 1}).values()) < 0
                    else step
                    for step in found.transition.steps
                )
            }
        )
        found_some += any("can fall to" in message for message in replay(old, found.assigned, free))
    assert found_some > 10


def test_a_figure_that_neither_plan_gives_is_found():
    _, old, new = next(iter(pairs([430])))
    found = plan_transition(old, new, idle=IdleGpus({A100: 1}))
    steps = list(found.transition.steps)
    at = next(i for i, step in enumerate(steps) if step.capacity_rps)
    wrong = {workload: 1.01 * value for workload, value in steps[at].capacity_rps.items()}
    steps[at] = steps[at].model_copy(update={"capacity_rps": wrong})
    messages = replay(old, found.assigned, found.transition.model_copy(update={"steps": tuple(steps)}))
    assert any("the plans say" in message for message in messages)


def with_steps(found, change):
    """Returns the transition with every step as `change` leaves it."""
    return found.transition.model_copy(update={"steps": tuple(change(step) for step in found.transition.steps)})


def waiting_for(found, chosen, after):
    """Returns the transition with a step that waits for others than it did; none takes time, so each may begin."""
    at_once = {"starts_s": 0.0, "ends_s": 0.0}
    return with_steps(found, lambda one: one.model_copy(update=at_once | ({"after": after} if one is chosen else {})))


def exchange(old, new):
    """Returns the transition between two plans, with one idle GPU."""
    return plan_transition(old, new, idle=IdleGpus({A100: 1}))


@pytest.mark.parametrize(("part", "messages"), [(1e-3, 1), (1e-5, 1), (1e-8, 0), (0, 0)])
def test_a_figure_that_is_off_is_found_beyond_rounding(part, messages):
    _, old, new = next(iter(pairs([430])))
    found = exchange(old, new)
    at = next(step.id for step in found.transition.steps if step.capacity_rps)

    def off(step):
        wrong = {workload: (1 + part) * value for workload, value in (step.capacity_rps or {}).items()}
        return step.model_copy(update={"capacity_rps": wrong}) if step.id == at else step

    said = [text for text in replay(old, found.assigned, with_steps(found, off)) if "the plans say" in text]
    assert len(said) == messages


@pytest.mark.parametrize("part", [1e-3, 1e-5, 1e-8, 0])
def test_a_shortfall_that_is_larger_than_admitted_is_found_beyond_rounding(part):
    old = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10), partition_of("3g.40gb@4", "a", 20)))
    new = plan_of(gpu_of(f"{A100}/0", partition_of("7g.80gb@0", "a", 40)))
    found = plan_transition(old, new)
    (short,) = found.transition.shortfalls
    assert (short.required_rps, short.missing_rps) == (30, 30)
    admitted = short.model_copy(update={"missing_rps": 30 * (1 - part)})
    less = found.transition.model_copy(update={"shortfalls": (admitted,)})
    assert bool(replay(old, found.assigned, less)) == (part > 1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 7}, "steps[1].id is 7"),
        ({"after": (1,)}, "step 1 waits for (1,), which are not all earlier"),
        ({"after": (-1,)}, "step 1 waits for (-1,), which are not all earlier"),
        ({"starts_s": 0.5}, "step 1 begins before a step that it waits for has ended"),
        ({"starts_s": 1.0 - 1e-9}, None),
    ],
)
def test_steps_wait_for_earlier_ones_and_begin_after_their_end(change, message):
    old = plan_of(gpu_of(f"{A100}/0", partition_of(None, "a", 10)))
    new = plan_of(gpu_of(f"{A100}/0", partition_of(None, "b", 10)))
    found = plan_transition(old, new)
    assert [(step.kind, step.after, step.starts_s) for step in found.transition.steps[:2]] == [
        ("redirect", (), 0.0),
        ("drain", (0,), 1.0),
    ]
    wrong = with_steps(found, lambda one: one.model_copy(update=change) if one.id == 1 else one)
    assert replay(old, found.assigned, wrong) == ([] if message is None else [message])


def test_a_wait_for_the_same_on_another_gpu_or_for_something_else_there_is_no_wait():
    """Each step of a chain waits for the step before it on its own partition."""

    def halves(name, number):
        parts = [partition_of(f"3g.40gb@{start}", f"{name}-{number}-{start}", 10) for start in (0, 4)]
        return gpu_of(f"{A100}/{number}", *parts)

    old, new = (plan_of(halves(name, 0), halves(name, 1)) for name in ("old", "new"))
    found = plan_transition(old, new)
    assert replay(old, found.assigned, found.transition) == []
    steps = found.transition.steps
    chain = {
        "redirect": ("start", "before anything started there"),
        "drain": ("redirect", "while requests are sent there"),
        "stop": ("drain", "before it is drained"),
    }
    tried = Counter()
    for step in steps:
        if step.kind not in chain or (step.kind == "redirect" and min(step.capacity_rps.values()) < 0):
            continue
        kind, message = chain[step.kind]
        (own,) = [at for at in step.after if steps[at].kind == kind]
        for other in steps[: step.id]:
            if other.id == own:
                continue
            wrong = waiting_for(found, step, tuple(sorted({*step.after, other.id} - {own})))
            said = [text for text in replay(old, found.assigned, wrong) if text.startswith(f"step {step.id} ")]
            assert any(message in text for text in said), (step, other)
            tried[step.kind, other.kind == kind, other.gpu == step.gpu] += 1
    assert all(tried[kind, same, here] for kind in chain for same in (True, False) for here in (True, False))


@pytest.mark.parametrize(("shares", "fit"), [((60, 40), True), ((60, 40 + 1e-9), True), ((60, 41), False)])
def test_shares_that_can_run_at_once_add_up_to_a_hundred_percent(shares, fit):
    transition = SimpleNamespace(gpus=[SimpleNamespace(name="x", gpu=A100)])
    runs = [Lifetime((None, None, share), None, None, (f"{share}",), False) for share in shares]
    assert (list(wrong_room("x", transition, runs, [])) == []) == fit


def test_nothing_runs_beside_what_has_the_whole_gpu():
    transition = SimpleNamespace(gpus=[SimpleNamespace(name="x", gpu=A100)])
    runs = [Lifetime((None, None, share), None, None, (f"{share}",), False) for share in (None, 1)]
    assert list(wrong_room("x", transition, runs[:1], [])) == []
    (said,) = wrong_room("x", transition, runs, [])
    assert "can run at once and do not fit" in said


def test_a_plan_that_ends_elsewhere_is_found():
    _, old, new = next(iter(pairs([440])))
    found = plan_transition(old, new)
    other = found.assigned.model_copy(update={"gpus": found.assigned.gpus[1:]})
    assert replay(old, other, found.transition)
