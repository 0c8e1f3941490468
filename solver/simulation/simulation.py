"""
A simulation: its services run by run, here or by workers, and what is known when it ends or is interrupted.

Runs go on beside each other in tasks of so many requests that their arrays stay small; replications come in turn, so
that an interruption leaves fewer of them for each service, and not fewer services.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ..model.plan import Plan
from ..model.problem import Problem
from ..model.simulation_report import SimulationReport
from ..runtime.freed_memory import keep_freed_memory
from ..runtime.interruption import Stopped, best_so_far, offer
from ..runtime.progress import report
from ..workers.executors import Workers
from ..workers.gathering import gathered
from .dispatch.central import Central
from .dispatch.dealing import DealsAhead
from .promised import as_promised
from .reporting import report_of
from .run import simulate_runs
from .sections import Section, Usage, sections_of, usage_of
from .server import BatchTimes
from .service import Service
from .services import services_of
from .settings import SimulationSettings

AT_ONCE = 1_500_000
"""Requests of a task, about; where requests are dealt by state, places for them at every server."""

Counted = tuple[list[Section], Usage]
"""What is counted of one run."""

Runs = list[tuple[int, int]]
"""Service and replication of each run."""


def simulated_plan(
    problem: Problem,
    plan: Plan,
    settings: SimulationSettings,
    *,
    batch_times: BatchTimes | None = None,
    workers: Workers | None = None,
) -> SimulationReport:
    """
    Returns what a plan does, request by request.

    Parameters
    ----------
    batch_times
        Where to find the times of smaller batches (server.py); None: all take the plan's.
    workers
        Who runs the tasks; None: this process. The answer is the same.

    Raises
    ------
    InputError
        With all that is wrong with the plan, or with what is to be simulated.
    """
    started = time.perf_counter()
    settings = as_promised(plan, settings)
    services = services_of(problem, plan, settings, batch_times)
    tasks = list(_tasks(services, settings))
    total = sum(map(len, tasks))

    def so_far(counted: Mapping[tuple[int, int], Counted]) -> SimulationReport:
        of: dict[int, list[Counted]] = defaultdict(list)
        for service, number in sorted(counted):
            of[service].append(counted[service, number])
        return report_of(problem, plan, settings, services, of, is_complete=len(counted) == total)

    def search() -> SimulationReport:
        counted: dict[tuple[int, int], Counted] = {}
        for runs, found in _done(services, tasks, settings, workers):
            counted = counted | dict(zip(runs, found, strict=True))
            offer(partial(_as_known, so_far, counted))
            report(f"simulating: {len(counted):,} of {total:,} runs of services")
        return so_far(counted)

    answer = best_so_far(search, lambda _: so_far({}))
    return answer.model_copy(update={"runtime_s": round(time.perf_counter() - started, 6)})


def _as_known(
    build: Callable[[Mapping[tuple[int, int], Counted]], SimulationReport],
    counted: Mapping[tuple[int, int], Counted],
    _: Stopped,
) -> SimulationReport:
    return build(counted)


def _tasks(services: Sequence[Service], settings: SimulationSettings) -> Iterator[Runs]:
    ahead = isinstance(settings.router, DealsAhead | Central)
    task: Runs = []
    size = 0.0
    for number in range(max(service.runs for service in services)):
        for s, service in enumerate(services):
            if number >= service.runs:
                continue
            own = service.requests * (1 if ahead else len(service.servers))
            if task and size + own > AT_ONCE:
                yield task
                task, size = [], 0.0
            task.append((s, number))
            size += own
    yield task


@dataclass(frozen=True, eq=False)
class _Task:
    """Runs as a worker is given them, with the services that they need."""

    services: list[Service]
    runs: Runs
    settings: SimulationSettings


def _done(
    services: Sequence[Service],
    tasks: Sequence[Runs],
    settings: SimulationSettings,
    workers: Workers | None,
) -> Iterator[tuple[Runs, list[Counted]]]:
    """Yields the tasks as they are done."""
    of = partial(_task, services, settings)
    if workers is None:
        for runs in tasks:
            yield runs, counted_runs(of(runs))
        return
    for number, answer, _ in gathered(range(len(tasks)), lambda i: (counted_runs, of(tasks[i])), workers):
        if isinstance(answer, BaseException):
            raise answer
        yield tasks[number], answer


def _task(services: Sequence[Service], settings: SimulationSettings, runs: Runs) -> _Task:
    needed = sorted({s for s, _ in runs})
    place = {s: i for i, s in enumerate(needed)}
    return _Task([services[s] for s in needed], [(place[s], number) for s, number in runs], settings)


def counted_runs(task: _Task) -> list[Counted]:
    """Returns what is counted of each run of a task."""
    keep_freed_memory()
    settings = task.settings
    runs = simulate_runs(
        task.services,
        task.runs,
        dealing=settings.router,
        batching=settings.policy,
        seed=settings.seed,
    )
    return [
        (sections_of(task.services[s], run, number), usage_of(task.services[s], run))
        for (s, number), run in zip(task.runs, runs, strict=True)
    ]
