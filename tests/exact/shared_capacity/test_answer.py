"""What is said while a plan of most capacity is looked for: all that may have changed, before what takes long."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import CutGpu, MpsGpu
from sliceplan.solver.exact.shared_capacity import answer as module
from sliceplan.solver.exact.shared_capacity.answer import most_capacity_shared

ends = []
"""When the searches that were begun end."""


@pytest.fixture
def heard(monkeypatch):
    """Returns a function that lists the steps of a search with 10 workloads, of which some answers are told."""

    def steps(time_limit_s, *, done_after=99, gpus=None, one_each=None, **told):
        found, asked = [], []
        del ends[:]

        class Told:
            def __init__(self, *of):
                self.of = of

            @property
            def is_done(self):
                return len(found) >= done_after

            is_infeasible = False

            def answer(self, *, limited):
                return SimpleNamespace(said=len(found), limited=limited)

            def __getattr__(self, name):
                def step(*of):
                    if name == "begin":
                        ends.append(self.of[2])
                    found.append(name if self.of[0] is resolved else f"one each: {name}")
                    if name == "begin":
                        assert of[0] == (gpus or ())
                    if name == "mixed":
                        return iter(told.get(name, ()))
                    return next(told.get(name, iter(())), False) if name == "ask" else None

                return step

        monkeypatch.setattr(module, "_Search", Told)
        monkeypatch.setattr(module, "solo_capacity", lambda _: np.ones(10))
        monkeypatch.setattr(module, "replace", lambda resolved, **_: resolved)
        monkeypatch.setattr(module, "_one_replica_each", lambda _: one_each)

        def solved(of, *_, **__):
            asked.append(of)
            return SimpleNamespace(stopped="time_limit", gpus=None if of == "none found" else gpus)

        monkeypatch.setattr(module, "solve_mixed_fleet", solved)
        resolved = SimpleNamespace(
            problem=SimpleNamespace(
                settings=SimpleNamespace(capacity_weights="equal"), workloads=[SimpleNamespace(max_replicas=1)]
            )
        )

        def said(one):
            assert one.limited  # whatever comes, time may end before it
            found.append("said")

        last = most_capacity_shared(resolved, None, (), on_answer=said, time_limit_s=time_limit_s)
        assert asked == ([] if one_each is None else [one_each]) + (
            [resolved] if one_each in (None, "none found") else []
        )
        return found, last

    return steps


FIRST = ["begin", "said", "set_apart", "said", "carry_more", "said", "price_at_least_cost", "improve_prices"]
FIRST += ["dive", "said", "improve_prices"]
LAST = ["said", "mixed", "carry_more"]


@pytest.mark.parametrize(
    ("asks", "between"),
    [
        ([], ["ask"]),
        # As long as something is learnt.
        ([True], ["ask", "said", "improve_prices", "ask"]),
        ([True, True], ["ask", "said", "improve_prices", "ask", "said", "improve_prices", "ask"]),
    ],
)
def test_what_every_step_finds_is_said_before_the_next_one(heard, asks, between):
    steps, last = heard(60.0, ask=iter(asks))
    assert steps == [*FIRST, *between, *LAST]
    assert not last.limited


def test_each_better_plan_is_said(heard):
    steps, _ = heard(60.0, mixed=[None, None])
    assert steps == [*FIRST, "ask", "said", "mixed", "said", "said", "carry_more"]


def test_a_plan_of_least_cost_is_what_the_search_begins_with(heard):
    """With all its GPUs."""
    steps, _ = heard(2.0, gpus=(CutGpu("B", ()), MpsGpu("A", ())))
    assert steps[0] == "begin"


def test_plans_in_which_nobody_is_split_come_first_where_that_is_allowed(heard):
    """In a part of the time; their contents and plan are taken before what is found is said."""
    steps, _ = heard(60.0, one_each="one each", gpus=(MpsGpu("A", ()),))
    taken = ["take", "said"]
    inner = [f"one each: {name}" for name in FIRST if name not in ("begin", "said")][:-1]
    begun = ["begin", "said", "one each: begin"]
    apart, more, *rest = inner
    assert steps == [*begun, apart, *taken, more, *taken, *rest, *taken, "improve_prices", "ask", *LAST]
    assert ends[0] - ends[1] == pytest.approx((1 - module.ONE_EACH) * 60.0, abs=1.0)


def test_where_nobody_can_do_without_being_split_all_plans_are_looked_for_at_once(heard):
    steps, _ = heard(60.0, one_each="none found", gpus=(MpsGpu("A", ()),))
    assert steps == [*FIRST, "ask", *LAST]


def test_a_plan_that_is_near_its_limit_needs_no_more_prices(heard):
    steps, _ = heard(60.0, done_after=len(FIRST))
    assert steps == [*FIRST, *LAST]


def test_without_time_the_end_says_that_time_was_short(heard):
    steps, last = heard(-1.0)
    assert steps[-1] == "carry_more"
    assert "ask" not in steps
    assert last.limited
