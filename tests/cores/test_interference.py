"""Schedulers where what others hold slows a query down: each layer followed by the oracle, and cases by hand."""

import random

import numpy as np
import pytest
from oracles.interference_oracle import layers_under_interference
from oracles.spans_oracle import most_held
from problems.layer_chains import published_model, random_layered
from problems.layer_versions import FAMILIES, with_versions

from sliceplan.solver.cores.blocks import Block
from sliceplan.solver.cores.levels import Levels, levels_of
from sliceplan.solver.cores.offline_bound import least_work, most_in_time
from sliceplan.solver.cores.qps import Draw, carried_rps
from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.cores.runtimes.in_blocks import run_in_blocks
from sliceplan.solver.cores.runtimes.timetable import Machine, Timetable, Trace
from sliceplan.solver.cores.schedulers.registry import scheduler_named, schedulers
from sliceplan.solver.model.layer_times import LayerFile

MAKING = {"by-time-left": True, "planaria-like": False, "prema": False}


def drawn(draw, layers):
    """Returns a model with versions at levels up to 3; no layer is faster at a higher one."""
    text = random_layered(draw, layers=layers, versions=3, levels=3, counts=3, spread=4)
    levels = levels_of(LayerFile.model_validate_json(text).models[0])
    us = np.minimum.accumulate(np.sort(levels.us * 100, axis=1), axis=3)
    return Levels(levels.name, levels.cores, (1.0, 1.7, 3.0), us, levels.macs)


def tables_of(draw, models):
    limits = [int(one.alone.total_us.min()) / 1000 * draw.uniform(1.5, 5) + 0.001 for one in models]
    return [Timetable(quotas_of(one.alone, limit), one) for one, limit in zip(models, limits, strict=True)], limits


@pytest.mark.parametrize("name", schedulers(under_interference=True))
@pytest.mark.parametrize("seed", range(4))
def test_layers_take_what_the_levels_that_they_meet_say(name, seed):
    """Of schedulers that cut blocks: cores and the bound; what their blocks take is below."""
    draw = random.Random(seed)
    cuts = name not in MAKING
    models = [drawn(draw, 1 if cuts else draw.randint(1, 6)) for _ in range(2)]
    tables, limits = tables_of(draw, models)
    machine = Machine(cores=draw.choice([8, 12]), grow_ms=draw.choice([0, 0.2]), full_level=draw.choice([1.5, 3]))
    trace = Draw(seed, 60, [0.5, 0.5]).trace(draw.choice([100, 300, 1000]))
    spans = []
    ends = scheduler_named(name).start(tables, [0.5, 0.5], machine)(trace, spans=spans)
    assert most_held(spans) <= machine.cores
    if not cuts:
        arrays = ([one.levels for one in models], [one.us.tolist() for one in models])
        counts = [one.cores.tolist() for one in models]
        done = layers_under_interference(
            spans, machine.cores, machine.full_level, trace.model, *arrays, counts, MAKING[name]
        )
        for query, (layers, part) in done.items():
            assert (layers == tables[trace.model[query]].layers) is bool(np.isfinite(ends[query])), (query, part)
    latency = ends - np.array(trace.arrivals_ms)
    in_time = sum(one <= limits[m] + 1e-6 for one, m in zip(latency, trace.model, strict=True))
    work = [least_work(one.fastest, limit) for one, limit in zip(models, limits, strict=True)]
    assert in_time <= 60 * most_in_time(np.array(trace.arrivals_ms), np.array(trace.model), work, machine.cores) + 1e-6


@pytest.mark.parametrize("name", ["layer-wise", "veltair-as"])
@pytest.mark.parametrize("seed", range(5))
def test_blocks_of_one_layer_take_what_the_levels_say(name, seed):
    """Without growth, as a block that grows is one layer on two counts of cores."""
    draw = random.Random(seed)
    models = [drawn(draw, 1) for _ in range(2)]
    models = [Levels(m.name, m.cores[:1], m.levels, m.us[..., :1], m.macs) for m in models]
    tables, _ = tables_of(draw, models)
    machine = Machine(cores=8, grow_ms=0.2, full_level=draw.choice([1.5, 3]))
    trace = Draw(seed, 60, [0.5, 0.5]).trace(draw.choice([100, 300]))
    spans = []
    ends = scheduler_named(name).start(tables, [0.5, 0.5], machine)(trace, spans=spans)
    arrays = ([one.levels for one in models], [one.us.tolist() for one in models], [[2], [2]])
    done = layers_under_interference(spans, machine.cores, machine.full_level, trace.model, *arrays, False)
    assert np.isfinite(ends).all()
    assert all(found == (1, 0.0) for found in done.values())


class AllOnTwo:
    """A cutting in one block on two cores."""

    grows, makes = False, True

    def __init__(self):
        self.asked = []

    def next_block(self, model, first, present, level):  # noqa: ARG002
        self.asked.append(level)
        return Block(0, 1, 2)


@pytest.mark.parametrize(("comes_at", "made"), [(8.9, 1), (9.1, 0)])
def test_blocks_that_end_soon_count_for_no_level(comes_at, made):
    """
    A query of 10 ms alone on half of the cores; another one comes as 11 % or 9 % of it are left.

    By hand, with levels 1 and 2 and full level 3: beside the other half the level is 2. The version made for 1 takes 10
    and 30 ms there, that made for 2 takes 12 and 20.
    """
    us = np.array([[10_000, 30_000], [12_000, 20_000]]).reshape(2, 2, 1, 1)
    levels = Levels("m", np.array([2]), (1.0, 2.0), us, np.array([1]))
    table = Timetable(quotas_of(levels.alone, 50), levels)
    cutting = AllOnTwo()
    found = run_in_blocks([table], Trace([0.0, comes_at], [0, 0]), Machine(4, 0.0, 3.0), cutting)
    assert cutting.asked == [0, made]
    first_ends = comes_at + (10 - comes_at) / 10 * 30
    beside, alone = (20, 12) if made else (30, 10)
    left = 1 - (first_ends - comes_at) / beside
    assert found.tolist() == pytest.approx([first_ends, first_ends + left * alone])


@pytest.mark.parametrize("family", FAMILIES)
def test_cores_by_the_time_left_carry_more_than_one_query_at_a_time(family):
    """On synthetic families, 10 % more than the best static split: one query at a time on 56 cores."""
    model = with_versions(published_model("resnet50"), family)
    levels = levels_of(model)
    table, machine = Timetable(quotas_of(levels.alone, 15), levels), Machine(64, 0.22, 2.0)
    draw = Draw(1, 600, [1.0])
    static = carried_rps(scheduler_named("cpu-static").start([table], [1.0], machine), draw)
    runtime = scheduler_named("by-time-left").start([table], [1.0], machine)
    assert runtime(draw.trace(1.1 * static), most_late=30) is not None


def test_a_level_of_one_leaves_every_scheduler_as_it_is():
    draw = random.Random(3)
    models = [drawn(draw, 4) for _ in range(2)]
    tables, limits = tables_of(draw, models)
    bare = [Timetable(quotas_of(one.alone, limit)) for one, limit in zip(models, limits, strict=True)]
    machine, trace = Machine(8, 0.2), Draw(1, 60, [0.5, 0.5]).trace(300)
    for name, scheduler in schedulers(under_interference=True).items():
        with_levels, without = (scheduler.start(one, [0.5, 0.5], machine)(trace) for one in (tables, bare))
        assert np.array_equal(with_levels, without), name


def test_beside_a_full_cpu_a_count_meets_what_the_rest_of_the_cores_make():
    us = np.arange(1, 2 * 2 * 2 + 1).reshape(2, 2, 1, 2)[..., ::-1] * 1000
    levels = Levels("m", np.array([2, 8]), (1.0, 2.0), us, np.array([1]))
    table = Timetable(quotas_of(levels.alone, 50), levels)
    # On 2 of 8 cores 6 are others': level 1 + 1.2 x 6 / 8 = 1.9, the second; on all 8 it is the first.
    assert table.beside_full(Machine(8, 0.0, 2.2)).us.tolist() == [[us[1, 1, 0, 0], us[0, 0, 0, 1]]]
