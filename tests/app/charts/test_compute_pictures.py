"""Pictures of what of the GPUs' compute and memory is used."""

import numpy as np
import pytest
from problems.instances import problem_of
from problems.shop import shop

from sliceplan.app.charts.compute_map import LOOKS, compute_map, compute_parts
from sliceplan.app.charts.used_parts import COMPUTE, MEMORY, memory_parts, used_parts_chart
from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.compute_use import compute_use

NAME_OF = {look.colour: name for name, look in LOOKS.items()}


def lengths(problem, plan):
    """How long the bars of each kind are together, in GPUs."""
    figure = compute_map(list(enumerate(plan.gpus)), plan.metrics.gpus, compute_use(problem, plan, shipped_profiles()))
    bars = figure.data[0]
    found = dict.fromkeys(LOOKS, 0.0)
    for colour, length in zip(bars.marker.color, bars.x, strict=True):
        found[NAME_OF[colour]] += length
    return found


@pytest.mark.parametrize("name", ["demo", "igniter", "cpus"])
def test_bars_are_as_long_as_the_figures_say(name):
    problem = example_problems()[name]
    plan = solve(problem)
    parts = compute_parts(plan.gpus, plan.metrics.gpus, compute_use(problem, plan, shipped_profiles()))
    found, count = lengths(problem, plan), len(plan.gpus)
    assert sum(parts.values()) == pytest.approx(1)
    for kind, part in parts.items():
        # A gap beside each bar takes some of its length.
        assert found[kind] / count == pytest.approx(part, abs=0.02)
    slack, holes = plan.metrics.internal_slack, plan.metrics.external_fragmentation
    assert parts["used"] == pytest.approx((1 - slack) * (1 - holes))
    assert parts["room for a partition"] + parts["out of reach"] == pytest.approx(holes, abs=1e-9)


def test_what_no_profile_can_use_is_told_from_room():
    problem = problem_of([{"model": "vgg16", "rate_rps": 10, "slo_ms": 300}])
    room = lengths(problem, solve(problem))
    assert room["room for a partition"] > 0.8
    assert room["out of reach"] == 0
    two_of_three = example_problems()["parvagpu-s5"]
    left = lengths(two_of_three, solve(two_of_three))
    assert left["room for a partition"] == 0
    assert left["out of reach"] == pytest.approx(2 / 7, abs=0.01)


def test_all_gpus_together_have_a_bar_for_compute_and_one_for_memory():
    plan = solve(shop())
    memory = memory_parts(plan.gpus)
    assert sum(memory.values()) == pytest.approx(1)
    compute = compute_parts(plan.gpus, plan.metrics.gpus, compute_use(shop(), plan, shipped_profiles()))
    figure = used_parts_chart({COMPUTE: compute, MEMORY: memory})
    total = {
        row: sum(bar.x[list(bar.y).index(row)] for bar in figure.data if row in bar.y) for row in (COMPUTE, MEMORY)
    }
    assert total == {COMPUTE: pytest.approx(100), MEMORY: pytest.approx(100)}
    assert next(bar for bar in figure.data if bar.name == "used").y == (COMPUTE, MEMORY)
    assert memory_parts(solve(example_problems()["igniter"]).gpus) == {}
    assert np.isclose(memory["out of reach"], plan.metrics.wasted_memory_slices / (8 * len(plan.gpus)))
