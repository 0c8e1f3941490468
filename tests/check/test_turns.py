"""Services that take turns: each rule that a plan breaks is found and named, and nothing else is."""

import json
from bisect import bisect
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from problems.gpulets import a100_problem, a100_profiles, with_2080ti_neighbours
from problems.instances import problem_of
from problems.rounds import WORKLOADS, two_in_a_round, with_round, with_turn
from support.plan_fields import changed, fields, is_listed, named, others

from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.check import turns as turns_module
from sliceplan.solver.check.latency import stated_promise
from sliceplan.solver.check.turns import _Judged, _may_take_ms, _wrong_promise
from sliceplan.solver.check.violation import NOT_AT_ANY_RATE
from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.service_figures import service_figures
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.consistency import contradictory_figures
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.division import wrong_gpus
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.proving import proving_planner
from sliceplan.solver.performance.queueing.kept_slots import part_late
from sliceplan.solver.performance.queueing.slot_table_file import LOADS

PROFILES = shipped_profiles()
ORDER = "gpus[].partitions[].serves"
"""Another order of fixed turns is another plan that holds: a request waits a round for its slot, wherever it is."""


def found(problem, plan):
    return [str(one) for one in check(problem, plan, PROFILES)]


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_a_round_that_holds_is_not_complained_of(turns):
    problem, plan = two_in_a_round(turns)
    assert found(problem, plan) == []
    assert list(wrong_gpus(plan)) == list(contradictory_figures(plan)) == []


def test_every_change_of_every_field_of_a_round_is_found():
    """Property: as for plans without turns (test_every_field.py)."""
    problem, plan = two_in_a_round()
    tried = 0
    for path, annotation, value in fields(Plan, plan.model_dump(mode="json")):
        for other in others(annotation, value) if path else ():
            mutant = changed(plan, path, other)
            if mutant is None or (named(path) == ORDER and isinstance(other, list) and other == value[::-1]):
                continue
            tried += 1
            assert found(problem, mutant) or is_listed(path, other), f"{named(path)}: {value!r} -> {other!r}"
    assert tried > 20


def other_round(plan, round_ms):
    """Returns the plan with another round and the capacities of it."""
    serves = plan.gpus[0].partitions[0].serves
    serves = tuple(one.model_copy(update={"capacity_rps": 1000 * one.batch / round_ms}) for one in serves)
    return with_round(plan, duty_cycle_ms=round_ms, serves=serves)


def turn(number, **changes):
    """Returns what changes a turn of a plan."""
    return lambda plan: with_turn(plan, number, **changes)


def round_with(**changes):
    """Returns what changes the partition of a plan."""
    return lambda plan: with_round(plan, **changes)


@pytest.mark.parametrize(
    ("turns", "change", "words"),
    [
        ("fixed", lambda plan: other_round(plan, 22.0), "turns of a, b take 23.2127 ms; their round has 22 ms"),
        (
            "fixed",
            lambda plan: with_turn(plan, 0, capacity_rps=101.0),
            "states 101 req/s; a batch of 4 a round gives 100",
        ),
        ("fixed", turn(0, latency_ms=12.0), "states 12 ms; the profile gives 12.3364 ms"),
        ("fixed", turn(0, processes=2), "runs 2 processes; who takes turns runs one"),
        ("fixed", turn(1, workload="a"), "a service has one turn a round"),
        ("fixed", turn(1, workload="c"), "c: is not in the problem"),
        (
            "fixed",
            lambda plan: with_turn(plan, 1, basis="measured"),
            "states the basis measured; the profile's is fitted",
        ),
        ("fixed", turn(1, batch=1000), "knows batch 1000 here"),
        ("fixed", turn(1, causes_ms={}), "states causes_ms; expected null"),
        ("fixed", turn(1, memory_mib=5.0), "states memory_mib; expected null"),
        ("fixed", turn(1, promised_rps=5.0), "states promised_rps 5, but by execution nothing is promised"),
        (
            "fixed",
            lambda plan: with_round(plan, turns="any"),
            "has turns 'any'; the problem's settings.turns is 'fixed'",
        ),
        ("fixed", round_with(turns=None), "has turns None; the problem's settings.turns is 'fixed'"),
        ("fixed", round_with(duty_cycle_ms=None), "has turns 'fixed', but no duty_cycle_ms"),
        (
            "fixed",
            round_with(serves=()),
            "has duty_cycle_ms 40; here no service takes turns",
        ),
        (
            "any",
            lambda plan: with_round(plan, turns="fixed"),
            "has turns 'fixed'; the problem's settings.turns is 'any'",
        ),
    ],
)
def test_each_broken_rule_is_named(turns, change, words):
    problem, plan = two_in_a_round(turns)
    assert any(words in one for one in found(problem, change(plan))), found(problem, change(plan))


def test_a_round_is_held_against_the_slo_by_who_waits_longest():
    slow = [WORKLOADS[0], {**WORKLOADS[1], "slo_ms": 52}]
    for turns, words in (
        ("fixed", None),
        ("any", "b: may wait a round of 40 ms and be executed in 23.2127 ms; its SLO of 52 ms leaves 52 ms"),
    ):
        problem, plan = two_in_a_round(turns, workloads=slow)
        assert [one for one in found(problem, plan) if words is None or words not in one] == []
        assert bool(found(problem, plan)) == (words is not None)
    problem, plan = two_in_a_round("fixed", workloads=slow, slo_fraction=0.4)
    (late,) = [one for one in check(problem, plan, PROFILES) if one.excess is not None]
    assert (late.workload, late.excess) == ("b", pytest.approx((40 + 10.876301891690916) / (0.8 * 52) - 1))


def of_a_percentile(turns="fixed", promised=(80.0, 150.0), slo_ms=100):
    """Returns a problem of a percentile and its plan in which turns are promised so much."""
    workloads = [{**WORKLOADS[0], "rate_rps": 70, "slo_ms": slo_ms}, {**WORKLOADS[1], "slo_ms": slo_ms}]
    problem, plan = two_in_a_round(turns, workloads=workloads, latency="percentile")
    for number, rps in enumerate(promised):
        plan = with_turn(plan, number, promised_rps=rps)
    return problem, completed(problem, plan.model_copy(update={"promise": stated_promise(problem)}), PROFILES)


def late_at(batch, slack, load):
    """Returns the part that is late."""
    return part_late(batch, load, slack)[0]


def test_of_a_percentile_a_turn_is_promised_what_holds_of_requests_at_random():
    """Slots every 40 ms, batches of 4 and 8 in 12.34 and 10.88 ms: slacks of 2.19 and 2.23."""
    holds = []
    for batch, ms in ((4, 12.33636), (8, 10.876301891690916)):
        slack = np.floor(np.array([(100 - ms) / 40]) * 1000) / 1000
        first_late = bisect(LOADS, 0.01, key=partial(late_at, batch, slack))
        holds.append(1000 * batch * LOADS[first_late - 1] / 40)
    problem, plan = of_a_percentile(promised=holds)
    assert found(problem, plan) == []
    assert found(*of_a_percentile(promised=(holds[0], 121.0))) == []
    for changed_plan, words in (
        (with_turn(plan, 0, promised_rps=holds[0] * 1.001), "states promised_rps 71.071; what it is promised holds up"),
        (with_turn(plan, 1, promised_rps=None), "states promised_rps null; what it is promised holds up to"),
        (with_turn(plan, 0, rate_rps=80.0), "takes 80 req/s; 99 % are within its SLO of 100 ms up to 71 req/s in a"),
    ):
        assert any(words in one for one in found(problem, changed_plan)), (words, found(problem, changed_plan))
    in_any_order = found(*of_a_percentile("any", promised=holds))
    assert any("b: states promised_rps" in one for one in in_any_order)
    (missed,) = [one for one in check(problem, with_turn(plan, 0, rate_rps=80.0), PROFILES) if one.excess is not None]
    assert (missed.workload, missed.excess) == ("a", pytest.approx(80 / holds[0] - 1, rel=1e-6))


def test_of_a_percentile_the_round_alone_may_be_too_long():
    words = found(*of_a_percentile(promised=(0.0, 0.0), slo_ms=51))
    assert any(
        "a: may wait a round of 40 ms and be executed in 12.3364 ms; its SLO of 51 ms leaves 51" in one for one in words
    )
    assert any("a: takes 70 req/s; 99 % are within its SLO of 51 ms up to 0 req/s" in one for one in words)


def test_turns_carry_their_rates_and_share_memory():
    problem, plan = two_in_a_round(workloads=[{**WORKLOADS[0], "rate_rps": 101}, WORKLOADS[1]])
    assert any("takes 101 req/s; its capacity is 100" in one for one in found(problem, plan))
    assert any("is 101, more than its capacity_rps of 100" in words for _, words in contradictory_figures(plan))
    (excess,) = [one.excess for one in check(problem, plan, PROFILES) if "its capacity is" in one.message]
    assert excess == pytest.approx(0.01)
    big = [{**one, "memory_mib": 6000} for one in WORKLOADS]
    problem, plan = two_in_a_round(workloads=big)
    assert found(problem, plan) == [
        "A100-80GB/0: a, b need 12000 MiB of memory together; it has 9728 MiB",
    ]


def test_without_the_problem_a_round_that_cannot_be_is_found():
    _, plan = two_in_a_round()
    assert next(words for _, words in contradictory_figures(with_round(plan, duty_cycle_ms=20.0))) == (
        "is 20; the turns take 23.2127 ms"
    )
    assert ("gpus[0].partitions[0].turns", "is 'any', but there is no duty cycle: expected null") in list(
        wrong_gpus(with_round(plan, duty_cycle_ms=None, turns="any"))
    )
    twice = with_turn(plan, 1, workload="a")
    assert any("lists a 2 times; a workload has one turn a round" in words for _, words in wrong_gpus(twice))


def test_turns_are_allowed_by_the_problem_alone():
    problem, plan = two_in_a_round()
    none = problem.model_copy(update={"settings": problem.settings.model_copy(update={"turns": "none"})})
    assert "the problem's settings.turns is none" in " ".join(found(none, with_problem(plan, none)))
    with pytest.raises(InputError, match=r"settings.turns is 'fixed', but what is promised is 'worst_case'"):
        solve(problem_of(WORKLOADS, turns="fixed", latency="worst_case"), "parvagpu")


def with_problem(plan, problem):
    return plan.model_copy(update={"problem": reference(problem)})


@pytest.mark.parametrize("planner", ["exact", "exact-pulp"])
def test_a_planner_that_proves_refuses_what_it_does_not_know(planner):
    plan = solve(problem_of(WORKLOADS, turns="fixed"), planner)
    assert plan.status == "refused"
    assert "does not plan turns yet" in plan.unserved[0].reason
    assert plan.unserved[0].reason.endswith("; use exact-turns")


@pytest.mark.parametrize(("turns", "planner"), [("none", "exact"), ("fixed", "exact-turns"), ("any", "exact-turns")])
def test_where_nobody_is_named_the_one_plans_that_proves(turns, planner):
    problem = problem_of(WORKLOADS, turns=turns)
    plan = solve(problem)
    assert (plan.planner, plan.status) == (planner, "optimal")
    assert proving_planner(problem) == planner


def test_where_nobody_proves_it_the_refusal_names_who_plans_it():
    """More services under MPS than it plans where it is known how neighbours slow them."""
    problem = a100_problem((800, 0, 0, 400, 0))
    many = [one.model_copy(update={"name": f"{one.name}-{i}"}) for one in problem.workloads for i in range(5)]
    problem = problem.model_copy(update={"workloads": tuple(many)})
    plan = solve(problem, profiles=with_2080ti_neighbours(a100_profiles()))
    assert (plan.planner, plan.status) == ("exact-turns", "refused")
    assert "; without a proof: gpulets, " in plan.unserved[0].reason


def test_a_plan_file_keeps_turns_and_old_ones_are_read_without(tmp_path):
    _, plan = two_in_a_round("any")
    file = tmp_path / "plan.json"
    file.write_text(dump_plan(plan))
    assert read_plan(file) == plan
    old = json.loads(file.read_text())
    for gpu in old["gpus"]:
        for partition in gpu["partitions"]:
            del partition["turns"]
    file.write_text(json.dumps(old))
    assert read_plan(file).gpus[0].partitions[0].turns is None


def test_a_service_is_as_tight_as_waiting_leaves_it():
    problem, plan = two_in_a_round()
    one, other = service_figures(problem, plan)
    assert (one.limit_ms, other.limit_ms) == (60.0, 40.0)
    assert one.used == pytest.approx(12.33636 / 60)
    problem, plan = two_in_a_round(workloads=[WORKLOADS[0], {**WORKLOADS[1], "slo_ms": 39}])
    assert service_figures(problem, plan)[1].used >= 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, None),
        ({"batch_sizes": (4,)}, None),
        ({"batch_sizes": (2, 8)}, "batch 4 is not allowed for a"),
        ({"gpus": ("A100-80GB",)}, None),
        ({"gpus": ("T4", "A10G")}, "allows only T4, A10G"),
    ],
)
def test_a_turn_is_executed_as_its_workload_allows(fields, words):
    problem, plan = two_in_a_round(workloads=[{**WORKLOADS[0], **fields}, WORKLOADS[1]])
    said = [one for one in found(problem, plan) if "99" not in one]
    assert said == [] if words is None else any(words in one for one in said)


@pytest.mark.parametrize(("mig_profile", "wrong"), [("1g.23gb", True), ("7g.180gb", False)])
def test_models_of_a_round_are_in_memory_together_where_that_is_known(mig_profile, wrong):
    """Of the second instance the catalogue does not know the memory."""
    owner = SimpleNamespace(memory_mib=40_000.0, model="m", name="a")
    served = SimpleNamespace(workload="a", batch=1, processes=1)
    partition = SimpleNamespace(serves=(served,), mig_profile=mig_profile, kind=mig_profile)
    gpu = SimpleNamespace(id="x", gpu="B200-180GB")
    assert (load_catalogue()[gpu.gpu].mig.profile(mig_profile).memory_mib is None) != wrong
    judged = _Judged(None, {"a": owner}, gpu, partition, lambda *_: None, None)
    assert bool(list(judged._wrong_memory())) == wrong


@pytest.mark.parametrize(("first_mib", "wrong"), [(9728.0, False), (9729.0, True)])
def test_a_model_of_which_no_memory_is_known_takes_none(first_mib, wrong):
    owners = {
        name: SimpleNamespace(memory_mib=mib, model="m", name=name) for name, mib in (("a", first_mib), ("b", None))
    }
    serves = tuple(SimpleNamespace(workload=name, batch=1, processes=1) for name in owners)
    gpu = SimpleNamespace(id="x", gpu="A100-80GB")
    for point in (None, SimpleNamespace(memory_mib=None)):
        partition = SimpleNamespace(serves=serves, mig_profile="1g.10gb", kind="1g.10gb")
        judged = _Judged(None, owners, gpu, partition, lambda *_, point=point: point, None)
        assert bool(list(judged._wrong_memory())) == wrong


@pytest.mark.parametrize(("latency", "leaves_ms"), [("percentile", 100.0), ("execution", 80.0)])
def test_a_request_may_wait_and_be_executed_for_all_of_its_slo_where_that_is_of_a_percentile(latency, leaves_ms):
    problem = SimpleNamespace(settings=SimpleNamespace(latency=latency, slo_fraction=0.4))
    assert _may_take_ms(problem, SimpleNamespace(slo_ms=100.0)) == pytest.approx(leaves_ms)


@pytest.mark.parametrize(
    ("holds_rps", "rate_rps", "excess"),
    [(0.5, 0.4, None), (0.5, 0.5, None), (0.5, 0.75, 0.5), (0.0, 0.75, NOT_AT_ANY_RATE), (0.0, 0.0, None)],
)
def test_a_turn_that_gets_more_than_holds_says_by_how_much(monkeypatch, holds_rps, rate_rps, excess):
    monkeypatch.setattr(turns_module, "percentile_rps", lambda *_: holds_rps)
    problem = problem_of(WORKLOADS, turns="fixed", latency="percentile")
    served = SimpleNamespace(workload="a", batch=4, promised_rps=holds_rps, rate_rps=rate_rps)
    said = list(_wrong_promise(problem, problem.workloads[0], "x", served, 40.0, 10.0))
    assert [one.excess for one in said] == ([] if excess is None else [pytest.approx(excess)])


def test_turns_that_take_longer_than_their_round_say_by_how_much():
    problem, plan = two_in_a_round()
    over = [one for one in check(problem, other_round(plan, 22.0), PROFILES) if "their round has 22 ms" in one.message]
    assert [(one.workload, one.excess) for one in over] == [
        (None, pytest.approx((12.33636 + 10.876301891690916) / 22 - 1))
    ]
