"""The affinity of real threads of this machine: handed on to what is started, moved while it runs, read back."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest
from support.waiting import wait_until

from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.system import affinity
from sliceplan.agent.system.affinity import beyond, move_threads, this_thread_on
from sliceplan.solver.model.host_cores import cpu_list, cpus_in

ALLOWED = sorted(os.sched_getaffinity(0))
FIRST, LAST = {ALLOWED[0]}, {ALLOWED[-1]}
NOT_THERE = 60_000

# Threads that start threads for ever, each of which lives a moment; and now and then a process.
RESTLESS = """
import subprocess, threading, time
def go_on(number):
    if number % 40 == 0:
        subprocess.run(["/bin/true"])
    time.sleep(0.002)
    threading.Thread(target=go_on, args=(number + 1,)).start()
for number in range(4):
    go_on(number)
time.sleep(600)
"""

# One thread pins itself to a CPU, the other keeps what it has.
PINNED = """
import os, sys, threading, time
def pin():
    os.sched_setaffinity(0, {int(sys.argv[1])})
    print("pinned", flush=True)
    time.sleep(600)
threading.Thread(target=pin).start()
time.sleep(600)
"""


@pytest.fixture
def started():
    """Starts a process; what still runs at the end is killed."""
    processes = []

    def start(*argv):
        processes.append(subprocess.Popen(argv, stdout=subprocess.PIPE))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def affinities(pid):
    """Returns the CPUs of each thread of a process, as the kernel's own listing has them."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            lines = (thread / "status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        (allowed,) = (line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:"))
        found[int(thread.name)] = set(cpus_in(allowed))
    return found


def test_what_is_started_takes_the_affinity_over_and_the_agent_gets_its_own_back(started):
    for cpus in (FIRST, LAST):
        with this_thread_on(cpus):
            pid = started("/bin/sleep", "600").pid
        assert set(map(frozenset, affinities(pid).values())) == {frozenset(cpus)}
        assert (beyond([pid], cpus), os.sched_getaffinity(0)) == (set(), set(ALLOWED))


@pytest.mark.parametrize(
    ("cpus", "said"),
    [
        ({NOT_THERE}, f"the kernel gives CPUs none, not {NOT_THERE}"),
        ({*FIRST, NOT_THERE}, f"the kernel gives CPUs {ALLOWED[0]}, not {ALLOWED[0]},{NOT_THERE}"),
    ],
)
def test_cpus_that_the_kernel_does_not_give_are_refused_before_anything_starts(cpus, said):
    """The kernel cuts a mask to what there is, and says nothing unless nothing is left."""
    begun = False
    with pytest.raises(DeviceError, match=said), this_thread_on(cpus):
        begun = True
    assert (begun, os.sched_getaffinity(0)) == (False, set(ALLOWED))


def test_the_agent_gets_its_affinity_back_where_a_start_fails():
    with pytest.raises(OSError, match="nothing"), this_thread_on(FIRST):
        subprocess.Popen(["/nothing"])
    assert os.sched_getaffinity(0) == set(ALLOWED)


def test_all_threads_move_while_new_ones_start(started):
    """Property: after a move no thread may run beyond the new CPUs, whatever is started meanwhile."""
    with this_thread_on(FIRST):
        pid = started(sys.executable, "-c", RESTLESS).pid
    wait_until(lambda: len(affinities(pid)) > 4)
    for cpus in (LAST, FIRST, LAST):
        move_threads(lambda: [pid], cpus)
        assert beyond([pid], cpus) == set()
        assert set().union(*affinities(pid).values()) == cpus


def test_a_thread_that_pinned_itself_stays_where_it_may(started):
    pinned = started(sys.executable, "-c", PINNED, str(ALLOWED[-1]))
    assert pinned.stdout.readline() == b"pinned\n"
    move_threads(lambda: [pinned.pid], ALLOWED)
    assert sorted(map(len, affinities(pinned.pid).values())) == sorted([1, len(ALLOWED)])
    assert beyond([pinned.pid], FIRST) == set(ALLOWED) - FIRST
    move_threads(lambda: [pinned.pid], FIRST)
    assert list(affinities(pinned.pid).values()) == [FIRST] * 2


def test_processes_that_are_gone_have_no_threads(started):
    process = started("/bin/true")
    process.wait()
    assert beyond([process.pid], set()) == set()
    move_threads(lambda: [process.pid], FIRST)


@pytest.mark.skipif(len(ALLOWED) < 2, reason="one CPU alone can be left by nobody")
def test_threads_that_never_stay_are_said(started):
    pid = started("/bin/sleep", "600").pid

    def astray_again():
        os.sched_setaffinity(pid, ALLOWED)
        return [pid]

    with pytest.raises(DeviceError, match="after 50 times that all were moved"):
        move_threads(astray_again, FIRST)


def test_what_the_kernel_refuses_is_said_and_a_thread_that_is_gone_is_no_error(monkeypatch):
    def moved(error):
        looks = iter([[7], []])
        monkeypatch.setattr(affinity, "_threads", lambda _: next(looks))
        monkeypatch.setattr(affinity, "_of", lambda _: {NOT_THERE})
        monkeypatch.setattr(affinity, "this_thread_on", lambda _: nullcontext())

        def refused(*_):
            raise error

        with monkeypatch.context() as refusing:
            refusing.setattr(os, "sched_setaffinity", refused)
            move_threads(lambda: [1], FIRST)

    moved(ProcessLookupError())
    with pytest.raises(DeviceError, match="the affinity of thread 7 cannot be set: not yours") as caught:
        moved(PermissionError(1, "not yours"))
    assert caught.value.name == "NO_PERMISSION"
    with pytest.raises(DeviceError, match="the kernel gives CPUs none") as caught:
        moved(OSError(22, "invalid"))
    assert caught.value.name == "INVALID_ARGUMENT"


def test_a_list_of_cpus_is_read_as_it_was_written():
    random = Random(3)
    for _ in range(200):
        cpus = frozenset(random.sample(range(40), random.randint(0, 40)))
        assert cpus_in(cpu_list(cpus)) == cpus
