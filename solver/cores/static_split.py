"""
Cores that are cut once and for all: instances of one count each, and a queue before all instances of a model (M/D/k).

A model's query takes T = sum ms(c) on c cores. Poisson arrivals of rate r before k instances: in a time T all that are
served leave, so the number in the system goes from N to max(N - k, 0) + Poisson(r T), whose stationary distribution is
pi; the number that waits is w_0 = pi_0 + ... + pi_k, w_j = pi_(k+j), and W_j their sums. With x >= 0 and m = floor(x/T)
+ 1 (Franx 2001, A simple solution for the M/D/c waiting time distribution):

    P(wait <= x) = exp(-u) sum_j W_(mk-1-j) u^j / j!    over j = 0 ... mk-1,    u = r (m T - x)

The split of least cores: models share nothing but the sum of their cores, so each takes its own least c k, over all
counts c with the least k for which a quantile of T + wait is within the limit. That is proven for static splits with a
queue a model, every instance of a model on as many cores as the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import gammaln, xlogy

from .chain import Chain, Floats, Ints, in_us
from .greatest_rate import greatest_rate

MOST_LOAD = 0.99
"""Beyond it a backlog takes too many states; it counts as overload, so an answer may have a core count too many."""


@dataclass(frozen=True)
class Part:
    """The instances of one model."""

    model: str
    instances: int
    cores: int
    """Of each instance."""
    ms: float
    """What a query takes there."""


def waits_at_most(rate_rps: float, ms: float, instances: int, limit_ms: float) -> float:
    """Returns the share of Poisson arrivals that wait at most so long for one of the instances; 0: overload."""
    if limit_ms < 0 or rate_rps * ms / 1000 >= MOST_LOAD * instances:
        return 0.0
    sums = _queue_sums(rate_rps * ms / 1000, instances)
    periods = int(limit_ms / ms) + 1
    u = rate_rps * (periods * ms - limit_ms) / 1000
    last = periods * instances - 1
    numbers = np.arange(last + 1)
    reached = sums[np.minimum(last - numbers, len(sums) - 1)]
    return float(reached @ _poisson(numbers, u))


def _poisson(numbers: Ints, mean: float) -> Floats:
    """Returns the probabilities of so many arrivals; scipy.stats has them too, but takes a second to import."""
    found: Floats = np.exp(xlogy(numbers, mean) - mean - gammaln(numbers + 1))
    return found


def _queue_sums(work: float, instances: int) -> Floats:
    """Returns the probabilities W_j that at most j queries wait; `work`: arrivals in the time of a service."""
    spare = 1 - work / instances
    states = ceil(instances + 40 + 8 / spare + 6 * work)
    numbers = np.arange(states)
    comes = _poisson(numbers, work)
    left = np.maximum(numbers - instances, 0)
    step = np.where(numbers[None, :] >= left[:, None], comes[np.maximum(numbers[None, :] - left[:, None], 0)], 0.0)
    step[:, -1] += 1 - step.sum(axis=1)  # what would go beyond the last state stays in it
    equations = np.vstack([(step.T - np.eye(states))[:-1], np.ones(states)])
    stationary = np.linalg.solve(equations, np.append(np.zeros(states - 1), 1.0))
    return np.cumsum(stationary)[instances:]


def least_part(chain: Chain, slo_ms: float, rate_rps: float, quantile: float, cores: int) -> Part | None:
    """Returns the instances of least cores together that keep a limit at a rate; None: `cores` do not suffice."""
    best: Part | None = None
    for count, us in zip(chain.cores.tolist(), chain.total_us.tolist(), strict=True):
        ms, most = us / 1000, (cores if best is None else best.cores * best.instances - 1) // count
        slack = in_us(slo_ms) / 1000 - ms
        first = max(1, ceil(rate_rps * ms / 1000))
        if slack < 0 or most < first or waits_at_most(rate_rps, ms, most, slack) < quantile:
            continue
        instances = next(k for k in range(first, most + 1) if waits_at_most(rate_rps, ms, k, slack) >= quantile)
        best = Part(chain.name, instances, count, ms)
    return best


def least_split(
    chains: Sequence[Chain], slos_ms: Sequence[float], rates_rps: Sequence[float], quantile: float, cores: int
) -> list[Part] | None:
    """Returns the static split of least cores, one part a model; None: the CPU has not so many cores, proven."""
    parts = []
    left = cores
    for chain, slo_ms, rate in zip(chains, slos_ms, rates_rps, strict=True):
        part = least_part(chain, slo_ms, rate, quantile, left)
        if part is None:
            return None
        left -= part.instances * part.cores
        parts.append(part)
    return parts


def best_split(
    chains: Sequence[Chain], slos_ms: Sequence[float], shares: Sequence[float], quantile: float, cores: int
) -> tuple[float, list[Part]] | None:
    """
    Returns the greatest rate of all queries together that a static split carries, with the split; None: not any.

    Parameters
    ----------
    shares
        Of each model's queries in all.
    """

    def split(rate: float) -> list[Part] | None:
        return least_split(chains, slos_ms, [rate * share for share in shares], quantile, cores)

    rate = greatest_rate(lambda rate: split(rate) is not None)
    parts = split(rate) if rate else None
    return (rate, parts) if parts else None
