"""Pictures and tables of a way on which services move between cores, or take turns."""

from problems.instances import problem_of
from problems.small_plans import cores_of, gpu_of, in_turn, partition_of, plan_of

from sliceplan.app.charts.capacity_steps import capacities
from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.charts.side_by_side import side_by_side_chart
from sliceplan.app.charts.slice_map import labels_of, slice_bars
from sliceplan.app.charts.steps import steps_chart
from sliceplan.app.jobs.moves import MoveOptions, plan_moves
from sliceplan.app.report.fleet_picture import fleet_pictures
from sliceplan.app.report.rows import gpu_rows
from sliceplan.app.tables.fragmentation import fragmentation_table
from sliceplan.app.tables.transition import steps_table
from sliceplan.solver.model.plan import GpuCut, Metrics

CPU = "Threadripper-3990X"


def moves_between(old, new):
    return plan_moves(old, new, MoveOptions({}, keeps_starts=True))


def test_cores_that_change_are_a_step_of_their_own_and_drawn_as_a_change():
    old = plan_of(gpu_of(f"{CPU}/0", cores_of(0, 2, "a", 10), cores_of(4, 2, "b", 10)))
    new = plan_of(gpu_of(f"{CPU}/0", cores_of(8, 2, "a", 10), cores_of(4, 2, "b", 10)))
    moves = moves_between(old, new)
    assert [(bar.name, len(bar.y)) for bar in steps_chart(moves.transition).data] == [("move to other cores", 1)]
    assert (
        steps_table(moves.transition)["what"][0] == f"{CPU}/0 2 cores from 8 on: move a here from 0 on, while it runs"
    )
    side_by_side = side_by_side_chart(moves.transition, old, moves.assigned)
    said = [text for bar in side_by_side.data for text in bar.hovertext]
    assert sum("changes" in text for text in said) == 2
    assert sum("stays as it is" in text for text in said) == 2
    (risk,) = moves.risks
    assert (risk.level, risk.workloads, risk.gpus) == ("low", ("a",), (f"{CPU}/0",))
    assert risk.text == "1 partition gets other cores while serving, with cold caches at first: a"
    assert capacities(moves.transition, old, moves.assigned) == []


def test_who_takes_turns_is_named_together():
    a, b = partition_of(None, "a", 10), partition_of(None, "b", 10)
    old, new = (plan_of(gpu_of("T4/0", in_turn(a, b, round_ms=round_ms))) for round_ms in (40.0, 50.0))
    moves = moves_between(old, new)
    said = [text for bar in side_by_side_chart(moves.transition, old, moves.assigned).data for text in bar.hovertext]
    assert len(said) == 2
    assert all("<b>a, b</b>" in text and "changes" in text for text in said)
    assert {risk.workloads for risk in moves.risks if risk.what == "below its rate"} == {("a",), ("b",)}
    assert {one.service for one in capacities(moves.transition, old, moves.assigned)} == {"a", "b"}


def test_cores_are_parted_by_l3_domain_and_their_cpu_is_called_so():
    cpu = gpu_of(f"{CPU}/0", cores_of(0, 8, "w0", 10), cores_of(12, 2, "w0", 10), node="n1", index=0)
    gpu = gpu_of("A100-80GB/0", partition_of("1g.10gb@0", "w0", 10), node="n1", index=0)
    plan = plan_of(gpu, cpu)
    problem = problem_of([{"model": "bert", "rate_rps": 20, "slo_ms": 300}])
    figure = fleet_chart(plan, problem)
    lines = figure.data[-1]
    ends = [(x, y) for x, y in zip(lines.x, lines.y, strict=True) if x is not None]
    assert sorted({round(64 * x) for x, _ in ends}) == list(range(4, 64, 4))
    assert {round(y) for _, y in ends} == {1}  # the CPU's row, not the GPU's
    assert list(figure.layout.yaxis.ticktext)[1] == f"{CPU}/0<br>n1, CPU 0, by cores"
    assert labels_of(plan.gpus) == {"A100-80GB/0": "A100-80GB/0<br>n1, GPU 0", f"{CPU}/0": f"{CPU}/0<br>n1, CPU 0"}
    assert [row.place for row in gpu_rows(plan)] == ["n1, GPU 0", "n1, CPU 0"]
    pictures = "".join(fleet_pictures(plan, problem))
    assert f"{CPU}/0, n1 CPU 0" in pictures


def test_cores_that_nobody_has_are_drawn_and_counted_where_the_room_is():
    plan = plan_of(gpu_of(f"{CPU}/0", cores_of(0, 2, "a", 10), cores_of(4, 4, "b", 10)))
    drawn = [bar for bar in slice_bars(plan.gpus[0]) if "free" in bar.hover]
    cores = 64
    assert [(round(bar.start * cores), round(bar.width * cores)) for bar in drawn[:2]] == [(2, 2), (8, 4)]
    assert sum(round(bar.width * cores) for bar in drawn) == cores - 6
    cut = GpuCut(
        id=f"{CPU}/0",
        addable={},
        free_cores=58,
        **dict.fromkeys(
            (
                *("free_compute_slices", "free_memory_slices", "wasted_compute_slices", "wasted_memory_slices"),
                *("free_percent", "power_demand_w", "frequency_mhz"),
            )
        ),
    )
    metrics = Metrics(
        internal_slack=0.0,
        external_fragmentation=0.9,
        wasted_compute_slices=None,
        wasted_memory_slices=None,
        gpus=(cut,),
    )
    assert list(fragmentation_table(plan, metrics)["free cores"]) == [58]
