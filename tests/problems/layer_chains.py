"""Chains of layers that several tests use: the published ones, and random small ones."""

from functools import cache

import numpy as np
from support.needs import PUBLISHED, skip_without

from problems.instances import REFERENCE
from sliceplan.solver.cores.chain import Chain, chain_of
from sliceplan.solver.formats.veltair import read_veltair

VELTAIR = REFERENCE / "veltair"


@cache
def _published():
    return {model.model: chain_of(model) for model in read_veltair(VELTAIR)}


def published_chain(model):
    """Returns the chain of `resnet50` or `googlenet`; skips the test where the published times are not there."""
    if not VELTAIR.is_dir():
        skip_without(PUBLISHED, f"the published layer times are not in {VELTAIR}")
    return _published()[model]


def random_chain(random, *, layers, counts, unit=2, most_us=40):
    """Returns a chain of a random.Random's times, in few microseconds, that never rise with cores."""
    cores = [unit * (count + 1) for count in range(counts)]
    us = [sorted((random.randint(1, most_us) for _ in cores), reverse=True) for _ in range(layers)]
    macs = [random.randint(1, 9) for _ in range(layers)]
    return Chain("random", np.array(cores), np.array(us), np.array(macs))
