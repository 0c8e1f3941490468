"""
Which GPU of the new plan becomes which GPU that exists, so that least is disturbed.

Data
    o in O         classes of GPUs that exist and run the same, n_o of them; m_ow partitions of service w on each
    c in C         classes of GPUs of the new plan with the same content, n_c of them
    p in P         ways to turn an o into a c that keep something (matches.py); k_pw partitions of w stay
    W              services of both plans that the new plan lets keep all their running partitions
Variables
    x_p            how many GPUs go this way; all variables are integers from 0
    y_w            service w is disturbed, 0 or 1: one of its running partitions is stopped or moved; more never pays
Model
    min   B sum_w y_w - sum_p (sum_w k_pw) x_p                                     B: more than there are partitions
    s.t.  sum_{p of o} x_p <= n_o,   sum_{p of c} x_p <= n_c                       for every o, c
          sum_{p of o} k_pw x_p + n_o m_ow y_w >= n_o m_ow                         for every o, w in W

First fewest services, then fewest partitions. GPUs that no way is chosen for keep nothing and are dealt afterwards,
the idle ones first, where everything can be built beside what runs. Without the y it is a transport problem, whose
linear relaxation has integer corners: that answers for partitions alone, and is the answer where the program with
services gives none within its limit. Services outside W lose a partition in every assignment, because the new plan
has fewer of the kind on this type of GPU.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite

import numpy as np
from ortools.math_opt.python import mathopt

from ..exact.backends.array_program import program_of
from ..exact.backends.highs import end_of, run_highs
from ..exact.backends.sparse_rows import sparse_rows
from ..model.problem import Sharing
from .matches import Match, matches
from .tenancies import RealGpu, TenancyKind, WantedGpu

PROVEN = "integer program over the assignments of GPUs, solved to optimality"
UNFINISHED = "integer program over the assignments of GPUs, ended by its time limit; the limit is its dual bound"
BY_PARTITIONS = "transport problem: fewest partitions; the limit is the dual bound of an unfinished integer program"

WITHIN_ONE = 0.999
"""How close to its bound a program may end; costs are whole numbers, so nothing is better then."""


@dataclass(frozen=True)
class Assignment:
    """For each GPU of the new plan the GPU that it becomes, and what stays there."""

    real: tuple[int, ...]
    match: tuple[Match | None, ...]
    fewest_services: int | None
    """Lower limit on the services that are disturbed; None: unknown."""
    proven: bool
    method: str


@dataclass(frozen=True)
class _Way:
    runs: int
    wants: int
    match: Match


@dataclass(frozen=True)
class _Answer:
    """Of a program: whole values of its variables, None where none was found; and what no values come below."""

    x: list[int] | None
    bound: float
    """-inf: unknown."""
    proven: bool


def least_disturbance(
    real: Sequence[RealGpu],
    wanted: Sequence[WantedGpu],
    both: Iterable[str],
    *,
    fixed_starts: bool = False,
    time_limit_s: float,
) -> Assignment:
    """
    Returns the assignment that disturbs the fewest services, and of those the one that moves the fewest partitions.

    Parameters
    ----------
    both
        The services of both plans; those that end are not counted as disturbed.
    time_limit_s
        Of the program with services, which also ends with the search that it is a part of.

    Raises
    ------
    TimeoutError
        If that search ended before there was any assignment.
    """
    runs = _classes((gpu.gpu, frozenset(Counter(gpu.runs).items())) for gpu in real)
    wants = _classes(
        (gpu.gpu, frozenset(Counter(gpu.wants if fixed_starts else [one.kind for one in gpu.wants]).items()))
        for gpu in wanted
    )
    ways = list(_ways(real, wanted, runs, wants, fixed_starts))
    possible = _may_stay(real, wanted, set(both))
    disturbed_anyway = len({w for gpu in real for one in gpu.runs for w in one.workloads} & set(both)) - len(possible)
    counts, bound, method = _solved(real, runs, wants, ways, sorted(possible), time_limit_s)
    places: list[int | None] = [None] * len(wanted)
    chosen: list[Match | None] = [None] * len(wanted)
    left_runs, left_wants = [list(one) for one in runs], [list(one) for one in wants]
    for way, times in zip(ways, counts, strict=True):
        for _ in range(times):
            j = left_wants[way.wants].pop(0)
            places[j], chosen[j] = left_runs[way.runs].pop(0), way.match
    settled = deal_the_rest(real, wanted, places)
    fewest = None if bound is None else disturbed_anyway + bound
    return Assignment(tuple(settled), tuple(chosen), fewest, method == PROVEN, method)


def deal_the_rest(real: Sequence[RealGpu], wanted: Sequence[WantedGpu], places: Sequence[int | None]) -> list[int]:
    """
    Gives the GPUs of the new plan that have none yet one of those that are left.

    Idle GPUs come first, then those with the same sharing, then those with the least on them.
    """
    taken = set(places)
    free: defaultdict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(real):
        if i not in taken:
            free[one.gpu].append(i)
    settled = []
    for gpu, place in zip(wanted, places, strict=True):
        if place is None:

            def reluctance(i: int, sharing: Sharing = gpu.sharing) -> tuple[bool, bool, int, int]:
                return bool(real[i].runs), real[i].sharing != sharing, len(real[i].runs), i

            place = min(free[gpu.gpu], key=reluctance)
            free[gpu.gpu].remove(place)
        settled.append(place)
    return settled


def _classes(keys: Iterable[Hashable]) -> list[list[int]]:
    """Returns the indices of equal keys, together."""
    grouped: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        grouped.setdefault(key, []).append(i)
    return list(grouped.values())


def _ways(
    real: Sequence[RealGpu],
    wanted: Sequence[WantedGpu],
    runs: Sequence[Sequence[int]],
    wants: Sequence[Sequence[int]],
    fixed_starts: bool,
) -> Iterable[_Way]:
    """Yields every way to keep something; pairs of GPUs with nothing in common are not looked at."""
    with_kind: defaultdict[tuple[str, TenancyKind], set[int]] = defaultdict(set)
    for c, members in enumerate(wants):
        for one in wanted[members[0]].wants:
            with_kind[wanted[members[0]].gpu, one.kind].add(c)
    for o, members in enumerate(runs):
        gpu = real[members[0]]
        for c in sorted({c for one in gpu.runs for c in with_kind[gpu.gpu, one.kind]}):
            for match in matches(gpu.gpu, gpu.runs, wanted[wants[c][0]].wants, fixed_starts=fixed_starts):
                yield _Way(o, c, match)


def _may_stay(real: Sequence[RealGpu], wanted: Sequence[WantedGpu], both: set[str]) -> set[str]:
    """Returns the services that the new plan gives at least their running partitions, kind by kind."""
    has = Counter((gpu.gpu, one.kind) for gpu in real for one in gpu.runs)
    will = Counter((gpu.gpu, one.kind) for gpu in wanted for one in gpu.wants)
    running = {w for gpu in real for one in gpu.runs for w in one.workloads} & both
    return running - {w for (gpu, kind), times in has.items() if will[gpu, kind] < times for w, _, _ in kind[3]}


def _solved(
    real: Sequence[RealGpu],
    runs: Sequence[Sequence[int]],
    wants: Sequence[Sequence[int]],
    ways: Sequence[_Way],
    services: Sequence[str],
    time_limit_s: float,
) -> tuple[list[int], int | None, str]:
    """Returns x, a lower limit on the sum of y, and how they were found."""
    if not ways:
        return [], len(services), PROVEN
    stays = [-float(way.match.count) for way in ways]
    # No more of a class than there are: first the rows of what runs, then those of what is wanted.
    limits = [float(len(members)) for members in (*runs, *wants)]
    entries = [(way.runs, at, 1.0) for at, way in enumerate(ways)]
    entries += [(len(runs) + way.wants, at, 1.0) for at, way in enumerate(ways)]
    least: int | None = 0
    if services:
        answer = _with_services(real, runs, ways, services, stays, limits, entries, time_limit_s)
        least = _whole_services(answer.bound, _big(real))
        if answer.x is not None:
            proven, disturbed = answer.proven, sum(answer.x[len(ways) :])
            return answer.x[: len(ways)], disturbed if proven else least, PROVEN if proven else UNFINISHED
    plain = _least(stays, [], limits, entries, [], inf)
    if plain.x is None or not plain.proven:
        raise TimeoutError("no assignment of the new plan's GPUs was found in time")
    return plain.x, least, BY_PARTITIONS if services else PROVEN


def _whole_services(bound: float, big: float) -> int | None:
    """
    Returns how many services are disturbed at least; None: unknown.

    Parameters
    ----------
    bound
        Of the program, which counts B for each service, less the partitions that stay; infinite: there is none.
    """
    return max(0, ceil(bound / big - 1e-6)) if isfinite(bound) else None


def _big(real: Sequence[RealGpu]) -> float:
    return 1.0 + sum(len(gpu.runs) for gpu in real)


def _with_services(
    real: Sequence[RealGpu],
    runs: Sequence[Sequence[int]],
    ways: Sequence[_Way],
    services: Sequence[str],
    moved: Sequence[float],
    limits: Sequence[float],
    entries: Sequence[tuple[int, int, float]],
    time_limit_s: float,
) -> _Answer:
    number = {service: i for i, service in enumerate(services)}
    more: list[tuple[int, int, float]] = []
    needed: list[float] = []
    row_of: dict[tuple[int, int], int] = {}
    for o, members in enumerate(runs):
        held = Counter(number[w] for one in real[members[0]].runs for w in one.workloads if w in number)
        for i, times in held.items():
            row_of[o, i] = len(needed)
            more.append((len(needed), len(ways) + i, float(len(members) * times)))
            needed.append(float(len(members) * times))
    for at, way in enumerate(ways):
        stays = Counter[int]()
        for kind, times in way.match.kept:
            for w, _, _ in kind[3]:
                if w in number:
                    stays[number[w]] += times
        more += [(row_of[way.runs, i], at, float(times)) for i, times in stays.items()]
    cost = [*moved, *([_big(real)] * len(services))]
    return _least(cost, needed, limits, entries, more, time_limit_s)


def _least(
    cost: Sequence[float],
    needed: Sequence[float],
    limits: Sequence[float],
    entries: Sequence[tuple[int, int, float]],
    more: Sequence[tuple[int, int, float]],
    time_limit_s: float,
) -> _Answer:
    """Minimises a cost of whole numbers with rows `limits` from above (entries) and rows `needed` from below (more)."""
    at_least = [(row + len(limits), column, value) for row, column, value in more]
    row, column, value = zip(*(*entries, *at_least), strict=True)
    shape = (len(limits) + len(needed), len(cost))
    matrix = sparse_rows(np.array(row), np.array(column), np.array(value), shape)
    lower = np.array([*([-inf] * len(limits)), *needed])
    upper = np.array([*limits, *([inf] * len(needed))], dtype=float)
    program = program_of(matrix, lower, upper, np.full(len(cost), inf), name="assignment")
    model = mathopt.Model.from_model_proto(program)
    variables = list(model.variables())
    model.minimize(mathopt.LinearSum(by * one for by, one in zip(cost, variables, strict=True)))
    result = run_highs(model, time_limit_s, absolute_gap=WITHIN_ONE)
    bound = result.termination.objective_bounds.dual_bound
    if not result.has_primal_feasible_solution():
        return _Answer(None, bound, proven=False)
    values = [round(x) for x in result.variable_values(variables)]
    return _Answer(values, bound, proven=end_of(result) == "optimal")
