"""A small problem as plain data, and the same with a field changed."""

import json

GOOD = {
    "version": 1,
    "name": "shop",
    "fleet": [{"gpu": "A100-80GB"}],
    "workloads": [{"name": "a", "model": "resnet50", "rate_rps": 100, "slo_ms": 200}],
}


def changed(path, value):
    """Returns the good problem with one field changed, named by keys and indices."""
    data = json.loads(json.dumps(GOOD))
    target = data
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return data
