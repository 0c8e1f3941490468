"""Frames of calls have room: no depth at which calls map memory, which every mapping shows as a page fault."""

import subprocess
import sys

import pytest

from sliceplan.solver.runtime.frame_room import with_frame_room

CALLS = 100

# In a process of its own: who follows the lines of a test changes the functions themselves, and their frames.
MOST_FAULTS = f"""
import resource, sys, threading
from sliceplan.solver.runtime.frame_room import with_frame_room

def leaf(a):
    b = c = d = e = f = g = h = a
    return b, c, d, e, f, g, h

def faults_of_a_loop():
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for i in range({CALLS}):
        leaf(i)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before

def at_depth(depth):
    return faults_of_a_loop() if depth == 0 else at_depth(depth - 1)

def most_faults():
    return max(at_depth(depth) for depth in range(300))

def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]

print(in_a_thread(lambda: with_frame_room(most_faults)), in_a_thread(most_faults))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts the page faults of a thread as Linux does")
def test_no_loop_maps_memory_with_each_call():
    done = subprocess.run([sys.executable, "-c", MOST_FAULTS], capture_output=True, text=True, check=True)
    with_room, without = map(int, done.stdout.split())
    assert with_room < CALLS
    if sys.version_info < (3, 12):  # which is where the chunks are known to be given back at once
        assert without >= CALLS


def test_what_is_called_returns_and_raises_as_ever():
    assert with_frame_room(lambda: "answer") == "answer"
    with pytest.raises(ZeroDivisionError):
        with_frame_room(lambda: 1 / 0)
