"""Which versions of a layer are kept: against the definitions tried on everything, and a family made for it."""

import json
import random

import pytest
from oracles.version_oracle import kept, model_wise
from problems.layer_chains import random_layered

from sliceplan.solver.cores.version_choice import chosen, evenly, front
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.layer_times import LayeredModel


@pytest.mark.parametrize("seed", range(80))
def test_the_versions_that_are_kept_are_those_of_the_definitions(seed):
    draw = random.Random(seed)
    sizes = {"layers": draw.randint(1, 3), "levels": draw.choice([1, 2, 3]), "counts": draw.randint(1, 3)}
    text = random_layered(draw, versions=30, most_shape=draw.choice([3, 12]), spread=draw.choice([1.3, 40]), **sizes)
    model = json.loads(text)["models"][0]
    slo_ms = round(draw.uniform(0.002, 0.03) * len(model["layers"]), 3)
    if model_wise(model, slo_ms) is None:
        with pytest.raises(InputError, match="no count of cores is faster"):
            chosen(LayeredModel.model_validate(model), slo_ms)
        return
    found, choices = chosen(LayeredModel.model_validate(model), slo_ms)
    for layer, choice, left in zip(model["layers"], choices, found.layers, strict=True):
        names, count = kept(model, layer, slo_ms)
        assert [version.name for version in left.versions] == names
        assert choice.cores == model["cores"][count]
        assert len(choice.kept) <= min(5, choice.front)


LEVELS = [1, *(1 + 4**k for k in range(5))]


def family(spread):
    """
    A synthetic family: version v takes a^v ms alone and a^-v (level - 1) more beside others, of spread a.

    Of a spread of 1 all are the same. Of a spread of 2 version k is the fastest at level 1 + 4^k, with 2 x 2^k ms, and
    those beside it take 2.5 x 2^k, which is less than 0.9 as fast: so all five are needed.
    """
    made = [
        {
            "name": f"v{v}",
            "block_size": 2 ** (5 - v),
            "parallelism": 2**v,
            "ms": [[spread**v + spread**-v * (level - 1)] for level in LEVELS],
        }
        for v in range(5)
    ]
    layer = {"name": "l", "macs": 1, "versions": made}
    provenance = {"source": "made up", "method": "none"}
    model = {"model": "m", "cores": [8], "levels": LEVELS, "layers": [layer], "provenance": provenance}
    return LayeredModel.model_validate(model)


SPREADS = (1, 1.2, 1.5, 2)


def test_the_more_versions_differ_beside_others_the_more_are_kept():
    numbers = [len(chosen(family(spread), 100)[1][0].kept) for spread in SPREADS]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (1, 5)
    assert 1 < numbers[1] < 5
    for spread in SPREADS:
        left, _ = chosen(family(spread), 100)
        for level in range(len(LEVELS)):
            best = min(version.ms[level][0] for version in family(spread).layers[0].versions)
            assert 0.9 * min(version.ms[level][0] for version in left.layers[0].versions) <= best


def test_five_of_many_are_taken_evenly():
    assert evenly(4, 5) == [0, 1, 2, 3]
    assert evenly(5, 5) == [0, 1, 2, 3, 4]
    assert evenly(9, 5) == [0, 2, 4, 6, 8]
    assert evenly(7, 5) == [0, 2, 3, 5, 6]  # 1.5 and 4.5 are rounded up


def test_the_front_keeps_who_is_undercut_in_one_alone():
    assert front([1, 2, 2, 3], [4, 4, 2, 3], [1.0, 1.0, 1.0, 1.0]) == [0, 2, 1]


def test_choosing_again_among_those_that_were_kept_changes_nothing():
    left, _ = chosen(family(3), 100)
    again, _ = chosen(left, 100)
    assert again.layers == left.layers


def test_a_layer_with_one_time_stays_as_it_is():
    model = family(2).model_dump(mode="json", exclude_none=True)
    model["levels"] = [1]
    for version in model["layers"][0]["versions"]:
        version["ms"] = version["ms"][:1]
    model["layers"].append({"name": "pool", "macs": 1, "ms": [0.5]})
    found, choices = chosen(LayeredModel.model_validate(model), 100)
    assert choices[1] is None
    assert found.layers[1].ms == (0.5,)
    assert len(found.layers[0].versions) == 5
