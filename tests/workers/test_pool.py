"""Worker processes: what they answer, what is lost with one, and how a call is ended."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path

import pytest
from problems.instances import ROOT
from support import worker_calls
from support.waiting import wait_until

from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.workers.pool import WorkerPool
from sliceplan.solver.workers.worker import LostWorkerError

WAIT_S = 60


@pytest.fixture
def pool(monkeypatch):
    """Returns two workers that can import the tests' calls."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    with WorkerPool(2, preload=()) as pool:
        yield pool
        pool.shutdown(cancel_futures=True)


def is_gone(pid):
    """Tells whether a process has ended, with all of its threads, within a minute."""
    for _ in range(WAIT_S * 20):
        with suppress(ChildProcessError):  # it is no child of ours, or was waited for already
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                time.sleep(0.05)
                continue
            return True
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_answers_come_from_other_processes(pool):
    assert list(pool.map(divmod, [7, 9], [2, 4])) == [(3, 1), (2, 1)]
    assert pool.submit(os.getpid).result(WAIT_S) != os.getpid()


def test_errors_come_as_they_are_with_where_they_happened(pool):
    with pytest.raises(ZeroDivisionError) as caught:
        pool.submit(divmod, 1, 0).result(WAIT_S)
    assert "In a worker process" in caught.value.__notes__[0]
    error = InputError([Finding("a.yaml", "fleet[0]", "is wrong"), Finding("a.yaml", "", "too")])
    with pytest.raises(InputError) as refused:
        pool.submit(exec, "raise error", {"error": error}).result(WAIT_S)
    assert refused.value.findings == error.findings


def test_what_cannot_travel_is_said(pool):
    with pytest.raises(RuntimeError, match="pickle"):
        pool.submit(eval, "lambda: 0").result(WAIT_S)
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        pool.submit(lambda: 0).result(WAIT_S)
    assert pool.submit(abs, -1).result(WAIT_S) == 1


def test_a_lost_process_takes_its_own_call_only(pool, tmp_path):
    go = tmp_path / "go"
    waiting = pool.submit(worker_calls.wait_for, go)
    assert pool.submit(abs, -1).result(WAIT_S) == 1
    lost = pool.submit(worker_calls.die_the_first_times, tmp_path / "marks", 1)
    with pytest.raises(LostWorkerError, match="signal 9"):
        lost.result(WAIT_S)
    assert pool.submit(worker_calls.die_the_first_times, tmp_path / "marks", 1).result(WAIT_S) == 2
    go.touch()
    assert waiting.result(WAIT_S) is None


def test_a_process_that_dies_between_calls_costs_nothing(pool):
    pids = {pool.submit(os.getpid).result(WAIT_S) for _ in range(20)}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        assert is_gone(pid)
    assert [pool.submit(abs, -i).result(WAIT_S) for i in range(4)] == [0, 1, 2, 3]


def test_a_running_call_that_is_cancelled_ends_with_its_best_answer(pool):
    reported = threading.Event()
    texts = []

    def on_report(said):
        texts.append(said.text)
        reported.set()

    call = pool.lane("someone", on_report).submit(worker_calls.search_without_end, "best so far")
    assert reported.wait(WAIT_S)
    assert not call.cancel()
    assert call.result(WAIT_S) == "best so far"
    assert texts == ["offered"]
    assert pool.submit(abs, -1).result(WAIT_S) == 1


def test_what_a_call_hands_on_before_its_answer_comes_to_who_asked_for_it(pool):
    seen = []
    call = pool.lane("someone", on_so_far=seen.append).submit(worker_calls.find_and_wait, ["so far"])
    wait_until(lambda: seen)
    assert seen == [["so far"]]
    assert not call.cancel()
    assert call.result(WAIT_S) == "best so far"


def test_a_process_is_kept_unless_a_search_that_was_given_up_still_runs_in_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    with WorkerPool(1, preload=()) as pool:
        first = pool.submit(os.getpid).result(WAIT_S)
        waiting = pool.submit(worker_calls.wait_for, tmp_path / "go")
        wait_until(waiting.running)
        assert not waiting.cancel()
        (tmp_path / "go").touch()
        assert waiting.result(WAIT_S) is None
        assert pool.submit(os.getpid).result(WAIT_S) == first
        searching = pool.submit(worker_calls.search_without_end, "best so far")
        wait_until(searching.running)
        searching.cancel()
        assert searching.result(WAIT_S) in ("best so far", "nothing")


def test_the_others_start_when_more_calls_wait_than_the_first_can_serve(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    with WorkerPool(2, preload=(), at_once=1) as pool:
        assert pool.submit(abs, -1).result(WAIT_S) == 1
        assert pool.submit(abs, -2).result(WAIT_S) == 2
        waiting = pool.submit(worker_calls.wait_for, tmp_path / "go")
        assert pool.submit(abs, -3).result(WAIT_S) == 3
        assert waiting.running()
        (tmp_path / "go").touch()
        assert waiting.result(WAIT_S) is None


def test_a_pool_of_which_not_all_have_started_ends():
    with WorkerPool(3, preload=(), at_once=1) as pool:
        assert pool.submit(abs, -1).result(WAIT_S) == 1
    killed = WorkerPool(2, preload=(), at_once=1)
    killed.kill()
    with pytest.raises(RuntimeError):
        killed.submit(abs, -1)


def test_a_listener_that_fails_fails_its_call_and_no_other(monkeypatch):
    def on_report(said):
        raise ValueError(said.text)

    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    with WorkerPool(1, preload=()) as pool:
        with pytest.raises(ValueError, match="offered"):
            pool.lane("ann", on_report).submit(worker_calls.search_without_end, "x").result(WAIT_S)
        assert pool.submit(abs, -1).result(WAIT_S) == 1


def test_a_waiting_call_is_cancelled_as_any_future(pool, tmp_path):
    go = tmp_path / "go"
    running = [pool.submit(worker_calls.wait_for, go) for _ in range(2)]
    waiting = pool.submit(abs, -1)
    assert waiting.cancel()
    go.touch()
    assert [call.result(WAIT_S) for call in running] == [None, None]
    with pytest.raises(CancelledError):
        waiting.result(0)


def test_a_user_who_sweeps_blocks_nobody(pool, tmp_path):
    """The guest comes last, and is served when the first call of the one who sweeps ends."""
    order = []
    gates = [tmp_path / f"gate{i}" for i in range(2)]
    sweeper = pool.lane("sweeper")
    calls = [sweeper.submit(worker_calls.wait_for, gate) for gate in gates]
    calls += [sweeper.submit(abs, i) for i in range(10)]
    guest = pool.lane("guest").submit(abs, 0)
    for name, call in [*((f"sweeper {i}", call) for i, call in enumerate(calls)), ("guest", guest)]:
        call.add_done_callback(lambda _, name=name: order.append(name))
    gates[0].touch()
    guest.result(WAIT_S)
    gates[1].touch()
    for call in calls:
        call.result(WAIT_S)
    assert order.index("guest") <= 1


def test_workers_end_with_their_owner():
    """The owner is killed while a call runs that would go on for a minute."""
    code = (
        "import os, signal, sys, time\n"
        "from sliceplan.solver.workers.pool import WorkerPool\n"
        "pool = WorkerPool(1, preload=())\n"
        "print(pool.submit(os.getpid).result(60), flush=True)\n"
        "pool.submit(time.sleep, 60)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert is_gone(int(done.stdout))
