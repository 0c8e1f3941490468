"""Frames of calls have room: no depth at which calls map memory, which every mapping shows as a page fault."""

import resource
import sys
import threading

import pytest

from sliceplan.solver.runtime.frame_room import with_frame_room

CALLS = 100

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts the page faults of a thread as Linux does")


def leaf(a):
    b = c = d = e = f = g = h = a
    return b, c, d, e, f, g, h


def faults_of_a_loop():
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for i in range(CALLS):
        leaf(i)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def at_depth(depth):
    return faults_of_a_loop() if depth == 0 else at_depth(depth - 1)


def most_faults():
    """Of a loop of calls at any depth."""
    return max(at_depth(depth) for depth in range(300))


def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_no_loop_maps_memory_with_each_call():
    assert in_a_thread(lambda: with_frame_room(most_faults)) < CALLS
    if sys.version_info < (3, 12):  # which is where the chunks are known to be given back at once
        assert in_a_thread(most_faults) >= CALLS


def test_what_is_called_returns_and_raises_as_ever():
    assert with_frame_room(lambda: "answer") == "answer"
    with pytest.raises(ZeroDivisionError):
        with_frame_room(lambda: 1 / 0)
