"""
Models of the VELTAIR artifact as a plan takes them: measured whole, by cores of the CPU that they were measured on.

A layer that was measured to be slower on more cores is taken to leave the surplus idle, as in `sliceplan cores`: its
time is the least of those on as many cores or fewer. A model takes the sum of its layers' times, as they run one after
the other; what passes between two layers was not measured.
"""

from itertools import accumulate
from pathlib import Path

from ..model.layer_times import LayeredModel
from ..model.parsing import parse_record
from ..model.profile import Profile
from .profile_files import refuse_impossible
from .veltair import read_veltair

CPU = "Threadripper-3990X"


def read_whole_models(folder: Path) -> list[Profile]:
    """
    Returns a profile a model of the artifact's folder, batch 1.

    Raises
    ------
    InputError
        As `read_veltair` does, if times are of cores that no partition of the CPU has, or add up to more than a
        profile may hold.
    """
    source = str(folder)
    made = [_whole(model, source) for model in read_veltair(folder)]
    refuse_impossible(made, source)
    return made


def _whole(model: LayeredModel, source: str) -> Profile:
    of_layers = [list(accumulate(layer.ms, min)) for layer in model.layers if layer.ms is not None]
    totals = [round(sum(column), 3) for column in zip(*of_layers, strict=True)]
    points = tuple(
        {"cores": cores, "batch": 1, "processes": 1, "latency_ms": ms, "throughput_rps": 1000 / ms}
        for cores, ms in zip(model.cores, totals, strict=True)
    )
    method = f"{model.provenance.method} Times of all layers added up; never slower on more cores."
    provenance = model.provenance.model_copy(update={"method": method})
    data = {"model": model.model, "cpu": CPU, "points": points, "provenance": provenance}
    return parse_record(Profile, data, source)
