"""
Requests at servers that execute batches, event by event: an oracle for the distributions and rules of the solver.

It shares nothing with them: no chain, no formula, requests one after the other in their order of arrival.
"""

import heapq

import numpy as np


def poisson_arrivals(draw, rate, count):
    """Returns `count` times of arrival at a rate, ascending."""
    return np.cumsum(draw.exponential(1 / rate, count))


def latencies(arrivals, times, processes=1):
    """
    Returns the latency of every request at processes that share one queue and never idle while one waits.

    `times`: of batches of 1, 2, ...; a free process takes as many as wait, up to the last.
    """
    arrivals, times = np.asarray(arrivals), list(times)
    free, found, i = [0.0] * processes, np.empty(len(arrivals)), 0
    while i < len(arrivals):
        start = max(heapq.heappop(free), arrivals[i])
        end = i + 1
        while end < len(arrivals) and end - i < len(times) and arrivals[end] <= start:
            end += 1
        done = start + times[end - i - 1]
        found[i:end] = done - arrivals[i:end]
        heapq.heappush(free, done)
        i = end
    return found


def dealt_by_turns(count, weights):
    """Returns to which server each of `count` requests goes: smooth weighted round robin, as NGINX deals."""
    weights = np.asarray(weights, dtype=float) / np.sum(weights)
    credit, to = np.zeros(len(weights)), np.empty(count, dtype=int)
    for i in range(count):
        credit += weights
        to[i] = credit.argmax()
        credit[to[i]] -= 1
    return to


def dealt_at_random(draw, count, weights):
    """Returns to which server each of `count` requests goes: at random, in proportion to the weights."""
    return draw.choice(len(weights), size=count, p=np.asarray(weights) / np.sum(weights))


def part_late(draw, rate, servers, weights, within, *, by_turns, count=100_000):
    """
    Returns the part of the requests of a service that are late.

    `servers`: batch times and processes of each; `weights`: how its requests are dealt to them.
    """
    arrivals = poisson_arrivals(draw, rate, count)
    to = dealt_by_turns(count, weights) if by_turns else dealt_at_random(draw, count, weights)
    late = 0
    for number, (times, processes) in enumerate(servers):
        late += int((latencies(arrivals[to == number], times, processes) > within * (1 + 1e-9)).sum())
    return late / count
