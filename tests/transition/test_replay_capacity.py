"""What steps say of capacities, one lie at a time; and the rounding of the least capacity, which is from below."""

from itertools import product
from random import Random
from types import SimpleNamespace

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.replay_capacity import _wrong_chains, ancestors, least_capacity
from sliceplan.solver.transition.tenancies import IdleGpus

A100 = "A100-80GB"


def exchanged(here="a", there="a"):
    """Returns the old plan and the transition of a service from two halves of a GPU to two of an idle one."""
    halves = [("3g.40gb@0", here, 0.1), ("3g.40gb@4", there, 0.1)]
    old = plan_of(gpu_of(f"{A100}/0", *(partition_of(*one) for one in halves)))
    whole = [partition_of(None, name, 0.2) for name in sorted({here, there})]
    new = plan_of(*(gpu_of(f"{A100}/{i}", one) for i, one in enumerate(whole)))
    return old, plan_transition(old, new, idle=IdleGpus({A100: 1}))


def said(old, found, *changes):
    """Returns what the replay says after changes of some steps, each (id, fields)."""
    steps = list(found.transition.steps)
    for at, fields in changes:
        steps[at] = steps[at].model_copy(update=fields)
    return replay(old, found.assigned, found.transition.model_copy(update={"steps": tuple(steps)}))


def at(found, kind, gain=None):
    """Returns the first step of a kind; of redirections, one that gains or one that loses."""
    return next(
        step
        for step in found.transition.steps
        if step.kind == kind and (gain is None or (min(step.capacity_rps.values()) > 0) == gain)
    )


def test_only_redirections_change_capacities():
    old, found = exchanged()
    assert said(old, found) == []
    start = at(found, "start")
    lie = {"capacity_rps": at(found, "redirect", gain=True).capacity_rps}
    assert said(old, found, (start.id, lie)) == [
        f"step {start.id} states capacities and redirects nothing",
        f"step {start.id + 1} sends requests to {A100}/idle-0 before anything started there",
    ]


@pytest.mark.parametrize("stated", [None, {}, {"a": -0.1, "b": -0.1}, {"b": -0.1}])
def test_a_redirection_says_what_each_of_its_services_loses(stated):
    """One that says nothing would be drained and stopped as if nobody missed it."""
    old, found = exchanged()
    away = at(found, "redirect", gain=False)
    lie = said(old, found, (away.id, {"capacity_rps": stated}))
    assert any(text.startswith(f"step {away.id} redirects ('a',) and states the capacity of") for text in lie)


def test_requests_do_not_come_and_go_in_one_step():
    old, found = exchanged("a", "b")
    step = at(found, "redirect", gain=True)
    lie = {"workloads": ("a", "b"), "capacity_rps": {"a": 0.2, "b": -0.1}}
    assert any("and away from there at once" in text for text in said(old, found, (step.id, lie)))


def test_what_sends_requests_somewhere_is_not_what_a_drain_waits_for():
    old, found = exchanged()
    away, drain = at(found, "redirect", gain=False), at(found, "drain")
    lie = {"capacity_rps": {"a": 0.1}}
    texts = said(old, found, (away.id, lie))
    assert f"step {drain.id} drains {A100}/0 while requests are sent there" in texts
    assert f"step {away.id} sends requests to {A100}/0 before anything started there" in texts


def test_one_start_is_not_waited_for_twice():
    """Its capacity would count twice."""
    old, found = exchanged()
    steps = found.transition.steps
    to = at(found, "redirect", gain=True)
    again = to.model_copy(update={"id": len(steps), "starts_s": to.ends_s, "ends_s": to.ends_s})
    twice = found.transition.model_copy(update={"steps": (*steps, again)})
    assert replay(old, found.assigned, twice) == [
        f"step {again.id} sends requests to {to.gpu} before anything started there"
    ]


def test_shares_of_one_service_on_a_gpu_are_told_apart():
    old = plan_of(gpu_of(f"{A100}/0", partition_of(40, "a", 10), partition_of(60, "a", 20)))
    new = plan_of(gpu_of(f"{A100}/0", partition_of(None, "a", 30)))
    found = plan_transition(old, new, idle=IdleGpus({A100: 1}))
    assert said(old, found) == []
    first, second = [step for step in found.transition.steps if step.kind == "drain"]
    texts = said(old, found, (first.id, {"after": ()}), (second.id, {"after": first.after}))
    assert sum("while requests are sent there" in text for text in texts) == 2


def exact_least(start, gains, losses, earlier):
    """Returns the least capacity over all sets of redirections away, with all that they wait for."""
    least = start
    for chosen in product([False, True], repeat=len(losses)):
        away = [step for step, is_chosen in zip(losses, chosen, strict=True) if is_chosen]
        waited = {step for one in away for step in (*gains, *losses) if earlier[one] >> step & 1}
        away = {*away, *(waited & losses.keys())}
        least = min(least, start + sum(gains[step] for step in waited & gains.keys()) - sum(losses[i] for i in away))
    return least


def test_the_least_capacity_is_rounded_down():
    """Property: it is never above the least of all cuts, to the last bit but those of a sum, and hardly below it."""
    draw = Random(3)
    for _ in range(150):
        count = draw.randint(2, 7)
        steps = [type("Step", (), {"after": tuple(j for j in range(i) if draw.random() < 0.3)}) for i in range(count)]
        earlier = ancestors(steps)
        change = {i: draw.choice([-1, 1]) * draw.choice([1 / 3, 0.7, 1.0, draw.uniform(0, 50)]) for i in range(count)}
        gains = {i: value for i, value in change.items() if value > 0}
        losses = {i: -value for i, value in change.items() if value < 0}
        exact, found = exact_least(0.0, gains, losses, earlier), least_capacity(0.0, gains, losses, earlier)
        assert exact - 1e-7 * sum(map(abs, change.values())) <= found <= exact + 1e-13


def test_losses_are_rounded_up_and_gains_down():
    # A thousand-millionth of 3 is no whole part of 1.
    assert -3 - 1e-7 < least_capacity(0.0, {}, {0: 1.0, 1: 1.0, 2: 1.0}, [0, 0, 0]) <= -3
    # One loss waits for a gain of a sixth of which there is no whole thousand-millionth part either.
    gains, losses = {0: 1 / 6, 1: 1 / 3}, {2: 0.25, 3: 0.25}
    found = least_capacity(0.0, gains, losses, [0, 0, 1, 0])
    assert 1 / 6 - 0.5 - 1e-7 < found <= 1 / 6 - 0.5


def test_a_redirection_that_waits_for_too_little_lets_its_service_fall():
    old, found = exchanged()
    first, second = [step for step in found.transition.steps if step.kind == "redirect"][1:]
    assert said(old, found, (second.id, {"after": ()})) == ["a can fall to 0.1 req/s; it needs 0.2"]
    assert said(old, found, (first.id, {"after": ()}), (second.id, {"after": ()})) == [
        "a can fall to -2.22045e-16 req/s; it needs 0.2".replace("-2.22045e-16", f"{least_of_nothing():.6g}")
    ]


def least_of_nothing():
    return least_capacity(0.2, {}, {0: 0.1, 1: 0.1}, [0, 0])


@pytest.mark.parametrize(("factor", "wrong"), [(1 + 5e-7, False), (1 + 5e-6, True), (1 - 5e-6, True)])
def test_a_capacity_is_what_a_plan_says_but_for_rounding(factor, wrong):
    old, found = exchanged()
    to = at(found, "redirect", gain=True)
    texts = said(old, found, (to.id, {"capacity_rps": {"a": 0.2 * factor}}))
    assert [text for text in texts if "the plans say" in text] == (
        [f"step {to.id} gives a {0.2 * factor:.6g} req/s; the plans say [0.2]"] if wrong else []
    )


def test_a_redirection_of_nothing_goes_away_from_its_partition():
    old, found = exchanged()
    away = at(found, "redirect", gain=False)
    texts = said(old, found, (away.id, {"capacity_rps": {"a": 0.0}}))
    assert texts
    assert not any("before anything started" in text or "at once" in text for text in texts)
    both, found = exchanged("a", "b")
    to = at(found, "redirect", gain=True)
    texts = said(both, found, (to.id, {"workloads": ("a", "b"), "capacity_rps": {"a": 0.2, "b": 0.0}}))
    assert not any("at once" in text for text in texts)


def test_what_stops_has_been_drained():
    old, found = exchanged()
    stop = at(found, "stop")
    assert f"step {stop.id} stops {A100}/0 before it is drained" in said(old, found, (stop.id, {"after": ()}))


def test_a_drain_waits_for_the_redirection_away_and_for_no_other_step_of_its_partition():
    bridge = {"gpu": "x", "mig_profile": None, "start": None, "sm_percent": 50.0, "cores": None, "workloads": ("a",)}
    kinds = [
        ("start", None, ()),
        ("redirect", {"a": 0.1}, (0,)),
        ("redirect", {"a": -0.1}, (1,)),
        ("drain", None, (2,)),
    ]
    steps = [
        SimpleNamespace(id=i, kind=kind, capacity_rps=change, after=after, **bridge)
        for i, (kind, change, after) in enumerate(kinds)
    ]
    assert list(_wrong_chains(steps)) == []
    for after in ((0,), (1,), ()):
        steps[3].after = after
        assert list(_wrong_chains(steps)) == ["step 3 drains x while requests are sent there"]


def test_who_waits_for_two_of_its_own_leaves_one_to_its_twin():
    twin = {"gpu": "x", "mig_profile": None, "start": None, "sm_percent": 50.0, "cores": None, "workloads": ("a",)}
    kinds = [
        ("redirect", {"a": -0.1}, ()),
        ("redirect", {"a": -0.1}, ()),
        ("drain", None, (0, 1)),
        ("drain", None, (1,)),
    ]
    steps = [
        SimpleNamespace(id=i, kind=kind, capacity_rps=change, after=after, **twin)
        for i, (kind, change, after) in enumerate(kinds)
    ]
    assert list(_wrong_chains(steps)) == []
    steps[3].after = (0,)
    assert list(_wrong_chains(steps)) == ["step 3 drains x while requests are sent there"]


def test_the_new_plan_is_the_one_that_the_transition_assigns():
    old, found = exchanged()
    other = found.assigned.model_copy(update={"gpus": (found.assigned.gpus[0].model_copy(update={"id": "other"}),)})
    assert replay(old, other, found.transition) == [
        f"the transition assigns {[found.assigned.gpus[0].id]}, the new plan has ['other']"
    ]
