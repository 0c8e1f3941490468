"""Freed memory that the process keeps for its next arrays."""

from functools import cache

import numpy as np

KEPT_BYTES = 30 << 20
"""Just below the 32 MiB up to which glibc adapts."""


@cache
def keep_freed_memory() -> None:
    """
    Lets arrays of up to KEPT_BYTES be made in memory that was freed before, from here on in this process.

    glibc gives every block above a threshold back to the kernel at once, and asks for it again page by page. The
    threshold follows the largest block freed so far, so one large one, never written to, raises it (M_MMAP_THRESHOLD
    in mallopt(3)). Solving 100,000 services takes half the pages. Other allocators are not changed by it.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)
