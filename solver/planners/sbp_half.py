"""
Squishy bin packing on halves of GPUs: "SBP 50:50" of gpu-lets (arXiv 2109.01611, sec. 3.1, fig. 4).

Two bins a GPU, each half of its SMs under MPS; how the halves slow each other it does not know, `check` does.
"""

from .sbp import SquishyBinPacking


class SquishyHalves(SquishyBinPacking):
    """Nexus' planner on halves."""

    name = "sbp-half"
    source = "squishy bin packing on halves of GPUs: gpu-lets (arXiv 2109.01611), fig. 4"
    share = 50.0


PLANNERS = (SquishyHalves(),)
