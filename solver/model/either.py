"""Records that are of a GPU type or of a CPU type: `cpu` in place of `gpu`, which names the type in either case."""

from collections.abc import Mapping
from typing import Any


def cpu_named(data: object) -> object:
    """Returns data of a record with `gpu` filled in from `cpu`; ValueError: they name different types."""
    if not isinstance(data, Mapping) or data.get("cpu") is None:
        return data
    gpu, cpu = data.get("gpu"), data["cpu"]
    if gpu is not None and gpu != cpu:
        raise ValueError(f"gpu is {gpu!r} and cpu {cpu!r}; expected one of them: an entry is of one type")
    return {**data, "gpu": cpu}


def either_gpu_or_cpu(schema: dict[str, Any]) -> None:
    """Says in a record's JSON Schema that `cpu` may stand in place of `gpu`."""
    schema["required"] = [name for name in schema.get("required", ()) if name != "gpu"]
    if not schema["required"]:
        del schema["required"]
    schema["anyOf"] = [{"required": ["gpu"]}, {"required": ["cpu"]}]


def as_written(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the data of a record as a person writes it: of a CPU type `cpu` first, without `gpu` and `sharing`."""
    if data.get("cpu") is None:
        return {key: value for key, value in data.items() if key != "cpu"}
    return {"cpu": data["cpu"]} | {key: value for key, value in data.items() if key not in ("gpu", "cpu", "sharing")}
