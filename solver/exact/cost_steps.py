"""The steps in which costs rise: GPUs are bought whole, so a bound may be rounded up to the next cost that can be."""

from math import ceil, gcd

from ..performance.resolve import ResolvedProblem

LARGEST_SCALED_PRICE = 10_000
"""Prices are made integers by a common divisor only while they stay below this, for the solver's arithmetic."""


def next_cost(resolved: ResolvedProblem, bound: float) -> float:
    """Returns the least cost of whole GPUs that a bound allows: the next multiple where all prices have a divisor."""
    price, exact = scaled_prices(resolved)
    unit = unit_price(resolved, price)
    return unit * ceil(bound / unit - 1e-6) if exact else bound


def scaled_prices(resolved: ResolvedProblem) -> tuple[dict[str, float], bool]:
    """Returns prices divided by a common divisor, and whether they are integers now."""
    micro = {entry.gpu.name: round(entry.price_per_hour * 1e6) for entry in resolved.fleet}
    divisor = gcd(*micro.values())
    scaled = {name: price // divisor for name, price in micro.items()}
    exact = all(abs(entry.price_per_hour * 1e6 - micro[entry.gpu.name]) < 1e-3 for entry in resolved.fleet)
    if len(scaled) == 1:
        return dict.fromkeys(scaled, 1.0), True
    if exact and max(scaled.values()) <= LARGEST_SCALED_PRICE:
        return {name: float(price) for name, price in scaled.items()}, True
    return {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}, False


def unit_price(resolved: ResolvedProblem, scaled: dict[str, float]) -> float:
    """Returns the USD per hour that one unit of the scaled prices stands for."""
    first = resolved.fleet[0]
    return first.price_per_hour / scaled[first.gpu.name]
