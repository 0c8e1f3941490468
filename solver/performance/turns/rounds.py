"""
What a round of several services on one partition carries, and how long requests take (gpu-lets, USENIX ATC 2022).

Every `duty_cycle_ms` d each service i executes one batch of at most b_i in l_i ms; the turns fit into the round,
sum l <= d. So it carries 1000 b_i / d requests/s: if at most b_i come in any d ms (half-open), then all that wait at a
turn go with it. A request waits for the next turn at most d, then:

    slots are kept (fixed)      its slot begins d after the last one, and it is executed in l_i      d + l_i
    any order within a round    what came in a round is executed in the next one, at worst last      d + sum l

Both are reached: by a request that comes just after its turn began, and whose batch is executed last. A service alone
is the case d = l_i, of which 2 l_i is what the execution rule with slo_fraction 1/2 asks to be within the SLO; so a
round is held against slo_fraction / 0.5 of the SLO.

By execution nothing is promised of requests that come at random: at the full rate their queue grows without end. Of a
percentile turn_rule.py has what a turn carries; waiting and execution may then take all of the SLO.
"""

from collections.abc import Sequence

from ...model.plan import Partition, Served
from ...model.problem import Settings, TurnsKept
from ..latency_rules.rules import batch_may_take_ms

FULL_PART = 0.5
"""The part of an SLO for execution with which a request may take all of it: one batch is waited for, one executed."""


def capacity_rps(batch: int, duty_cycle_ms: float) -> float:
    """Returns the requests/s of a batch every round."""
    return 1000.0 * batch / duty_cycle_ms


def request_may_take_ms(settings: Settings, slo_ms: float) -> float:
    """Returns how long a request may wait and be executed where services take turns."""
    if settings.latency == "percentile":
        return slo_ms
    return slo_ms * settings.slo_fraction / FULL_PART


def longest_ms(duty_cycle_ms: float, latencies_ms: Sequence[float], turns: TurnsKept) -> list[float]:
    """Returns the longest that a request of each service takes; `latencies_ms`: of their batches."""
    if turns == "fixed":
        return [duty_cycle_ms + latency for latency in latencies_ms]
    return [duty_cycle_ms + sum(latencies_ms)] * len(latencies_ms)


def execution_limit_ms(settings: Settings, slo_ms: float, partition: Partition, served: Served) -> float:
    """
    Returns how long the execution of a batch may take on a partition of a plan: what waiting leaves of the SLO.

    0 or less: the round alone is too long.
    """
    if partition.duty_cycle_ms is None:
        return batch_may_take_ms(settings, slo_ms)
    left = request_may_take_ms(settings, slo_ms) - partition.duty_cycle_ms
    if partition.turns == "any":
        left -= sum(one.latency_ms for one in partition.serves if one is not served)
    return left
