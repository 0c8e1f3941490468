"""
Synthetic families of versions and levels, made from times of one version alone: nobody published measured ones.

Version v of a layer, v = 0 ... 4, takes on every count of cores

    ms (1 + 0.1 v) (1 + s_v (level - 1)),      s_v = s_0 (s_4 / s_0)^(v / 4)

at levels 1, 1.25, 1.5, 2 and 3, with the block size 2^(4 - v) and the parallelism 2^v: the greater v, the slower alone
and the less it suffers from others, evenly on a scale of ratios.
"""

from sliceplan.solver.model.layer_times import Layer, LayeredModel, Version

LEVELS = (1.0, 1.25, 1.5, 2.0, 3.0)

FAMILIES = {"steep": (2.0, 0.2), "even": (1.0, 0.5), "flat": (0.5, 0.5)}
"""s_0 and s_4."""

VERSIONS = 5


def with_versions(model, family):
    """Returns a model of one version as one of a family."""
    first, last = FAMILIES[family]
    slopes = [first * (last / first) ** (v / (VERSIONS - 1)) for v in range(VERSIONS)]

    def version(layer, v):
        rows = [[ms * (1 + 0.1 * v) * (1 + slopes[v] * (level - 1)) for ms in layer.ms] for level in LEVELS]
        return Version(name=f"v{v}", block_size=2 ** (VERSIONS - 1 - v), parallelism=2**v, ms=rows)

    layers = [
        Layer(name=layer.name, macs=layer.macs, versions=[version(layer, v) for v in range(VERSIONS)])
        for layer in model.layers
    ]
    method = f"{model.provenance.method} Versions and levels are synthetic: the family {family}."
    return LayeredModel(
        model=model.model,
        cores=model.cores,
        levels=LEVELS,
        layers=layers,
        provenance=model.provenance.model_copy(update={"method": method}),
    )
