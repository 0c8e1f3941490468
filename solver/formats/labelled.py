"""
Reports as data in which a service that has a label is told by it, too: `label` behind `workload`.

Names stay what they were, so whoever reads them reads on; a service without a label has no such field.
"""

from collections.abc import Mapping
from typing import Any


def labelled(data: Any, labels: Mapping[str, str]) -> Any:
    """Returns the data with the label of each service beside its name; `labels`: by the name of the service."""
    if isinstance(data, list | tuple):
        return [labelled(one, labels) for one in data]
    if not isinstance(data, dict):
        return data
    found = {}
    for key, value in data.items():
        found[key] = labelled(value, labels)
        if key == "workload" and value in labels:
            found["label"] = labels[value]
    return found
