"""
By what a GPU or a CPU of a node is known: `0` is GPU 0, `cpu0` is CPU 0.

A node counts its GPUs and its CPUs (sockets) apart. A GPU's key is its index, as it always was in the agent's files; a
CPU's is a word, so that one mapping and one transition have both.
"""

from typing import Annotated

from pydantic import Field

CPU = "cpu"

DeviceKey = Annotated[
    int | Annotated[str, Field(pattern=f"^{CPU}(0|[1-9][0-9]{{0,3}})$")], Field(union_mode="left_to_right")
]
"""A GPU by its index, a CPU by `cpu` and its index."""


def cpu_key(index: int) -> str:
    """Returns the key of a CPU."""
    return f"{CPU}{index}"


def device_text(key: DeviceKey) -> str:
    """Returns a GPU or a CPU, as a person reads it."""
    return f"GPU {key}" if isinstance(key, int) else f"CPU {cpu_index(key)}"


def device_order(key: DeviceKey) -> tuple[bool, int]:
    """Sorts the GPUs of a node by index, then its CPUs."""
    return (False, key) if isinstance(key, int) else (True, cpu_index(key))


def cpu_index(key: str) -> int:
    """Returns the index of a CPU from its key."""
    return int(key.removeprefix(CPU))
