"""A network with hidden layers (ReLU) in numpy, its gradient, and Adam; all numbers in one array, single precision."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Network:
    """Weights and biases as views of one array, so that they are copied, mixed and stepped at once."""

    sizes: tuple[int, ...]
    numbers: Singles

    @classmethod
    def drawn(cls, sizes: tuple[int, ...], draw: np.random.Generator) -> "Network":
        """Returns a network with the usual start: uniform within 1/sqrt(inputs of the layer)."""
        parts = []
        for before, after in pairwise(sizes):
            reach = before**-0.5
            parts.append(draw.uniform(-reach, reach, before * after + after))
        return cls(sizes, np.concatenate(parts).astype(np.float32))

    @property
    def layers(self) -> list[tuple[Singles, Singles]]:
        """Weights (input, output) and biases of each layer."""
        return _views(self.sizes, self.numbers)

    def of(self, inputs: Singles) -> Singles:
        """Returns the outputs, shape (row, output)."""
        return self.kept(inputs)[-1]

    def kept(self, inputs: Singles) -> list[Singles]:
        """Returns the values of every layer, the inputs first and the outputs last."""
        values = [inputs]
        layers = self.layers
        for number, (weights, biases) in enumerate(layers, start=1):
            value = values[-1] @ weights
            value += biases
            if number < len(layers):
                np.maximum(value, 0, out=value)
            values.append(value)
        return values

    def gradient(self, values: list[Singles], of_outputs: Singles) -> Singles:
        """Returns the gradient by all numbers, given that by the outputs, shape (row, output)."""
        gradient = np.empty_like(self.numbers)
        back = of_outputs
        layers, into = self.layers, _views(self.sizes, gradient)
        for number in range(len(layers) - 1, -1, -1):
            np.matmul(values[number].T, back, out=into[number][0])
            back.sum(axis=0, out=into[number][1])
            if number:
                back = back @ layers[number][0].T
                back *= values[number] > 0
        return gradient


def _views(sizes: tuple[int, ...], numbers: Singles) -> list[tuple[Singles, Singles]]:
    views, at = [], 0
    for before, after in pairwise(sizes):
        end = at + before * after
        views.append((numbers[at:end].reshape(before, after), numbers[end : end + after]))
        at = end + after
    return views


@dataclass(eq=False)
class Adam:
    """Steps by Adam (Kingma and Ba 2015) with its usual settings."""

    rate: float
    mean: Singles
    square: Singles
    steps: int = 0

    @classmethod
    def of(cls, numbers: Singles, rate: float) -> "Adam":
        """Returns one that has not made a step."""
        return cls(rate, np.zeros_like(numbers), np.zeros_like(numbers))

    def step(self, numbers: Singles, gradient: Singles) -> None:
        """Changes the numbers in place."""
        self.steps += 1
        self.mean *= 0.9
        self.mean += 0.1 * gradient
        self.square *= 0.999
        np.multiply(gradient, gradient, out=gradient)
        gradient *= 0.001
        self.square += gradient
        scale = self.rate * (1 - 0.999**self.steps) ** 0.5 / (1 - 0.9**self.steps)
        root = np.sqrt(self.square)
        root += 1e-8
        np.divide(self.mean, root, out=root)
        root *= scale
        numbers -= root
