"""Figures of plans, prices and comparisons in the tables of a terminal."""

from types import SimpleNamespace

import pytest
from problems.instances import ROOT
from problems.small_plans import gpu_of, in_turn, partition_of

from sliceplan.solver.commands.output import display
from sliceplan.solver.commands.terminal import (
    AXIS_WIDTH,
    compare_table,
    cpu_table,
    draw_plan,
    gpu_table,
    price_book_table,
    price_table,
    profile_table,
    residual_table,
    service_table,
)
from sliceplan.solver.comparison.disputes import Dispute
from sliceplan.solver.comparison.rows import Comparison, Failure
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.model.plan import (
    BatchAdjustment,
    Bound,
    PlanCapacity,
    PlanViolation,
    Prices,
    SizePrice,
    Status,
    Unserved,
)
from sliceplan.solver.model.price_report import PriceReport, ServiceCost
from sliceplan.solver.model.stop_reason import StopReason

PLAN = read_plan(ROOT / "plans" / "demo.plan.json")


@pytest.fixture
def shown(capsys, monkeypatch):
    """Returns a function that shows a table, and its lines with single spaces."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(table):
        display(table)
        return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    return run


def size(gpu, profile, usd):
    return SizePrice.model_construct(gpu=gpu, mig_profile=profile, usd_per_hour=usd)


def test_a_partition_has_its_price_and_the_scarcity_of_its_gpu(shown):
    prices = Prices.model_construct(
        sizes=(size("A100-80GB", "1g.10gb", 0.12345), size("T4", None, 0.5)),
        rents={"A100-80GB": 1.005, "T4": 0.0, "L4": 0.25},
        shared={"L4": 0.75, "V100-SXM2-16GB": 3.0},
    )
    assert shown(price_table(prices)) == [
        "GPU partition $/h scarcity of the GPU, $/h",
        "A100-80GB 1g.10gb 0.1235 1.00",
        "T4 whole 0.5000 -",
        "L4 all, under MPS 0.7500 0.25",
        "V100-SXM2-16GB all, under MPS 3.0000 -",
    ]


def cost(name, usd, per_million=1.0, rate_up=0.1, slo_down=-0.1, move=0.2):
    return ServiceCost.model_construct(
        workload=name,
        usd_per_hour=usd,
        usd_per_million_requests=per_million,
        rate_up_usd_per_hour=rate_up,
        slo_down_usd_per_hour=slo_down,
        move_usd_per_hour=move,
    )


def test_the_dearest_services_come_first_and_the_rest_is_counted(shown):
    services = (
        cost("cheap", 0.5),
        cost("dear", 2.0, 1e7, None, None, None),
        cost("between", 1.0, 9_999_999.0, 0.0, 0.5, 0.0),
    )
    report = PriceReport.model_construct(services=services)
    head, *rows = shown(service_table(report, 2))
    assert head == "service $/h $/M requests +10% rate -10% SLO to move"
    assert rows == [
        "dear 2.000 1.0e+07 impossible impossible -",
        "between 1.000 9999999.000 +0.000 +0.500 +0.000",
        "… 1 more",
    ]
    assert shown(service_table(report, 3))[-1] == "cheap 0.500 1.000 +0.100 -0.100 +0.200"


def plan(name, status=Status.OPTIMAL, stopped="proved", **changed):
    search = PLAN.search.model_copy(update={"stopped": StopReason(stopped)})
    changes = {"planner": name, "status": status, "search": search, "runtime_s": 1.2345, "metrics": None}
    return PLAN.model_copy(update=changes | changed)


def compared(*rows, bound=13.72, **fields):
    return Comparison(rows, Bound(cost_per_hour=bound, gpus=None, method="none"), **fields)


def test_each_planner_has_its_cost_gap_and_how_it_ended(shown):
    missed = PlanViolation(gpu="g", workload="a", message="m", excess=0.25)
    metrics = PLAN.metrics.model_copy(update={"internal_slack": 0.125, "external_fragmentation": None})
    found = compared(
        plan("exact", metrics=metrics),
        plan("late", Status.FEASIBLE, "interrupted", cost_per_hour=27.44),
        plan("ffd", Status.VIOLATING, "heuristic_done", violations=(missed,)),
        plan("none", Status.INFEASIBLE, "infeasible", gpus=(), cost_per_hour=None),
        plan("claims"),
        Failure("broken", "why", 0.5),
        disputes={"claims": Dispute("claims", "exact", "says too much")},
    )
    assert shown(compare_table(found)) == [
        "planner cost/h GPUs gap slack frag. time status",
        "exact $13.72 4 0.0% 12.5% - 1.234 s optimal",
        "late $27.44 4 100.0% - - 1.234 s interrupted",
        "ffd $13.72 4 - - - 1.234 s 1 miss, +25%",
        "none - - - - - 1.234 s infeasible",
        "claims $13.72 4 0.0% - - 1.234 s disputed",
        "broken - - - - - 0.500 s failed",
    ]


def test_what_is_carried_and_gained_has_columns_where_it_was_asked_for(shown):
    capacity = PlanCapacity(weights="equal", value=20.0, limit=40.0, gap=0.5, solo_rps=None, one_more={})
    gained = BatchAdjustment(before=10.0, after=12.5, changed=1)
    nothing = BatchAdjustment(before=0.0, after=12.5, changed=1)
    found = compared(
        plan("exact", Status.FEASIBLE, "time_limit", capacity=capacity, batch_adjustment=gained),
        plan("other", Status.FEASIBLE, "time_limit", capacity=capacity, batch_adjustment=nothing),
        plan("less", Status.FEASIBLE, "time_limit", capacity=capacity.model_copy(update={"value": None})),
        Failure("broken", "why", 0.5),
    )
    rows = shown(compare_table(found))
    assert rows[0] == "planner cost/h GPUs capacity by BDA gap slack time status"
    assert [row.split()[:6] for row in rows[1:]] == [
        ["exact", "$13.72", "4", "20.0", "+25.0%", "50.0%"],
        ["other", "$13.72", "4", "20.0", "-", "50.0%"],
        ["less", "$13.72", "4", "-", "-", "-"],
        ["broken", "-", "-", "-", "-", "-"],
    ]


def test_what_a_fit_says_of_each_point_stands_beside_what_was_measured(shown):
    def residual(**changed):
        fields = {"quantity": "latency", "batch": None, "sm_percent": None, "copies": 1, "measured": 10.0}
        return SimpleNamespace(**fields | {"fitted": 11.0, "relative": 0.1} | changed)

    rows = [("a", residual()), ("b", residual(batch=8, sm_percent=12.5, copies=2, fitted=9.5, relative=-0.05))]
    assert shown(residual_table(rows)) == [
        "of quantity batch share copies measured fitted error",
        "a latency - - 1 10 11 +10.0%",
        "b latency 8 12.5 % 2 10 9.5 -5.0%",
    ]


def lines_of(gpu, capsys):
    display(draw_plan(PLAN.model_copy(update={"gpus": (gpu,), "unserved": ()})))
    return capsys.readouterr().out.rstrip("\n").splitlines()


def test_instances_stand_where_they_start_and_what_is_free_between_them(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    gpu = gpu_of(
        "A100-80GB/0", partition_of("2g.20gb@2", "b", 10), partition_of("1g.10gb@0", "a", 5, 10), node="n", index=3
    )
    head, profiles, names, points = lines_of(gpu, capsys)[:4]
    unit = AXIS_WIDTH // 8
    assert head == "A100-80GB/0  n, GPU 3"
    assert [profiles.index(text) - 2 for text in ("1g.10gb", "2g.20gb")] == [1, 2 * unit + 1]
    assert [names.index(text) - 2 for text in ("a", "free", "b")] == [1, unit, 2 * unit + 1]
    assert points.startswith("  ▌b1x1 50%·")
    assert names.count("free") == 2
    assert {len(line) for line in (profiles, points)} == {2 + AXIS_WIDTH}


def test_shares_are_drawn_to_scale_and_who_takes_turns_by_round_and_batches(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    gpu = gpu_of("T4/0", partition_of(25, "a", 10), partition_of(50, "b", 10))
    head, shares, names, _ = lines_of(gpu, capsys)[:4]
    assert head == "T4/0  MPS"
    assert [shares.index(text) - 2 for text in ("25 %", "50 %")] == [1, 1 + AXIS_WIDTH // 4]
    assert names.index("free") - 2 == 3 * AXIS_WIDTH // 4
    turns = in_turn(partition_of(None, "a", 10), partition_of(None, "b", 10), turns="any")
    head, _, names, points = lines_of(gpu_of("T4/0", turns), capsys)[:4]
    assert head == "T4/0  whole GPU, turns in any order"
    assert (names.strip(), points.strip()) == ("▌a, b", "▌b1 b1 in 40 ms")
    spare = turns.model_copy(update={"serves": (), "duty_cycle_ms": None})
    _, _, names, points = lines_of(gpu_of("T4/0", spare), capsys)[:4]
    assert (names.strip(), points.strip()) == ("▌spare", "▌kept free")


def test_a_gpu_that_could_be_cut_and_is_shared_is_drawn_by_shares(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    head, shares, *_ = lines_of(gpu_of("A100-80GB/0", partition_of(50, "a", 10)), capsys)
    assert head == "A100-80GB/0  MPS"
    assert shares.startswith("  ▌50 %")
    cut = in_turn(partition_of("1g.10gb@0", "a", 10), partition_of("1g.10gb@0", "b", 10))
    assert lines_of(gpu_of("A100-80GB/0", cut), capsys)[0] == "A100-80GB/0  MIG, turns in fixed slots"


@pytest.mark.parametrize(("most", "drawn", "more"), [(None, 4, None), (4, 4, None), (3, 3, "… and 1 GPU more")])
def test_of_many_gpus_the_first_are_drawn_and_then_why_services_have_no_place(capsys, most, drawn, more):
    found = PLAN.model_copy(update={"unserved": (Unserved(workload="a", reason="no room"),)})
    display(draw_plan(found, most))
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("A100-80GB/") for line in lines) == drawn
    assert lines[-1] == "a: no room"
    assert (lines[-2] == more) == (more is not None)


def fact(value, verified=True):
    return SimpleNamespace(value=value, verified=verified)


def priced(**prices):
    """A price book: USD and whether that is verified."""
    of = {name: SimpleNamespace(usd_per_gpu_hour=usd, verified=verified) for name, (usd, verified) in prices.items()}
    return SimpleNamespace(price=of.get, name="ours", what="our hall", dates="2026", prices=tuple(of))


def test_what_is_not_confirmed_of_a_gpu_or_cpu_has_a_mark(shown):
    profiles = [SimpleNamespace(name="1g", unverified=False), SimpleNamespace(name="2g", unverified=True)]
    gpus = [
        SimpleNamespace(name="A", sm_count=fact(108), memory_gib=fact(80.0), mig=SimpleNamespace(profiles=profiles)),
        SimpleNamespace(name="B", sm_count=fact(40, False), memory_gib=fact(16), mig=None),
        SimpleNamespace(name="C", sm_count=fact(1), memory_gib=fact(1), mig=None),
    ]
    book = priced(A=(3.5, True), B=(0.25, False))
    assert shown(gpu_table(gpus, book)) == [
        "GPU SMs memory $/h MIG profiles (~ unconfirmed)",
        "A 108 80 GiB 3.50 1g ~2g",
        "B 40~ 16 GiB 0.25~ no MIG",
        "C 1 1 GiB - no MIG",
    ]

    def cpu(name, memory):
        return SimpleNamespace(
            name=name,
            cores=fact(64),
            threads_per_core=fact(2, False),
            core_count=64,
            domain_cores=8,
            l3_domain_cores=fact(8),
            numa_nodes=fact(4),
            memory_gib=memory,
            architecture="Zen",
        )

    assert shown(cpu_table([cpu("A", fact(512)), cpu("B", None), cpu("C", None)], book)) == [
        "CPU cores SMT L3 NUMA GiB $/h architecture (~ unconfirmed)",
        "A 64 2~ 8 x 8 4 512 3.50 Zen",
        "B 64 2~ 8 x 8 4 - 0.25~ Zen",
        "C 64 2~ 8 x 8 4 - - Zen",
    ]
    assert shown(price_book_table([book])) == ["price book prices of read types", "ours our hall 2026 2"]


def test_a_profile_says_for_which_sharing_it_is_and_how_good(shown):
    def profile(**changed):
        fields = {
            "model": "m",
            "gpu": "G",
            "quality": "measured",
            "points": (1, 2),
            "error": None,
            "curves": (),
            "odd_points": (1,),
            "mig_points": (),
            "share_points": (),
            "core_points": (),
            "interference": None,
        }
        return SimpleNamespace(**fields | changed)

    error = SimpleNamespace(points=9, p95=0.125, max=0.5)
    alone = SimpleNamespace(estimated_from=None, errors={"active ms": error})
    carried = SimpleNamespace(estimated_from="other", errors={"active ms": error})
    rows = [
        profile(mig_points=(1,)),
        profile(curves=(1,), error=error),
        profile(interference=alone, share_points=(1,)),
        profile(interference=carried, core_points=(1,)),
    ]
    assert shown(profile_table(rows)) == [
        "model GPU for kind points error p95 max odd points",
        "m G mig measured 2 - - -",
        "m G mig measured 9 12.5% 50.0% 1",
        "m G mps solo measured 9 12.5% 50.0% -",
        "m G mps cores measured 2 - - -",
    ]
