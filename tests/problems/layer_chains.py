"""Chains of layers that several tests use: the published ones, and random small ones."""

import json
from functools import cache

import numpy as np
from support.needs import PUBLISHED, skip_without

from problems.instances import REFERENCE
from sliceplan.solver.cores.chain import Chain
from sliceplan.solver.cores.levels import levels_of
from sliceplan.solver.formats.veltair import read_veltair

VELTAIR = REFERENCE / "veltair"


@cache
def _published():
    return {model.model: model for model in read_veltair(VELTAIR)}


def published_model(model):
    """Returns the layer times of `resnet50` or `googlenet`; skips the test where the published times are not there."""
    if not VELTAIR.is_dir():
        skip_without(PUBLISHED, f"the published layer times are not in {VELTAIR}")
    return _published()[model]


@cache
def published_chain(model):
    """Returns the chain of a published model, or skips the test."""
    return levels_of(published_model(model)).alone


def random_chain(random, *, layers, counts, unit=2, most_us=40):
    """Returns a chain of a random.Random's times, in few microseconds, that never rise with cores."""
    cores = [unit * (count + 1) for count in range(counts)]
    us = [sorted((random.randint(1, most_us) for _ in cores), reverse=True) for _ in range(layers)]
    macs = [random.randint(1, 9) for _ in range(layers)]
    return Chain("random", np.array(cores), np.array(us), np.array(macs))


def random_layered(random, *, layers, versions, levels, counts, most_shape=4, spread=40):
    """Returns a layer file's text: times of up to 0.04 ms, which may rise with cores and fall with levels."""

    def one(layer):
        made = [
            {
                "name": f"v{v}",
                "block_size": random.randint(1, most_shape),
                "parallelism": random.randint(1, most_shape),
                "ms": [[round(random.uniform(0.04 / spread, 0.04), 3) for _ in range(counts)] for _ in range(levels)],
            }
            for v in range(random.randint(1, versions))
        ]
        return {"name": f"l{layer}", "macs": random.randint(1, 9), "versions": made}

    model = {
        "model": "random",
        "cores": [2 * (count + 1) for count in range(counts)],
        "levels": [1 + level / 2 for level in range(levels)],
        "layers": [one(layer) for layer in range(layers)],
        "provenance": {"source": "made up for this test", "method": "none"},
    }
    return json.dumps({"version": 1, "models": [model]})
