"""When a service is below its rate, and for how long, against the capacity at every moment."""

from itertools import pairwise
from random import Random

import pytest
from problems.small_plans import partition_of

from sliceplan.solver.model.transition import Durations
from sliceplan.solver.transition.graph import UntimedStep
from sliceplan.solver.transition.tenancies import RealGpu, tenancy
from sliceplan.solver.transition.timing import _below, gains_first, is_gain, shortfalls, times_of
from sliceplan.solver.transition.world import Item, World


def test_spans_below_a_rate_are_those_of_the_capacity_at_every_moment():
    """Property: changes at whole seconds, several at once, gains first; each span has a length."""
    draw = Random(2)
    some = 0
    for _ in range(200):
        times = sorted(draw.choices(range(6), k=draw.randint(0, 6)))
        changes = gains_first((float(at), rps) for at in times for rps in [draw.choice([-5.0, 5.0])])
        start, required = draw.choice([0.0, 5.0, 10.0]), 10.0
        spans = _below(start, required, changes)
        lost = 0.0
        for second in range(int(max([one[0] for one in changes], default=0))):
            capacity = start + sum(rps for at, rps in changes if at <= second)
            lost += max(0.0, required - capacity)
        assert sum((until - since) * short for since, until, short in spans) == pytest.approx(lost)
        assert all(since < until and short > 0 for since, until, short in spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        some += bool(spans)
    assert some > 50


def test_rounding_is_no_shortfall():
    assert _below(10.0, 10.0 * (1 + 1e-12), [(3.0, 1.0)]) == []
    assert _below(10.0, 10.0 * (1 + 1e-6), [(3.0, 1.0)]) == [(0.0, 3.0, pytest.approx(1e-5))]


def test_a_step_begins_as_the_last_that_it_waits_for_ends():
    kinds = [("create", ()), ("start", (0,)), ("change_mode", ()), ("redirect", (1, 2)), ("change_mode", (3,))]
    steps = [UntimedStep(kind, 0, None, 0, after, needs_reset=i == 4) for i, (kind, after) in enumerate(kinds)]
    durations = Durations(create_s=1, start_s=20, change_mode_s=40, redirect_s=2, reset_s=30)
    assert times_of(steps, durations) == [(0, 1), (1, 21), (0, 40), (40, 42), (42, 72)]


def mig(place, workload, rate):
    return tenancy(partition_of(place, workload, rate), "mig")


def test_only_a_redirection_that_has_waited_for_a_start_is_a_gain():
    steps = [
        UntimedStep(kind, 0, None, 0, after) for kind, after in (("start", ()), ("redirect", (0,)), ("redirect", (1,)))
    ]
    assert [is_gain(step, steps) for step in steps[1:]] == [True, False]


def test_what_comes_at_the_moment_when_something_goes_comes_first():
    assert gains_first([(2.0, -1.0), (1.0, -3.0), (2.0, 5.0), (2.0, -4.0)]) == [
        (1.0, -3.0),
        (2.0, 5.0),
        (2.0, -1.0),
        (2.0, -4.0),
    ]


def fallen(gone, comes, required):
    """Returns what falls short where a service loses one partition after the other at 3 and gains another by 7."""
    items = [Item(0, mig(f"1g.10gb@{i}", "a", rate), "leaves") for i, rate in enumerate(gone)]
    items.append(Item(0, mig("1g.10gb@6", "a", comes), "comes"))
    world = World([RealGpu("x", "A100-80GB", None, None, "x", "mig", ())], items, required)
    before = dict(world.live)
    for i in range(len(gone)):
        world.take(i)
    world.bring(len(gone))
    steps = [UntimedStep("redirect", 0, items[i].tenancy, i, ()) for i in range(len(gone))]
    steps += [UntimedStep("start", 0, items[-1].tenancy, len(gone), ())]
    steps += [UntimedStep("redirect", 0, items[-1].tenancy, len(gone), (len(gone),))]
    times = [*((3.0, 4.0) for _ in gone), (3.0, 5.0), (5.0, 7.0)]
    return shortfalls(world, steps, times, before)


def test_a_shortfall_lasts_from_what_goes_to_what_comes():
    (short,) = fallen([0.3, 0.2], 0.5, {"a": 0.4})
    assert (short.workload, short.required_rps, short.missing_rps) == ("a", 0.4, pytest.approx(0.4))
    assert (short.from_s, short.until_s, short.lost_requests) == (3.0, 7.0, pytest.approx(1.6))
    assert fallen([0.3, 0.2], 0.5, {}) == []
    # What no service requires is not short of the rounding of a sum.
    assert fallen([0.3, 0.1, 0.2], 0.5, {"b": 1.0}) == []
