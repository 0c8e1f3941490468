"""Measured times of a model's layers by cores of a CPU: a chain of layers, one after the other, batch 1."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Name, Record
from .profile import Provenance

MOST_CORES = 4096

LayerMs = Annotated[float, Field(ge=0.001, le=1e6)]
"""Milliseconds; a thousandth of one is the least that is told apart."""


class Layer(Record):
    """One layer, alone on its cores."""

    name: str = Field(min_length=1, max_length=200)
    macs: int = Field(ge=1, le=10**15, description="multiplications with additions; a grouped layer's are divided")
    ms: tuple[LayerMs, ...] = Field(
        min_length=1, description="time on each of the model's counts of cores; as measured, also where it rises"
    )


class LayeredModel(Record):
    """A model whose layers were measured one by one."""

    model: Name
    cores: tuple[Annotated[int, Field(ge=1, le=MOST_CORES)], ...] = Field(
        min_length=1, max_length=64, description="counts of cores that were measured, ascending"
    )
    layers: tuple[Layer, ...] = Field(min_length=1, max_length=2000, description="in the order of their execution")
    provenance: Provenance

    @model_validator(mode="after")
    def _has_a_time_for_every_count(self) -> "LayeredModel":
        if sorted(set(self.cores)) != list(self.cores):
            raise ValueError(f"cores is {list(self.cores)}; expected counts of cores that ascend")
        for number, layer in enumerate(self.layers):
            if len(layer.ms) != len(self.cores):
                raise ValueError(
                    f"layers[{number}].ms has {len(layer.ms)} times; expected {len(self.cores)}, one for each of "
                    f"{', '.join(map(str, self.cores))} cores"
                )
        return self


class LayerFile(Record):
    """Layer times of models, measured on one CPU."""

    version: Literal[1] = 1
    models: tuple[LayeredModel, ...] = Field(min_length=1, max_length=100)

    @model_validator(mode="after")
    def _names_each_model_once(self) -> "LayerFile":
        names = [model.model for model in self.models]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"models has {', '.join(twice)} more than once")
        return self
