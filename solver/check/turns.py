"""
Verification of rounds: services that take turns on a partition, from the plan's own words and the profiles alone.

A round holds if its turns fit into it, each service's capacity is one batch a round and carries its rate, and the
request that has just missed its turn is in time: it waits a round, and is executed then (fixed turns), or after all
others of that round (any order). Formulas as gpu-lets' (USENIX ATC 2022), stated here a second time on purpose; a
planner's are performance/turns.

Of a percentile a turn is promised rates up to which the part of its requests is in time that come at random and have a
slot every round. What planner and check share is the table of it (performance/queueing/slot_table.py), which tests hold
against the exact chain and against requests that are followed one by one.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..metrics.plan_columns import Ints, PlanColumns
from ..model.catalogue import load_catalogue, load_cpus
from ..model.naming import SERVICES
from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..model.problem import Problem, Workload
from ..performance.prediction import Prediction
from ..performance.queueing.slot_table import slot_table
from .basis import BasisOf
from .latency import execution_may_take_ms, promise_in_words
from .violation import NOT_AT_ANY_RATE, RELATIVE, Violation, close

Predict = Callable[[str, str, str | None, int, int], Prediction | None]
"""Of a model on a GPU type, MIG profile or whole, with a batch and processes; None: nothing is known."""

ALONE = 0.5
"""slo_fraction with which a request may take all of its SLO: it waits for one batch, and is executed in the next."""


def wrong_form(problem: Problem, gpu_id: str, partition: Partition) -> Iterator[Violation]:
    """Yields what is wrong with who takes turns, and how, as the problem allows it."""
    allowed, number = problem.settings.turns, len(partition.serves)
    if partition.duty_cycle_ms is None:
        if partition.turns is not None:
            yield Violation(gpu_id, f"has turns {partition.turns!r}, but no duty_cycle_ms; expected null")
        return
    if number < 1:
        message = f"has duty_cycle_ms {partition.duty_cycle_ms:g}; here no service takes turns"
        yield Violation(gpu_id, message)
    elif allowed == "none":
        message = f"has duty_cycle_ms {partition.duty_cycle_ms:g}, but the problem's settings.turns is none"
        yield Violation(gpu_id, message)
    elif partition.turns != allowed:
        yield Violation(gpu_id, f"has turns {partition.turns!r}; the problem's settings.turns is {allowed!r}")
    if len({one.workload for one in partition.serves}) < number:
        message = f"{SERVICES} take turns: a service has one turn a round"
        yield Violation(gpu_id, message, named=_names(partition))


def wrong_rounds(
    problem: Problem, plan: Plan, columns: PlanColumns, partitions: Ints, predict: Predict, basis_of: BasisOf
) -> Iterator[tuple[int, Violation]]:
    """
    Yields what is wrong with the rounds on some MIG instances and whole GPUs, each with the index of its partition.

    Parameters
    ----------
    partitions
        Indices of partitions of which the duty cycle is given, and which exist.
    predict, basis_of
        As for `wrong_partitions`.
    """
    workloads = {workload.name: workload for workload in problem.workloads} if partitions.size else {}
    for i in partitions.tolist():
        gpu = plan.gpus[columns.gpu[i]]
        judged = _Judged(problem, workloads, gpu, columns.partitions[i], predict, basis_of)
        yield from ((i, violation) for violation in judged.violations())


@dataclass(frozen=True)
class _Judged:
    """A MIG instance or a whole GPU on which services take turns."""

    problem: Problem
    workloads: Mapping[str, Workload]
    gpu: PlannedGpu
    partition: Partition
    predict: Predict
    basis_of: BasisOf

    def violations(self) -> Iterator[Violation]:
        """Yields what is wrong with each turn, and then with the round."""
        wrong = False
        for served in self.partition.serves:
            for violation in self._wrong_turn(served):
                wrong = True
                yield violation
        if not wrong:
            yield from self._wrong_memory()
            yield from wrong_round(self.problem, self.workloads, self.gpu.id, self.partition)

    def _wrong_turn(self, served: Served) -> Iterator[Violation]:
        """Yields how a service's operating point is not one that its problem and its profile know."""
        owner, where = self.workloads.get(served.workload), f"{self.gpu.id} {served.workload}"
        if owner is None:
            yield Violation(where, "is not in the problem")
            return
        yield from wrong_operation(where, owner, self.gpu.gpu, served)
        for field in ("causes_ms", "memory_mib", "dispatch_after_ms"):
            if getattr(served, field) is not None:
                yield Violation(where, f"states {field}; expected null where services take turns without MPS")
        key = (owner.model, self.gpu.gpu, self.partition.kind, served.batch, served.processes)
        point = self.predict(*key)
        if point is None:
            yield Violation(where, f"no profile of {owner.model} knows batch {served.batch} here")
            return
        if not close(point.latency_ms, served.latency_ms):
            yield Violation(where, f"states {served.latency_ms:.6g} ms; the profile gives {point.latency_ms:.6g} ms")
        if served.basis != (basis := self.basis_of(*key)):
            yield Violation(where, f"states the basis {served.basis}; the profile's is {basis}")

    def _wrong_memory(self) -> Iterator[Violation]:
        """All models of a round are in the partition's memory at once; what is unknown takes none."""
        there = self._there_mib()
        needed = sum(self._memory_mib(served) for served in self.partition.serves)
        if there is not None and needed > there * (1 + RELATIVE):
            message = f"{SERVICES} need {needed:g} MiB of memory together; it has {there:g} MiB"
            yield Violation(self.gpu.id, message, named=_names(self.partition))

    def _there_mib(self) -> float | None:
        """Returns the memory of the partition; None: not known."""
        if (cpu := load_cpus().get(self.gpu.gpu)) is not None:
            return cpu.memory_of(self.partition.cores or 0)
        facts, name = load_catalogue()[self.gpu.gpu], self.partition.mig_profile
        instance = facts.mig.profile(name) if facts.mig and name else None
        return instance.memory_mib if instance else facts.memory_mib

    def _memory_mib(self, served: Served) -> float:
        owner = self.workloads[served.workload]
        point = self.predict(owner.model, self.gpu.gpu, self.partition.kind, served.batch, served.processes)
        return owner.memory_mib or (point.memory_mib if point else None) or 0.0


def wrong_operation(where: str, owner: Workload, gpu: str, served: Served) -> Iterator[Violation]:
    """Yields how a turn is executed as its workload does not allow."""
    if served.processes != 1:
        yield Violation(where, f"runs {served.processes} processes; who takes turns runs one")
    if owner.gpus is not None and gpu not in owner.gpus:
        yield Violation(where, f"allows only {', '.join(owner.gpus)}")
    if owner.batch_sizes is not None and served.batch not in owner.batch_sizes:
        yield Violation(where, f"batch {served.batch} is not allowed for {SERVICES}", named=(owner.name,))


def wrong_round(
    problem: Problem, workloads: Mapping[str, Workload], gpu_id: str, partition: Partition
) -> Iterator[Violation]:
    """Yields what does not hold of a round whose latencies are right: its length, its rates, its SLOs."""
    round_ms = partition.duty_cycle_ms or 0.0
    taken_ms = sum(one.latency_ms for one in partition.serves)
    if taken_ms > round_ms * (1 + RELATIVE):
        message = f"the turns of {SERVICES} take {taken_ms:.6g} ms; their round has {round_ms:.6g} ms"
        yield Violation(gpu_id, message, excess=taken_ms / round_ms - 1, named=_names(partition))
    for served in partition.serves:
        owner = workloads[served.workload]
        expected = 1000 * served.batch / round_ms
        if not close(served.capacity_rps, expected):
            message = f"states {served.capacity_rps:.6g} req/s; a batch of {served.batch} a round gives {expected:.6g}"
            yield Violation(f"{gpu_id} {served.workload}", message)
        if served.rate_rps > expected * (1 + RELATIVE):
            message = f"takes {served.rate_rps:.6g} req/s; its capacity is {expected:.6g}"
            yield Violation(gpu_id, message, owner.name, served.rate_rps / expected - 1)
        limit_ms = _may_take_ms(problem, owner)
        own_ms = served.latency_ms if partition.turns == "fixed" else taken_ms
        if round_ms + own_ms > limit_ms * (1 + RELATIVE):
            message = (
                f"may wait a round of {round_ms:.6g} ms and be executed in {own_ms:.6g} ms; its SLO of "
                f"{owner.slo_ms:g} ms leaves {limit_ms:g} ms"
            )
            yield Violation(gpu_id, message, owner.name, (round_ms + own_ms) / limit_ms - 1)
        yield from _wrong_promise(problem, owner, gpu_id, served, round_ms, own_ms)


def _may_take_ms(problem: Problem, owner: Workload) -> float:
    """Returns how long a request may wait and be executed."""
    if problem.settings.latency == "percentile":
        return owner.slo_ms
    return execution_may_take_ms(problem.settings, owner.slo_ms) / ALONE


def _wrong_promise(
    problem: Problem, owner: Workload, gpu_id: str, served: Served, round_ms: float, executed_ms: float
) -> Iterator[Violation]:
    """Yields that a turn is promised what does not hold, or gets more; what is stated may be less than what holds."""
    where, stated = f"{gpu_id} {served.workload}", served.promised_rps
    if problem.settings.latency == "execution":
        if stated is not None:
            yield Violation(
                where, f"states promised_rps {stated:g}, but by execution nothing is promised; expected null"
            )
        return
    given = problem.settings.quantile if owner.slo_quantile is None else owner.slo_quantile
    holds_rps = percentile_rps(served.batch, round_ms, owner.slo_ms - executed_ms, given)
    if stated is None or stated > holds_rps * (1 + RELATIVE):
        shown = "null" if stated is None else f"{stated:.6g}"
        message = f"states promised_rps {shown}; what it is promised holds up to {holds_rps:.6g} req/s in this round"
        yield Violation(where, message)
    if served.rate_rps > holds_rps * (1 + RELATIVE):
        message = (
            f"takes {served.rate_rps:.6g} req/s; {promise_in_words(problem.settings)(owner)} up to {holds_rps:.6g} "
            f"req/s in a round of {round_ms:.6g} ms with batches of {served.batch}"
        )
        above = served.rate_rps / holds_rps - 1 if holds_rps > 0 else NOT_AT_ANY_RATE
        yield Violation(gpu_id, message, owner.name, above)


def percentile_rps(batch: int, round_ms: float, left_ms: float, quantile: float) -> float:
    """Returns the greatest rate at which a quantile is in time; `left_ms`: what an SLO leaves beside execution."""
    table = slot_table()
    q = next(i for i, one in enumerate(table.quantile.tolist()) if one >= quantile - RELATIVE**2)
    b = bisect_right(table.batch.tolist(), batch) - 1
    allowed = [x * round_ms <= left_ms * (1 + RELATIVE) for x in table.slack[q, b].tolist()]
    loads = [load for load, holds in zip(table.load.tolist(), allowed, strict=True) if holds]
    return 1000 * int(table.batch[b]) * max(loads, default=0.0) / round_ms


def _names(partition: Partition) -> tuple[str, ...]:
    return tuple(one.workload for one in partition.serves)
