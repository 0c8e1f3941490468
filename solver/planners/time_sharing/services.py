"""What planners of turns know of services: latencies by share and batch size alone, and how neighbours slow them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

LARGEST = 32
"""Largest batch size of gpu-lets and Nexus."""

ByBatch = Sequence[float]
"""Of batch sizes 0 to LARGEST; of 0 nothing is meant."""


@dataclass(frozen=True, eq=False)
class Use:
    """What a service contributes to the slowdown of gpu-lets' linear model, by share and batch size."""

    own: Mapping[float, ByBatch]
    """Its own part, with the constant: alpha = max(1, own + other's)."""
    other: Mapping[float, ByBatch]
    """What it adds for its neighbour."""


@dataclass(frozen=True, eq=False)
class Services:
    """Services to be planned, by index; shares in percent, times in ms."""

    names: Sequence[str]
    rate_rps: Sequence[float]
    slo_ms: Sequence[float]
    solo_ms: Sequence[Mapping[float, ByBatch]]
    """Latency of a batch alone, by share; inf: not known."""
    shares: Sequence[float]
    """Measured shares, ascending; 100: the whole GPU."""
    ratio: float = 1.0
    """gpu-lets' safety factor on every latency ("Latency Ratio", 1.1 in all of its configurations)."""
    overhead_ms: Sequence[ByBatch] | None = None
    """Time to form a batch; None: none."""
    use: Sequence[Use] | None = None
    """None: nothing is known of neighbours, or nothing asked."""
    memory_mib: Sequence[float] = ()
    """Of each service's model; empty: unknown."""
    room_mib: float = float("inf")
    """Memory of a GPU that models may take."""
    latency_ms: Sequence[Mapping[float, ByBatch]] = field(init=False)
    """Latency alone, with factor and overhead."""

    def __post_init__(self) -> None:
        found = []
        for i, by_share in enumerate(self.solo_ms):
            over = self.overhead_ms[i] if self.overhead_ms is not None else [0.0] * (LARGEST + 1)
            found.append(
                {
                    share: [self.ratio * (solo + more) for solo, more in zip(by_batch, over, strict=True)]
                    for share, by_batch in by_share.items()
                }
            )
        object.__setattr__(self, "latency_ms", found)

    def of_overhead_ms(self, service: int, batch: int) -> float:
        """Returns how long a batch takes to form."""
        return self.overhead_ms[service][batch] if self.overhead_ms is not None else 0.0

    def beside_ms(self, service: int, batch: int, share: float, others: Sequence[tuple[int, int, float]]) -> float:
        """Returns the latency beside others, each a service with its batch and share; the worst of them counts."""
        alone = self.latency_ms[service][share][batch]
        if self.use is None or not others:
            return alone
        own = self.use[service].own[share][batch]
        alpha = max(own + self.use[other].other[percent][size] for other, size, percent in others)
        if alpha <= 1:
            return alone
        solo, over = self.solo_ms[service][share][batch], self.of_overhead_ms(service, batch)
        return self.ratio * (solo * alpha + over)

    def needs_mib(self, service: int) -> float:
        """Returns the memory of a service's model; 0: unknown."""
        return self.memory_mib[service] if self.memory_mib else 0.0


def largest_batch(fits: Callable[[int], bool]) -> int:
    """
    Returns a batch size that fits, as gpu-lets' bisection between 1 and 32 finds it; 0: not even 1 does.

    It never answers 32 (gpu-lets' source, `getMaxBatch`).
    """
    low, high = 1, LARGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low if fits(low) else 0
