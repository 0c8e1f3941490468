"""How a signal stops the agent."""

import signal
import threading
from dataclasses import dataclass

import pytest
from support.waiting import wait_until

from sliceplan.agent.setup.opening import stoppable
from sliceplan.agent.transition.session import Session


def test_a_signal_while_a_line_is_being_said_is_not_lost():
    """A stream that is entered twice by one thread raises; what it raised in was the handler, before it had noted."""
    said, speaking, free = [], [], threading.Lock()

    def say(text):
        if threading.get_ident() in speaking:
            raise RuntimeError("reentrant call")
        with free:
            speaking.append(threading.get_ident())
            said.append(text)
            if text == "applied":
                signal.raise_signal(signal.SIGTERM)
            speaking.pop()

    with stoppable(Session(device=None, folder=None, say=say)) as session:
        session.say("applied")
        assert session.stop_asked()
        session.sleep(60)  # ends at once
        wait_until(lambda: said == ["applied", "SIGTERM: stopping after the step that is running."])


@pytest.mark.parametrize(("options", "stops"), [({}, False), ({"ends_with_terminal": True}, True)])
def test_the_end_of_the_terminal_stops_only_who_asks_for_that(options, stops):
    """A transition that was begun goes on to its end without it."""

    @dataclass(frozen=True)
    class Told:
        say: object = print
        stop_asked: object = None
        sleep: object = None

    before = signal.getsignal(signal.SIGHUP)
    with stoppable(Told(), **options) as session:
        assert (signal.getsignal(signal.SIGHUP) == signal.SIG_IGN) != stops
        assert not session.stop_asked()
        signal.raise_signal(signal.SIGHUP)
        assert session.stop_asked() == stops
    assert signal.getsignal(signal.SIGHUP) == before
