"""
Estimates of rates from counts, as gpu-lets has them (Choi et al., USENIX ATC 2022, and its published source).

Requests are counted in bins of 500 ms, and the estimate moves by 2 / (N + 1) of the difference to each bin's rate, with
N bins in a period of 20 s (an exponentially weighted mean). It begins with the problem's rates.
"""

from collections.abc import Sequence

import numpy as np

from ..performance.interference.prediction import Floats

BIN_MS = 500.0
PERIOD_MS = 20_000.0

ALPHA = 2 / (PERIOD_MS / BIN_MS + 1)


def rates_of_periods(arrivals_ms: Sequence[Floats], periods: int) -> Floats:
    """Returns the requests/s of each service in each period, shape (period, service)."""
    return _counts(arrivals_ms, periods, PERIOD_MS) / (PERIOD_MS / 1000)


def estimates(arrivals_ms: Sequence[Floats], periods: int, first_rps: Floats) -> Floats:
    """Returns the estimate at the end of each period, in requests/s, shape (period, service)."""
    per_period = round(PERIOD_MS / BIN_MS)
    rates = _counts(arrivals_ms, periods * per_period, BIN_MS) / (BIN_MS / 1000)
    answer = np.empty((periods, len(arrivals_ms)))
    estimate = first_rps
    for i, rate in enumerate(rates):
        estimate = estimate + ALPHA * (rate - estimate)
        if (i + 1) % per_period == 0:
            answer[i // per_period] = estimate
    return answer


def _counts(arrivals_ms: Sequence[Floats], number: int, width_ms: float) -> Floats:
    """Returns how many requests of each service come in each interval, shape (interval, service)."""
    edges = width_ms * np.arange(number + 1)
    counts = [np.diff(np.searchsorted(times, edges, side="left")) for times in arrivals_ms]
    return np.array(counts, dtype=np.float64).T
