"""How a GPU is divided between services."""

from typing import Literal

Sharing = Literal["exclusive", "mig", "mps"]
"""How a GPU is divided: used whole, cut into MIG instances, shared by MPS."""
