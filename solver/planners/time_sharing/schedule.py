"""
The state of gpu-lets' elastic partitioning while it schedules one service after the other, and its defects as switches.

From the source of the USENIX ATC 2022 artefact (casys-kaist/glet, 3c1c2aa); the 2021 preprint (arXiv 2109.01611) states
another algorithm (algorithm_one.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import trunc

from .services import LARGEST, Services, largest_batch
from .shares import Gpulet, Placement

MOST_TASKS = 3
"""Services that may take turns on a gpu-let."""

KNEE_PAIRS = ((20, 40), (40, 50), (50, 60), (60, 80))
"""Neighbouring shares that the source looks for a knee between; it never visits 80 and 100."""

KNEE_GAIN = 1.05


Fits = Callable[[int], bool]
"""Whether a batch size fits."""

Latency = Callable[[int], float]
"""Of a batch size, in ms."""


@dataclass(frozen=True)
class Defects:
    """What the published source does otherwise than it means; each can be switched off."""

    neighbour_test: bool = True
    """Whether a newcomer fits beside a neighbour is asked without the newcomer: over + 2 d <= SLO of the neighbour,
    also where interference is off. Else: the neighbour's latency beside it and its cycle are within its SLO."""
    index: bool = True
    """A leftover that is larger than wanted is evaluated beside the neighbours of the GPU whose number is the piece's.
    Else: of its own GPU."""
    corner: bool = True
    """Where only b = 1 fits, the raised rate is truncated, so that cycle + latency exceed the SLO slightly."""
    batch_32: bool = True
    """The bisection never answers 32."""
    too_slow: bool = True
    """A share on which no batch keeps the SLO counts as one with batch 1."""
    knee: bool = True
    """The knee is looked for between neighbouring shares up to 80 %, and never between 80 and 100."""
    whole_slo: bool = True
    """Whether a piece is in time on a whole GPU is asked of all of it, not of the share that is cut for it."""
    lowered: bool = True
    """Where a newcomer is refused, its neighbours keep the batches that were lowered for it."""
    uncharged: bool = True
    """What neighbours lose to a newcomer on what was empty is charged to nobody. Else: to the newcomer."""
    compounds: bool = True
    """A cycle is shortened by each lowered batch in proportion to that at first, once more each time."""
    overload: bool = True
    """The rest of a rate is put on what is empty even if a batch takes longer than its cycle."""
    lost_residue: bool = True
    """Residues that are merged, and then find no place, are lost."""
    one_batch: bool = True
    """Beside others a service has turns with the largest batch that the time left holds, or none."""
    remainder_rps: int = 15
    """So many requests/s of a service are dropped; a service that asks for no more gets nothing."""
    enough: float = 0.85
    """With interference: the part of its rate with which a service counts as scheduled."""


PUBLISHED = Defects()


@dataclass(frozen=True)
class Piece:
    """A part of a service's rate that a gpu-let is wanted for."""

    service: int
    share: float
    batch: int
    cycle_ms: float
    rate_rps: float
    carries_rps: float
    occupancy: float


@dataclass(eq=False)
class Schedule:
    """GPUs, what of each service is not allocated yet, and what its neighbours lost to it."""

    services: Services
    gpus: Placement
    shares: Sequence[float]
    """Sizes of gpu-lets that may be cut, ascending, with 100."""
    cuts: bool
    """Whether whole GPUs may be cut; False: the gpu-lets are given."""
    defects: Defects = PUBLISHED
    shares_turns: bool = True
    """Whether services may take turns on a gpu-let."""
    left_rps: list[float] = field(default_factory=list)
    extra_rps: dict[int, float] = field(default_factory=dict)

    @property
    def interferes(self) -> bool:
        """Whether latencies are those beside neighbours."""
        return self.services.use is not None

    def others(self, let: Gpulet) -> list[tuple[int, int, float]]:
        """Returns services, batches and shares of the other gpu-lets of its GPU."""
        return [(t.service, t.batch, o.share) for o in self.gpus[let.gpu] if o is not let for t in o.tasks]

    def beside_ms(self, service: int, batch: int, let: Gpulet) -> float:
        """Returns the latency of a service on a gpu-let beside what is on the others of the GPU."""
        if not self.interferes:
            return self.services.latency_ms[service][let.share][batch]
        return self.services.beside_ms(service, batch, let.share, self.others(let))

    def is_left(self, service: int) -> bool:
        """Whether more of a service's rate is left than is dropped."""
        return self.left_rps[service] + self.extra_rps.get(service, 0) > self.defects.remainder_rps

    def empty(self) -> list[Gpulet]:
        """Returns the gpu-lets that serve nobody, by GPU."""
        return [let for lets in self.gpus for let in lets if not let.tasks]

    def has_room(self, service: int, let: Gpulet) -> bool:
        """Whether a model fits into the memory that the others leave on the GPU."""
        used = sum(self.services.needs_mib(t.service) for one in self.gpus[let.gpu] for t in one.tasks)
        return used + self.services.needs_mib(service) <= self.services.room_mib

    def cut(self, let: Gpulet, share: float) -> None:
        """Cuts a whole GPU in two, of which the first has the share."""
        if self.cuts and let.share == 100 and share < 100:
            let.share = share
            self.gpus[let.gpu].append(Gpulet(let.gpu, 100 - share))

    def restored(self, gpu: int) -> Callable[[], None]:
        """Returns what gives the gpu-lets of a GPU the batches and cycles back that they have now."""
        known = [(let, let.cycle_ms, let.occupancy, [(t, t.batch) for t in let.tasks]) for let in self.gpus[gpu]]

        def restore() -> None:
            for let, cycle_ms, occupancy, tasks in known:
                let.tasks, let.cycle_ms, let.occupancy = [task for task, _ in tasks], cycle_ms, occupancy
                for task, batch in tasks:
                    task.batch = batch

        return restore

    def carried_rps(self, service: int) -> float:
        """Returns what all turns of a service carry."""
        return sum(let.carries_rps(service) for lets in self.gpus for let in lets)

    @cached_property
    def saturated(self) -> list[dict[float, tuple[int, float]]]:
        """By service and share the largest batch with 2 l <= SLO, and its throughput."""
        return [
            {share: self._saturated(service, share) for share in self.shares}
            for service in range(len(self.services.names))
        ]

    def _saturated(self, service: int, share: float) -> tuple[int, float]:
        latency, slo_ms = self.services.latency_ms[service][share], self.services.slo_ms[service]
        batch = self.largest(lambda b: 2 * latency[b] <= slo_ms)
        if batch == 0 and not self.defects.too_slow:
            return 0, 0.0
        batch = batch or 1
        return batch, 1000 * batch / latency[batch]

    def largest(self, fits: Fits) -> int:
        """Returns the largest batch size that fits; 0: none."""
        if not self.defects.batch_32 and fits(LARGEST):
            return LARGEST
        return largest_batch(fits)

    def residual(self, service: int, rate_rps: float, latency: Latency) -> tuple[int, float]:
        """
        Returns the largest batch that a rate fills in time, and the rate; a batch of 0: there is none.

        Where even a batch of 1 waits too long, but could be executed in time, the rate is raised until it does not.
        """
        slo_ms = self.services.slo_ms[service]
        batch = self.largest(lambda b: latency(b) + 1000 * b / rate_rps <= slo_ms)
        alone = latency(1)
        if batch == 0 and alone < 1000 / rate_rps and alone < slo_ms:
            raised = self.services.ratio * 1000 / (slo_ms - alone)
            return 1, trunc(raised) if self.defects.corner else raised
        return batch, rate_rps

    def knee(self, service: int) -> float:
        """Returns the share to which throughput rises most steeply from the one before."""
        known = self.saturated[service]
        best, found = 0.0, self.shares[0]
        for low, high in KNEE_PAIRS if self.defects.knee else (*KNEE_PAIRS, (80, 100)):
            if low not in known or high not in known or known[low][1] <= 0:
                continue
            if known[high][1] / known[low][1] < KNEE_GAIN:
                continue
            slope = (known[high][1] - known[low][1]) / (high - low)
            if slope > best:
                best, found = slope, high
        return found
