"""`check` finds warnings that are missing or without reason, and SLOs that a plan does not say it misses, or not so."""

from types import SimpleNamespace

import pytest
from problems.igniter_instances import table_3
from problems.instances import problem_of

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.check.violation import Violation
from sliceplan.solver.check.words import wrong_violations
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Plan, Status

FLEET = [{"gpu": "T4", "sharing": ["exclusive"]}]
ESTIMATED = problem_of([{"model": "vgg19", "rate_rps": 20, "slo_ms": 200}], fleet=FLEET, name="estimated")
VIOLATING = table_3(mps_rules="igniter")
PLANS = {ESTIMATED.name: solve(ESTIMATED), VIOLATING.name: solve(VIOLATING, "ffd")}


def found(problem, change):
    plan = PLANS[problem.name].model_dump(mode="json")
    change(plan)
    return check(problem, Plan.model_validate(plan), shipped_profiles())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda warnings: warnings.clear(), "warnings lacks 'vgg19 on T4 is estimated"),
        (lambda warnings: warnings.append("all is well"), "warnings has 'all is well' without reason"),
        (lambda warnings: warnings.append(warnings[0]), "without reason"),
        (lambda warnings: warnings.insert(0, warnings.pop().replace("not", "")), "warnings lacks"),
    ],
)
def test_warnings_are_those_that_there_is_reason_for(change, message):
    assert found(ESTIMATED, dict.copy) == []
    assert any(message in str(one) for one in found(ESTIMATED, lambda plan: change(plan["warnings"])))


def test_of_a_violating_plan_only_the_missed_slos_are_found():
    plan = PLANS[VIOLATING.name]
    assert plan.status is Status.VIOLATING
    missed = found(VIOLATING, dict.copy)
    assert all(one.excess for one in missed)
    assert [(one.where, one.workload, one.message) for one in missed] == [
        (one.gpu, one.workload, one.message) for one in plan.violations
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda them: them.pop(), "violations lacks that"),
        (lambda them: them[0].update(excess=them[0]["excess"] * 1.1), "violations[0].excess is"),
        (lambda them: them[0].update(message="takes a while"), "violations[0] says of"),
        (lambda them: them[0].update(gpu="V100-SXM2-16GB/77"), "violations[0].gpu is"),
        (lambda them: them[0].update(workload="nobody"), "violations[0].workload is 'nobody'"),
        (lambda them: them.append(them[0]), "which is not so"),
    ],
)
def test_a_violating_plan_says_all_that_it_misses_and_nothing_else(change, message):
    said = [str(one) for one in found(VIOLATING, lambda plan: change(plan["violations"]))]
    assert any(message in one for one in said), said


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": "A100-80GB/0"}, "A100-80GB/0: is the id of a T4: expected T4/ and its number"),
        ({"id": "first"}, "first: is the id of a T4"),
        ({"index": 0}, "has node None and index 0; expected both or neither"),
        ({"node": "n1"}, "has node n1 and index None; expected both or neither"),
    ],
)
def test_a_gpu_is_named_and_placed_as_what_it_is(fields, message):
    said = [str(one) for one in found(ESTIMATED, lambda plan: plan["gpus"][0].update(fields))]
    assert any(message in one for one in said), said


@pytest.mark.parametrize(
    ("status", "workload", "words"),
    [
        (Status.FEASIBLE, "w0", []),
        (Status.VIOLATING, "w0", ["violations lacks that x w0 is late"]),
        (Status.VIOLATING, None, ["violations lacks that x is late"]),
    ],
)
def test_a_miss_that_a_violating_plan_does_not_say_is_named_with_its_service(status, workload, words):
    plan = PLANS[ESTIMATED.name].model_copy(update={"status": status})
    late = Violation("x", "is late", workload, 0.5)
    assert [one.message for one in wrong_violations(plan, [late])] == words


@pytest.mark.parametrize(("workload", "of"), [("w0", "x w0"), (None, "x")])
def test_a_miss_that_is_none_is_named_with_its_service(workload, of):
    stated = SimpleNamespace(gpu="x", workload=workload, message="is late", excess=0.5)
    plan = SimpleNamespace(status=Status.VIOLATING, violations=[stated])
    assert [one.message for one in wrong_violations(plan, [])] == [
        f"violations[0] says of {of} that it is late, which is not so"
    ]
