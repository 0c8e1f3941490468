"""From the words of a command line to a device and a session."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from ..solver.model.errors import Finding, InputError
from .devices.device import Device
from .devices.simulated.node import SimulatedNodeFile
from .session import Session

SIMULATED = "simulated:"


def open_device(name: str) -> Device:
    """Returns the device that a name stands for: `simulated:FILE`; raises InputError for any other."""
    if name.startswith(SIMULATED):
        return SimulatedNodeFile(Path(name.removeprefix(SIMULATED)))
    raise InputError([Finding("--device", "", f"is {name!r}; expected simulated:FILE")])


@contextmanager
def stoppable(session: Session) -> Iterator[Session]:
    """Gives a session that stops after its current step when SIGTERM or SIGINT comes, and does not sleep on."""
    asked = threading.Event()
    told: list[str] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if not told:
            told.append(signal.Signals(number).name)
            session.say(f"{told[0]}: stopping after the step that is running.")
        asked.set()

    def wait(seconds: float) -> None:
        asked.wait(seconds)

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, note) for number in numbers]
    try:
        yield replace(session, stop_asked=asked.is_set, sleep=wait)
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
