"""
Lets every call by which an agent writes go wrong in random transitions, and then lets another agent go on.

It is a program of its own, so that thousands of processes fork from a small one without threads:

    PYTHONPATH=tests python tests/attacks/agent_faults.py FIRST COUNT [CALLS [KIND ...]]

prints one line of JSON with the number of faults and of each outcome; the first that ends wrongly is an error. CALLS
limits the calls of each transition, drawn at random (0: all). The kinds (tests/support/system_calls.py) are killed,
killed with a half of what was to be written, a disk that is full from then on, one that fails once, and one that takes
less at a time than it was given. Odd transitions have a failure on the way, so that agents go back, too. Whether any
call that writes is missed is seen beside

    strace -f -e trace=write,pwrite64,fsync,ftruncate,rename,unlink,mkdir,fchmod,openat ...
"""

import gc
import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from support.agent_core_states import live_cpu, random_services
from support.agent_states import random_live, random_pair
from support.system_calls import KINDS, fault, watched

from sliceplan.agent.devices.simulated.injection import Injection
from sliceplan.agent.devices.simulated.node import SimulatedNodeFile, record_of, write_node
from sliceplan.agent.model.core_services import CpuState
from sliceplan.agent.model.desired import Desired, PlanReference
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.live import instance_uuids
from sliceplan.agent.model.node import Instance
from sliceplan.agent.transition.applied import read_applied
from sliceplan.agent.transition.applying import apply_transition, resume
from sliceplan.agent.transition.journal import Ended, read_journal, unfinished
from sliceplan.agent.transition.lock import locked
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.transition.reconcile import Rules, look
from sliceplan.agent.transition.session import Session
from sliceplan.agent.transition.state_folder import StateFolder
from sliceplan.solver.model.errors import SliceplanError

PLAN = PlanReference("plan.json", "0" * 64)

SMALL_CPU = "Xeon-8275CL"

FAILURES = ("insufficient_resources", "driver_error", "timeout_before", "timeout_after", "wrong_uuid", "half_done")


class Place:
    """A node and an agent's folder on the disk."""

    def __init__(self, path, live, injections):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        self.node = path / "node.json"
        self.state = path / "state"
        write_node(self.node, record_of(live, injections))
        StateFolder(self.state).prepare()

    def session(self):
        return Session(
            SimulatedNodeFile(self.node),
            StateFolder(self.state),
            say=lambda _: None,
            sleep=lambda _: None,
            time=lambda: "2026-01-01T00:00:00Z",
        )

    def live(self):
        return SimulatedNodeFile(self.node).state()


def fails_at(at, kind, place, act):
    """
    Lets an agent act in a process in which a call goes wrong.

    Returns
    -------
    tuple
        The call, None if there are not so many; and what the agent said of how it ended, None if it was killed.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        told, send = [], os.write
        try:
            with fault(kind, at, lambda what: (told.append(what), send(writing, f"{what}\n".encode()))):
                end = act(place.session())
            send(writing, f"end: {end}".encode())
            os._exit(0)
        finally:
            os._exit(3)
    os.close(writing)
    _, status = os.waitpid(pid, 0)
    what, _, end = os.read(reading, 2000).decode().rpartition("end: ")
    os.close(reading)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return (what or end).strip(), None
    assert os.WEXITSTATUS(status) == 0, f"the agent ended in a traceback: {kind} at call {at} ({what or end})"
    return what.strip() or None, end


def ended(act):
    """Returns how an agent ends, as its exit code and its words would say."""
    try:
        return act().end
    except SliceplanError as error:
        return f"refused: {error}"


def go_on(session):
    """Goes on as the next start of an agent does."""
    with locked(session.folder):
        if open_one := unfinished(session.folder):
            return resume(session, open_one)
    return None


def repair(place, transition):
    """Lets `run` bring back what a reboot took from a plan that was applied."""
    desired = Desired(transition.new, PLAN)
    assert look(place.session(), lambda: lambda _: desired, list, Rules(allow_reset=True)).doing in (
        "applied",
        "in sync",
    )


def ending(place):
    """Returns how the transition ended by its journal; None: it had not begun."""
    lines = read_journal(StateFolder(place.state))
    return lines[-1].outcome if lines and isinstance(lines[-1], Ended) else None


def verify(place, transition, end, what, rebooted=False):
    """Checks that the node has the old or the new state, as the journal says, and that what stays was not lost."""
    assert unfinished(StateFolder(place.state)) is None, what
    live = place.live()
    if end is None:
        assert rebooted or live == transition.live, what
        return
    assert end in ("applied", "rolled back"), what
    goal = transition.new if end == "applied" else transition.old
    assert differences(live, goal) == [], what
    before, after = instance_uuids(transition.live), instance_uuids(live)
    for slot, uuid in before.items():
        profile = transition.live[slot.gpu_index].instance(slot.start).profile
        if not rebooted and Instance(slot.start, profile) in transition.new[slot.gpu_index].instances:
            assert after[slot] == uuid, f"{what}: the instance at {slot} was not to be touched"
    applied = read_applied(StateFolder(place.state))
    assert (applied is not None) == (end == "applied"), what
    assert applied is None or applied.state == dict(transition.new), what


def random_transition(number):
    """Returns a random transition that has steps, every third with a CPU, too, and the failures on its way."""
    random = Random(number)
    while True:
        current, desired = random_pair(random)
        live = dict(random_live(random, current))
        if number % 3 == 0:
            live["cpu0"] = live_cpu(SMALL_CPU, random_services(random, SMALL_CPU))
            desired["cpu0"] = CpuState(SMALL_CPU, random_services(random, SMALL_CPU))
        transition = plan_transition(live, desired)
        assert not transition.impossible, transition
        if transition.steps:
            break
    at = random.randint(1, len(transition.steps))
    injections = (Injection(at, random.choice(FAILURES)),) if number % 2 else ()
    return transition, injections


def break_often(number, path, most, kinds):
    """
    Lets calls of one transition go wrong; every third time the one that goes on is killed too, or the node reboots.

    Parameters
    ----------
    most
        How many calls, drawn at random; 0: all of them, one after the other.

    Returns
    -------
    Counter
        How often it ended in which way.
    """
    transition, injections = random_transition(number)

    def act(session):
        def apply():
            with locked(session.folder):
                return apply_transition(session, transition, PLAN)

        return ended(apply)

    place = Place(path, transition.live, injections)
    calls = []
    session = place.session()
    with watched(lambda name, _: calls.append(name)):
        act(session)
    verify(place, transition, ending(place), f"transition {number}")
    random = Random(number)
    ends = Counter()
    for kind in kinds:
        chosen = range(1, len(calls) + 1)
        if kind in ("torn", "short"):
            chosen = [at for at in chosen if calls[at - 1] == "pwrite"]
        if most:
            chosen = sorted(random.sample(chosen, min(most, len(chosen))))
        for at in chosen:
            place = Place(path, transition.live, injections)
            call, end = fails_at(at, kind, place, act)
            ends[f"{kind} at a call"] += 1
            what = f"transition {number}, {kind} at call {at} ({call})"
            ends += follow_up(place, transition, random, what, end)
    return ends


def follow_up(place, transition, random, what, end):
    """Lets another agent go on, maybe killed itself, maybe after a reboot; returns how it ended."""
    ends = Counter()
    if end is not None:
        said_truly(place, transition, what, end)
        ends[f"said {end.partition(':')[0]}"] += 1
    rebooted = random.random() < 1 / 3
    if rebooted:
        SimulatedNodeFile(place.node).reboot()
        what += ", then rebooted"
    elif random.random() < 1 / 2:
        again = random.randint(1, 300)
        call, second = fails_at(again, "kill", place, go_on)
        if second is None:
            what += f", then killed at call {again} ({call})"
            ends["kill of who went on"] += 1
    over = unfinished(StateFolder(place.state)) is None
    go_on(place.session())
    last = ending(place)
    if rebooted and over:
        if last != "applied":
            # It was over or had not begun: what a reboot takes then is not the agent's to bring back.
            ends["reboots afterwards"] += 1
            return ends
        repair(place, transition)
    verify(place, transition, last, what, rebooted)
    ends["reboots"] += rebooted
    ends[last or "not begun"] += 1
    return ends


def said_truly(place, transition, what, end):
    """Checks that the node and the journal are as the agent said when it ended."""
    open_one = unfinished(StateFolder(place.state))
    if end in ("applied", "rolled back"):
        assert open_one is None, what
        assert differences(place.live(), transition.new if end == "applied" else transition.old) == [], what
    elif end.startswith("refused"):
        assert "cannot be" in end, f"{what}: {end}"
        assert place.live() == transition.live, f"{what}: it said that nothing was changed"
    elif open_one is None:
        # Only that the last line is on the disk was not known.
        assert end == "halted", f"{what}: {end}"
        assert differences(place.live(), transition.new if ending(place) == "applied" else transition.old) == [], what
    else:
        assert end in ("halted", "stuck"), f"{what}: {end}"


def main(first, count, most=0, *kinds):
    """Prints how some transitions ended."""
    # A collection in a forked process would copy all of the memory that it looks at.
    gc.disable()
    gc.freeze()
    ends = Counter(transitions=count)
    root = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=root) as folder:
        for number in range(first, first + count):
            ends += break_often(number, Path(folder) / "place", most, kinds or KINDS)
            gc.collect()
            gc.freeze()
    print(json.dumps(ends))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
