"""What an interference model says of the services on a GPU, and what every such model offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SharedPrediction:
    """Figures of every resident of every GPU; shape (..., resident), 0 where no resident is."""

    latency_ms: Floats
    """From the arrival of a batch on the GPU to its result on the host."""
    throughput_rps: Floats
    causes_ms: Mapping[str, Floats]
    """Parts of the latency by cause; they add up to it."""
    frequency_mhz: Floats | None
    """Shape (...): frequency of each GPU; None: the model says nothing of it."""
    power_w: Floats | None
    """Shape (...): power demand of each GPU; None: the model says nothing of it."""


class InterferenceModel(Protocol):
    """Predicts the services that share GPUs of one type; workloads are known by their index."""

    def predict(self, workload: Ints, batch: Ints, percent: Floats) -> SharedPrediction:
        """
        Returns what every resident achieves beside the others on its GPU.

        Parameters
        ----------
        workload, batch, percent
            Shape (..., resident): which workload, its batch size, its share of the SMs in percent. A share of
            0 means that the place is empty.
        """
        ...
