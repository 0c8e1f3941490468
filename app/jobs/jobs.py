"""
Long work outside of the page's threads: solves and sweeps that outlive a reload of the browser.

A job has an id that nobody guesses; whoever has it (the page keeps it in its address) finds the job again, from any
session. The work is done by a bounded number of worker processes (solver/workers) in turn by user, one of them kept for
users of whom nothing runs; so nobody waits for another's sweep. HiGHS does not hold Python's global lock, but the rest
of a solve does, and a search in C++ that is given up cannot be stopped in a thread; hence processes. Sweeps go to the
Dask cluster that SLICEPLAN_DASK names, if it does.
"""

import atexit
import os
import pickle
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.proving import proving_planner
from sliceplan.solver.model.sweep_report import SweepPoint, SweepReport
from sliceplan.solver.planners.facts import PlannerFacts
from sliceplan.solver.runtime.progress import Report
from sliceplan.solver.what_if.points import Sweep, used_profiles
from sliceplan.solver.what_if.steps import explained, rising
from sliceplan.solver.what_if.sweeping import sweep_report, swept
from sliceplan.solver.wording.axis_words import axis_in_words
from sliceplan.solver.workers.executors import CLUSTER, Workers, cluster_workers
from sliceplan.solver.workers.pool import WorkerPool, cores

from .comparing import compared
from .job import Job, JobStatus, State
from .retention import Limits, outdated
from .so_far import so_far

KEPT_FREE = 1
"""Workers that only users get of whom nothing runs."""

BROWSER_LOADS_S = 3.0
"""So long the first user's browser, perhaps on the same cores, has them to itself."""

LEAST_WORKERS = 4
"""On few cores too: long searches of some users then leave workers to the others, each a little slower."""


class UnknownJobError(SliceplanError):
    """There is no such job, or it is no longer kept."""


class TooManyJobsError(SliceplanError):
    """A user has too many jobs that have not ended."""


class Jobs:
    """All jobs of this server; every method may be called from any thread and returns at once, unless it says else."""

    def __init__(self, pool: WorkerPool, limits: Limits | None = None) -> None:
        self._pool = pool
        self._limits = limits or Limits()
        self._jobs: dict[str, Job] = {}
        self._changing = threading.Lock()

    def submit_solve(
        self,
        user: str,
        problem: Problem,
        planner: str | None = None,
        *,
        profiles: Sequence[Profile],
        time_limit_s: float | None = None,
        start: Plan | None = None,
    ) -> str:
        """
        Returns the id of a job whose result is the Plan; arguments as for `api.solve`.

        Its status has the best verified plan so far. If its worker is lost, that is its result.
        """
        options: dict[str, Any] = {
            "profiles": used_profiles(problem, profiles),
            "time_limit_s": time_limit_s,
            "start": None if start is None else start.prices,
        }
        return self.submit(
            user, "solve", f"{problem.name} by {planner or proving_planner(problem)}", _solve, problem, planner, options
        )

    def submit_compare(
        self,
        user: str,
        problem: Problem,
        *,
        profiles: Sequence[Profile],
        planners: Sequence[str] | None = None,
        time_limit_s: float | None = None,
        at_hand: Sequence[Plan] = (),
    ) -> str:
        """
        Returns the id of a job whose result is the Comparison of all planners that know the problem's fleet.

        `planners`: only these of them. `time_limit_s`: for each planner; None: the problem's own. `at_hand`: plans that
        are there already, of planners that do not run then.
        """
        used = used_profiles(problem, profiles)
        title = f"{problem.name} by {'all' if planners is None else len(planners)} planners"
        return self.submit(user, "compare", title, compared, problem, used, planners, time_limit_s, at_hand)

    def submit(self, user: str, kind: str, title: str, function: Callable[..., Any], *arguments: Any) -> str:
        """Returns the id of a job that has a worker process call a function; its result is what that returns."""
        job = self._new(user, kind, title)
        call = self._pool.lane(user, job.says, job.finds).submit(_announced, function, arguments)
        job.cancel = call.cancel
        call.add_done_callback(lambda done: _finish(job, done))
        return job.id

    def submit_sweep(self, user: str, sweep: Sweep, *, explain: bool = True) -> str:
        """Returns the id of a job whose result is the SweepReport; `points` has what there is of it earlier."""
        job = self._new(user, "sweep", f"{sweep.problem.name}: {_varied(sweep)}", sweep.points)
        stop = threading.Event()
        job.cancel = stop.set
        job.result = []
        thread = threading.Thread(target=self._sweep, args=(job, sweep, explain, stop), daemon=True)
        thread.start()
        return job.id

    def status(self, job_id: str) -> JobStatus:
        """Returns where a job stands; UnknownJobError if there is none."""
        return self._job(job_id).status()

    def of(self, user: str) -> list[JobStatus]:
        """Returns the jobs of a user, latest first."""
        with self._changing:
            own = [job for job in self._jobs.values() if job.user == user]
        return [job.status() for job in reversed(own)]

    def result(self, job_id: str, wait_s: float = 0.0) -> Any:
        """
        Returns what came of a job, after waiting for up to some seconds; None: nothing yet, or nothing at all.

        UnknownJobError as for `status`; a job that failed has an error there, and no result but the points of a sweep.
        """
        job = self._job(job_id)
        job.ended.wait(wait_s)
        return job.result if job.ended.is_set() else None

    def points(self, job_id: str, wait_s: float = 0.0) -> tuple[SweepPoint, ...]:
        """
        Returns the points of a sweep that are solved so far, in the order of their indices.

        The first is waited for, for up to some seconds.
        """
        job = self._job(job_id)
        job.has_points.wait(wait_s)
        with job.changing:
            known = job.result.points if isinstance(job.result, SweepReport) else tuple(job.result or ())
        return tuple(sorted(known, key=lambda point: point.index))

    def cancel(self, job_id: str) -> None:
        """Ends a job with the best so far; a moment later, `result` has it. Nothing happens if it has ended."""
        job = self._job(job_id)
        with job.changing:
            if not job.ended.is_set():
                job.is_cancelled = True
            cancel = job.cancel
        cancel()

    def warm_up(self) -> None:
        """Has all workers start that have not been started yet."""
        self._pool.start_all()

    def _new(self, user: str, kind: str, title: str, of: int = 1) -> Job:
        with self._changing:
            for old in outdated(self._jobs.values(), self._limits):
                del self._jobs[old.id]
            unfinished = sum(job.user == user and not job.ended.is_set() for job in self._jobs.values())
            if unfinished >= self._limits.open_of_user:
                raise TooManyJobsError(f"{unfinished} of your jobs have not ended; cancel one or wait for one")
            job = Job(secrets.token_urlsafe(12), user, kind, title, of)
            self._jobs[job.id] = job
            return job

    def _job(self, job_id: str) -> Job:
        with self._changing:
            job = self._jobs.get(job_id)
        if job is None:
            raise UnknownJobError(
                f"there is no job {job_id}; results are kept for {self._limits.keep_s / 60:g} minutes"
            )
        return job

    def _sweep(self, job: Job, sweep: Sweep, explain: bool, stop: threading.Event) -> None:
        try:
            with self._workers(job.user) as workers:
                for point in swept(sweep, workers, stop=stop):
                    with job.changing:
                        job.result.append(point)
                        job.done += 1
                        job.says(Report(f"{job.done:,} of {job.of:,} points"))
                    job.has_points.set()
                points = list(job.result)
                steps = []
                for step in explained(sweep, points, workers, stop=stop) if explain else ():
                    steps.append(step)
                    said = f"{len(steps):,} of {len(rising(points)):,} rises of the cost explained"
                    job.says(Report(said))
            report = sweep_report(sweep, points, steps)
            size = len(pickle.dumps(report))
            job.ends(State.CANCELLED if job.is_cancelled else State.DONE, result=report, size_bytes=size)
        except Exception as error:
            there = sweep_report(sweep, job.result) if job.result else None
            job.ends(State.FAILED, result=there, error=readable(error))

    def _workers(self, user: str) -> AbstractContextManager[Workers]:
        address = os.environ.get(CLUSTER)
        if address:
            return cluster_workers(address)
        return nullcontext(Workers(self._pool.lane(user), max(self._pool.number - KEPT_FREE, 1)))


def _announced(function: Callable[..., Any], arguments: Sequence[Any]) -> bytes:
    """Calls a function in a worker, after a word that shows that it runs; returns its pickled result."""
    from sliceplan.solver.runtime.progress import report

    report("begins")
    return pickle.dumps(function(*arguments), pickle.HIGHEST_PROTOCOL)


def _solve(problem: Problem, planner: str | None, options: dict[str, Any]) -> Plan:
    from sliceplan.solver import api
    from sliceplan.solver.runtime.progress import watcher

    looks = watcher()
    on_plan = None if looks is None else lambda plan: looks(so_far(plan))
    return api.solve(problem, planner, on_plan=on_plan, **options)


def list_planners() -> tuple[PlannerFacts, ...]:
    """Returns what is said of every planner; for a worker, as it loads the solvers."""
    from sliceplan.solver import api

    return api.planner_facts()


def _finish(job: Job, done: Future[Any]) -> None:
    """Notes what came of a call."""
    try:
        packed: bytes = done.result()  # its size is known without packing it again, which the page would wait for
        result = pickle.loads(packed)
    except CancelledError:
        job.ends(State.CANCELLED)
    except BaseException as error:
        best = job.so_far  # it holds, whatever ended the search
        state = State.CANCELLED if job.is_cancelled else State.FAILED
        if best is None:
            job.ends(state, error=readable(error))
        else:
            said = f"{readable(error)}. What is shown is the best plan that was found until then."
            job.ends(state, result=best.plan, error=said, size_bytes=len(best.packed))
    else:
        job.done = job.of
        state = State.CANCELLED if job.is_cancelled else State.DONE
        job.ends(state, result=result, size_bytes=len(packed))


def readable(error: BaseException) -> str:
    """Returns what a user is told of an error: all findings of wrong input, else its kind and its words."""
    if isinstance(error, SliceplanError):
        return str(error)
    return f"{type(error).__name__}: {error}"


_making = threading.Lock()


def shared_jobs() -> Jobs:
    """Returns the jobs of this process; a first worker begins to import the solvers when it is first called."""
    with _making:
        return _shared_jobs()


@cache
def make_jobs_soon() -> None:
    """Has all workers load the solvers while the first user looks at the page, and not when a job waits for them."""
    later = threading.Timer(BROWSER_LOADS_S, lambda: shared_jobs().warm_up())
    later.daemon = True
    later.start()


@cache
def _shared_jobs() -> Jobs:
    pool = WorkerPool(max(LEAST_WORKERS, cores() + KEPT_FREE), kept_free=KEPT_FREE, at_once=1)
    atexit.register(pool.kill)
    return Jobs(pool)


def _varied(sweep: Sweep) -> str:
    """Returns what a sweep varies, with services as people call them."""
    called = sweep.problem.labels
    return "; ".join(axis_in_words(one.kind, one.of and called.get(one.of, one.of)) for one in sweep.axes)
