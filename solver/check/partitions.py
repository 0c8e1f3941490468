"""
Verification of what MIG instances, whole GPUs and cores of CPUs serve: one workload each, at an operating point of
its profile.

Each rule is a condition on all services of the plan at once, in arrays of shape (row,), beside the words for a row that
breaks it. A row is one service on one partition.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ..metrics.plan_columns import UNKNOWN, Floats, Ints, PartitionKind, PlanColumns
from ..model.catalogue import load_catalogue, load_cpus
from ..model.naming import SERVICES
from ..model.numbering import different
from ..model.plan import Plan, Served
from ..model.problem import Problem, Workload
from ..model.profile import Quality
from ..model.sharing import cores_named
from ..performance.prediction import Prediction
from .basis import BasisOf
from .latency import OnPartitions, execution_may_take_ms, held_ms, promise_in_words, promised_rps
from .turns import wrong_rounds
from .violation import NOT_AT_ANY_RATE, RELATIVE, Violation, close_arrays

Predict = Callable[[str, str, str | None, int, int], Prediction | None]
"""Of a model on a GPU type, MIG profile or whole, with a batch and processes; None: nothing is known."""

Rule = tuple[NDArray[np.bool_], Callable[[int], str]]
"""Which rows break it, shape (row,), and what to say of one of them."""


QUALITIES = get_args(Quality)

FAR_TOO_MANY = 10**6
"""Processes beyond this are counted as this: a damaged plan may state more than a float holds."""


def wrong_partitions(
    problem: Problem,
    plan: Plan,
    columns: PlanColumns,
    partitions: Ints,
    predict: Predict,
    basis_of: BasisOf,
    together_rps: Floats | None = None,
) -> Iterator[tuple[int, Violation]]:
    """
    Yields what is wrong with some partitions of a plan, each with the index of its partition.

    Parameters
    ----------
    partitions
        Indices of existing MIG instances, of GPUs that are used whole, and of cores of CPUs.
    together_rps
        Shape (served,): what each is promised beside the others of its service; None: what it is by itself.
    """
    judged = np.zeros(len(columns.partitions), dtype=np.bool_)
    judged[partitions] = True

    def where(partition: int) -> str:
        gpu, place = plan.gpus[columns.gpu[partition]], columns.partitions[partition]
        return f"{gpu.id} {place.kind} at {place.start}" if place.kind else gpu.id

    turns = columns.take_turns & judged
    yield from wrong_rounds(problem, plan, columns, np.flatnonzero(turns), predict, basis_of)
    judged &= ~turns
    several = judged & (np.bincount(columns.partition, minlength=judged.size) > 1)
    for partition in np.flatnonzero(several).tolist():
        message = "serves several workloads; without a duty cycle an instance serves one"
        yield partition, Violation(where(partition), message)
    rows = np.flatnonzero(judged[columns.partition])
    points = _points(columns, rows, predict, basis_of)
    promised_rps, dispatch_ms = np.full((2, *rows.shape), np.nan)
    if problem.settings.latency != "execution":
        promised_rps, dispatch_ms = _promised(problem, columns, rows, points, together_rps)
    rules = _rules(problem, columns, rows, points, promised_rps)
    for row, message in _broken([*rules, _wrong_hold(columns, rows, points, dispatch_ms)]):
        partition = int(columns.partition[rows[row]])
        yield partition, Violation(where(partition), message, named=(columns.served(rows[row]).workload,))
    for row, missed in _broken_promises(problem, columns, rows, points, promised_rps):
        partition = int(columns.partition[rows[row]])
        yield partition, replace(missed, where=plan.gpus[columns.gpu[partition]].id)


def _broken(rules: Sequence[Rule]) -> Iterator[tuple[int, str]]:
    """Yields the rows that break a rule with what is to be said, row by row."""
    wrong = np.zeros(rules[0][0].shape, dtype=np.bool_)
    for breaks, _ in rules:
        wrong |= breaks
    for row in np.flatnonzero(wrong).tolist():
        yield from ((row, message(row)) for breaks, message in rules if breaks[row])


def _rules(problem: Problem, columns: PlanColumns, rows: Ints, points: "_Points", promised_rps: Floats) -> list[Rule]:
    kind, w = columns.served_kind[rows], columns.workload[rows]
    known = w != UNKNOWN
    predicted = points.exist & known
    allowed, memory_mib = _offered(problem, columns.kinds, kind)
    asked = _asked(problem)
    limit_ms, own_mib = asked.limit_ms[w], asked.memory_mib[w]
    needed_mib = np.where(np.isnan(own_mib), points.memory_mib, own_mib * points.processes)
    latency_ms, capacity_rps = columns.latency_ms[rows], columns.capacity_rps[rows]
    rate_rps = columns.rate_rps[rows]

    says_more = {field: _any_says(columns, field) for field in ("causes_ms", "memory_mib")}
    by_execution = problem.settings.latency == "execution"
    stated_rps = _stated(columns, rows, "promised_rps")

    def service(row: int) -> Workload:
        return problem.workloads[int(w[row])]

    def served(row: int) -> Served:
        return columns.served(rows[row])

    def other_gpu(row: int) -> bool:
        gpus = service(row).gpus
        return gpus is not None and columns.kinds[kind[row]][0] not in gpus

    def other_batch(row: int) -> bool:
        batch_sizes = service(row).batch_sizes
        return batch_sizes is not None and served(row).batch not in batch_sizes

    return [
        (
            ~known,
            lambda row: f"serves {served(row).workload!r}, which is not in the problem",
        ),
        (
            known & (points.processes > allowed),
            lambda row: f"runs {served(row).processes} processes; at most {allowed[row]:g} are allowed",
        ),
        (
            _only(known & asked.on_some_gpus[w], other_gpu),
            lambda row: f"serves {SERVICES}, which allows only {', '.join(service(row).gpus or ())}",
        ),
        (
            _only(known & asked.in_some_batches[w], other_batch),
            lambda row: f"batch {served(row).batch} is not allowed for {SERVICES}",
        ),
        (
            _only(known & says_more["causes_ms"], lambda row: served(row).causes_ms is not None),
            lambda row: (
                f"splits its {latency_ms[row]:.6g} ms (causes_ms), which is known under MPS only; expected null"
            ),
        ),
        (
            _only(known & says_more["memory_mib"], lambda row: served(row).memory_mib is not None),
            lambda row: f"states memory_mib {served(row).memory_mib:g}, as shares under MPS do; expected null",
        ),
        (
            known & ~predicted,
            lambda row: (
                f"no profile of {service(row).model} knows batch {served(row).batch} "
                f"with {served(row).processes} processes here"
            ),
        ),
        (
            predicted & ~close_arrays(points.latency_ms, latency_ms),
            lambda row: f"states {latency_ms[row]:.6g} ms; the profile gives {points.latency_ms[row]:.6g} ms",
        ),
        (
            predicted & ~close_arrays(points.capacity_rps, capacity_rps),
            lambda row: f"states {capacity_rps[row]:.6g} req/s; the profile gives {points.capacity_rps[row]:.6g}",
        ),
        (
            predicted & (points.basis != _bases(columns)[rows]),
            lambda row: f"states the basis {served(row).basis}; the profile's is {QUALITIES[points.basis[row]]}",
        ),
        (
            known & by_execution & ~np.isnan(stated_rps),
            lambda row: f"states promised_rps {stated_rps[row]:g}, but by execution nothing is promised; expected null",
        ),
        (
            predicted & (not by_execution) & ~close_arrays(stated_rps, promised_rps),
            lambda row: (
                f"states promised_rps {stated_rps[row]:.6g}; what {SERVICES} is promised holds up to "
                f"{promised_rps[row]:.6g} req/s here"
            ),
        ),
        (
            predicted & by_execution & (points.latency_ms > limit_ms * (1 + RELATIVE)),
            lambda row: (
                f"{SERVICES} takes {points.latency_ms[row]:.6g} ms; "
                f"its SLO of {service(row).slo_ms:g} ms leaves {limit_ms[row]:g} ms"
            ),
        ),
        (
            predicted & (rate_rps > points.capacity_rps * (1 + RELATIVE)),
            lambda row: f"takes {rate_rps[row]:.6g} req/s; its capacity is {points.capacity_rps[row]:.6g}",
        ),
        (
            predicted & (needed_mib > memory_mib),  # nan, unknown, breaks nothing
            lambda row: f"needs {needed_mib[row]:g} MiB of memory; it has {memory_mib[row]:g} MiB",
        ),
    ]


def _wrong_hold(columns: PlanColumns, rows: Ints, points: "_Points", dispatch_ms: Floats) -> Rule:
    """Returns which rows say otherwise how long their batches are held; `dispatch_ms`: as they must be, nan: not."""
    stated = _stated(columns, rows, "dispatch_after_ms")
    agree = np.where(np.isnan(dispatch_ms), np.isnan(stated), close_arrays(stated, dispatch_ms))

    def message(row: int) -> str:
        expected = "null" if np.isnan(dispatch_ms[row]) else f"{dispatch_ms[row]:.6g} ms"
        given = columns.served(rows[row]).dispatch_after_ms
        return f"states dispatch_after_ms {'null' if given is None else f'{given:.6g}'}; expected {expected}"

    return (points.exist & (columns.workload[rows] != UNKNOWN) & ~agree.astype(np.bool_), message)


def _stated(columns: PlanColumns, rows: Ints, field: str) -> Floats:
    """Returns what rows state in a field; nan: null."""
    if not _any_says(columns, field):
        return np.full(rows.shape, np.nan)
    return np.array(columns.stated(field), dtype=np.float64)[columns.record[rows]]  # None becomes nan


def _promised(
    problem: Problem, columns: PlanColumns, rows: Ints, points: "_Points", together_rps: Floats | None
) -> tuple[Floats, Floats]:
    """
    Returns what the problem's promise takes of the operating points, both of shape (row,).

    The greatest rates at which it holds, and for how long batches must be held for it; nan: they are not.
    """
    asked, w = _asked(problem), columns.workload[rows]
    there = points.exist & (w != UNKNOWN)
    found, held = np.full((2, *rows.shape), np.nan)
    own = w[there]
    served = OnPartitions(
        columns.batch[rows][there].astype(np.float64),
        points.processes[there],
        points.latency_ms[there],
        points.capacity_rps[there],
        asked.slo_ms[own],
        asked.quantile[own],
        asked.rate_rps[own],
    )
    if together_rps is None:
        found[there] = promised_rps(problem.settings, served, _stated(columns, rows, "promised_rps")[there])
    else:
        found[there] = together_rps[rows[there]]
    held[there] = held_ms(problem.settings, served)
    return found, held


def _broken_promises(
    problem: Problem, columns: PlanColumns, rows: Ints, points: "_Points", promised: Floats
) -> Iterator[tuple[int, Violation]]:
    """Yields the rows at whose rate the promise does not hold, each with what is missed; `where` is left open."""
    rate_rps, in_words = columns.rate_rps[rows], promise_in_words(problem.settings)
    for row in np.flatnonzero(rate_rps > promised * (1 + RELATIVE)).tolist():
        workload = problem.workloads[int(columns.workload[rows[row]])]
        place = columns.partitions[columns.partition[rows[row]]]
        at = f"at {place.start} " if place.start is not None else ""
        message = (
            f"{at}takes {rate_rps[row]:.6g} req/s; {in_words(workload)} up to {promised[row]:.6g} req/s here, "
            f"where a batch takes {points.latency_ms[row]:.6g} ms"
        )
        above = float(rate_rps[row] / promised[row] - 1) if promised[row] > 0 else NOT_AT_ANY_RATE
        yield row, Violation("", message, workload.name, above)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What the workloads ask for; all arrays of shape (workload,)."""

    slo_ms: Floats
    rate_rps: Floats
    """With the headroom."""
    quantile: Floats
    limit_ms: Floats
    memory_mib: Floats
    """Of one process; nan: what the profile says."""
    on_some_gpus: NDArray[np.bool_]
    in_some_batches: NDArray[np.bool_]


def _asked(problem: Problem) -> _Asked:
    gpus, batch_sizes = (list(map(attrgetter(field), problem.workloads)) for field in ("gpus", "batch_sizes"))
    slo_ms, rate_rps, quantile, memory_mib = (
        np.array(list(map(attrgetter(field), problem.workloads)), dtype=np.float64)  # None becomes nan
        for field in ("slo_ms", "rate_rps", "slo_quantile", "memory_mib")
    )
    return _Asked(
        slo_ms,
        rate_rps * (1 + problem.settings.headroom),
        np.where(np.isnan(quantile), problem.settings.quantile, quantile),
        execution_may_take_ms(problem.settings, slo_ms),
        memory_mib,
        _given(gpus),
        _given(batch_sizes),
    )


def _given(values: Sequence[object]) -> NDArray[np.bool_]:
    if values.count(None) == len(values):
        return np.zeros(len(values), dtype=np.bool_)
    return np.array([value is not None for value in values])


@dataclass(frozen=True, eq=False)
class _Points:
    """What the profiles say of the operating point of every row; all arrays of shape (row,)."""

    exist: NDArray[np.bool_]
    processes: Floats
    latency_ms: Floats
    capacity_rps: Floats
    memory_mib: Floats
    """Of all processes; nan: unknown."""
    basis: Ints
    """Index into QUALITIES."""


def _points(columns: PlanColumns, rows: Ints, predict: Predict, basis_of: BasisOf) -> _Points:
    """Predicts each operating point once: many services have the same."""
    asked = (columns.model[rows], columns.served_kind[rows], columns.batch[rows], columns.processes[rows])
    points, of_row = _different(asked)
    keys = [(columns.models[m], *columns.kinds[k][:2], batch, processes) for m, k, batch, processes in points]
    found = [predict(*key) for key in keys]
    known = (basis_of(*key) for key in keys)
    basis = np.array([UNKNOWN if one is None else QUALITIES.index(one) for one in known], dtype=np.int64)
    nothing = Prediction(np.nan, np.nan, None)
    figures = np.array(
        [
            (point is not None, min(processes, FAR_TOO_MANY), one.latency_ms, one.capacity_rps, one.memory_mib)
            for (*_, processes), point in zip(points, found, strict=True)
            for one in [point or nothing]
        ],
        dtype=np.float64,  # None becomes nan
    ).reshape(-1, 5)
    exist, processes_of, latency_ms, capacity_rps, memory_mib = figures[of_row].T
    return _Points(exist > 0, processes_of, latency_ms, capacity_rps, memory_mib, basis[of_row])


def _bases(columns: PlanColumns) -> Ints:
    """Returns what the plan says that its predictions rest on: indices into QUALITIES, shape (served,)."""
    number = {quality: i for i, quality in enumerate(QUALITIES)}
    return np.array([number[basis] for basis in columns.stated("basis")], dtype=np.int64)[columns.record]


def _any_says(columns: PlanColumns, field: str) -> bool:
    """Tells whether a field is given anywhere; almost always it is null, which a loop in C tells."""
    values = columns.stated(field)
    return values.count(None) < len(values)


def _different(columns: Sequence[Ints]) -> tuple[list[tuple[int, ...]], Ints]:
    """Returns the different rows of a table of numbers from 0 on, and for each row its index among them."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values = int(column.max(initial=0)) + 1
        digits = column
        if (int(number.max(initial=0)) + 1) * values >= np.iinfo(np.int64).max:
            number, (few, _, digits) = different(number).which, different(column)
            values = len(few)
        number = number * values + digits
    _, example, number = different(number)
    return list(zip(*(column[example].tolist() for column in columns), strict=True)), number


def _offered(problem: Problem, kinds: Sequence[PartitionKind], kind: Ints) -> tuple[Floats, Floats]:
    """Returns of every row how many processes its partition allows, and its memory in MiB; nan: unknown."""
    offers = np.full((2, len(kinds)), np.nan)
    for k in np.unique(kind).tolist():
        gpu, mig_profile, _ = kinds[k]
        if (cpu := load_cpus().get(gpu)) is not None:
            mib = None if cpu.memory_mib is None else cpu.memory_mib * cores_named(mig_profile) / cpu.core_count
            offers[:, k] = problem.settings.max_processes, np.nan if mib is None else mib
            continue
        facts = load_catalogue()[gpu]
        mig = facts.mig.profile(mig_profile) if facts.mig and mig_profile else None
        memory_mib = mig.memory_mib if mig else facts.memory_mib
        allowed = min(facts.mps_client_limit(mig), problem.settings.max_processes)
        offers[:, k] = allowed, np.nan if memory_mib is None else memory_mib
    allowed_of, memory_of = offers[:, kind]
    return allowed_of, memory_of


def _only(candidates: NDArray[np.bool_], breaks: Callable[[int], bool]) -> NDArray[np.bool_]:
    """Returns which of the candidates break a rule that is tried on each."""
    wrong = np.zeros_like(candidates)
    tried = np.flatnonzero(candidates).tolist()
    wrong[tried] = [breaks(row) for row in tried]
    return wrong
