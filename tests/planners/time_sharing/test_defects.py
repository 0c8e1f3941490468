"""gpu-lets' published defects: each is there, and goes where it is switched off."""

from types import SimpleNamespace

import pytest
from problems.gpulets import a100_services, scenarios
from problems.gpulets_surrogate import surrogate

from sliceplan.solver.planners.time_sharing.elastic import elastic, self_tuning
from sliceplan.solver.planners.time_sharing.leftovers import merge
from sliceplan.solver.planners.time_sharing.repairs import _residual
from sliceplan.solver.planners.time_sharing.schedule import Defects, Schedule
from sliceplan.solver.planners.time_sharing.shares import Gpulet, Task, judged

GPUS = 4
SHARES = (20, 40, 50, 60, 80, 100)


def claims(planner, defects, drawn):
    """Returns how many sets of rates are claimed, how many of these claims hold, and how many overload a share."""
    counts = [0, 0, 0]
    for services in drawn:
        gpus = planner(services, GPUS, defects)
        if gpus is not None:
            overloaded = any(let.occupancy > 1 + 1e-9 for lets in gpus for let in lets)
            counts = [a + b for a, b in zip(counts, (1, judged(services, gpus).holds, overloaded), strict=True)]
    return tuple(counts)


def on_the_a100():
    return (a100_services(rates) for rates in scenarios())


def on_the_surrogate(*, interferes):
    some = scenarios((0, 200, 400, 600))
    return (surrogate(rates, clean=False, interferes=interferes) for rates in some)


@pytest.mark.parametrize("field", ["index", "corner", "batch_32", "too_slow", "overload"])
def test_without_interference_some_make_no_difference_to_the_independent_prototype_either(field):
    assert claims(elastic, Defects(**{field: False}), on_the_a100())[:2] == (857, 857)


def test_self_tuning_in_time_on_its_own_shares_keeps_every_slo():
    """As published 828 are claimed, of which 727 break an SLO: what is asked is whether all of a GPU is fast enough."""
    assert claims(self_tuning, Defects(whole_slo=False), on_the_a100())[:2] == (843, 843)


def test_smaller_batches_for_turns_schedule_more():
    assert claims(elastic, Defects(one_batch=False), on_the_a100())[:2] == (865, 865)


def test_nothing_is_overloaded_but_by_the_defect():
    published = claims(elastic, Defects(), on_the_surrogate(interferes=True))
    mended = claims(elastic, Defects(overload=False), on_the_surrogate(interferes=True))
    assert published[2] > 0
    assert mended[2] == 0
    assert mended[0] < published[0]


def test_neighbours_that_get_their_batches_back_and_what_they_lose_are_two_things():
    published, lowered, uncharged = (
        claims(elastic, defects, on_the_surrogate(interferes=True))[0]
        for defects in (Defects(), Defects(lowered=False), Defects(uncharged=False))
    )
    assert lowered > published  # more batches
    assert uncharged < published  # more is asked for


def test_a_step_from_80_to_100_may_be_the_knee():
    steep = dict.fromkeys(SHARES[:-1], (1, 100.0)) | {100: (1, 400.0)}
    for field, knee in ((True, 20), (False, 100)):
        schedule = Schedule(a100_services((1,) * 5), [[Gpulet(0, 100)]], SHARES, True, Defects(knee=field))
        schedule.saturated = [steep] * 5
        assert schedule.knee(0) == knee


def test_a_cycle_is_as_much_shorter_as_the_batch_is_smaller():
    """Of batches at 10 ms a request in a cycle of 40 ms for 4, only 2 are in time within 45 ms."""
    for compounds, batch, cycle_ms in ((True, 2, 40 * 3 / 4 * 2 / 4), (False, 2, 20.0)):
        let = Gpulet(0, 50)
        let.put(Task(0, 4, 100.0), 40.0, 0.9)
        schedule = SimpleNamespace(
            services=SimpleNamespace(slo_ms=[45.0]),
            defects=Defects(compounds=compounds),
            beside_ms=lambda _, batch, __: 10.0 * batch,
        )
        assert _residual(schedule, let)
        assert (let.tasks[0].batch, let.cycle_ms) == (batch, pytest.approx(cycle_ms))


@pytest.mark.parametrize("lost", [True, False])
def test_residues_that_find_no_place_are_lost_or_stay(lost):
    services = a100_services((400,) * 5)
    one, other = Gpulet(0, 20), Gpulet(0, 80)
    # Both of a share that no empty one has: merged they would be on one of 20 %, of which there is none once it is cut.
    one.put(Task(0, 1, 30.0), 30.0, 0.5)
    other.put(Task(0, 1, 30.0), 30.0, 0.5)
    schedule = Schedule(services, [[one, other]], SHARES, True, Defects(lost_residue=lost))
    schedule.left_rps = [20.0] * 5
    schedule.empty = list
    assert not merge(schedule, 0)
    carried = sum(let.carries_rps(0) for let in (one, other))
    assert carried == (0 if lost else pytest.approx(2000 / 30))
