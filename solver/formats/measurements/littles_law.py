"""
Whether a file's units can be right: by Little's law the requests in flight are their rate times their latency.

Where that misses the stated concurrency by two orders of magnitude or more, a unit is wrong (us taken for ms).
"""

from .facts import KnownLoad
from .sample import STATISTICS, refused

FARTHEST = 100.0
"""Throughput times latency may differ from the concurrency by less than this factor: percentiles and pauses do not."""


def refuse_wrong_unit(one: KnownLoad) -> None:
    """Raises InputError if throughput and latency contradict the concurrency; nothing is said where it is not known."""
    sample = one.sample
    seen = next((sample.latencies_ms[name] for name in reversed(STATISTICS[:-1]) if name in sample.latencies_ms), None)
    if sample.concurrency is None or seen is None:
        return
    requests_per_s = sample.inferences_per_s / one.request_batch
    in_flight = requests_per_s * seen / 1000
    factor = in_flight / sample.concurrency
    if 1 / FARTHEST < factor < FARTHEST:
        return
    raise refused(
        sample.source,
        sample.where,
        f"has {requests_per_s:g} requests/s of {seen:g} ms each: {in_flight:.3g} in flight by Little's law, but the "
        f"concurrency is {sample.concurrency:g}; a unit is wrong by a factor of about {max(factor, 1 / factor):.0f}",
    )
