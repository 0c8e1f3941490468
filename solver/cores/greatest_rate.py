"""The greatest rate at which something holds, by bisection: queries/s."""

from collections.abc import Callable

FIRST_RPS, MOST_RPS = 1.0, 1e6

CLOSE = 1.005
"""Ratio of two rates that are not told apart."""


def greatest_rate(holds: Callable[[float], bool]) -> float:
    """
    Returns the greatest rate found at which it holds, within CLOSE of one at which it does not; 0: at none from 1 on.

    What holds at a rate is taken to hold at every lower one. Of a simulated trace that is so but for chance.
    """
    low, high = 0.0, FIRST_RPS
    while high < MOST_RPS and holds(high):
        low, high = high, 2 * high
    while low and high > CLOSE * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
