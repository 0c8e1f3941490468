"""Layers with versions at levels of interference: their arrays, and the least core-time to be expected."""

import json
import random

import pytest
from oracles.core_time_oracle import least_core_us
from oracles.levels_oracle import best_us, least_expected_us, made_for
from problems.layer_chains import random_layered

from sliceplan.solver.cores.core_time import least_core_time
from sliceplan.solver.cores.expected_core_time import expected_core_time
from sliceplan.solver.cores.levels import levels_of, nearest_level
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.layer_times import LayerFile


def drawn(seed, **most):
    draw = random.Random(seed)
    text = random_layered(draw, **{name: draw.randint(1, number) for name, number in most.items()})
    return draw, json.loads(text)["models"][0], levels_of(LayerFile.model_validate_json(text).models[0])


@pytest.mark.parametrize("seed", range(40))
def test_a_layer_runs_in_the_version_that_is_fastest_at_its_level(seed):
    _, model, found = drawn(seed, layers=3, versions=4, levels=3, counts=4)
    assert found.levels == tuple(model["levels"])
    for number, layer in enumerate(model["layers"]):
        for count in range(len(model["cores"])):
            made = [best_us(layer, level, count) for level in range(len(model["levels"]))]
            for level, us in enumerate(made):
                assert found.at(level).us[number, count] == us
                fitting = made_for(layer, level, count)
                for truth in range(len(model["levels"])):
                    allowed = {round(1000 * version["ms"][truth][c]) for version, c in fitting}
                    assert found.us[level, truth, number, count] in allowed
            assert found.fastest.us[number, count] == min(made)
            assert found.slowest.us[number, count] == max(made)


@pytest.mark.parametrize("seed", range(60))
def test_no_policy_expects_less_core_time(seed):
    draw, model, levels = drawn(seed, layers=4, versions=3, levels=3, counts=3)
    shares = [draw.choice([0, 1, 2]) for _ in model["levels"]]
    shares = [share / sum(shares) for share in shares] if sum(shares) else [1 / len(shares)] * len(shares)
    limit = draw.randint(1, 45 * len(model["layers"]))
    expected = least_expected_us(model, limit, shares)
    found = expected_core_time(levels, limit / 1000, shares)
    if expected is None:
        assert found is None
    else:
        assert found * 1000 == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_to_be_sure_ahead_of_time_takes_no_less_than_is_expected(seed):
    draw, model, levels = drawn(seed, layers=4, versions=3, levels=3, counts=3)
    limit = draw.randint(20, 45 * len(model["layers"]))
    sure = least_core_us(levels.slowest.us.tolist(), model["cores"], limit)
    found = least_core_time(levels.slowest, limit / 1000)
    expected = expected_core_time(levels, limit / 1000)
    assert (sure is None) is (found is None) is (expected is None)
    if sure is not None:
        assert found.core_ms * 1000 == pytest.approx(sure)
        assert expected <= found.core_ms + 1e-9


def test_one_level_leaves_the_least_core_time_as_it_is():
    for seed in range(20):
        draw, model, levels = drawn(seed, layers=4, versions=3, levels=1, counts=3)
        limit = draw.randint(1, 45 * len(model["layers"])) / 1000
        least, expected = least_core_time(levels.alone, limit), expected_core_time(levels, limit)
        assert expected == (None if least is None else pytest.approx(least.core_ms))


@pytest.mark.parametrize(("level", "number"), [(0.5, 0), (1, 0), (1.2, 0), (1.25, 0), (1.3, 1), (1.75, 1), (9, 2)])
def test_a_level_counts_as_the_nearest_of_two_the_lower(level, number):
    assert nearest_level([1, 1.5, 2], level) == number


def test_more_steps_than_are_worked_out_are_refused():
    text = random_layered(random.Random(1), layers=40, versions=1, levels=4, counts=4)
    with pytest.raises(InputError, match=r"with 40 layers .* expected at most"):
        expected_core_time(levels_of(LayerFile.model_validate_json(text).models[0]), 1000)
