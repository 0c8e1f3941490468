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
from sliceplan.solver.check import check, shares_in_turn
from sliceplan.solver.check.shares_in_turn import (
    _broken_slo,
    _figures,
    _not_in_whole_units,
    _wrong_partition,
    _wrong_totals,
    are_judged_here,
    wrong_shares_in_turn,
)
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


@pytest.mark.parametrize(
    ("turns", "duty_cycles_ms", "known", "judged"),
    [
        ("none", (None, None), (1, 1), False),
        ("none", (None, None), (None, None), False),
        ("none", (None, 10.0), (1, 1), True),
        ("fixed", (None, None), (1, 1), False),
        ("fixed", (None, None), (1, None), True),
    ],
)
def test_shares_are_judged_as_in_turn_where_one_has_a_round_or_turns_are_allowed_and_only_tables_known(
    turns, duty_cycles_ms, known, judged
):
    problem = SimpleNamespace(settings=SimpleNamespace(turns=turns))
    gpu = SimpleNamespace(partitions=[SimpleNamespace(duty_cycle_ms=one) for one in duty_cycles_ms])
    assert are_judged_here(problem, gpu, known) is judged


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (50.0, []),
        (50.0 * (1 + 5e-7), []),
        (50.0 * (1 + 6e-6), ["has a share of 50.0003 %; shares of a T4 are multiples of 5 %"]),
        (50.0 * (1 - 6e-6), ["has a share of 49.9997 %; shares of a T4 are multiples of 5 %"]),
        (1e-6, []),
        (1e-4, ["has a share of 0.0001 %; shares of a T4 are multiples of 5 %"]),
    ],
)
def test_a_share_is_a_multiple_of_a_unit_within_a_millionth_of_it(share, said):
    gpu = SimpleNamespace(id="x", gpu=GPU, partitions=[SimpleNamespace(sm_percent=share)])
    found = [str(one) for one in _not_in_whole_units(gpu, SimpleNamespace(mps_unit_percent=5.0))]
    assert found == [f"x: {one}" for one in said]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mig_profile": "1g.10gb"}, "and no MIG profile or start"),
        ({"start": 0}, "and no MIG profile or start"),
        ({"sm_percent": None}, "has a share (sm_percent)"),
        ({"serves": ()}, "has a share that serves nothing"),
    ],
)
def test_a_partition_has_a_share_that_serves_and_no_place_on_a_gpu(change, words):
    problem, plan = planned()
    partition = plan.gpus[0].partitions[0].model_copy(update=change)
    workloads = {one.name: one for one in problem.workloads}
    profiles = {(one.model, GPU): one for one in PROFILES}
    (said,) = map(str, _wrong_partition(workloads, plan.gpus[0], partition, profiles, may_be_free=False))
    assert words in said
    in_turn = plan.gpus[0].partitions[1]
    assert not list(_wrong_partition(workloads, plan.gpus[0], in_turn, profiles, may_be_free=False))
    without_a_round = in_turn.model_copy(update={"duty_cycle_ms": None})
    (said,) = map(str, _wrong_partition(workloads, plan.gpus[0], without_a_round, profiles, may_be_free=False))
    assert "serves several workloads (first, second)" in said


def test_a_service_without_a_profile_of_the_gpu_is_named_and_each_other_of_its_share_is_looked_at():
    problem, plan = planned()
    workloads = {one.name: one for one in problem.workloads}
    in_turn = plan.gpus[0].partitions[1]
    said = [
        str(one)
        for one in _wrong_partition(workloads, plan.gpus[0], in_turn, {("second", GPU): PROFILES[2]}, may_be_free=False)
    ]
    assert said == [f"{GPU}/0 first: no profile of first is known for {GPU}"]
    said = [str(one) for one in _wrong_partition(workloads, plan.gpus[0], in_turn, {}, may_be_free=False)]
    assert said == [f"{GPU}/0 {name}: no profile of {name} is known for {GPU}" for name in ("first", "second")]


@pytest.mark.parametrize(("most", "by_igniter", "said"), [(1, True, 1), (2, True, 0), (1, False, 0)])
def test_too_many_choices_of_who_runs_at_once_are_named_where_all_would_be_tried(monkeypatch, most, by_igniter, said):
    """Two choices: one service on one share, two on the other."""
    problem, plan = planned()
    monkeypatch.setattr(shares_in_turn, "MOST_CHOICES", most)
    monkeypatch.setattr(shares_in_turn, "_all_by_igniter", lambda *_: by_igniter)
    monkeypatch.setattr(shares_in_turn, "_figures", lambda *_: dict.fromkeys(ids, None))
    (gpu,) = plan.gpus
    ids = [id(one) for part in gpu.partitions for one in part.serves]
    workloads = {one.name: one for one in problem.workloads}
    facts = SimpleNamespace(mps_unit_percent=5.0, mps_least_sms=None, memory_mib=1e9, mps_client_limit=lambda _: 48)
    profiles = {(one.model, GPU): one for one in PROFILES}
    found = [str(one) for one in wrong_shares_in_turn(problem, workloads, gpu, facts, profiles, None)]
    choices = [one for one in found if "has 2 choices of who runs at once; at most 1 are judged" in one]
    assert len(choices) == said
    assert len(found) == (1 if said else 3)  # and what no table knows, of each service
    found = [str(one) for one in wrong_shares_in_turn(problem, workloads, gpu, facts, {}, None)]
    assert [one.split(" is known")[0] for one in found] == [f"{GPU}/0 {name}: no profile of {name}" for name in NAMES]


@pytest.mark.parametrize(
    ("latency", "served", "said", "excess"),
    [
        ("execution", {}, [], []),
        ("execution", {"latency_ms": 25.0}, ["takes 25 ms; its SLO of 40 ms leaves 20 ms"], [0.25]),
        ("execution", {"rate_rps": 150.0}, ["takes 150 req/s; its capacity is 100"], [0.5]),
        ("execution", {"promised_rps": 9.0}, ["states promised_rps 9, but by execution nothing is promised"], [None]),
        ("percentile", {"latency_ms": 25.0}, ["of a percentile nothing is promised"], [None]),
    ],
)
def test_what_a_service_alone_on_its_share_misses_is_said_with_how_far(latency, served, said, excess):
    settings = problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": 40}], latency=latency).settings
    given = {"workload": "a", "latency_ms": 20.0, "rate_rps": 100.0, "capacity_rps": 100.0, "promised_rps": None}
    problem, workloads = SimpleNamespace(settings=settings), {"a": SimpleNamespace(name="a", slo_ms=40.0)}
    found = list(_broken_slo(problem, workloads, "x", SimpleNamespace(**(given | served))))
    assert [one.excess for one in found] == excess
    assert all(words in str(one) for words, one in zip(said, found, strict=True))
