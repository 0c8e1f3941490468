"""
Which workloads to serve where the GPUs are too few for all of them: those of most value, and a bound on that value.

The program is that of most_served.py. Under MPS its columns are the sets of residents that were listed. They bound the
value only where they are all that there are and no rate may be split in another way; elsewhere the fluid relaxation
(mps/program.py) does. Prices give a first bound, and a first choice (first_choice.py). Under MPS a plan for all
workloads that takes more GPUs than there are gives one too: those of its GPUs that carry most value.

Partitions that are kept free are kept for those that are served; MPS has none.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from ...allocation.allocated import AllocatedGpu, CutGpu, MpsGpu
from ...performance.resolve import ResolvedProblem
from ..mig.cutting_stock import CuttingStockAnswer
from ..mig.decoding import cut_gpus
from ..mig.spare_rules import SpareRules, spare_rules
from ..mps.columns import columns_of_gpus, enumerate_columns, item_tables
from ..mps.decoding import shared_gpus
from ..mps.items import Item, mps_items
from ..mps.program import MpsAnswer, PartBuilder, as_fluid, by_columns
from .first_choice import first_choice, most_value, order_of_choice, prices_to_choose_by
from .longest_beginning import longer_beginnings
from .most_served import MostServed, most_served

BEGINNING = 0.4
"""Part of the time that the first choices and the bound by prices may take."""

MOST_FOR_PROGRAM = 3_000
"""Workloads up to which a program looks for a better choice."""

BOUNDING = 0.2
"""Part of the time then left that the fluid bound may take."""


@dataclass(frozen=True, eq=False)
class MostValuable:
    """The workloads to serve for most value, and a bound on that value."""

    served: list[int]
    most: float
    """Proven: no workloads that the fleet can serve are worth more."""
    gpus: Callable[[], Sequence[AllocatedGpu]] = list
    """Builds GPUs that serve them; workloads are numbered among the served ones."""
    points: ResolvedProblem | None = None
    """Whose operating points the GPUs run, with the served workloads only; None: those of the problem."""


def most_valuable(
    resolved: ResolvedProblem,
    *,
    known: Iterable[Sequence[MpsGpu]] = (),
    enough: float = 1.0,
    on_answer: Callable[[MostValuable], None],
    time_limit_s: float,
) -> MostValuable:
    """
    Returns the workloads to serve for most value.

    Parameters
    ----------
    known
        GPUs under MPS that serve all workloads, and may be more than there are; looked for when they are asked for.
    enough
        Part of the proven bound at which a choice is good enough to stop before the large program.
    on_answer
        Called with the best workloads that are known so far.
    """
    deadline = time.monotonic() + time_limit_s
    worth = [workload.worth for workload in resolved.problem.workloads]
    best = MostValuable([], float(sum(worth)))
    rules = spare_rules(resolved.problem.settings)
    placed: list[Sequence[MpsGpu]] = []
    others = _kept(() if rules else known, placed)
    for choice in _first_choices(resolved, rules, others, best.most, BEGINNING * time_limit_s):
        best = _better(worth, best, choice)
        on_answer(best)
    if sum(worth[w] for w in best.served) >= enough * best.most or (best.served and len(worth) > MOST_FOR_PROGRAM):
        return best
    items, builder, proves = _shared_part(resolved, placed)
    if not proves:
        left = BOUNDING * (deadline - time.monotonic())
        fluid = most_served(resolved, worth=worth, time_limit_s=left, shared=as_fluid(resolved))
        best = replace(best, most=min(best.most, fluid.most))
        on_answer(best)

    def answer(found: MostServed) -> MostValuable:
        served = [w for w, is_served in enumerate(found.served) if is_served]
        most = found.most if proves else best.most
        return _better(worth, best, MostValuable(served, most, partial(_gpus_for, resolved, items, found, served)))

    found = most_served(
        resolved,
        worth=worth,
        time_limit_s=deadline - time.monotonic(),
        shared=builder,
        spare=rules,
        on_answer=lambda found: on_answer(answer(found)),
    )
    return answer(found)


def _kept(known: Iterable[Sequence[MpsGpu]], seen: list[Sequence[MpsGpu]]) -> Iterator[Sequence[MpsGpu]]:
    """Yields what is known, and adds it to what was seen."""
    for gpus in known:
        seen.append(gpus)
        yield gpus


def _first_choices(
    resolved: ResolvedProblem,
    rules: SpareRules | None,
    known: Iterator[Sequence[MpsGpu]],
    most: float,
    time_limit_s: float,
) -> Iterator[MostValuable]:
    """Yields choices that are there before any large program: of known GPUs, and by prices, with their bound."""
    placed_by = time.monotonic() + time_limit_s / 2
    for gpus in islice(known, 1):
        yield _on_their_best(resolved, gpus, most)
    choosing = []
    for prices in prices_to_choose_by(resolved, deadline=time.monotonic() + time_limit_s / 4):
        choosing.append(prices)
        most = min(most, most_value(resolved, prices))
        yield MostValuable([], most)
    for gpus in known if time.monotonic() < placed_by else ():
        yield _on_their_best(resolved, gpus, most)
        if time.monotonic() > placed_by:
            break
    # Of equal bounds the last one's prices: they know which type is scarce.
    best = min(reversed(choosing), key=lambda prices: most_value(resolved, prices))
    first = first_choice(resolved, rules, best, time_limit_s=time_limit_s / 4)
    if first is not None:
        yield _chosen(resolved, *first, most)
    if not resolved.mps:
        fits = 0 if first is None else len(first[0])
        longer = longer_beginnings(
            resolved, order_of_choice(resolved, best), rules, fits=fits, most=most, time_limit_s=time_limit_s / 2
        )
        yield from (_chosen(resolved, served, built, most) for served, built in longer)


def _chosen(resolved: ResolvedProblem, served: list[int], built: CuttingStockAnswer, most: float) -> MostValuable:
    return MostValuable(served, most, partial(_built_gpus, resolved.restricted_to(served), built))


def _built_gpus(resolved: ResolvedProblem, built: CuttingStockAnswer) -> list[CutGpu]:
    """Returns the GPUs of a plan that was built."""
    if built.patterns is None or built.partitions is None:
        return []
    return cut_gpus(resolved, built.patterns, built.partitions, None if built.spares is None else built.spares.free)


def _better(worth: Sequence[float], one: MostValuable, other: MostValuable) -> MostValuable:
    """Returns the choice of more value, with the lower bound of the two."""
    value = [sum(worth[w] for w in choice.served) for choice in (one, other)]
    return replace(one if value[0] >= value[1] else other, most=min(one.most, other.most))


def _on_their_best(resolved: ResolvedProblem, gpus: Sequence[MpsGpu], most: float) -> MostValuable:
    """
    Returns the workloads that are served by the GPUs of most value alone, of as many as there are.

    Of a workload on several GPUs, each has a part of the value.
    """
    workloads = resolved.problem.workloads
    spread = Counter(w for gpu in gpus for w in set(gpu.workloads))
    order = sorted(gpus, key=lambda gpu: -sum(workloads[w].worth / spread[w] for w in set(gpu.workloads)))
    used: Counter[str] = Counter()
    lost: set[int] = set()
    for gpu in order:
        available = resolved.fleet_by_name[gpu.gpu].available
        if available is not None and used[gpu.gpu] >= available:
            lost.update(gpu.workloads)
        used[gpu.gpu] += 1
    replicas = Counter(w for gpu in gpus for w in gpu.workloads)
    served = [
        w
        for w, workload in enumerate(workloads)
        if w not in lost
        and workload.min_replicas <= replicas[w] <= (workload.max_replicas or replicas[w])
        and replicas[w]
    ]
    return MostValuable(served, most, partial(_left_on, gpus, served))


def _left_on(gpus: Sequence[MpsGpu], served: Sequence[int]) -> list[MpsGpu]:
    """Returns the GPUs with the residents of some workloads, numbered among these; fewer neighbours slow nobody."""
    number = {w: i for i, w in enumerate(served)}
    left: list[MpsGpu] = []
    for gpu in gpus:
        residents = [replace(one, workload=number[one.workload]) for one in gpu.residents if one.workload in number]
        left.append(MpsGpu(gpu.gpu, tuple(residents)))
    return [gpu for gpu in left if gpu.is_used]


def _shared_part(
    resolved: ResolvedProblem, known: Sequence[Sequence[MpsGpu]]
) -> tuple[Sequence[Item], PartBuilder | None, bool]:
    """Returns the items under MPS, what adds them to the program, and whether that one then bounds every choice."""
    if not resolved.mps:
        return (), None, True
    shared = mps_items(resolved, parts=False)
    listed = [enumerate_columns(table) for table in item_tables(resolved, shared)]
    columns = [column for of_type in listed for column in of_type.columns]
    proves = (
        not shared.splits
        and all(of_type.complete for of_type in listed)
        and all(column.batches is not None for column in columns)
    )
    more = [column for gpus in known for column in columns_of_gpus(resolved, shared, gpus)]
    feasible = dict.fromkeys(column for column in [*columns, *more] if column.batches is not None)
    return shared.items, by_columns(resolved, shared, list(feasible)), proves


def _gpus_for(
    resolved: ResolvedProblem, items: Sequence[Item], found: MostServed, served: Sequence[int]
) -> list[AllocatedGpu]:
    """Returns GPUs that serve the workloads of a set, numbered within it."""
    rest = resolved.restricted_to(served)
    number = {w: i for i, w in enumerate(served)}
    residents = {item: [number[w] for w in own if w in number] for item, own in found.shared.residents.items()}
    return [
        *cut_gpus(rest, found.patterns, found.partitions[list(served)], found.spares),
        *shared_gpus(rest, items, MpsAnswer(found.shared.columns, residents)),
    ]
