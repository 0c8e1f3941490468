"""When a service is below its rate, and for how long, against the capacity at every moment."""

from itertools import pairwise
from random import Random

import pytest

from sliceplan.solver.model.transition import Durations
from sliceplan.solver.transition.graph import UntimedStep
from sliceplan.solver.transition.timing import _below, times_of


def test_spans_below_a_rate_are_those_of_the_capacity_at_every_moment():
    """Property: changes at whole seconds, several at once, gains first; each span has a length."""
    draw = Random(2)
    some = 0
    for _ in range(200):
        times = sorted(draw.choices(range(6), k=draw.randint(0, 6)))
        changes = sorted((float(at), int(rps < 0), rps) for at in times for rps in [draw.choice([-5.0, 5.0])])
        start, required = draw.choice([0.0, 5.0, 10.0]), 10.0
        spans = _below(start, required, changes)
        lost = 0.0
        for second in range(int(max([one[0] for one in changes], default=0))):
            capacity = start + sum(rps for at, _, rps in changes if at <= second)
            lost += max(0.0, required - capacity)
        assert sum((until - since) * short for since, until, short in spans) == pytest.approx(lost)
        assert all(since < until and short > 0 for since, until, short in spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        some += bool(spans)
    assert some > 50


def test_rounding_is_no_shortfall():
    assert _below(10.0, 10.0 * (1 + 1e-12), [(3.0, 0, 1.0)]) == []
    assert _below(10.0, 10.0 * (1 + 1e-6), [(3.0, 0, 1.0)]) == [(0.0, 3.0, pytest.approx(1e-5))]


def test_a_step_begins_as_the_last_that_it_waits_for_ends():
    kinds = [("create", ()), ("start", (0,)), ("change_mode", ()), ("redirect", (1, 2)), ("change_mode", (3,))]
    steps = [UntimedStep(kind, 0, None, 0, after, needs_reset=i == 4) for i, (kind, after) in enumerate(kinds)]
    durations = Durations(create_s=1, start_s=20, change_mode_s=40, redirect_s=2, reset_s=30)
    assert times_of(steps, durations) == [(0, 1), (1, 21), (0, 40), (40, 42), (42, 72)]
