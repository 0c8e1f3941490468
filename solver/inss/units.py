"""How units are dealt on GPUs that are to be full (InSS, section 5.2, and its published environment)."""

import numpy as np

from .latency import Ints


def dealt(gpu: Ints, asked: Ints, gpu_units: Ints) -> Ints:
    """Returns the units of each model such that every used GPU is full; a GPU with more models than units is not."""
    units = asked.copy()
    for k in np.unique(gpu):
        here = np.flatnonzero(gpu == k)
        left = int(gpu_units[k] - units[here].sum())
        if left >= 0:
            units[here] += left // len(here)
            units[here[: left % len(here)]] += 1
            continue
        while left < 0 and units[here].max() > 1:
            for i in here:
                if left < 0 and units[i] > 1:
                    units[i] -= 1
                    left += 1
    return units
