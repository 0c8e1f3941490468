"""VELTAIR's Algorithm 1 by its definitions, each tried on everything; shares no code with what chooses versions."""

from fractions import Fraction
from itertools import chain, combinations
from math import floor


def time_of(version, level, count):
    """Returns the ms of a file's version on at most the counts up to a number."""
    return min(version["ms"][level][: count + 1])


def model_wise(model, slo_ms):
    """Returns the number of the least count on which a model is in time alone, in its best versions; None: none."""
    for count in range(len(model["cores"])):
        whole = sum(min(time_of(v, 0, count) for v in layer["versions"]) for layer in model["layers"])
        if whole <= slo_ms + 1e-9:
            return count
    return None


def undercuts(one, other):
    return one["block_size"] < other["block_size"] and one["parallelism"] < other["parallelism"]


def kept(model, layer, slo_ms):
    """Returns the names of a layer's versions that are to be kept, and the number of the count they were judged on."""
    quota = slo_ms * layer["macs"] / sum(one["macs"] for one in model["layers"])
    last = len(model["cores"]) - 1
    for count in range(model_wise(model, slo_ms), last + 1):
        able = [v for v in layer["versions"] if time_of(v, 0, count) <= quota + 1e-9]
        if able:
            break
    else:
        able, count = layer["versions"], last
    shapes = {}
    for v in able:
        if not any(undercuts(other, v) for other in able):
            shape = v["block_size"], v["parallelism"]
            known = shapes.get(shape)
            if known is None or time_of(v, 0, count) < time_of(known, 0, count):
                shapes[shape] = v
    front = [shapes[shape] for shape in sorted(shapes)]
    five = front
    if len(front) > 5:
        five = [front[floor(Fraction(k * (len(front) - 1), 4) + Fraction(1, 2))] for k in range(5)]
    if len(model["levels"]) == 1:
        return [v["name"] for v in five], count
    alone = min(five, key=lambda v: time_of(v, 0, count))
    places = [(level, c) for level in range(len(model["levels"])) for c in range(last + 1)]

    def suffices(subset):
        return all(
            0.9 * min(time_of(v, *place) for v in subset) <= min(time_of(v, *place) for v in five) + 1e-9
            for place in places
        )

    subsets = chain.from_iterable(combinations(five, size) for size in range(1, len(five) + 1))
    able = [one for one in subsets if alone in one and suffices(one)]
    best = min(able, key=lambda one: (len(one), sum(time_of(v, *place) for v in one for place in places)))
    return [v["name"] for v in best], count
