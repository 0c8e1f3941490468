"""Layers with versions and levels by trying everything, from the file's own numbers; shares no code with the arrays."""


def best_us(layer, level, count):
    """Returns the least microseconds of a layer of a file at a level, on at most the counts up to a number."""
    return min(round(1000 * version["ms"][level][c]) for version in layer["versions"] for c in range(count + 1))


def made_for(layer, made, count):
    """Returns the (version, count) pairs that are fastest at a level on at most the counts up to a number."""
    pairs = [(version, c) for version in layer["versions"] for c in range(count + 1)]
    least = min(version["ms"][made][c] for version, c in pairs)
    return [(version, c) for version, c in pairs if version["ms"][made][c] == least]


def least_expected_us(model, limit_us, shares):
    """
    Returns the least core-us to be expected by trying every version on every count after every history; None: none.

    `model`: a layer file's.
    """
    layers, cores = model["layers"], model["cores"]

    def least(layer, left):
        if layer == len(layers):
            return 0.0
        expected = 0.0
        for level, share in enumerate(shares):
            if not share:
                continue
            found = None
            for version in layers[layer]["versions"]:
                for c, used in enumerate(cores):
                    us = round(1000 * version["ms"][level][c])
                    rest = least(layer + 1, left - us) if us <= left else None
                    if rest is not None and (found is None or used * us + rest < found):
                        found = used * us + rest
            if found is None:
                return None
            expected += share * found
        return expected

    return least(0, limit_us)
