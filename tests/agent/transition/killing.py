"""
Kills an agent with SIGKILL at every moment of random transitions, and lets another one go on.

It is a program of its own, so that thousands of processes fork from a small one without threads:

    PYTHONPATH=tests python tests/agent/transition/killing.py FIRST COUNT [MOMENTS]

prints one line of JSON with the number of kills and of each outcome; the first that ends wrongly is an error. MOMENTS
limits the moments of each transition, drawn at random. Odd transitions have a failure on the way, so that agents are
killed while they go back, too.
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

from agent_states import random_live, random_pair

from sliceplan.agent.devices.simulated.injection import Injection
from sliceplan.agent.devices.simulated.node import SimulatedNodeFile, record_of, write_node
from sliceplan.agent.model.desired import Desired, PlanReference
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.live import instance_uuids
from sliceplan.agent.model.node import Instance
from sliceplan.agent.transition.applied import read_applied
from sliceplan.agent.transition.applying import apply_transition, resume
from sliceplan.agent.transition.journal import Ended, read_journal, unfinished
from sliceplan.agent.transition.keeping import Rules, look
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.transition.session import Session
from sliceplan.agent.transition.state_folder import StateFolder

PLAN = PlanReference("plan.json", "0" * 64)

FAILURES = ("insufficient_resources", "driver_error", "timeout_before", "timeout_after", "wrong_uuid", "half_done")


class Watched(SimulatedNodeFile):
    """A simulated node that tells when a step was carried out."""

    def __init__(self, path, observe):
        super().__init__(path)
        self.observe = observe

    def apply(self, step, timeout_s):
        try:
            super().apply(step, timeout_s)
        finally:
            self.observe(f"{type(step).__name__} carried out")


class Place:
    """A node and an agent's folder on the disk."""

    def __init__(self, path, live, injections):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        self.node = path / "node.json"
        self.state = path / "state"
        write_node(self.node, record_of(live, injections))
        StateFolder(self.state).prepare()

    def session(self, observe=lambda _: None):
        return Session(
            Watched(self.node, observe),
            StateFolder(self.state, observe),
            say=lambda _: None,
            sleep=lambda _: None,
            time=lambda: "2026-01-01T00:00:00Z",
        )

    def live(self):
        return SimulatedNodeFile(self.node).state()


def kill_at(moment, place, act):
    """Lets an agent act in a process that is killed at its n-th moment; returns that moment, None: there is none."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        seen = 0

        def observe(what):
            nonlocal seen
            seen += 1
            if seen == moment:
                os.write(writing, what.encode())
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            act(place.session(observe))
            os._exit(0)
        finally:
            os._exit(3)
    os.close(writing)
    _, status = os.waitpid(pid, 0)
    what = os.read(reading, 200).decode()
    os.close(reading)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return what
    assert os.WEXITSTATUS(status) == 0, "the agent failed by itself"
    return None


def go_on(session):
    """Goes on as the next start of an agent does."""
    if open_one := unfinished(session.folder):
        resume(session, open_one)


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
    """Returns a random transition that has steps, and the failures on its way."""
    random = Random(number)
    while True:
        current, desired = random_pair(random)
        transition = plan_transition(random_live(random, current), desired)
        assert not transition.impossible, transition
        if transition.steps:
            break
    at = random.randint(1, len(transition.steps))
    injections = (Injection(at, random.choice(FAILURES)),) if number % 2 else ()
    return transition, injections


def kill_often(number, path, most):
    """
    Kills an agent at moments of one transition; every third time also the one that goes on, or the node reboots.

    Parameters
    ----------
    most
        How many moments, drawn at random; None: all of them, one after the other.

    Returns
    -------
    Counter
        How often it ended in which way.
    """
    transition, injections = random_transition(number)

    def act(session):
        apply_transition(session, transition, PLAN)

    place = Place(path, transition.live, injections)
    moments = []
    act(place.session(moments.append))
    verify(place, transition, ending(place), f"transition {number}")
    random = Random(number)
    chosen = range(1, len(moments) + 1)
    chosen = chosen if most is None else sorted(random.sample(chosen, min(most, len(chosen))))
    ends = Counter()
    for moment in chosen:
        place = Place(path, transition.live, injections)
        what = f"transition {number}, killed at moment {moment} ({kill_at(moment, place, act)})"
        ends["kills"] += 1
        rebooted = random.random() < 1 / 3
        if rebooted:
            SimulatedNodeFile(place.node).reboot()
            what += ", then rebooted"
        elif random.random() < 1 / 2:
            again = random.randint(1, 40)
            if second := kill_at(again, place, go_on):
                what += f", then again at moment {again} ({second})"
                ends["kills"] += 1
        over = unfinished(StateFolder(place.state)) is None
        go_on(place.session())
        end = ending(place)
        if rebooted and over:
            if end != "applied":
                # It was over or had not begun: what a reboot takes then is not the agent's to bring back.
                ends["reboots afterwards"] += 1
                continue
            repair(place, transition)
        verify(place, transition, end, what, rebooted)
        ends["reboots"] += rebooted
        ends[end or "not begun"] += 1
    return ends


def main(first, count, most=None):
    """Prints how some transitions ended."""
    # A collection in a forked process would copy all of the memory that it looks at.
    gc.disable()
    gc.freeze()
    ends = Counter(transitions=count)
    root = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=root) as folder:
        for number in range(first, first + count):
            ends += kill_often(number, Path(folder) / "place", most)
            gc.collect()
            gc.freeze()
    print(json.dumps(ends))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
