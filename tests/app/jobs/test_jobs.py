"""Jobs: found again from any session, cancelled with the best so far, and nobody blocks anybody."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from problems.instances import ROOT, random_problem
from support import worker_calls
from support.waiting import wait_until

from sliceplan.app.jobs import jobs as server_jobs
from sliceplan.app.jobs.job import Job, State
from sliceplan.app.jobs.jobs import Jobs, TooManyJobsError, UnknownJobError
from sliceplan.app.jobs.retention import Limits, outdated
from sliceplan.app.jobs.so_far import so_far
from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.points import Sweep
from sliceplan.solver.workers.pool import WorkerPool

WAIT_S = 60


@pytest.fixture(scope="module")
def pool():
    """Returns three workers, one of them kept for whoever comes next."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(ROOT / "tests"))
    pool = WorkerPool(3, kept_free=1)
    yield pool
    pool.kill()
    patch.undo()


@pytest.fixture
def jobs(pool):
    return Jobs(pool)


def sweep_of(problem, *axes):
    return Sweep(problem, shipped_profiles(), parse_axes(axes, problem))


def test_a_solve_is_found_again_by_its_id_from_another_session(jobs):
    """The session that asked is a thread that has ended."""
    ids = []
    session = threading.Thread(
        target=lambda: ids.append(jobs.submit_solve("ann", random_problem(5, 1), profiles=shipped_profiles()))
    )
    session.start()
    session.join()
    plan = jobs.result(ids[0], WAIT_S)
    assert plan.status is Status.OPTIMAL
    status = jobs.status(ids[0])
    assert (status.state, status.error, status.done, status.of) == (State.DONE, None, 1, 1)
    assert [one.id for one in jobs.of("ann")] == ids
    assert jobs.of("bob") == []


def test_a_cancelled_solve_has_its_best_plan_so_far(jobs):
    """What is kept free for a lost GPU takes the search of many services minutes."""
    problem = random_problem(400, 1)
    spares = {"spare_services": 2, "spare_rate": 0.5, "spare_gpu_loss": True}
    problem = problem.model_copy(update={"settings": problem.settings.model_copy(update=spares)})
    job = jobs.submit_solve("ann", problem, profiles=shipped_profiles(), time_limit_s=100)
    found = wait_until(lambda: jobs.status(job).so_far)
    assert jobs.result(job) is None
    assert (found.judged.value, found.judged.gap) == (found.plan.cost_per_hour, found.plan.gap)
    assert found.plan.bound.cost_per_hour == found.judged.bound
    jobs.cancel(job)
    plan = jobs.result(job, WAIT_S)
    assert (plan.status, plan.search.stopped) == (Status.FEASIBLE, "interrupted")
    assert 0 < plan.gap < 0.2
    assert plan.cost_per_hour <= found.judged.value
    assert (jobs.status(job).state, jobs.status(job).so_far) == (State.CANCELLED, None)


def test_the_workers_of_the_page_start_by_themselves_a_moment_after_the_first_visit(monkeypatch):
    begun = []
    warm = SimpleNamespace(warm_up=lambda: begun.append(threading.current_thread()))
    monkeypatch.setattr(server_jobs, "BROWSER_LOADS_S", 0.01)
    monkeypatch.setattr(server_jobs, "shared_jobs", lambda: warm)
    server_jobs.make_jobs_soon.__wrapped__()
    wait_until(lambda: begun)
    assert begun != [threading.current_thread()]


def test_a_sweep_shows_its_points_as_they_come_and_its_steps_at_the_end(jobs):
    job = jobs.submit_sweep("ann", sweep_of(random_problem(6, 2), "rate=0.5:2:0.3"))
    assert jobs.points(job, WAIT_S)
    report = jobs.result(job, WAIT_S)
    assert [point.index for point in report.points] == [(i,) for i in range(6)]
    assert jobs.points(job) == report.points
    assert report.missing == 0
    assert report.steps
    assert jobs.status(job).done == 6


def test_a_cancelled_sweep_keeps_its_points(jobs):
    job = jobs.submit_sweep("ann", sweep_of(random_problem(6, 2), "rate=0.5:2:0.001"))
    wait_until(lambda: len(jobs.points(job)) >= 3)
    jobs.cancel(job)
    report = jobs.result(job, WAIT_S)
    assert jobs.status(job).state is State.CANCELLED
    assert 3 <= len(report.points) < 1501
    assert report.missing == 1501 - len(report.points)


def test_a_sweep_that_fails_late_keeps_its_points(jobs, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("it broke")

    monkeypatch.setattr("sliceplan.app.jobs.jobs.explained", broken)
    job = jobs.submit_sweep("ann", sweep_of(random_problem(3, 2), "rate=1,2"))
    report = jobs.result(job, WAIT_S)
    assert (jobs.status(job).state, jobs.status(job).error) == (State.FAILED, "RuntimeError: it broke")
    assert [point.index for point in report.points] == [(0,), (1,)]


def test_a_failed_job_says_what_is_wrong_in_words(jobs):
    problem = random_problem(1, 0)
    unknown = problem.model_copy(update={"workloads": (problem.workloads[0].model_copy(update={"model": "resnt50"}),)})
    job = jobs.submit_solve("ann", unknown, profiles=shipped_profiles())
    assert jobs.result(job, WAIT_S) is None
    status = jobs.status(job)
    assert status.state is State.FAILED
    assert "workloads[0].model is 'resnt50'" in status.error


def test_a_lost_worker_is_said(jobs, tmp_path):
    job = jobs.submit("ann", "test", "dies", worker_calls.die_the_first_times, tmp_path / "marks", 1)
    assert jobs.result(job, WAIT_S) is None
    assert "signal 9" in jobs.status(job).error


def test_the_best_plan_so_far_of_a_lost_worker_is_its_result(jobs):
    problem = random_problem(3, 1)
    plan = solve(problem)
    job = jobs.submit("ann", "solve", "dies", worker_calls.find_and_die, so_far(plan))
    assert jobs.result(job, WAIT_S) == plan
    status = jobs.status(job)
    assert status.state is State.FAILED
    assert "signal 9" in status.error
    assert "the best plan that was found until then" in status.error


def test_an_unknown_job_is_said(jobs):
    with pytest.raises(UnknownJobError, match="there is no job nothing; results are kept for 60 minutes"):
        jobs.status("nothing")


def test_a_job_that_waits_is_cancelled_without_having_run(jobs, tmp_path):
    go = tmp_path / "go"
    running = [jobs.submit("ann", "test", "waits", worker_calls.wait_for, go) for _ in range(2)]
    waiting = jobs.submit("ann", "test", "waits", worker_calls.wait_for, go)
    wait_until(lambda: all(jobs.status(one).state is State.RUNNING for one in running))
    assert jobs.status(waiting).state is State.WAITING
    jobs.cancel(waiting)
    assert jobs.result(waiting, WAIT_S) is None
    assert jobs.status(waiting).state is State.CANCELLED
    go.touch()
    for one in running:
        jobs.result(one, WAIT_S)
        assert jobs.status(one).state is State.DONE


def test_twenty_users_at_once_are_served_and_a_sweep_blocks_none_of_them(jobs):
    """All plans come, and before the sweep that was there first and would take much longer."""
    sweep = jobs.submit_sweep("sweeper", sweep_of(random_problem(60, 1), "rate=0.5:1.5:0.001"))
    wait_until(lambda: jobs.points(sweep))
    solves = {
        f"user{i}": jobs.submit_solve(f"user{i}", random_problem(100, i), profiles=shipped_profiles())
        for i in range(20)
    }
    for user, job in solves.items():
        plan = jobs.result(job, WAIT_S)
        assert (user, jobs.status(job).state, jobs.status(job).error) == (user, State.DONE, None)
        assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert not jobs.status(sweep).has_ended
    jobs.cancel(sweep)
    jobs.result(sweep, WAIT_S)


def test_a_user_with_too_many_open_jobs_is_told_so(pool, tmp_path):
    jobs = Jobs(pool, Limits(open_of_user=1))
    first = jobs.submit("ann", "test", "waits", worker_calls.wait_for, tmp_path / "go")
    with pytest.raises(TooManyJobsError, match="1 of your jobs have not ended"):
        jobs.submit("ann", "test", "waits", worker_calls.wait_for, tmp_path / "go")
    second = jobs.submit("bob", "test", "counts", abs, -1)
    assert jobs.result(second, WAIT_S) == 1
    (tmp_path / "go").touch()
    jobs.result(first, WAIT_S)


def ended(user, at_s, size_bytes):
    job = Job(f"{user}-{at_s}", user, "test", "")
    job.ends(State.DONE, size_bytes=size_bytes)
    job.ended_s = at_s
    return job


def test_the_latest_results_are_kept_for_a_while_up_to_a_size():
    limits = Limits(keep_s=100, jobs_of_user=2, size_bytes=50)
    old, third, second, first = (ended("ann", at, 1) for at in (0, 110, 111, 112))
    big, bigger = ended("bob", 113, 40), ended("cat", 114, 500)
    running = Job("r", "ann", "test", "")
    gone = outdated([old, third, second, first, big, bigger, running], limits, now=120)
    assert {job.id for job in gone} == {"ann-0", "ann-110", "ann-111", "ann-112", "bob-113"}
    assert outdated([bigger, running], limits, now=120) == []


def test_jobs_know_nothing_of_the_page():
    code = (
        "import sys, sliceplan.app.jobs.jobs; print([name for name in ('streamlit', 'ortools') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
