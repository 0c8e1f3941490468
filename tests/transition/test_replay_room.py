"""What exists on a GPU and when, step by step; steps that have nothing to act on; and what may meet there."""

from itertools import combinations, permutations
from random import Random
from types import SimpleNamespace

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.replay_capacity import ancestors
from sliceplan.solver.transition.replay_lifetimes import Lifetime, lifetimes_of, together
from sliceplan.solver.transition.replay_room import _cliques, _wrong_houses, _wrong_shares, wrong_room

A100 = "A100-80GB"


def exchanged():
    """Returns two plans of one service on one GPU, cut otherwise, and the transition between them."""
    old = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10)))
    new = plan_of(gpu_of(f"{A100}/0", partition_of("7g.80gb@0", "a", 20)))
    return old, plan_transition(old, new)


def replayed(old, found, kind, **fields):
    """Returns what the replay says where the only step of a kind has other fields."""
    steps = tuple(step.model_copy(update=fields) if step.kind == kind else step for step in found.transition.steps)
    assert sum(step.kind == kind for step in steps) == 1
    return replay(old, found.assigned, found.transition.model_copy(update={"steps": steps}))


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("stop", {"workloads": ("b",)}, "stops what does not run: ('b',)"),
        ("stop", {"mig_profile": "4g.40gb"}, "stops what does not run: ('a',)"),
        ("destroy", {"start": 4}, "destroys ('3g.40gb', 4, None) on A100-80GB/0, which is not there"),
        ("create", {"mig_profile": None, "start": None}, "can exist at once and do not fit"),
        ("create", {"mig_profile": "9g.1gb"}, "can exist at once and do not fit"),
        ("start", {"workloads": ("b",)}, "ends with"),
        ("start", {"mig_profile": "3g.40gb"}, "runs on ('3g.40gb', 0) without the instance"),
    ],
)
def test_a_step_that_has_nothing_to_act_on_is_named(kind, fields, message):
    old, found = exchanged()
    assert replay(old, found.assigned, found.transition) == []
    assert any(message in text for text in replayed(old, found, kind, **fields))


def test_an_instance_is_not_created_where_it_stands():
    old, found = exchanged()
    again = next(step for step in found.transition.steps if step.kind == "create")
    again = again.model_copy(update={"id": len(found.transition.steps), "starts_s": 99.0, "ends_s": 99.0})
    twice = found.transition.model_copy(update={"steps": (*found.transition.steps, again)})
    message = f"step {again.id} creates ('7g.80gb', 0, None) on {A100}/0, which is there"
    assert message in replay(old, found.assigned, twice)


@pytest.mark.parametrize("kind", ["start", "redirect", "destroy"])
def test_a_step_on_a_gpu_that_is_not_there_is_named(kind):
    old, found = exchanged()
    step = next(step for step in found.transition.steps if step.kind == kind)
    steps = [one.model_copy(update={"gpu": "x"}) if one is step else one for one in found.transition.steps]
    wrong = found.transition.model_copy(update={"steps": tuple(steps)})
    assert replay(old, found.assigned, wrong) == [f"step {step.id} is on x, which is none of the transition's GPUs"]


def test_a_gpu_that_the_transition_forgets_is_named():
    old, found = exchanged()
    forgotten = gpu_of(f"{A100}/1", partition_of("3g.40gb@0", "a", 10))
    more = old.model_copy(update={"gpus": (*old.gpus, forgotten)})
    said = replay(more, found.assigned, found.transition)
    assert said == [f"the transition does not say what becomes of {A100}/1"]


def test_a_gpu_without_mig_has_no_instances():
    transition = SimpleNamespace(gpus=[SimpleNamespace(name="x", gpu="T4")])
    stands = Lifetime(("3g.40gb", 0, None), None, None, (), True)
    (said,) = wrong_room("x", transition, [stands], [])
    assert said == "x: [('3g.40gb', 0)] are to exist on T4, which has no MIG"


def test_lifetimes_begin_and_end_with_their_steps():
    old, found = exchanged()
    at = {step.kind: step.id for step in found.transition.steps if step.kind != "redirect"}
    small, large = ("3g.40gb", 0, None), ("7g.80gb", 0, None)
    notes = []
    assert set(lifetimes_of(old, found.transition, notes)[f"{A100}/0"]) == {
        Lifetime(small, None, at["destroy"], (), True),
        Lifetime(small, None, at["stop"], ("a",), False),
        Lifetime(large, at["create"], None, (), True),
        Lifetime(large, at["start"], None, ("a",), False),
    }
    assert notes == []


def test_cliques_are_all_largest_sets_that_meet():
    """Property: the sets of Bron and Kerbosch are those of trying every set."""
    draw = Random(5)
    for _ in range(60):
        count = draw.randint(0, 9)
        steps = [type("Step", (), {"after": tuple(j for j in range(i) if draw.random() < 0.35)}) for i in range(count)]
        earlier = ancestors(steps)
        spans = [sorted(draw.sample(range(-1, count + 1), 2)) for _ in range(draw.randint(0, 6))] if count else []
        lifetimes = [
            Lifetime((None, None, None), a if a >= 0 else None, b if b < count else None, (str(i),), False)
            for i, (a, b) in enumerate(spans)
        ]
        meet = [
            set(chosen)
            for size in range(1, len(lifetimes) + 1)
            for chosen in combinations(range(len(lifetimes)), size)
            if all(together(lifetimes[i], lifetimes[j], earlier) for i, j in combinations(chosen, 2))
        ]
        largest = sorted(sorted(one) for one in meet if not any(one < other for other in meet))
        found = [sorted(int(one.workloads[0]) for one in clique) for clique in _cliques(lifetimes, earlier)]
        assert sorted(found) == largest


@pytest.mark.parametrize(("starts", "said"), [((0, 4), 0), ((0, 0), 1), ((4, 4), 1)])
def test_instances_that_meet_are_placed_where_they_say(starts, said):
    transition = SimpleNamespace(gpus=[SimpleNamespace(name="x", gpu=A100)])
    stand = [Lifetime(("3g.40gb", start, None), None, None, (), True) for start in starts]
    assert len(list(wrong_room("x", transition, stand, []))) == said


PLACES = {"mig": "7g.80gb@0", "mps": 50, "exclusive": None}


@pytest.mark.parametrize(("before", "after"), [pair for pair in permutations(PLACES, 2) if "mig" in pair])
def test_a_mode_is_changed_while_nothing_runs_and_to_what_comes(before, after):
    old = plan_of(gpu_of(f"{A100}/0", partition_of(PLACES[before], "a", 10)))
    found = plan_transition(old, plan_of(gpu_of(f"{A100}/0", partition_of(PLACES[after], "b", 10))))
    assert replay(old, found.assigned, found.transition) == []
    (change,) = (step for step in found.transition.steps if step.kind == "change_mode")
    other = next(mode for mode in PLACES if mode not in (before, after))
    for wrong in (before, other):
        assert any(
            f"while the GPU is in mode {wrong}" in text for text in replayed(old, found, "change_mode", mode=wrong)
        )
    at_once = replayed(old, found, "change_mode", after=())
    assert any(f"step {change.id} changes the mode while" in text for text in at_once)
    assert not any("while the GPU is in mode" in text for text in at_once)
    early = [
        step.model_copy(update={"after": tuple(one for one in step.after if one != change.id)})
        for step in found.transition.steps
    ]
    said = replay(old, found.assigned, found.transition.model_copy(update={"steps": tuple(early)}))
    assert any(f"exists while the GPU is in mode {before}" in text for text in said)
    assert any(f"step {change.id} changes the mode while" in text for text in said)


def lives(place, begin, end, workloads=("a",)):
    return Lifetime(place, begin, end, workloads, is_instance=not workloads)


def test_a_tenant_has_its_instance_all_the_while_and_for_itself():
    """Steps 0 to 3 follow each other; 4 waits for none."""
    earlier = [0b0, 0b1, 0b11, 0b111, 0b0]
    place, other = ("1g.10gb", 0, None), ("1g.10gb", 1, None)

    def wrong(*tenants, home=(0, 3)):
        return list(_wrong_houses("x", [lives(place, *home, ())], tenants, earlier))

    assert wrong(lives(place, 1, 2)) == []
    assert wrong(lives(place, None, None), home=(None, None)) == []
    without = "x: ('a',) runs on ('1g.10gb', 0) without the instance"
    assert wrong(lives(place, 4, 2)) == [without]
    assert wrong(lives(place, 1, 4)) == [without]
    assert wrong(lives(place, 1, None)) == [without]
    assert wrong(lives(place, None, 2)) == [without]
    assert wrong(lives(other, 1, 2)) == ["x: ('a',) runs on ('1g.10gb', 1) without the instance"]
    # One after the other, and at once.
    assert wrong(lives(place, None, 1), lives(place, 2, None), home=(None, None)) == []
    assert wrong(lives(place, None, 2), lives(place, 1, None, ("b",)), home=(None, None)) == [
        "x: ('a',) and ('b',) can run on ('1g.10gb', 0) at once",
        "x: ('b',) and ('a',) can run on ('1g.10gb', 0) at once",
    ]


@pytest.mark.parametrize(
    ("percents", "right"),
    [
        ([50.0, 50.0], True),
        ([50.0, 50.0 + 5e-6], False),
        ([50.0, 50.0 + 5e-7], True),
        ([None], True),
        ([None, 1.0], False),
    ],
)
def test_shares_at_once_are_parts_of_one_gpu_and_a_whole_one_is_alone(percents, right):
    shares = [lives((None, None, percent), None, None) for percent in percents]
    assert (list(_wrong_shares("x", shares, [])) == []) == right


def test_each_gpu_is_judged_by_its_own_type():
    gpus = [SimpleNamespace(name="a", gpu="T4"), SimpleNamespace(name="b", gpu="A100-80GB")]
    home = lives(("1g.10gb", 0, None), None, None, ())
    for name, right in (("a", False), ("b", True)):
        assert (list(wrong_room(name, SimpleNamespace(gpus=gpus), [home], [])) == []) == right
