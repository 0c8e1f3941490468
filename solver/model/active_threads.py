"""
Shares of a GPU as NVIDIA's MPS takes them: an active thread percentage for each client.

The driver gives whole units of 2 SMs, a TPC, and rounds a percentage down (NVIDIA MPS documentation, "Volta MPS
Execution Resource Provisioning"). Measured on an H200 (132 SMs, driver 580.159.04, all 66 shares in whole units):
15.1515151515152 is 20 SMs, and 10.6060606060606, which lies below 14 of 132 by less than a trillionth, is 12. So a
share whose digits end below it loses a unit, there one of seven.
"""

from math import ceil

EXACT_PARTS = 16
"""Of a percent: their numbers have few digits, and are themselves in every format."""

LEAST_MORE, DIGITS = 5e-5, 4
"""
Percent that are added to other shares at least, and digits after the point that they are then rounded up to.

More than the error of a single-precision number up to 100 (4e-6), and together less by far than a unit, which is 1 % of
a GPU of 200 SMs.
"""


def active_thread_percentage(share_percent: float) -> str:
    """
    Returns the percentage to ask of MPS for a share in whole units, so that the client gets all of its SMs.

    Parameters
    ----------
    share_percent
        Of the SMs of the GPU, above 0 and at most 100.
    """
    if (share_percent * EXACT_PARTS).is_integer():
        return f"{share_percent:.15g}"
    scale = 10**DIGITS
    return f"{min(100.0, ceil((share_percent + LEAST_MORE) * scale) / scale):.15g}"
