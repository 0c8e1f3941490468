"""`check` of a GPU under MPS of which only tables are known: one share for a service alone, one for two in turn."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import V100
from problems.instances import problem_of
from support.plan_fields import changed, fields, is_listed, named, others

from sliceplan.solver.allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND
from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.allocation.rounds import Round, RoundsGpu, Turn, assemble_rounds
from sliceplan.solver.check import check
from sliceplan.solver.check.shares_in_turn import _figures, _wrong_totals
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.performance.interference.igniter import IgniterModel
from sliceplan.solver.performance.resolve import resolve

GPU = "T4"
MADE_UP = {"source": "made up", "method": "synthetic"}
NEIGHBOURS = {
    "own_l2": 0.004, "other_l2": 0.006, "own_dram": 0.0, "other_dram": 0.002, "constant": 0.0, "pairs": 1,
    "error": {"points": 1, "median": 0, "p95": 0, "max": 0},
}  # fmt: skip


def table(model, first_ms, l2_percent):
    """Returns a model's table at two shares, with the batch sizes 1, 2 and 4."""
    points = []
    for share in (50, 100):
        for batch in (1, 2, 4):
            ms = (first_ms + batch) * (100 / share) ** 0.7
            points.append(
                {"sm_percent": share, "batch": batch, "processes": 1, "latency_ms": ms,
                 "throughput_rps": 1000 * batch / ms, "l2_percent": l2_percent, "dram_percent": l2_percent}
            )  # fmt: skip
    data = {"model": model, "gpu": GPU, "points": points, "neighbours": NEIGHBOURS, "provenance": MADE_UP}
    return Profile.model_validate(data)


PROFILES = (table("alone", 2.0, 60.0), table("first", 1.0, 80.0), table("second", 3.0, 10.0))
NAMES = [profile.model for profile in PROFILES]


def planned(slo_ms=(40.0, 60.0, 60.0), rates=(200.0, 60.0, 40.0), memory_mib=500.0, **settings):
    """Returns the problem and its plan: `alone` on one half of the GPU, the others in turn on the other half."""
    workloads = [
        {"name": name, "model": name, "rate_rps": rate, "slo_ms": slo, "memory_mib": memory_mib}
        for name, rate, slo in zip(NAMES, rates, slo_ms, strict=True)
    ]
    fleet = [{"gpu": GPU, "sharing": ["mps"], "price_per_hour": 1.0}]
    problem = problem_of(workloads, fleet=fleet, turns="fixed", **settings)
    rounds = (Round(50.0, (Turn(0, 4),), 1.0), Round(50.0, (Turn(1, 2), Turn(2, 2)), 24.0))
    plan = assemble_rounds(
        resolve(problem, PROFILES),
        [RoundsGpu(GPU, rounds)],
        planner="tests",
        bound=UNKNOWN_BOUND,
        search=HEURISTIC_DONE,
    )
    (gpu,) = plan.gpus
    by_itself, in_turn = gpu.partitions
    (one,) = by_itself.serves
    one = one.model_copy(update={"capacity_rps": 1000 * one.batch / one.latency_ms})
    by_itself = by_itself.model_copy(update={"duty_cycle_ms": None, "turns": None, "serves": (one,)})
    gpu = gpu.model_copy(update={"partitions": (by_itself, in_turn)})
    plan = completed(problem, plan.model_copy(update={"gpus": (gpu,)}), PROFILES)
    return problem, plan


def found(problem, plan):
    return [str(one) for one in check(problem, plan, PROFILES)]


def test_a_gpu_with_turns_beside_a_service_of_its_own_holds():
    problem, plan = planned()
    assert found(problem, plan) == []
    (one,) = plan.gpus[0].partitions[0].serves
    assert one.latency_ms == pytest.approx(6 * 2**0.7 * (1 + 0.004 * 60 + 0.006 * 80 + 0.002 * 80))
    assert {one.memory_mib for part in plan.gpus[0].partitions for one in part.serves} == {500.0}


def test_every_change_of_every_field_is_found():
    """Property: as for other plans (test_every_field.py)."""
    problem, plan = planned()
    tried = 0
    for path, annotation, value in fields(Plan, plan.model_dump(mode="json")):
        for other in others(annotation, value) if path else ():
            mutant = changed(plan, path, other)
            if mutant is None or (named(path).endswith("serves") and other == value[::-1]):
                continue
            tried += 1
            assert found(problem, mutant) or is_listed(path, other), f"{named(path)}: {value!r} -> {other!r}"
    assert tried > 20


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"slo_ms": (19.0, 60.0, 60.0)}, "alone: takes 18.32 ms; its SLO of 19 ms leaves 9.5 ms"),
        ({"rates": (420.0, 60.0, 40.0)}, "alone: takes 420 req/s; its capacity is 218.288"),
        ({"rates": (200.0, 90.0, 40.0)}, "first: takes 90 req/s; its capacity is 83"),
        ({"memory_mib": 6000.0}, "needs 18000 MiB of memory; it has"),
        ({"shadow_percent": 10.0}, "gives away 100 %; there are 90 % beside 10 % for standby processes"),
    ],
)
def test_a_limit_that_is_passed_is_named(asked, words):
    said = found(*planned(**asked))
    assert any(words in one for one in said), said


def test_what_the_tables_do_not_know_is_named_for_each_that_runs_beside_it():
    problem, plan = planned()
    (gpu,) = plan.gpus
    by_itself, in_turn = gpu.partitions
    large = by_itself.serves[0].model_copy(update={"batch": 5})
    gpu = gpu.model_copy(update={"partitions": (by_itself.model_copy(update={"serves": (large,)}), in_turn)})
    said = found(problem, plan.model_copy(update={"gpus": (gpu,)}))
    assert [name for name in NAMES if any(f"no table of {name} says" in one for one in said)] == NAMES


def test_where_coefficients_are_known_a_turn_is_the_worst_of_all_choices_of_neighbours():
    """By iGniter's model, of every choice of one service from each share."""
    models = ("alexnet", "resnet50", "ssd")
    profiles = {(one.model, V100): one for one in shipped_profiles() if one.gpu == V100 and one.model in models}
    workloads = {name: SimpleNamespace(model=name) for name in models}
    turns = [SimpleNamespace(workload=name, batch=batch) for name, batch in zip(models, (4, 2, 8), strict=True)]
    shares = [SimpleNamespace(sm_percent=40.0, serves=turns[:1]), SimpleNamespace(sm_percent=60.0, serves=turns[1:])]
    figures = _figures(workloads, SimpleNamespace(gpu=V100, partitions=shares), profiles)
    worst = {}
    for pair in ((turns[0], turns[1]), (turns[0], turns[2])):
        known = [profiles[one.workload, V100].interference for one in pair]
        model = IgniterModel.of(known[0].gpu, [one.model for one in known])
        batches = np.array([one.batch for one in pair])
        for one, ms in zip(pair, model.predict(np.arange(2), batches, np.array([40.0, 60.0])).latency_ms, strict=True):
            worst[one.workload] = max(worst.get(one.workload, 0.0), float(ms))
    assert {one.workload: figures[id(one)].latency_ms for one in turns} == pytest.approx(worst)


@pytest.mark.parametrize(
    ("memory_mib", "shadow", "said"),
    [
        ((8000.0, 7360.0, None), 0.0, []),
        ((8000.0, 7361.0, None), 0.0, ["x: needs 15361 MiB of memory; it has 15360 MiB"]),
        ((4000.0, 3680.0, None), 20.0, []),
        ((4000.0, 3681.0, None), 20.0, ["x: needs 15362 MiB of memory; it has 15360 MiB"]),
    ],
)
def test_models_of_all_shares_and_their_standby_processes_are_in_memory_and_what_is_unknown_takes_none(
    memory_mib, shadow, said
):
    workloads = {name: SimpleNamespace(model=name, memory_mib=mib) for name, mib in zip(NAMES, memory_mib, strict=True)}
    profiles = {(name, GPU): SimpleNamespace(interference=None) for name in NAMES}
    turns = [SimpleNamespace(workload=name) for name in NAMES]
    shares = [SimpleNamespace(sm_percent=40.0, serves=own) for own in (turns[:1], turns[1:])]
    problem = SimpleNamespace(settings=SimpleNamespace(shadow_percent=shadow))
    facts = SimpleNamespace(memory_mib=15360.0, mps_client_limit=lambda _: 4)
    gpu = SimpleNamespace(id="x", gpu=GPU, partitions=shares)
    assert [str(one) for one in _wrong_totals(problem, workloads, gpu, facts, profiles)] == said
    few = SimpleNamespace(memory_mib=1e9, mps_client_limit=lambda _: 3)
    clients = [str(one) for one in _wrong_totals(problem, workloads, gpu, few, profiles)]
    assert clients == (["x: has 4 MPS clients; at most 3 are allowed"] if shadow else [])
