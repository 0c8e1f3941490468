"""The tries of bettering a plan, one by one: what is freed, what is asked of the program, and what is taken from it."""

from itertools import count
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.exact.shared_capacity import freed as module
from sliceplan.solver.exact.shared_capacity.freed import FREED, TRIES, TRIES_OF_EACH, better_plans
from sliceplan.solver.exact.shared_capacity.gpu_contents import Content
from sliceplan.solver.exact.shared_capacity.known import KnownContents

from .test_program import problem

BATCH = count(1)


def content(gpu, *residents):
    """Returns a content like no other, of residents as workload and requests/s."""
    placed = tuple(Resident(w, next(BATCH), 10.0) for w, _ in residents)
    return Content(MpsGpu(gpu, placed), tuple(rps for _, rps in residents))


WEIGHTS = np.ones(2)
GPUS = {"a": 25, "b": 3}
POOR = content("a", (0, 1.0))
# Whole quarters, whose sums are exact in any order.
PLAN = [POOR, *(content("a", (0, 10.0 + i / 4), (1, 1.0)) for i in range(19))]
OTHERS = [content("a", (0, 15.0)), content("b", (1, 20.0)), content("a", (0, 2.0))]
TOO_MANY = content("a", *[(1, 0.25)] * 40)
BARREN = TRIES + TRIES_OF_EACH * len(PLAN)


@pytest.fixture
def tried(monkeypatch):
    """Returns a function that gives each try's answer: tries, plans found, and what was asked of contents nearby."""

    def run(answer, asked):
        known = KnownContents(WEIGHTS, np.full(2, np.inf))
        known.add([*PLAN, *OTHERS, TOO_MANY])
        tries, nearby = [], []

        def best_mix(rest, _, __, contents, left, own, *, time_limit_s, **_asked):
            tries.append(SimpleNamespace(rest=rest, contents=contents, left=left, own=own, time_limit_s=time_limit_s))
            return answer(len(tries), own)

        monkeypatch.setattr(module, "best_mix", best_mix)
        of_a = SimpleNamespace(gpu="a", has=lambda one: one.gpu.gpu == "a", near=lambda *of: nearby.append(of) or [])
        return tries, list(better_plans(asked, WEIGHTS, GPUS, PLAN, known, [of_a], deadline=inf)), nearby

    return run


def asked_of(most=30):
    return problem([150.0, 15.0], [(1, None), (1, most)])


def test_some_gpus_are_freed_and_what_the_others_carry_is_no_longer_asked_for(tried):
    asked = asked_of()
    tries, found, _ = tried(lambda *_: None, asked)
    assert (found, len(tries)) == ([], BARREN)
    assert len({frozenset(map(id, one.own)) for one in tries}) > BARREN / 2
    for one in tries:
        assert FREED[0] <= len(one.own) <= FREED[1]
        kept = [own for own in PLAN if own not in one.own]
        assert len(kept) == len(PLAN) - len(one.own)
        assert one.left == {"a": 25 - len(kept), "b": 3}
        rates = sum(own.rates(2) for own in kept)
        assert one.rest.required_rps == pytest.approx(np.maximum(np.array([150.0, 15.0]) - rates, 0.0))
        assert one.rest.most.tolist() == [inf, 30 - sum(own.replicas(2)[1] for own in kept)]
        # What stood there comes first; what gives somebody too many replicas is not there.
        assert one.contents[: len(one.own)] == one.own
        assert set(OTHERS) <= set(one.contents)
        assert len(set(one.contents)) == len(one.contents)
        assert TOO_MANY not in one.contents
        assert 0 < one.time_limit_s <= module.CHOOSING_S


def test_a_gpu_that_lacks_much_is_freed_in_nearly_every_try_and_any_other_in_some(tried):
    tries, _, _ = tried(lambda *_: None, asked_of())
    times = [sum(own in one.own for one in tries) for own in PLAN]
    assert times[0] > 0.8 * len(tries)
    assert max(times[1:]) < 0.8 * len(tries)
    assert min(times) > 0


def test_what_is_better_is_taken_and_tries_are_counted_anew(tried):
    """Each of three answers has one GPU more; an answer that is as good as what is there is none."""
    tries, found, _ = tried(lambda number, own: [*own, POOR] if 5 < number <= 8 else list(own), asked_of())
    assert [len(plan) for plan in found] == [21, 22, 23]
    assert [sum(one == POOR for one in plan) for plan in found] == [2, 3, 4]
    assert len(tries) == 8 + TRIES + TRIES_OF_EACH * 23


@pytest.mark.parametrize(("serves", "rps"), [(False, 78.0), (False, 1e6), (True, 1.0)])
def test_a_plan_that_leaves_somebody_without_is_never_better_than_one_that_does_not(tried, serves, rps):
    """However much it carries: the freed GPUs lose their second service, or not, and another GPU carries so much."""

    def answer(number, own):
        without = [content("a", *((0, rps) for rps in one.rates(2)[:1])) for one in own]
        return [*(own if serves else without), content("a", (0, rps))] if number == 1 else None

    asked = problem([150.0, 19.0], [(1, None), (0, None)])
    _, found, _ = tried(answer, asked)
    assert bool(found) == serves


@pytest.mark.parametrize("most", [19, 30])
def test_who_has_all_its_replicas_is_not_looked_for_nearby(tried, most):
    asked = asked_of(most)
    tries, _, nearby = tried(lambda *_: None, asked)
    assert len(nearby) == len(tries)
    barred = [charge[1] == inf for _, charge, _, _ in nearby]
    assert barred == [one.rest.most[1] == 0 for one in tries]
    assert not any(charge[0] == inf for _, charge, _, _ in nearby)


def test_of_many_gpus_more_are_freed(monkeypatch):
    least, most = module.FREED_OF_MANY
    plan = [content("a", (0, 10.0), (1, 1.0)) for _ in range(module.MANY)]
    known, freed = KnownContents(WEIGHTS, np.full(2, np.inf)), []
    known.add(plan)
    monkeypatch.setattr(module, "best_mix", lambda *of, **_: freed.append(len(of[5])))
    of_a = SimpleNamespace(gpu="a", has=lambda _: True, near=lambda *_: [])
    assert list(better_plans(asked_of(), WEIGHTS, {"a": module.MANY}, plan, known, [of_a], deadline=inf)) == []
    assert {least, most} <= set(freed) <= set(range(least, most + 1))


@pytest.mark.parametrize(
    ("new", "deadline", "times"), [(0, inf, 1), (2, inf, 3), (100, inf, module.ROUNDS), (9, 0.0, 1)]
)
def test_contents_near_those_of_the_program_join_as_often_as_new_ones_are_found(new, deadline, times):
    """And so often at most, and no more when time is over."""
    known, found = KnownContents(WEIGHTS, np.full(2, np.inf)), []
    known.add(PLAN)

    def near(*_):
        found.append(content("a", (0, 1.0)))
        return found[-1:] if len(found) <= new else []

    of_a = SimpleNamespace(gpu="a", has=lambda _: True, near=near)
    module.join_near_program(asked_of(), {"a": 25}, known, [of_a], deadline=deadline)
    assert len(found) == times
    assert known.all()[len(PLAN) :] == found[:new]
