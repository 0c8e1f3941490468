"""How far two figures of one thing may be apart: what computing it twice, or in another order, adds by rounding."""

RELATIVE = 1e-6
"""Part of a figure."""


def close(one: float, other: float) -> bool:
    """Tells whether two figures agree but for rounding."""
    return one == other or abs(one - other) <= RELATIVE * max(abs(one), abs(other))
