"""Layer times that were made up, to show what pictures of layers say before anybody has measured a model."""

from ..model.layer_times import Layer, LayeredModel
from ..model.profile import Provenance

CORES = tuple(range(8, 65, 8))

LAYERS = 24

FASTEST_MS_OF_GMAC = 1.9
"""On one unit of 8 cores."""


def made_up_model() -> LayeredModel:
    """
    Returns a model that nobody measured, named so.

    A layer of G GMAC takes 1.9 G w (s + (1 - s) 8 / c) ms on c cores: Amdahl's law, with a part s from 0.04 to 0.34
    that more cores do not speed up, and w from 0.6 to 1.5 for the time that it waits for memory.
    """
    layers = []
    for number in range(LAYERS):
        serial = 0.04 + 0.3 * ((number * 7) % 12) / 11
        gmac = 0.12 + 0.34 * ((number * 5) % 8) / 7
        alone = FASTEST_MS_OF_GMAC * gmac * (0.6 + 0.9 * ((number * 11) % 9) / 8)
        ms = tuple(round(alone * (serial + (1 - serial) * CORES[0] / c), 3) for c in CORES)
        layers.append(Layer(name=f"layer-{number + 1}", macs=round(gmac * 1e9), ms=ms))
    source = Provenance(source="made up for this page", method="Amdahl's law; nothing was measured")
    return LayeredModel(model="made-up", cores=CORES, layers=tuple(layers), provenance=source)
