"""Waiting for what another process does."""

import time

WAIT_S = 60.0


def wait_until(is_so, wait_s=WAIT_S):
    """Returns the first true value of a function; fails if there is none in time."""
    deadline = time.monotonic() + wait_s
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"waited {wait_s:g} s in vain"
        time.sleep(0.02)
    return found
