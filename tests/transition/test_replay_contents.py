"""What goes on is what the new plan has there: batches, processes and rounds."""

from types import SimpleNamespace

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.replay_contents import _going_on, _turns_of, wrong_contents
from sliceplan.solver.transition.replay_lifetimes import Lifetime

A100 = "A100-80GB"
NAMES = SimpleNamespace(gpus=[SimpleNamespace(name="x", old_id=f"{A100}/0", assigned_id=f"{A100}/1")])


def plan(number, *batches, share=20):
    """Returns a plan with one GPU of equal shares of a service, each with a batch size."""
    part = partition_of(share, "a", 10)
    parts = [part.model_copy(update={"serves": (part.serves[0].model_copy(update={"batch": n}),)}) for n in batches]
    return plan_of(gpu_of(f"{A100}/{number}", *parts))


def shares(count, begin=None, end=None):
    return [Lifetime((None, None, 20.0), begin, end, ("a",), is_instance=False)] * count


@pytest.mark.parametrize(
    ("before", "after", "going_on", "right"),
    [
        ((1, 2), (1, 2), 2, True),
        ((1, 2), (2, 3), 1, True),
        ((1, 2), (2, 3), 2, False),
        ((1, 1), (1, 2), 2, False),
        ((1,), (2,), 1, False),
        ((1,), (2,), 0, True),
    ],
)
def test_what_is_not_stopped_serves_in_the_new_plan_as_before(before, after, going_on, right):
    found = list(wrong_contents(plan(0, *before), plan(1, *after), NAMES, {"x": shares(going_on)}))
    assert (found == []) == right
    assert right or found[0].startswith("x: ('a',) is not stopped and was {")
    # What is stopped, or started anew, may be anything; so may what is on a GPU of one plan only.
    ends = {"x": [*shares(2, end=0), *shares(2, begin=1)]}
    assert list(wrong_contents(plan(0, *before), plan(1, *after), NAMES, ends)) == []
    for gone in ("old_id", "assigned_id"):
        alone = SimpleNamespace(gpus=[SimpleNamespace(**{**vars(NAMES.gpus[0]), gone: None})])
        assert list(wrong_contents(plan(0, *before), plan(1, *after), alone, {"x": shares(going_on)})) == []


def test_what_moves_goes_on_from_where_it_began_to_where_it_ends():
    """An instance that stays is nobody who runs, and one that is created as something moves is none of it."""

    def at(start, begin, end, is_instance=False):
        return Lifetime((None, start, None), begin, end, ("a",), is_instance, cores=2)

    moved = [at(0, None, 3), at(2, 3, 5), at(4, 5, None)]
    assert list(_going_on(moved)) == [(((None, 0, None), 2, ("a",)), ((None, 4, None), 2, ("a",)))]
    assert _going_on([*moved[:2], at(4, 5, 6)]) == {}
    assert _going_on([at(0, None, None, is_instance=True), at(0, 1, None)]) == {}
    assert _going_on([at(0, None, 3), at(2, 3, None, is_instance=True)]) == {}


@pytest.mark.parametrize(
    ("cycle", "turns", "order"),
    [(None, None, None), (10.0, "any", "any"), (10.0, "fixed", ("b", "a")), (10.0, None, ("b", "a"))],
)
def test_an_order_of_turns_is_told_where_it_is_kept(cycle, turns, order):
    serves = [SimpleNamespace(workload=name) for name in "ba"]
    assert _turns_of(SimpleNamespace(duty_cycle_ms=cycle, turns=turns, serves=serves)) == (cycle, order)
