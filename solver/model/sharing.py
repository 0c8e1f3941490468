"""How a GPU or a CPU is divided between services."""

from typing import Literal

Sharing = Literal["exclusive", "mig", "mps", "cores"]
"""How it is divided: a GPU used whole, cut into MIG instances, shared by MPS; a CPU cut into sets of cores."""


def cores_in_words(cores: int) -> str:
    """Returns the name of a partition of a CPU, as a MIG profile's is that of an instance: `8 cores`."""
    return "1 core" if cores == 1 else f"{cores} cores"


def cores_named(kind: str | None) -> int:
    """Returns how many cores a partition of this name has, the inverse of `cores_in_words`; 0: it names no cores."""
    number = (kind or "").partition(" ")[0]
    return int(number) if number.isdecimal() else 0
