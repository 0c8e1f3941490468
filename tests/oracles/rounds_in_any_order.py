"""
Services that take turns in any order, one round after the other, in the plainest words; no code is shared.

When a round begins, each service closes a batch of those that have come. The executor then takes the batches one after
the other, in the order that it is told, each as soon as the one before is done.
"""

from dataclasses import dataclass, field


@dataclass
class PlainTurn:
    """A service with its queue; `times[k]`: ms of a batch of k."""

    batch: int
    times: list
    arrivals: list
    ended: dict = field(default_factory=dict)
    """Number of a request -> when its batch ended."""
    served: int = 0

    def closed_at(self, now):
        """Returns the requests of the batch that is closed now."""
        come = [number for number, arrival in enumerate(self.arrivals) if arrival <= now]
        batch = come[self.served : self.served + self.batch]
        self.served += len(batch)
        return batch


def in_rounds(turns, round_ms, order):
    """
    Serves all requests.

    Parameters
    ----------
    order
        Called with the number of a round; returns the numbers of the services in the order of their execution.
    """
    number = 0
    while any(turn.served < len(turn.arrivals) for turn in turns):
        now = number * round_ms
        batches = [turn.closed_at(now) for turn in turns]
        for one in order(number):
            now += turns[one].times[len(batches[one])]
            turns[one].ended |= dict.fromkeys(batches[one], now)
        number += 1


def last_of_every_round(turns, round_ms, service):
    """Returns when each request of a service ends that is executed last, after full batches of all others."""
    plain = [PlainTurn(turn.batch, turn.times, turn.arrivals) for turn in turns]
    for other, turn in enumerate(plain):
        if other != service:  # a full batch every round, whatever comes
            turn.times, turn.arrivals = [turns[other].times[-1]] * (turn.batch + 1), []
    others = [one for one in range(len(turns)) if one != service]
    in_rounds(plain, round_ms, lambda _: [*others, service])
    return [plain[service].ended[number] for number in range(len(turns[service].arrivals))]
