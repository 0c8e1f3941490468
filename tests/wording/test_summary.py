"""A plan's result, what is proven of it and what it promises, in sentences; and why there is none."""

import pytest
from problems.instances import ROOT
from problems.small_plans import cores_of, gpu_of

from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.model.capacity_report import CapacityReport
from sliceplan.solver.model.catalogue import load_cpus
from sliceplan.solver.model.judged import Judged
from sliceplan.solver.model.objective import CAPACITY, COST
from sliceplan.solver.model.plan import (
    BatchAdjustment,
    Bound,
    Insurance,
    PlanCapacity,
    PlanViolation,
    Promise,
    ShadowCapacity,
    Status,
    Unserved,
)
from sliceplan.solver.model.replan_report import ReplanReport
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.wording.capacity import capacity_lines
from sliceplan.solver.wording.cores import domains_in_words
from sliceplan.solver.wording.promise import execution_in_words, promise_in_words, promised
from sliceplan.solver.wording.reasons import reasons, shared_reasons
from sliceplan.solver.wording.routers import router_savings
from sliceplan.solver.wording.summary import missed_slos, misses, plan_result, plan_summary, so_far_in_words
from sliceplan.solver.wording.transition_text import duration, moves_in_words
from sliceplan.solver.wording.what_is_proven import of_execution

PLAN = read_plan(ROOT / "plans" / "demo.plan.json")


def plan(status=Status.FEASIBLE, stopped="time_limit", bound=None, **changed):
    changes = {
        "status": status,
        "search": PLAN.search.model_copy(update={"stopped": StopReason(stopped)}),
        "bound": Bound(cost_per_hour=bound, gpus=None, method="none"),
        "gap": None,
    }
    return PLAN.model_copy(update=changes | changed)


def without(status, stopped, bound=None, unserved=0):
    services = tuple(Unserved(workload=f"s{i}", reason="none") for i in range(unserved))
    return plan(status, stopped, bound, gpus=(), unserved=services, planner="ffd")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            without(Status.REFUSED, "refused"),
            "ffd does not take this problem, which proves nothing about it: another planner may.",
        ),
        (
            without(Status.TIMEOUT, "interrupted"),
            "Interrupted before a plan was found; whether there is one is open.",
        ),
        (
            without(Status.TIMEOUT, "time_limit", 2.0),
            "No plan was found within the time limit; whether there is one is open, but no plan costs less than $2.00 "
            "per hour. Allow more time.",
        ),
        (
            without(Status.NONE_FOUND, "heuristic_done"),
            "ffd found no plan, and it is not proven that there is none.",
        ),
        (
            without(Status.INFEASIBLE, "heuristic_done", unserved=1),
            "ffd found no plan, and it is not proven that there is none.",
        ),
        (
            without(Status.NONE_FOUND, "infeasible"),
            "ffd found no plan, and it is not proven that there is none.",
        ),
        (
            without(Status.INFEASIBLE, "infeasible", unserved=2),
            "Proven: no plan exists. 2 services cannot be served.",
        ),
    ],
)
def test_that_no_plan_exists_is_said_where_it_is_proven_and_nowhere_else(found, words):
    assert plan_result(found, None) == words
    assert plan_summary(found, None) == words


@pytest.mark.parametrize(
    ("found", "gap", "words"),
    [
        (plan(Status.OPTIMAL, "proved"), None, ": proven cheapest"),
        (plan(), 0.0, ": proven cheapest"),
        (plan(), 0.1, ": at most 10.0 % above the cheapest possible"),
        (plan(), None, ": serves everything, but nothing is proven about its cost"),
        (plan(cost_per_hour=None), 0.0, None),
        (
            plan(Status.VIOLATING, violations=(PlanViolation(gpu="g", workload="a", message="m", excess=0.25),)),
            0.0,
            ", but it does not hold: 1 service misses the SLO, by up to 25.0%",
        ),
    ],
)
def test_a_plan_is_proven_cheapest_where_its_gap_is_none(found, gap, words):
    if words is None:
        assert plan_result(found, gap) == "4 GPUs; nothing is known about the cost"
    else:
        assert plan_result(found, gap) == f"4 GPUs, $13.72 per hour{words}"


@pytest.mark.parametrize(
    ("own_gap", "gap", "status", "words"),
    [
        (None, None, Status.OPTIMAL, "could carry 20.0 requests/s: proven most possible"),
        (0.5, 0.0, Status.FEASIBLE, "could carry 20.0 requests/s: proven most possible"),
        (0.0, None, Status.FEASIBLE, "could carry 20.0 requests/s: proven most possible"),
        (None, None, Status.FEASIBLE, "could carry 20.0 requests/s, of which nothing is proven"),
        (0.5, None, Status.FEASIBLE, "could carry 20.0 requests/s: at most 50.0 % below the most possible"),
        (0.5, 0.25, Status.FEASIBLE, "could carry 20.0 requests/s: at most 25.0 % below the most possible"),
    ],
)
def test_what_a_plan_could_carry_is_proven_by_the_bound_that_is_given_or_its_own(own_gap, gap, status, words):
    capacity = PlanCapacity(weights="equal", value=20.0, limit=None, gap=own_gap, solo_rps=None, one_more={})
    assert plan_result(plan(status, capacity=capacity), gap) == f"4 GPUs, $13.72 per hour; {words}"


def test_what_a_part_of_the_cost_is_for_is_said():
    found = plan(
        Status.OPTIMAL,
        shadow=ShadowCapacity(percent=10, cost_without_per_hour=1.0, extra_cost_per_hour=2.0),
        insurance=Insurance(cost_without_per_hour=1.0, extra_cost_per_hour=3.0),
        batch_adjustment=BatchAdjustment(before=10.0, after=12.0, changed=2),
    )
    assert plan_result(found, None) == (
        "4 GPUs, $13.72 per hour ($2.00 of it for standby processes) ($3.00 of it for partitions that are kept free) "
        "(BDA chose 2 shares under MPS anew, which could carry 10.0 before and 12.0 requests/s now): proven cheapest"
    )
    unknown = plan(
        Status.OPTIMAL,
        shadow=ShadowCapacity(percent=10, cost_without_per_hour=None, extra_cost_per_hour=None),
        insurance=Insurance(cost_without_per_hour=None, extra_cost_per_hour=None),
        batch_adjustment=BatchAdjustment(before=10.0, after=10.0, changed=0),
    )
    assert plan_result(unknown, None) == (
        "4 GPUs, $13.72 per hour (BDA found no better batches or shares under MPS): proven cheapest"
    )


def violation(gpu, workload, excess=0.1):
    return PlanViolation(gpu=gpu, workload=workload, message="m", excess=excess)


@pytest.mark.parametrize(
    ("found", "missed", "words"),
    [
        ((), {}, "0 services miss the SLO, by up to 0.0%"),
        ([("g", "a", 0.2), ("h", "a", 0.1)], {"a": 0.2}, "1 service misses the SLO, by up to 20.0%"),
        ([("g", "a", 0.1), ("h", "b", 0.3)], {"a": 0.1, "b": 0.3}, "2 services miss the SLO, by up to 30.0%"),
        (
            [("g", "a", 0.1), ("g", None), ("g", None)],
            {"a": 0.1},
            "1 service misses the SLO, by up to 10.0% and 1 GPU gives away more than there is",
        ),
        (
            [("g", None), ("h", None)],
            {},
            "0 services miss the SLO, by up to 0.0% and 2 GPUs give away more than there is",
        ),
    ],
)
def test_of_what_is_missed_each_service_has_its_worst(found, missed, words):
    some = plan(Status.VIOLATING, violations=tuple(violation(*one) for one in found))
    assert (missed_slos(some), misses(some)) == (missed, words)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Judged(COST, None, None, None), "a plan, found after 1.2 s"),
        (Judged(COST, 2.0, None, None), "$2.00 per hour, nothing proven about its cost yet, found after 1.2 s"),
        (Judged(COST, 2.0, 1.0, None), "$2.00 per hour, nothing proven about its cost yet, found after 1.2 s"),
        (
            Judged(COST, 2.0, 1.0, 1.0),
            "$2.00 per hour, at most 100.0 % above the cheapest possible ($1.00), found after 1.2 s",
        ),
        (Judged(CAPACITY, 2.0, None, 1.0), "2.0 requests/s, nothing proven about its capacity yet, found after 1.2 s"),
    ],
)
def test_a_plan_so_far_says_what_is_proven_of_it_yet(found, words):
    assert so_far_in_words(found, 1.23) == words


def promise(latency="percentile", **changed):
    fields = {"quantile": 0.99, "quantiles": {}, "dispatch": None, "process_queues": None}
    return Promise(latency=latency, **fields | changed)


POISSON = "of requests within the SLO{} for Poisson arrivals, "


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (None, "execution within a part of the SLO; how many requests are late is not planned for"),
        (
            promise("worst_case", quantile=None),
            "all requests within the SLO if they arrive evenly spaced at each partition",
        ),
        (
            promise("assembly", quantile=None),
            "all requests within the SLO if they arrive evenly spaced at each partition, batches held until full",
        ),
        (promise(), f"99 % {POISSON.format('')}dealt at random by weight"),
        (promise(quantile=None), f"0 % {POISSON.format('')}dealt at random by weight"),
        (promise(dispatch="central", process_queues="shared"), f"99 % {POISSON.format('')}from one central queue"),
        (
            promise(dispatch="random", process_queues="own", quantiles={"a": 0.9, "b": 0.9}, quantile=0.999),
            f"99.9 % {POISSON.format(' (2 with a quantile of their own)')}dealt at random by weight, a queue for each "
            "process",
        ),
    ],
)
def test_a_promise_says_of_which_requests_and_how_they_must_be_dealt(made, words):
    assert promise_in_words(made) == words


def test_what_is_promised_is_said_of_plans_that_hold_in_lines_of_a_terminal():
    lines = promised(plan(promise=promise()))
    assert " ".join(line.strip() for line in lines) == f"promised: {promise_in_words(promise())}"
    assert len(lines) == 2
    assert max(map(len, lines)) <= 78
    assert lines[1].startswith("  ")
    assert promised(plan(gpus=())) == promised(plan(Status.VIOLATING)) == []
    assert execution_in_words(0.5) == "execution within 50 % of the SLO: no percentile is promised"


@pytest.mark.parametrize(
    ("found", "gap", "said"),
    [
        (plan(Status.OPTIMAL, promise=None), None, True),
        (plan(promise=None), 0.0, True),
        (plan(promise=None), 0.1, False),
        (plan(Status.OPTIMAL, promise=promise()), 0.0, False),
        (plan(Status.VIOLATING, promise=None), 0.0, False),
        (plan(Status.OPTIMAL, promise=None, gpus=()), 0.0, False),
    ],
)
def test_only_a_proof_by_execution_alone_is_said_to_be_one(found, gap, said):
    assert of_execution(found, "it", gap) == ("it for execution times" if said else "it")


def test_services_of_one_reason_are_named_together_and_planners_of_the_same_reasons():
    def kept_out(planner, *pairs, status=Status.INFEASIBLE):
        unserved = tuple(Unserved(workload=workload, reason=reason) for workload, reason in pairs)
        return plan(status, planner=planner, unserved=unserved)

    many = [(name, "r") for name in "abcd"]
    assert reasons(kept_out("p", *many, ("e", "s"))) == ["a, b, c and 1 more: r", "e: s"]
    assert reasons(kept_out("p", *many[:3])) == ["a, b, c: r"]
    some = [
        kept_out("p", ("a", "r")),
        kept_out("q"),
        kept_out("s", ("a", "r"), status=Status.REFUSED),
        kept_out("t", ("a", "r")),
    ]
    assert shared_reasons(some) == [
        (["p", "t"], Status.INFEASIBLE, ["a: r"]),
        (["s"], Status.REFUSED, ["a: r"]),
    ]


@pytest.mark.parametrize(
    ("capacity", "limit", "gap", "lines"),
    [
        (None, None, None, []),
        (2.0, None, None, ["Nothing is proven about more; allow more time."]),
        (2.0, 3.0, None, ["Nothing is proven about more; allow more time."]),
        (2.0, 2.0, 0.0, ["Proven: no plan could carry more than 2.0 requests/s."]),
        (
            2.0,
            4.0,
            0.5,
            ["Proven: no plan could carry more than 4.0 requests/s: this is at most 50.0 % below the most possible."],
        ),
    ],
)
def test_what_could_be_carried_is_said_with_what_is_proven(capacity, limit, gap, lines):
    report = CapacityReport(
        weights="equal", capacity=capacity, limit=limit, gap=gap, services=(), one_more={"T4": 9.0} if gap == 0 else {}
    )
    first = ["All could carry 2.0 requests/s together; what is asked for is kept."] if capacity else []
    more = ["With one more T4: no plan could carry more than 9.0 requests/s."] if gap == 0 else []
    assert capacity_lines(report) == first + lines + more


@pytest.mark.parametrize(
    ("start", "cores", "words"),
    [(0, 8, "L3 domain 0"), (8, 1, "L3 domain 1"), (7, 2, "L3 domains 0 to 1"), (8, 16, "L3 domains 1 to 2")],
)
def test_a_partition_of_a_cpu_lies_in_its_l3_domains(start, cores, words):
    cpu = gpu_of("EPYC-9654/0", cores_of(start, cores, "a", 1))
    assert load_cpus()[cpu.gpu].domain_cores == 8
    assert domains_in_words(cpu, cpu.partitions[0]) == words


REPORT = {
    "moved": (),
    "must_move": (),
    "move_price_per_hour": None,
    "most_moves": None,
    "total_per_hour": 2.0,
    "least_total_per_hour": None,
    "proven": False,
}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "No service is moved; nothing is proven, allow more time."),
        (
            {"moved": ("a",), "must_move": ("a",), "proven": True},
            "1 service moved: a (no plan leaves any of them); proven: no plan is cheaper.",
        ),
        (
            {"moved": ("a", "b"), "must_move": ("a",), "proven": True, "most_moves": 2},
            "2 services moved: a, b (no plan leaves a); proven: no plan with at most 2 moves is cheaper.",
        ),
        (
            {"moved": ("a",), "proven": True, "move_price_per_hour": 0.5},
            "1 service moved: a; proven: no plan has a lower sum of cost and moves, $2.00/h.",
        ),
        (
            {"least_total_per_hour": 1.5, "most_moves": 1},
            "No service is moved; proven: cost and moves with at most 1 move are not below $1.50/h.",
        ),
        ({"most_moves": 0}, "No service is moved; nothing is proven with at most 0 moves, allow more time."),
    ],
)
def test_what_is_moved_is_said_with_what_is_proven_of_cost_and_moves(changed, words):
    assert moves_in_words(ReplanReport(**REPORT | changed)) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.5, "1 min"),
        (200, "3 min 20 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h"),
        (3725, "1 h 2 min"),
    ],
)
def test_a_time_is_said_as_a_person_does(seconds, words):
    assert duration(seconds) == words


def priced(cost, bound=None, gpus=4):
    return plan(bound=bound, cost_per_hour=cost, gpus=PLAN.gpus[:gpus])


@pytest.mark.parametrize(
    ("plans", "said"),
    [
        ([("random", priced(2.0))], ["There is no plan for central to compare with."]),
        ([("random", priced(2.0)), ("central", priced(None))], ["There is no plan for central to compare with."]),
        ([("random", priced(2.0, 2.0)), ("central", priced(2.0, 2.0))], ["No other router costs less or more."]),
        ([("random", priced(None)), ("central", priced(2.0, 2.0))], ["No other router costs less or more."]),
        (
            [("random", priced(3.0)), ("central", priced(2.0, 2.0, 2))],
            ["random would take $1.00 per hour (50.0%) more: 4 GPUs instead of 2 GPUs."],
        ),
        (
            [("central", priced(4.0)), ("random", priced(3.0, 3.0, 2))],
            ["random would save $1.00 per hour (25.0%): 2 GPUs instead of 4 GPUs."],
        ),
        (
            [("central", priced(4.0)), ("random", priced(3.0, 2.5, 2))],
            ["random would save $1.00 per hour (25.0%), and at most $1.50: 2 GPUs instead of 4 GPUs."],
        ),
        (
            [("central", priced(4.0)), ("random", priced(4.0, 3.0))],
            ["random saves nothing that was found, and at most $1.00 per hour."],
        ),
        ([("random", priced(4.0, 3.0)), ("central", priced(4.0))], ["No other router costs less or more."]),
    ],
)
def test_a_router_is_said_to_save_what_was_found_and_at_most_what_its_bound_allows(plans, said):
    assert list(router_savings("central", plans)) == said


def test_routers_of_one_plan_are_named_together():
    own, other = priced(4.0), priced(3.0, 3.0, 2)
    found = list(router_savings("central", [("a", own), ("central", own), ("b", other), ("c", other)]))
    assert found == ["b or c would save $1.00 per hour (25.0%): 2 GPUs instead of 4 GPUs."]
