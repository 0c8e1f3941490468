"""A comparison outlives its planners: what fails, or contradicts another, is said in its row, and the rest stands."""

import json
from dataclasses import dataclass, replace

import pytest
from problems.shop import SHOP, shop
from problems.small_problem import changed
from support.command_line import sliceplan
from typer.testing import CliRunner

from sliceplan.solver import api, cli
from sliceplan.solver.allocation.assembly import without_plan
from sliceplan.solver.api import WrongPlanError, compare, planning, pricing, solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Bound, Search, Status, Unserved
from sliceplan.solver.planners import registry
from sliceplan.solver.planners.planner import Planner
from sliceplan.solver.what_if.fleet_mix import fleet_mix

DEMO = shop()
IGNITER = example_problems()["igniter"]
PROVED = Search(stopped="proved", time_limit_s=None, solver=None)


@dataclass
class Stub(Planner):
    """A planner that returns, or raises, what a test wants."""

    answer: object
    name: str = "stub"
    source: str = "a test"
    sharing: tuple[str, ...] = ("mig", "mps", "exclusive")
    own_model: bool = False
    own_batches: bool = False

    def plan(self, resolved, **_):
        answer = self.answer(resolved) if callable(self.answer) else self.answer
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def stub(monkeypatch):
    """Returns a function that makes a planner of a name known."""

    def known(answer, name="stub", **facts):
        monkeypatch.setitem(registry.planners(), name, Stub(answer, name, **facts))

    return known


def rows_of(compared):
    return {row.planner: row for row in compared.rows}


def claiming(plan, cost, planner="stub"):
    """Returns a plan that is said to be proven cheapest, with a bound of this cost."""
    bound = Bound(cost_per_hour=cost, gpus=None, method="a claim")
    return plan.model_copy(
        update={"planner": planner, "status": Status.OPTIMAL, "bound": bound, "gap": 0.0, "search": PROVED}
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("HiGHS ended with OTHER_ERROR"), "RuntimeError: HiGHS ended with OTHER_ERROR"),
        (MemoryError(), "MemoryError"),
        (KeyError("x"), "KeyError: 'x'"),
        (WrongPlanError("it does not hold"), "it does not hold"),
        (InputError([]), "InputError"),
    ],
)
def test_a_planner_that_raises_is_a_row_and_the_others_stand(stub, error, message):
    stub(error)
    seen = []
    compared = compare(DEMO, ["parvagpu", "stub", "exact"], on_row=seen.append)
    assert [row.planner for row in compared.rows] == ["parvagpu", "stub", "exact"]
    assert [row.planner for row in seen] == ["parvagpu", "stub", "exact"]
    (failed,) = compared.failures
    assert message in failed.message
    assert compared.bound.cost_per_hour == pytest.approx(10.292643)
    assert [plan.status for plan in compared.plans] == [Status.FEASIBLE, Status.OPTIMAL]
    assert not compared.is_sound


def test_ctrl_c_and_wrong_input_end_a_comparison(stub):
    stub(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        compare(DEMO, ["stub", "exact"])
    with pytest.raises(InputError, match="Did you mean 'exact'"):
        compare(DEMO, ["exakt"])
    unknown = DEMO.workloads[0].model_copy(update={"model": "nothing"})
    with pytest.raises(InputError, match="nothing"):
        compare(DEMO.model_copy(update={"workloads": (unknown,)}))


def test_a_planner_is_compared_once_however_often_it_is_named():
    assert [row.planner for row in compare(DEMO, ["exact", "parvagpu", "exact"]).rows] == ["exact", "parvagpu"]


def test_a_plan_at_hand_is_its_planners_row_and_bounds_the_others_without_being_looked_for_again(stub):
    plan, seen = solve(DEMO).model_copy(update={"planner": "stub"}), []
    stub(RuntimeError("it ran"))
    compared = compare(DEMO, ["stub", "parvagpu"], at_hand=[plan], on_row=seen.append)
    assert compared.rows[0] is seen[0] is plan
    assert compared.bound == plan.bound
    assert compared.gap_to_bound(compared.plans[1]) > 0
    (failed,) = compare(DEMO, ["stub"]).failures
    assert "it ran" in failed.message
    with pytest.raises(InputError, match="plan of stub answers another problem than igniter"):
        compare(IGNITER, ["exact", "ffd"], at_hand=[plan])


def test_a_plan_at_hand_whose_bound_another_plan_contradicts_is_disputed():
    plan = solve(DEMO)
    dear = claiming(solve(DEMO, "parvagpu"), 13.72, planner="best-split")
    assert set(compare(DEMO, ["best-split", "exact"], at_hand=[dear, plan]).disputes) == {"best-split"}


def test_a_plan_with_a_wrong_cost_is_not_returned(stub):
    plan = solve(DEMO, "parvagpu")
    stub(plan.model_copy(update={"planner": "stub", "cost_per_hour": plan.cost_per_hour * 0.5}))
    with pytest.raises(WrongPlanError, match=r"stub returned a plan that does not hold: .*cost_per_hour is"):
        solve(DEMO, "stub")
    compared = compare(DEMO, ["stub", "exact"])
    assert "cost_per_hour is" in compared.failures[0].message
    assert [plan.planner for plan in compared.plans] == ["exact"]


def late(**changes):
    """Returns the answer of a stub that misses SLOs by the full model of interference; what else is changed of it."""
    plan = solve(IGNITER, "ffd")
    assert plan.violations
    return plan.model_copy(update={"planner": "stub", "status": Status.FEASIBLE, "violations": (), **changes})


def test_a_missed_slo_hides_no_other_mistake(stub):
    """A planner with a model of its own may miss SLOs, which its plan then says; it may do nothing else wrong."""
    stub(late(), own_model=True)
    assert solve(IGNITER, "stub").status is Status.VIOLATING
    stub(late(cost_per_hour=1.0), own_model=True)
    with pytest.raises(WrongPlanError, match="cost_per_hour is 1"):
        solve(IGNITER, "stub")
    gpus = late().gpus
    stub(late(gpus=(gpus[0], gpus[1].model_copy(update={"id": gpus[0].id}), *gpus[2:])), own_model=True)
    with pytest.raises(WrongPlanError, match="is listed 2 times"):
        solve(IGNITER, "stub")


def test_without_a_missed_slo_a_model_of_its_own_excuses_nothing(stub):
    plan = solve(DEMO, "parvagpu")
    gpu = plan.gpus[0]
    *others, last = gpu.partitions
    moved = last.model_copy(update={"start": others[-1].start})
    overlapping = gpu.model_copy(update={"partitions": (*others, moved)})
    stub(plan.model_copy(update={"planner": "stub", "gpus": (overlapping, *plan.gpus[1:])}), own_model=True)
    with pytest.raises(WrongPlanError, match="overlaps"):
        solve(DEMO, "stub")


def test_a_planner_without_a_model_of_its_own_may_miss_no_slo(stub):
    stub(late(), own_model=False)
    with pytest.raises(WrongPlanError, match="its SLO of"):
        solve(IGNITER, "stub")


def test_a_bound_above_a_plan_that_holds_is_disputed_and_not_used(stub):
    plan = solve(DEMO, "parvagpu")
    stub(claiming(plan, plan.cost_per_hour))
    compared = compare(DEMO, ["stub", "exact", "parvagpu"])
    (dispute,) = compared.disputes.values()
    assert (dispute.claimed_by, dispute.contradicted_by) == ("stub", "exact")
    assert "states that no plan costs less than" in dispute.message
    row = rows_of(compared)["stub"]
    assert (row.status, row.gap, row.bound.cost_per_hour) == (Status.FEASIBLE, None, None)
    assert row.gpus == plan.gpus
    assert compared.bound.cost_per_hour == pytest.approx(10.292643)
    assert compared.gap_to_bound(row) == pytest.approx(1 / 3)
    data = {one["planner"]: one for one in compared.as_data()["planners"]}
    assert data["stub"]["disputed"] == dispute.message
    assert data["exact"]["disputes"] == ["stub"]
    assert data["exact"]["disputed"] is data["parvagpu"]["disputed"] is None


def test_without_another_bound_a_disputed_one_leaves_none(stub):
    plan = solve(DEMO, "parvagpu")
    stub(claiming(plan, plan.cost_per_hour))
    compared = compare(DEMO, ["stub", "migserving-slow"])
    assert compared.bound.cost_per_hour is None or compared.bound.cost_per_hour <= 10.3
    assert "stub" in compared.disputes


def test_a_proof_that_no_plan_exists_is_disputed_by_a_plan(stub):
    unserved = [Unserved(workload=DEMO.workloads[0].name, reason="too few GPUs")]
    search = Search(stopped="infeasible", time_limit_s=None, solver=None)
    stub(lambda resolved: without_plan(resolved, unserved, planner="stub", search=search))
    assert solve(DEMO, "stub").status is Status.INFEASIBLE
    alone = compare(DEMO, ["stub"])
    assert alone.no_plan_exists
    compared = compare(DEMO, ["stub", "parvagpu"])
    assert not compared.no_plan_exists
    row = rows_of(compared)["stub"]
    assert row.status is Status.NONE_FOUND
    assert "parvagpu costs $13.72" in row.unserved[0].reason
    assert row.search.stopped == "heuristic_done"


def test_a_bound_that_a_plan_reaches_but_for_rounding_is_not_disputed(stub):
    plan = solve(DEMO)
    stub(claiming(plan, plan.cost_per_hour * (1 + 1e-12)))
    assert compare(DEMO, ["stub", "exact"]).is_sound


def test_what_violates_disputes_nothing():
    """A plan that misses SLOs is cheaper than the bound at times, and proves nothing against it."""
    compared = compare(IGNITER, ["exact", "ffd"])
    assert rows_of(compared)["ffd"].cost_per_hour < compared.bound.cost_per_hour
    assert compared.disputes == {}


def test_prices_that_fail_leave_the_rows(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("nothing to share")

    monkeypatch.setattr(pricing, "price_report", broken)
    compared = compare(DEMO, ["exact"])
    assert compared.services is None
    assert compared.services_error.startswith("ZeroDivisionError: nothing to share")
    assert compared.plans[0].status is Status.OPTIMAL


def compare_by_command(*planners, options=()):
    arguments = [part for name in planners for part in ("--planner", name)]
    demo = str(SHOP)
    return CliRunner().invoke(cli.app, ["compare", demo, *arguments, *options], env={"COLUMNS": "80"})


def test_the_command_says_which_rows_failed_or_are_disputed_in_80_columns(stub):
    plan = solve(DEMO, "parvagpu")
    stub(claiming(plan, plan.cost_per_hour, "boaster"), "boaster")
    stub(RuntimeError("out of luck " * 80), "unlucky")
    done = compare_by_command("exact", "boaster", "unlucky", "migserving-uncapped")
    assert done.exit_code == 7
    rows = {line.split()[0]: line.rstrip() for line in done.stdout.splitlines()}
    assert rows["boaster"].endswith("disputed")
    assert rows["unlucky"].endswith("failed")
    assert rows["exact"].endswith("optimal")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "unlucky failed: RuntimeError: out of luck" in done.stderr
    assert "boaster is disputed: it states that no plan costs less than" in done.stderr
    assert "Proven: no plan costs less than $10.29 per hour, at " in done.stderr
    assert max(map(len, done.stderr.splitlines())) < 500
    data = compare_by_command("unlucky", options=["--json", "-"])
    (row,) = json.loads(data.stdout)["planners"]
    assert row["status"] == "failed"
    assert row["error"].count("out of luck") == 80
    assert row["cost_per_hour"] is None


def test_a_comparison_without_trouble_says_nothing_of_it():
    done = compare_by_command("exact", "parvagpu")
    assert done.exit_code == 0
    assert "fault" not in done.stderr


def test_a_command_that_fails_does_not_end_as_if_no_plan_existed(stub, monkeypatch, capsys):
    def leave(code):
        raise SystemExit(code)

    stub(ZeroDivisionError("a mistake"))
    monkeypatch.setattr(cli, "_leave", leave)
    monkeypatch.setattr("sys.argv", ["sliceplan", "solve", str(SHOP), "--planner", "stub"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 7
    said = capsys.readouterr()
    assert "ZeroDivisionError: a mistake" in said.err
    assert "please report it" in said.err


def test_a_problem_that_is_proven_to_have_no_plan_says_so_in_place_of_a_bound(file):
    done = sliceplan("compare", file(changed(["workloads", 0, "slo_ms"], 1)))
    assert done.returncode == 1
    assert "Proven: no plan exists." in done.stderr
    assert "No bound was proven" not in done.stderr


def test_a_search_that_fails_leaves_the_rest_of_a_fleet_mix(monkeypatch):
    whole = api.solve

    def at_times(problem, *arguments, **options):
        if len(problem.fleet) > 1:
            raise RuntimeError("no luck with the mix")
        return whole(problem, *arguments, **options)

    monkeypatch.setattr(planning, "solve", at_times)
    mix = fleet_mix(example_problems()["mixed"], profiles=shipped_profiles())
    assert mix.status == "failed"
    assert mix.reason.startswith("RuntimeError: no luck with the mix")
    assert len(mix.single) == len(example_problems()["mixed"].fleet)
    assert any(one.status == "optimal" or one.reason for one in mix.single)


def test_every_row_has_the_same_fields_in_json(stub):
    stub(RuntimeError("no"))
    rows = compare(DEMO, ["exact", "stub"]).as_data()["planners"]
    assert set(rows[0]) == set(rows[1])


def test_what_chooses_batches_by_rules_of_its_own_disputes_nothing_where_they_are_fixed(stub):
    """iGniter's rules fix batch sizes, which `check` does not look at: such a plan is none of those that they allow."""
    unserved = [Unserved(workload=IGNITER.workloads[0].name, reason="no rule serves it")]
    search = Search(stopped="infeasible", time_limit_s=None, solver=None)
    stub(lambda resolved: without_plan(resolved, unserved, planner="stub", search=search))
    for rules, own_batches, is_disputed in (("igniter", True, False), ("igniter", False, True), ("free", True, True)):
        problem = IGNITER.model_copy(update={"settings": IGNITER.settings.model_copy(update={"mps_rules": rules})})
        stub(solve(problem, "igniter").model_copy(update={"planner": "other"}), "other", own_batches=own_batches)
        assert bool(compare(problem, ["stub", "other"]).disputes) == is_disputed


def test_a_bound_by_igniters_rules_is_said_as_such_above_a_cheaper_plan_that_is_not_by_them():
    compared = compare(DEMO, ["exact", "parvagpu"])
    plan = rows_of(compared)["exact"]
    assert "mps_rules" not in compared.proven_in_words
    cheaper = plan.model_copy(update={"planner": "ffd", "cost_per_hour": 0.9 * plan.cost_per_hour})
    both = replace(compared, rows=(*compared.rows, cheaper))
    assert both.gap_to_bound(cheaper) is None
    assert both.gap_to_bound(plan) == 0
    assert both.proven_in_words == f"{compared.proven_in_words} by mps_rules: igniter"
