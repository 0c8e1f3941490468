"""
How long a task takes from its arrival (InSS, section 4.2, equation 2), and where the equation forgets something.

A task finds G tasks waiting, so W = G + 1 with it; the server is busy for `busy` more; batches have exactly b tasks and
take t. As printed:

    T = busy + ceil(W/b) t                       W >= b
    T = max(busy, (b - W)/lambda) + t            W < b

The last batch of several has to fill up too, which the first line forgets. Repaired, with full = ceil(W/b):

    T = max(busy + (full - 1) t, (full b - W)/lambda) + t

which is the second line where full is 1. An empty system is left after T = (b - 1)/lambda + t by the first task of a
batch if the others come when they are due: `assembled`. That is what a plan promises. Poisson arrivals come later as
often as sooner, so a plan that meets its limit just so misses it for 7 to 79 % of the tasks (batch_queue.py).
"""

from typing import overload

import numpy as np

from ..performance.interference.prediction import Floats


@overload
def assembled(batch: Floats, ms: Floats, rate_rps: float | Floats) -> Floats: ...
@overload
def assembled(batch: float, ms: float, rate_rps: float) -> float: ...
def assembled(batch: float | Floats, ms: float | Floats, rate_rps: float | Floats) -> float | Floats:
    """Returns (b - 1)/lambda + t, ms."""
    return (batch - 1) * 1000 / rate_rps + ms


def as_printed(batch: Floats, ms: Floats, rate_rps: float, waiting: int | Floats, busy_ms: float | Floats) -> Floats:
    """Returns T of equation 2 for a task that finds `waiting` others; ms. Arguments are broadcast."""
    with_it = np.asarray(waiting) + 1
    fills = (batch - with_it) * 1000 / rate_rps
    found: Floats = np.where(with_it >= batch, busy_ms + np.ceil(with_it / batch) * ms, np.maximum(busy_ms, fills) + ms)
    return found


def repaired(batch: Floats, ms: Floats, rate_rps: float, waiting: int | Floats, busy_ms: float | Floats) -> Floats:
    """Returns T with the last batch filled up too, ms."""
    with_it = np.asarray(waiting) + 1
    full = np.ceil(with_it / batch)
    fills = (full * batch - with_it) * 1000 / rate_rps
    found: Floats = np.maximum(busy_ms + (full - 1) * ms, fills) + ms
    return found


def as_coded(batch: Floats, ms: Floats, rate_rps: float, waiting: int | Floats, busy_ms: float | Floats) -> Floats:
    """Returns T as the published environment has it: a batch is waited for b + W arrivals in place of b - W, ms."""
    with_it = np.asarray(waiting) + 1
    fills = np.where(with_it < batch, (batch + with_it) * 1000 / rate_rps, 0.0)
    found: Floats = np.maximum(busy_ms, fills) + np.ceil(with_it / batch) * ms
    return found
