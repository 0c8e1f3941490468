"""Where contents near known ones are looked for, and which batch sizes are tried there, one by one."""

from dataclasses import replace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.exact.shared_capacity import near_contents as module
from sliceplan.solver.exact.shared_capacity.gpu_contents import Content
from sliceplan.solver.exact.shared_capacity.near_contents import BATCHES, STEP, NearContents

from .test_near_contents import N, figures_of

ONES, NOTHING = np.ones(N), np.zeros(N)


@pytest.fixture(scope="module")
def figures():
    return figures_of(4, None)


def crowd(figures, number):
    """Returns a content of a number of residents, each with the least that it may have of the GPU."""
    choices = figures.choices
    light = int(np.lexsort((choices.demands[0], choices.units))[0])
    one = Resident(
        int(choices.workload[light]), int(choices.batch[light]), figures.mps.percent_of(int(choices.units[light]))
    )
    return Content(MpsGpu(figures.mps.gpu, (one,) * number), (1.0,) * number)


@pytest.mark.parametrize(("fewer", "more"), [(2, [0, 1]), (1, [0, 1]), (0, [0])])
def test_contents_are_looked_for_with_as_many_residents_or_one_more_and_just_above_what_they_ask_for(
    figures, fewer, more
):
    number = figures.mps.clients - fewer
    content = crowd(figures, number)
    points = NearContents(figures)._points(content)
    assert [n for n, *_ in points] == [number + one for one in more]
    asked = figures.asked(content)
    assert asked.min() > 0
    for _, *steps in points:
        above = STEP ** np.array(steps, dtype=float) / asked
        assert above.min() >= 1 - 1e-9
        assert above.max() < STEP


def test_nothing_is_asked_of_a_channel_that_nobody_uses(figures, monkeypatch):
    near, content = NearContents(figures), crowd(figures, 1)
    monkeypatch.setattr(type(figures), "asked", lambda *_: np.array([0.0, 1.0]))
    ((_, least, one), _) = near._points(content)
    assert STEP**least < 1e-8
    assert one == 0


@pytest.mark.parametrize(("number", "slower"), [(1, 1.0), (3, 1.0), (3, 1e-6)])
def test_of_each_share_the_batch_sizes_that_carry_most_are_tried(figures, number, slower, monkeypatch):
    """However little that is."""
    carry = type(figures).carried_among
    monkeypatch.setattr(type(figures), "carried_among", lambda *of: slower * carry(*of))
    near, choices = NearContents(figures), figures.choices
    every = np.arange(len(choices))
    totals = tuple(number * 2.0 * float(own.mean()) for own in choices.demands)
    carried = figures.carried_among(choices, totals, number)
    some, rates = near._best(every, totals, number)
    assert (np.diff(some) > 0).all()
    assert rates.tolist() == carried[some].tolist()
    best = {}
    for w, units, rate in zip(choices.workload.tolist(), choices.units.tolist(), carried.tolist(), strict=True):
        best.setdefault((w, units), []).append(rate)
    expected = {key: sorted((one for one in of if one > 0), reverse=True)[:BATCHES] for key, of in best.items()}
    there = {key: [] for key in best}
    for i, rate in zip(some.tolist(), rates.tolist(), strict=True):
        there[int(choices.workload[i]), int(choices.units[i])].append(rate)
    assert {key: sorted(of, reverse=True) for key, of in there.items()} == expected
    # Some carry nothing there, and of some shares more carry something than are tried.
    assert any(0.0 in of for of in best.values())
    assert any(sum(one > 0 for one in of) > BATCHES for of in best.values())


def test_what_was_looked_at_before_is_looked_at_again(figures, monkeypatch):
    near = NearContents(figures)
    residents = [Resident(0, 1, 50.0)]
    first = near.found(ONES, NOTHING, [figures.content(residents)])
    assert first
    assert near.found(ONES, NOTHING, []) == first
    monkeypatch.setattr(module, "ELSEWHERE", 0)
    assert near.found(ONES, NOTHING, []) == []


def test_a_gpu_on_which_nobody_is_in_time_has_nothing_near(figures):
    nobody = replace(figures, limit_ms=figures.limit_ms * 1e-6)
    assert len(nobody.choices) == 0
    assert NearContents(nobody).found(ONES, NOTHING, []) == []
