"""How a signal stops the agent."""

import signal
import threading

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
