"""
Measured times of a model's layers by cores of a CPU: a chain of layers, one after the other, batch 1.

A layer may have several versions: the same computation compiled with other block sizes and more or less parallelism.
They may be measured at several levels of interference, the mean slowdown of what runs on the CPU; 1: a layer alone.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Name, Record
from .profile import Provenance

MOST_CORES = 4096

LayerMs = Annotated[float, Field(ge=0.001, le=1e6)]
"""Milliseconds; a thousandth of one is the least that is told apart."""

Times = Annotated[tuple[LayerMs, ...], Field(min_length=1)]
"""By count of cores."""

Level = Annotated[float, Field(ge=1, le=1000)]


class Version(Record):
    """One way in which a layer was compiled."""

    name: str = Field(min_length=1, max_length=200)
    block_size: int = Field(ge=1, le=10**12, description="size of its tiles: a larger one uses caches more")
    parallelism: int = Field(ge=1, le=10**12, description="unroll factor times parallel factor")
    ms: tuple[Times, ...] = Field(
        min_length=1, description="a row for each of the model's levels: time on each of its counts of cores"
    )


class Layer(Record):
    """One layer: times of its only version alone on the CPU, or several versions."""

    name: str = Field(min_length=1, max_length=200)
    macs: int = Field(ge=1, le=10**15, description="multiplications with additions; a grouped layer's are divided")
    ms: Times | None = Field(
        default=None, description="time on each of the model's counts of cores; as measured, also where it rises"
    )
    versions: tuple[Version, ...] | None = Field(
        default=None, min_length=1, max_length=2000, description="in place of `ms`, as several ways to compile it"
    )

    @model_validator(mode="after")
    def _has_times(self) -> "Layer":
        if (self.ms is None) == (self.versions is None):
            raise ValueError("expected one of ms and versions: times of one version, or several versions")
        return self


class LayeredModel(Record):
    """A model whose layers were measured one by one."""

    model: Name
    cores: tuple[Annotated[int, Field(ge=1, le=MOST_CORES)], ...] = Field(
        min_length=1, max_length=64, description="counts of cores that were measured, ascending"
    )
    levels: tuple[Level, ...] = Field(
        default=(1.0,),
        min_length=1,
        max_length=32,
        description="levels of interference that were measured, ascending from 1: the mean slowdown of what runs",
    )
    layers: tuple[Layer, ...] = Field(min_length=1, max_length=2000, description="in the order of their execution")
    provenance: Provenance

    @model_validator(mode="after")
    def _has_a_time_for_every_count(self) -> "LayeredModel":
        if sorted(set(self.cores)) != list(self.cores):
            raise ValueError(f"cores is {list(self.cores)}; expected counts of cores that ascend")
        if sorted(set(self.levels)) != list(self.levels) or self.levels[0] != 1:
            raise ValueError(f"levels is {list(self.levels)}; expected levels that ascend from 1, a layer alone")
        for number, layer in enumerate(self.layers):
            self._fits(f"layers[{number}]", layer)
        return self

    def _fits(self, path: str, layer: Layer) -> None:
        if layer.ms is not None:
            if len(self.levels) > 1:
                raise ValueError(f"{path} has times of one level; expected versions, with a row for each level")
            self._has_its_times(f"{path}.ms", layer.ms)
        names = [version.name for version in layer.versions or ()]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{path}.versions has {', '.join(twice)} more than once")
        for v, version in enumerate(layer.versions or ()):
            where = f"{path}.versions[{v}].ms"
            if len(version.ms) != len(self.levels):
                levels = ", ".join(f"{level:g}" for level in self.levels)
                raise ValueError(
                    f"{where} has {len(version.ms)} rows; expected {len(self.levels)}, one for each level ({levels})"
                )
            for row, times in enumerate(version.ms):
                self._has_its_times(f"{where}[{row}]", times)

    def _has_its_times(self, path: str, times: Times) -> None:
        if len(times) != len(self.cores):
            raise ValueError(
                f"{path} has {len(times)} times; expected {len(self.cores)}, one for each of "
                f"{', '.join(map(str, self.cores))} cores"
            )


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
