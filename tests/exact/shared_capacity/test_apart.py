"""What stands apart from a plan of least cost: still a plan, on no more GPUs than there are, and worth more."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import freely_shared

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.exact.fleet.mixed_fleet import solve_mixed_fleet
from sliceplan.solver.exact.shared_capacity import answer
from sliceplan.solver.exact.shared_capacity import apart as module
from sliceplan.solver.exact.shared_capacity.apart import _fewer, set_apart
from sliceplan.solver.exact.shared_capacity.asked_rows import AskedRows
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.gpu_contents import Content
from sliceplan.solver.exact.shared_capacity.prices import MasterPrices
from sliceplan.solver.exact.shared_capacity.program import value_of
from sliceplan.solver.exact.shared_capacity.shared_gpus import SharedGpus
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.igniter import hosted

from .paid import all_paid

N = 10


def planned(seed, most, gpus):
    """Returns a drawn problem of ten services on so many V100s, its figures, and a plan of least cost as contents."""
    resolved = resolve(freely_shared(N, seed, most, gpus), shipped_profiles())
    (figures,) = [Figures.of(resolved, mps, all_paid(N)) for mps in resolved.mps.values()]
    cheap = solve_mixed_fleet(resolved, time_limit_s=2).gpus
    return resolved, figures, [figures.content(one.residents) for one in cheap]


@pytest.mark.parametrize(("seed", "most"), [(1, (1,)), (2, (1, None, 3))])
def test_a_plan_with_services_apart_is_a_plan_that_uses_every_gpu(seed, most):
    resolved, figures, plan = planned(seed, most, 5)
    nothing = np.zeros(N)
    asked = []

    def cheap(rest, _):
        asked.append((len(rest.required_rps), rest.fleet[0].available))
        return solve_mixed_fleet(rest, time_limit_s=0.5).gpus

    found = set_apart(
        resolved,
        [SharedGpus(figures)],
        np.ones(N),
        MasterPrices(nothing, nothing, nothing),
        plan,
        cheap,
        deadline=time.monotonic() + 60,
    )
    assert AskedRows.of(resolved).are_met_by(found)
    assert len(found) <= 5
    replicas = sum(one.replicas(N) for one in found)
    for number, one in zip(replicas, resolved.problem.workloads, strict=True):
        assert one.min_replicas <= number <= (one.max_replicas or number)
    assert value_of(np.ones(N), found) > value_of(np.ones(N), plan)
    # The others are asked about without those who stand apart, on the GPUs that these leave.
    assert asked
    assert all(number < N and left < 5 for number, left in asked)


def test_without_time_the_plan_stays():
    resolved, figures, plan = planned(1, (1,), 5)
    nothing = MasterPrices(np.zeros(N), np.zeros(N), np.zeros(N))
    found = set_apart(
        resolved, [SharedGpus(figures)], np.ones(N), nothing, plan, lambda *_: None, deadline=time.monotonic()
    )
    assert found == plan


def test_others_stay_where_they_are_unless_fewer_gpus_hold_them():
    resolved, figures, plan = planned(1, (1,), 5)
    anyone = np.zeros(N, dtype=bool)
    fleet = [SharedGpus(figures)]
    again = [one.gpu for one in reversed(plan)]
    one_alone = [figures.content([resident]) for one in plan for resident in one.gpu.residents]
    assert _fewer(resolved, fleet, anyone, plan, [], lambda *_: again, 1.0) is plan
    assert _fewer(resolved, fleet, anyone, plan, [], lambda *_: None, 1.0) is plan
    found = _fewer(resolved, fleet, anyone, one_alone, [], lambda *_: again, 1.0)
    assert [one.gpu for one in found] == again


class _ReachedError(Exception):
    """Services would stand apart now."""


def test_the_first_question_leaves_time_for_services_to_stand_apart(monkeypatch):
    """What it takes is bounded by a part of the time limit; else short limits end with the first plan."""
    resolved, *_ = planned(1, (1,), 5)
    left_s = []
    asked = SharedGpus.limit

    def noted(*arguments, deadline, **others):
        left_s.append(deadline - time.monotonic())
        return asked(*arguments, deadline=deadline, **others)

    def reached(*_, **__):
        raise _ReachedError

    monkeypatch.setattr(SharedGpus, "limit", noted)
    monkeypatch.setattr(answer, "set_apart", reached)
    with pytest.raises(_ReachedError):
        answer.most_capacity_shared(resolved, hosted, (), on_answer=lambda *_: None, time_limit_s=30.0)
    assert len(left_s) == 1
    assert max(left_s) <= answer.ASKING * 30.0 < 30.0 / 4


def small(gpu, *residents):
    """Returns a content of residents, each a service and what it carries."""
    return Content(MpsGpu(gpu, tuple(Resident(w, 1, 20.0) for w, _ in residents)), tuple(rps for _, rps in residents))


def problem(required, limits, counts=(("A", 3),)):
    """Returns services with rates and least and greatest replicas, on GPUs of which there are so many."""
    return SimpleNamespace(
        required_rps=np.array(required, dtype=float),
        fleet=[SimpleNamespace(gpu=SimpleNamespace(name=gpu), available=count) for gpu, count in counts],
        problem=SimpleNamespace(
            workloads=[SimpleNamespace(min_replicas=least, max_replicas=most) for least, most in limits]
        ),
    )


BEST, OTHER = small("A", (0, 9.0)), small("A", (0, 1.0))


def asked_for(resolved, apart, *, prices, contents=(BEST, OTHER)):
    """Returns the content that carries most, and the prices of requests and of residents at which it was looked for."""
    asked = []

    def limit(price, charge, *, gap, cells, deadline):
        asked.append((price.tolist(), charge.tolist(), gap, cells, deadline))
        return SimpleNamespace(contents=contents)

    weights = np.arange(1.0, 1 + len(resolved.required_rps))
    found = module._carries_most(resolved, [SimpleNamespace(limit=limit)], weights, prices, apart, 9.0)
    ((price, charge, gap, cells, deadline),) = asked
    assert (price, gap, cells, deadline) == (weights.tolist(), 1.0, module.CELLS, 9.0)
    return found, charge


def test_what_carries_most_is_of_services_that_may_be_there_and_best_of_those_that_are_dear_elsewhere():
    """With one replica once; with a number of them not at all; who is there already saves nothing more elsewhere."""
    resolved = problem([10.0, 20.0, 5.0, 8.0], [(1, 1), (1, None), (1, 3), (1, None)])
    prices = MasterPrices(np.array([0.0, 0.5, 1.0, 0.25]), np.zeros(4), np.array([7.0, 0.0, 2.0, 1.0]))
    found, charge = asked_for(resolved, [], prices=prices)
    saved = [-module.SAVED * own for own in (7.0, 10.0, 3.0)]
    assert (found, charge) == (BEST, [pytest.approx(saved[0]), pytest.approx(saved[1]), np.inf, pytest.approx(-0.3)])
    there = [small("A", (0, 1.0), (1, 2.0)), small("A", (1, 1.0))]
    found, charge = asked_for(resolved, there, prices=prices, contents=())
    assert (found, charge) == (None, [np.inf, 0.0, np.inf, pytest.approx(-0.3)])


@pytest.mark.parametrize(
    ("carried", "replicas", "served"),
    [(10.0, 2, True), (10.0 * (1 - 1e-10), 2, True), (9.99, 2, False), (10.0, 1, False), (30.0, 3, True)],
)
def test_who_stands_apart_with_all_of_its_rate_and_replicas_is_served_there(carried, replicas, served):
    resolved = problem([10.0, 1.0], [(2, None), (1, None)])
    apart = [small("A", (0, carried / replicas)) for _ in range(replicas)]
    assert AskedRows.of(resolved).served_whole(apart).tolist() == [served, False]
    assert AskedRows.of(resolved).served_whole([]).tolist() == [False, False]


def test_contents_lose_those_who_are_gone_and_stay_as_they_are_without_any():
    content = small("A", (0, 1.0), (2, 2.0))
    other = SimpleNamespace(has=lambda _: False)
    told = SimpleNamespace(has=lambda _: True, without=lambda one, gone: [w for w in one.gpu.workloads if not gone[w]])
    assert module._without([other, told], content, np.array([False, True, False])) is content
    assert module._without([other, told], content, np.array([True, True, False])) == [2]


@pytest.fixture
def apart(monkeypatch):
    """Returns a function that sets apart where these contents carry most in turn, and it gives what was asked."""

    def searched(resolved, plan, best, fewer, *, deadline=np.inf):
        left, asked, others = list(best), [], list(fewer)

        def carries(_, of_type, __, ___, there, ____):
            asked.append((*(own.gpu for own in of_type), len(there)))
            return left.pop(0) if left else None

        def fewer_of(_, __, gone, own, there, ___, part):
            asked.append((gone.tolist(), len(own), len(there), part))
            return others.pop(0) if others else own

        monkeypatch.setattr(module, "_carries_most", carries)
        monkeypatch.setattr(module, "_fewer", fewer_of)

        def without(content, gone):
            there = [(w, 1.0) for w in content.gpu.workloads if not gone[w]]
            return small("A", *there) if there else None

        fleet = [SimpleNamespace(gpu=gpu, has=lambda _: True, without=without) for gpu in ("A", "B")]
        nothing = MasterPrices(np.zeros(2), np.zeros(2), np.zeros(2))
        found = module.set_apart(resolved, fleet, np.ones(2), nothing, plan, None, deadline=deadline)
        return found, asked

    return searched


def test_gpus_that_are_left_take_what_carries_most_and_others_are_planned_anew_until_none_leaves(apart):
    """Three GPUs of A, one of B: two are left, whoever stands there with all of its rate leaves the others."""
    resolved = problem([10.0, 4.0], [(1, None), (1, None)], (("A", 3), ("B", 1)))
    plan = [small("A", (0, 10.0), (1, 1.0)), small("A", (1, 3.0))]
    large, more, last = small("A", (0, 12.0)), small("B", (0, 9.0)), small("A", (0, 30.0))
    found, asked = apart(resolved, plan, [large, more, last], [plan[1:]])
    gone = [True, False]
    assert asked == [
        ("A", 0),
        ("B", 1),
        (gone, 2, 2, module.SHORT),
        # One of the others has left its GPU.
        ("A", 2),
        (gone, 1, 3, module.SHORT),
        # Nobody leaves in a short time, so a longer one is tried, and then it ends.
        (gone, 1, 3, module.LONG),
    ]
    assert found == [plan[1], large, more, last]


def test_where_nothing_may_stand_apart_or_all_do_nobody_is_planned_anew(apart):
    resolved = problem([10.0, 4.0], [(1, None), (1, None)], (("A", 3), ("B", 0)))
    plan = [small("A", (0, 10.0)), small("A", (1, 4.0))]
    found, asked = apart(resolved, plan, [], [])
    assert found == plan
    assert asked == [("A", 0), ([False, False], 2, 0, module.LONG), ("A", 0)]
    both = small("A", (0, 10.0), (1, 4.0))
    found, asked = apart(resolved, plan, [both, both, both, None], [])
    assert found == [both, both, both]
    assert [one for one in asked if len(one) == 4] == []
    assert apart(resolved, plan, [both], [], deadline=-np.inf) == (plan, [])


def test_the_others_are_planned_on_gpus_that_are_left_and_stay_where_somebody_has_no_place_there(monkeypatch):
    """Of three GPUs of A two are taken; services 0 and 2 stay, and are numbered so again in what comes back."""
    asked = []
    resolved = problem([1.0, 1.0, 1.0], [(1, None)] * 3, (("A", 3), ("B", 1)))
    monkeypatch.setattr(module, "replace", lambda one, **fields: SimpleNamespace(**vars(one) | fields))
    resolved.restricted_to = lambda rows: SimpleNamespace(rows=rows)
    others, there = [small("A", (0, 1.0)), small("A", (2, 1.0))], [small("A", (1, 1.0)), small("A", (1, 1.0))]

    def cheap(rest, part):
        asked.append((rest.rows, [entry.available for entry in rest.fleet], part))
        return found

    def moved(content):
        fleet = [SimpleNamespace(of=lambda gpu: content(gpu.residents))]
        return module._fewer(resolved, fleet, np.array([False, True, False]), others, there, cheap, 0.25)

    found = [MpsGpu("A", (Resident(0, 1, 20.0), Resident(1, 2, 30.0)))]
    whole = small("A", (0, 1.0), (2, 1.0))
    seen = []
    assert moved(lambda residents: seen.append([one.workload for one in residents]) or whole) == [whole]
    assert (seen, asked) == ([[0, 2]], [([0, 2], [1, 1], 0.25)])
    assert moved(lambda _: None) is others
    assert moved(lambda _: small("A", (0, 1.0))) is others
    found = [*found, *found]
    assert moved(lambda _: whole) is others
    found = None
    assert moved(lambda _: whole) is others
