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

from ..model.errors import InputError
from ..model.plan import Plan
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.simulation_report import SimulationReport
from ..runtime.freed_memory import keep_freed_memory
from ..runtime.interruption import Stopped, best_so_far, offer
from ..runtime.progress import report
from ..workers.executors import Workers
from ..workers.gathering import gathered
from .batch_times import measured_batch_times
from .dispatch.central import Central
from .dispatch.dealing import DealsAhead
from .neighbours.paces import Residents, residents_of
from .neighbours.together import aligned, not_simulated_together, together
from .promised import as_promised
from .reporting import report_of
from .run import simulate_runs
from .sections import Section, Usage, sections_of, usage_of
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
    profiles: Sequence[Profile] = (),
    workers: Workers | None = None,
) -> SimulationReport:
    """
    Returns what a plan does, request by request.

    Parameters
    ----------
    profiles
        Where smaller batches' times and interference coefficients are, if the settings ask for them.
    workers
        Who runs the tasks; None: this process. The answer is the same.

    Raises
    ------
    InputError
        With all that is wrong with the plan, or with what is to be simulated.
    """
    started = time.perf_counter()
    settings = as_promised(plan, settings)
    times = measured_batch_times(problem, profiles) if settings.measured_batches else None
    services = services_of(problem, plan, settings, times)
    residents = _residents(problem, plan, settings, profiles)
    services = aligned(services, residents, settings)
    tasks = list(_tasks(services, settings, together(services, residents)))
    total = sum(map(len, tasks))

    def so_far(counted: Mapping[tuple[int, int], Counted]) -> SimulationReport:
        of: dict[int, list[Counted]] = defaultdict(list)
        for service, number in sorted(counted):
            of[service].append(counted[service, number])
        return report_of(problem, plan, settings, services, of, is_complete=len(counted) == total)

    def search() -> SimulationReport:
        counted: dict[tuple[int, int], Counted] = {}
        for runs, found in _done(services, tasks, settings, residents, workers):
            counted = counted | dict(zip(runs, found, strict=True))
            offer(partial(_as_known, so_far, counted))
            report(f"simulating: {len(counted):,} of {total:,} runs of services", len(counted), total)
        return so_far(counted)

    answer = best_so_far(search, lambda _: so_far({}))
    return answer.model_copy(update={"runtime_s": round(time.perf_counter() - started, 6)})


def _residents(
    problem: Problem, plan: Plan, settings: SimulationSettings, profiles: Sequence[Profile]
) -> dict[str, Residents]:
    """Returns the residents of GPUs on which neighbours are simulated; InputError where they cannot be."""
    if settings.neighbours == "busy":
        return {}
    residents = residents_of(problem, plan, profiles)
    if findings := list(not_simulated_together(settings, residents)):
        raise InputError(findings)
    return residents


def _as_known(
    build: Callable[[Mapping[tuple[int, int], Counted]], SimulationReport],
    counted: Mapping[tuple[int, int], Counted],
    _: Stopped,
) -> SimulationReport:
    return build(counted)


def _tasks(
    services: Sequence[Service], settings: SimulationSettings, groups: Sequence[Sequence[int]]
) -> Iterator[Runs]:
    """Yields the runs of each task; services that meet on shared GPUs are of one task in every replication."""
    ahead = isinstance(settings.router, DealsAhead | Central)
    task: Runs = []
    size = 0.0
    for number in range(max(service.runs for service in services)):
        for group in groups:
            runs = [(s, number) for s in group if number < services[s].runs]
            own = sum(services[s].requests * (1 if ahead else len(services[s].servers)) for s, _ in runs)
            if task and size + own > AT_ONCE:
                yield task
                task, size = [], 0.0
            task += runs
            size += own
    yield task


@dataclass(frozen=True, eq=False)
class _Task:
    """Runs as a worker is given them, with the services that they need."""

    services: list[Service]
    runs: Runs
    settings: SimulationSettings
    residents: dict[str, Residents]


def _done(
    services: Sequence[Service],
    tasks: Sequence[Runs],
    settings: SimulationSettings,
    residents: Mapping[str, Residents],
    workers: Workers | None,
) -> Iterator[tuple[Runs, list[Counted]]]:
    """Yields the tasks as they are done."""
    of = partial(_task, services, settings, residents)
    if workers is None:
        for runs in tasks:
            yield runs, counted_runs(of(runs))
        return
    for number, answer, _ in gathered(range(len(tasks)), lambda i: (counted_runs, of(tasks[i])), workers):
        if isinstance(answer, BaseException):
            raise answer
        yield tasks[number], answer


def _task(
    services: Sequence[Service], settings: SimulationSettings, residents: Mapping[str, Residents], runs: Runs
) -> _Task:
    needed = sorted({s for s, _ in runs})
    place = {s: i for i, s in enumerate(needed)}
    gpus = {server.gpu for s in needed for server in services[s].servers} & residents.keys()
    return _Task(
        [services[s] for s in needed],
        [(place[s], number) for s, number in runs],
        settings,
        {gpu: residents[gpu] for gpu in gpus},
    )


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
        residents=task.residents,
    )
    return [
        (sections_of(task.services[s], run, number), usage_of(task.services[s], run))
        for (s, number), run in zip(task.runs, runs, strict=True)
    ]
