"""GPUs that are divided alike, drawn once: nothing is lost, and a row says what each of its GPUs says."""

from collections import Counter
from functools import cache

import pytest
from problems.instances import random_problem
from problems.shop import shop

from sliceplan.app.charts.alike_fleet import alike, alike_chart
from sliceplan.app.charts.colours import GREY
from sliceplan.app.charts.gpu_bars import MOST_ROWS
from sliceplan.app.charts.legends import legend_of
from sliceplan.app.charts.shades import COLOUR_BY
from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems

LARGE = random_problem(120, 4)
PROBLEMS = {"large": LARGE, "shop": shop()} | {name: example_problems()[name] for name in ("mixed", "igniter")}


@cache
def plan_of(name):
    return solve(PROBLEMS[name])


@pytest.fixture
def kinds():
    return alike(plan_of("large").gpus)


def test_every_gpu_is_in_one_kind_and_the_most_frequent_is_first(kinds):
    assert Counter(gpu.id for kind in kinds for gpu in kind.gpus) == Counter(gpu.id for gpu in plan_of("large").gpus)
    counts = [len(kind.gpus) for kind in kinds]
    assert counts == sorted(counts, reverse=True)
    for kind in kinds:
        sizes = {tuple(sorted(str(part.mig_profile) for part in gpu.partitions)) for gpu in kind.gpus}
        assert len(sizes) == 1


def test_a_row_is_as_wide_as_a_gpu_and_names_how_many_there_are(kinds):
    figure = alike_chart(plan_of("large"), LARGE, kinds)
    shown = kinds[:MOST_ROWS]
    rows = Counter()
    for row, width in zip(figure.data[0].y, figure.data[0].x, strict=True):
        rows[row] += width
    assert len(rows) == len(shown)
    assert all(0.97 < width <= 1 for width in rows.values())
    assert [text.split(" GPU")[0] for text in figure.layout.yaxis.ticktext] == [f"<b>{len(k.gpus)}" for k in shown]


def test_places_of_several_services_are_grey_and_say_how_many(kinds):
    figure = alike_chart(plan_of("large"), LARGE, kinds)
    first = kinds[0]
    names = {}
    for gpu in first.gpus:
        for part in gpu.partitions:
            names.setdefault((-int(part.mig_profile.partition("g")[0]), part.start), set()).add(part.serves[0].workload)
    counted = [len(names[place]) for place in sorted(names)]
    assert [int(text.split()[0]) for text in figure.data[0].text[: len(counted)]] == counted
    assert figure.data[0].marker.color[0] == GREY
    assert [key for _, key in figure.data[0].customdata[: len(counted)]] == [f"×{count}" for count in counted]
    (several,) = [one for one in legend_of(figure)[0] if one.colour == GREY]
    assert several.key == ""


def test_a_place_of_one_service_has_its_name_in_full_and_its_key_in_the_legend():
    plan = plan_of("shop")
    figure = alike_chart(plan, PROBLEMS["shop"], alike(plan.gpus))
    keys = {one.name: one.key for one in legend_of(figure)[0]}
    served = {one.workload for gpu in plan.gpus for part in gpu.partitions for one in part.serves}
    named = {name: key for name, key in figure.data[0].customdata if name and "services" not in name}
    assert named
    assert named.keys() <= served
    assert all(key == keys[name] for name, key in named.items())


@pytest.mark.parametrize("by", COLOUR_BY)
def test_any_colouring_draws_mixed_fleets_and_shared_gpus(by):
    for name in ("mixed", "igniter"):
        plan = plan_of(name)
        figure = alike_chart(plan, PROBLEMS[name], alike(plan.gpus), colour_by=by)
        assert len(figure.data[0].x) == len(figure.data[0].hovertext)
    alone = alike_chart(plan_of("shop"), PROBLEMS["shop"], alike(plan_of("shop").gpus), colour_by=by)
    assert len(alone.layout.yaxis.ticktext) <= 4
