"""
What a service's turn carries, and how long its round may be: whichever rule a problem has for services that take turns.

- execution: a batch every round, if the request that just misses its turn is in time (rounds.py);
- percentile: what queueing/slot_table.py says of requests at random that have a slot every round. In any order each
  service counts as the last of its round: every request is executed no later than then, whatever the order. Requests
  that are dealt in weighted turns count as at random, of which they are a smoother part (latency_rules/percentile.py
  says how far that is known).

By both rules, a turn that is in time at some rate is in time at every lower one, in every shorter round, and with every
larger batch that takes no longer.
"""

from dataclasses import dataclass

import numpy as np

from ...model.problem import Problem
from ..interference.prediction import Floats, Ints
from ..latency_rules.rules import quantiles_of
from ..queueing.slot_table import greatest_slot_rps, longest_rounds
from .rounds import request_may_take_ms

TOLERANCE = 1e-9
"""Part of an SLO by which rounding may exceed it."""


@dataclass(frozen=True, eq=False)
class TurnRule:
    """The rule for some services."""

    slo_ms: Floats
    """Shape (service,): what waiting and execution may take together."""
    slots_kept: bool
    """Whether each turn has its own place in the round (fixed), or the turns come in any order."""
    quantile: Floats | None = None
    """Shape (service,): the part of the requests that is to be in time; None: all, if a batch comes a round at most."""

    def of(self, services: Ints) -> "TurnRule":
        """Returns the rule of some of the services, in the order given."""
        quantile = None if self.quantile is None else self.quantile[services]
        return TurnRule(self.slo_ms[services], self.slots_kept, quantile)

    def longest_ms(self, batch: Ints, latency_ms: Floats, rate_rps: Floats) -> Floats:
        """
        Returns the longest round in which a turn of each service carries its rate; 0 or less: there is none.

        In any order, of rounds that are as long as their turns take. No round that is shorter than the turn itself is
        one.

        Parameters
        ----------
        batch, latency_ms
            Shape (service, option); inf: there is no such option.
        rate_rps
            Shape (service,), above 0.
        """
        slo_ms, rate = self.slo_ms[:, None], rate_rps[:, None]
        left_ms = slo_ms - latency_ms if self.slots_kept else np.broadcast_to(slo_ms, latency_ms.shape)
        part = 0.0 if self.slots_kept else 1.0
        if self.quantile is None:
            return np.asarray(np.minimum(left_ms / (1 + part), 1000.0 * batch / rate))
        there = np.isfinite(latency_ms) & (left_ms > 0)
        quantile, rate = (np.broadcast_to(one, there.shape)[there] for one in (self.quantile[:, None], rate))
        found = np.zeros(there.shape)
        found[there] = longest_rounds(batch[there], np.full(rate.shape, part), left_ms[there], quantile, rate)
        return found

    def carried_rps(self, service: Ints, batch: Ints, executed_ms: Floats, round_ms: Floats) -> Floats:
        """
        Returns what turns carry in a round, 0 where the request that just misses one is late; arrays of one shape.

        `executed_ms`: from its slot on, until a batch is executed: its latency, or that of all turns in any order.
        """
        in_time = round_ms + executed_ms <= self.slo_ms[service] * (1 + TOLERANCE)
        if self.quantile is None:
            return np.where(in_time, 1000.0 * batch / round_ms, 0.0)
        left_ms = np.maximum(self.slo_ms[service] - executed_ms, round_ms)  # within rounding
        found = np.zeros(in_time.shape)
        found[in_time] = greatest_slot_rps(
            batch[in_time], round_ms[in_time], left_ms[in_time], self.quantile[service][in_time]
        )
        return found

    def alone_rps(self, batch: Ints, latency_ms: Floats) -> Floats:
        """Returns what turns carry that have rounds for themselves, shape (service, option), as of `longest_ms`."""
        service = np.broadcast_to(np.arange(len(self.slo_ms))[:, None], latency_ms.shape)
        there = np.isfinite(latency_ms)
        found = np.zeros(latency_ms.shape)
        own_ms = latency_ms[there]
        found[there] = self.carried_rps(service[there], batch[there], own_ms, own_ms)
        return found


def turn_rule(problem: Problem) -> TurnRule:
    """Returns the rule of all services of a problem in which they may take turns."""
    settings = problem.settings
    slo_ms = np.array([request_may_take_ms(settings, one.slo_ms) for one in problem.workloads])
    quantile = quantiles_of(problem) if settings.latency == "percentile" else None
    return TurnRule(slo_ms, settings.turns == "fixed", quantile)
