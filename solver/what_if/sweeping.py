"""A sweep: all its points, coarse first, each begun at the slice prices of the nearest one that is solved."""

import threading
from collections.abc import Iterator, Sequence

from ..model.digest import reference
from ..model.judged import weights_of
from ..model.plan import Prices
from ..model.prices import prices_of
from ..model.sweep_report import CostStep, SweepPoint, SweepReport
from ..performance.references import refuse_unknown
from ..runtime.interruption import interruption
from ..workers.executors import Workers
from ..workers.gathering import Submission, gathered
from .order import Index, Nearest, coarse_first
from .points import Sweep, failed_point, said, solve_point


def swept(sweep: Sweep, workers: Workers, *, stop: threading.Event | None = None) -> Iterator[SweepPoint]:
    """
    Yields the points as they are solved; one that fails has its reason.

    When `stop` is set (None: what interrupts searches here), or the iterator is closed, no further points come, and
    what is not needed any more is cancelled.
    Points depend on the order of the others only where a search ends with a gap: prices to start from change the
    time that a proof takes.

    Raises
    ------
    InputError
        If the problem refers to a GPU type or a model that does not exist: no point could be solved.
    """
    refuse_unknown(sweep.problem, sweep.profiles)
    stop = interruption() if stop is None else stop
    data = sweep.packed()
    nearest = Nearest(sweep.sizes)
    prices: dict[Index, Prices] = {}

    def call(index: Index) -> Submission:
        near = nearest.to(index)
        return solve_point, data, index, None if near is None else prices[near]

    for index, answer, retries in gathered(coarse_first(sweep.sizes), call, workers, stop=stop):
        if isinstance(answer, BaseException):
            yield failed_point(sweep, index, said(answer), retries=retries)
            continue
        point: SweepPoint = answer.model_copy(update={"retries": retries})
        if point.prices is not None:
            prices[index] = point.prices
            nearest.add(index)
        yield point


def sweep_report(sweep: Sweep, points: Sequence[SweepPoint], steps: Sequence[CostStep] = ()) -> SweepReport:
    """Returns points and steps that are there as one record, in the order of their indices."""
    return SweepReport(
        version=1,
        problem=reference(sweep.problem),
        axes=sweep.axes,
        points=tuple(sorted(points, key=lambda point: point.index)),
        steps=tuple(sorted(steps, key=lambda step: (step.cheaper, step.dearer))),
        missing=sweep.points - len(points),
        gpu_prices=prices_of(sweep.problem),
        weights=weights_of(sweep.problem),
        labels=sweep.problem.labels,
    )
