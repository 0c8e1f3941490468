"""The choices of an action: for each model one head for its GPU and one for its units, each a softmax of its own."""

from dataclasses import dataclass

import numpy as np

from ..latency import Ints
from .network import Singles


@dataclass(frozen=True)
class Heads:
    """Outputs are ordered by model, GPUs first: [model, GPU ...] of all models, then [model, units ...]."""

    models: int
    gpus: int
    units: int

    @property
    def size(self) -> int:
        """Outputs in all."""
        return self.models * (self.gpus + self.units)

    def parts(self, outputs: Singles) -> tuple[Singles, Singles]:
        """Returns views of the outputs (row, output): (row, model, GPU) and (row, model, units)."""
        split = self.models * self.gpus
        rows = len(outputs)
        return (
            outputs[:, :split].reshape(rows, self.models, self.gpus),
            outputs[:, split:].reshape(rows, self.models, self.units),
        )

    def chances(self, outputs: Singles) -> tuple[Singles, Singles]:
        """Returns the probabilities of the choices and their logarithms, shape (row, output)."""
        logarithms = np.empty_like(outputs)
        for part, into in zip(self.parts(outputs), self.parts(logarithms), strict=True):
            shifted = part - part.max(axis=2, keepdims=True)
            into[...] = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
        return np.exp(logarithms), logarithms

    def summed(self, values: Singles) -> tuple[Singles, Singles]:
        """Returns the sums over the choices of each head: (row, model) of the GPUs and of the units."""
        of_gpus, of_units = self.parts(values)
        return of_gpus.sum(axis=2), of_units.sum(axis=2)

    def greedy(self, outputs: Singles) -> tuple[Ints, Ints]:
        """Returns the likeliest GPUs and numbers of units of one row, shape (model,)."""
        of_gpus, of_units = self.parts(outputs)
        return of_gpus[0].argmax(axis=1), of_units[0].argmax(axis=1) + 1

    def drawn(self, outputs: Singles, draw: np.random.Generator) -> tuple[Ints, Ints]:
        """Returns GPUs and numbers of units of one row, drawn with their probabilities: Gumbel's maximum."""
        noise = -np.log(-np.log(draw.random(outputs.shape) + 1e-12) + 1e-12).astype(np.float32)
        return self.greedy(outputs + noise)

    def marks(self, gpu: Ints, units: Ints) -> Ints:
        """Returns where the chosen outputs stand, shape (..., 2 models)."""
        models = np.arange(self.models)
        return np.concatenate(
            [models * self.gpus + gpu, self.models * self.gpus + models * self.units + units - 1], axis=-1
        )
