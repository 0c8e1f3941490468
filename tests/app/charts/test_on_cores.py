"""Pictures and tables of layers on cores show what the records say, and nothing else."""

import pytest

from sliceplan.app.charts.core_rates import rates_chart
from sliceplan.app.charts.core_second import second_chart
from sliceplan.app.charts.layer_blocks import layer_chart
from sliceplan.app.tables.cores import blocks_table, layers_table, queries_table, rates_table
from sliceplan.solver.cores.blocks import Block, blocks, spent
from sliceplan.solver.cores.comparing import Trial, compared
from sliceplan.solver.cores.levels import levels_of
from sliceplan.solver.cores.made_up_layers import made_up_model
from sliceplan.solver.cores.one_second import one_second
from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.cores.runtimes.timetable import Machine
from sliceplan.solver.cores.schedulers.registry import schedulers

MODEL = made_up_model()
NAMES = [layer.name for layer in MODEL.layers]


@pytest.mark.parametrize(("slo_ms", "threshold"), [(8.0, 0), (8.0, 8), (12.0, 0), (12.0, 64)])
def test_layers_blocks_and_lines_are_those_of_the_algorithm(slo_ms, threshold):
    quotas = quotas_of(levels_of(MODEL).alone, slo_ms)
    cut = blocks(quotas, threshold)
    figure = layer_chart(quotas, NAMES, threshold, cut)
    drawn = {trace.name: trace for trace in figure.data}
    assert list(drawn["a layer needs"].y) == list(layers_table(quotas, NAMES)["needs (cores)"]) == list(quotas.need)
    assert set(drawn["average"].y) == {quotas.average}
    assert set(drawn["average + threshold"].y) == {quotas.average + threshold}
    ends, cores = drawn["a block has"].x, drawn["a block has"].y
    steps = zip(ends[::3], ends[1::3], cores[::3], strict=True)
    assert [Block(round(a - 0.5), round(b - 0.5), count) for a, b, count in steps] == cut
    table = blocks_table(quotas, cut)
    assert table["takes (ms)"].sum() == pytest.approx(spent(quotas, cut)[1])
    assert (table["takes (ms)"] * table["cores"]).sum() == pytest.approx(spent(quotas, cut)[0])


def test_schedulers_stand_below_the_bound():
    few = [schedulers()[name] for name in ("veltair", "model-wise")]
    report = compared([MODEL], {MODEL.model: 12.0}, few, Trial(Machine(64, 0.22), queries=60))
    figure, table = rates_chart(report), rates_table(report)
    assert list(figure.data[0].x) == list(table["queries/s"]) == [row.rps for row in report.schedulers]
    assert figure.layout.shapes[0].x0 == report.bound_rps >= max(figure.data[0].x)
    assert f"at most {report.bound_rps:,.0f}" in figure.layout.annotations[0].text


def test_a_second_is_drawn_as_core_time_that_no_two_queries_share():
    second = one_second(MODEL, 8.0, schedulers()["veltair"], Machine(64, 0.22), 400.0)
    bars = second_chart(second).data[0]
    drawn = sum(ms * cores for ms, cores in zip(bars.x, bars.width, strict=True))
    assert drawn == pytest.approx(second.busy * 64 * 1000)
    tops = [y - width / 2 for y, width in zip(bars.y, bars.width, strict=True)]
    assert min(tops) == 0
    assert max(y + width / 2 for y, width in zip(bars.y, bars.width, strict=True)) == 64
    late = {one.number for one in second.queries if one.is_late}
    outlined = {query for (query, *_), width in zip(bars.customdata, bars.marker.line.width, strict=True) if width > 0}
    assert outlined == late
    assert late
    assert "/" in bars.marker.pattern.shape
    table = queries_table(second)
    assert set(table.loc[table["in time"] == "no", "query"]) == late
    assert (table["most cores"] <= 64).all()
