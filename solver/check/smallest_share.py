"""
Verification that no share under MPS is smaller than what the hardware gives any client.

Such a client gets more than its share, and shares that add up to a GPU are then more than it, so nobody is apart.
"""

from collections.abc import Iterator
from math import ceil, floor

from ..model.hardware import Gpu
from .violation import RELATIVE, Violation


def below_the_smallest(where: str, percent: float, facts: Gpu) -> Iterator[Violation]:
    """Yields that a share of so many percent is too small: its whole units of 2 SMs are fewer SMs than any client's."""
    if facts.mps_least_sms is None:
        return
    least, unit = facts.mps_least_sms.value, facts.mps_unit_percent
    if 2 * floor(percent / unit * (1 + RELATIVE)) < least:
        units = ceil(least / 2)
        message = (
            f"has a share of {percent:g} %; MPS gives a client of {facts.name} at least {least:g} of its "
            f"{facts.sm_count.value:g} SMs, however small its share: expected {units * unit:.6g} % or more "
            f"({2 * units} SMs)"
        )
        yield Violation(where, message)
