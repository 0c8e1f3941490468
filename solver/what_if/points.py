"""One point of a sweep, as a worker process solves it: small in, small out."""

import pickle
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from ..model.errors import InputError, described
from ..model.judged import judged
from ..model.plan import Plan, Prices
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.sweep_report import Axis, SweepPoint
from .axes import with_values
from .order import Index


@dataclass(frozen=True)
class Sweep:
    """A problem, what is varied of it (axes.py: `checked_axes`), and how long each point may take."""

    problem: Problem
    profiles: Sequence[Profile]
    axes: tuple[Axis, ...]
    time_limit_s: float | None = None
    """Seconds a point; None: the problem's own limit."""
    gap: float | None = None
    """With which the search of each point may end, as for `api.solve`; None: the problem's own."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def points(self) -> int:
        """The number of points."""
        return prod(self.sizes)

    def values_at(self, index: Index) -> tuple[float, ...]:
        """Returns the values of a point."""
        return tuple(axis.values[i] for axis, i in zip(self.axes, index, strict=True))

    def problem_at(self, index: Index) -> Problem:
        """Returns the problem of a point."""
        return with_values(self.problem, self.axes, self.values_at(index))

    def packed(self) -> bytes:
        """Returns the sweep as it travels to workers, with those of its profiles that can matter."""
        return pickle.dumps(replace(self, profiles=used_profiles(self.problem, self.profiles)))


@lru_cache(maxsize=8)
def unpacked(data: bytes) -> Sweep:
    """Returns a packed sweep; workers keep the last few."""
    sweep: Sweep = pickle.loads(data)
    return sweep


def used_profiles(problem: Problem, profiles: Sequence[Profile]) -> list[Profile]:
    """Returns the profiles of a problem's models on its GPU types."""
    models, gpus = {one.model for one in problem.workloads}, {entry.gpu for entry in problem.fleet}
    return [profile for profile in profiles if profile.model in models and profile.gpu in gpus]


def solve_point(data: bytes, index: Index, start: Prices | None) -> SweepPoint:
    """Returns the answer for one point of a packed sweep; whatever goes wrong is the answer's reason."""
    from .. import api  # here, so that only workers load the solvers

    sweep = unpacked(data)
    started = time.perf_counter()
    try:
        plan = api.solve(
            sweep.problem_at(index),
            profiles=sweep.profiles,
            time_limit_s=sweep.time_limit_s,
            gap=sweep.gap,
            start=start,
        )
    except Exception as error:
        return failed_point(sweep, index, said(error), time.perf_counter() - started)
    own = judged(plan)
    return SweepPoint(
        index=index,
        values=sweep.values_at(index),
        status=plan.status.value,
        reason=why_no_plan(plan),
        stopped=plan.search.stopped,
        cost_per_hour=plan.cost_per_hour,
        bound_per_hour=plan.bound.cost_per_hour,
        gap=own.gap,
        gpus=dict(sorted(Counter(gpu.gpu for gpu in plan.gpus).items())),
        runtime_s=round(time.perf_counter() - started, 6),
        prices=plan.prices,
        capacity=None if plan.capacity is None else own.value,
        capacity_limit=None if plan.capacity is None else own.bound,
    )


def failed_point(sweep: Sweep, index: Index, reason: str, runtime_s: float = 0.0, retries: int = 0) -> SweepPoint:
    """Returns a point without an answer."""
    return SweepPoint(
        index=index,
        values=sweep.values_at(index),
        status="failed",
        reason=reason,
        stopped=None,
        cost_per_hour=None,
        bound_per_hour=None,
        gap=None,
        gpus={},
        runtime_s=round(runtime_s, 6),
        retries=retries,
    )


def why_no_plan(plan: Plan) -> str | None:
    """Returns why a plan has no GPUs; None: it has."""
    if plan.cost_per_hour is not None:
        return None
    if not plan.unserved:
        return "no plan was found in time"
    first, *others = plan.unserved
    more = f" (and {len(others)} more services)" if others else ""
    return f"{first.workload}: {first.reason}{more}"


def said(error: BaseException) -> str:
    """Returns what a point says of an error: the findings of wrong input, else what a report of it needs."""
    return str(error) if isinstance(error, InputError) else described(error)
